"""MnemicRetriever: what is remembered, as nodes for query engines and chat engines with context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index.memory.mnemic._binding import bind
from mnemic import AsyncMemory, Hit, Memory, checked_options, quoted

__all__ = ["MnemicRetriever"]

FOR_THE_MODEL = ("speaker", "sent_at")
"""The metadata a model gets to read; the rest is for programs."""


class MnemicRetriever(BaseRetriever):
    """Searches a memory.

    The nodes carry the verbatim text (that of what is not trusted says so first, and links to nothing), the id of the
    record, and as metadata ``kind``, ``source``, ``trust``, ``session``, ``project``,
    ``speaker``, ``role``, ``sent_at``, ``valid_at``, ``status``, ``type``, ``importance``, ``tags``, ``message_ids``,
    ``similar``, ``via`` (memories made from it) and ``superseded_by`` (what replaced what it says) where the hit has them,
    beside the record's own metadata. A prompt shows ``speaker`` and
    ``sent_at`` only; none of it is embedded.

    Args:
        memory: an open ``Memory``, or the folder of one; left out, ``./memory`` of the ``user``, who must be named then.
        k: at most how many nodes.
        user: whose memory this is; ``None``: the handle's user.
        project: a level between user and session; ``None``: the handle's.
        options: with a folder: more arguments for ``Memory``, such as ``{"embedder": "hashing"}``.
        callback_manager: as for every retriever.
        **search_kwargs: more arguments for ``Memory.search``, such as ``kinds=["memory"]``.

    Raises:
        ConfigurationError: an argument cannot be used.
        StoreError: the record cannot be opened.
    """

    def __init__(
        self,
        memory: Memory | str | Path | None = None,
        *,
        k: int = 10,
        user: str | None = None,
        project: str | None = None,
        options: dict[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
        **search_kwargs: Any,
    ) -> None:
        self.k = k
        checked_options(Memory.search, search_kwargs, own={"k": k}, reserved=("query",))
        self._search_kwargs = search_kwargs
        self._bound = bind(memory, user=user, project=project, options=options)
        self._memory = self._bound.memory
        self._async_memory = AsyncMemory.over(self._memory)
        super().__init__(callback_manager=callback_manager)  # pyright: ignore[reportUnknownMemberType] - a bare Dict

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in self._memory.search(query_bundle.query_str, k=self.k, **self._search_kwargs)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = await self._async_memory.search(query_bundle.query_str, k=self.k, **self._search_kwargs)
        return [_node(hit) for hit in hits]


def _node(hit: Hit) -> NodeWithScore:
    """A hit as a node, harmless: nodes go into prompts as they are."""
    own: dict[str, Any] = {
        "kind": hit.kind,
        "source": hit.source,
        "trust": hit.trust,
        "session": hit.session,
        "project": hit.project,
        "speaker": hit.speaker and quoted(hit.speaker),
        "role": hit.role,
        "sent_at": hit.sent_at.isoformat() if hit.sent_at else None,
        "valid_at": hit.valid_at.isoformat() if hit.valid_at else None,
        "status": hit.status,
        "type": hit.type,
        "importance": hit.importance,
        "tags": [*hit.tags] or None,
        "message_ids": [*hit.message_ids] or None,
        "similar": [*hit.similar] or None,
        "via": [*hit.via] or None,
        "superseded_by": [*hit.superseded_by] or None,
    }
    metadata = {**hit.metadata, **{key: value for key, value in own.items() if value is not None}}
    node = TextNode(
        id_=hit.id,
        text=quoted(hit),
        metadata=metadata,
        excluded_llm_metadata_keys=[key for key in metadata if key not in FOR_THE_MODEL],
        excluded_embed_metadata_keys=[*metadata],
    )
    return NodeWithScore(node=node, score=hit.score)
