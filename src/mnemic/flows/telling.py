"""Messages to episodes: by the language model where there is one, else, or when it fails, by rule."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic import ingestion
from mnemic.flows.consulting import Consultant
from mnemic.flows.engine import Engine
from mnemic.safety.trust import least
from mnemic.text.clock import now
from mnemic.types import Episode, Message, Source

__all__ = ["SILENT", "Told", "episodes", "groups", "least_trusted", "merged"]

SILENT = frozenset({"system", "developer", "tool", "function"})
"""Roles whose messages are kept and found, but are no part of a conversation's story."""
WINDOW = 40
"""Messages that a language model cuts at a time."""


@dataclass(frozen=True, slots=True)
class Told:
    """An episode with the messages it tells of, and whether the language model left a part of it to the rules."""

    episode: Episode
    messages: Sequence[Message]
    unrefined: bool = False


def groups(
    engine: Engine, consultant: Consultant, messages: Sequence[Message], vectors: NDArray[np.float32] | None
) -> list[list[int]]:
    """Places of the messages of each episode, in order."""
    if not messages:
        return []
    if consultant.there:
        return _cut_by_model(engine, consultant, messages, vectors)
    return _cut(engine, messages, vectors, 0)


def _cut(
    engine: Engine, messages: Sequence[Message], vectors: NDArray[np.float32] | None, offset: int
) -> list[list[int]]:
    starts = ingestion.boundaries(messages, vectors, time_gap=engine.settings.time_gap)
    ends = [*starts[1:], len(messages)]
    return [list(range(offset + start, offset + end)) for start, end in zip(starts, ends, strict=True)]


def _cut_by_model(
    engine: Engine, consultant: Consultant, messages: Sequence[Message], vectors: NDArray[np.float32] | None
) -> list[list[int]]:
    """Windows of messages, each beginning with the last episode of the one before, whose end was not in sight."""
    from mnemic.llm import segmenting

    found: list[list[int]] = []
    start = 0
    while start < len(messages):
        window = messages[start : start + WINDOW]
        answer = consultant.ask(lambda window=window: segmenting.task(window))
        if answer is None:
            part = None if vectors is None else vectors[start : start + WINDOW]
            groups = _cut(engine, window, part, start)
        else:
            groups = [[start + place for place in group] for group in answer.groups]
        last = start + len(window) == len(messages)
        found += groups if last or len(groups) == 1 else groups[:-1]
        start = found[-1][-1] + 1
    return found


def episodes(
    consultant: Consultant, groups: Sequence[Sequence[Message]], level: tuple[str | None, str | None]
) -> list[Told]:
    """Tell one episode of each group of messages."""
    return [
        _episode(messages, title, story, level, unrefined=failed)
        for messages, (title, story, failed) in zip(groups, _stories(consultant, groups), strict=True)
    ]


def _episode(
    messages: Sequence[Message], title: str, story: str, level: tuple[str | None, str | None], *, unrefined: bool
) -> Told:
    source, trust = least_trusted(messages)
    moments = [m.sent_at for m in messages if m.sent_at]
    record = Episode(
        id=_id(messages), title=title, content=story, message_ids=tuple(str(m.id) for m in messages),
        started_at=min(moments), ended_at=max(moments), project=level[0], session=level[1], source=source, trust=trust,
        created_at=now(),
    )  # fmt: skip
    return Told(record, messages, unrefined)


def _stories(consultant: Consultant, groups: Sequence[Sequence[Message]]) -> list[tuple[str, str, bool]]:
    """Title, story and whether the model failed, for each group."""
    if not consultant.there:
        return [(ingestion.title(messages), ingestion.narrative(messages), False) for messages in groups]
    from mnemic.llm import narrating

    last = narrating.MOST_MESSAGES
    answers = consultant.ask_all([lambda m=messages: narrating.task(m[-last:]) for messages in groups])
    told: list[tuple[str, str, bool]] = []
    for messages, answer in zip(groups, answers, strict=True):
        title, story = (None, None) if answer is None else (answer.title, answer.story)
        told.append((title or ingestion.title(messages), story or ingestion.narrative(messages), answer is None))
    return told


def merged(consultant: Consultant, first: Episode, second: Episode, messages: Sequence[Message]) -> Told:
    """One episode of two that tell the same."""
    ((title, story, failed),) = _stories(consultant, [messages])
    record = Episode(
        id=_id(messages), title=title, content=story, message_ids=tuple(str(m.id) for m in messages),
        source_ids=(first.id, second.id), started_at=min(first.started_at, second.started_at),
        ended_at=max(first.ended_at, second.ended_at), project=first.project,
        session=first.session if first.session == second.session else None,
        source=first.source if first.trust <= second.trust else second.source, trust=least([first.trust, second.trust]),
        created_at=now(),
    )  # fmt: skip
    return Told(record, messages, failed)


def _id(messages: Sequence[Message]) -> str:
    """A name that the same messages always have, so that a repeated run makes nothing twice."""
    named = "\0".join(str(m.id) for m in messages)
    return f"ep_{hashlib.blake2b(named.encode(), digest_size=12).hexdigest()}"


def least_trusted(messages: Sequence[Message]) -> tuple[Source, float]:
    """The source and the trust of what is made of messages: those of the least trusted."""
    worst = min(messages, key=_trust)
    return worst.source or "direct_user", _trust(worst)


def _trust(message: Message) -> float:
    return 1.0 if message.trust is None else message.trust
