"""The runtime behind every handle: the parts that all handles on one record share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from mnemic.errors import StoreError
from mnemic.protocols import Reranker, TokenCounter, VectorIndex
from mnemic.runtime.gate import SearchGate
from mnemic.runtime.indexer import Indexer
from mnemic.runtime.notices import Notices
from mnemic.runtime.scheduler import Scheduler, Triggers
from mnemic.runtime.settings import Settings
from mnemic.runtime.usage import Delivered, Uses
from mnemic.runtime.views import Views
from mnemic.safety.secrets import SecretPolicy
from mnemic.services.processes import process_lock
from mnemic.text.tokens import count_tokens

if TYPE_CHECKING:
    from mnemic.llm import LanguageModel
    from mnemic.stores import Store

PATIENCE = 1.0
"""Seconds that ``close`` waits for readers that still see erased rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Runtime:
    """The parts shared by the handles on one record; thread-safe.

    Attributes:
        store: the record, behind the wrapper that redacts secrets.
        fence: the random word that delimits recalled text in prompts, made with the record.
        indexer: makes index entries, with the embedder.
        views: the cached search view of each user.
        settings: of processing, consolidation, idle work and retention.
        secrets: the redaction policy.
        notices: warnings, each once.
        gate: the running searches, for which background work backs off.
        reranker: reorders the first hits, or None.
        llm: the language model, or None; closed with the runtime if it ``owns_llm``.
        index: the vector index for users with very many vectors; None compares all of them.
        discard: removes the files of a vector index no longer in use; whether none are left.
        tokenizer: see ``text.tokens.token_counter``; resolved at first use.
        uses: counts how often records were returned.
        delivered: ids returned by contexts in the current conversations.
        scheduler: the background thread; ``triggers``: the idle trigger of each user.
        processing: the lock held by ``process``.
    """

    store: Store
    fence: str
    indexer: Indexer
    views: Views
    settings: Settings
    secrets: SecretPolicy
    notices: Notices
    gate: SearchGate
    uses: Uses
    reranker: Reranker | None = None
    llm: LanguageModel | None = None
    owns_llm: bool = False
    index: VectorIndex | None = None
    discard: Callable[[], bool] = lambda: True
    tokenizer: str | TokenCounter | None = None
    delivered: Delivered = field(default_factory=Delivered)
    scheduler: Scheduler = field(default_factory=Scheduler)
    triggers: Triggers = field(default_factory=Triggers)
    processing: Lock = field(default_factory=process_lock)

    @property
    def count_tokens(self) -> TokenCounter:
        """The handle's tokenizer; its table is read when something is counted."""
        return partial(count_tokens, self.tokenizer)

    def erase_index(self) -> bool:
        """Remove erased records from the vector index; whether that is done."""
        return self.discard() if self.index is None else self.index.erase()

    def close(self) -> None:
        """Close the store, the index, the embedder and the language model."""
        self.triggers.stop()
        with suppress(StoreError):  # losing use counts must not prevent closing
            self.uses.save()
        if self.index is not None:
            self.index.close()
        with suppress(StoreError):  # an erasure blocked by a reader; else it is retried when the record is opened
            if self.store.erasure.unfinished():
                self.store.erasure.purge(patience=PATIENCE)
        self.store.close()
        for part in (self.indexer.embedder, self.llm if self.owns_llm else None):
            closer = getattr(part, "close", None)
            if callable(closer):
                closer()
