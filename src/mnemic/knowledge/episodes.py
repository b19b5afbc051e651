"""Messages to episodes: by the language model where there is one, else, or when it fails, by rule."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.knowledge import segmentation
from mnemic.runtime.consultant import Consultant, episode_batches
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted, least_trust
from mnemic.text.clock import now
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import Episode, Filters, Message, Source

if TYPE_CHECKING:
    from mnemic.llm.narration import Narrative

__all__ = [
    "Group",
    "Told",
    "background",
    "describe",
    "episodes",
    "excerpt",
    "frequencies",
    "groups",
    "least_trusted",
    "merged",
    "title",
]

TITLE, SENTENCE, EXCERPT = 64, 200, 300
"""Characters of a title, of a sentence of an excerpt, and of an excerpt."""
LOOKED_AT, MOST_SENTENCES = 1_000, 12
"""Characters and sentences of a message that are looked at."""
CLAUSES = 12
"""Clauses of a sentence in which titles begin."""
LITTLE = 3
"""A sentence that tells less than a third of what the best one does is left out of an excerpt."""
LONG = 7
"""Letters from which a word counts whole."""
ASSISTANT, MESSAGES_PER_PROMPT, FIRST, OPENING, WHOLE = 0.5, 0.8, 1.3, 1.15, 1.15
"""What is said by an assistant, asked, said first, at the beginning of a sentence, and not cut, against the rest."""

_MARKUP = re.compile(r"(```|~~~).*?(?:\1|\Z)|https?://\S+|\[[^\[\]]{3,300}\]\s*$|\*\*|__|[`#]+", re.DOTALL)
_BREAK = re.compile(r"[,;:]\s+|\s[-\u2013\u2014]+\s|[\u3001\uff0c\uff1b\uff1a]")
_EDGES = " \t\r\n,;:.!?-\u2013\u2014\u3002\uff01\uff1f\u3001\uff0c"
_LEAD = re.compile(
    r"(?:(?:and|but|so|or|also|oh|ok|okay|yeah|yes|well|hi|hey|hello|thanks|btw)\b['\u2019]?[\s,!.]+)+", re.IGNORECASE
)
"""English words that lead into a clause and are no part of it."""


def frequencies(messages: Iterable[Message]) -> Counter[str]:
    """How many messages hold each term, and under the empty one how many there are."""
    found: Counter[str] = Counter()
    for message in messages:
        found.update({"", *content_terms(message.content[:LOOKED_AT])})
    return found


def describe(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> tuple[str, str]:
    """The title and the excerpt of an episode; see ``title`` and ``excerpt``."""
    weights, said = _weights(messages, background), _said(messages)
    return _title(messages, weights, said), _excerpt(messages, weights, said)


def title(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """The clause that tells most of an episode, as it was said; deterministic.

    Args:
        messages: of the episode, in the order of time.
        background: the ``frequencies`` of what it stands out against; without it, of the episode alone.

    Returns:
        At most 64 characters of one message, cut at a word and ended with an ellipsis where the clause is longer, its first
        letter a capital. Of messages without words who spoke. Empty for no messages.
    """
    return _title(messages, _weights(messages, background), _said(messages))


def excerpt(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """The sentences that tell most of an episode, each with who said it on a line of its own, in the order of time.

    Args:
        messages: of the episode, in the order of time.
        background: as for ``title``.

    Returns:
        Some 300 characters of sentences as they were said, long ones cut at a word. Empty for no messages.
    """
    return _excerpt(messages, _weights(messages, background), _said(messages))


def _title(messages: Sequence[Message], weights: Mapping[str, float], said: Sequence[tuple[int, str]]) -> str:
    best, chosen = 0.0, ""
    for at, sentence in said:
        share = (FIRST if at == 0 else 1.0) * _share(messages[at], sentence)
        for clause, opens in _clauses(sentence):
            form = (OPENING if opens else 1.0) * (1.0 if clause.endswith("\u2026") else WHOLE)
            told = sum(weights.get(term, 0.0) for term in dict.fromkeys(content_terms(clause)))
            worth = share * form * told / (4 + len(clause.split())) ** 0.5
            if worth > best:
                best, chosen = worth, clause
    chosen = chosen or _anything(messages, TITLE)
    return chosen[:1].upper() + chosen[1:]


def _excerpt(messages: Sequence[Message], weights: Mapping[str, float], said: Sequence[tuple[int, str]]) -> str:
    waiting = {
        place: (_share(messages[at], sentence) / (60 + len(sentence)) ** 0.5, dict.fromkeys(content_terms(sentence)))
        for place, (at, sentence) in enumerate(said)
    }
    chosen: dict[int, str] = {}
    told, length, least_trust = set[str](), 0, 0.0
    while waiting and length < EXCERPT:
        worth = {
            place: share * sum(weights.get(term, 0.0) for term in terms if term not in told)
            for place, (share, terms) in waiting.items()
        }
        place = max(worth, key=worth.__getitem__)  # of equals the first
        if worth[place] <= least_trust:
            break
        least_trust = least_trust or worth[place] / LITTLE
        told.update(waiting.pop(place)[1])
        at, sentence = said[place]
        line = f"{_speaker(messages[at])}: {_clipped(sentence, SENTENCE)}"
        if not chosen or length + len(line) <= EXCERPT:
            chosen[place] = line
        length += len(line)
    return "\n".join(line for _, line in sorted(chosen.items())) or _anything(messages, SENTENCE)


def _weights(messages: Sequence[Message], background: Mapping[str, int] | None) -> dict[str, float]:
    """How much each term tells of an episode; the name of a speaker tells nothing."""
    inside = frequencies(messages)
    around = background or inside
    speakers = {term for message in messages if message.name for term in content_terms(message.name)}
    total = max(around.get("", 0), len(messages))
    return {
        term: (1 + math.log(count))
        * math.log(1 + total / max(around.get(term, 0), count))
        * min(len(term), LONG)
        / LONG
        for term, count in inside.items()
        if term and term not in speakers
    }


def _share(message: Message, sentence: str) -> float:
    asks = sentence.endswith(("?", "\uff1f"))
    return (ASSISTANT if message.role == "assistant" and not message.name else 1.0) * (
        MESSAGES_PER_PROMPT if asks else 1.0
    )


def _said(messages: Sequence[Message]) -> list[tuple[int, str]]:
    """The sentences of messages in one line each, without code and markup, with the place of their message."""
    return [
        (at, " ".join(sentence.split()))
        for at, message in enumerate(messages)
        for sentence in sentences(_MARKUP.sub("", message.content[:LOOKED_AT]))[:MOST_SENTENCES]
    ]


def _clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """Runs of clauses that fit a title, and the beginnings of those that do not; whether they open the sentence."""
    breaks = [found.end() for found in _BREAK.finditer(sentence)]
    bounds = [0, *breaks[:CLAUSES], len(sentence)]
    for at, start in enumerate(bounds[:-1]):
        for end in bounds[at + 1 :]:
            text = sentence[start:end].strip(_EDGES)
            lead = _LEAD.match(text)
            text = text[lead.end() :] if lead else text
            if len(text) <= TITLE or end == bounds[at + 1]:
                yield _clipped(text, TITLE), at == 0
            if len(text) > TITLE:
                break


def _clipped(text: str, most: int) -> str:
    """A text up to the last word that fits, where there are words."""
    if len(text) <= most:
        return text
    space = text.rfind(" ", most // 2, most)
    return text[: space if space > 0 else most - 1].rstrip(_EDGES) + "\u2026"


def _speaker(message: Message) -> str:
    return message.name or message.role


def _anything(messages: Sequence[Message], most: int) -> str:
    """The first text there is, else who spoke."""
    said = (" ".join(message.content[:LOOKED_AT].split()) for message in messages)
    who = ", ".join(dict.fromkeys(map(_speaker, messages)))
    return _clipped(next(filter(None, said), "") or who, most)


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
    return frequencies(runtime.store.list_messages(user, filters, limit=BACKGROUND, newest=True))


def groups(
    runtime: Runtime, consultant: Consultant, messages: Sequence[Message], vectors: NDArray[np.float32] | None
) -> list[Group]:
    """The messages of each episode, in order."""
    if not messages:
        return []
    if consultant.available:
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
    if not consultant.available:
        return [(*describe(group, against), False) for group in groups]
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
            own = describe(messages, against)
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
        found += [[places[i] for i in part] for part in episode_batches([len(groups[place]) for place in places], most)]
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
        source=first.source if first.trust <= second.trust else second.source, trust=least_trust([first.trust, second.trust]),
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
