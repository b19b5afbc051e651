"""MnemicRetriever: what is remembered, as nodes for query engines and chat engines with context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from mnemic import AsyncMemory, Hit, Memory, Message, Mood, Recipe, Scope, quoted
from mnemic.adapters import COMPARED, bind, checked_filters, checked_options, hit_metadata, without_open_requests

FOR_THE_MODEL = ("speaker", "sent_at")
"""The metadata a model gets to read; the rest is for programs."""


class MnemicRetriever(BaseRetriever):
    """Searches a memory.

    The nodes carry the verbatim text (that of what is not trusted says so first, and links to nothing), the id of the
    record, and as metadata ``kind``, ``source``, ``trust``, ``session``, ``project``,
    ``speaker``, ``role``, ``sent_at``, ``valid_at``, ``status``, ``type``, ``importance``, ``tags``, ``message_ids``,
    ``similar``, ``via`` (memories made from it) and ``superseded_by`` (what replaced it) where the hit has them, beside the
    record's own metadata. A prompt shows ``speaker`` and ``sent_at`` only; none of it is embedded.

    Args:
        memory: an open ``Memory``, or the folder of one; left out, ``./memory`` of the scope's user, who must be named then.
        similarity_top_k: at most how many nodes.
        scope: whose memory; names it leaves out are those of ``memory``.
        min_evidence: with ``weak`` nothing is found where nothing bears on the query.
        filters: what may be found: fields of ``SearchFilters``, such as ``{"kinds": ["memory"]}``.
        recipe: how hits are ranked; see ``Memory.search``.
        mood: what to rank by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.
        options: with a folder: more arguments for ``Memory``, such as ``{"embedder": "hashing"}``.
        callback_manager: as for every retriever.

    Raises:
        ConfigurationError: an argument cannot be used.
        StoreError: the record cannot be opened.
    """

    def __init__(
        self,
        memory: Memory | str | Path | None = None,
        *,
        similarity_top_k: int = 10,
        scope: Scope | Mapping[str, str] | None = None,
        min_evidence: Literal["strong", "weak", "none"] = "none",
        filters: Mapping[str, Any] | None = None,
        recipe: str | Recipe = "conversation",
        mood: Mood = None,
        emotion_weight: float = 0.3,
        options: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        checked_options(Memory.search, {}, own={"k": similarity_top_k}, what="similarity_top_k")
        self._arguments = checked_filters(
            Memory.search, filters, min_evidence=min_evidence, recipe=recipe, mood=mood, emotion_weight=emotion_weight
        )
        self.similarity_top_k = similarity_top_k
        bound = bind(memory, scope, options=options)
        self._memory, self._root, self._face = bound.memory, bound.root, AsyncMemory.over(bound.memory)
        super().__init__(callback_manager=callback_manager)  # pyright: ignore[reportUnknownMemberType] - a bare Dict

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = self._options(self._memory.messages(limit=COMPARED))
        return [_node(hit) for hit in self._memory.search(query_bundle.query_str, **options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = self._options(await self._face.messages(limit=COMPARED))
        return [_node(hit) for hit in await self._face.search(query_bundle.query_str, **options)]

    def _options(self, last: Sequence[Message]) -> dict[str, Any]:
        """The arguments of a search; what a user asks for at the end of a conversation is no evidence for the answer."""
        return {**without_open_requests(self._arguments, last), "k": self.similarity_top_k}


def _node(hit: Hit) -> NodeWithScore:
    """A hit as a node, quoted: nodes go into prompts as they are."""
    metadata = {name: value for name, value in hit_metadata(hit).items() if name != "score"}
    node = TextNode(
        id_=hit.id,
        text=quoted(hit),
        metadata=metadata,
        excluded_llm_metadata_keys=[name for name in metadata if name not in FOR_THE_MODEL],
        excluded_embed_metadata_keys=[*metadata],
    )
    return NodeWithScore(node=node, score=hit.score)
