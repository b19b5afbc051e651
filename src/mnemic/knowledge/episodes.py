"""Messages to episodes: by the language model where there is one, else, or when it fails, by rule."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.knowledge import segmentation
from mnemic.knowledge import titles as extracts
from mnemic.runtime.consultant import Consultant, together
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted, least
from mnemic.text.clock import now
from mnemic.types import Episode, Filters, Message, Source

if TYPE_CHECKING:
    from mnemic.llm.narration import Narrative

__all__ = ["Group", "Told", "background", "episodes", "groups", "least_trusted", "merged"]

WINDOW = 40
"""Messages that a language model cuts at a time."""
BACKGROUND = 200
"""Newest messages of a user against which the words of an episode stand out."""


@dataclass(frozen=True, slots=True)
class Told:
    """An episode with the messages it tells of, and whether the language model left a part of it to the rules."""

    episode: Episode
    messages: Sequence[Message]
    unrefined: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The places of the messages of one episode, in order, with its record where the language model told one at once."""

    places: Sequence[int]
    record: Narrative | None = None


def background(runtime: Runtime, user: str) -> Mapping[str, int]:
    """How many of the newest messages of a user hold each term."""
    filters = Filters(kinds=("message",), reach="user")
    return extracts.frequencies(runtime.store.list_messages(user, filters, limit=BACKGROUND, newest=True))


def groups(
    runtime: Runtime, consultant: Consultant, messages: Sequence[Message], vectors: NDArray[np.float32] | None
) -> list[Group]:
    """The messages of each episode, in order."""
    if not messages:
        return []
    if consultant.there:
        return _cut_by_model(runtime, consultant, messages, vectors)
    return _cut(runtime, messages, vectors, 0)


def _cut(
    runtime: Runtime, messages: Sequence[Message], vectors: NDArray[np.float32] | None, offset: int
) -> list[Group]:
    starts = segmentation.boundaries(messages, vectors, time_gap=runtime.settings.processing.time_gap)
    ends = [*starts[1:], len(messages)]
    return [Group(range(offset + start, offset + end)) for start, end in zip(starts, ends, strict=True)]


def _cut_by_model(
    runtime: Runtime, consultant: Consultant, messages: Sequence[Message], vectors: NDArray[np.float32] | None
) -> list[Group]:
    """Windows of messages, each beginning with the last episode of the one before, whose end was not in sight."""
    from mnemic.llm import segmentation as cuts

    found: list[Group] = []
    start = 0
    while start < len(messages):
        window = messages[start : start + WINDOW]
        answer = consultant.ask(lambda window=window: cuts.task(window))
        if answer is None:
            part = None if vectors is None else vectors[start : start + WINDOW]
            groups = _cut(runtime, window, part, start)
        else:
            # a story that was told with trusted and untrusted messages in view may mix them
            told = answer.records if len({is_trusted(m.trust) for m in window}) == 1 else [None] * len(answer.groups)
            cut = zip(answer.groups, told, strict=True)
            groups = [
                Group([start + place for place in part], record if len(part) == len(group) else None)
                for group, record in cut
                for part in _apart(window, group, runtime.settings.processing.time_gap)
            ]
        last = start + len(window) == len(messages)
        found += groups if last or len(groups) == 1 else groups[:-1]
        start = found[-1].places[-1] + 1
    return found


def _apart(messages: Sequence[Message], group: Sequence[int], time_gap: timedelta) -> list[list[int]]:
    """A group of the model without the pauses that end an episode whatever it says."""
    starts = {start for start, _ in segmentation.stretches([messages[place] for place in group], time_gap)}
    parts: list[list[int]] = []
    for at, place in enumerate(group):
        if at in starts:
            parts.append([])
        parts[-1].append(place)
    return parts


def episodes(
    consultant: Consultant,
    groups: Sequence[Sequence[Message]],
    level: tuple[str | None, str | None],
    records: Sequence[Narrative | None] = (),
    *,
    against: Mapping[str, int],
) -> list[Told]:
    """Tell one episode of each group of messages; ``records`` are those that were told already, ``against`` the background."""
    stories = _stories(consultant, groups, records, against)
    return [
        _episode(messages, title, story, level, unrefined=failed)
        for messages, (title, story, failed) in zip(groups, stories, strict=True)
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


def _stories(
    consultant: Consultant,
    groups: Sequence[Sequence[Message]],
    records: Sequence[Narrative | None],
    against: Mapping[str, int],
) -> list[tuple[str, str, bool]]:
    """Title, story and whether the model failed, for each group; without a model an excerpt stands for the story."""
    if not consultant.there:
        return [(*extracts.describe(group, against), False) for group in groups]
    from mnemic.llm import narration

    found = {place: record for place, record in enumerate(records) if record is not None}
    left = [place for place in range(len(groups)) if place not in found]
    read = {place: groups[place][-narration.MOST_MESSAGES :] for place in left}
    parts = _parts(read, narration.MOST_EPISODES)
    answers = consultant.ask_all([lambda p=part: narration.task([read[place] for place in p]) for part in parts])
    for part, answer in zip(parts, answers, strict=True):
        items = () if answer is None else zip(part, answer.items, strict=True)
        found |= {place: item for place, item in items if item is not None}
        consultant.failed += 0 if answer is None else answer.items.count(None)
    told: list[tuple[str, str, bool]] = []
    for place, messages in enumerate(groups):
        one = found.get(place)
        title, story = (None, None) if one is None else (one.title, one.story)
        if not (title and story):
            own = extracts.describe(messages, against)
            title, story = title or own[0], story or own[1]
        told.append((title, story, one is None))
    return told


def _parts(groups: Mapping[int, Sequence[Message]], most: int) -> list[list[int]]:
    """Places of episodes that are told in one question: never those that are trusted with those that are not.

    An episode that holds both is told alone.
    """
    kinds = {place: {is_trusted(message.trust) for message in messages} for place, messages in groups.items()}
    found = [[place] for place, kind in kinds.items() if len(kind) == 2]
    for trusted in (True, False):
        places = [place for place, kind in kinds.items() if kind == {trusted}]
        found += [[places[i] for i in part] for part in together([len(groups[place]) for place in places], most)]
    return found


def merged(
    consultant: Consultant, first: Episode, second: Episode, messages: Sequence[Message], against: Mapping[str, int]
) -> Told:
    """One episode of two that tell the same."""
    ((title, story, failed),) = _stories(consultant, [messages], (), against)
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
