"""Secrets recognised by context: assignments, headers, URLs, and statements about passwords."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemic.safety.secrets.pattern import Expression, Match, Pattern, Span
from mnemic.safety.secrets.tokens import is_common_word, is_mixed, is_placeholder, is_random

__all__ = [
    "ADJACENT_PATTERNS",
    "ADVERBS",
    "ANYWHERE",
    "ASSIGNMENT",
    "CONTEXT_PATTERNS",
    "COPULA",
    "KEY",
    "KEYS",
    "MEASURE",
    "OF",
    "PASSWORD",
    "PASSWORDS",
    "SUFFIX",
    "UUID",
    "any_case",
    "columns",
    "is_given",
    "is_of_service",
    "is_random_value",
    "named_secret",
    "of_code",
    "stands_out",
]

# ruff: noqa: E501, S105 - expressions are easier to check on one line; none of them is a password


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
SUFFIX = (
    r"(?:[_-]?(?:\d{1,2}|prod|production|dev|test|staging|stage|live|main|value|base|b64|base64|raw|plain|old|new))?+"
)
_MARKUP = r"(?:[*_]{1,3}|</?[a-z]{1,8}>)"
ASSIGNMENT = (
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


def any_case(expression: str) -> Expression:
    """An expression that ignores case."""
    return Expression(expression, re.IGNORECASE)


def _value(match: Match) -> tuple[str, bool]:
    """The value of an assignment, and whether it is quoted."""
    for name in ("escaped", "double", "single", "back"):
        if match[name] is not None:
            return match[name], True
    return match["bare"].rstrip(".,;:!?)"), False


def _is_password(match: Match) -> bool:
    """Whether the value assigned to a password is one: no comment, code or placeholder."""
    value, quoted = _value(match)
    if len(value) < 4 or is_placeholder(value) or is_common_word(value) or of_code(value) or _ADDRESS.match(value):
        return False
    if quoted:
        return True
    if not value.isalpha():
        return (not MEASURE.fullmatch(value) and not _COMPOUND.fullmatch(value)) or value.isdigit()
    return len(value) >= 6 and value.islower() and _ends_sentence(match)


def _ends_sentence(match: Match) -> bool:
    """Whether the match ends a sentence: "password: sunflower" has a password, "password: choose wisely" does not."""
    return bool(_ENDS.match(match.string, match.end()))


_CODE = re.compile(
    r"(?i)passw|pwd|passphrase|secret|token|credential|user|input|param|field|config|string|varchar|value|hash|prompt"
)


def of_code(value: str) -> bool:
    """Whether a value is an identifier in code."""
    named = re.fullmatch(r"[A-Za-z_][\w.]*", value) is not None and not any(c.isdigit() for c in value)
    return named and ("_" in value or _CODE.search(value) is not None)


def is_of_service(match: Match) -> bool:
    """Whether the key belongs to a service: "my API key", not any key."""
    before = max(0, match.start() - 20), match.start()
    return match[0][:3].lower() != "key" or _OF_KEYS.search(match.string, *before) is not None


def _is_key(match: Match) -> bool:
    """Whether the value of a key or token is random."""
    if not is_of_service(match):
        return False
    value, _ = _value(match)
    if is_placeholder(value) or of_code(value) or value.isdigit() or re.match(r"(?i)\w*:?//|/|\./", value):
        return False
    return is_random(value) or (len(value) >= 12 and is_mixed(value) and not _is_words(value))


_WORDED = re.compile(r"(?:[A-Za-z]{2,}|\d{1,4}|v\d+)(?:[-_./ :]+(?:[A-Za-z]{2,}|\d{1,4}|v\d+))*")


def _is_words(value: str) -> bool:
    """Whether a value consists of words and small numbers, as names do: ``invoice-2024-final``, ``claude_3_opus``."""
    return _WORDED.fullmatch(value) is not None


_WEAK_COPULAS = ("to", "was", "has been", "had been", "wurde", "")
_ADJECTIVE_ENDINGS = re.compile(
    r"(?:ed|ing|ly|able|ible|ive|ful|less|ous|ent|ant|ig|lich|bar|los|sam|haft|isch|ert|en|\u00e9e?s?|eux|euse|aire|ect|[aeioui]d[ao]s?|[\u00f3o]ri[ao]s?"
    r"|os[ao]s?|iv[ao]s?|vel|nte|[ct]t[ao]s?|ble|ale?)$",
    re.IGNORECASE,
)
"""Endings of adjectives and participles in six languages, which describe a password."""


def _is_stated_password(match: Match) -> bool:
    """Whether a statement contains a password: "my password is hunter2", not "my password is weak"."""
    value, quoted = _value(match)
    value = value.rstrip(".,;:!?")
    if len(value) < 4 or is_placeholder(value) or is_common_word(value) or _ADDRESS.match(value):
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
    return (
        copula not in _WEAK_COPULAS
        and len(value) >= 5
        and _ends_sentence(match)
        and not _ADJECTIVE_ENDINGS.search(value)
    )


def _worded_secret(value: str, match: Match) -> bool:
    """Whether it is a passphrase of at least three hyphenated words at the end of a sentence."""
    return len(re.split(r"[-_]", value)) >= 3 and _ends_sentence(match)


def is_random_value(match: Match) -> bool:
    """Whether the match is random rather than words."""
    value = match["secret"]
    return not is_placeholder(value) and (
        is_random(value) or (len(value) >= 12 and is_mixed(value) and not _is_words(value))
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
    return any(len(part) >= 8 and (is_random(part) or is_mixed(part)) and not is_placeholder(part) for part in parts)


def is_given(match: Match) -> bool:
    """Whether the match is a value, neither a placeholder nor a common word."""
    return not is_placeholder(match["secret"]) and not is_common_word(match["secret"])


def _is_seed(match: Match) -> bool:
    return len(set(re.findall(r"[a-z]+", match["secret"]))) >= 8


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


OF = (
    r"(?:\s(?:for|to|of|on|at|in|f\u00fcr|vom|von|zum|zu|des|der|du|de|del|della|dello|di|pour|para|da|do|per|im|am|beim|we use|i use|i have)\s"
    r"[^\n:.,;=]{1,40}?|\s(?:wi-?fi|wlan|nuev[ao]|nouveau|agora|actual|atual))?"
)
COPULA = (
    r"(?P<copula>\s(?:is|was|are|has been|had been|ist|war|sind|wurde|lautet|hei(?:\u00df|ss)t|es|est|sera|\u00e9|\u00e8|ser\u00e1|s\u00e3o|son|to|"
    r"will be|should be|must be)(?:\s{0,2}:\s{0,3}|\s{1,2})|,?\sc['\u2019]est\s|['\u2019]s\s|\s?:\s{1,3}|\uff1a|\u662f)"
)
ADVERBS = r"(?:(?:now|still|currently|set to|changed to|reset to|auf|simply|just|always)\s){0,2}:?\s{0,2}"

CONTEXT_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        kind="private-key", needles=("-----begin ", "---- begin "), holds=_has_key,
        expression=any_case(
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:"
            r"(?:(?!-{4,5} ?BEGIN )[\s\S]){1,20000}?-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
            r"|(?:\s{0,4}[A-Z-]{3,20}: [^\n]{0,200}+){0,4}(?:\s|\\[nr]){0,8}(?:[A-Z0-9+/=]{16,}+(?:\s|\\[nr]){0,8}){1,400}+(?:[A-Z0-9+/]{1,15}\s{0,8}\Z)?)"
        ),
    ),
    Pattern(
        kind="private-key", needles=("private-lines:",), holds=_has_key,
        expression=any_case(r"Private-Lines: ?\d{1,4}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/=]{8,80}\s{0,2}){1,400}+)"),
    ),
    Pattern(
        kind="url-password", needles=("://",), holds=is_given,
        expression=any_case(r"(?<=[a-z0-9+.-])://[^\s:@/?#'\"<>\[\]]{0,128}:(?P<secret>(?:[^\s/?#'\"<>]|['\"](?=[\w!$%&*+-])){1,256})@[\w.\[-]"),
    ),
    Pattern(
        kind="otp-secret", needles=("otpauth://", "totp", "2fa", "authenticator"),
        expression=any_case(
            r"(?:otpauth://[^\s]{1,300}?[?&]secret=|(?:totp|2fa|authenticator)[ _-](?:secret|seed|key)\s{0,3}(?:is|=|:)\s{0,3})"
            r"(?P<secret>(?-i:[A-Z2-7](?: ?[A-Z2-7]){15,63}))"
        ),
    ),
    Pattern(
        kind="authorization-header", needles=("authorization",), holds=is_given,
        expression=any_case(
            r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"']?(?:(?:bearer|basic|token|digest|apikey|negotiate|bot|key|oauth|ssws|splunk|geniekey|hawk|snowflake)\s{1,3})?+"
            r"(?P<secret>[^\s\"',;<>{}$]{8,4096}+)"
        ),
    ),
    Pattern(
        kind="basic-auth", needles=('"auth"',), holds=_is_pair,
        expression=any_case(r"\"auth\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9+/]{8,4096}+={0,2})\""),
    ),
    Pattern(
        kind="bearer-token", needles=("bearer",), holds=is_random_value,
        expression=any_case(r"\bbearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{12,}+)"),
    ),
    Pattern(
        kind="cookie", needles=("cookie",), holds=_is_cookie,
        expression=any_case(r"\bcookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<secret>[\w.-]{1,64}=[^\r\n\"']{4,4096}+)"),
    ),
    Pattern(
        kind="session-token", holds=_is_session,
        needles=("session", "sessid", "connect.sid", "xsrf-token", "csrf", "remember_token"),
        expression=any_case(
            r"(?:session(?:[_-]?(?:id|token))?|sessid|connect\.sid|xsrf-token|csrf[_-]?token|remember_token)"
            r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[^\s\"';,&]{16,1024}+)"
        ),
    ),
    Pattern(
        kind="signed-url", needles=("x-amz-", "x-goog-"),
        expression=any_case(r"x-(?:amz-(?:signature|security-token|credential)|goog-signature)=(?P<secret>[^&\s\"'<>]{16,2048}+)"),
    ),
    Pattern(
        kind="url-token", holds=_in_query,
        needles=("token=", "key=", "sig=", "signature=", "auth=", "secret=", "code=", "password=", "pwd="),
        expression=any_case(r"[a-z]{3,9}=(?P<secret>[^&\s#\"'<>]{8,2048}+)"),
    ),
    Pattern(
        kind="command-password", holds=is_given,
        needles=("-u", "--user", "--password", "--token", "--secret", "--api-key", "sshpass", "--passwd", "--passphrase"),
        expression=any_case(
            r"(?<!\S)(?:(?:-u|--user)[ =][\"']?[^\s:\"'/]{1,64}:(?!//)|sshpass -p ?[\"']?|--(?:password|passwd|passphrase|token|secret|api-key)[ =][\"']?)"
            r"(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_password,
        expression=any_case(rf"(?:{PASSWORD}|(?<![a-z])pass){SUFFIX}{ASSIGNMENT}{_VALUE}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_stated_password,
        expression=any_case(rf"{PASSWORD}{OF}{COPULA}{ADVERBS}{_VALUE}"),
    ),
    Pattern(
        kind="pin", needles=("pin",),
        expression=any_case(rf"\bpin(?:[ -]?(?:code|number))?{OF}(?:\s{{0,3}}(?:(?:is|was|ist|lautet|es|est|\u00e9|\u00e8|to)\b\s{{0,2}}:?|[:=#])|['\u2019]s)\s{{0,3}}(?P<secret>\d{{4,8}})(?![\d:/.-]?\d)"),
    ),
    Pattern(
        kind="card-code", needles=("cvv", "cvc", "security code"),
        expression=any_case(r"\b(?:cvv2?|cvc2?|security code)\s{0,3}(?:number\s)?(?:is|was)?\s{0,2}[:=#]?\s{0,3}(?P<secret>\d{3,4})(?!\d)"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_is_key, expression=any_case(rf"{KEY}{SUFFIX}{ASSIGNMENT}{_VALUE}"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_is_key, expression=any_case(rf"{KEY}{OF}{COPULA}{ADVERBS}{_VALUE}"),
    ),
    Pattern(
        kind="seed-phrase", needles=("seed", "mnemonic", "recovery", "backup"), holds=_is_seed,
        expression=any_case(
            r"(?:seed|recovery|mnemonic|backup)(?:[ _-]?(?:phrase|words?|key|seed))?\b[^\n:=]{0,40}?(?:\bis\b|\bare\b|:|=)\s{0,4}[\"'`]?"
            rf"(?P<secret>{_SEED}(?:(?:[ ,]{{1,3}}{_SEED}){{11,23}}|(?:,?\s{{0,2}}\n\s{{0,3}}{_SEED}){{11,23}}))"
        ),
    ),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""


def named_secret(name: str, value: str) -> str | None:
    """The kind of secret of a field value by the field's name: ``{"password": "sunflower"}``."""
    assignment = f'{name[-200:]}="{value}"'
    for pattern in _NAMED:
        match = pattern.expression.regex.search(assignment)
        if match is not None and pattern.holds is not None and pattern.holds(match):
            return pattern.kind
    return None


_NAMED = [pattern for pattern in CONTEXT_PATTERNS if pattern.kind in ("password", "key")]


# ruff: noqa: E501 - expressions are easier to check on one line


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
    """Whether the text in brackets beside the word password is one: no word and no measure."""
    value = match["secret"].rstrip(".,;:!?")
    if len(value) < 4 or is_placeholder(value) or is_common_word(value) or of_code(value) or MEASURE.fullmatch(value):
        return False
    return is_mixed(value) or not re.fullmatch(r"[\w'\u2019/-]+", value)


def _is_strict(match: Match) -> bool:
    """A stricter check for weak context: letters mixed with digits, and no common notation."""
    value = match["secret"].strip(".,;:!?()*_|\u00bb\u201d\u201c\u2019\u2018")
    if len(value) < 5 or is_placeholder(value) or is_common_word(value) or of_code(value) or MEASURE.fullmatch(value):
        return False
    return is_mixed(value) and not _NO_SECRET.fullmatch(value)


def stands_out(value: str) -> bool:
    """Whether a value is neither a word nor a common notation with digits or signs."""
    value = value.strip(".,;:!?()*_|")
    if len(value) < 4 or is_placeholder(value) or is_common_word(value) or of_code(value) or MEASURE.fullmatch(value):
        return False
    odd = is_mixed(value) or (not re.fullmatch(r"[\w'\u2019/-]+", value) and re.search(r"\w", value) is not None)
    return odd and not _NO_SECRET.fullmatch(value)


def _stands_out(match: Match) -> bool:
    return stands_out(match["secret"])


def _is_field(match: Match) -> bool:
    """Whether the word is a label alone on its line, with a value alone on the next."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    return _LABEL.search(before) is not None and stands_out(match["secret"])


_LABEL = re.compile(r"(?:^|\n)[\s*#>_-]{0,6}(?:[\w'\u2019-]{1,12} ){0,2}[*_]{0,2}$")


def _is_bare_key(match: Match) -> bool:
    """Whether a key directly follows its name: random, and no identifier."""
    value = match["secret"].rstrip(".,;:")
    if not is_of_service(match) or UUID.fullmatch(value) or is_placeholder(value) or _NO_SECRET.fullmatch(value):
        return False
    return is_random(value) and sum(c.isdigit() for c in value) >= 4


def _is_seed_phrase(match: Match) -> bool:
    """Whether a separate line has the distinct uninflected words of a wallet seed."""
    words = match["secret"].split()
    before = match.string[: match.start()].rstrip(" ")[-2:]
    apart = match.start() == 0 or before.endswith((":\n", "\n\n")) or before == "\n"
    return apart and len(words) in (12, 15, 18, 21, 24) and len(set(words)) == len(words)


def _is_login(match: Match) -> bool:
    value = match["secret"].rstrip(".,;")
    return not is_placeholder(value) and not is_common_word(value) and not value.isalpha()


def _opened(match: Match) -> bool:
    """Whether the word is in an opening tag."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    tag = before[before.rfind("<") :] if "<" in before else "/"
    return not re.search(r"[/>\s]", tag)


def _in_tag(match: Match) -> bool:
    return _opened(match) and is_given(match) and not of_code(match["secret"])


def _key_in_tag(match: Match) -> bool:
    return _opened(match) and is_random_value(match)


def _is_set(match: Match) -> bool:
    """Whether a command that sets a variable precedes."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    return _SETS.search(before) is not None and is_given(match)


_SETS = re.compile(
    r"(?:define|setenv|putenv)\w{0,10}\(\s{0,3}[\"'][\w-]{0,40}$|(?:^|\s)(?:ENV|ARG|setx|setenv)\s{1,3}[\w-]{0,40}$"
)
_TOKEN = r"(?P<secret>(?:[^\s\"'`|]|[\"'](?=[\w!$%&*+-])){4,128}+)"
_QUOTE = r"[\"'`\u201c\u201e\u2018\u00ab(*]{0,2}\s?"
_POSSESSIVE = r"(?:my|the|our|your|his|her|their|mein|das|unser|mi|la|mon|le|minha|a|il)"
_SEED_WORD = (
    r"(?!(?:the|and|for|are|was|but|not|from|his|her|has|had|our|its|were|been|their|she|him|they|who|how|did|does|would)\b)"
    r"[a-z]{3,8}\b(?<!\wed)(?<!\wing)(?<!\wly)(?<![^suai]s)"
)
_WEAK = r"(?:(?<!\w)clave|geheimwort|(?:wlan|wi-?fi|netzwerk)-?schl(?:\u00fc|ue)ssel|cl\u00e9 (?:du )?wi-?fi|code (?:du )?wi-?fi|chave do wi-?fi|wi-?fi (?:key|code))"

ADJACENT_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        kind="command-password", needles=("mysql", "mariadb"), holds=is_given,
        expression=any_case(r"\b(?:mysql(?:dump|admin)?|mariadb(?:-dump)?)\s[^\n|;]{0,120}?(?<=\s)(?-i:-p)[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"),
    ),
    Pattern(
        kind="command-password", needles=("docker", "podman", "ldapsearch", "unzip"), holds=is_given,
        expression=any_case(
            r"(?:(?:docker|podman)\slogin\s[^\n|;]{0,160}?(?<=\s)-p|ldapsearch\s[^\n|;]{0,160}?(?<=\s)(?-i:-w)|unzip\s[^\n|;]{0,160}?(?<=\s)(?-i:-P))"
            r"[ =]?[\"']?(?P<secret>[^\s\"'|<>-][^\s\"'|<>]{3,256}+)"
        ),
    ),
    Pattern(
        kind="password", needles=("wifi:",), holds=is_given,
        expression=any_case(r"wifi:(?:[^;\n]{0,60};){0,4}?p:(?P<secret>[^;\n]{4,128}+);"),
    ),
    Pattern(
        kind="login", needles=("login", "user", "account"), holds=_is_login,
        expression=any_case(
            r"\b(?:login|user(?:name)?|account)[ :]{1,2}[^\s:=()]{1,64}[\s,;/]{1,3}(?:and )?(?:pass(?:word)?|pw|pwd)\s{1,2}(?P<secret>[^\s\"'<>]{4,128}+)"
        ),
    ),
    Pattern(
        kind="login", needles=("login", "cred", "zugangsdaten", "identifiants"), holds=_is_strict,
        expression=any_case(
            r"(?:logins?|cred(?:ential)?s?|zugangsdaten|identifiants)(?:\s(?:for|of|to|f\u00fcr)\s[^\n:.,;=]{1,40}?)?(?:\s(?:is|are|sind|sont)|\s?:)\s{1,3}"
            rf"[^\s/]{{1,64}}?\s?(?:/|:(?!//))\s?{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_beside,
        expression=any_case(rf"{PASSWORD}{OF}\s\((?P<secret>[^\s()]{{4,128}})\)"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_beside, anywhere=True,
        expression=any_case(
            rf"\b(?:use|using|with|set|enter|take|put|type)\s[\"'`]?(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`]?\s(?:as|for)\s"
            rf"(?:the|my|your|our|its|a)\s(?:\w{{1,20}}\s){{0,2}}{PASSWORD}"
            r"(?=\s(?:for|on|of|to|in|there|now|please|and|but|when|if|instead)\b|[.,;:!?)]|\s*$)"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        expression=any_case(
            rf"{PASSWORD}s?{SUFFIX}[\"'`*]{{0,2}}(?:\s{{0,3}}(?:->|\u2192|\|)\s{{0,3}}|\s{{1,3}}[\u2013\u2014-]\s{{1,3}}|[ \t]{{1,2}}){_QUOTE}{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        expression=any_case(rf"{PASSWORD}e?s(?:{OF}{COPULA}|\s{{0,3}}:\s{{0,3}}){ADVERBS}{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,  # the second of two
        expression=any_case(
            rf"{PASSWORD}(?:e?s)?(?:{OF}{COPULA}|{ASSIGNMENT})[^\s]{{1,128}}?(?:[,;]|\s(?:or|and|und|oder|ou|et|o|y|e))?\s{_QUOTE}{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        expression=any_case(rf"{PASSWORD}\s(?:from|auf|a|en|para|in)\s{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_strict,
        expression=any_case(rf"{PASSWORD}\sfrom\s[^\s]{{1,128}}\sto\s{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=("clave", "geheimwort", "wlan", "netzwerk", "cl\u00e9", "code", "chave", "wifi", "wi-fi"), holds=_is_strict,
        expression=any_case(rf"{_WEAK}(?:{OF}{COPULA}|\s{{0,3}}[:=]\s{{0,3}}){ADVERBS}{_QUOTE}{_TOKEN}"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_in_tag,
        expression=any_case(rf"{PASSWORD}{SUFFIX}>\s{{0,4}}(?P<secret>[^<>\s]{{4,512}}+)\s{{0,4}}</"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_key_in_tag,
        expression=any_case(rf"{KEY}{SUFFIX}>\s{{0,4}}(?P<secret>[^<>\s]{{12,512}}+)\s{{0,4}}</"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=is_given,
        expression=any_case(rf"{PASSWORD}{SUFFIX}[\"']\s{{1,3}}value=[\"'](?P<secret>[^\"'\n]{{4,512}}+)[\"']"),
    ),
    Pattern(
        kind="password", needles=(*PASSWORDS, *KEYS), holds=_is_set,
        expression=any_case(rf"(?:{PASSWORD}|{KEY}){SUFFIX}(?:[\"']\s{{0,3}},\s{{0,3}}[\"']|\s{{1,3}}[\"']?)(?P<secret>[^\s\"'<>]{{4,512}}+)"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_stands_out,  # "What is the password? It's ..."
        expression=any_case(
            rf"{PASSWORD}{OF}\?[\"')*]{{0,3}}\s{{1,4}}(?:[\w ]{{1,20}}:\s{{0,3}})?(?:(?:it|that|es|c|\u00e9|\u00e8)(?:['\u2019]s|['\u2019]est| is| was| ist|)\s{{1,2}}:?)?{_QUOTE}{_TOKEN}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_field,
        expression=any_case(rf"{PASSWORD}{SUFFIX}[ \t*:]{{0,4}}(?:\n[ \t]{{0,8}}){{1,2}}(?P<secret>[^\s]{{4,128}}+)(?=[ \t]*(?:\n|\Z))"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_is_bare_key,
        expression=any_case(rf"{KEY}{SUFFIX}[\"'`*]{{0,2}}[ \t]{{0,3}}(?:[ \t]|\n\s{{0,4}}|->\s|\u2192\s|\|\s){_QUOTE}(?P<secret>[A-Za-z0-9_+/=.~-]{{16,512}}+)(?![\w(])"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_stands_out, anywhere=True,  # "... is my password"
        expression=any_case(
            rf"(?<!\S)[\"'`(*]{{0,2}}(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`*]{{0,2}}\s(?:is|was|ist|war|es|est|\u00e9|\u00e8)\s{_POSSESSIVE}\s(?:[\w-]{{1,20}}\s){{0,2}}{PASSWORD}"
            r"(?![\w-]|\s(?:hint|manager|reset|policy|field|prompt|page|generator|vault|hash|change|rule|length|screen|box|dialog|list|file))"
        ),
    ),
    Pattern(
        kind="pin", needles=("pin ",), expression=any_case(r"(?-i:\bPIN) (?P<secret>\d{4})(?![\d:/.-]?\d)"),
    ),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""

ANYWHERE: tuple[Pattern, ...] = (
    Pattern(
        kind="seed-phrase", needles=(), holds=_is_seed_phrase, anywhere=True,
        expression=Expression(rf"(?m)^[ \"'`*>]{{0,4}}(?P<secret>{_SEED_WORD}(?: {_SEED_WORD}){{11,23}})[ \"'`*.]{{0,3}}$(?!\n(?:{_SEED_WORD} ){{8}})"),
    ),
)  # fmt: skip
"""Tried on every text; they need no context."""


_CELLS = {sign: re.compile(rf'(?:[^"{re.escape(sign)}]|"[^"]*+"|")*+') for sign in "|\t;,"}
_HEADING = re.compile(r"[\s\"'*_`]*(?:[^\W_][\w-]*(?: [\w/-]+){0,2})?[\s\"'*_`]*")
_LOGIN = re.compile("(?i)user|login|e-?mail|account|benutzer|konto|usuario|utilisateur")
_PLAIN = re.compile(r"[a-z]{6,}(?<!ed)(?<!ing)(?<!ly)(?<!able)")
LONGEST = 2_000
"""Longest header line in characters."""
_OPAQUE = "k7Q2xV9mZ4tR8wB1nY5c"


@dataclass(frozen=True, slots=True)
class _Table:
    sign: str
    width: int
    secret: dict[int, str]
    logins: bool


def columns(text: str) -> Iterator[Span]:
    """Spans of cells in secret columns of tables; marks of earlier passes count as cells."""
    table, at, low = None, 0, text.lower()
    names = [name for name in (*PASSWORDS, *KEYS) if name in low]
    for line in text.split("\n"):
        if table is not None:
            cells = _cells(line, table.sign)
            table = table if len(cells) == table.width else None
            if table is not None:
                yield from _secrets(text, table, [(at + start, at + end) for start, end in cells])
        if table is None:
            table = _headed(line, names)
        at += len(line) + 1


def _cells(line: str, sign: str) -> list[tuple[int, int]]:
    found, at = list[tuple[int, int]](), 0
    while (match := _CELLS[sign].match(line, at)) is not None:
        found.append(match.span())
        if match.end() == len(line):
            break
        at = match.end() + 1
    return found


def _headed(line: str, names: Sequence[str]) -> _Table | None:
    """The table that a header line starts, if one of its columns is secret."""
    sign = next((sign for sign in _CELLS if sign in line), None)
    if sign is None or len(line) > LONGEST or not any(name in line.lower() for name in names):
        return None
    headings = [line[start:end] for start, end in _cells(line, sign)]
    if sum(bool(one.strip()) for one in headings) < 2 or not all(map(_HEADING.fullmatch, headings)):
        return None
    named = {place: one.strip(" \t\"'*_`") for place, one in enumerate(headings)}
    secret = {place: name for place, name in named.items() if named_secret(name, _OPAQUE)}
    return _Table(sign, len(headings), secret, any(map(_LOGIN.search, headings))) if secret else None


def _secrets(text: str, table: _Table, cells: list[tuple[int, int]]) -> Iterator[Span]:
    for place, name in table.secret.items():
        start, end = cells[place]
        cell = text[start:end]
        value = cell.strip(" \t\r\"'*_`")
        kind = named_secret(name, value) if value and not re.search(r"\s", value) else None
        if kind and (kind == "key" or stands_out(value) or (table.logins and _PLAIN.fullmatch(value))):
            first = start + cell.index(value)
            yield first, first + len(value), kind
