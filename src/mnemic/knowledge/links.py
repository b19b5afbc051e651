"""Rules that propose links from a new memory to known ones; precision comes first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.text.differences import NEGATIONS, differs
from mnemic.text.terms import content_terms
from mnemic.types import LinkType, MemoryRecord

EXTENDS_FROM = 0.6
"""Least cosine of statements about the same subject; measured with the default embedder."""
RELATED_FROM = 0.35
"""Least cosine of a decision and its change, or of two opposite statements."""
SURELY_FROM = 0.5
"""Cosine from which a decision and a change need to share only one word beside a name."""
RESTATES_FROM = 0.75
"""Cosine above which two statements are restatements, even without a common name."""
LONGEST = 2_000
"""Characters compared of a memory."""

_BASE: dict[LinkType, float] = {"contradicts": 0.6, "implements": 0.45, "references": 0.35, "extends": 0.3}
_DECISIONS = frozenset(("architecture_decision", "constraint"))
_CHANGE_VERBS = frozenset(
    """implemented added introduced fixed migrated moved switched replaced refactored configured enabled disabled built wrote
    created deployed shipped finished removed dropped upgraded installed merged""".split()
)
_GENERIC = frozenset(
    content_terms("decide decided use using must should need want run runs works live lives make choose")
)
_POLARITY_WORDS = frozenset(
    content_terms(" ".join(sorted(NEGATIONS)) + " likes love enjoy really still anymore longer")
)
"""Words that negate a statement, and their opposites; ignored when the rest is compared."""
_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_OPENING = re.compile(r"(?:the |our |a |an )?[`\"'(]*(?P<name>[\w./-]*\w)", re.IGNORECASE)
_AMOUNT = re.compile(
    r"((?:my|our|his|her|the|\w+['\u2019]s) [\w -]{2,40}) (?:is|are) \W?\d[\d.,]*[^\d.;:!?]{0,20}\.?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedLink:
    """A proposed link.

    Attributes:
        target: id of the memory it points to.
        type: relation of the new memory to the target.
        strength: 0 to 1, from the evidence.
        reason: the evidence in a few words.
    """

    target: str
    type: LinkType
    strength: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Side:
    """Features of one memory, in lower case."""

    record: MemoryRecord
    text: str
    terms: frozenset[str]
    names: frozenset[str]

    @property
    def about(self) -> str | None:
        """The file or code identifier at its beginning."""
        opening = _OPENING.match(self.text)
        name = opening["name"].casefold() if opening else ""
        files = {file.casefold() for file in self.record.related_files}
        return name if name in files or (self.record.category == "entity" and name in self.names) else None


@dataclass(frozen=True, slots=True)
class _Pair:
    """A new memory, an older one, their common names, and their cosine if known."""

    new: _Side
    old: _Side
    names: frozenset[str]
    cosine: float | None

    def near(self, least: float) -> bool:
        """Whether the cosine reaches ``least`` or is unknown."""
        return self.cosine is None or self.cosine >= least


def _side(record: MemoryRecord) -> _Side:
    text = record.content[:LONGEST]
    names = frozenset(name.casefold() for name in (*record.related_files, *record.related_entities))
    return _Side(record, text, frozenset(content_terms(text)), names)


def _is_later(new: MemoryRecord, old: MemoryRecord) -> bool:
    return (new.valid_at or new.created_at) >= (old.valid_at or old.created_at)


def contradicts(first: MemoryRecord, second: MemoryRecord) -> bool:
    """Whether two lasting statements about the same time contradict each other.

    Either they differ only in a negation, or they give one amount two numbers ("The rent is 900 euros").
    """
    types = {first.type, second.type}
    if "emotional" in types or types == {"episodic"}:
        return False  # momentary statements may well be opposite
    for earlier, later in ((first, second), (second, first)):
        if earlier.invalid_at and later.valid_at and earlier.invalid_at <= later.valid_at:
            return False
    texts = first.content[:LONGEST].strip(), second.content[:LONGEST].strip()
    match differs(*texts):
        case "polarity":
            first_terms, second_terms = (frozenset(content_terms(text)) - _POLARITY_WORDS for text in texts)
            return bool(first_terms) and first_terms == second_terms
        case "number":
            amounts = [match[1].casefold() for text in texts if (match := _AMOUNT.fullmatch(text))]
            return len(amounts) == 2 and amounts[0] == amounts[1]
        case _:
            return False


def _implements(pair: _Pair) -> bool:
    """Whether the new memory reports a change that the older one decides or demands."""
    new, old = pair.new, pair.old
    if (
        not pair.names
        or old.record.category not in _DECISIONS
        or _CHANGE_VERBS.isdisjoint(new.text.lower().split()[:3])
    ):
        return False
    further = (new.terms & old.terms) - frozenset(content_terms(" ".join(pair.names))) - _GENERIC
    return len(further) >= (1 if pair.cosine and pair.cosine >= SURELY_FROM else 2) and pair.near(RELATED_FROM)


def _extends(pair: _Pair) -> bool:
    """Whether it repeats the older one about the same name without change, and adds at least two terms."""
    new, old = pair.new, pair.old
    if not pair.names or not old.names <= new.names or old.terms - new.terms - _GENERIC:
        return False
    added = len(new.terms - old.terms)
    return added >= 2 and pair.near(EXTENDS_FROM) and differs(new.text, old.text) not in {"polarity", "value", "role"}


def _references(pair: _Pair) -> bool:
    """Whether it names the file, identifier or URL that the older one is about, while being about something else."""
    if pair.cosine is not None and pair.cosine > RESTATES_FROM:
        return False  # a restatement
    about = pair.old.about
    if about and about in pair.new.names and pair.new.about != about:
        return True
    return not set(_URL.findall(pair.old.text)).isdisjoint(_URL.findall(pair.new.text))


def _kind(pair: _Pair) -> LinkType | None:
    """The first link type that applies."""
    if pair.near(RELATED_FROM) and contradicts(pair.new.record, pair.old.record):
        return "contradicts"
    if _is_later(pair.new.record, pair.old.record):
        if _implements(pair):
            return "implements"
        if _extends(pair):
            return "extends"
    return "references" if _references(pair) else None


def _propose(pair: _Pair, type: LinkType) -> ProposedLink:
    shared = sorted(pair.names) or sorted(pair.new.terms & pair.old.terms)
    parts = ["one denies the other"] if type == "contradicts" else []
    if shared:
        parts.append(f"shares {', '.join(name[:40] for name in shared[:3])}")
    if pair.cosine is not None:
        parts.append(f"cosine {pair.cosine:.2f}".replace("0.", ".", 1))
    support = 0.25 * max(pair.cosine or 0.0, 0.0) + 0.05 * min(len(pair.names), 4)
    return ProposedLink(
        target=pair.old.record.id,
        type=type,
        strength=round(min(_BASE[type] + support, 1.0), 3),
        reason="; ".join(parts),
    )


def propose_links(
    record: MemoryRecord,
    others: Sequence[MemoryRecord],
    cosines: NDArray[np.float64] | None,
    *,
    most: int = 5,
) -> list[ProposedLink]:
    """Propose links of a new memory to known ones.

    Only live memories at the same level count. Each gets at most one link, the first of these that applies.

    - ``contradicts``: they differ only in a negation, or give one amount two numbers; neither is momentary.
    - ``implements``: the record reports a change that the earlier memory decides or demands.
    - ``extends``: it is later, repeats the other about the same name, and adds two terms; cosine at least .6.
    - ``references``: it names the file, identifier or URL that the other is about, and is about something else.

    Args:
        record: the new memory, described.
        others: memories that may be related, described.
        cosines: with each of them, shape (len(others),), or None.
        most: most links.

    Returns:
        The links, strongest first, ties by id. Only ``contradicts`` is symmetric.
    """
    new = _side(record)
    links: list[ProposedLink] = []
    cosine_list = [None] * len(others) if cosines is None else cosines.tolist()
    for other, cosine in zip(others, cosine_list, strict=True):
        expired = other.status == "archived" or other.expired_at is not None
        if expired or other.id == record.id or other.project != record.project or other.content == record.content:
            continue
        old = _side(other)
        pair = _Pair(new, old, new.names & old.names, cosine)
        if kind := _kind(pair):
            links.append(_propose(pair, kind))
    return sorted(links, key=lambda link: (-link.strength, link.target))[: max(most, 0)]
