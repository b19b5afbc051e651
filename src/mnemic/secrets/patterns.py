"""Patterns of secrets, and those known by what is said around them."""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

# ruff: noqa: E501, S105 - expressions are easier to check on one line; none of them is a password in use

Match = re.Match[str]
Check = Callable[[Match], bool]
Span = tuple[int, int, str]
"""Start, end and kind of a secret."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A pattern of secrets.

    Attributes:
        kind: the name in the mark.
        needles: strings of which one must be in the text; far cheaper to find than the expression.
        holds: a final check of a match.
        expression: the secret is one of its groups of `_GROUPS`, or the whole match.
        flags: of the expression.
        least: least length of a word in the text.
        anywhere: the expression does not start with a needle and is tried everywhere.
    """

    kind: str
    needles: tuple[str, ...]
    holds: Check | None
    expression: str
    flags: re.RegexFlag = re.NOFLAG
    least: int = 0
    anywhere: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The compiled expression."""
        return _compiled(self.expression, self.flags)


@cache
def _compiled(expression: str, flags: re.RegexFlag) -> re.Pattern[str]:
    """A regular expression that is compiled when a text first needs it: most texts need none, and all take long."""
    return re.compile(expression, flags)


_GROUPS = ("secret", "escaped", "double", "single", "back", "bare")


def spans_of(pattern: Pattern, text: str, sought: str) -> Iterator[Span]:
    """Spans of secrets of one pattern.

    A rejected match is skipped as a whole, which keeps the time linear.

    Args:
        pattern: the pattern.
        text: the text.
        sought: the text in the case of the needles, of the same length.
    """
    regex = pattern.regex
    if pattern.anywhere:
        for match in regex.finditer(text):
            if pattern.holds is None or pattern.holds(match):
                yield (*_secret(match), pattern.kind)
        return
    for needle in pattern.needles:
        start = sought.find(needle)
        while start >= 0:
            match = regex.match(text, start)
            if match is not None and (pattern.holds is None or pattern.holds(match)):
                yield (*_secret(match), pattern.kind)
            start = sought.find(needle, start + len(needle) if match is None else max(match.end(), start + len(needle)))


def _secret(match: Match) -> tuple[int, int]:
    for name in _GROUPS:
        if name in match.re.groupindex and match[name] is not None:
            return match.span(name)
    return match.span()


_PLACEHOLDER = re.compile(
    r"""(?ix) ^ (?:
    [x*.\u2022\u2026#_?-]++ $
    | .* (?: x{4} | \*{3} | \.{3} | \u2026 | \u2022{2} | [_-]here \b )
    | (?>(?: sk[_-] | pk[_-] )?) (?: your | my[_-] | the[_-] | some[_-] | insert | enter | put[_-] | add[_-] | example | sample
        | placeholder | replace | change[_-]?me | dummy | fake | todo | redacted | hidden | removed )
    | (?>(?: secret | api | access | auth )?) [_-]?+ (?: pass(?: word | wd | phrase )?\d? | pwd | pw | secret | key | token | value | string ) $
    | < [^<>]* >? $ | [\[{] | [\w.]+ [(\[] | \$ (?: [({] | [a-z_]\w* $ ) | % (?: [sdr] $ | \( | \w+ % $ ) | @\w+ $ | & (?: lt | amp ) ;
    | (?: process\.env | os\. | env\. | config\. | settings\. | self\. | this\. | vault: | ref\+ | op:// | secrets\. | var\. | local\. | data\. | args\. | arn: | file: )
    )""",
)

_COMMON_WORDS = frozenset(
    """none null nil true false yes no undefined str string text bytes int integer bool boolean object any optional required missing empty blank
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


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder: ``YOUR_API_KEY``, ``<token>``, ``xxxx``, ``$PASSWORD``."""
    return bool(_PLACEHOLDER.match(value[:200]))


def _is_common_word(word: str) -> bool:
    """Whether a word describes a password rather than being one: "my password is *weak*"."""
    return word.strip(".,;:!?'\"*_").lower() in _COMMON_WORDS


def is_mixed(value: str) -> bool:
    """Whether a value has both letters and digits."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_jumbled(value: str) -> bool:
    """Whether letters change their case as neither names in programs nor trade names do: ``qWmZrTpLk``, not ``parseInt``."""
    if len(value) < 6 or not value.isascii() or not value.isalpha() or value.islower():
        return False
    parts = _CAPITALISED.findall(value)
    short = len(value) < (3 if len(value) < 10 else 3.4) * len(parts)
    return short or (len(parts) > 1 and any(_CONSONANTS.fullmatch(part) for part in parts))


_CAPITALISED = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CONSONANTS = re.compile(r"[^AEIOUYaeiouy]{3,}(?<![A-Z])")


def _is_odd(value: str) -> bool:
    """Whether a value has digits among its letters, or letters in no order."""
    return is_mixed(value) or _is_jumbled(value)


def is_random(value: str) -> bool:
    """Whether a value of sixteen characters or more has about the entropy of base64 or hexadecimal."""
    if len(value) < 16 or not value.isascii():
        return False
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    if re.fullmatch(r"[0-9a-fA-F-]+", value):
        return entropy >= 2.7 and not value.isdigit()
    return (
        entropy >= 3.1 and is_mixed(value) and not re.fullmatch(r"[A-Za-z]+(?:[-_./][A-Za-z]+)*[-_./]?\d{0,4}", value)
    )


_PASSWORD = (
    r"(?:pass(?:[ _-]?(?:word|phrase|code)|wd|wort)|pwd|(?<![a-z])(?:pw|mdp|psk)(?![a-z])|kennwort|wachtwoord|contrase(?:\u00f1|n\u0303?)a|"
    r"mot[ _-]de[ _-]passe|palavra[ _-]passe|senha|has\u0142o|l\u00f6senord|adgangskode|salasana|(?<![a-z])heslo|"
    r"\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9)"
)
_PASSWORDS = (
    "pass", "pwd", "pw", "mdp", "psk", "kennwort", "wachtwoord", "contrase", "mot de passe", "mot_de_passe", "mot-de-passe", "palavra", "senha",
    "has\u0142o", "l\u00f6senord", "adgangskode", "salasana", "heslo",
    "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6", "\u30d1\u30b9\u30ef\u30fc\u30c9",
)  # fmt: skip
_KEY = r"(?:secret(?:[ _-]?(?:access[ _-]?)?key)?|key(?:[ _-]?data)?|token|credentials?|_auth)"
_KEYS = ("secret", "key", "token", "credential", "_auth")
_OF_KEYS = re.compile(
    r"(?:api|access|auth|private|encryption|signing|master|account|service|app|application|consumer|admin|deploy|storage|"
    r"subscription|ssh|hmac|aes|client|secret)[\"' _-]{0,2}$",
    re.IGNORECASE,
)
_SUFFIX = r"(?>(?:[_-]?(?:\d{1,2}|prod|production|dev|test|staging|stage|live|main|value|base|b64|base64|raw|plain|old|new))?)"
_MARKUP = r"(?:[*_]{1,3}|</?[a-z]{1,8}>)"
_ASSIGNMENT = (
    rf"""["'\]\\]{{0,3}}{_MARKUP}?\s{{0,4}}(?:=>|:=|={{1,2}}|:|\uff1a|\uff1d)(?:\s?{_MARKUP}(?=[\s"'`]|<))?\s{{0,4}}"""
    r"(?:[|>][+-]?[ \t]{0,3}\n\s{1,12}|\[\s{0,12}(?:[\"']\n{12,60}[\"'],\s{0,12}){0,16}(?=[\"'][^\s\"']{1,512}[\"']))?"
)
"""What assigns a value: a sign, the break before a block in YAML, and the beginning of a list, whose values are found one by one."""
_VALUE_OF = r"""["']?(?:,|\s)\s{0,40}["']?value["']?\s{0,3}[:=]\s{0,4}"""
_FREE = r"""(?>(?:(?![,;](?:\s|$|\w[\w ]{0,30}[=:]))(?!&\w{1,40}=)(?:[^\s"'`\\]|["'](?=[\w!$%&*+-])|\\(?![nrtu])(?=\w))){1,512})"""
_VALUE = (
    r"""(?:[\u00ab\u201e\u201c]\s{1,2})?(?:\\"(?P<escaped>(?>(?:[^"\n\\]|\\\\(?:\\["\\])?|\\[^"\n\\]){1,512}))|"(?:\"\")?(?P<double>(?>(?:[^"\n\\]|\\.){1,512}))|"""
    rf"""'(?:'')?(?P<single>(?>(?:[^'\n\\]|\\.){{1,512}}))|`(?P<back>[^`\n]{{1,512}}+)|(?P<bare>{_FREE}))"""
)
_ENDS = re.compile(r"""["'`.!?,;)\]]*\s*(?:$|\n)|["'`]?[.!?]\s""")
_MEASURE = re.compile(
    r"[\d.,]+-?(?:\+|%|chars?|characters?|digits?|letters?|words?|days?|hours?|minutes?|bits?|steps?|x|st|nd|rd|th)?\b",
    re.IGNORECASE,
)


_COMPOUND = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)+|[^\W\d_]+-[^\W\d_]+")
"""Words such as ``don't``, ``l'accord`` and ``time-outs``."""


_said = partial(Pattern, flags=re.IGNORECASE)
"""A row of the tables of what is known by the words around it."""


def _is_address(value: str) -> bool:
    return value.lower().startswith(("http://", "https://"))


def _value(match: Match) -> tuple[str, bool]:
    """The value of an assignment, and whether it is quoted."""
    for name in ("escaped", "double", "single", "back"):
        if match[name] is not None:
            return match[name], True
    return match["bare"].rstrip(".,;:!?)"), False


def _is_password(match: Match) -> bool:
    """Whether the value assigned to a password is one: no comment, code or placeholder."""
    value, quoted = _value(match)
    if len(value) < 4 or is_placeholder(value) or _is_common_word(value) or _of_code(value) or _is_address(value):
        return False
    if quoted:
        return True
    if _is_remark(value) or _is_path(value, match) or _names_itself(value, match):
        return False
    if not value.isalpha():
        return (not _MEASURE.fullmatch(value) and not _COMPOUND.fullmatch(value)) or value.isdigit()
    if _is_jumbled(value):
        return True
    of_one_case = value.islower() or value.isupper()
    return len(value) >= 6 and (_is_exported(match) or _follows_login(match) or (of_one_case and _ends_sentence(match)))


def _is_pass(match: Match) -> bool:
    """The same after "pass", also a card or a run, and "passwords", also a count: no number or short code without a login."""
    value, _ = _value(match)
    before = match.string[max(0, match.start() - 60) : match.start()].rpartition("\n")[2]
    sure = (match["pass"] or match["plural"]) is None or _is_exported(match) or _follows_login(match)
    sure = sure or _OF_ACCESS.search(before) is not None
    return (sure or (len(value) >= 5 and any(map(str.isalpha, value)))) and _is_password(match)


_OF_ACCESS = re.compile(
    r"\b(?:wi-?fi|wlan|ssid|router|admin|root|vpn|s?ftp|ssh|smtp|imap|login|user(?:name)?|account|e-?mail)\b",
    re.IGNORECASE,
)
"""What one logs in to."""


def _is_remark(value: str) -> bool:
    """Whether a remark in brackets begins, "(leave blank)", or a rule, ``required|min:8``."""
    return (value[0] == "(" and value[1:].isalpha()) or ("|" in value and _is_common_word(value.partition("|")[0]))


def _names_itself(value: str, match: Match) -> bool:
    """Whether a value ends with its own name, as that of a kind does: ``psk: WPA2-PSK``."""
    name = re.match(r"\w+", match[0])
    return name is not None and value.lower().endswith(f"-{name[0].lower()}")


def _is_path(value: str, match: Match) -> bool:
    """Whether a value is a path: of plain names, or of any after ``pwd``, which also names the working folder."""
    named = _PATH.fullmatch(value)
    return named is not None and (
        _is_words(value.strip("~./\\")) or (match[0][:3].lower() == "pwd" and named["more"] != "")
    )


_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[\\/][\w.+-]+(?P<more>(?>(?:[\\/][\w.+-]+)*))[\\/]?")


def _is_exported(match: Match) -> bool:
    """Whether the name is that of an environment variable: ``DB_PASSWORD=Sunflower``."""
    return _VARIABLE.match(match[0]) is not None


def _follows_login(match: Match) -> bool:
    """Whether the name of an account precedes: "Login: bob, password: Sunflower"."""
    before = _NAME_OF_ACCOUNT.search(match.string, max(0, match.start() - 80), match.start())
    return before is not None and _may_be_secret(before["name"], 2)


_NAME_OF_ACCOUNT = re.compile(
    r"(?i:login|user(?:[ _-]?name)?|e-?mail|account)[\"']?[ \t]?[:=][ \t]?[\"']?(?P<name>[a-z0-9][^\s,;\"']{1,40})[\"']?"
    r"(?:[,;]\s{0,4}|\s{1,4})[\"']?$"
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*+=(?![\s=])")


def _ends_sentence(match: Match) -> bool:
    """Whether the match ends a sentence: "password: sunflower" has a password, "password: choose wisely" does not."""
    return bool(_ENDS.match(match.string, match.end()))


_CODE = (
    "passw", "pwd", "passphrase", "secret", "token", "credential", "user", "input", "param", "field", "config", "string",
    "varchar", "value", "hash", "prompt",
)  # fmt: skip


def _of_code(value: str) -> bool:
    """Whether a value is an identifier in code."""
    named = re.fullmatch(r"[A-Za-z_][\w.]*", value) is not None and not any(c.isdigit() for c in value)
    return named and ("_" in value or any(part in value.lower() for part in _CODE))


def _is_of_service(match: Match) -> bool:
    """Whether the key belongs to a service: "my API key", not any key."""
    before = max(0, match.start() - 20), match.start()
    return match[0][:3].lower() != "key" or _OF_KEYS.search(match.string, *before) is not None


def _is_key(match: Match) -> bool:
    """Whether the value of a key or token is random."""
    if not _is_of_service(match):
        return False
    value, _ = _value(match)
    if is_placeholder(value) or _of_code(value) or value.isdigit() or re.match(r"(?i)\w*:?//|/|\./", value):
        return False
    return is_random(value) or (len(value) >= 12 and is_mixed(value) and not _is_words(value))


_WORDED = re.compile(r"(?:[A-Za-z]{2,}|\d{1,4}|v\d+)(?:[-_./ :]+(?:[A-Za-z]{2,}|\d{1,4}|v\d+))*")


def _is_words(value: str) -> bool:
    """Whether a value consists of words and small numbers, as names do: ``invoice-2024-final``, ``claude_3_opus``."""
    return _WORDED.fullmatch(value) is not None


_PLAIN_COPULAS = ("is", "'s", "\u2019s", "lautet", "hei\u00dft", "heisst")
"""After these a lower-case word may be a password, as after a colon; after others it is as often an adjective."""
_ADJECTIVE_ENDINGS = re.compile(r"(?:ed|ing|[^et]y|[ai]ble|ive|ful|less|us|[ae]nt|en|al|ect|id|ic|upt)$", re.IGNORECASE)
"""Endings of English adjectives and participles, which describe a password."""


def _is_stated_password(match: Match) -> bool:
    """Whether a statement contains a password: "my password is hunter2", not "my password is weak"."""
    value, quoted = _value(match)
    value = value.rstrip(".,;:!?")
    if len(value) < 4 or is_placeholder(value) or _is_common_word(value) or _is_address(value):
        return False
    if (_MEASURE.fullmatch(value) and not value.isdigit()) or (
        not quoted and (_is_remark(value) or _is_path(value, match) or _names_itself(value, match))
    ):
        return False
    if quoted or (_is_odd(value) and not _of_code(value)):
        return True
    if not value.isalpha():
        return (
            value.isdigit()
            or not re.fullmatch(r"[\w'\u2019/-]+", value)
            or (
                len(re.split(r"[-_]", value)) >= 3 and _ends_sentence(match)  # a passphrase of hyphenated words
            )
        )
    copula = match["copula"].strip(" ,").lower()
    said = copula in _PLAIN_COPULAS or (copula.endswith(":") and copula != ":")
    if not said and (value.islower() or copula in ("to", ":")):
        return False
    return len(value) >= 5 and _ends_sentence(match) and not _ADJECTIVE_ENDINGS.search(value)


def _is_random_value(match: Match) -> bool:
    """Whether the match is random rather than words."""
    value = match["secret"]
    return not is_placeholder(value) and (
        is_random(value) or (len(value) >= 12 and is_mixed(value) and not _is_words(value))
    )


UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def _is_session(match: Match) -> bool:
    value = match["secret"]
    return not UUID.fullmatch(value) and not value.startswith("session_") and is_random(value)


def _is_cookie(match: Match) -> bool:
    parts = [part.partition("=")[2].strip() for part in match["secret"].split(";")]
    return any(len(part) >= 8 and (is_random(part) or is_mixed(part)) and not is_placeholder(part) for part in parts)


def _is_given(match: Match) -> bool:
    """Whether the match is a value, neither a placeholder nor a common word."""
    return not is_placeholder(match["secret"]) and not _is_common_word(match["secret"])


def _after(before: str, holds: Check, flags: re.RegexFlag = re.IGNORECASE) -> Check:
    """A check of a match that holds where an expression ends right before it."""

    def check(match: Match) -> bool:
        start = match.start()
        return _compiled(before, flags).search(match.string[max(0, start - 80) : start]) is not None and holds(match)

    return check


def _is_pin(match: Match) -> bool:
    """Whether a number is a PIN: no pin of a board in a program, and no PIN code of a place in India."""
    before = match.string[max(0, match.start() - 20) : match.start()]
    after = match.string[match.end() : match.end() + 40]
    of_place = _POSTAL.match(after) or (len(match["secret"]) == 6 and _OF_PLACE.match(match[0]))
    return not _DECLARES.search(before) and not of_place


_DECLARES = re.compile(r"(?:#\s?define|\b(?:u?int(?:\d+_t)?|byte|short|long|unsigned))\s{1,3}$")
_POSTAL = re.compile(r"\s+(?:is|was) (?:the|a|my|our|its) (?:postal|zip|area) code", re.IGNORECASE)
_OF_PLACE = re.compile(r"(?i:pin[ -]?code\s(?:of|for|in|at))\s[A-Z]\w+(?:[ -][A-Z]\w+){0,3}\s")


def _is_whole_seed(match: Match) -> bool:
    """Whether words right after their name are as many as a wallet has, all distinct, and no sentence."""
    words = re.findall(r"[a-z]+", match["secret"])
    return len(words) in _SEED_LENGTHS and len(set(words)) == len(words) and sum(map(_is_common_word, words)) <= 2


_SEED_LENGTHS = (12, 15, 18, 21, 24)
_SEED = r"(?:\d{1,2}[.)]\s?)?(?!(?:the|and|for|are|was|but|not|from|his|her|has|had|our|its|were|been|their|she|him)\b)[a-z]{3,8}\b"


def _is_pair(match: Match) -> bool:
    """Whether a value is base64 of user:password, as registries store it."""
    try:
        return b":" in base64.b64decode(match["secret"], validate=True)[1:-1]
    except ValueError:
        return False


def _has_key(match: Match) -> bool:
    """Whether the frame of a private key contains one."""
    return re.search(r"[A-Za-z0-9+/=]{24}", match[0]) is not None


_OF = (
    r"(?:\s(?:for|to|of|on|at|in|f\u00fcr|vom|von|zum|zu|des|der|[mds]einer|ihrer|unserer|meines|[ds]eines|ihres|unseres|du|de|del|della|dello|di|pour|para|da|do|per|im|am|beim|we use|i use|i have)\s"
    r"(?:[^\n:.,;=]|(?<=\w)\.(?=\w)){1,40}?|\s\([^\n()]{1,30}\)|\s(?:wi-?fi|wlan|nuev[ao]|nouveau|agora|actual|atual))?"
)
_COPULA = (
    r"(?P<copula>\s(?:is|was|are|has been|had been|ist|war|sind|wurde|lautet|hei(?:\u00df|ss)t|es|est|sera|\u00e9|\u00e8|ser\u00e1|s\u00e3o|son|to|"
    r"used to be|will be|should be|must be)(?:\s{0,2}:\s{0,3}|\s{1,2})|,?\sc['\u2019]est\s|['\u2019]s\s|\s?:\s{1,3}|\uff1a|\u662f)"
)
_ADVERBS = r"(?:(?:now|still|currently|set to|changed to|reset to|auf|simply|just|always)\s){0,2}:?\s{0,2}"

CONTEXT_PATTERNS: tuple[Pattern, ...] = (
    _said("private-key", ("-----begin ", "---- begin "), _has_key,
          r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:"
          r"(?:(?!-{4,5} ?BEGIN )[\s\S]){1,20000}?-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
          r"|(?:\s{0,4}[A-Z-]{3,20}: [^\n]{0,200}+){0,4}(?:\s|\\[nr]){0,8}(?>(?:[A-Z0-9+/=]{16,}+(?:\s|\\[nr]){0,8}){1,400})(?:[A-Z0-9+/]{1,15}\s{0,8}\Z)?)"),
    _said("private-key", ("private key",), None,  # without its beginning
          r"(?m)^[ \t>]{0,8}(?P<secret>(?>(?:[A-Z0-9+/=]{16,80}+[ \t>\r]{0,8}\n[ \t>]{0,8}){1,60}))-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY", anywhere=True),
    _said("private-key", ("private-lines:",), _has_key,
          r"Private-Lines: ?\d{1,4}\s{1,4}(?P<secret>(?>(?:[A-Za-z0-9+/=]{8,80}\s{0,2}){1,400}))"),
    _said("url-password", ("://",), _is_given,
          r"(?<=[a-z0-9+.-])://[^\s:@/?#'\"<>\[\]]{0,128}:(?P<secret>(?:[^\s/?#'\"<>]|['\"](?=[\w!$%&*+-])){1,256})@[\w.\[-]"),
    _said("url-password", ("://",), _is_random_value,  # a key in the place of the user
          r"(?<=[a-z0-9+.-])://(?P<secret>[a-z0-9_-]{20,256}+)@[\w.\[-]"),
    _said("otp-secret", ("otpauth://", "totp", "2fa", "authenticator"), None,
          r"(?:otpauth://[^\s]{1,300}?[?&]secret=|(?:totp|2fa|authenticator)[ _-](?:secret|seed|key)\s{0,3}(?:is|=|:)\s{0,3})"
          r"(?P<secret>(?-i:[A-Z2-7](?: ?[A-Z2-7]){15,63}))"),
    _said("authorization-header", ("authorization",), _is_given,
          r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"']?(?>(?:(?:bearer|basic|token|digest|apikey|negotiate|bot|key|oauth|ssws|splunk|geniekey|hawk|snowflake)\s{1,3})?)"
          r"(?P<secret>[^\s\"',;<>{}$]{8,4096}+)"),
    _said("basic-auth", ('"auth"',), _is_pair,
          r"\"auth\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9+/]{8,4096}+={0,2})\""),
    _said("bearer-token", ("bearer",), _is_random_value,
          r"\bbearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{12,}+)"),
    _said("cookie", ("cookie",), _is_cookie,
          r"\bcookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<secret>[\w.-]{1,64}=[^\r\n\"']{4,4096}+)"),
    _said("session-token", ("session", "sessid", "connect.sid", "xsrf-token", "csrf", "remember_token"), _is_session,
          r"(?:session(?:[_-]?(?:id|token))?|sessid|connect\.sid|xsrf-token|csrf[_-]?token|remember_token)"
          r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[^\s\"';,&]{16,1024}+)"),
    _said("signed-url", ("x-amz-", "x-goog-"), None,
          r"x-(?:amz-(?:signature|security-token|credential)|goog-signature)=(?P<secret>[^&\s\"'<>]{16,2048}+)"),
    _said("url-token", ("token=", "key=", "sig=", "signature=", "auth=", "secret=", "code=", "password=", "pwd="), _after(r"[?&;#][a-z_-]{0,24}$", _is_random_value),
          r"[a-z]{3,9}=(?P<secret>[^&\s#\"'<>]{8,2048}+)"),
    _said("command-password", ("-u", "--user", "--auth", "--password", "--token", "--secret", "--api-key", "sshpass", "--passwd", "--passphrase"), _is_given,
          r"(?<!\S)(?:(?:-u|--user|--auth)[ =][\"']?[^\s:%\"'/]{1,64}[:%](?!//)|sshpass -p ?[\"']?|--(?:password|passwd|passphrase|token|secret|api-key)[ =][\"']?)"
          r"(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"),
    _said("password", _PASSWORDS, _is_pass,
          rf"(?:{_PASSWORD}(?P<plural>s(?=[\"'=]))?|(?P<pass>(?<![a-z])pass)){_SUFFIX}{_ASSIGNMENT}{_VALUE}"),
    _said("password", _PASSWORDS, _is_password,  # in a mapping of its own
          rf"{_PASSWORD}s?[\"']?\s?[:=]\s{{0,12}}[\"']?(?:plain(?:text)?|clear(?:text)?|raw|text|value){_ASSIGNMENT}{_VALUE}"),
    _said("password", _PASSWORDS, _is_password,  # in a pair of name and value
          rf"{_PASSWORD}{_SUFFIX}{_VALUE_OF}{_VALUE}"),
    _said("login", ("auth=", "auth =", "auth(", ".login("), _is_given,
          r"(?:auth\s?=\s?\(|auth\(|\.login\()\s{0,12}(?:username\s?=\s?)?[^,()\n]{1,128},\s{0,12}(?:password\s?=\s?)?[\"'](?P<secret>[^\"'\n]{4,128}+)[\"']"),
    _said("password", _PASSWORDS, _is_stated_password,
          rf"{_PASSWORD}(?:[*_]{{1,3}}|</(?:b|i|em|strong)>)?{_OF}{_COPULA}{_ADVERBS}{_VALUE}"),
    _said("pin", ("pin",), _is_pin,
          rf"\bpin(?:[ -]?(?:code|number))?{_OF}(?:\s{{0,3}}(?:(?:is|was|ist|lautet|es|est|\u00e9|\u00e8|to)\b\s{{0,2}}:?|[\"']?\s{{0,3}}[:=#])|['\u2019]s)\s{{0,3}}[\"']?(?P<secret>\d{{4,8}})(?![\d:/.-]?\d)"),
    _said("card-code", ("cvv", "cvc", "security code"), None,
          r"\b(?:cvv2?|cvc2?|security code)\s{0,3}(?:number\s)?(?:is|was)?[\"']?\s{0,2}[:=#]?\s{0,3}[\"']?(?P<secret>\d{3,4})(?!\d)"),
    _said("key", _KEYS, _is_key,
          rf"{_KEY}{_SUFFIX}(?:{_ASSIGNMENT}|{_VALUE_OF}){_VALUE}"),
    _said("key", _KEYS, _is_key,
          rf"{_KEY}{_OF}{_COPULA}{_ADVERBS}{_VALUE}"),
    _said("seed-phrase", ("seed", "mnemonic", "recovery", "backup"), _is_whole_seed,
          r"(?:seed|recovery|mnemonic|backup)[ _-]?(?:phrase|words?|seed)\s{1,4}[\"'`(]?"
          rf"(?P<secret>(?-i:{_SEED}(?:[ ,]{{1,3}}{_SEED}){{11,23}}))(?![ ,]{{1,3}}[a-z])"),
    _said("seed-phrase", ("seed", "mnemonic", "recovery", "backup"), lambda match: len(set(re.findall(r"[a-z]+", match["secret"]))) >= 8,
          r"(?:seed|recovery|mnemonic|backup)(?:[ _-]?(?:phrase|words?|key|seed))?\b[^\n:=]{0,40}?(?:\bis\b|\bare\b|:|=)\s{0,4}[\"'`]?"
          rf"(?P<secret>{_SEED}(?:(?:[ ,]{{1,3}}{_SEED}){{11,23}}|(?:,?\s{{0,2}}\n\s{{0,3}}{_SEED}){{11,23}}))"),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""


OPAQUE = "k7Q2xV9mZ4tR8wB1nY5c"
"""A value that is a secret under any name of one."""


def named_secret(name: str, value: str = OPAQUE) -> str | None:
    """The kind of secret of a field value by the field's name: ``{"password": "sunflower"}``; without a value, by the name alone."""
    assignment = f'{name[-200:]}="{value}"'
    matches = ((pattern, match) for pattern in _NAMED for match in [pattern.regex.search(assignment)] if match)
    return next((pattern.kind for pattern, match in matches if pattern.holds is None or pattern.holds(match)), None)


_NAMED = [pattern for pattern in CONTEXT_PATTERNS if pattern.kind in ("password", "key")]


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


def is_one_word(value: str) -> bool:
    """Whether a value is one word, and neither a UUID nor a date or another common notation."""
    return not re.search(r"\s", value) and not UUID.fullmatch(value) and not _NO_SECRET.fullmatch(value)


def _may_be_secret(value: str, least: int = 4) -> bool:
    """Whether a value is long enough, and no placeholder, common word, identifier or measure."""
    ordinary = is_placeholder(value) or _is_common_word(value) or _of_code(value) or _MEASURE.fullmatch(value)
    return len(value) >= least and not ordinary


def _is_beside(match: Match) -> bool:
    """Whether the text in brackets beside the word password is one: no word and no measure."""
    value = match["secret"].rstrip(".,;:!?")
    return _may_be_secret(value) and (_is_odd(value) or not re.fullmatch(r"[\w'\u2019/-]+", value))


def _is_strict(match: Match) -> bool:
    """A stricter check for weak context: letters mixed with digits, and no common notation."""
    value = match["secret"].strip(".,;:!?()*_|\u00bb\u201d\u201c\u2019\u2018")
    return _may_be_secret(value, 5) and _is_odd(value) and not _NO_SECRET.fullmatch(value)


def _stands_out(value: str) -> bool:
    """Whether a value is neither a word nor a common notation with digits or signs."""
    value = value.strip(".,;:!?()*_|")
    if not _may_be_secret(value):
        return False
    odd = _is_odd(value) or (not re.fullmatch(r"[\w'\u2019/-]+", value) and re.search(r"\w", value) is not None)
    return odd and not _NO_SECRET.fullmatch(value)


def _secret_stands_out(match: Match) -> bool:
    return _stands_out(match["secret"])


def _is_no_identifier(match: Match) -> bool:
    """Whether the value is none of words in lower case, as a rule, a class or a step has: ``required|min:8``, ``form-input-2``."""
    return _secret_stands_out(match) and re.fullmatch(r"[a-z]+(?:[-_.|:]\w+)*\d*", match["secret"]) is None


def _is_field(match: Match) -> bool:
    """Whether the value alone on the line after a label may be a secret, which digits are too."""
    return _secret_stands_out(match) or (len(match["secret"]) >= 6 and match["secret"].isdigit())


def _is_bare_key(match: Match) -> bool:
    """Whether a key directly follows its name: random, and no identifier."""
    value = match["secret"].rstrip(".,;:")
    if not _is_of_service(match) or UUID.fullmatch(value) or is_placeholder(value) or _NO_SECRET.fullmatch(value):
        return False
    return is_random(value) and sum(c.isdigit() for c in value) >= 4


def _is_seed_phrase(match: Match) -> bool:
    """Whether a separate line has the distinct uninflected words of a wallet seed."""
    words = match["secret"].split()
    before = match.string[: match.start()].rstrip(" ")[-2:]
    apart = match.start() == 0 or before.endswith((":\n", "\n\n")) or before == "\n"
    return apart and len(words) in _SEED_LENGTHS and len(set(words)) == len(words)


def _is_login(match: Match) -> bool:
    value = match["secret"].rstrip(".,;")
    return not is_placeholder(value) and not _is_common_word(value) and not value.isalpha()


_TOKEN = r"(?P<secret>(?>(?:[^\s\"'`|\\]|\\(?![\"'])|[\"'](?=[\w!$%&*+-])){4,128}))"
_OPENS_TAG = r"<[^<>/\s]{0,39}\Z"
_SETS = r"(?:define|setenv|putenv|getenv|environ\.get|\benv)\w{0,10}\(\s{0,3}[\"'][\w-]{0,40}$|(?:^|\s)(?:ENV|ARG|setx|setenv)\s{1,3}[\w-]{0,40}$"
_QUOTE = r"[\"'`\u201c\u201e\u2018\u00ab(*]{0,2}\s?"
_POSSESSIVE = r"(?:my|the|our|your|his|her|their|mein|das|unser|mi|la|mon|le|minha|a|il)"
_SEED_WORD = (
    r"(?!(?:the|and|for|are|was|but|not|from|his|her|has|had|our|its|were|been|their|she|him|they|who|how|did|does|would)\b)"
    r"[a-z]{3,8}\b(?<!\wed)(?<!\wing)(?<!\wly)(?<![^suai]s)"
)
_WEAK = r"(?:(?<!\w)clave|geheimwort|(?:wlan|wi-?fi|netzwerk)-?schl(?:\u00fc|ue)ssel|cl\u00e9 (?:du )?wi-?fi|code (?:du )?wi-?fi|chave do wi-?fi|wi-?fi (?:key|code|pass))"

_ABROAD = (
    "l\u00f6senord", "passord", "adgangskode", "salasana", "heslo", "has\u0142o", "jelsz", "lozink", "\u015fifre", "parola", "parol\u0103",
    "kata sandi", "m\u1eadt kh\u1ea9u", "\u043f\u0430\u0440\u043e\u043b", "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc", "\u05e1\u05d9\u05e1\u05de", "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631", "\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631",
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921", "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19", "\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638", "\ube44\ubc88", "\u5bc6\u7801", "\u5bc6\u78bc",
)  # fmt: skip
"""The word password in Swedish, Norwegian, Danish, Finnish, Czech, Polish, Hungarian, Croatian, Turkish, Italian, Romanian, Indonesian,
Vietnamese, Russian, Greek, Hebrew, Arabic, Hindi, Thai, Japanese, Korean and Chinese; several without their ending."""
_TO_WHICH = r"(?:\s(?:wi-?fi|wlan|mea|saya|\u03bc\u03bf\u03c5|\u05e9\u05dc\u05d9)(?!\w)|\s(?:till|p\u00e5|k|ke|do|od|pro|c\u1ee7a|cho|\u043e\u0442|\u0434\u043b\u044f|\u043a|\u043d\u0430|\u0432)\s[^\s:=]{1,20})?"
_IS = r"(?:\s[\u2013\u2014-]\s{1,2}|\s?(?:[:=\uff1a]|(?:\u00e4r|er|je|on|to|este|adalah|l\u00e0|\u03b5\u03af\u03bd\u03b1\u03b9|\u05d4\u05d9\u05d0|\u0647\u064a|\u0647\u0648|\u0939\u0948|\u0e04\u0e37\u0e2d)(?!\w)|\u306f|\uff0c|\ub294|\uc740|\uac00|\uc774|\u662f)\s{0,2}|\s)"

ADJACENT_PATTERNS: tuple[Pattern, ...] = (
    _said("password", _ABROAD, _is_strict,
          rf"(?:{'|'.join(_ABROAD)})\w{{0,5}}?{_TO_WHICH}{_IS}{_QUOTE}(?P<secret>[!-~]{{5,128}}+)"),
    _said("password", ("identified", "with password", "encrypted password", "login password"),
          _after(r"\b(?:user|role|grant)\s[^\n;]{1,70}\s$", _is_given),
          r"(?:identified\s{1,3}(?:with\s{1,3}[\w'\"]{1,40}\s{1,3})?(?:by|as)\s{1,3}(?:password\s{1,3})?|(?:with|encrypted|login)\spassword\s{1,3})[\"'](?P<secret>[^\s\"']{4,512}+)[\"']"),
    _said("login", ("login",), _is_random_value,
          r"\blogin\s(?P<secret>[a-z0-9]{32,256}+)(?![\w./@-])"),
    _said("login", ("login",), _is_strict,
          rf"\blogin\s[^\s:/=()]{{1,64}}\s?/\s?{_QUOTE}{_TOKEN}"),
    _said("command-password", ("mysql", "mariadb"), _is_given,
          r"\b(?:mysql(?:dump|admin)?|mariadb(?:-dump)?)\s[^\n|;]{0,120}?(?<=\s)(?-i:-p)[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"),
    _said("command-password", ("login", "ldapsearch", "zip"), _is_given,
          r"(?:(?:(?:docker|podman)\slogin\s|\blogin\s[^\n|;]{0,80}?-u\s)[^\n|;]{0,160}?(?<=\s)-p|ldapsearch\s[^\n|;]{0,160}?(?<=\s)(?-i:-w)|zip\s[^\n|;]{0,160}?(?<=\s)(?-i:-P))"
          r"[ =]?[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"),
    _said("command-password", ("echo", "printf"), _is_given,
          r"\b(?:echo|printf)\s(?:-n\s)?[\"']?(?:[\w.@-]{1,64}:)?(?P<secret>[^\s\"'|:$]{4,256}+)[\"']?\s{0,3}\|\s{0,3}[^\n|;]{0,120}?(?:--pass\w{0,8}-(?:stdin|fd)|\bchpasswd)\b"),
    _said("password", ("wifi:",), _is_given,
          r"wifi:(?:[^;\n]{0,60};){0,4}?p:(?P<secret>[^;\n]{4,128}+);"),
    _said("login", ("login", "user", "account"), _is_login,
          r"\b(?:login|user(?:name)?|account)[ :]{1,2}[^\s:=()]{1,64}[\s,;/]{1,3}(?:and )?(?:pass(?:word)?|pw|pwd)\s{1,2}(?P<secret>[^\s\"'<>]{4,128}+)"),
    _said("login", ("login", "cred", "zugangsdaten", "identifiants"), _is_strict,
          r"(?:logins?|cred(?:ential)?s?|zugangsdaten|identifiants)(?:\s(?:for|of|to|f\u00fcr)\s[^\n:.,;=]{1,40}?)?(?:\s(?:is|are|sind|sont)|\s?:)\s{1,3}"
          rf"[^\s/]{{1,64}}?\s?(?:/|:(?!//))\s?{_TOKEN}"),
    _said("password", _PASSWORDS, _is_beside,
          rf"{_PASSWORD}{_OF}\s\((?P<secret>[^\s()]{{4,128}})\)"),
    _said("password", _PASSWORDS, _is_beside,
          rf"\b(?:use|using|with|set|enter|take|put|type)\s[\"'`]?(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`]?\s(?:as|for)\s"
          rf"(?:the|my|your|our|its|a)\s(?:\w{{1,20}}\s){{0,2}}{_PASSWORD}"
          r"(?=\s(?:for|on|of|to|in|there|now|please|and|but|when|if|instead)\b|[.,;:!?)]|\s*$)", anywhere=True),
    _said("password", _PASSWORDS, _is_strict,
          rf"{_PASSWORD}s?{_SUFFIX}[\"'`*]{{0,2}}(?:{_OF}(?:\s{{0,3}}(?:->|\u2192|\|)\s{{0,3}}|\s{{1,3}}[\u2013\u2014-]\s{{1,3}})|[ \t]{{1,2}}){_QUOTE}{_TOKEN}"),
    _said("password", _PASSWORDS, _is_strict,
          rf"{_PASSWORD}e?s(?:{_OF}{_COPULA}|\s{{0,3}}:\s{{0,3}}){_ADVERBS}{_QUOTE}{_TOKEN}"),
    _said("password", _PASSWORDS, _is_strict,  # the second of two
          rf"{_PASSWORD}(?:e?s)?(?:{_OF}{_COPULA}|{_ASSIGNMENT})[^\s]{{1,128}}?(?:[,;]|\s(?:or|and|und|oder|ou|et|o|y|e))?\s{_QUOTE}{_TOKEN}"),
    _said("password", _PASSWORDS, _is_strict,
          rf"{_PASSWORD}\s(?:from|auf|a|en|para|in)\s{_QUOTE}{_TOKEN}"),
    _said("password", _PASSWORDS, _is_strict,
          rf"{_PASSWORD}\sfrom\s[^\s]{{1,128}}\sto\s{_QUOTE}{_TOKEN}"),
    _said("password", ("clave", "geheimwort", "wlan", "netzwerk", "cl\u00e9", "code", "chave", "wifi", "wi-fi"), _is_strict,
          rf"{_WEAK}(?:{_OF}{_COPULA}|\s{{0,3}}[:=]\s{{0,3}}){_ADVERBS}{_QUOTE}{_TOKEN}"),
    _said("password", _PASSWORDS, _is_no_identifier,  # the second of a pair in brackets
          rf"[\[(]\s?[\"'][^,()\n]{{0,40}}?{_PASSWORD}{_SUFFIX}(?:[\"']?\])?[\"']\s?,\s?[\"'](?P<secret>[^\s\"']{{4,512}}+)[\"']\s?[\])]", anywhere=True),
    _said("password", _PASSWORDS, _is_no_identifier,  # in the cell beside its name
          rf"{_PASSWORD}{_SUFFIX}\s?:?</\w{{1,8}}>\s{{0,12}}<\w{{1,8}}(?:\s[^<>]{{0,120}})?>(?P<secret>[^<>\s]{{4,512}}+)</"),
    _said("password", _PASSWORDS, _after(_OPENS_TAG, lambda match: _is_given(match) and not _of_code(match["secret"])),
          rf"{_PASSWORD}{_SUFFIX}>\s{{0,4}}(?P<secret>[^<>\s]{{4,512}}+)\s{{0,4}}</"),
    _said("key", _KEYS, _after(_OPENS_TAG, _is_random_value),
          rf"{_KEY}{_SUFFIX}>\s{{0,4}}(?P<secret>[^<>\s]{{12,512}}+)\s{{0,4}}</"),
    _said("password", _PASSWORDS,  # set by a call, not asked for
          _after(r"(?:(?:set|with|change|update|reset)\w{0,12}|\.)$", lambda match: _may_be_secret(match["secret"])),
          rf"{_PASSWORD}\(\s{{0,3}}[\"'](?P<secret>[^\s\"']{{4,512}}+)[\"']\s{{0,3}}\)"),
    _said("password", (*_PASSWORDS, *_KEYS), _after(_SETS, _is_given, re.NOFLAG),
          rf"(?:{_PASSWORD}|{_KEY}){_SUFFIX}(?:[\"']\s{{0,3}},\s{{0,3}}[\"']|\s{{1,3}}[\"']?)(?P<secret>[^\s\"'<>]{{4,512}}+)"),
    _said("password", _PASSWORDS, _secret_stands_out,  # "What is the password? It's ..."
          rf"{_PASSWORD}{_OF}\?[\"')*]{{0,3}}\s{{1,4}}(?:[\w ]{{1,20}}:\s{{0,3}})?(?:(?:it|that|es|c|\u00e9|\u00e8)(?:['\u2019]s|['\u2019]est| is| was| ist|)\s{{1,2}}:?)?{_QUOTE}{_TOKEN}"),
    _said("password", _PASSWORDS, _after(r"(?:^|\n)[\s*#>_-]{0,6}(?:[\w'\u2019-]{1,12} ){0,2}[*_]{0,2}$", _is_field),
          rf"{_PASSWORD}{_SUFFIX}[ \t*:]{{0,4}}(?:\n[ \t]{{0,8}}){{1,2}}(?P<secret>[^\s]{{4,128}}+)(?=[ \t]*(?:\n|\Z))"),
    _said("key", _KEYS, _is_bare_key,
          rf"{_KEY}{_SUFFIX}[\"'`*]{{0,2}}[ \t]{{0,3}}(?:[ \t]|\n\s{{0,4}}|->\s|\u2192\s|\|\s){_QUOTE}(?P<secret>[A-Za-z0-9_+/=.~-]{{16,512}}+)(?![\w(])"),
    _said("password", _PASSWORDS, _secret_stands_out,  # "... is my password"
          rf"(?<!\S)[\"'`(*]{{0,2}}(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`*]{{0,2}}\s(?:is|was|ist|war|es|est|\u00e9|\u00e8)\s{_POSSESSIVE}\s(?:[\w-]{{1,20}}\s){{0,2}}{_PASSWORD}"
          r"(?![\w-]|\s(?:hint|manager|reset|policy|field|prompt|page|generator|vault|hash|change|rule|length|screen|box|dialog|list|file))", anywhere=True),
    _said("pin", ("pin ",), _is_pin,
          r"(?-i:\bPIN) (?P<secret>\d{4})(?![\d:/.-]?\d)"),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""

ANYWHERE = (
    Pattern("seed-phrase", (), _is_seed_phrase, anywhere=True, expression=
            rf"(?m)^[ \"'`*>]{{0,4}}(?P<secret>{_SEED_WORD}(?: {_SEED_WORD}){{11,23}})[ \"'`*.]{{0,3}}$(?!\n(?:{_SEED_WORD} ){{8}})"),
)  # fmt: skip
"""Tried on every text; they need no context."""


_CELLS = {sign: re.compile(rf'(?>(?:[^"{re.escape(sign)}]|"[^"]*+"|")*)') for sign in "|\t;,"}
_HEADING = re.compile(r"[\s\"'*_`]*(?:[^\W_][\w-]*(?: [\w/-]+){0,2})?[\s\"'*_`]*")
_LOGIN = ("user", "login", "email", "e-mail", "account", "benutzer", "konto", "usuario", "utilisateur")
_LONGEST = 2_000
"""Longest header line in characters."""


@dataclass(frozen=True, slots=True)
class _Table:
    sign: str
    width: int
    secret: dict[int, str]
    logins: bool


def columns(text: str) -> Iterator[Span]:
    """Spans of cells in secret columns of tables; marks of earlier passes count as cells."""
    table, offset, low = None, 0, text.lower()
    names = [name for name in (*_PASSWORDS, *_KEYS) if name in low]
    for line in text.split("\n"):
        if table is not None:
            cells = _cells(line, table.sign)
            table = table if len(cells) == table.width else None
            if table is not None:
                yield from _secrets(text, table, [(offset + start, offset + end) for start, end in cells])
        if table is None:
            table = _headed(line, names)
        offset += len(line) + 1


def _cells(line: str, sign: str) -> list[tuple[int, int]]:
    spans, position = list[tuple[int, int]](), 0
    while (match := _CELLS[sign].match(line, position)) is not None:
        spans.append(match.span())
        if match.end() == len(line):
            break
        position = match.end() + 1
    return spans


def _headed(line: str, names: Sequence[str]) -> _Table | None:
    """The table that a header line starts, if one of its columns is secret."""
    sign = next((sign for sign in _CELLS if sign in line), None)
    if sign is None or len(line) > _LONGEST or not any(name in line.lower() for name in names):
        return None
    headings = [line[start:end] for start, end in _cells(line, sign)]
    if sum(bool(heading.strip()) for heading in headings) < 2 or not all(map(_HEADING.fullmatch, headings)):
        return None
    names_by_column = {column: heading.strip(" \t\"'*_`") for column, heading in enumerate(headings)}
    secret = {column: name for column, name in names_by_column.items() if named_secret(name)}
    logins = any(word in heading.lower() for heading in headings for word in _LOGIN)
    return _Table(sign, len(headings), secret, logins) if secret else None


def _is_plain(value: str) -> bool:
    """Whether a value is a lower-case word of six letters or more, and no adjective or participle by its ending."""
    letters = len(value) >= 6 and value.isascii() and value.isalpha() and value.islower()
    return letters and not value.endswith(("ed", "ing", "ly", "able"))


def _secrets(text: str, table: _Table, cells: list[tuple[int, int]]) -> Iterator[Span]:
    for column, name in table.secret.items():
        start, end = cells[column]
        cell = text[start:end]
        value = cell.strip(" \t\r\"'*_`")
        kind = named_secret(name, value) if value and not re.search(r"\s", value) else None
        if kind and (kind == "key" or _stands_out(value) or (table.logins and _is_plain(value))):
            first = start + cell.index(value)
            yield first, first + len(value), kind
