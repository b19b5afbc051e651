"""The runtime behind every handle: the parts that all handles on one record share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from mnemic.errors import StoreError
from mnemic.protocols import Reranker, TokenCounter, VectorIndex
from mnemic.runtime.gate import SearchGate
from mnemic.runtime.indexer import Indexer, Notices
from mnemic.runtime.scheduler import Scheduler, Triggers
from mnemic.runtime.settings import Settings
from mnemic.runtime.usage import Delivered, Uses
from mnemic.runtime.views import Views
from mnemic.safety.secrets import SecretPolicy
from mnemic.services.processes import process_lock
from mnemic.text.tokens import token_counter

if TYPE_CHECKING:
    from mnemic.llm import LanguageModel
    from mnemic.stores import Store

__all__ = ["Runtime"]

PATIENCE = 1.0
"""Seconds that closing waits for readers that still see erased rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Runtime:
    """What the handles on one record share; thread-safe.

    Attributes:
        store: the record, behind the guard that lets no secret through.
        fence: the word that fences recalled text in prompts, made with the record.
        indexer: what makes records findable, with the embedder.
        views: one user's records ready to search.
        settings: of processing, consolidation, idle work and retention.
        secrets: what is done with secrets.
        notices: warnings, each once.
        gate: who is searching, so that background work makes room.
        reranker: a second opinion on the first hits, or none.
        llm: the language model, or none; closed with the runtime where it ``owns_llm``.
        index: which vectors are near, for users with very many; none: all are compared.
        discard: removes what an index of earlier days left; whether nothing is left of one.
        tokenizer: see ``text.tokens.token_counter``; resolved at first use.
        uses: how often records were handed out.
        delivered: what contexts have handed out in the conversations under way.
        scheduler: the background thread; ``triggers``: the idle trigger of each user.
        processing: held while messages are made into knowledge.
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
        """The handle's tokenizer."""
        return token_counter(self.tokenizer)

    def erased(self) -> bool:
        """Leave nothing of erased records in an index; whether that is done."""
        return self.discard() if self.index is None else self.index.erase()

    def close(self) -> None:
        """Close the record and whatever the embedder holds open."""
        self.triggers.stop()
        with suppress(StoreError):  # uses are no reason not to close
            self.uses.save()
        if self.index is not None:
            self.index.close()
        with suppress(StoreError):  # an erasure that a reader was in the way of: else at the next opening
            if self.store.erasure.unfinished():
                self.store.erasure.purge(patience=PATIENCE)
        self.store.close()
        for part in (self.indexer.embedder, self.llm if self.owns_llm else None):
            closer = getattr(part, "close", None)
            if callable(closer):
                closer()
