"""The runtime behind every handle: the parts that all handles on one record share.

Among them the gate: searches take turns, and background work backs off while one runs. And the usage of records: the ids
delivered in current conversations, and use counts.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from mnemic.errors import StoreError, StoreReadOnly
from mnemic.indexes.vector.chroma.index import discard
from mnemic.protocols import Reranker, TokenCounter
from mnemic.runtime.indexer import Indexer, unwrap_store
from mnemic.runtime.notices import Notices
from mnemic.runtime.scheduler import IndexUpdater, Scheduler, Triggers
from mnemic.runtime.settings import Settings
from mnemic.runtime.views import Views
from mnemic.secrets.policy import SecretPolicy
from mnemic.services.processes import process_lock, renew_in_child
from mnemic.stores import SqliteStore
from mnemic.text.tokens import count_tokens
from mnemic.text.values import now, to_micros
from mnemic.types import Scope, Touch

if TYPE_CHECKING:
    from mnemic.llm import LanguageModel
    from mnemic.stores import Store

SLICE = 0.0005
"""Seconds of background work between two checks for searches."""
REST_RATIO = 6.0
"""Length of a pause while searches run, as a multiple of the time just worked."""
LONGEST_REST = 0.1
"""Longest pause in seconds, and longest wait for running searches."""


class SearchGate:
    """The running searches of this process; thread-safe.

    A search computes in many short steps, and concurrent threads contend for the interpreter after each of them: 128
    searches take a third less time one after the other.

    Args:
        in_turns: one search computes at a time; off where searches wait for a server.
    """

    def __init__(self, *, in_turns: bool = True) -> None:
        self._in_turns = in_turns
        self.started: int = 0
        self._renew()
        renew_in_child(self, SearchGate._renew)

    def _renew(self) -> None:
        """Reset; also called in a forked child."""
        self._last = threading.Lock()
        self._gate = threading.Lock()
        self._changed = threading.Condition(self._gate)
        self._under_way = 0

    @contextmanager
    def search(self) -> Generator[None]:
        """Register a search while the block runs."""
        with self._gate:
            self._under_way += 1
            self.started += 1
        try:
            yield
        finally:
            with self._gate:
                self._under_way -= 1
                if not self._under_way:
                    self._changed.notify_all()

    @contextmanager
    def turn(self) -> Generator[None]:
        """Exclusive time to compute, first come first served, which a plain lock does not guarantee.

        Each search waits
        for the lock of the one before it, which is released however that one ends. An interrupt can let two compute at
        once, which is only slower, but cannot deadlock the others.
        """
        if not self._in_turns:
            yield
            return
        turn = threading.Lock()
        with turn:
            with self._gate:
                previous, self._last = self._last, turn
            with previous:
                pass
            yield

    @property
    def busy(self) -> bool:
        """Whether a search is running."""
        return self._under_way > 0

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no search is running, at most this long."""
        with self._gate:
            self._changed.wait_for(lambda: not self._under_way, seconds)


class Throttle:
    """Slows a background task down while searches run; call it between steps. It never waits without searches."""

    def __init__(self, gate: SearchGate) -> None:
        self._gate = gate
        self._searches: int = gate.started
        self._start = time.thread_time()

    def __call__(self) -> None:
        """Pause if a search ran during the last slice of work."""
        worked = time.thread_time() - self._start
        if worked < SLICE:
            return
        if self._gate.busy or self._gate.started != self._searches:
            time.sleep(min(REST_RATIO * worked, LONGEST_REST))
            self._gate.wait_until_idle(LONGEST_REST)
            self._searches = self._gate.started
        self._start = time.thread_time()


SESSIONS, RECORDS = 256, 1_000
"""Most recent conversations kept, and records of each."""


class Delivered:
    """Ids of delivered records by conversation; thread-safe."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._ids: OrderedDict[Scope, OrderedDict[str, None]] = OrderedDict()

    def note(self, scope: Scope, ids: Iterable[str]) -> None:
        """Note delivered records; ignored outside a conversation."""
        if scope.session is None:
            return
        with self._lock:
            delivered = self._ids.setdefault(scope, OrderedDict())
            self._ids.move_to_end(scope)
            delivered.update(dict.fromkeys(ids))
            while len(delivered) > RECORDS:
                delivered.popitem(last=False)
            while len(self._ids) > SESSIONS:
                self._ids.popitem(last=False)

    def of(self, scope: Scope) -> tuple[str, ...]:
        """The ids delivered in a conversation, oldest first."""
        with self._lock:
            return tuple(self._ids.get(scope, ()))

    def forget(self, scope: Scope) -> None:
        """Drop a conversation that ended."""
        with self._lock:
            self._ids.pop(scope, None)


MAX_BUFFERED = 4_096
"""Counts buffered in memory before they are written."""


_UNCOUNTED: ContextVar[bool] = ContextVar("uncounted", default=False)


@contextmanager
def uncounted() -> Generator[None]:
    """Within the block what is found counts as no use: somebody looks at the memory, and no answer is made of it."""
    token = _UNCOUNTED.set(True)
    try:
        yield
    finally:
        _UNCOUNTED.reset(token)


def is_counted() -> bool:
    """Whether what is found now counts as a use."""
    return not _UNCOUNTED.get()


class Uses:
    """Buffered use counts by user and doc; thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = process_lock()
        self._counts: Counter[tuple[str, int]] = Counter()
        renew_in_child(self, Uses._renew)

    def _renew(self) -> None:
        """Start from zero in a forked child: the parent writes its own counts."""
        self._counts = Counter()

    def note(self, user: str, docs: Iterable[int]) -> None:
        """Count one use of each record."""
        if not is_counted():
            return
        with self._lock:
            self._counts.update((user, doc) for doc in docs)
            full = len(self._counts) > MAX_BUFFERED
        if full:
            self.save()

    def save(self, user: str | None = None) -> None:
        """Write the buffered counts of one user or of all; a read-only record drops them.

        Raises:
            StoreError: the record cannot be written; the counts stay buffered.
        """
        with self._lock:
            counts = {key: count for key, count in self._counts.items() if user in (None, key[0])}
            self._counts = Counter({key: count for key, count in self._counts.items() if key not in counts})
        moment = to_micros(now())
        for owner in dict.fromkeys(owner for owner, _ in counts):
            uses = {doc: count for (name, doc), count in counts.items() if name == owner}
            try:
                with suppress(StoreReadOnly):
                    self._store.apply(owner, [Touch(uses=uses, at=moment)])
            except StoreError:
                with self._lock:
                    self._counts.update({(owner, doc): count for doc, count in uses.items()})
                raise

    def settle(self, user: str) -> None:
        """Write the buffered counts of a user before they are read, if the record can be written."""
        with suppress(StoreError):
            self.save(user)


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
        updater: keeps the vector index that is derived from the record up to date; None without such an index.
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
    updater: IndexUpdater | None = None
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
        if self.updater is None:
            return self.discard_index()
        with suppress(StoreError):
            return self.updater.index.erase()
        return False

    def discard_index(self) -> bool:
        """Remove the files of a vector index beside a record that is searched without one; whether none are left."""
        store = unwrap_store(self.store)
        return not isinstance(store, SqliteStore) or discard(store.feed().folder)

    def close(self) -> None:
        """Close the store, the index, the embedder and the language model."""
        self.triggers.stop()
        with suppress(StoreError):  # losing use counts must not prevent closing
            self.uses.save()
        if self.updater is not None:
            self.updater.close()
        with suppress(StoreError):  # an erasure blocked by a reader; else it is retried when the record is opened
            if self.store.erasure.unfinished():
                self.store.erasure.purge(patience=PATIENCE)
        self.store.close()
        for part in (self.indexer.embedder, self.llm if self.owns_llm else None):
            closer = getattr(part, "close", None)
            if callable(closer):
                closer()
