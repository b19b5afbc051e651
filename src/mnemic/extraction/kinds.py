"""Whether a statement speaks of software."""

from __future__ import annotations

import re

__all__ = ["is_technical"]

LONGEST = 4_000
"""Characters that decide: a statement says what it is at its beginning."""

_TECHNICAL = re.compile(
    r"""(?<!\S)--[a-z][\w-]*|(?<![\w.])[\w/-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|cpp|cs|php|sql|sh|ya?ml|toml|json|md|cfg|html)\b
    |\b(?:api|apis|backend|branch|build|bug|bugs|cache|caching|ci|cli|client|cluster|code|codebase|commit|commits|
    compiler|config|configuration|container|cookie|cpu|crash|css|daemon|database|databases|dataclass|debug|
    decorator|decorators|dependency|dependencies|deploy|deploys|deployment|docker|dtos?|endpoint|endpoints|env|
    exception|exceptions|firewall|framework|frontend|function|functions|git|github|graphql|grpc|handler|
    handlers|hook|html|https?|index|inherit|inherits|integration|interface|json|jwt|kubernetes|latency|library|
    lint|linter|linux|log|logs|logging|login|microservices?|middleware|migration|migrations|mock|module|modules|
    monolith|mutex|mysql|node|null|oauth|orm|package|packages|parser|parsing|password|passwords|pipeline|plugin|
    pool|port|postgres|postgresql|proxy|pull\ request|python|query|queries|queue|race\ condition|redis|refactor|
    refactored|regex|release|repo|repository|repositories|rest|retry|retries|rust|scheduler|schema|script|sdk|
    server|servers|service|services|singleton|snake_case|sql|sqlite|ssh|ssl|stack\ trace|staging|stderr|stdout|
    table|tables|test\ suite|tests|thread|threads|timeout|tls|token|tokens|typescript|javascript|ui|
    unit\ tests?|auth|authentication|registry|percentile|tracing|polyfill|round\ trips?|pdf|csv|byte|bytes|
    upload|uploads|url|urls|utf-8|variable|webhook|websocket|worker|workers|yaml|kafka|mongodb|nginx|terraform|
    django|flask|fastapi|react|vue|angular|golang|java|kotlin|swift|adr|batching|inserts|imports|
    event\ sourcing|profiling)\b
    |\bv?\d+\.\d+\.\d+\b|\b\d+\ ?(?:ms|mb|gb|kb|mib|gib|rps|qps|vcpus?)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_HUMPS = re.compile(r"\b(?!(?:Mc|Mac|Le|La|De|Di|Du|Van|Fitz)[A-Z])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b")
_CASED = re.compile(r"\b[A-Za-z]\w*_\w+\b|`[^`\n]+`|\w+\(\)|\b[A-Z]{2,}[A-Z_]*=")
# Words of everyday speech as well: one of them tells of software where no person is spoken of.
_SHARED = frozenset(
    """build cache client code function functions index interface log mock package packages release script server service
    services test tests ui worker workers integration crash pipeline query queue imports""".split()
)
# More everyday than technical: they tell of software only in the company of other words.
_EVERYDAY = frozenset(
    "branch cookie hook java library node pool port react rest swift table tables thread token".split()
)
_PERSON = re.compile(
    r"\b(?:i|me|my|mine|he|she|his|her|him|mother|father|mom|mum|dad|wife|husband|partner|son|daughter|sister|brother|"
    r"friends?|kids?|children|family)\b",
    re.IGNORECASE,
)


def is_technical(text: str) -> bool:
    """Whether a text speaks of software: identifiers, file names, or the words of the trade.

    A word that everyday speech has as well counts only with another one, or (server, test) where no person is spoken
    of.
    """
    text = text[:LONGEST]
    if _CASED.search(text):
        return True
    words = {match[0].lower() for match in _TECHNICAL.finditer(text)}
    if words - _EVERYDAY - _SHARED or len(words) > 2:
        return True
    perhaps = bool(words & _SHARED) or bool(_HUMPS.search(text))
    return perhaps and (len(words) > 1 or not _PERSON.search(text))
