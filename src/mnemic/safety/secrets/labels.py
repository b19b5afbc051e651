"""What stands beside a word for a secret, where the value itself has to look like one, and what shells are given."""

# ruff: noqa: E501 - expressions are easier to check on one line
from __future__ import annotations

import re

from mnemic.safety.secrets.pattern import Match, Pattern
from mnemic.safety.secrets.surroundings import (
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
    UUID,
    compiled,
    is_given,
    is_of_service,
    is_random_value,
    of_code,
)  # fmt: skip
from mnemic.safety.secrets.values import is_mixed, is_ordinary, is_random, is_stand_in

__all__ = ["ANYWHERE", "BESIDE", "stands_out"]

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


def stands_out(value: str) -> bool:
    """Whether a value is no word, and nothing else that has digits or signs in it."""
    value = value.strip(".,;:!?()*_|")
    if len(value) < 4 or is_stand_in(value) or is_ordinary(value) or of_code(value) or MEASURE.fullmatch(value):
        return False
    odd = is_mixed(value) or (not re.fullmatch(r"[\w'\u2019/-]+", value) and re.search(r"\w", value) is not None)
    return odd and not _NO_SECRET.fullmatch(value)


def _stands_out(match: Match) -> bool:
    return stands_out(match["secret"])


def _is_field(match: Match) -> bool:
    """Whether the word is alone on its line, as the label of a form is, and a value alone on the next."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    return _LABEL.search(before) is not None and stands_out(match["secret"])


_LABEL = re.compile(r"(?:^|\n)[\s*#>_-]{0,6}(?:[\w'\u2019-]{1,12} ){0,2}[*_]{0,2}$")


def _is_bare_key(match: Match) -> bool:
    """Whether a key follows its name with nothing between: random, and no identifier."""
    value = match["secret"].rstrip(".,;:")
    if not is_of_service(match) or UUID.fullmatch(value) or is_stand_in(value) or _NO_SECRET.fullmatch(value):
        return False
    return is_random(value) and sum(c.isdigit() for c in value) >= 4


def _is_seed(match: Match) -> bool:
    """Whether a line apart is as many different words as a wallet has, none of them inflected as in prose."""
    words = match["secret"].split()
    before = match.string[: match.start()].rstrip(" ")[-2:]
    apart = match.start() == 0 or before.endswith((":\n", "\n\n")) or before == "\n"
    return apart and len(words) in (12, 15, 18, 21, 24) and len(set(words)) == len(words)


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
_YOURS = r"(?:my|the|our|your|his|her|their|mein|das|unser|mi|la|mon|le|minha|a|il)"
_SEED_WORD = (
    r"(?!(?:the|and|for|are|was|but|not|from|his|her|has|had|our|its|were|been|their|she|him|they|who|how|did|does|would)\b)"
    r"[a-z]{3,8}\b(?<!\wed)(?<!\wing)(?<!\wly)(?<![^suai]s)"
)
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
        kind="password", needles=PASSWORDS, holds=_stands_out,  # "What is the password? It's ..."
        regex=compiled(
            rf"{PASSWORD}{OF}\?[\"')*]{{0,3}}\s{{1,4}}(?:[\w ]{{1,20}}:\s{{0,3}})?(?:(?:it|that|es|c|\u00e9|\u00e8)(?:['\u2019]s|['\u2019]est| is| was| ist|)\s{{1,2}}:?)?{_QUOTE}{_TELLS}"
        ),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_is_field,
        regex=compiled(rf"{PASSWORD}{LATER}[ \t*:]{{0,4}}(?:\n[ \t]{{0,8}}){{1,2}}(?P<secret>[^\s]{{4,128}}+)(?=[ \t]*(?:\n|\Z))"),
    ),
    Pattern(
        kind="key", needles=KEYS, holds=_is_bare_key,
        regex=compiled(rf"{KEY}{LATER}[\"'`*]{{0,2}}[ \t]{{0,3}}(?:[ \t]|\n\s{{0,4}}|->\s|\u2192\s|\|\s){_QUOTE}(?P<secret>[A-Za-z0-9_+/=.~-]{{16,512}}+)(?![\w(])"),
    ),
    Pattern(
        kind="password", needles=PASSWORDS, holds=_stands_out, anywhere=True,  # "... is my password"
        regex=compiled(
            rf"(?<!\S)[\"'`(*]{{0,2}}(?P<secret>[^\s\"'`]{{4,128}}+)[\"'`*]{{0,2}}\s(?:is|was|ist|war|es|est|\u00e9|\u00e8)\s{_YOURS}\s(?:[\w-]{{1,20}}\s){{0,2}}{PASSWORD}"
            r"(?![\w-]|\s(?:hint|manager|reset|policy|field|prompt|page|generator|vault|hash|change|rule|length|screen|box|dialog|list|file))"
        ),
    ),
    Pattern(
        kind="pin", needles=("pin ",), regex=compiled(r"(?-i:\bPIN) (?P<secret>\d{4})(?![\d:/.-]?\d)"),
    ),
)  # fmt: skip
"""Tried where a text, in lower case, holds one of their needles."""

ANYWHERE: tuple[Pattern, ...] = (
    Pattern(
        kind="seed-phrase", needles=(), holds=_is_seed, anywhere=True,
        regex=re.compile(rf"(?m)^[ \"'`*>]{{0,4}}(?P<secret>{_SEED_WORD}(?: {_SEED_WORD}){{11,23}})[ \"'`*.]{{0,3}}$(?!\n(?:{_SEED_WORD} ){{8}})"),
    ),
)  # fmt: skip
"""Tried on every text: nothing has to stand beside them."""
