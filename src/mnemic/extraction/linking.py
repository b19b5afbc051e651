"""Links between memories, proposed by rule. No link is better than a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInput
from mnemic.text.differs import differs
from mnemic.text.terms import content_terms
from mnemic.types import MemoryRecord
from mnemic.vectors import dot

__all__ = ["LinkType", "Proposed", "propose_links"]

LinkType: TypeAlias = Literal["extends", "contradicts", "implements", "references", "supersedes"]

EXTENDS_FROM = 0.6
"""Cosine from which two statements may be about the same subject; measured with the default embedder."""
RELATED_FROM = 0.35
"""Cosine below which a plan and a change, or two opposite statements, are about different things."""
RESTATES_FROM = 0.75
"""Cosine from which two statements say much the same, even when they share no name."""
LONGEST = 2_000
"""Characters of a memory that are compared."""

_BASE: dict[LinkType, float] = {
    "contradicts": 0.6, "supersedes": 0.55, "implements": 0.45, "references": 0.35, "extends": 0.3,
}  # fmt: skip
_PLANNED = re.compile(
    r"\b(?:decided|decision|plan|plans|planned|planning|will|should|must|shall|need(?:s|ed)? to|todo|to-do|want(?:s|"
    r"ed)? to|agreed|chose|chosen|has to|have to|require[sd]?|going to|let[\u2019']s|proposal|proposed)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:implemented|implements|added|introduced|fixed|migrated|switched|replaced|refactored|configured|enabled|"
    r"disabled|wired|set up|built|wrote|created|deployed|shipped|rolled out|finished|completed|done|removed|dropped|"
    r"upgraded|installed|patched|merged|now (?:uses?|runs?|supports?|has|have|enforces?|goes|go|listens?))\b",
    re.IGNORECASE,
)
_LAYS_DOWN = frozenset(("architecture_decision", "constraint"))
_REPLACES = re.compile(
    r"\b(?:instead of|replac(?:es|ed|ing)|supersed(?:es|ed|ing)|(?:switched|migrated|moved)(?: away)? from|"
    r"no longer us(?:es?|ing)|dropped|in place of)\s+(?:the |our |my |using )?(?P<old>[^.;!?\n]{2,60})",
    re.IGNORECASE,
)
_IN_USE = re.compile(
    r"\b(?:use[sd]?|using|chose|decided|runs? (?:on|with)|on|prefers?|is|are|with|by|as|adopted|relies|stored in)\b",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_SUBJECTS = re.compile(r"\b(?:i|you|he|she|we|they)\b", re.IGNORECASE)
_OPENING = re.compile(r"(?:the |our |a |an )?[`\"'(]*", re.IGNORECASE)

# Words by which one statement denies another, and words that change nothing; left out when their cores are compared.
_POLAR = frozenset(
    content_terms(
        """no not never none nobody nothing without hardly barely rarely seldom stop stopped quit dislike hate love likes enjoy
        prefer refuse deny avoid lack former formerly longer anymore really still currently actually always definitely
        usually at all enable disable allow forbid permit prohibit open close start require support accept reject
        include exclude
        active inactive on off possible impossible able unable do does did anymore ever even cannot"""
    )
)
_OPPOSITE = tuple(
    (frozenset(content_terms(one)), frozenset(content_terms(other)))
    for one, other in (
        ("enable enabled", "disable disabled"),
        ("allow allowed permit permitted", "forbid forbidden prohibit prohibited disallowed"),
        ("open opened", "close closed"), ("accept accepted", "reject rejected"), ("include included", "exclude excluded"),
        ("active", "inactive"), ("love likes enjoy", "hate dislike"), ("possible", "impossible"), ("supported", "unsupported"),
    )
)  # fmt: skip
_GENERIC = frozenset(
    content_terms(
        "decide decided use using must should need needs want run runs work works live lives listen listens make "
        "choose chose"
    )
)
_NEGATING = frozenset(content_terms("hate dislike never stop quit avoid refuse deny"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A link worth making.

    Attributes:
        target: the id of the memory it leads to.
        type: what the new memory does to the target.
        strength: 0 to 1, from the evidence.
        reason: the evidence in a few words.
    """

    target: str
    type: LinkType
    strength: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Side:
    """What the rules look at in one memory, in lower case."""

    record: MemoryRecord
    text: str
    files: frozenset[str]
    entities: frozenset[str]
    topics: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        return _terms(self.text)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A new memory, an older one, what they share, and their cosine (None when it is not known)."""

    new: _Side
    old: _Side
    files: frozenset[str]
    entities: frozenset[str]
    topics: frozenset[str]
    cosine: float | None

    @property
    def names(self) -> frozenset[str]:
        return self.files | self.entities

    def near(self, least: float) -> bool:
        """The cosine reaches ``least``, or is not known."""
        return self.cosine is None or self.cosine >= least

    @property
    def further(self) -> frozenset[str]:
        """The terms they share beyond those of the names they share."""
        return (self.new.terms & self.old.terms) - _terms(" ".join(sorted(self.names)))


@lru_cache(maxsize=4_096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(content_terms(text))


def _folded(values: Sequence[str]) -> frozenset[str]:
    return frozenset(value.casefold() for value in values)


def _side(record: MemoryRecord) -> _Side:
    return _Side(
        record=record,
        text=record.content[:LONGEST],
        files=_folded(record.related_files),
        entities=_folded(record.related_entities),
        topics=_folded(record.keywords) | _folded(record.tags),
    )


def _pair(new: _Side, old: _Side, cosine: float | None) -> _Pair:
    return _Pair(
        new, old, new.files & old.files, new.entities & old.entities, new.topics & old.topics, cosine
    )  # fmt: skip


def _of_a_moment(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Feelings and events hold for a moment: two of them may well say opposite things."""
    types = {one.type, other.type}
    return "emotional" in types or types == {"episodic"}


def _together(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether the times at which they are true may overlap."""
    for first, second in ((one, other), (other, one)):
        if first.invalid_at and second.valid_at and first.invalid_at <= second.valid_at:
            return False
    return True


def _contradicts(pair: _Pair) -> bool:
    """One denies what the other asserts: of the same names and subject, with nothing else said in either."""
    one, other = pair.new, pair.old
    if one.entities != other.entities or one.files != other.files or not pair.near(RELATED_FROM):
        return False
    if _of_a_moment(one.record, other.record) or not _together(one.record, other.record):
        return False
    core = one.terms - _POLAR
    if not core or core != other.terms - _POLAR or _subject(one.text) != _subject(other.text):
        return False
    difference = differs(one.text, other.text)
    if difference not in {"polarity", "value", None}:
        return False
    opposed = any(
        (one.terms & a and other.terms & b) or (one.terms & b and other.terms & a) for a, b in _OPPOSITE
    )  # fmt: skip
    if difference == "polarity":
        # "does not love" and "hates" is one negation and one negating word more: they agree.
        return not opposed or bool(one.terms & other.terms & _NEGATING) or bool((one.terms ^ other.terms) & _NEGATING)
    return opposed


def _subject(text: str) -> str:
    found = _SUBJECTS.search(text)
    return found[0].lower() if found else ""


@lru_cache(maxsize=1_024)
def _replaces(text: str) -> re.Match[str] | None:
    return _REPLACES.search(text)


@lru_cache(maxsize=1_024)
def _is_planned(text: str) -> bool:
    return bool(_PLANNED.search(text))


@lru_cache(maxsize=1_024)
def _is_done(text: str) -> bool:
    return bool(_DONE.search(text))


def _supersedes(pair: _Pair) -> bool:
    """It says that it replaces what the older one has in use."""
    new, old = pair.new, pair.old
    replaced = _replaces(new.text)
    if not replaced or _replaces(old.text) or not pair.near(RELATED_FROM) or not _later(new.record, old.record):
        return False
    named = replaced["old"].casefold()
    gone = [name for name in old.entities | old.files if re.match(rf"{re.escape(name)}(?!\w)", named)]
    kept = pair.further - _terms("use decide choose run " + " ".join(gone))
    return bool(gone) and bool(kept) and bool(_IN_USE.search(old.text))


def _implements(pair: _Pair) -> bool:
    """A change that carries out a plan, decision or constraint on the same thing."""
    new, old = pair.new, pair.old
    if not pair.names or not _later(new.record, old.record):
        return False
    planned = old.record.category in _LAYS_DOWN or (bool(pair.files) and _is_planned(old.text))
    done = new.record.category not in _LAYS_DOWN and _is_done(new.text) and not _is_planned(new.text)
    if not planned or not done or (old.record.category not in _LAYS_DOWN and _is_done(old.text)):
        return False
    least = 1 if pair.cosine is not None and pair.cosine >= 0.5 else 2
    return pair.near(RELATED_FROM) and len(pair.further) >= least


def _extends(pair: _Pair) -> bool:
    """It says again what the older one says, changes nothing of it, and adds two things or more."""
    new, old = pair.new, pair.old
    shared = new.terms & old.terms
    added, left = len(new.terms - shared), old.terms - shared
    if len(shared) < 2 or added < 2 or added <= len(left) or left - _GENERIC:
        return False
    if not pair.near(EXTENDS_FROM) or not _later(new.record, old.record):
        return False
    if not (pair.names or pair.topics) and (pair.cosine is None or pair.cosine < RESTATES_FROM):
        return False
    if not old.entities <= new.entities or not old.files <= new.files:
        return False
    return differs(new.text, old.text) not in {"polarity", "value"}


def _title(side: _Side) -> str | None:
    """The file, identifier or thing a memory begins with, when it is about one; never a person."""
    start = _OPENING.match(side.text)
    opening = side.text[start.end() if start else 0 :].casefold()
    own = side.files | (side.entities if side.record.category == "entity" else frozenset[str]())
    fitting = [name for name in own if len(name) > 2 and re.match(rf"{re.escape(name)}(?!\w)", opening)]
    return max(fitting, key=lambda name: (len(name), name), default=None)


def _references(pair: _Pair) -> bool:
    """It names what the older one is about, or its URL, and is about something else itself."""
    title = _title(pair.old)
    if pair.cosine is not None and pair.cosine > RESTATES_FROM:
        return False  # it says much the same
    if title and title in pair.names and _title(pair.new) != title:
        return True
    if pair.old.record.category != "reference" or pair.new.record.category == "reference":
        return False
    return bool(set(_URL.findall(pair.old.text)) & set(_URL.findall(pair.new.text)))


def _later(new: MemoryRecord, old: MemoryRecord) -> bool:
    return (new.valid_at or new.created_at) >= (old.valid_at or old.created_at)


_RULES: tuple[tuple[LinkType, Callable[[_Pair], bool]], ...] = (
    ("contradicts", _contradicts),
    ("supersedes", _supersedes),
    ("implements", _implements),
    ("extends", _extends),
    ("references", _references),
)
_SAYS = {"contradicts": "one denies the other", "supersedes": "says it replaces it"}


def _kind(pair: _Pair) -> LinkType | None:
    """The first rule that holds."""
    for kind, holds in _RULES:
        if holds(pair):
            return kind
    return None


def _proposed(pair: _Pair, type: LinkType) -> Proposed:
    shared = sorted(pair.names) or sorted(pair.topics) or sorted(pair.new.terms & pair.old.terms)
    cosine = pair.cosine or 0.0
    support = 0.25 * max(cosine, 0.0) + 0.05 * min(len(pair.names | pair.topics), 4)
    parts = [_SAYS[type]] if type in _SAYS else []
    if shared:
        parts.append(f"shares {', '.join(name[:40] for name in shared[:3])}")
    if pair.cosine is not None:
        parts.append(f"cosine {cosine:.2f}".replace("0.", ".", 1))
    return Proposed(
        target=pair.old.record.id,
        type=type,
        strength=round(min(_BASE[type] + support, 1.0), 3),
        reason="; ".join(parts),
    )


def _cosines(vector: NDArray[Any] | None, vectors: NDArray[Any] | None, count: int) -> list[float | None]:
    """The cosine of each candidate; None for all without vectors, and for a row that is no unit vector of numbers."""
    if vector is None or vectors is None:
        return [None] * count
    if vectors.shape != (count, vector.shape[0]):
        raise InvalidInput(
            f"vectors must have one row for each of the {count} candidates and {vector.shape[0]} columns like vector, "
            f"not the shape {vectors.shape}."
        )
    products = dot(vectors, vector.astype(np.float32, copy=False))
    return [min(max(float(each), -1.0), 1.0) if np.isfinite(each) else None for each in products]


def propose_links(
    record: MemoryRecord,
    candidates: Sequence[MemoryRecord],
    cosines: NDArray[Any] | None,
    *,
    most: int = 5,
) -> list[Proposed]:
    """The links a new memory should have to candidates that were found for it.

    A candidate is considered when it is live, at the same level, and either similar or shares a file, an entity, a
    keyword or a tag with the record. It gets at most one link: the first of these that holds.

    - ``contradicts``: the same names, subject and words but for a negation or a pair of opposites (enabled,
      disabled), and neither is of a moment only. Another value is no contradiction.
    - ``supersedes``: the record says so ("instead of MongoDB") and the candidate, older, has that in use.
    - ``implements``: the record tells of a change that is done, the candidate decides or demands it of the same
      thing, or plans it for the same file.
    - ``extends``: it is later, says all of the candidate again but for verbs like use or decide, and two things more; cosine
      at least .6.
    - ``references``: it names the file, thing or URL the candidate is about, and is about something else.

    Args:
        record: the new memory, enriched.
        vector: its unit vector, shape (d,), or None.
        candidates: memories that may have to do with it, enriched.
        vectors: their unit vectors, shape (len(candidates), d), or None.
        most: how many links at most.

    Returns:
        The links, strongest first, equal ones by id. Asked the other way round, ``contradicts`` comes back; the
        others lead one way, unless two memories name each other.

    Raises:
        InvalidInput: the shapes do not fit.
    """
    new = _side(record)
    found: list[Proposed] = []
    for candidate, cosine in zip(
        candidates, [None] * len(candidates) if cosines is None else cosines.tolist(), strict=True
    ):
        if candidate.id == record.id or candidate.project != record.project or candidate.content == record.content:
            continue
        if candidate.status == "archived" or candidate.expired_at is not None:
            continue
        pair = _pair(new, _side(candidate), cosine)
        if not (pair.names or pair.topics or cosine is None or cosine >= RELATED_FROM):
            continue
        if kind := _kind(pair):
            found.append(_proposed(pair, kind))
    return sorted(found, key=lambda link: (-link.strength, link.target))[: max(most, 0)]
