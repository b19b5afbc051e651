"""MnemicRetriever: what is remembered, as documents."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import Field, PrivateAttr, SkipValidation

from langchain_mnemic.binding import checked
from langchain_mnemic.messages import KEPT
from mnemic import (
    AsyncMemory,
    Hit,
    InvalidInput,
    Memory,
    ScopeSource,
    SearchResult,
    bound,
    checked_options,
    quoted,
)

__all__ = ["MnemicRetriever"]


def _document(hit: Hit) -> Document:
    """A hit as a document, harmless: documents go into prompts as they are."""
    return Document(
        id=hit.id,
        page_content=quoted(hit),
        metadata={
            "score": hit.score,
            "kind": hit.kind,
            "session": hit.session,
            "speaker": hit.speaker,
            "role": hit.role,
            "source": hit.source,
            "trust": hit.trust,
            "sent_at": hit.sent_at.isoformat() if hit.sent_at else None,
            "message_ids": list(hit.message_ids),
            **{name: list(ids) for name, ids in (("via", hit.via), ("superseded_by", hit.superseded_by)) if ids},
            "metadata": {name: value for name, value in hit.metadata.items() if name != KEPT},
        },
    )


def _documents(found: SearchResult) -> list[Document]:
    return [_document(hit) for hit in found]


class MnemicRetriever(BaseRetriever):
    """Finds messages and memories that bear on a query.

    A document holds the verbatim text; that of what is not trusted says so first, and links to nothing. Its metadata says
    where and when it was said, its ``source`` and ``trust``; ``via`` names memories made from it that bear on the query,
    ``superseded_by`` those that replaced what it says. Both are there only when a hit has them.

    Arguments of ``Memory.search`` may be given to each call too: ``retriever.invoke(query, k=3, since=...)``.

    Example:
        >>> from mnemic import Memory
        >>> memory = Memory(":memory:", user="ana", embedder="hashing")
        >>> _ = memory.add_exchange("I moved to Lisbon.", "How do you like it?")
        >>> MnemicRetriever(memory=memory, k=1).invoke("Lisbon")[0].page_content
        'I moved to Lisbon.'
    """

    memory: SkipValidation[Memory]
    """The memory to search."""

    k: int = 10
    """At most how many documents, 1 to 10,000."""

    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of ``Memory.search``."""

    scope: SkipValidation[ScopeSource] = None
    """Whose memory: a value, or a function of the ``RunnableConfig`` such as
    ``lambda config: {"user": config["configurable"]["user_id"]}``. Never part of what a model may write."""

    _face: AsyncMemory = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check what cannot be checked at each call without surprise.

        Raises:
            ConfigurationError: ``memory`` is not a ``Memory``, or ``Memory.search`` would not take ``k`` or
                ``search_kwargs``.
        """
        super().model_post_init(context)
        checked_options(Memory.search, self.search_kwargs, own={"k": self.k}, reserved=("query",), what="search_kwargs")
        self._face = AsyncMemory.over(checked(self.memory))

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents for a query; see ``BaseRetriever.invoke``. The scope is taken from ``config``."""
        return super().invoke(input, config, **kwargs, scope_config=ensure_config(config))

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents for a query; see ``BaseRetriever.ainvoke``. The scope is taken from ``config``."""
        return await super().ainvoke(input, config, **kwargs, scope_config=ensure_config(config))

    def _options(self, k: int | None, given: dict[str, Any]) -> dict[str, Any]:
        given.pop("verbose", None)  # BaseRetriever reads it from the same arguments
        return checked_options(
            Memory.search, {**self.search_kwargs, **given}, own={"k": self.k if k is None else k}, reserved=("query",),
            what="The retriever was called with", error=InvalidInput,
        )  # fmt: skip

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        scope_config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        handle = bound(self.memory, self.scope, scope_config or ensure_config())
        return _documents(handle.search(query, **self._options(k, kwargs)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        scope_config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        handle = bound(self._face, self.scope, scope_config or ensure_config())
        return _documents(await handle.search(query, **self._options(k, kwargs)))
