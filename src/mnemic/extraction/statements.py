"""Conversation to statements that stand alone, without a model: what a person would write down of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from mnemic.extraction.claiming import LONGEST, Claim
from mnemic.extraction.cutting import claims
from mnemic.types import MemoryType, Message, Source

__all__ = ["Statement", "statements"]

_MOST_MESSAGES = 3
_NEAR = 4
_SOON = timedelta(hours=3)
"""Places and time between messages that can be of one matter."""
_MOST_CLAIMS = 9
_EACH = 0.05
"""What a claim must weigh before it is worth its place."""
_BESIDE, _APART = 0.02, 0.05
"""What putting claims together costs: of one message, and of several."""
_TRUST: Mapping[Source, float] = {
    "direct_user": 1.0, "model_inference": 0.7, "tool_internal": 0.7, "document": 0.4, "tool_external": 0.3,
}  # fmt: skip
_SOURCES: Mapping[str, Source] = {
    "user": "direct_user", "assistant": "model_inference", "ai": "model_inference",
    "system": "tool_internal", "developer": "tool_internal",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something worth remembering, in the third person and clear without its conversation.

    Attributes:
        text: about 300 characters, 320 at most.
        message_ids: the one to three messages it rests on, in their order.
        said_at: when the first of them was said.
        valid_at: when it happened or became true, if the text tells; never after it was said.
        type: episodic for events and plans, semantic for facts, procedural for standing instructions, emotional for feelings.
        speaker: who said it: a name, ``The user`` or ``The assistant``.
        weight: 0 to 1, from how lasting and how specific it is.
        source: that of the least trusted message.
        trust: 0 to 1, the minimum over the messages.
    """

    text: str
    message_ids: tuple[str, ...]
    said_at: datetime
    valid_at: datetime | None
    type: MemoryType
    speaker: str
    weight: float
    source: Source
    trust: float


@dataclass(frozen=True)
class _Group:
    """Claims of one speaker on one matter, in order."""

    claims: tuple[Claim, ...]

    @cached_property
    def cites(self) -> list[int]:
        return sorted({place for claim in self.claims for place in claim.cites})

    @cached_property
    def length(self) -> int:
        return sum(len(claim.text) + 1 for claim in self.claims) - 1

    @cached_property
    def weight(self) -> float:
        """The strongest claim, and half of what the others add."""
        weights = sorted((claim.weight for claim in self.claims), reverse=True)
        return min(weights[0] + sum(weights[1:]) / 2, 1.0)

    @cached_property
    def gain(self) -> float:
        """What it adds to a statement."""
        return sum(claim.weight - _EACH for claim in self.claims)

    @property
    def declared(self) -> bool:
        return any(claim.declared for claim in self.claims)


def statements(messages: Sequence[Message], *, rate: float = 0.3) -> list[Statement]:
    """Cut statements from an episode or any run of messages.

    Sentences that are only talk, questions, advice, guesses or states that pass are left out; what an assistant without a
    name suggests is never a fact about its user. Sentences of one speaker on one matter are put together as far as it
    takes to stay within the rate. What a user plainly declares to an agent (rules, configuration, who they are) stays by
    itself and is kept beyond the rate. The same messages always give the same statements.

    Args:
        messages: in their order, with ids; those without one cannot be cited and are left out. One without a time counts
            as said when the one before it was.
        rate: statements per message, at most, but for what is declared; at least one is kept of what has any.

    Returns:
        Statements in the order of their messages.
    """
    known = [message for message in messages if message.id]
    found = _leaned(claims(known))
    declared = [group for group in found if group.declared]
    others = [group for group in found if not group.declared]
    groups = declared + _chosen(others, max(round(rate * len(known)) - len(declared), 0 if declared else 1))
    return [_statement(group, known) for group in sorted(groups, key=lambda group: (group.claims[0].at, group.cites))]


def _leaned(found: Iterable[Claim]) -> list[_Group]:
    """Claims with those that stand on them; one that does not fit beside its ground is left out."""
    groups: list[_Group] = []
    for claim in found:
        if not claim.leans:
            groups.append(_Group((claim,)))
        elif groups and groups[-1].claims[-1].at == claim.at and groups[-1].length + len(claim.text) < LONGEST:
            groups[-1] = _Group((*groups[-1].claims, claim))
    return groups


@dataclass(frozen=True, slots=True)
class _Run:
    """What can become one statement: claims ``start`` to ``end`` of a speaker, as far as they fit, and what it is worth."""

    start: int
    end: int
    worth: float
    group: _Group


def _chosen(groups: Sequence[_Group], wanted: int) -> list[_Group]:
    """The best statements, at most so many.

    Each statement costs a price, and the worth of all less their price is made greatest; the price rises until no more are
    left than are wanted. So neighbours are put together only as far as it takes, and then the weakest go.
    """
    by_speaker: dict[str, list[_Group]] = {}
    for group in groups:
        by_speaker.setdefault(group.claims[0].speaker, []).append(group)
    runs = [_runs(own) for own in by_speaker.values()]
    low, high = 0.0, 3.0
    many = [run for own in runs for run in _cut(own, low)]
    few: list[_Run] = []
    for _ in range(12 if len(many) > wanted else 0):
        price = (low + high) / 2
        found = [run for own in runs for run in _cut(own, price)]
        if len(found) > wanted:
            low, many = price, found
        else:
            high, few = price, found
    many = sorted(many, key=lambda run: -run.worth)[
        :wanted
    ]  # where many are of equal worth no price leaves just enough
    return [run.group for run in max(many, few, key=lambda best: sum(run.worth for run in best))]


def _runs(groups: Sequence[_Group]) -> list[list[_Run]]:
    """For each place the runs that end there, the shortest first."""
    found: list[list[_Run]] = [[] for _ in range(len(groups) + 1)]
    for start in range(len(groups)):
        for end in range(start + 1, min(start + _MOST_CLAIMS, len(groups)) + 1):
            if _apart(groups[start].claims[0], groups[end - 1].claims[0]):
                break
            found[end].append(_run(groups, start, end))
    return found


def _apart(first: Claim, last: Claim) -> bool:
    """Whether two claims are too far from each other to be of one matter."""
    return last.at - first.at > _NEAR or abs(last.said_at - first.said_at) > _SOON


def _run(groups: Sequence[_Group], start: int, end: int) -> _Run:
    """The weightiest claims of a stretch that fit into one statement."""
    order = sorted(groups[start:end], key=lambda group: -group.gain)
    taken: list[_Group] = []
    cites: set[int] = set()
    length, worth = -1, 0.0
    for group in order:
        joined = cites.union(group.cites)
        cost = _APART if taken and not cites.intersection(group.cites) else _BESIDE if taken else 0.0
        if length + 1 + group.length > LONGEST or len(joined) > _MOST_MESSAGES or (taken and group.gain <= cost):
            continue
        taken.append(group)
        cites, length, worth = joined, length + 1 + group.length, worth + group.gain - cost
    kept = [group for group in groups[start:end] if any(group is one for one in taken)]
    return _Run(start, end, worth, _Group(tuple(claim for group in kept for claim in group.claims)))


def _cut(runs: Sequence[Sequence[_Run]], price: float) -> list[_Run]:
    """The runs of one speaker, none over another, of the greatest worth at a price for each."""
    best = [0.0] * len(runs)
    last: list[_Run | None] = [None] * len(runs)
    for end in range(1, len(runs)):
        best[end] = best[end - 1]
        for run in runs[end]:
            if best[run.start] + run.worth - price > best[end] + 1e-9:
                best[end], last[end] = best[run.start] + run.worth - price, run
    found: list[_Run] = []
    end = len(runs) - 1
    while end > 0:
        run = last[end]
        if run is None:
            end -= 1
        else:
            found.append(run)
            end = run.start
    return found


def _statement(group: _Group, messages: Sequence[Message]) -> Statement:
    cited = [messages[place] for place in group.cites]
    leading = max(group.claims, key=lambda claim: claim.weight)
    least = min(cited, key=_trust)
    return Statement(
        text=" ".join(dict.fromkeys(claim.text for claim in group.claims)),
        message_ids=tuple(message.id for message in cited if message.id),
        said_at=min(claim.said_at for claim in group.claims),
        valid_at=next((claim.valid_at for claim in group.claims if claim.valid_at), None),
        type=leading.type,
        speaker=leading.speaker,
        weight=round(min(group.weight, 1.0), 3),
        source=_source(least),
        trust=_trust(least),
    )


def _source(message: Message) -> Source:
    return message.source or _SOURCES.get(message.role, "tool_external")


def _trust(message: Message) -> float:
    return _TRUST[_source(message)] if message.trust is None else message.trust
