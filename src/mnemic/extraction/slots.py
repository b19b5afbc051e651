"""Two sentences about one thing: the same words about the same people, and only a value exchanged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mnemic.extraction.attributes import PERSON_NOUNS, light_terms
from mnemic.extraction.values import canonical, word_kind
from mnemic.text.dates import MONTHS
from mnemic.text.names import names
from mnemic.text.terms import content_terms

__all__ = ["Read", "gives_up", "mentions", "people", "read", "replaced_values", "same_slot"]

_LONGEST = 400
_KIN = frozenset(content_terms(" ".join([*sorted(PERSON_NOUNS), "team company family"])))
_DATES = frozenset(
    content_terms(" ".join([*MONTHS, "monday tuesday wednesday thursday friday saturday sunday weekday weekend"]))
)
_SPEAKERS = re.compile(
    r"\b[Tt]he user(?:'s team| and others|'s)?(?!\w)|\b[A-Z]\w+ and others\b|\b(?:[Tt]he|[Oo]ur) team\b"
)
"""Who speaks for a group, or without a name: as unowned as what nobody is named for."""
_OURS = re.compile(r"\b(?:we|our|i|my|us|me)\b", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<=[\w,;:] )[A-Z][\w.+#-]*")
_OWNER = re.compile(
    r"\b([A-Z]\w+)['\u2019]s\b|"
    r"^([A-Z]\w+) (?!(?:is|was) (?:(?:now|currently|still|also) )?(?:the|our|my|we)\b)(?=[a-z]+(?:s|ed)\b)"
)
"""Ana's car, Ana drives; but Ana is our contact says who is."""
_SAYS = re.compile(r"^(?:The user|I|We) says?: ")
_REPLACED = re.compile(
    r"\b(?:from(?! (?:now|here|today|then|there|that|this)\b)|"
    r"instead of|rather than|in place of|replac(?:ed|ing|es)|ditch(?:ed|ing)|dropp?(?:ed|ing)|swapped|"
    r"traded(?: in)?|left|quit|cancell?ed|"
    r"closed|finished|stopped(?: using)?|no longer(?: an?| the| in| at| on| use| using| with)?|gave up|sold|over|"
    r"not|unlike|away from|done with)\s+"
    r"(?:(?:my|our|the|a|an|her|his|their|using|old|by|in|on|at|with|reading|being)\s+)*"
    r"(?P<old>[^\s,.;!?]+(?:\s+(?!to\b|for\b|with\b|and\b|now\b|as\b|in\b|anymore\b|account\b|"
    r"subscription\b)[^\s,.;!?]+){0,2})",
    re.IGNORECASE,
)


_UNITS = frozenset(
    content_terms(
        "euro dollar pound percent kilo second minute hour day week month year millisecond gb mb km mile metre cm"
    )
)


_SORTS = ("time", "date", "number", "name", "plain")


@dataclass(frozen=True, slots=True)
class Read:
    """The terms of a sentence by what they are: numbers, times, dates, names, and the words that tell what it is
    about.
    """

    terms: frozenset[str]
    times: frozenset[str]
    dates: frozenset[str]
    numbers: frozenset[str]
    named: frozenset[str]
    topic: frozenset[str]
    owned: frozenset[str]
    leading: frozenset[str]
    ours: bool

    @property
    def people(self) -> frozenset[str]:
        """Whose it speaks of, and who begins it."""
        return self.owned | self.leading

    @property
    def called(self) -> frozenset[str]:
        """Names that are values, not owners."""
        return self.named - self.owned

    @property
    def values(self) -> frozenset[str]:
        """Everything that can be a value without being read."""
        return self.times | self.dates | self.numbers | self.called


def _capitalised(text: str) -> set[str]:
    """Terms of capitalised words, the first one of a sentence left to ``names``."""
    return {term for word in _CAPITAL.findall(text) for term in content_terms(word)}


@lru_cache(maxsize=4096)
def read(text: str) -> Read:
    """The terms of a sentence, sorted."""
    text = _SPEAKERS.sub("we", _SAYS.sub("", text[:_LONGEST]))
    called = set(content_terms(" ".join(names(text)))) | _capitalised(text)
    owners = _OWNER.findall(text)
    whose = {term for word, _ in owners if word for term in content_terms(word)} & called
    first = {term for _, word in owners if word for term in content_terms(word)} & called
    terms = frozenset(content_terms(canonical(text)))
    sorted_: dict[str, set[str]] = {sort: set() for sort in _SORTS}
    for term in terms:
        sorted_[_sort_of(term, called)].add(term)
    dates, numbers = frozenset(sorted_["date"]), frozenset(sorted_["number"])
    return Read(
        terms=terms, times=frozenset(sorted_["time"]),
        dates=dates | numbers if dates else dates, numbers=frozenset() if dates else numbers,
        named=frozenset(sorted_["name"]),
        topic=frozenset(sorted_["plain"]) - light_terms() - _UNITS,
        owned=frozenset(whose | (terms & _KIN)), leading=frozenset(first),
        ours=_OURS.search(text) is not None,
    )  # fmt: skip


def people(text: str) -> frozenset[str]:
    """Whose the sentence speaks of: names that own or begin it, and relatives; nobody when it is the speaker."""
    return read(text).people


def mentions(text: str, value: str) -> bool:
    """Whether all terms of a value are in the sentence."""
    terms = frozenset(content_terms(canonical(value)))
    return bool(terms) and terms <= read(text).terms


def gives_up(last: str, first: str) -> str:
    """The value of an earlier statement that a later one says is no more; whom the earlier one is about is none."""
    whose = people(first)
    for old in replaced_values(last):
        if mentions(first, old) and not {*content_terms(canonical(old))} <= whose:
            return old
    return ""


def replaced_values(text: str) -> list[str]:
    """Values that a sentence says are no more: from MySQL to Postgres, cancelled Netflix."""
    return [match["old"] for match in _REPLACED.finditer(text[:_LONGEST])]


def same_slot(first: str, second: str) -> bool:
    """Whether two sentences are about one thing of the same people and differ in its value.

    Each has a value of one sort (a time, a date, a number, a name, plain words) that the other has not; the words
    that tell
    what it is about are shared, and at most one of the two says more. Verbs and names of attributes count for
    little: the
    plan costs 9, its price is 12.
    """
    a, b = read(first), read(second)
    if a.people != b.people:
        return False
    topic, more_a, more_b = a.topic & b.topic, a.topic - b.topic, b.topic - a.topic
    shared = (a.terms & b.terms) - a.people - _UNITS
    typed = any(
        x and y and x - y and y - x for x, y in ((a.times, b.times), (a.dates, b.dates), (a.numbers, b.numbers))
    )
    if typed:
        return (
            a.named == b.named
            and not (more_a and more_b)
            and (bool(topic | (a.named - a.people)) or (not more_a and not more_b and bool(shared)))
        )
    if a.named - b.named and b.named - a.named:
        told = len(more_a) + len(more_b)
        return not (more_a and more_b) and told <= 2 and (bool(topic) or (not told and len(shared) >= 2))
    if a.named != b.named or not more_a or not more_b or max(len(more_a), len(more_b)) > 2:
        return False
    return len(topic) >= 2 or (bool(topic) and len(shared) >= 2)


def _sort_of(term: str, named: set[str]) -> str:
    sort = _plain_sort(term)
    if term not in named or sort in ("date", "time") or (sort == "number" and not term[0].isalpha()):
        return sort
    return "name"


@lru_cache(maxsize=16_384)
def _plain_sort(term: str) -> str:
    """The sort of a term that is not written as a name."""
    if term in _DATES:
        return "date"
    if ":" in term:
        return "time"
    if any(c.isdigit() for c in term):
        return "number"
    return "name" if word_kind(term) else "plain"
