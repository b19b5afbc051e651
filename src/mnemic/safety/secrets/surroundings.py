"""Secrets that only their surroundings give away: assignments, headers, addresses, and what people say of a password."""

# ruff: noqa: E501, S105 - expressions are easier to check on one line; none of them is a password
from __future__ import annotations

import base64
import re

from mnemic.safety.secrets.pattern import Match, Pattern
from mnemic.safety.secrets.values import is_mixed, is_ordinary, is_random, is_stand_in

__all__ = [
    "COPULA",
    "GETS",
    "KEY",
    "KEYS",
    "LATER",
    "MEASURE",
    "NOW",
    "OF",
    "PASSWORD",
    "PASSWORDS",
    "SAID",
    "UUID",
    "compiled",
    "is_given",
    "is_of_service",
    "is_random_value",
    "named_secret",
    "of_code",
]

PASSWORD = (
    r"(?:pass(?:[ _-]?(?:word|phrase|code)|wd|wort)|pwd|(?<![a-z])(?:pw|mdp|psk)(?![a-z])|kennwort|wachtwoord|contrase(?:\u00f1|n\u0303?)a|"
    r"mot de passe|palavra[ -]passe|senha|has\u0142o|l\u00f6senord|adgangskode|salasana|(?<![a-z])heslo|"
    r"\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9)"
)
PASSWORDS = (
    "pass", "pwd", "pw", "mdp", "psk", "kennwort", "wachtwoord", "contrase", "mot de passe", "palavra", "senha", "has\u0142o",
    "l\u00f6senord", "adgangskode", "salasana", "heslo",
    "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6", "\u30d1\u30b9\u30ef\u30fc\u30c9",
)  # fmt: skip
KEY = r"(?:secret(?:[ _-]?(?:access[ _-]?)?key)?|key(?:[ _-]?data)?|token|credentials?|_auth)"
KEYS = ("secret", "key", "token", "credential", "_auth")
_OF_KEYS = re.compile(
    r"(?:api|access|auth|private|encryption|signing|master|account|service|app|application|consumer|admin|deploy|storage|"
    r"subscription|ssh|hmac|aes|client|secret)[\"' _-]{0,2}$",
    re.IGNORECASE,
)
LATER = (
    r"(?:[_-]?(?:\d{1,2}|prod|production|dev|test|staging|stage|live|main|value|base|b64|base64|raw|plain|old|new))?+"
)
_MARKUP = r"(?:[*_]{1,3}|</?[a-z]{1,8}>)"
GETS = (
    rf"""["'\]\\]{{0,3}}{_MARKUP}?\s{{0,4}}(?:=>|:=|={{1,2}}|:|\uff1a|\uff1d)(?:\s?{_MARKUP}(?=[\s"'`]|<))?\s{{0,4}}"""
    r"(?:[|>][+-]?[ \t]{0,3}\n\s{1,12})?"
)
_FREE = r"""(?:(?![,;](?:\s|$|\w[\w ]{0,30}[=:]))(?!&\w{1,40}=)(?:[^\s"'`\\]|["'](?=[\w!$%&*+-])|\\(?![nrtu])(?=\w))){1,512}+"""
_VALUE = (
    r"""(?:[\u00ab\u201e\u201c]\s{1,2})?(?:\\"(?P<escaped>(?:[^"\n\\]|\\\\(?:\\["\\])?|\\[^"\n\\]){1,512}+)|"(?P<double>(?:[^"\n\\]|\\.){1,512}+)|"""
    rf"""'(?P<single>(?:[^'\n\\]|\\.){{1,512}}+)|`(?P<back>[^`\n]{{1,512}}+)|(?P<bare>{_FREE}))"""
)
_ENDS = re.compile(r"""["'`.!?,;)\]]*\s*(?:$|\n)|["'`]?[.!?]\s""")
MEASURE = re.compile(
    r"[\d.,]+-?(?:\+|%|chars?|characters?|digits?|letters?|words?|days?|hours?|minutes?|bits?|steps?|x|st|nd|rd|th)?\b",
    re.IGNORECASE,
)


_ADDRESS = re.compile(r"(?i)https?://")
_COMPOUND = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)+|[^\W\d_]+-[^\W\d_]+")
"""Words such as ``don't``, ``l'accord`` and ``time-outs``."""


def compiled(expression: str) -> re.Pattern[str]:
    """An expression for which the case of letters is of no matter."""
    return re.compile(expression, re.IGNORECASE)


def _value(match: Match) -> tuple[str, bool]:
    """The value of an assignment, and whether it stands in quotes."""
    for name in ("escaped", "double", "single", "back"):
        if match[name] is not None:
            return match[name], True
    return match["bare"].rstrip(".,;:!?)"), False


def _is_password(match: Match) -> bool:
    """Whether what is given to something called a password is one: not a word about it, not code, not a blank."""
    value, quoted = _value(match)
    if len(value) < 4 or is_stand_in(value) or is_ordinary(value) or of_code(value) or _ADDRESS.match(value):
        return False
    if quoted:
        return True
    if not value.isalpha():
        return (not MEASURE.fullmatch(value) and not _COMPOUND.fullmatch(value)) or value.isdigit()
    return len(value) >= 6 and value.islower() and _alone(match)


def _alone(match: Match) -> bool:
    """Whether nothing but the end of a sentence follows: "password: sunflower" tells one, "password: choose wisely" does not."""
    return bool(_ENDS.match(match.string, match.end()))


_CODE = re.compile(
    r"(?i)passw|pwd|passphrase|secret|token|credential|user|input|param|field|config|string|varchar|value|hash|prompt"
)


def of_code(value: str) -> bool:
    """Whether a value is a name in a program rather than what it stands for."""
    named = re.fullmatch(r"[A-Za-z_][\w.]*", value) is not None and not any(c.isdigit() for c in value)
    return named and ("_" in value or _CODE.search(value) is not None)


def is_of_service(match: Match) -> bool:
    """Whether the key is one of a service: "my API key", and not any key."""
    before = max(0, match.start() - 20), match.start()
    return match[0][:3].lower() != "key" or _OF_KEYS.search(match.string, *before) is not None


def _is_key(match: Match) -> bool:
    """Whether what is given to something called a key or a token is random; a key alone may be one of a keyboard."""
    if not is_of_service(match):
        return False
    value, _ = _value(match)
    if is_stand_in(value) or of_code(value) or value.isdigit() or re.match(r"(?i)\w*:?//|/|\./", value):
        return False
    return is_random(value) or (len(value) >= 12 and is_mixed(value) and not _worded(value))


_WORDED = re.compile(r"(?:[A-Za-z]{2,}|\d{1,4}|v\d+)(?:[-_./ :]+(?:[A-Za-z]{2,}|\d{1,4}|v\d+))*")


def _worded(value: str) -> bool:
    """Whether a value is words and small numbers, as names are: ``invoice-2024-final``, ``claude_3_opus``."""
    return _WORDED.fullmatch(value) is not None


_UNSURE = ("to", "was", "has been", "had been", "wurde", "")
_SAYS_OF = re.compile(
    r"(?:ed|ing|ly|able|ible|ive|ful|less|ous|ent|ant|ig|lich|bar|los|sam|haft|isch|ert|en|\u00e9e?s?|eux|euse|aire|ect|[aeioui]d[ao]s?|[\u00f3o]ri[ao]s?"
    r"|os[ao]s?|iv[ao]s?|vel|nte|[ct]t[ao]s?|ble|ale?)$",
    re.IGNORECASE,
)
"""How words end that say something about a password: adjectives and participles of six languages."""


def _is_told(match: Match) -> bool:
    """Whether somebody tells a password: "my password is hunter2", and not "my password is weak"."""
    value, quoted = _value(match)
    value = value.rstrip(".,;:!?")
    if len(value) < 4 or is_stand_in(value) or is_ordinary(value) or _ADDRESS.match(value):
        return False
    if MEASURE.fullmatch(value) and not value.isdigit():
        return False
    if quoted or not value.isalpha():
        return (
            quoted
            or is_mixed(value)
            or value.isdigit()
            or not re.fullmatch(r"[\w'\u2019/-]+", value)
            or _worded_secret(value, match)
        )
    copula = match["copula"].strip(" ,:").lower()
    return copula not in _UNSURE and len(value) >= 5 and _alone(match) and not _SAYS_OF.search(value)


def _worded_secret(value: str, match: Match) -> bool:
    """Words joined by hyphens, as generated passphrases are: at least three of them, and nothing behind."""
    return len(re.split(r"[-_]", value)) >= 3 and _alone(match)


def is_random_value(match: Match) -> bool:
    """Whether what was found is too even to be words."""
    value = match["secret"]
    return not is_stand_in(value) and (
        is_random(value) or (len(value) >= 12 and is_mixed(value) and not _worded(value))
    )


UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def _in_query(match: Match) -> bool:
    return _QUERY.search(match.string, max(0, match.start() - 30), match.start()) is not None and is_random_value(match)


_QUERY = re.compile(r"[?&;#][a-z_-]{0,24}$", re.IGNORECASE)


def _is_session(match: Match) -> bool:
    value = match["secret"]
    return not UUID.fullmatch(value) and not value.startswith("session_") and is_random(value)


def _is_cookie(match: Match) -> bool:
    parts = [part.partition("=")[2].strip() for part in match["secret"].split(";")]
    return any(len(part) >= 8 and (is_random(part) or is_mixed(part)) and not is_stand_in(part) for part in parts)


def is_given(match: Match) -> bool:
    """Whether what was found stands for itself, and says nothing about a secret."""
    return not is_stand_in(match["secret"]) and not is_ordinary(match["secret"])


def _is_seed(match: Match) -> bool:
    return len(set(re.findall(r"[a-z]+", match["secret"]))) >= 8


_SEED = r"(?:\d{1,2}[.)]\s?)?(?!(?:the|and|for|are|was|but|not|from|his|her|has|had|our|its|were|been|their|she|him)\b)[a-z]{3,8}\b"


def _is_pair(match: Match) -> bool:
    """Whether a value is a user and a password in base64, as registries keep them."""
    try:
        return b":" in base64.b64decode(match["secret"], validate=True)[1:-1]
    except ValueError:
        return False


def _has_key(match: Match) -> bool:
    """Whether there is a key between the lines that would frame one."""
    return re.search(r"[A-Za-z0-9+/=]{24}", match[0]) is not None


OF = (
    r"(?:\s(?:for|to|of|on|at|in|f\u00fcr|vom|von|zum|zu|des|der|du|de|del|della|dello|di|pour|para|da|do|per|im|am|beim|we use|i use|i have)\s"
    r"[^\n:.,;=]{1,40}?|\s(?:wi-?fi|wlan|nuev[ao]|nouveau|agora|actual|atual))?"
)
COPULA = (
    r"(?P<copula>\s(?:is|was|are|has been|had been|ist|war|sind|wurde|lautet|hei(?:\u00df|ss)t|es|est|sera|\u00e9|\u00e8|ser\u00e1|s\u00e3o|son|to|"
    r"will be|should be|must be)(?:\s{0,2}:\s{0,3}|\s{1,2})|,?\sc['\u2019]est\s|['\u2019]s\s|\s?:\s{1,3}|\uff1a|\u662f)"
)
NOW = r"(?:(?:now|still|currently|set to|changed to|reset to|auf|simply|just|always)\s){0,2}:?\s{0,2}"

SAID: tuple[Pattern, ...] = (
    Pattern(
        kind="private-key", needles=("-----begin ", "---- begin "), holds=_has_key,
        regex=compiled(
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:"
            r"(?:(?!-{4,5} ?BEGIN )[\s\S]){1,20000}?-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
            r"|(?:\s{0,4}[A-Z-]{3,20}: [^\n]{0,200}+){0,4}(?:\s|\\[nr]){0,8}(?:[A-Z0-9+/=]{16,}+(?:\s|\\[nr]){0,8}){1,400}+(?:[A-Z0-9+/]{1,15}\s{0,8}\Z)?)"
        ),
    ),
    Pattern(
        kind="private-key", needles=("private-lines:",), holds=_has_key,
        regex=compiled(r"Private-Lines: ?\d{1,4}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/=]{8,80}\s{0,2}){1,400}+)"),
    ),
    Pattern(
        kind="url-password", needles=("://",), holds=is_given,
        regex=compiled(r"(?<=[a-z0-9+.-])://[^\s:@/?#'\"<>\[\]]{0,128}:(?P<secret>(?:[^\s/?#'\"<>]|['\"](?=[\w!$%&*+-])){1,256})@[\w.\[-]"),
    ),
    Pattern(
        kind="otp-secret", needles=("otpauth://", "totp", "2fa", "authenticator"),
        regex=compiled(
            r"(?:otpauth://[^\s]{1,300}?[?&]secret=|(?:totp|2fa|authenticator)[ _-](?:secret|seed|key)\s{0,3}(?:is|=|:)\s{0,3})"
            r"(?P<secret>(?-i:[A-Z2-7](?: ?[A-Z2-7]){15,63}))"
        ),
    ),
    Pattern(
        kind="authorization-header", needles=("authorization",), holds=is_given,
        regex=compiled(
            r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"']?(?:(?:bearer|basic|token|digest|apikey|negotiate|bot|key|oauth|ssws|splunk|geniekey|hawk|snowflake)\s{1,3})?+"
            r"(?P<secret>[^\s\"',;<>{}$]{8,4096}+)"
        ),
    ),
    Pattern(
        kind="basic-auth", needles=('"auth"',), holds=_is_pair,
        regex=compiled(r"\"auth\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9+/]{8,4096}+={0,2})\""),
    ),
    Pattern(
        kind="bearer-token", needles=("bearer",), holds=is_random_value,
        regex=compiled(r"\bbearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{12,}+)"),
    ),
    Pattern(
        kind="cookie", needles=("cookie",), holds=_is_cookie,
        regex=compiled(r"\bcookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<secret>[\w.-]{1,64}=[^\r\n\"']{4,4096}+)"),
    ),
    Pattern(
        kind="session-token", holds=_is_session,
        needles=("session", "sessid", "connect.sid", "xsrf-token", "csrf", "remember_token"),
        regex=compiled(
            r"(?:session(?:[_-]?(?:id|token))?|sessid|connect\.sid|xsrf-token|csrf[_-]?token|remember_token)"
            r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[^\s\"';,&]{16,1024}+)"
        ),
    ),
    Pattern(
        kind="signed-url", needles=("x-amz-", "x-goog-"),
        regex=compiled(r"x-(?:amz-(?:signature|security-token|credential)|goog-signature)=(?P<secret>[^&\s\"'<>]{16,2048}+)"),
    ),
    Pattern(
        kind="url-token", holds=_in_query,
        needles=("token=", "key=", "sig=", "signature=", "auth=", "secret=", "code=", "password=", "pwd="),
        regex=compiled(r"[a-z]{3,9}=(?P<secret>[^&\s#\"'<>]{8,2048}+)"),
    ),
    Pattern(
        kind="command-password", holds=is_given,
        needles=("-u", "--user", "--password", "--token", "--secret", "--api-key", "sshpass", "--passwd", "--passphrase"),
        regex=compiled(
            r"(?<!\S)(?:(?:-u|--user)[ =][\"']?[^\s:\"'/]{1,64}:(?!//)|sshpass -p ?[\"']?|--(?:password|passwd|passphrase|token|secret|api-key)[ =][\"']?)"
            r"(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_password,
        regex=compiled(rf"(?:{PASSWORD}|(?<![a-z])pass){LATER}{GETS}{_VALUE}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_told,
        regex=compiled(rf"{PASSWORD}{OF}{COPULA}{NOW}{_VALUE}"),
    ),
    Pattern(
        kind="pin", needles=("pin",),
        regex=compiled(rf"\bpin(?:[ -]?(?:code|number))?{OF}(?:\s{{0,3}}(?:(?:is|was|ist|lautet|es|est|\u00e9|\u00e8|to)\b\s{{0,2}}:?|[:=#])|['\u2019]s)\s{{0,3}}(?P<secret>\d{{4,8}})(?![\d:/.-]?\d)"),
    ),
    Pattern(
        kind="card-code", needles=("cvv", "cvc", "security code"),
        regex=compiled(r"\b(?:cvv2?|cvc2?|security code)\s{0,3}(?:number\s)?(?:is|was)?\s{0,2}[:=#]?\s{0,3}(?P<secret>\d{3,4})(?!\d)"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_is_key, regex=compiled(rf"{KEY}{LATER}{GETS}{_VALUE}"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_is_key, regex=compiled(rf"{KEY}{OF}{COPULA}{NOW}{_VALUE}"),
    ),
    Pattern(
        kind="seed-phrase", needles=("seed", "mnemonic", "recovery", "backup"), holds=_is_seed,
        regex=compiled(
            r"(?:seed|recovery|mnemonic|backup)(?:[ _-]?(?:phrase|words?|key|seed))?\b[^\n:=]{0,40}?(?:\bis\b|\bare\b|:|=)\s{0,4}[\"'`]?"
            rf"(?P<secret>{_SEED}(?:(?:[ ,]{{1,3}}{_SEED}){{11,23}}|(?:,?\s{{0,2}}\n\s{{0,3}}{_SEED}){{11,23}}))"
        ),
    ),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""


def named_secret(name: str, value: str) -> str | None:
    """The kind of secret that the value of a field is because of the field's name: ``{"password": "sunflower"}``."""
    told = f'{name[-200:]}="{value}"'
    for pattern in _NAMED:
        match = pattern.regex.search(told)
        if match is not None and pattern.holds is not None and pattern.holds(match):
            return pattern.kind
    return None


_NAMED = [pattern for pattern in SAID if pattern.kind in ("password", "key")]
