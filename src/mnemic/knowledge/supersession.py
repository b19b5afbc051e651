"""Supersession: whether a later statement takes the place of an earlier one by what the two say.

Only for certain. A statement ends an earlier one where it names the value that it replaces ("switched from Slack to Matrix",
"no longer at Lux"), or where both give one thing two values of one kind: the same words, but for two names, numbers, times or
days, with a word of change beside them ("now", "new", "moved to") or in one of the few relations that have one value at a
time (a home, an employer, what a port or a timeout is). What is only possible, passing or somebody else's ends nothing, nor
does an adjective, a role or a second thing of the same sort. In doubt both stay, and recall puts the later one first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms

__all__ = ["replaced_value"]

Kind: TypeAlias = Literal["number", "time", "day", "name"]

LONGEST = 300
"""Characters of a statement that is compared; what is longer speaks of more than one thing."""
BESIDE = 2
"""Terms that an earlier statement may have beside those of a later one that tells of a change."""
LISTED = 6
"""Terms of a statement in which a name alone says what it is about."""

_WORD = re.compile(r"\w+(?:[.:@/'\u2019_+-]\w+)*")
_TIME = re.compile(r"\d{1,2}(?:[:.]\d\d(?:[ap]m)?|[ap]m)|noon|midnight", re.IGNORECASE)
_DAY = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan(?:uary)?|feb(?:ruary)?|march|april|may|june|july|august|"
    r"sept(?:ember)?|october|november|december|\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"\bfrom (?:the |our |my )?(?P<from>[^.,;!?\n]{2,40}?) (?:over )?(?:to|onto)\b|"
    r"\b(?:instead of|rather than|no longer|no more|replac\w+|(?:switched|moved|migrated) (?:away |over )?(?:from|off)|"
    r"given up|gave up|quit|sold|dropped|stopped(?: \w+ing)?) (?:the |my |our )?"
    r"(?P<of>[^.,;!?\n]{2,40})|"
    r"(?:\bnot|n['\u2019]t) (?P<not>[^.,;!?\n]{2,40}?)(?:,? but\b| any ?more\b|[.!]?$)",
    re.IGNORECASE,
)
"""What names the value that is replaced."""
_COORDINATED = re.compile(r"[;,]| and | but ")
_CLAUSE = re.compile(r"[.!?;:]\s|,\s|\s[-\u2013\u2014]+\s| so ")
_REPLACED_BY = re.compile(r"\s+(?:with|by|for|in favou?r of|since|as of|because|to)\b.*", re.IGNORECASE | re.DOTALL)
_CHANGE = frozenset(
    content_terms(
        """new newly moved changed switched renamed became become instead correction actually currently updated longer anymore
        today yesterday last week month year since effective starting these days meant sorry bumped raised lowered upgraded"""
    )
)
_NOW = re.compile(
    r"\b(?:now|new|no longer|any ?more|instead|correction|actually|meant|became|as of|these days|moved|changed|switched|"
    r"renamed|bumped|raised|lowered|upgraded|relocated)\b",
    re.IGNORECASE,
)
"""Words that say that something changed."""
_UNCERTAIN = re.compile(
    r"\?|\b(?:if|would|could|might|may|maybe|perhaps|probably|wish|thinking (?:of|about)|consider\w*|plan\w*|want\w*|hope|"
    r"used to|for (?:a|one|two|three|the next|\d+) \w+|until|till|this (?:week|month|weekend)|tonight|temporar\w+|"
    r"also|too|as well|another|second|besides|both)\b",
    re.IGNORECASE,
)
"""What is only possible, passes, or is told beside something else."""
_DENIED = re.compile(r"\b(?:not|no|never)\b|n['\u2019]t\b", re.IGNORECASE)
_THIRD = re.compile(r"\b(?:he|she|his|her)\b", re.IGNORECASE)
_POSSESSED = re.compile(r"\W*(?:my|our|his|her|their)\s+((?:[\w'\u2019-]+\s+){0,2}[\w'\u2019-]+)", re.IGNORECASE)
_FIRST = re.compile(r"\b(?:i|we|my|our|me|us)\b", re.IGNORECASE)
_MANY = frozenset(
    content_terms("friend colleague client neighbour neighbor brother sister cousin son daughter kid cat dog pet")
)
"""What one has several of."""
_RELATIONS = {
    term: relation
    for relation, words in (
        ("@home", "live lives living moved move moving relocated reside based home"),
        ("@work", "work works working job employed joined hired employer"),
    )
    for term in content_terms(words)
}
"""Verbs of the relations that have one value at a time, by their terms."""
_PLACE = re.compile(r"\s+(?:back |over |away )?(?:in|to|into|from|is)\b", re.IGNORECASE)
"""What follows a verb that tells of a home."""
_SET = re.compile(r"\b(?:is|are|runs?|listens?|costs?|expires?)\b|[=:]", re.IGNORECASE)
"""What stands before the value of a thing."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """What is compared of a statement: its terms, the kinds and words of those that are values, and the first."""

    text: str
    terms: frozenset[str]
    values: dict[str, Kind]
    words: dict[str, str]
    head: frozenset[str]

    def kinds(self, terms: frozenset[str]) -> set[Kind | None]:
        return {self.values.get(term) for term in terms}


def _read(text: str) -> _Statement:
    named = {term for name in names(text) for term in content_terms(name)}
    terms: set[str] = set()
    values: dict[str, Kind] = {}
    words: dict[str, str] = {}
    head: frozenset[str] = frozenset()
    for match in _WORD.finditer(text):
        word = match[0]
        for term in content_terms(word):
            kind = _kind(word, term, named)
            related = "" if kind else _RELATIONS.get(term, "")
            if related == "@work" or (related and _PLACE.match(text, match.end())):
                term = related  # noqa: PLW2901 - one word for all of a relation
            terms.add(term)
            if kind:
                values[term], words[term] = kind, word
        head = head or frozenset(terms - _CHANGE)
    return _Statement(text, frozenset(terms), values, words, head)


def _kind(word: str, term: str, named: set[str]) -> Kind | None:
    if _TIME.fullmatch(word):
        return "time"
    if _DAY.fullmatch(word) and (word[0].isupper() or word[0].isdigit() or len(word) > len("march")):
        return "day"
    if term in named and word[0].isalpha():
        return "name"
    return "number" if any(char.isdigit() for char in word) else None


def replaced_value(last: str, first: str) -> str:
    """The value of an earlier statement that a later one of the same speaker replaces for certain; empty where none is.

    Args:
        last: the later statement.
        first: the earlier one.
    """
    if max(len(last), len(first)) > LONGEST or _UNCERTAIN.search(last) or _UNCERTAIN.search(first):
        return ""
    if _somebody_else(last) != _somebody_else(first):
        return ""
    new, old = _read(last), _read(first)
    if not (_holder(last) <= old.terms and _holder(first) <= new.terms):
        return ""
    if named := _named(new, old):
        return named
    return _exchanged(new, old) if bool(_DENIED.search(last)) <= bool(_NOW.search(last)) else ""


def _holder(text: str) -> frozenset[str]:
    """The terms of somebody or something whose name or "my ..." begins a statement; none where its speaker does."""
    match = _POSSESSED.match(text)
    if match:
        return _read(match[1]).head
    first = _read("".join(text.split(maxsplit=1)[:1]))
    return frozenset(term for term in first.head if term in first.values)


def _somebody_else(text: str) -> bool:
    """Whether it is about a third person whom it does not name."""
    return bool(_THIRD.search(text)) and not _FIRST.search(text)


def _named(new: _Statement, old: _Statement) -> str:
    """The value that the later statement says it replaces, where the earlier one gives it and speaks of nothing else."""
    for match in _OLD.finditer(new.text):
        phrase = _REPLACED_BY.sub("", next(group for group in match.groups() if group))
        named = _read(phrase).terms - _CHANGE
        if not named or not named <= old.terms:
            continue
        left = old.terms - named - new.terms
        kinds = old.kinds(named) - {None}
        shared = (old.terms & new.terms) - named
        alone = "name" in kinds and len(old.terms) <= LISTED
        if (shared or alone or len(named) > 1) and not kinds & old.kinds(left) and _one_matter(old, new.terms, named):
            return phrase
    return ""


def _one_matter(statement: _Statement, shared: frozenset[str], values: frozenset[str]) -> bool:
    """Whether every clause of a statement has one of these terms, or nothing but these values."""
    clauses = [part for each in sentences(statement.text) for part in _COORDINATED.split(each)]
    return all(terms <= values or terms & shared for terms in (_read(clause).terms for clause in clauses))


def _exchanged(new: _Statement, old: _Statement) -> str:
    """The value that stands in the earlier statement where a clause of the later one has another of the same kind."""
    clauses = [_read(clause) for clause in _CLAUSE.split(new.text) if clause.strip()]
    return next((value for clause in (new, *clauses) if (value := _value_exchanged(clause, old))), "")


def _value_exchanged(new: _Statement, old: _Statement) -> str:
    shared = new.terms & old.terms
    gained, lost = new.terms - shared - _CHANGE, old.terms - shared - _CHANGE
    changed = _NOW.search(new.text) is not None
    if changed:  # "the standup moved to 10" beside "the standup is at 9:30": the verb tells of the change alone
        gained -= {"@home"}
    beside = {term for term in lost if term not in old.values}
    kinds, before = new.kinds(gained), old.kinds(lost - beside)
    if not (shared and gained and kinds <= before and len(kinds) == 1 and None not in kinds) or gained & new.head:
        return ""
    related = bool(shared & set(_RELATIONS.values()))
    if lost & old.head or (kinds == {"name"} and shared & _MANY and not related):
        return ""
    if changed:
        certain = len(beside) <= BESIDE and _one_matter(old, shared, lost - beside)
    else:
        certain = (
            not beside
            and before == kinds
            and all(_single(s, v, related=related) for s, v in ((new, gained), (old, lost)))
        )
    return " ".join(word for term, word in old.words.items() if term in lost) if certain else ""


def _single(statement: _Statement, value: frozenset[str], *, related: bool) -> bool:
    """Whether a statement gives a thing a value of which it has one at a time."""
    kind = statement.values[next(iter(value))]
    if related:
        return kind == "name"
    verb = _SET.search(statement.text)
    return kind in ("number", "time") and verb is not None and value <= _read(statement.text[verb.end() :]).terms
