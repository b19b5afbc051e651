"""What a statement means for what is known: new, said before, an update, outdated already, or a contradiction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.extraction.attributes import PERSONAL, cardinality
from mnemic.extraction.clauses import is_short, standing, tells_of_change
from mnemic.extraction.facts import Fact, facts
from mnemic.extraction.matching import comparable, replacing
from mnemic.extraction.novelty import distinct_terms, novelty, similarities
from mnemic.extraction.scoping import scope
from mnemic.extraction.slots import gives_up, mentions, people, same_slot
from mnemic.extraction.values import kind, same_value
from mnemic.text.clock import aware
from mnemic.text.differs import differs
from mnemic.types import MemoryRecord
from mnemic.vectors import eased

__all__ = ["Resolution", "Resolved", "resolve", "said_when"]

Resolved: TypeAlias = Literal["new", "duplicate", "update", "outdated", "contradiction"]
_Relation: TypeAlias = Literal["replaces", "opposes"]

_YEAR = timedelta(days=366)
"""Dates may be as rough as a year: only what began longer before is surely earlier."""
_FAR, _LIKELY = 0.25, 0.5
"""Cosine below which two statements are of different things, and likelihood from which one takes the other's place."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is to be done with a statement.

    Attributes:
        outcome: ``new``: store it. ``duplicate``: said before; drop it, ``of`` names the known ones, whose time may
        move to
            the later of the two. ``update``: store it, and close those in ``of`` at its time. ``outdated``: store it
            closed;
            ``of`` names the one that follows it, at whose time it ends. ``contradiction``: store it, linked to ``of``.
        of: ids of the known it concerns.
        novelty: prediction error, 0 to 1.
        reason: why, for the audit trail and for people.
        shortens: with ``outdated``: earlier ones that end when this one begins, not later.
    """

    outcome: Resolved
    of: tuple[str, ...] = ()
    novelty: float = 1.0
    reason: str = ""
    shortens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    """A known record, seen from the statement: when it was said, whether it is live, and how the two relate."""

    record: MemoryRecord
    said_at: datetime
    live: bool
    cosine: float | None
    relation: _Relation | None
    reason: str
    decided: bool


def said_when(record: MemoryRecord) -> datetime:
    """When a record was said: its own time, else since when it is true, else when it was stored."""
    found = getattr(record, "said_at", None) or record.valid_at or record.created_at
    return aware(found, UTC)


def resolve(
    text: str,
    said_at: datetime,
    vector: NDArray[Any] | None,
    known: Sequence[MemoryRecord],
    vectors: NDArray[Any] | None,
    *,
    dedup: bool = True,
    threshold: float = 0.8,
    base: float = 0.0,
    since: datetime | None = None,
) -> Resolution:
    """Decide what a statement means for what is known about the same things.

    Values that differ are never taken for duplicates; what belongs to another subject, to the past or to a possibility
    never closes anything.

    Args:
        text: a self-contained statement.
        said_at: when it was said; naive is UTC.
        vector: its embedding, shape (d,), or None.
        known: what was retrieved for it, live or expired; those that matter must be among them.
        vectors: their embeddings, shape (len(known), d), or None.
        dedup: whether duplicates are looked for.
        threshold: lowest cosine of a duplicate.
        since: since when it is true, where that is told: what began years before something known is a story from the past.
        base: cosine of statements that have nothing to do with each other, as ``base_cosine`` tells it; cosines count above it.
    """
    said = aware(said_at, UTC)
    cosines = similarities(vector, vectors, len(known))
    cosines = None if cosines is None else eased(cosines, base)
    error = novelty(text, [record.content for record in known], cosines).error
    held = list(_seen(text, said, known, cosines, since=None if since is None else aware(since, UTC)))
    held = [*_matched(text, said, held)]
    again = [one for one in held if dedup and _restates(text, said, one, threshold)]
    if same := [one for one in again if one.said_at == said and one.record.content.strip() == text.strip()]:
        return Resolution("duplicate", _ids(same), 0.0, "the same statement, said at the same time")
    decided = _decided(said, held)
    if decided is not None:
        outcome, those, reason, shortens = decided
        return Resolution(outcome, _ids(those), error, reason, _ids(shortens))
    if again := [one for one in again if one.live]:
        return Resolution(
            "duplicate", _ids(again), min(error, 1 - threshold if cosines is not None else error), "said before"
        )
    return Resolution("new", (), error, "nothing known says it or speaks against it")


def _ids(those: Sequence[_Known]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.record.id for one in those))


def _seen(
    text: str,
    said: datetime,
    known: Sequence[MemoryRecord],
    cosines: NDArray[np.float64] | None,
    *,
    since: datetime | None,
) -> Iterator[_Known]:
    new = [fact for fact in facts(text) if fact.tense == "present"]
    alone = _only_candidate(text, new, known)
    for at, record in enumerate(known):
        when = said_when(record)
        began = aware(record.valid_at, UTC) if record.valid_at else when
        if since is not None and since + _YEAR < began:
            when = max(when, said + (began - since))  # it came after what is told now
        cosine = None if cosines is None else float(cosines[at])
        relation, reason, decided = None, "", True
        if scope(text) != scope(record.content):  # one is an exception from the other
            yield _Known(record, when, record.expired_at is None, None, None, "", decided=True)
            continue
        held = [fact for fact in facts(record.content) if fact.tense == "present"] if new else ()
        for f in new:
            for g in held:
                found = _related(f, g, said, when, loosely=alone)
                if found and relation is None:
                    relation, reason, decided = found
        if relation is None and (why := _exchanged(text, record, said, when)):
            relation, reason = "replaces", why
        yield _Known(record, when, record.expired_at is None, cosine, relation, reason, decided)


def _decided(said: datetime, held: Sequence[_Known]) -> tuple[Resolved, list[_Known], str, list[_Known]] | None:
    """Outcome, those concerned, reason, and those that end earlier than was thought."""
    related = [one for one in held if one.relation]
    later = [one for one in related if one.said_at > said and one.decided]
    earlier = [one for one in related if one.said_at < said and one.decided]
    undecided = [one for one in related if one.live and not one.decided]
    if later:
        follows = min(later, key=lambda one: one.said_at)
        return "outdated", [follows], f"{follows.reason}, and that was said later", earlier
    if live := [one for one in earlier if one.live]:
        return "update", live, live[0].reason, []
    if level := [one for one in related if one.live and one.said_at == said and one.decided]:
        return "update", level, level[0].reason, []
    if undecided:
        return "contradiction", undecided, f"{undecided[0].reason}, and nothing says which of them holds", []
    return None


def _meets(f: Fact, g: Fact, *, loosely: bool) -> bool:
    """Whether two facts, the later one first, are of the same attribute of the same subject."""
    if f.attribute != g.attribute and "*" not in {f.attribute, g.attribute}:
        return False
    if f.subject == g.subject or _words_of(f.subject) == _words_of(g.subject):  # production's log, production log
        return True
    if f.attribute == "*" and g.attribute == "name" and g.subject.startswith(f"{f.subject}'s "):
        return True  # Rex died: Ana's dog Rex
    if f.attribute in PERSONAL:
        return False
    short, long = sorted((f.subject, g.subject), key=len)
    if long.endswith(f"'s {short}"):  # Ana's standup, the standup
        return True
    return (
        loosely and f.change and "we" in {f.subject, g.subject}
    )  # the port is now 9090: of the one thing that has a port


def _words_of(subject: str) -> frozenset[str]:
    return distinct_terms(subject.replace("'s ", " ")) - {"best", "person"} or frozenset({subject})


def _only_candidate(text: str, new: Sequence[Fact], known: Sequence[MemoryRecord]) -> bool:
    """Whether "the port" can only mean one of the known: a single subject has what the statement leaves unowned."""
    wanted = {fact.attribute for fact in new}
    having = [record.content for record in known if any(g.attribute in wanted for g in facts(record.content))]
    subjects = {fact.subject for fact in new if fact.attribute in wanted}
    if having:
        whose = people(text)
        subjects |= {
            g.subject for other in having if people(other) == whose for g in facts(other) if g.attribute in wanted
        }
    return len(subjects - {"we"}) == 1


def _related(f: Fact, g: Fact, said: datetime, when: datetime, *, loosely: bool) -> tuple[_Relation, str, bool] | None:
    """How the new fact f stands to the known fact g: relation, reason, and whether it is clear which of them holds."""
    last, first = (f, g) if said >= when else (g, f)
    if said == when and g.change and not f.change:
        last, first = g, f
    if not _meets(last, first, loosely=loosely):
        return ("replaces", f"{last.value} replaces {first.value}", said != when) if _names_old(last, first) else None
    same = same_value(f.value, g.value)
    clear = said != when or f.change != g.change
    if last.polarity and first.polarity:
        if same or not (_names_old(last, first) or (last.single and _comparable(last, first))):
            return None
        return "replaces", f"{f.subject}: {f.attribute} is {f.value}, known is {g.value}", clear
    if last.polarity != first.polarity and (same or not last.value or _less_exact(last, first)):
        settled = clear and (last.change or cardinality(last.attribute) == "one")
        return "opposes", f"{f.subject}: {f.attribute} {g.value or f.value} is denied", settled
    if (
        last.polarity and last.single and not first.polarity and last.attribute == first.attribute
    ):  # no longer in Lisbon, then: in Porto
        return "replaces", f"{f.subject}: {f.attribute} is known again", clear
    return None


def _less_exact(last: Fact, first: Fact) -> bool:
    """Whether what has ended names the beginning of what was so: the gym, of the gym three times a week."""
    return not last.polarity and last.change and first.value.startswith(f"{last.value} ")


def _names_old(last: Fact, first: Fact) -> bool:
    """Whether the later fact says that it replaces the value of the earlier one."""
    if not last.old or not first.polarity or last.subject != first.subject:
        return False
    return same_value(last.old, first.value) or f" {first.value} ".find(f" {last.old} ") >= 0


def _comparable(last: Fact, first: Fact) -> bool:
    """Whether two values can be of one attribute: what is red can be a Tesla, what is Porto cannot be Lisbon."""
    if cardinality(last.attribute) == "one":
        return True
    if "many" in {last.cardinality, first.cardinality}:
        return False
    a, b = kind(last.value), kind(first.value)
    return a == b or (last.change and not (a and b))


def _matched(text: str, said: datetime, held: Sequence[_Known]) -> Iterator[_Known]:
    """Those whose place the statement takes, or that take its place, as far as likeness tells where no rule reads both."""
    best: dict[bool, float] = {}
    open_: list[bool] = []
    for one in held:
        last, first = (text, one.record.content) if said >= one.said_at else (one.record.content, text)
        meets = one.cosine is not None and one.cosine >= _FAR and said != one.said_at and comparable(last, first)
        if meets and one.cosine is not None:
            best[said > one.said_at] = max(best.get(said > one.said_at, -1.0), one.cosine)
        open_.append(meets and one.relation is None and (one.live or said < one.said_at) and not _settled(last, first))
    for one, matters in zip(held, open_, strict=True):
        later = said > one.said_at
        last, first = (text, one.record.content) if later else (one.record.content, text)
        if matters and one.cosine is not None and replacing(
            last, first, one.cosine, nearest=one.cosine >= best[later]
        ) >= _LIKELY:  # fmt: skip
            yield replace(one, relation="replaces", reason="it is most like it, and something changed")
        else:
            yield one


def _settled(last: str, first: str) -> bool:
    """Whether facts say that the two are not of one attribute of one subject."""
    return any(_spoken(f, g) for f in facts(last) for g in facts(first))


def _exchanged(text: str, record: MemoryRecord, said: datetime, when: datetime) -> str:
    """Why a record and a statement are one thing with two values, or nothing."""
    other = record.content
    last, first = (text, other) if said >= when else (other, text)
    if (
        said == when
        or not (is_short(last) and is_short(first))
        or any(standing(last))
        or any(standing(first))
        or not tells_of_change(last)
    ):
        return ""
    mine, theirs = facts(last), facts(first)
    if any(_spoken(f, g) for f in mine for g in theirs):
        return ""
    if people(last) == people(first) and _replaceable_by_name(mine, theirs):
        old = gives_up(last, first)
        if old and not mentions(first, last):
            return f"{old} is replaced"
    if "many" in {g.cardinality for g in [*mine, *theirs] if g.attribute != "rule"}:
        return ""
    return "the same thing with another value" if same_slot(last, first) else ""


def _spoken(f: Fact, g: Fact) -> bool:
    """Whether facts settle it: one attribute of one subject, or of two that are plainly not one."""
    if f.attribute != g.attribute or "one" not in {f.cardinality, g.cardinality}:
        return False
    a, b = (set(fact.subject.replace("'s", "").split(" ")) - {"i", "we"} for fact in (f, g))
    return f.subject == g.subject or not (a <= b or b <= a)


def _replaceable_by_name(mine: Sequence[Fact], theirs: Sequence[Fact]) -> bool:
    known = {f.attribute for f in mine if cardinality(f.attribute) == "one"}
    other = {g.attribute for g in theirs if cardinality(g.attribute) == "one"}
    return not known or not other or bool(known & other)


def _restates(text: str, said: datetime, one: _Known, threshold: float) -> bool:
    """Whether a known record says the same: the same words, the same facts, or the same meaning, and nothing
    differs.
    """
    other = one.record.content
    if not one.live and one.said_at != said:
        return False
    mine, theirs = _asserted(text), _asserted(other)
    terms = distinct_terms(text)
    close = (one.cosine is not None and one.cosine >= threshold) or (bool(mine) and mine == theirs)
    if not close and not (terms and terms == distinct_terms(other)):
        return False
    return (
        (mine == theirs or not mine or not theirs)
        and standing(text) == standing(other)
        and differs(text, other) is None
    )


@lru_cache(maxsize=4096)
def _asserted(text: str) -> frozenset[tuple[str, str, str, bool, str]]:
    return frozenset((f.subject, f.attribute, f.value, f.polarity, f.tense) for f in facts(text))
