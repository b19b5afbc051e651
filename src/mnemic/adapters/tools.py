"""The tools with which a model remembers, recalls, corrects and forgets: the same work and answers in every framework.

Whose memory it is, the program decides: give a handle that is bound to the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from mnemic.adapters.binding import checked_options
from mnemic.adapters.conversations import COMPARED, open_requests, turn_ids
from mnemic.adapters.threads import Thread
from mnemic.aio import AsyncMemory
from mnemic.errors import InvalidInput
from mnemic.memory import Memory
from mnemic.recall.context.assembly import asks_for_profile
from mnemic.recall.context.packing import quoted, quoted_speaker, shortened
from mnemic.text.markup import unlinked, unverified
from mnemic.types import Evidence, Hit, Mood, Receipt, Record
from mnemic.types.records import is_trusted

MAX_TEXT = 2_000
"""Characters of a hit that a model is shown."""

Sourced: TypeAlias = Hit | Record
"""What has a source and a trust."""

USUAL, HIT_TOKENS = 10, 100
"""Hits of a profile, and tokens of each."""

_WORD = re.compile(r"[\w-]+")
_FIELDS = (
    {"evidence", "results"}, {"evidence", "found"}, {"text", "token_count", "truncated"}, {"memories", "more"},
    {"memories", "links"},
)  # fmt: skip
"""The fields of answers of tools that look something up, here and in the MCP server."""


async def remember(memory: AsyncMemory, content: str, **options: Any) -> str:
    """Remember a statement as the model's inference; returns what became of it.

    Args:
        memory: bound to the user.
        content: the statement.
        **options: other arguments of ``Memory.remember``.

    Raises:
        InvalidInput: it was not remembered.
    """
    receipt = await memory.remember(content, source="model_inference", **options)
    if receipt.outcome == "rejected":
        raise InvalidInput(f"Not remembered: {quoted_reason(receipt)}")
    words = {"duplicate": "Known already", "superseded": "Remembered, in place of an earlier statement"}
    return f"{words.get(receipt.outcome, 'Remembered')} (id {quoted_id(receipt.id)})."


async def find(memory: AsyncMemory, query: str, **options: Any) -> tuple[Evidence, Sequence[Hit]]:
    """The evidence and the hits of a search; of the profile, where a question is about the user as a whole.

    Args:
        memory: bound to the user.
        query: what is asked ("What do you know about me?" is answered by the profile).
        **options: other arguments of ``Memory.search``.
    """
    if not asks_for_profile(query):
        result = await memory.search(query, **options)
        return result.evidence, result
    most, _ = options.pop("k", USUAL), options.pop("expand_links", None)
    context = await memory.get_memory_context(query, max_tokens=most * HIT_TOKENS, **options)
    return context.evidence, context.hits[:most]


class Search:
    """The tool ``recall`` of an adapter, with what the program fixed.

    Args:
        max_results: most results, whatever the model asks for.
        mood: what to rank by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.

    Raises:
        ConfigurationError: an argument cannot be used.
    """

    def __init__(self, *, max_results: int = 50, mood: Mood = None, emotion_weight: float = 0.3) -> None:
        checked_options(Memory.search, {}, own={"k": max_results}, what="max_results")
        self._ranked = checked_options(Memory.search, {}, own={"mood": mood, "emotion_weight": emotion_weight})
        self._most = max_results

    async def __call__(self, memory: AsyncMemory, query: str, limit: int = 8, **options: Any) -> dict[str, Any]:
        """What ``find`` finds, as JSON values, quoted and without empty fields."""
        return _answer(query, *await self.find(memory, query, limit, **options))

    async def text(self, memory: AsyncMemory, query: str, limit: int = 8, **options: Any) -> str:
        """The same in JSON, for a framework whose tools answer with a text."""
        return json.dumps(await self(memory, query, limit, **options), ensure_ascii=False)

    async def find(
        self,
        memory: AsyncMemory,
        query: str,
        limit: int,
        *,
        thread: Thread | None = None,
        exclude: str | Sequence[str] | None = (),
        **options: Any,
    ) -> tuple[Evidence, Sequence[Hit]]:
        """The evidence and the hits of a call by a model, without what the user says in the turn that it answers.

        A model asks in words of its own, and its own question, repeated, would be the best evidence there is.

        Args:
            memory: bound to the user.
            query: what is asked.
            limit: at most so many hits.
            thread: the conversation so far; only its last turn is left out, because a model looks up the ids of earlier ones.
            exclude: ids of the turn's messages, for a framework that shows its tools no messages; None leaves out the
                questions without an answer.
            **options: other arguments of ``Memory.search``.
        """
        given = open_requests(await memory.messages(limit=COMPARED)) if exclude is None else exclude
        left_out = [given] if isinstance(given, str) else [*given]
        left_out += await turn_ids(memory, thread) if thread else ()
        return await find(memory, query, k=min(limit, self._most), exclude=left_out, **self._ranked, **options)


async def correct(memory: AsyncMemory, wrong: str, statement: str, *, dry_run: bool = False) -> str:
    """Replace what is wrong with a statement; returns what was replaced, or would be, and what was kept, a line each.

    Args:
        memory: bound to the user.
        wrong: the id of a memory or message, or a description.
        statement: what is true.
        dry_run: change nothing.
    """
    first, *near = await memory.correct(wrong, statement, dry_run=dry_run, source="model_inference")
    lines = [f"{quoted_id(receipt.id)}: {quoted_reason(receipt)}" for receipt in near]
    if not first.changed:
        return "\n".join([f"Nothing was corrected: {quoted_reason(first)}", *lines])
    heading = "It" if dry_run else f"Corrected (id {quoted_id(first.id)}):"
    return "\n".join([f"{heading} {quoted_reason(first)}", *lines])


async def forget(
    memory: AsyncMemory, description: str | None = None, ids: Sequence[str] | None = None, *, dry_run: bool = False
) -> str:
    """Archive memories by description or ids; returns what was forgotten, or would be, and what was kept, a line each."""
    receipts = await memory.forget(description, ids=ids or None, dry_run=dry_run, reason="asked for in a conversation")
    lines = [f"{quoted_id(receipt.id)}: {_fate(receipt, dry_run=dry_run)}" for receipt in receipts]
    return "\n".join(lines) or "Nothing was found that matches this."


def _fate(receipt: Receipt, *, dry_run: bool) -> str:
    if not receipt.changed:
        return quoted_reason(receipt) or receipt.outcome
    return f"would be forgotten: {quoted_reason(receipt)}" if dry_run else "forgotten"


def _answer(query: str, evidence: Evidence, hits: Sequence[Hit]) -> dict[str, Any]:
    return {"evidence": evidence, "results": [fields(hit) for hit in shown(hits, query)]}


def shown(hits: Sequence[Hit], query: str, most: int = MAX_TEXT) -> list[Hit]:
    """The hits as a model is shown them: of a text of more than ``most`` characters, the passages that bear on the query."""
    return shortened(hits, query, most)


def fields(hit: Hit) -> dict[str, Any]:
    """A hit as JSON values, quoted and without empty fields."""
    moment = hit.valid_at or hit.sent_at
    values = {
        "id": quoted_id(hit.id, hit), "text": quoted(hit), "speaker": quoted_speaker(hit),
        "said": moment and moment.isoformat(timespec="minutes"),
        "tags": [quoted_word(tag, hit) for tag in hit.tags], "superseded_by": [*map(quoted_id, hit.superseded_by)],
        "ended": hit.ended,
    }  # fmt: skip
    return {name: value for name, value in values.items() if value}


def quoted_text(text: str, of: Sourced) -> str:
    """A text of a record, made safe for prompts; that of an untrusted record is marked, and its links are broken."""
    safe = quoted(text)
    return safe if not safe or is_trusted(of.trust) else unverified(safe, of.source or "direct_user")


def quoted_word(text: str, of: Sourced) -> str:
    """A tag or another name in a record, as ``quoted_text`` shows it; a single word needs no mark."""
    return quoted(text) if _WORD.fullmatch(text) else quoted_text(text, of)


def quoted_id(id: str, of: Sourced | None = None) -> str:
    """The id of a record, made safe for prompts; one of several words is marked if the record is not trusted."""
    return " ".join(unlinked(quoted(id) if of is None or len(id.split()) < 2 else quoted_text(id, of)).split())


def quoted_reason(receipt: Receipt) -> str:
    """The reason of a receipt on one line, safe for prompts: it may quote several records, so all links are broken."""
    return " ".join(unlinked(quoted(receipt.reason)).split())


def is_search_answer(text: str) -> bool:
    """Whether a tool's result is what a memory tool found, here or behind a server: it is in the record already.

    Known by its fields, because servers are free to name their tools.
    """
    text = text.strip()
    if not text.startswith("{") or not any(f'"{word}"' in text for word in ("evidence", "memories", "token_count")):
        return False
    try:
        answer: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        return False
    lists = [answer[name] for name in ("results", "found", "memories") if name in answer]
    return any(fields <= answer.keys() for fields in _FIELDS) and all(map(_are_hits, lists))


def _are_hits(listed: object) -> bool:
    lines = cast("list[object]", listed) if isinstance(listed, list) else [None]
    return all(isinstance(line, dict) and "id" in line and ("text" in line or "content" in line) for line in lines)
