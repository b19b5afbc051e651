"""What stands beside a word for a secret, where the value itself has to look like one, and what shells are given."""

# ruff: noqa: E501 - expressions are easier to check on one line
from __future__ import annotations

import re

from mnemic.safety.secrets.pattern import Match, Pattern
from mnemic.safety.secrets.said import (
    COPULA,
    GETS,
    KEY,
    KEYS,
    LATER,
    MEASURE,
    NOW,
    OF,
    PASSWORD,
    PASSWORDS,
    compiled,
    is_given,
    is_random_value,
    of_code,
)  # fmt: skip
from mnemic.safety.secrets.values import is_mixed, is_ordinary, is_stand_in

__all__ = ["BESIDE"]

_NO_SECRET = re.compile(
    r"""(?ix) (?: [a-z][a-z0-9+.-]*:// | www\. ) .*  # addresses
    | [\w.+-]+@[\w-]+\.[\w.-]+
    | [^/]*/ .*  # paths, and one thing or the other
    | (?: sha | md | argon | bcrypt | scrypt | pbkdf | aes | rsa | utf | base | oauth | http | ipv | x | web | ec | s | k ) -?\d{1,4} .{0,12}
    | \d{1,4} (?: st | nd | rd | th )? -? [a-z]+ (?: -[a-z]+ )*  # 8-character, 3rd-party
    | \d{4}-\d\d .*
    | v? \d+ (?: \.\d+ )+ \w*
    | [a-z]+ (?: _[a-z0-9]+ )+  # names in programs
    | .* \. (?: py | [jt]sx? | txt | md | json | ya?ml | toml | html? | php | go | rs | java | sql | csv | pdf | png | jpe?g | env | conf | ini )
    | .* [(=\[{] .*"""
)


def _is_beside(match: Match) -> bool:
    """Whether what stands in brackets beside the word password is one: no word, and no measure of one."""
    value = match["secret"].rstrip(".,;:!?")
    if len(value) < 4 or is_stand_in(value) or is_ordinary(value) or of_code(value) or MEASURE.fullmatch(value):
        return False
    return is_mixed(value) or not re.fullmatch(r"[\w'\u2019/-]+", value)


def _is_strict(match: Match) -> bool:
    """The same with nothing around it that would say so: letters and digits in one, and nothing that is written so anyway."""
    value = match["secret"].strip(".,;:!?()*_|\u00bb\u201d\u201c\u2019\u2018")
    if len(value) < 5 or is_stand_in(value) or is_ordinary(value) or of_code(value) or MEASURE.fullmatch(value):
        return False
    return is_mixed(value) and not _NO_SECRET.fullmatch(value)


def _is_login(match: Match) -> bool:
    value = match["secret"].rstrip(".,;")
    return not is_stand_in(value) and not is_ordinary(value) and not value.isalpha()


def _opened(match: Match) -> bool:
    """Whether the word stands in a tag that opens."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    tag = before[before.rfind("<") :] if "<" in before else "/"
    return not re.search(r"[/>\s]", tag)


def _in_tag(match: Match) -> bool:
    return _opened(match) and is_given(match) and not of_code(match["secret"])


def _key_in_tag(match: Match) -> bool:
    return _opened(match) and is_random_value(match)


def _is_set(match: Match) -> bool:
    """Whether a command that sets something stands before."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    return _SETS.search(before) is not None and is_given(match)


_SETS = re.compile(
    r"(?:define|setenv|putenv)\w{0,10}\(\s{0,3}[\"'][\w-]{0,40}$|(?:^|\s)(?:ENV|ARG|setx|setenv)\s{1,3}[\w-]{0,40}$"
)
_TELLS = r"(?P<secret>(?:[^\s\"'`|]|[\"'](?=[\w!$%&*+-])){4,128}+)"
_QUOTE = r"[\"'`\u201c\u201e\u2018\u00ab(*]{0,2}\s?"
_WEAK = r"(?:(?<!\w)clave|geheimwort|(?:wlan|wi-?fi|netzwerk)-?schl(?:\u00fc|ue)ssel|cl\u00e9 (?:du )?wi-?fi|code (?:du )?wi-?fi|chave do wi-?fi|wi-?fi (?:key|code))"

BESIDE: tuple[Pattern, ...] = (
    Pattern(
        kind="command-password", needles=("mysql", "mariadb"), holds=is_given,
        regex=compiled(r"\b(?:mysql(?:dump|admin)?|mariadb(?:-dump)?)\s[^\n|;]{0,120}?(?<=\s)(?-i:-p)[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"),
    ),
    Pattern(
        kind="command-password", needles=("docker", "podman", "ldapsearch", "unzip"), holds=is_given,
        regex=compiled(
            r"(?:(?:docker|podman)\slogin\s[^\n|;]{0,160}?(?<=\s)-p|ldapsearch\s[^\n|;]{0,160}?(?<=\s)(?-i:-w)|unzip\s[^\n|;]{0,160}?(?<=\s)(?-i:-P))"
            r"[ =]?[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"
        ),
    ),
    Pattern(
        kind="password", needles=("wifi:",), holds=is_given,
        regex=compiled(r"wifi:(?:[^;\n]{0,60};){0,4}?p:(?P<secret>[^;\n]{4,128}+);"),
    ),
    Pattern(
        kind="login", needles=("login", "user", "account"), holds=_is_login,
        regex=compiled(
            r"\b(?:login|user(?:name)?|account)[ :]{1,2}[^\s:=()]{1,64}[\s,;/]{1,3}(?:and )?(?:pass(?:word)?|pw|pwd)\s{1,2}(?P<secret>[^\s\"'<>]{4,128}+)"
        ),
    ),
    Pattern(
        kind="login", needles=("login", "cred", "zugangsdaten", "identifiants"), holds=_is_strict,
        regex=compiled(
            r"(?:logins?|cred(?:ential)?s?|zugangsdaten|identifiants)(?:\s(?:for|of|to|f\u00fcr)\s[^\n:.,;=]{1,40}?)?(?:\s(?:is|are|sind|sont)|\s?:)\s{1,3}"
            rf"[^\s/]{{1,64}}?\s?(?:/|:(?!//))\s?{_TELLS}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_beside,
        regex=compiled(rf"{PASSWORD}{OF}\s\((?P<secret>[^\s()]{{4,128}})\)"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_beside, anywhere=True,
        regex=compiled(
            rf"\b(?:use|using|with|set|enter|take|put|type)\s[\"'`]?(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`]?\s(?:as|for)\s"
            rf"(?:the|my|your|our|its|a)\s(?:\w{{1,20}}\s){{0,2}}{PASSWORD}"
            r"(?=\s(?:for|on|of|to|in|there|now|please|and|but|when|if|instead)\b|[.,;:!?)]|\s*$)"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        regex=compiled(
            rf"{PASSWORD}s?{LATER}[\"'`*]{{0,2}}(?:\s{{0,3}}(?:->|\u2192|\|)\s{{0,3}}|\s{{1,3}}[\u2013\u2014-]\s{{1,3}}|[ \t]{{1,2}}){_QUOTE}{_TELLS}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        regex=compiled(rf"{PASSWORD}e?s(?:{OF}{COPULA}|\s{{0,3}}:\s{{0,3}}){NOW}{_QUOTE}{_TELLS}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,  # the second of two
        regex=compiled(
            rf"{PASSWORD}(?:e?s)?(?:{OF}{COPULA}|{GETS})[^\s]{{1,128}}?(?:[,;]|\s(?:or|and|und|oder|ou|et|o|y|e))?\s{_QUOTE}{_TELLS}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        regex=compiled(rf"{PASSWORD}\s(?:from|auf|a|en|para|in)\s{_QUOTE}{_TELLS}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        regex=compiled(rf"{PASSWORD}\sfrom\s[^\s]{{1,128}}\sto\s{_QUOTE}{_TELLS}"),
    ),
    Pattern(
        kind="password", needles=("clave", "geheimwort", "wlan", "netzwerk", "cl\u00e9", "code", "chave", "wifi", "wi-fi"), holds=_is_strict,
        regex=compiled(rf"{_WEAK}(?:{OF}{COPULA}|\s{{0,3}}[:=]\s{{0,3}}){NOW}{_QUOTE}{_TELLS}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_in_tag,
        regex=compiled(rf"{PASSWORD}{LATER}>\s{{0,4}}(?P<secret>[^<>\s]{{4,512}}+)\s{{0,4}}</"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_key_in_tag,
        regex=compiled(rf"{KEY}{LATER}>\s{{0,4}}(?P<secret>[^<>\s]{{12,512}}+)\s{{0,4}}</"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=is_given,
        regex=compiled(rf"{PASSWORD}{LATER}[\"']\s{{1,3}}value=[\"'](?P<secret>[^\"'\n]{{4,512}}+)[\"']"),
    ),
    Pattern(
        kind="password", needles=(*PASSWORDS, *KEYS), holds=_is_set,
        regex=compiled(rf"(?:{PASSWORD}|{KEY}){LATER}(?:[\"']\s{{0,3}},\s{{0,3}}[\"']|\s{{1,3}}[\"']?)(?P<secret>[^\s\"'<>]{{4,512}}+)"),
    ),
    Pattern(
        kind="pin", needles=("pin ",), regex=compiled(r"(?-i:\bPIN) (?P<secret>\d{4})(?![\d:/.-]?\d)"),
    ),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""
