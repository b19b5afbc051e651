"""What is recalled before an answer and at the start of a session, and what frameworks keep of a hit."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

from mnemic.adapters.binding import checked_filters
from mnemic.adapters.calls import blocking
from mnemic.aio import AsyncMemory
from mnemic.errors import EmbedderError, StoreError
from mnemic.ingest import REFERENCE
from mnemic.memory import Memory
from mnemic.protocols import TokenCounter
from mnemic.recall.context.packing import quoted_speaker
from mnemic.recall.context.styles import without_repeated
from mnemic.recall.recipes import Recipe
from mnemic.types import Evidence, Hit, Link, MemoryContext, MemoryRecord, Mood
from mnemic.types.literals import UNTRUSTED
from mnemic.types.records import is_trusted
from mnemic.validation import MAX_WORDS

logger = logging.getLogger(__name__)

MAX_QUESTION = 8_000
"""Characters of a question; a longer one is asked by its beginning and its end."""

RECENT = 4
"""How many texts before a question say what it is about."""

_NOTHING = MemoryContext(text="")


@contextmanager
def recall_failures_logged() -> Generator[None]:
    """Log a failing record or embedder and go on: an agent can answer without memory."""
    try:
        yield
    except (StoreError, EmbedderError):
        logger.warning("Recall failed; the agent goes on without memory.", exc_info=True)


class Ranking(TypedDict):
    """The mood by which hits are ranked beside relevance."""

    mood: Mood
    emotion_weight: float


class RecallOptions(TypedDict, total=False):
    """What an adapter recalls, and how it is ranked.

    Attributes:
        max_tokens: the maximum number of tokens of recalled text. Default: 1000; 0
            recalls nothing.
        min_evidence: the lowest grade of evidence that is shown. With ``"weak"``, the
            default, nothing is shown if nothing is relevant to the question; with
            ``"none"``, the closest records are shown anyway. The text states its grade.
        filters: what may be recalled: fields of ``SearchFilters``, such as
            ``{"kinds": ["memory"]}``.
        profile: whether to begin with who the user is and what matters to them,
            regardless of the question, in at most half of the budget. What the evidence
            for the question already says in full is not repeated.
        recipe: how hits are ranked; see ``Memory.search``.
        mood: a mood to rank by, besides relevance; see ``Memory.search``.
        emotion_weight: the weight of the mood, 0 to 1. Default: 0.3.
        procedures: the maximum number of procedures that worked for similar requests;
            they are shown first. Default: 0.
    """

    max_tokens: int
    min_evidence: Evidence
    filters: Mapping[str, Any] | None
    profile: bool
    recipe: str | Recipe
    mood: Mood
    emotion_weight: float
    procedures: int


class Recall:
    """The text that an adapter puts into a prompt; the arguments are ``RecallOptions``.

    Raises:
        ConfigurationError: an argument cannot be used.
    """

    def __init__(
        self,
        *,
        max_tokens: int = 1000,
        min_evidence: Evidence = "weak",
        filters: Mapping[str, Any] | None = None,
        profile: bool = False,
        recipe: str | Recipe = "conversation",
        mood: Mood = None,
        emotion_weight: float = 0.3,
        procedures: int = 0,
    ) -> None:
        self._options = checked_filters(
            Memory.get_memory_context, filters, reserved=("exclude",), min_evidence=min_evidence, recipe=recipe, mood=mood,
            emotion_weight=emotion_weight, procedures=procedures, max_tokens=1 if max_tokens == 0 else max_tokens,
        )  # fmt: skip
        self.max_tokens, self._profile = max_tokens, profile
        self.ranked: Ranking = {"mood": mood, "emotion_weight": emotion_weight}

    @classmethod
    def of(cls, owner: object) -> Recall:
        """For a framework's class that has the arguments as its fields, under the same names."""
        return cls(**{name: getattr(owner, name) for name in RecallOptions.__annotations__})

    async def text(
        self,
        memory: AsyncMemory,
        question: str | None,
        *,
        recent: Sequence[str] = (),
        exclude: Sequence[str] = (),
        max_tokens: int | None = None,
        count: TokenCounter | None = None,
    ) -> str:
        """Fenced text for a prompt; empty when nothing is found or fits.

        Args:
            memory: where to look.
            question: what is asked; None at the start of a session, "" for the profile alone.
            recent: the texts before it, of which the last four are used.
            exclude: ids of what the prompt shows anyway.
            max_tokens: the budget; default that of the constructor.
            count: the tokens of the framework's tokenizer; default those of the handle's.

        Raises:
            StoreError: the record cannot be read; see ``recall_failures_logged``.
            EmbedderError: the embedder fails.
        """
        budget = self.max_tokens if max_tokens is None else max_tokens
        profile, context = _NOTHING, _NOTHING
        options: dict[str, Any] = {"exclude": [*dict.fromkeys(exclude)][-MAX_WORDS:]}
        if self._profile and question is not None:
            profile = await self._fitting(memory, None, budget // 2, count, **options)
            budget -= _tokens(profile, count)
        if question != "":
            options["recent"] = [*recent][-RECENT:]
            context = await self._fitting(memory, _cut_question(question), budget, count, **options)
        profile = without_repeated(profile, context)
        parts = (profile, without_repeated(context, profile))
        return "\n\n".join(part.to_prompt() for part in parts if part)

    def blocking_text(self, memory: Memory, question: str | None, **options: Any) -> str:
        """The text on the caller's thread; the arguments are those of ``text``."""
        return blocking(memory, lambda memory: self.text(memory, question, **options))

    async def _fitting(
        self, memory: AsyncMemory, question: str | None, budget: int, count: TokenCounter | None, **more: Any
    ) -> MemoryContext:
        """A context within the budget by either tokenizer; empty when nothing is found or fits."""
        limit = budget
        while limit > 0:
            options: dict[str, Any] = {**self._options, "max_tokens": limit, **more}
            context = await memory.get_memory_context(question, **options)
            tokens = _tokens(context, count)
            if tokens <= budget:
                return context
            limit = context.token_count * budget // tokens  # the handle counts fewer tokens than the framework
        return _NOTHING


def _tokens(context: MemoryContext, count: TokenCounter | None) -> int:
    return context.token_count if count is None else count(context.to_prompt())


def _cut_question(question: str | None) -> str | None:
    """A question without the references of its images and files, which say nothing about what is asked, and cut."""
    if question is None:
        return None
    question = REFERENCE.sub("", question).rstrip() or question
    if len(question) <= MAX_QUESTION:
        return question
    return f"{question[: MAX_QUESTION // 2]}\n{question[-MAX_QUESTION // 2 :]}"


_PLAIN = ("score", "relevance", "kind", "session", "project", "role", "status", "type", "importance", "source", "trust")
_LISTS = ("tags", "message_ids", "similar", "via", "superseded_by")


def hit_metadata(hit: Hit, *, lists: Callable[[tuple[str, ...]], object] = list) -> dict[str, Any]:
    """The metadata of a hit for the documents and nodes of frameworks: the record's own, then what the hit has, by its names.

    Times are ISO 8601, and the speaker is quoted, because prompts show it. What a hit has not is left out.

    Args:
        hit: of a search.
        lists: what is made of its tags and of several ids, such as ``",".join`` for a framework with flat metadata.
    """
    fields: dict[str, Any] = {
        **{name: getattr(hit, name) for name in _PLAIN},
        **{name: lists(getattr(hit, name)) for name in _LISTS},
        "speaker": quoted_speaker(hit),
        "ended": hit.ended or None,
        "sent_at": hit.sent_at and hit.sent_at.isoformat(),
        "valid_at": hit.valid_at and hit.valid_at.isoformat(),
    }
    return {**hit.metadata, **{name: value for name, value in fields.items() if value not in (None, "", [])}}


LINE = 240
"""Characters of a memory at the start of a session."""
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_LINE = 45
MOST_LINES = 10
MOST_CENTRAL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """What a session should know at its start, as text and as values.

    Attributes:
        context: all of it as text for a prompt, with the latest messages.
        important: memories, most important first.
        recent: the newest of the others.
        links: the links around the important memories, counted by type.
        central: the memories with the most of these links, and how many.
        token_count: of all, about.
        truncated: whether more is remembered.
    """

    context: MemoryContext
    important: Sequence[MemoryRecord]
    recent: Sequence[MemoryRecord]
    links: Mapping[str, int]
    central: Sequence[tuple[MemoryRecord, int]]
    token_count: int
    truncated: bool


async def session_start(memory: AsyncMemory, max_tokens: int) -> SessionStart:
    """What is important, and what came last, take at most a quarter of the budget each as values; the text has the rest."""
    first = await memory.list(order="importance", limit=MOST_LINES, min_trust=UNTRUSTED)
    important = _fitting(first, max_tokens // 4)
    shown = {record.id for record in important}
    latest = await memory.list(order="newest", limit=2 * MOST_LINES + 1, min_trust=UNTRUSTED)
    recent = _fitting([r for r in latest if r.id not in shown][:MOST_LINES], max_tokens // 4)
    listed = _lines_tokens([*important, *recent])
    context = await memory.get_memory_context(max_tokens=max_tokens - listed)
    shown |= {entry.id for entry in (*recent, *context.hits)}
    links, central = await _linked(memory, first)
    return SessionStart(
        context=context, important=important, recent=recent, links=links, central=central,
        token_count=context.token_count + listed, truncated=context.truncated or any(r.id not in shown for r in latest),
    )  # fmt: skip


def _fitting(records: Iterable[MemoryRecord], max_tokens: int) -> list[MemoryRecord]:
    """The first records of which lines fit about so many tokens."""
    fitting: list[MemoryRecord] = []
    for record in records:
        if _lines_tokens([*fitting, record]) > max_tokens:
            break
        fitting.append(record)
    return fitting


def _lines_tokens(records: Sequence[MemoryRecord]) -> int:
    return sum(min(len(record.content), LINE) // CHARACTERS_PER_TOKEN + TOKENS_PER_LINE for record in records)


async def _linked(
    memory: AsyncMemory, records: Sequence[MemoryRecord]
) -> tuple[Mapping[str, int], Sequence[tuple[MemoryRecord, int]]]:
    """The links around records by type, and the memories with the most."""
    by_id = {record.id: record for record in records}
    links: set[Link] = set()
    for record in records:
        graph = await memory.links.graph(record.id, depth=1)
        links |= {*graph.links}
        by_id |= {r.id: r for r in graph.memories if r.expired_at is None and is_trusted(r.trust)}
    ends = Counter(end for link in links for end in (link.source, link.target) if end in by_id)
    return Counter(link.type for link in links), [(by_id[id_], n) for id_, n in ends.most_common(MOST_CENTRAL)]
