"""MnemicStore: the key-value store of LangGraph, in one file beside the record."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from langchain_mnemic.store import rows
from langchain_mnemic.store.embedding import Index, MnemicIndex, Vectorised, index_of
from langchain_mnemic.store.file import IN_MEMORY, Db, File, now
from langchain_mnemic.store.matching import checked_filter, fits, namespace_of, passes, path_of, span
from langchain_mnemic.store.ranking import blended, cosines, terms, word_scores
from mnemic import ConfigurationError, Erasure, InvalidInput, Memory, Purge, SecretPolicy

__all__ = ["MnemicStore"]

FILE = "langgraph.sqlite"
BATCH = 256
AT_ONCE = 8 * 1024 * 1024
"""Bytes up to which a file is rewritten at every deletion; a larger one when it is closed, or by ``erase``."""


@dataclass(frozen=True, slots=True)
class _Put:
    path: str
    key: str
    value: str | None
    ttl: float | None
    texts: list[str]


@dataclass(slots=True)
class _Plan:
    """A batch, checked: the reads by their place, and of each item the last write."""

    reads: dict[int, tuple[GetOp | SearchOp | ListNamespacesOp, str]] = field(default_factory=dict[int, Any])
    puts: dict[tuple[str, str], _Put] = field(default_factory=dict[tuple[str, str], _Put])
    size: int = 0

    @property
    def texts(self) -> list[str]:
        return [*dict.fromkeys(text for put in self.puts.values() for text in put.texts)]

    @property
    def questions(self) -> list[str]:
        asked = (op.query for op, _ in self.reads.values() if isinstance(op, SearchOp))
        return [*dict.fromkeys(query for query in asked if query)]


class MnemicStore(BaseStore):
    """LangGraph's long-term store, for ``compile(store=...)`` and ``create_agent(store=...)``: items under namespaces.

    It keeps a file of its own, ``langgraph.sqlite``, in the folder of the memory: items are overwritten, deleted and expire,
    which the record of a ``Memory`` never lets happen to evidence. Namespaces are not users of Mnemic; whoever has the store
    has all of it, and a program sets the user apart by the namespace it passes.

    What is deleted leaves no byte in the file: a file of up to 8 MB is rewritten before ``delete`` returns (10 to 20 ms for
    each MB), a larger one by ``erase``, and when it is closed; what was overwritten or has expired, when it is closed. A
    ``Memory`` does not know whose the items are: erasing a user there leaves them, and ``erase`` is for them.

    A batch is stored whole or not at all, and when a call returns, it is on disk. Reads of a batch see what was there
    before it. Several threads and processes may use one file. ``search`` with a query ranks by meaning, and lifts what
    shares words with the query; items without a text to search by come last, without a score.

    Args:
        location: a folder, made when missing; an open ``Memory``, whose folder is taken; or ``":memory:"`` for a store that
            is gone when closed. A ``Memory`` in PostgreSQL has no folder: name one.
        index: ``"local"`` for Mnemic's model on this machine; LangGraph's ``IndexConfig``; None for words only.
        ttl: as for LangGraph's other stores: ``default_ttl`` in minutes and ``refresh_on_read``. What has expired is never
            returned, and is removed with the next write or by ``sweep_ttl``: there is no sweeper to start.
        words: how far shared words lift a score towards 1, 0 to 1; 0 ranks by vectors alone.
        secrets: what is done with keys, passwords and the like in values, before anything is stored or embedded: as for
            ``Memory``. ``"allow"`` gives every value back as it was put.

    Raises:
        ConfigurationError: an argument is not understood.
        StoreError: the file cannot be opened, is damaged, or was written by a newer version.

    Example:
        >>> store = MnemicStore(":memory:", index=None)
        >>> store.put(("ana", "notes"), "tea", {"text": "Ana drinks green tea"})
        >>> store.search(("ana",), query="green tea")[0].key
        'tea'
    """

    supports_ttl = True

    def __init__(
        self,
        location: str | Path | Memory = "./memory",
        *,
        index: MnemicIndex | Mapping[str, Any] | Literal["local"] | None = "local",
        ttl: TTLConfig | None = None,
        words: float = 0.3,
        secrets: SecretPolicy | Literal["redact", "allow", "refuse"] = "redact",
    ) -> None:
        if not 0 <= words <= 1:
            raise ConfigurationError(f"words must be between 0 and 1, not {words!r:.40}.")
        self.ttl_config = ttl
        self.index_config = dict(index) if isinstance(index, Mapping) else None
        self._index: Index = index_of(index)
        self.embeddings = self._index.embeddings
        self._words = words
        self._secrets = secrets if isinstance(secrets, SecretPolicy) else SecretPolicy(action=secrets)
        self._file = File(_file(location))

    # What LangGraph calls; get, put, search and the others are inherited and come through here

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations; see ``BaseStore.batch``.

        Raises:
            InvalidInput: an operation cannot be used; then none of them was executed.
            ConfigurationError: the file holds vectors of another model.
            StoreError: the disk or the file refuses.
        """
        plan = self._planned(ops)
        return self._executed(plan, self._index.vectors(plan.texts, plan.questions))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations, off the event loop; see ``batch``."""
        plan = self._planned(ops)
        vectors = await self._index.avectors(plan.texts, plan.questions)
        return await asyncio.to_thread(self._executed, plan, vectors)

    # Keeping

    def erase(self, namespace_prefix: tuple[str, ...], key: str | None = None) -> Erasure:
        """Remove what is under a namespace for good, or one item of it, and leave no byte of it in the file.

        Args:
            namespace_prefix: everything under it goes, expired items too; ``()`` stands for all there is.
            key: of one item, which is directly in this namespace.

        Returns:
            How many items and texts went; ``clean`` says whether their bytes are gone. Where a reader of another process is
            in the way, ``purge.pending`` tells so, and the bytes go when the store is closed.

        Raises:
            InvalidInput: the namespace or the key cannot be one; nothing was removed.
            StoreError: the disk or the file refuses.
        """
        path = path_of(namespace_prefix)
        within = span(path) if key is None else (path, path)
        with self._file.transaction() as db:
            counts = rows.erase(db, within, None if key is None else _checked_key(key))
        return Erasure(counts=counts, purge=Purge(pending=self._file.purge()))

    async def aerase(self, namespace_prefix: tuple[str, ...], key: str | None = None) -> Erasure:
        """See ``erase``."""
        return await asyncio.to_thread(self.erase, namespace_prefix, key)

    def sweep_ttl(self) -> int:
        """Remove what has expired; returns how many items."""
        with self._file.transaction() as db:
            return rows.sweep(db, now())

    def reindex(self) -> int:
        """Make every vector anew, with the model of this object: after a change of the model, or when it could not be had.

        Returns:
            How many vectors were made.

        Raises:
            ConfigurationError: this object has no model.
            EmbedderError: the model cannot be had; then nothing is changed.
        """
        if self._index.embeddings is None:
            raise ConfigurationError("This store was opened with index=None: open it with a model to make vectors.")
        with self._file.transaction(write=False) as db:
            held = rows.all_texts(db)
        made: list[tuple[bytes, int, str]] = []
        dimension = 0
        for at in range(0, len(held), BATCH):
            some = held[at : at + BATCH]
            vectors = self._index.documents([text for _, text in some])
            made += [(vector.tobytes(), id_, text) for (id_, text), vector in zip(some, vectors, strict=True)]
            dimension = len(vectors[0])
        with self._file.transaction() as db:
            rows.put_vectors(db, made)
            if made:
                rows.note(db, model=self._index.name, dimension=str(dimension))
        return len(made)

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> MnemicStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Inside

    def _planned(self, ops: Iterable[Op]) -> _Plan:
        plan = _Plan()
        for place, op in enumerate(ops):
            plan.size = place + 1
            match op:
                case PutOp():
                    put = self._put(op)
                    plan.puts[(put.path, put.key)] = put
                case GetOp():
                    plan.reads[place] = op, path_of(op.namespace)
                case SearchOp():
                    checked_filter(op.filter)
                    _check_query(op.query)
                    _check_page(op.limit, op.offset)
                    asked = op if op.query is None else op._replace(query=self._secrets.redacted(op.query)[0])
                    plan.reads[place] = asked, path_of(op.namespace_prefix)
                case ListNamespacesOp():
                    _check_page(op.limit, op.offset, op.max_depth)
                    for condition in op.match_conditions or ():
                        path_of(condition.path)
                    plan.reads[place] = op, ""
                case _:  # pyright: ignore[reportUnnecessaryComparison] - callers are not all typed
                    raise InvalidInput(f"Unknown operation type: {type(op).__name__}.")
        return plan

    def _put(self, op: PutOp) -> _Put:
        path, key = path_of(op.namespace), _checked_key(op.key)
        if op.value is None:
            return _Put(path, key, None, None, [])
        if op.ttl is not None and not (isinstance(op.ttl, (int, float)) and 0 < op.ttl < 1e9):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"ttl is a number of minutes above 0, not {op.ttl!r:.40}.")
        paths = () if op.index is None or op.index is False else op.index
        if not isinstance(paths, (list, tuple)) or not all(isinstance(at, str) for at in paths):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"index is False or a list of paths to the texts of the value, not {op.index!r:.40}.")
        if kinds := [kind for name in (*op.namespace, key) for kind in self._secrets.in_name(name)]:
            raise InvalidInput(
                f"The namespace or the key is a secret ({', '.join(kinds)}), and names are stored as they are. Give another."
            )
        try:
            given: dict[str, Any] = json.loads(json.dumps({**op.value}))
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"The value of {op.key!r:.80} cannot be kept as JSON: {error}.") from error
        clean, kinds = self._secrets.within(given)
        if kinds and self._secrets.action == "refuse":
            raise InvalidInput(
                f"The value of {op.key!r:.80} holds a secret ({', '.join(kinds)}), and the policy refuses these: nothing was "
                "stored."
            )
        value = json.dumps(clean)
        return _Put(path, key, value, op.ttl, self._index.texts_of(clean, op.index))

    def _executed(self, plan: _Plan, vectors: Vectorised) -> list[Result]:
        results: list[Result] = [None] * plan.size
        touched: list[int] = []
        at = now()
        if plan.reads:
            with self._file.transaction(write=False) as db:
                for place, (op, path) in plan.reads.items():
                    results[place] = self._read(db, op, path, vectors, at, touched)
        if plan.puts or touched:
            with self._file.transaction() as db:
                rows.refresh(db, touched, at)
                rows.sweep(db, at)
                if plan.texts:
                    self._check_model(db, vectors)
                deleted = [self._write(db, put, vectors, at) for put in plan.puts.values()]
            if any(deleted) and self._file.size() <= AT_ONCE:
                self._file.purge()
        return results

    def _write(self, db: Db, put: _Put, vectors: Vectorised, at: int) -> bool:
        """Whether an item was deleted."""
        if put.value is None:
            return rows.delete(db, put.path, put.key)
        item = rows.put(db, put.path, put.key, put.value, at, put.ttl)
        for text in put.texts:
            vector = vectors.texts.get(text)
            rows.put_text(db, item, text, Counter(terms(text)), None if vector is None else vector.tobytes())
        return False

    def _check_model(self, db: Db, vectors: Vectorised) -> None:
        """Vectors of two models never stand beside each other."""
        made = next(iter([*vectors.texts.values(), *vectors.questions.values()]), None)
        if made is None:
            return
        mine, noted = {"model": self._index.name, "dimension": str(len(made))}, rows.header(db)
        if not noted and vectors.texts:
            rows.note(db, **mine)
        elif noted and noted != mine:
            raise ConfigurationError(
                f"The store {self._file.file} holds vectors of {noted['model']} with {noted['dimension']} numbers, this one "
                f"makes those of {mine['model']} with {mine['dimension']}. Open it with that model, or call reindex()."
            )

    def _read(
        self,
        db: Db,
        op: GetOp | SearchOp | ListNamespacesOp,
        path: str,
        vectors: Vectorised,
        at: int,
        touched: list[int],
    ) -> Result:
        if isinstance(op, ListNamespacesOp):
            return _listed(rows.paths(db, at), op)
        if isinstance(op, GetOp):
            row = rows.item(db, path, _checked_key(op.key), at)
            found = [] if row is None else [(row, None)]
        else:
            found = self._found(db, op, path, vectors, at)
        if op.refresh_ttl:
            touched += [row[0] for row, _ in found if row[6] is not None]
        if isinstance(op, SearchOp):
            return [SearchItem(**_fields(row), score=score) for row, score in found]
        return Item(**_fields(found[0][0])) if found else None

    def _found(
        self, db: Db, op: SearchOp, path: str, vectors: Vectorised, at: int
    ) -> list[tuple[tuple[Any, ...], float | None]]:
        """The rows of one page, each with its score."""
        within = span(path)
        if not op.query and not op.filter:
            return [(row, None) for row in rows.items(db, within, at, limit=op.limit, offset=op.offset)]
        ids = self._allowed(db, op, within, at)
        scores = self._scores(db, op.query, within, {*ids}, vectors, at) if op.query else {}
        ranked = sorted((id_ for id_ in ids if id_ in scores), key=lambda id_: -scores[id_])
        page = [*ranked, *(id_ for id_ in ids if id_ not in scores)][op.offset : op.offset + op.limit]
        found = rows.items_by_id(db, page)
        return [(found[id_], scores.get(id_)) for id_ in page]

    def _allowed(self, db: Db, op: SearchOp, within: tuple[str, str], at: int) -> list[int]:
        """The ids of what the filter lets pass."""
        if not op.filter:
            return rows.item_ids(db, within, at)
        enough = None if op.query else op.offset + op.limit
        found: list[int] = []
        for row in rows.items(db, within, at):
            if len(found) == enough:
                break
            if passes(json.loads(row[3]), op.filter):
                found.append(row[0])
        return found

    def _scores(
        self,
        db: Db,
        query: str,
        within: tuple[str, str],
        allowed: set[int],
        vectors: Vectorised,
        at: int,
    ) -> dict[int, float]:
        """The best score of each item that has one."""
        texts = [row for row in rows.texts(db, within, at) if row[1] in allowed]
        asked = terms(query)
        words = word_scores(asked, {id_: length for id_, _, length, _ in texts}, rows.postings(db, asked))
        near = self._cosines(db, texts, query, vectors)
        best: dict[int, float] = {}
        for id_, item, _, _ in texts:
            score = blended(near.get(id_), words.get(id_, 0.0), self._words)
            if score is not None and score > best.get(item, -2.0):
                best[item] = score
        return best

    def _cosines(
        self, db: Db, texts: Sequence[tuple[int, int, int, bytes | None]], query: str, vectors: Vectorised
    ) -> dict[int, float]:
        asked = vectors.questions.get(query)
        held = [(id_, vector) for id_, _, _, vector in texts if vector is not None]
        if asked is None or not held:
            return {}
        self._check_model(db, vectors)
        matrix = np.frombuffer(b"".join(vector for _, vector in held), dtype=np.float32).reshape(len(held), -1)
        return dict(zip((id_ for id_, _ in held), cosines(matrix, asked), strict=True))


def _file(location: object) -> str:
    """The file of a store."""
    if isinstance(location, Memory):
        location = location.location
    if not isinstance(location, (str, Path)):
        raise ConfigurationError(f"location must be a folder or a Memory, not {type(location).__name__}.")
    if re.match(r"\w{2,}:/", str(location)):  # a Path has dropped one of the slashes; one letter is a drive
        raise ConfigurationError(
            f"{str(location).partition(':')[0]}:// is the address of a server, and this store keeps a file: it needs a folder "
            'of its own. Give one, such as MnemicStore("./memory"), or use LangGraph\'s PostgresStore.'
        )
    return IN_MEMORY if str(location) == IN_MEMORY else str(Path(location).expanduser().absolute() / FILE)


def _checked_key(key: object) -> str:
    try:
        if isinstance(key, str) and key.encode():
            return key
    except UnicodeEncodeError:
        pass
    raise InvalidInput(f"A key is a string of valid characters that is not empty, not {key!r:.80}.")


def _check_query(query: object) -> None:
    if query is not None and not isinstance(query, str):
        raise InvalidInput(f"A query is a text, not {query!r:.40}.")


def _check_page(limit: object, offset: object, depth: object = None) -> None:
    for name, given in (("limit", limit), ("offset", offset), ("max_depth", 0 if depth is None else depth)):
        if not isinstance(given, int) or isinstance(given, bool) or given < 0:
            raise InvalidInput(f"{name} is a whole number from 0, not {given!r:.40}.")


def _fields(row: Sequence[Any]) -> dict[str, Any]:
    _, path, key, value, created, updated, _ = row
    return {
        "namespace": namespace_of(path), "key": key, "value": json.loads(value),
        "created_at": datetime.fromtimestamp(created / 1e6, UTC), "updated_at": datetime.fromtimestamp(updated / 1e6, UTC),
    }  # fmt: skip


def _listed(paths: Iterable[str], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The namespaces that meet every condition, in order."""
    namespaces = (namespace_of(path) for path in paths)
    matching = {namespace[: op.max_depth] for namespace in namespaces if fits(namespace, op.match_conditions or ())}
    return sorted(matching)[op.offset : op.offset + op.limit]
