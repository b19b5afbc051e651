"""Supersession: whether a later statement replaces an earlier one, by their wording.

Only certain cases count. A statement supersedes an earlier one where it names the value that it replaces ("switched
from Slack to Matrix", "no longer at Lux"), or where both give one attribute two values of one kind: the same words
except for names, numbers, times or days, with a word of change ("now", "new", "moved to") or in one of the few
single-valued relations (a home, an employer, the value of a port or a timeout). Statements that are hypothetical,
temporary or about somebody else supersede nothing, nor does an adjective, a role or a second thing of the same sort. In
doubt both are kept, and recall ranks the later one first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mnemic.text.grammar import bare_words
from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms

__all__ = ["replaced_value"]

Kind: TypeAlias = Literal["number", "time", "day", "name"]

LONGEST = 300
"""Longest statement compared, in characters; longer ones have several subjects."""
MAX_EXTRA_TERMS = 2
"""Most terms of an earlier statement that a later one with a word of change lacks."""
MAX_TERMS = 6
"""Most terms of a statement whose subject is given by a name alone."""

_WORD = re.compile(r"\w+(?:[.:@/'\u2019_+-]\w+)*")
_TIME = re.compile(r"\d{1,2}(?:[:.]\d\d(?:[ap]m)?|[ap]m)|noon|midnight", re.IGNORECASE)
_DAY = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|jan(?:uary)?|feb(?:ruary)?|march|april|may|june|july|august|"
    r"sept(?:ember)?|october|november|december|\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"\bfrom (?:the |our |my )?(?P<from>[^.,;!?\n]{2,40}?) (?:over )?(?:to|onto)\b|"
    r"\b(?:instead of|rather than|no longer|no more|replac\w+|(?:switched|moved|migrated) (?:away |over )?(?:from|off)|"
    r"given up|gave up|quit|sold|dropped|stopped(?: \w+ing)?) (?:the |my |our )?"
    r"(?P<of>[^.,;!?\n]{2,40})|"
    r"(?:\bnot|n['\u2019]t) (?P<not>[^.,;!?\n]{2,40}?)(?:,? but\b| any ?more\b|[.!]?$)",
    re.IGNORECASE,
)
"""Phrases that name the replaced value."""
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
"""Words of change."""
_UNCERTAIN = re.compile(
    r"\?|\b(?:if|would|could|might|may|maybe|perhaps|probably|wish|thinking (?:of|about)|consider\w*|plan\w*|want\w*|hope|"
    r"used to|for (?:a|one|two|three|the next|\d+) \w+|until|till|this (?:week|month|weekend)|tonight|temporar\w+|"
    r"also|too|as well|another|second|besides|both)\b",
    re.IGNORECASE,
)
"""Words of hypothetical, temporary or additional statements."""
_DENIED = re.compile(r"\b(?:not|no|never)\b|n['\u2019]t\b", re.IGNORECASE)
_THIRD = frozenset("he she his her".split())
_FIRST = frozenset("i we my our me us".split())
_POSSESSED = re.compile(r"\W*(?:my|our|his|her|their)\s+((?:[\w'\u2019-]+\s+){0,2}[\w'\u2019-]+)", re.IGNORECASE)
_PLURAL_RELATIONS = frozenset(
    content_terms("friend colleague client neighbour neighbor brother sister cousin son daughter kid cat dog pet")
)
"""Relations with several values."""
_RELATIONS = {
    term: relation
    for relation, words in (
        ("@home", "live lives living moved move moving relocated reside based home"),
        ("@work", "work works working job employed joined hired employer"),
    )
    for term in content_terms(words)
}
"""Terms of verbs of single-valued relations."""
_PLACE = re.compile(r"\s+(?:back |over |away )?(?:in|to|into|from|is)\b", re.IGNORECASE)
"""Follows a verb of a home."""
_SET = re.compile(r"\b(?:is|are|runs?|listens?|costs?|expires?)\b|[=:]", re.IGNORECASE)
"""Precedes the value of an attribute."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A parsed statement: its terms, the kinds and words of its values, and its first terms."""

    text: str
    terms: frozenset[str]
    values: dict[str, Kind]
    words: dict[str, str]
    head: frozenset[str]

    def kinds(self, terms: frozenset[str]) -> set[Kind | None]:
        return {self.values.get(term) for term in terms}


def _parse(text: str) -> _Statement:
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
                term = related  # noqa: PLW2901 - one term for the whole relation
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
    """The value of an earlier statement that a later one by the same speaker certainly replaces; empty if none.

    Args:
        last: the later statement.
        first: the earlier one.
    """
    if max(len(last), len(first)) > LONGEST or _UNCERTAIN.search(last) or _UNCERTAIN.search(first):
        return ""
    if _is_about_third_person(last) != _is_about_third_person(first):
        return ""
    new, old = _parse(last), _parse(first)
    if not (_subject(last) <= old.terms and _subject(first) <= new.terms):
        return ""
    if named := _named_value(new, old):
        return named
    return _changed_value(new, old) if bool(_DENIED.search(last)) <= bool(_NOW.search(last)) else ""


def _subject(text: str) -> frozenset[str]:
    """The terms of the subject if it is a name or "my ..."; empty for the speaker."""
    match = _POSSESSED.match(text)
    if match:
        return _parse(match[1]).head
    first = _parse("".join(text.split(maxsplit=1)[:1]))
    return frozenset(term for term in first.head if term in first.values)


def _is_about_third_person(text: str) -> bool:
    """Whether it is about an unnamed third person."""
    words = bare_words(text)
    return not _THIRD.isdisjoint(words) and _FIRST.isdisjoint(words)


def _named_value(new: _Statement, old: _Statement) -> str:
    """The replaced value that the later statement names, if the earlier one is about nothing else."""
    denied = _DENIED.search(old.text) is not None
    for match in _REPLACED.finditer(new.text):
        if match["not"] and denied:  # the earlier one denies it as well
            continue
        phrase = _REPLACED_BY.sub("", next(group for group in match.groups() if group))
        named = _parse(phrase).terms - _CHANGE
        if not named or not named <= old.terms:
            continue
        left = old.terms - named - new.terms
        kinds = old.kinds(named) - {None}
        shared = (old.terms & new.terms) - named
        alone = "name" in kinds and len(old.terms) <= MAX_TERMS
        if (
            (shared or alone or len(named) > 1)
            and not kinds & old.kinds(left)
            and _is_single_topic(old, new.terms, named)
        ):
            return phrase
    return ""


def _is_single_topic(statement: _Statement, shared: frozenset[str], values: frozenset[str]) -> bool:
    """Whether every clause of a statement has a shared term, or only these values."""
    clauses = [part for each in sentences(statement.text) for part in _COORDINATED.split(each)]
    return all(terms <= values or terms & shared for terms in (_parse(clause).terms for clause in clauses))


def _changed_value(new: _Statement, old: _Statement) -> str:
    """The value of the earlier statement for which a clause of the later one has another of the same kind."""
    clauses = [_parse(clause) for clause in _CLAUSE.split(new.text) if clause.strip()]
    return next((value for clause in (new, *clauses) if (value := _changed_in_clause(clause, old))), "")


def _changed_in_clause(new: _Statement, old: _Statement) -> str:
    shared = new.terms & old.terms
    gained, lost = new.terms - shared - _CHANGE, old.terms - shared - _CHANGE
    changed = _NOW.search(new.text) is not None
    if changed:  # "the standup moved to 10" after "the standup is at 9:30": the verb only marks the change
        gained -= {"@home"}
    beside = {term for term in lost if term not in old.values}
    kinds, before = new.kinds(gained), old.kinds(lost - beside)
    if not (shared and gained and kinds <= before and len(kinds) == 1 and None not in kinds) or gained & new.head:
        return ""
    related = bool(shared & set(_RELATIONS.values()))
    if lost & old.head or (kinds == {"name"} and shared & _PLURAL_RELATIONS and not related):
        return ""
    if changed:
        certain = len(beside) <= MAX_EXTRA_TERMS and _is_single_topic(old, shared, lost - beside)
    else:
        certain = (
            not beside
            and before == kinds
            and all(_is_single_valued(s, v, related=related) for s, v in ((new, gained), (old, lost)))
        )
    return " ".join(word for term, word in old.words.items() if term in lost) if certain else ""


def _is_single_valued(statement: _Statement, value: frozenset[str], *, related: bool) -> bool:
    """Whether the attribute of a statement has one value at a time."""
    kind = statement.values[next(iter(value))]
    if related:
        return kind == "name"
    verb = _SET.search(statement.text)
    return kind in ("number", "time") and verb is not None and value <= _parse(statement.text[verb.end() :]).terms
