"""Noun phrases: whose what it is, what attribute its noun names, and the facts that are made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.extraction.attributes import PERSONAL, Cardinality, Fact, cardinality, is_attribute, named
from mnemic.extraction.values import canonical, date_in, kind
from mnemic.text.common import is_common
from mnemic.text.terms import content_terms

__all__ = [
    "ADJECTIVES",
    "APPOSED",
    "ARTICLES",
    "CALENDAR",
    "CUT",
    "FROM_TO",
    "GROUP",
    "PERSONS",
    "POSSESSIVES",
    "PRICED",
    "STATES",
    "THINGS",
    "bare_words",
    "calendar_facts",
    "cleaned",
    "count_fact",
    "is_plural",
    "joined",
    "new_one",
    "owned",
    "slot_of",
    "told_fact",
    "value_sort",
    "whose_what",
    "without_old",
]

POSSESSIVES = {"my": "i", "our": "we", "her": "she", "his": "he", "their": "they", "its": "it", "your": "you"}

ARTICLES = frozenset("the a an this that these those some any".split())

PERSONS = frozenset("i we he she they you user".split())

ADJECTIVES = frozenset(
    "new current latest updated present actual real primary main own brand-new shiny revised final official "
    "correct brand".split()
)

_FORMER = frozenset("old former previous ex earlier original last prior ex-".split())

_COMING = frozenset("next future planned upcoming potential possible".split())

CUT = re.compile(
    r",?\s(?:last (?:week|month|year|spring|summer|autumn|fall|winter)|with|for|after|before|because|since|until|so|"
    r"due|from|where|who|which|that|alongside|together|when|during|thanks|"
    r"rather|instead|not|per|and (?:i|she|he|we|they|it)|plus|to be|over|while|via|by)\b.*$|,\s(?=[a-z]).*$"
)

FROM_TO = re.compile(r"\bfrom (?P<old>.{1,60}?) (?:over )?(?:to|into|onto) (?P<new>.+)$")

_OLD = re.compile(
    r"(?:,?\s|^)(?:instead of|rather than|in place of|over|replacing|up from|down from|away from|back from|from|not|"
    r"and not|"
    r"no longer|leaving behind|ditching|as opposed to|after leaving|after quitting|after) (?P<old>.{1,60})$"
)

_INSTEAD = re.compile(
    r"(?:,?\s|^)(?:instead of|rather than|in place of|replacing|and not|no longer|not) (?P<old>.{1,60})$"
)

THINGS = frozenset("car laptop phone residence".split())

STATES = frozenset(
    {"on hold", "in progress", "in review", "on track", "at risk", "in beta", "in production", "in testing"}
)

CALENDAR = frozenset({"date", "time"})


def whose_what(tokens: tuple[str, ...]) -> tuple[str, str, str, bool]:
    """Whose what: owner, noun, tense of the noun (her former manager), and whether it is a new one."""
    words = [token for token in tokens if token not in {",", "'s", "'"}]
    last = max(
        (at for at, word in enumerate(words[:-1]) if len(word) > 2 and word.lower().endswith(("'s", "s'"))), default=-1
    )
    if last >= 0:
        first = words[0].lower()
        begin = [f"{POSSESSIVES[first]}'s"] if first in POSSESSIVES else bare_words(words[:1])
        if words[last + 1 :] == ["team"] and words[:last] == ["The"] and words[last] == "user's":
            return "user's team", "", "present", False
        owner = " ".join([*begin, *bare_words(words[1 : last + 1])]).removesuffix("'s").removesuffix("'")
        return cleaned(owner, words[last + 1 :])
    if words and words[0].lower() in POSSESSIVES:
        return cleaned(POSSESSIVES[words[0].lower()], words[1:])
    return _of_thing(words)


def _of_thing(words: list[str]) -> tuple[str, str, str, bool]:
    """The port of the API; the standup; Ana."""
    lowered = [word.lower() for word in words]
    for preposition in ("of", "for", "on", "at", "in"):
        if preposition in lowered[1:-1]:
            at = lowered.index(preposition, 1)
            inner_owner, inner, _, _ = whose_what(tuple(words[at + 1 :]))
            return cleaned(owned(inner_owner, inner), words[:at])
    if not words:
        return "", "", "present", False
    if lowered[:2] in (["the", "user"], ["the", "assistant"]):
        return " ".join(lowered[1:]), "", "present", False
    has_article = lowered[0] in ARTICLES
    common = (
        all(word.islower() or is_common(word) for word in words)
        or is_attribute(" ".join(lowered))
        or value_sort(lowered[-1]) != ""
    )
    if has_article or (common and lowered[0] not in PERSONS):
        return cleaned("", words)
    return " ".join(bare_words(words)), "", "present", False


def cleaned(owner: str, words: list[str]) -> tuple[str, str, str, bool]:
    """Owner, noun without articles and adjectives, tense and newness of a noun phrase."""
    kept: list[str] = []
    tense, change = "present", False
    for word in (word.lower() for word in words):
        if word in ARTICLES or word in ADJECTIVES:
            change = change or word in {"new", "updated", "revised", "latest", "current"}
        elif word in _FORMER:
            tense = "past"
        elif word in _COMING:
            tense = "possible"
        else:
            kept.append(word)
    return owner, " ".join(kept), tense, change


def bare_words(words: list[str]) -> list[str]:
    """Lower-case words without articles and possessives."""
    return [low for word in words if (low := word.lower()) not in ARTICLES and low not in POSSESSIVES]


def owned(owner: str, thing: str) -> str:
    """A thing with its owner: ana's car; what is ours or nobody's stands alone."""
    if not owner or not thing:
        return owner or thing
    return thing if owner in {"we", "they", "it"} else f"{owner}'s {thing}"


_FAVOURITE = re.compile(
    r"^(?:favou?rite|go-to|preferred|fave|most loved|number one|top|usual|regular|standard) (.+)$|^(.+) of choice$"
)


def slot_of(owner: str, noun: str) -> tuple[str, str]:
    """Subject and attribute of whose what: (ana's sister, phone number), (api, port), (we, deadline)."""
    whole = re.sub(_FAVOURITE, lambda m: f"favourite {named(m[1] or m[2])}", noun)
    if is_attribute(noun) or whole.startswith("favourite") or " " not in noun:
        return owner or "we", named(whole)
    words = noun.split(" ")
    for at in range(1, len(words)):
        tail = " ".join(words[at:])
        if is_attribute(tail):
            return owned(owner, " ".join(words[:at])), named(tail)
    return owner or "we", noun


def value_sort(value: str) -> str:
    """What a value is, when that tells which attribute it is of."""
    found = kind(value)
    return (
        "" if found in {"number", "date", "time", "email", "phone number", "relationship", "diet", "status"} else found
    )


def joined(tokens: tuple[str, ...] | list[str]) -> str:
    """Tokens as text."""
    return " ".join(tokens).replace(" ,", ",").strip(" ,")


def told_fact(
    subject: str, attribute: str, value: str, many: Cardinality | None = None, *, change: bool = False, old: str = ""
) -> Fact:
    """A fact with its value in one spelling, and the number of values its attribute usually has."""
    subject = _whom(subject.removeprefix("the "), attribute)
    return Fact(
        subject,
        attribute,
        canonical(value),
        cardinality=many or cardinality(attribute),
        change=change,
        old=canonical(old),
    )


def _whom(subject: str, attribute: str) -> str:
    """One name for a group that speaks of itself; what is personal is the speaker's own, though it is told of both."""
    if subject == "user" or (subject.startswith("user's ") and subject != "user's team"):
        subject = f"i{subject[4:]}"
    speaker = subject.removesuffix(" and others").removesuffix("'s team")
    if subject not in {"we", "us", "team", "our team", "company", f"{speaker} and others", "user's team", "i's team"}:
        return subject
    if attribute not in PERSONAL:
        return "we"
    return speaker if speaker not in {subject, "user"} else "i"


def without_old(text: str, *, change: bool = True) -> tuple[str, str]:
    """The value, and the one it replaces: Postgres, instead of MySQL."""
    if not change:
        found = _INSTEAD.search(text)
        return (text[: found.start()].strip(" ,"), found["old"]) if found else (text, "")
    if found := FROM_TO.search(text):
        return f"{text[: found.start()]} {found['new']}".strip(), found["old"]
    found = _OLD.search(text)
    return (text[: found.start()].strip(" ,"), found["old"]) if found else (text, "")


def calendar_facts(subject: str, text: str, *, at_hour: bool = False, prefix: str = "") -> Iterator[Fact]:
    """Date and time in a value, each a fact of its own: Tuesday at 10."""
    value = canonical(text)
    if at_hour:
        value = re.sub(r"(?:^|(?<=at )|(?<=to ))(\d{1,2})$", lambda m: f"{int(m[1]):02d}:00", value)
    time = re.search(r"\b\d{1,2}:\d\d\b(?:\s?(?:-|to)\s?\d{1,2}:\d\d)?|half past \w+|quarter (?:past|to) \w+", value)
    if time:
        yield told_fact(subject, f"{prefix} time".strip(), time[0], "one")
        value = (value[: time.start()] + value[time.end() :]).strip(" ,")
        value = re.sub(r"^(?:at|on|by)\b|\b(?:at|on|by|in the (?:morning|evening|afternoon))$", "", value).strip(" ,")
    if date := date_in(re.sub(r"^(?:on|by|in|for|every|each)\s", "", value)):
        yield told_fact(subject, f"{prefix} date".strip(), date, "one")


PRICED = re.compile(r"^\d[\d.]* (?:euro|dollar|pound)\b")


def is_plural(attribute: str) -> bool:
    """Hobbies and friends: several values at a time."""
    head = attribute.rpartition(" ")[2]
    return head.endswith("s") and not head.endswith(("ss", "us", "is", "status", "address", "news")) and len(head) > 3


def count_fact(subject: str, number: str, noun: str) -> Fact:
    """Three cats; 75 kilos are a weight."""
    if noun in _MEASURES:
        return told_fact(subject, _MEASURES[noun], f"{number} {noun}", "one", change=True)
    return told_fact(subject, f"number of {' '.join(content_terms(noun))}", number, "one")


_MEASURES = {"kilo": "weight", "pound": "weight"}

GROUP = re.compile(r"\b(team|department|squad|division|night shift|day shift|late shift|early shift|plan|tier)$")


APPOSED = re.compile(r"^(?:a |an |my |our )?new ([a-z][\w -]{1,30}?)(?:,| named| called) (.+)$")
"""A new dentist, Dr. Costa."""


def new_one(subject: str, noun: str, value: str) -> Fact:
    """Somebody's new dentist, landlord or phone."""
    whose, attribute = slot_of(subject, " ".join(bare_words(noun.split(" "))))
    return told_fact(
        whose, attribute, CUT.sub("", value), None if cardinality(attribute) == "many" else "one", change=True
    )
