"""What a value looks like: random, made up to stand for another, or carrying a checksum that holds."""
# ruff: noqa: E501 - samples and expressions are easier to read on one line; nothing here is a password in use

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter

__all__ = ["is_base58_key", "is_card", "is_iban", "is_mixed", "is_ordinary", "is_random", "is_stand_in"]

_STAND_IN = re.compile(
    r"""(?ix) ^ (?:
    [x*.\u2022\u2026#_?-]++ $
    | .* (?: x{4} | \*{3} | \.{3} | \u2026 | \u2022{2} | [_-]here \b )
    | (?: sk[_-] | pk[_-] )?+ (?: your | my[_-] | the[_-] | some[_-] | insert | enter | put[_-] | add[_-] | example | sample
        | placeholder | replace | change[_-]?me | dummy | fake | todo | redacted | hidden | removed )
    | (?: secret | api | access | auth )?+ [_-]?+ (?: pass(?: word | wd | phrase )?\d? | pwd | pw | secret | key | token | value | string ) $
    | < [^<>]* >? $ | [\[{] | [\w.]+ [(\[] | \$ (?: [({] | [a-z_]\w* $ ) | % (?: [sdr] $ | \( | \w+ % $ ) | @\w+ $ | & (?: lt | amp ) ;
    | (?: process\.env | os\. | env\. | config\. | settings\. | self\. | this\. | vault: | ref\+ | op:// | secrets\. | var\. | local\. | data\. | args\. | arn: | file: )
    )""",
)

_ORDINARY = frozenset(
    """none null nil true false yes no undefined str string text bytes int bool any optional required missing empty blank
    wrong weak strong secure insecure invalid incorrect correct expired safe hashed encrypted salted stored saved kept
    changed reset hidden unknown forgotten lost compromised leaked known needed set unset shared visible masked disabled
    enabled protected rotated generated accepted rejected default temporary permanent different same new old long short
    longer shorter simple complex unique random good bad fine ok okay important confidential private public sent given
    asked typed entered used reused written printed shown the a an not too very now in on at by still also always never
    only just my his her their our your its it that this these those what which who where when why how to from for with
    without of and or but if than then so as being going getting something anything nothing everything someone here there
    more less must should can cannot can't isn't won't doesn't does did do will would may might about again already
    supposed hard easy better worse stronger weaker available unavailable checked verified validated valid working broken
    basically actually probably really currently usually often sometimes sadly up down out off over under per via due
    case-sensitive authentication manager managers hash hashes field fields input policy prompt rotation""".split()
)

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

_IBAN_LENGTHS = {
    code: length
    for length, codes in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK", 21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB NI PL SV",
        29: "BR EG PS QA UA", 30: "JO KW MU", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for code in codes.split()
}  # fmt: skip

_CARDS = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)


def is_stand_in(value: str) -> bool:
    """Whether a value only marks where one would stand: ``YOUR_API_KEY``, ``<token>``, ``xxxx``, ``$PASSWORD``."""
    return bool(_STAND_IN.match(value[:200]))


def is_ordinary(word: str) -> bool:
    """Whether a word says something about a password rather than being one: "my password is *weak*"."""
    return word.strip(".,;:!?'\"").lower() in _ORDINARY


def is_mixed(value: str) -> bool:
    """Whether letters and digits stand side by side."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def is_random(value: str) -> bool:
    """Whether a value of sixteen characters or more is too even to be words: about the entropy of base64 or hexadecimal."""
    if len(value) < 16 or not value.isascii():
        return False
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    if re.fullmatch(r"[0-9a-fA-F-]+", value):
        return entropy >= 2.7 and not value.isdigit()
    return (
        entropy >= 3.1 and is_mixed(value) and not re.fullmatch(r"[A-Za-z]+(?:[-_./][A-Za-z]+)*[-_./]?\d{0,4}", value)
    )


def is_card(digits: str) -> bool:
    """Whether digits are the number of a payment card: a prefix that is given out, its length, and the Luhn sum."""
    if not _CARDS.fullmatch(digits) or len(set(digits)) < 2:
        return False
    doubled = (int(d) * 2 if i % 2 else int(d) for i, d in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def is_iban(text: str) -> bool:
    """Whether a text without spaces is an IBAN: the length of its country, and the checksum."""
    if len(text) != _IBAN_LENGTHS.get(text[:2]):
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def is_base58_key(text: str) -> bool:
    """Whether a text is a private key in the wallet import format: its checksum holds."""
    number = 0
    for c in text:
        place = _BASE58.find(c)
        if place < 0:
            return False
        number = number * 58 + place
    if number >= 1 << (8 * 38):
        return False
    data = number.to_bytes(38, "big").lstrip(b"\0")
    return len(data) in (37, 38) and hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]
