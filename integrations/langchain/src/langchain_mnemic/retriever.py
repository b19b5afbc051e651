"""MnemicRetriever: what is remembered, as documents."""

from __future__ import annotations

import json
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation

from langchain_mnemic.messages import KEPT
from mnemic import AsyncMemory, ConfigurationError, Hit, Memory, Mood, Recipe, ScopeSource, quoted
from mnemic.adapters import COMPARED, bound, checked_filters, checked_memory, hit_metadata, without_open_requests


def _document(hit: Hit) -> Document:
    """A hit as a document, quoted: documents go into prompts as they are."""
    flat = {name: _scalar(value) for name, value in hit_metadata(hit, lists=",".join).items() if name != KEPT}
    return Document(id=hit.id, page_content=quoted(hit), metadata=flat)


def _scalar(value: object) -> str | float | bool:
    return value if isinstance(value, (str, int, float, bool)) else json.dumps(value, ensure_ascii=False)


class MnemicRetriever(BaseRetriever):
    """Finds messages and memories that bear on a query.

    A document holds the verbatim text; that of what is not trusted says so first, and links to nothing. Its metadata is flat,
    as vector stores want it: the record's own (nested values as JSON text), ``score`` and ``relevance`` (0 to 1), ``kind``,
    ``session``, ``project``, ``speaker``, ``role``, ``source``, ``trust``, ``status``, ``type``, ``importance``, ``sent_at``,
    ``valid_at`` and, joined by commas, ``tags``, ``message_ids``, ``similar``, ``via`` (memories made from it that bear on the
    query) and ``superseded_by`` (those that replaced it). What a hit has not is left out.

    Filters and arguments of ``Memory.search`` may be given to each call too: ``retriever.invoke(query, k=3, since=...)``.

    Examples:
        >>> from mnemic import Memory
        >>> memory = Memory(":memory:", user="ana", embedder="hashing")
        >>> _ = memory.add_exchange("I moved to Lisbon.", "How do you like it?")
        >>> MnemicRetriever(memory=memory, k=1).invoke("Lisbon")[0].page_content
        'I moved to Lisbon.'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: SkipValidation[Memory]
    """The memory to search."""

    k: int = 10
    """At most how many documents, 1 to 10,000."""

    search_type: Literal["similarity", "similarity_score_threshold"] = "similarity"
    """``similarity_score_threshold`` leaves out what has a lower ``relevance`` than ``score_threshold``."""

    score_threshold: float | None = Field(default=None, ge=0, le=1)
    """The lowest relevance, 0 to 1: the probability that a document bears on the query."""

    min_evidence: Literal["strong", "weak", "none"] = "none"
    """With ``weak`` nothing is found where nothing bears on the query."""

    filters: dict[str, Any] = Field(default_factory=dict)
    """What may be found: fields of ``SearchFilters``."""

    recipe: SkipValidation[str | Recipe] = "conversation"
    """How hits are ranked; see ``Memory.search``."""

    mood: SkipValidation[Mood] = None
    """What to rank by beside relevance; see ``Memory.search``."""

    emotion_weight: float = 0.3
    """Of the mood, 0 to 1."""

    scope: SkipValidation[ScopeSource] = None
    """Whose memory: a value, or a function of the ``RunnableConfig`` such as
    ``lambda config: {"user": config["configurable"]["user_id"]}``. Never part of what a model may write."""

    _face: AsyncMemory = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the arguments.

        Raises:
            ConfigurationError: ``memory`` is not a ``Memory``, or another argument cannot be used.
        """
        super().model_post_init(context)
        checked_filters(Memory.search, self.filters, **self._arguments())
        if (self.search_type == "similarity_score_threshold") != (self.score_threshold is not None):
            raise ConfigurationError(
                'search_type="similarity_score_threshold" and score_threshold=, from 0 to 1, belong together.'
            )
        self._face = AsyncMemory.over(checked_memory(self.memory))

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("k", "min_evidence", "recipe", "mood", "emotion_weight")}

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents for a query; see ``BaseRetriever.invoke``. The scope is taken from ``config``."""
        return super().invoke(input, config, **kwargs, scope_config=ensure_config(config))

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents for a query; see ``BaseRetriever.ainvoke``. The scope is taken from ``config``."""
        return await super().ainvoke(input, config, **kwargs, scope_config=ensure_config(config))

    def _options(self, k: int | None, given: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in given.items() if name != "verbose"}  # read by BaseRetriever
        called = given if k is None else {**given, "k": k}
        if self.score_threshold is not None:
            called = {"min_relevance": self.score_threshold, **called}
        return {**self._arguments(), **self.filters, **called}

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        scope_config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        config = scope_config or ensure_config()
        handle, options = bound(self.memory, self.scope, config), self._options(k, kwargs)
        if session := _thread(config):
            said = handle.messages(session=session, limit=COMPARED)
            options = without_open_requests(options, said, current=True)
        return [_document(hit) for hit in handle.search(query, **options)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        scope_config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        config = scope_config or ensure_config()
        handle, options = bound(self._face, self.scope, config), self._options(k, kwargs)
        if session := _thread(config):
            said = await handle.messages(session=session, limit=COMPARED)
            options = without_open_requests(options, said, current=True)
        return [_document(hit) for hit in await handle.search(query, **options)]


def _thread(config: RunnableConfig) -> str | None:
    """The thread of the agent whose tool the retriever is, if it is one: what the user asks there is no evidence."""
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)
