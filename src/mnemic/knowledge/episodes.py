"""Episodes: segments of messages with a title and a story or excerpt, by the language model or else by rule."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mnemic.ingest import REFERENCE, stable_id
from mnemic.knowledge import segmentation
from mnemic.runtime.consultant import Consultant, prompt_groups
from mnemic.runtime.runtime import Runtime
from mnemic.text.english import is_small_talk
from mnemic.text.frames import QUOTATION, QUOTED_LINE, framed, is_own, speaks_for_someone, whole_sentences
from mnemic.text.markup import speaker_label
from mnemic.text.sentences import without_output
from mnemic.text.terms import content_terms
from mnemic.text.values import now
from mnemic.types import AddEpisode, Episode, Level, Message, RecordFilter, Source
from mnemic.types.records import is_trusted, least_trust

if TYPE_CHECKING:
    from mnemic.llm.narration import Narrative

TITLE, SENTENCE, EXCERPT = 64, 200, 300
"""Characters of a title, of a sentence of an excerpt, and of an excerpt."""
SCANNED_CHARS, READ_CHARS, MOST_SENTENCES = 10_000, 1_000, 12
"""Characters of a message in which code and output are looked for; characters and sentences that are read of the rest."""
CLAUSES = 12
"""First clauses of a sentence at which a title may start."""
MIN_SHARE = 3
"""Sentences worth less than a third of the best one are left out of an excerpt."""
FULL_LENGTH = 7
"""Letters from which a word has full weight."""
ASSISTANT_FACTOR = 0.5
"""For the sentences of an assistant."""
QUESTION_FACTOR = 0.8
FIRST_FACTOR = 1.3
"""For the sentences of the first message."""
OPENING_FACTOR = 1.15
"""For a clause that opens its sentence."""
WHOLE_FACTOR = 1.15
"""For a clause that is not cut."""

QUOTED = "> "
"""Before a sentence of a quoted line."""

_ADDRESS = r"https?://(?:[^\s()\[\]<>]|\([^\s()]*\))+"
_MARKUP = re.compile(
    rf"(```|~~~).*?(?:\1|\Z)|\({_ADDRESS}\)|<{_ADDRESS}>|{_ADDRESS}|\[[^\[\]]{{3,300}}\]\s*$|\*\*|__|[`#]+", re.DOTALL
)
_BREAK = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|(?P<end>[,;:]\s+|\s[-\u2013\u2014]+\s|[\u3001\uff0c\uff1b\uff1a])")
"""Ends of clauses, but for those inside of brackets."""
_EDGES = " \t\r\n,;:.!?-\u2013\u2014\u3002\uff01\uff1f\u3001\uff0c"
_LEAD = re.compile(
    r"(?:(?:and|but|so|or|also|oh|ok|okay|yeah|yes|well|hi|hey|hello|thanks|btw)\b['\u2019]?[\s,!.]+)+", re.IGNORECASE
)
"""English discourse markers before a clause."""


def frequencies(messages: Iterable[Message]) -> Counter[str]:
    """Message counts by term, and the number of messages under the empty term."""
    counts: Counter[str] = Counter()
    for message in messages:
        counts.update({"", *content_terms(_prose(message))})
    return counts


def _prose(message: Message) -> str:
    """The beginning of a message without code, markup, references to files and what a program printed."""
    said = REFERENCE.sub("\n\n", message.content[:SCANNED_CHARS])
    return without_output(_MARKUP.sub("", said)).strip()[:READ_CHARS]


def describe(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> tuple[str, str]:
    """The title of an episode, see ``title``, and its most characteristic sentences.

    These are verbatim, one per line with the speaker, in order of time, some 300 characters; long ones are cut at a word.
    Both are empty for no messages. ``background`` is the ``frequencies`` of messages to contrast with; default those of the
    episode.
    """
    weights, numbered_sentences = _weights(messages, background), _sentences_of(messages)
    return _title(messages, weights, numbered_sentences), _excerpt(messages, weights, numbered_sentences)


def title(messages: Sequence[Message]) -> str:
    """The most characteristic clause of an episode, verbatim and deterministic.

    Args:
        messages: of the episode, in the order of time.

    Returns:
        At most 64 characters of one message, capitalised; a longer clause is cut at a word and ends with an ellipsis.
        The speakers if there are no words; empty for no messages.
    """
    return _title(messages, _weights(messages, None), _sentences_of(messages))


def _title(
    messages: Sequence[Message], weights: Mapping[str, float], numbered_sentences: Sequence[tuple[int, str]]
) -> str:
    best, chosen = 0.0, ""
    for number, sentence in numbered_sentences:
        share = (FIRST_FACTOR if number == 0 else 1.0) * _share(messages[number], sentence)
        for clause, opens in () if sentence.startswith(QUOTED) else _clauses(sentence):
            if not opens and speaks_for_someone(clause) and not is_own(sentence):
                continue
            form = (OPENING_FACTOR if opens else 1.0) * (1.0 if clause.endswith("\u2026") else WHOLE_FACTOR)
            weight = sum(weights.get(term, 0.0) for term in dict.fromkeys(content_terms(clause)))
            worth = share * form * weight / (4 + len(clause.split())) ** 0.5
            if worth > best:
                best, chosen = worth, clause
    chosen = chosen or _fallback(messages, TITLE)
    return chosen[:1].upper() + chosen[1:]


def _excerpt(
    messages: Sequence[Message], weights: Mapping[str, float], numbered_sentences: Sequence[tuple[int, str]]
) -> str:
    waiting = {
        index: (_share(messages[number], text) / (60 + len(text)) ** 0.5, dict.fromkeys(content_terms(text)))
        for index, (number, text) in enumerate(numbered_sentences)
    }
    chosen: dict[int, str] = {}
    covered, length, threshold = set[str](), 0, 0.0
    while waiting and length < EXCERPT:
        worth = {
            index: share * sum(weights.get(term, 0.0) for term in terms if term not in covered)
            for index, (share, terms) in waiting.items()
        }
        index = max(worth, key=worth.__getitem__)  # ties go to the first
        if worth[index] <= threshold:
            break
        threshold = threshold or worth[index] / MIN_SHARE
        covered.update(waiting.pop(index)[1])
        number, sentence = numbered_sentences[index]
        line = f"{speaker_label(messages[number])}: {_clip(sentence, SENTENCE)}"
        if not chosen or length + len(line) <= EXCERPT:
            chosen[index] = line
        length += len(line)
    return "\n".join(line for _, line in sorted(chosen.items())) or _fallback(messages, SENTENCE)


def _weights(messages: Sequence[Message], background: Mapping[str, int] | None) -> dict[str, float]:
    """Weight of each term of an episode (tf-idf), without names of speakers."""
    inside = frequencies(messages)
    around = background or inside
    speakers = {term for message in messages if message.name for term in content_terms(message.name)}
    total = max(around.get("", 0), len(messages))
    return {
        term: (1 + math.log(count))
        * math.log(1 + total / max(around.get(term, 0), count))
        * min(len(term), FULL_LENGTH)
        / FULL_LENGTH
        for term, count in inside.items()
        if term and term not in speakers
    }


def _share(message: Message, sentence: str) -> float:
    asks = sentence.endswith(("?", "\uff1f"))
    return (ASSISTANT_FACTOR if message.role == "assistant" and not message.name else 1.0) * (
        QUESTION_FACTOR if asks else 1.0
    )


def _sentences_of(messages: Sequence[Message]) -> list[tuple[int, str]]:
    """The sentences of the prose of messages, each with the position of its message."""
    return [
        (index, sentence)
        for index, message in enumerate(messages)
        for sentence in _framed_sentences(message)
        if not is_small_talk(sentence)
    ]


def _framed_sentences(message: Message) -> list[str]:
    """The first sentences of a message: quoted lines with their mark, those of a person within their frame."""
    runs = groupby(_prose(message).splitlines(), key=lambda line: bool(QUOTED_LINE.match(line)))
    pieces = [
        (quoted, " ".join(sentence.split())) for quoted, lines in runs for sentence in whole_sentences("\n".join(lines))
    ][:MOST_SENTENCES]
    own = [piece for quoted, piece in pieces if not quoted]
    within = iter(framed(own) if message.name or message.role != "assistant" else own)
    return [f"{QUOTED}{piece}" if quoted else next(within) for quoted, piece in pieces]


def _clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """Runs of clauses that fit a title, longer ones clipped, and whether they open the sentence."""
    quoted = [quotation.span() for quotation in QUOTATION.finditer(sentence)]
    ends = (match.end() for match in _BREAK.finditer(sentence) if match["end"])
    breaks = [place for place in ends if not any(begin <= place < end for begin, end in quoted)]
    bounds = [0, *breaks[:CLAUSES], len(sentence)]
    for index, start in enumerate(bounds[:-1]):
        for end in bounds[index + 1 :]:
            text = sentence[start:end].strip(_EDGES)
            lead = _LEAD.match(text)
            text = text[lead.end() :] if lead else text
            if len(text) <= TITLE or end == bounds[index + 1]:
                yield _clip(text, TITLE), index == 0
            if len(text) > TITLE:
                break


def _clip(text: str, most: int) -> str:
    """Cut a text to ``most`` characters, at a word if possible."""
    if len(text) <= most:
        return text
    space = text.rfind(" ", most // 2, most)
    return text[: space if space > 0 else most - 1].rstrip(_EDGES) + "\u2026"


def _fallback(messages: Sequence[Message], most: int) -> str:
    """The first text, else the speakers."""
    texts = (" ".join(message.content[:READ_CHARS].split()) for message in messages)
    who = ", ".join(dict.fromkeys(map(speaker_label, messages)))
    return _clip(next(filter(None, texts), "") or who, most)


WINDOW = 40
"""Messages in one segmentation prompt."""
BACKGROUND = 200
"""Newest messages of a user that serve as background."""


@dataclass(frozen=True, slots=True)
class EpisodeDraft:
    """An episode with its messages; ``unrefined`` if the language model failed and rules filled in."""

    episode: Episode
    messages: Sequence[Message]
    unrefined: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Positions of the messages of one episode, in order, with its title and story if the model gave them at once."""

    positions: Sequence[int]
    record: Narrative | None = None


def background(runtime: Runtime, user: str) -> Mapping[str, int]:
    """``frequencies`` of the newest messages of a user."""
    filters = RecordFilter(kinds=("message",), reach="user")
    return frequencies(runtime.store.list_messages(user, filters, limit=BACKGROUND, newest=True))


def segment(
    runtime: Runtime, consultant: Consultant, messages: Sequence[Message], vectors: NDArray[np.float32] | None
) -> list[Group]:
    """Split messages into episodes, in order."""
    if not messages:
        return []
    if consultant.available:
        return _segment_by_model(runtime, consultant, messages, vectors)
    return _segment_by_rule(runtime, messages, vectors, 0)


def _segment_by_rule(
    runtime: Runtime, messages: Sequence[Message], vectors: NDArray[np.float32] | None, offset: int
) -> list[Group]:
    starts = segmentation.boundaries(messages, vectors, time_gap=runtime.settings.processing.time_gap)
    ends = [*starts[1:], len(messages)]
    return [Group(range(offset + start, offset + end)) for start, end in zip(starts, ends, strict=True)]


def _segment_by_model(
    runtime: Runtime, consultant: Consultant, messages: Sequence[Message], vectors: NDArray[np.float32] | None
) -> list[Group]:
    """Segment in windows, each starting with the last, possibly incomplete episode of the one before."""
    from mnemic.llm import segmentation as cuts

    segments: list[Group] = []
    start = 0
    while start < len(messages):
        window = messages[start : start + WINDOW]
        answer = consultant.ask(lambda window=window: cuts.task(window))
        if answer is None:
            part = None if vectors is None else vectors[start : start + WINDOW]
            groups = _segment_by_rule(runtime, window, part, start)
        else:
            # a story written from trusted and untrusted messages may mix them
            records = answer.records if len({is_trusted(m.trust) for m in window}) == 1 else [None] * len(answer.groups)
            cut = zip(answer.groups, records, strict=True)
            groups = [
                Group([start + position for position in part], record if len(part) == len(group) else None)
                for group, record in cut
                for part in _split_at_pauses(window, group, runtime.settings.processing.time_gap)
            ]
        last = start + len(window) == len(messages)
        segments += groups if last or len(groups) == 1 else groups[:-1]
        start = segments[-1].positions[-1] + 1
    return segments


def _split_at_pauses(messages: Sequence[Message], group: Sequence[int], time_gap: timedelta) -> list[list[int]]:
    """Split a group of the model at long pauses, which always end an episode."""
    starts = {start for start, _ in segmentation.stretches([messages[position] for position in group], time_gap)}
    parts: list[list[int]] = []
    for index, position in enumerate(group):
        if index in starts:
            parts.append([])
        parts[-1].append(position)
    return parts


def draft_episodes(
    consultant: Consultant,
    groups: Sequence[Sequence[Message]],
    level: Level,
    records: Sequence[Narrative | None] = (),
    *,
    against: Mapping[str, int],
) -> list[EpisodeDraft]:
    """One episode per group; ``records`` are titles and stories that exist, ``against`` is the background."""
    drafts: list[EpisodeDraft] = []
    for messages, (title, story, failed) in zip(groups, _narrate(consultant, groups, records, against), strict=True):
        (source, trust), moments = least_trusted(messages), [m.sent_at for m in messages if m.sent_at]
        drafts.append(
            _draft(
                messages, title, story, unrefined=failed, started_at=min(moments), ended_at=max(moments), source=source,
                trust=trust, project=level[0], session=level[1],
            )
        )  # fmt: skip
    return drafts


def _draft(messages: Sequence[Message], title: str, story: str, *, unrefined: bool, **fields: Any) -> EpisodeDraft:
    record = Episode(
        id=_episode_id(messages), title=title, content=story, message_ids=tuple(str(m.id) for m in messages),
        created_at=now(), **fields,
    )  # fmt: skip
    return EpisodeDraft(record, messages, unrefined)


def _narrate(
    consultant: Consultant,
    groups: Sequence[Sequence[Message]],
    records: Sequence[Narrative | None],
    against: Mapping[str, int],
) -> list[tuple[str, str, bool]]:
    """Title, story and whether the model failed, for each group; by rule the story is an excerpt."""
    if not consultant.available:
        return [(*describe(group, against), False) for group in groups]
    from mnemic.llm import narration

    narratives = {index: record for index, record in enumerate(records) if record is not None}
    missing = [index for index in range(len(groups)) if index not in narratives]
    latest = {index: groups[index][-narration.MOST_MESSAGES :] for index in missing}
    kinds = {index: {is_trusted(message.trust) for message in messages} for index, messages in latest.items()}
    of_one_kind = {index: True in kind for index, kind in kinds.items() if len(kind) == 1}
    sizes = {index: len(messages) for index, messages in latest.items()}
    parts = [[index] for index in latest if index not in of_one_kind]  # a mixed episode has a prompt of its own
    parts += prompt_groups(of_one_kind, narration.MOST_EPISODES, sizes)
    answers = consultant.ask_all([lambda p=part: narration.task([latest[index] for index in p]) for part in parts])
    for part, answer in zip(parts, answers, strict=True):
        items = () if answer is None else zip(part, answer, strict=True)
        narratives |= {index: item for index, item in items if item is not None}
        consultant.failed += 0 if answer is None else answer.count(None)
    narrated: list[tuple[str, str, bool]] = []
    for index, messages in enumerate(groups):
        narrative = narratives.get(index)
        title, story = (None, None) if narrative is None else (narrative.title, narrative.story)
        if not (title and story):
            by_rule = describe(messages, against)
            title, story = title or by_rule[0], story or by_rule[1]
        narrated.append((title, story, narrative is None))
    return narrated


def merge_episodes(
    consultant: Consultant, first: Episode, second: Episode, messages: Sequence[Message], against: Mapping[str, int]
) -> EpisodeDraft:
    """Merge two similar episodes."""
    ((title, story, failed),) = _narrate(consultant, [messages], (), against)
    less_trusted = min(first, second, key=lambda episode: episode.trust)
    return _draft(
        messages, title, story, unrefined=failed, source_ids=(first.id, second.id), project=first.project,
        started_at=min(first.started_at, second.started_at), ended_at=max(first.ended_at, second.ended_at),
        session=first.session if first.session == second.session else None, source=less_trusted.source,
        trust=less_trusted.trust,
    )  # fmt: skip


def _episode_id(messages: Sequence[Message]) -> str:
    """A deterministic id of the messages, so that a repeated run stores nothing twice."""
    return stable_id("ep_", *(str(message.id) for message in messages))


def least_trusted(messages: Sequence[Message]) -> tuple[Source, float]:
    """Source and trust of the least trusted message."""
    worst = min(messages, key=lambda message: least_trust([message.trust]))
    return worst.source or "direct_user", least_trust([worst.trust])


def rewritten(
    runtime: Runtime,
    user: str,
    episode_messages: Sequence[tuple[object, Sequence[Message]]],
    *,
    erased: Collection[str] = (),
) -> list[AddEpisode]:
    """The next versions of episodes, from the remaining messages of each.

    A message that is forgotten but not ``erased`` may be restored: it stays a source and limits the trust.
    """
    consultant, against = Consultant(runtime), background(runtime, user)
    changes: list[AddEpisode] = []
    for episode, messages in episode_messages:
        assert isinstance(episode, Episode)
        (draft,) = draft_episodes(consultant, [messages], (episode.project, episode.session), against=against)
        record = replace(draft.episode, id=episode.id, version=episode.version + 1, created_at=episode.created_at)
        remaining_ids = tuple(id_ for id_ in episode.message_ids if id_ not in erased)
        if len(remaining_ids) > len(messages) or episode.source_ids:
            record = replace(record, message_ids=remaining_ids, source=episode.source, trust=episode.trust)
        ((_, index),) = runtime.indexer.indexed([record])
        changes.append(AddEpisode(record=record, indexing=index, refine=draft.unrefined))
    return changes
