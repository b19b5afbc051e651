"""The collections of a record in Chroma, ``short_term_memory`` and ``long_term_memory``: connection and contents."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mnemic.errors import MnemicError, StoreUnavailable
from mnemic.protocols import Entry, Mark, Model, RecordFeed
from mnemic.text.values import to_json
from mnemic.types import Episode, MemoryRecord, Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Metadata: TypeAlias = dict[str, str | int | float | bool | None]

LOCK = "owner.lock"
"""Lock file of the process that has the collections of a folder open."""
CLOSED = "closed.json"
"""File with the hashes of Chroma's files after a clean close."""
TIMEOUT = 30.0
"""Seconds for one request to a server; chromadb has no limit."""

TIERS = {"short_term": "short_term_memory", "long_term": "long_term_memory"}
COSINE: dict[str, Any] = {"hnsw": {"space": "cosine"}}
PAGE = 500
"""Entries per page."""
ROUNDING = 2e-3
"""Tolerance between a component of a unit vector in Chroma and in the record, which is rounded to float16."""
SPARE = 1.2
"""Factor on k when results of other users are discarded: the share of a user varies locally."""
RESULT_COST = 10
"""The cost of one more result, in rows scanned by a metadata filter (measured at 100,000 rows)."""
ATTEMPTS = 3
"""How often an unreachable entry is written again; once was enough in 32 of 32 cases."""
SUMMARY = 200
"""Most characters of the summary of a memory that has none: the beginning of its content."""
SAMPLE = 100
"""Entries that ``differences`` searches by their own vector; in a large record one per page."""
MISSED, FEW = 0.05, 2
"""Share, or number, of the sample that an approximate search may miss; more means a damaged graph."""


class ChromaUnavailable(StoreUnavailable):
    """Chroma cannot be used. Internal: searches fall back to exact search."""


@contextmanager
def _translate_errors(what: str) -> Generator[None]:
    """Raise every error of Chroma as ``ChromaUnavailable``."""
    try:
        yield
    except (MnemicError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # includes Rust panics, which are not Exceptions
        raise ChromaUnavailable(f"{what} failed: {type(error).__name__}: {str(error)[:200]}") from error


# Connection


class Server:
    """Collections in a Chroma server.

    Args:
        client: a client owned by the caller.
        address: host, port and whether to use TLS, if there is no client.
    """

    embedded = False

    def __init__(self, client: Any = None, address: tuple[str, int, bool] | None = None) -> None:
        self._given, self._address = client, address
        self._client: Any = None

    def client(self) -> Any:
        """The client; connects on first use.

        Raises:
            ChromaUnavailable: the server cannot be reached.
        """
        if self._given is not None or self._client is not None:
            return self._given or self._client
        assert self._address is not None
        import chromadb
        from chromadb.config import Settings

        host, port, secure = self._address
        with _translate_errors(f"Reaching the Chroma server at {host}:{port}"):
            settings = Settings(anonymized_telemetry=False)
            self._client = chromadb.HttpClient(host, port, ssl=secure, settings=settings)
            for session in _sessions(self._client):
                session.timeout = TIMEOUT
        return self._client

    def reset(self) -> None:
        """Disconnect; collections on the server stay."""
        client, self._client = self._client, None
        if client is not None:
            sessions = _sessions(client)
            _close(client)
            with suppress(Exception):
                for session in sessions:  # chromadb leaves them open
                    session.close()

    close = reset


class Folder:
    """Collections in a folder used by this process only.

    A damaged index can crash the process that loads it. So Chroma loads files only if their hashes match those of the last
    clean close; after a crash or a change they are removed and rebuilt from the record.

    Args:
        root: the folder for Chroma's own folder and the lock.
    """

    embedded = True

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path: Path | None = None
        self._client: Any = None

    def client(self) -> Any:
        """The client of the existing files if they are intact, else of a new empty folder.

        Raises:
            StoreUnavailable: the folder cannot be written.
            ChromaUnavailable: Chroma cannot open it.
        """
        if self._client is not None:
            return self._client
        import chromadb
        from chromadb.config import Settings

        with _writing(self._root):
            path = self._intact()
            if path is None:
                self.reset()
                path = self._root / f"generation-{secrets.token_hex(6)}"  # chromadb caches clients by path
                path.mkdir(mode=0o700)
            (path / CLOSED).unlink(missing_ok=True)
        with _translate_errors("Opening Chroma's folder"):
            self._client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
        self._path = path
        return self._client

    def _intact(self) -> Path | None:
        for note in self._root.glob(f"*/{CLOSED}"):
            with suppress(ValueError):
                if json.loads(note.read_text(encoding="utf-8")) == _hashes(note.parent):
                    return note.parent
        return None

    def reset(self) -> None:
        """Close Chroma and remove all its files.

        Raises:
            StoreUnavailable: a file cannot be removed.
        """
        self._disconnect()
        with _writing(self._root):
            for path in self._root.glob("*"):
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.suffix != ".lock":
                    path.unlink()

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            _close(client)

    def zero_unsaved(self) -> None:
        """Overwrite files of unsaved graphs with zeros.

        Chroma creates these files from uninitialised memory, which may contain erased text; it does not read them before it
        has saved the graph (with an ``index_metadata.pickle``).
        """
        with _writing(self._root):
            for name in ("data_level0.bin", "length.bin"):
                for path in self._root.rglob(name):
                    if not path.with_name("index_metadata.pickle").exists() and path.read_bytes().strip(b"\0"):
                        path.write_bytes(bytes(path.stat().st_size))

    def close(self) -> None:
        """Close Chroma and store the hashes of its files.

        Raises:
            StoreUnavailable: the hashes cannot be stored; then the files are not used again.
        """
        if self._client is None or self._path is None:
            return
        self._disconnect()
        self.zero_unsaved()
        with _writing(self._root):
            draft = self._root / f"{CLOSED}.new"
            draft.write_text(json.dumps(_hashes(self._path)), encoding="utf-8")
            draft.replace(self._path / CLOSED)


def _hashes(folder: Path) -> dict[str, str]:
    """The hash of every file by path, except the file of the hashes."""
    found: dict[str, str] = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name != CLOSED:
            with path.open("rb") as file:
                found[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "blake2b").hexdigest()
    return found


@contextmanager
def _writing(root: Path) -> Generator[None]:
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"The folder of the Chroma index cannot be written: {error}. Searches stay exact; check the permissions and the "
            f"free space of {root}."
        ) from error


def _close(client: Any) -> None:
    with suppress(ChromaUnavailable), _translate_errors("Closing Chroma"):
        client.close()


def _sessions(client: Any) -> list[Any]:
    """The HTTP sessions of a client, and of its internal admin client."""
    holders = (client, getattr(client, "_admin_client", None))
    found = (getattr(getattr(holder, "_server", None), "_session", None) for holder in holders)
    return [session for session in found if session is not None]


# Contents


class Position(NamedTuple):
    """The position of the collections in the feed, stored in the metadata of the short-term one; never ahead of the contents.

    Attributes:
        model: the embedder of their vectors.
        mark: the last event applied.
        filled: during the initial fill, the last doc written; None once they hold the whole record.
    """

    model: Model
    mark: Mark
    filled: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collections:
    """The collections of a record at one position. One thread writes; any may search.

    Attributes:
        tiers: chromadb's collections by tier.
        position: their position in the feed.
        sizes: the number of vectors by user in the record; counted once the collections hold the whole record.
    """

    tiers: Mapping[str, Any]
    position: Position
    sizes: Mapping[int, int]

    @property
    def complete(self) -> bool:
        """Whether they hold the whole record up to their mark."""
        return self.position.filled is None

    def nearest(self, user: int, query: NDArray[np.float32], k: int, most: int) -> list[int]:
        """The docs nearest to a unit vector, best first; docs of other users may be among them.

        Chroma has no index on metadata: a filter scans every row, and is slowest if most rows match. For a user with a large
        share of the rows it is faster to request more results and discard those of others.

        Args:
            user: the number of a user.
            query: shape (dimension,).
            k: the minimum number of results, if there are as many.
            most: the maximum number of results that Chroma returns.

        Raises:
            ChromaUnavailable: the search failed.
        """
        rows = sum(self.sizes.values())
        share = self.sizes.get(user, 0) / max(rows, 1)
        most = max(min(rows, most), 1)
        wide = math.ceil(SPARE * k / share) if 0 < share < 1 else k
        plain = share == 1 or (share > 0 and wide <= most and wide * RESULT_COST < rows)
        found: list[tuple[float, int]] = []
        with _translate_errors("Searching Chroma"):
            for collection in self.tiers.values():
                answer = collection.query(
                    query_embeddings=query[None],
                    n_results=min(wide if plain else k, most),
                    where=None if plain else {"user": user},
                    include=["distances"],
                )
                found += zip(answer["distances"][0], map(int, answer["ids"][0]), strict=True)
        return [doc for _, doc in sorted(found)]

    def put(self, entries: Sequence[Entry]) -> None:
        """Write each entry to the collection of its tier, then delete it from the other one.

        Raises:
            ChromaUnavailable: the write failed; some entries may be written.
        """
        with _translate_errors("Writing into Chroma"):
            for tier, collection in self.tiers.items():
                _put(collection, [entry for entry in entries if entry.tier == tier])
            for tier, collection in self.tiers.items():
                _delete(collection, [e.doc for e in entries if e.tier != tier and e.stored.kind == "memory"])

    def drop(self, docs: Sequence[int]) -> None:
        """Delete docs from both collections.

        Raises:
            ChromaUnavailable: the deletion failed; some docs may be deleted.
        """
        with _translate_errors("Deleting from Chroma"):
            for collection in self.tiers.values():
                _delete(collection, docs)

    def with_position(self, feed: RecordFeed, position: Position) -> Collections:
        """Store a new position; returns the collections at it.

        Raises:
            ChromaUnavailable: the position cannot be stored.
        """
        with _translate_errors("Storing the position in Chroma"):
            self.tiers["short_term"].modify(metadata=_position_metadata(feed, position))
        return replace(self, position=position)


def open_collections(client: Any, feed: RecordFeed, model: Model) -> Collections | None:
    """The collections of a record and a model; None if there are none that can be used.

    Raises:
        ChromaUnavailable: reading them failed.
    """
    from chromadb.errors import NotFoundError

    with _translate_errors("Reading Chroma's collections"):
        try:
            tiers = {tier: client.get_collection(_name(feed, tier, model), embedding_function=None) for tier in TIERS}
        except NotFoundError:
            return None
    try:
        mark, filled = json.loads(tiers["short_term"].metadata["mnemic_position"])
        position = Position(model, Mark(*mark), filled)
    except (KeyError, TypeError, ValueError):
        return None
    return Collections(tiers=tiers, position=position, sizes=feed.sizes() if filled is None else {})


def create_collections(client: Any, feed: RecordFeed, position: Position) -> Collections:
    """Create empty collections; all others of this record are deleted.

    Raises:
        ChromaUnavailable: creating them failed.
    """
    tiers: dict[str, Any] = {}
    with _translate_errors("Creating Chroma's collections"):
        for name in _names(client, feed):
            client.delete_collection(name)
        for tier in ("long_term", "short_term"):  # the one with the position comes last
            tiers[tier] = client.create_collection(
                _name(feed, tier, position.model),
                configuration=COSINE,
                metadata=_position_metadata(feed, position),
                embedding_function=None,
            )
    return Collections(tiers=tiers, position=position, sizes={})


def _position_metadata(feed: RecordFeed, position: Position) -> dict[str, str]:
    return {"mnemic_record": feed.name, "mnemic_position": json.dumps([position.mark, position.filled])}


def _name(feed: RecordFeed, tier: str, model: Model) -> str:
    """The collection name for a record, tier and model, within the characters that Chroma allows."""
    words = f"{feed.name}\0{model.name}\0{model.dimension}"
    return f"{TIERS[tier]}-{hashlib.blake2b(words.encode(), digest_size=6).hexdigest()}"


def _names(client: Any, feed: RecordFeed) -> list[str]:
    """The names of all collections of this record."""
    found: list[str] = []
    offset = 0
    while held := client.list_collections(limit=100, offset=offset):
        notes: list[Mapping[str, Any]] = [one.metadata or {} for one in held]
        found += [one.name for one, note in zip(held, notes, strict=True) if note.get("mnemic_record") == feed.name]
        offset += len(held)
    return found


# Entries


def _put(collection: Any, entries: Sequence[Entry]) -> None:
    """Upsert entries with a new text or vector; of the others update the metadata only, which does not change the graph."""
    same = _unchanged(collection, entries)
    fresh = [entry for entry in entries if entry.doc not in same]
    _send(collection.update, [entry for entry in entries if entry.doc in same])
    _send(collection.upsert, fresh, contents=True)
    _link(collection, fresh)


def _unchanged(collection: Any, entries: Sequence[Entry]) -> set[int]:
    """The docs of entries that Chroma has with the same text and vector."""
    if not entries:
        return set()
    got = collection.get([str(entry.doc) for entry in entries], include=["embeddings", "documents"])
    held = zip(got["ids"], got["documents"], got["embeddings"], strict=True)
    by_doc = {entry.doc: entry for entry in entries}
    return {
        int(id_)
        for id_, text, vector in held
        if text == by_doc[int(id_)].stored.value.content and _same_vector(vector, by_doc[int(id_)].vector)
    }


def _send(send: Callable[..., object], entries: Sequence[Entry], *, contents: bool = False, whole: bool = True) -> None:
    """Send metadata or all contents; if Chroma rejects a value, send that entry with its user and vector only."""
    import numpy as np
    from chromadb.errors import InvalidArgumentError

    if not entries:
        return
    values: dict[str, Any] = {
        "ids": [str(entry.doc) for entry in entries],
        "metadatas": [metadata_of(entry) if whole else {"user": entry.user} for entry in entries],
    }
    if contents:
        values["embeddings"] = np.stack([entry.vector for entry in entries])
        values["documents"] = [entry.stored.value.content if whole else "" for entry in entries]
    try:
        send(**values)
    except (TypeError, ValueError, InvalidArgumentError):
        if not whole:
            raise
        for entry in entries:
            _send(send, [entry], contents=contents, whole=len(entries) > 1)


def _delete(collection: Any, docs: Sequence[int]) -> None:
    if docs and (held := collection.get([str(doc) for doc in docs], include=[])["ids"]):
        collection.delete(held)


def _link(collection: Any, entries: Sequence[Entry]) -> None:
    """Write unreachable entries again: Chroma's graph sometimes has no link to a new entry.

    Chroma's issue 7758; seen with 1.5.9, in one of eight small collections for a text unlike all others. Linking one entry may
    unlink another, so all are checked again.
    """
    for _ in range(ATTEMPTS):
        for entry in (lost := unreachable(collection, entries)):
            collection.update(ids=[str(entry.doc)], embeddings=entry.vector[None])
        if not lost:
            return


def unreachable(collection: Any, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Entries that a search for their own vector does not find; zero vectors (texts without words) are skipped."""
    import numpy as np

    entries = [entry for entry in entries if entry.vector.any()]
    if not entries:
        return ()
    vectors = np.stack([entry.vector for entry in entries])
    found = collection.query(query_embeddings=vectors, n_results=10, include=["distances"])
    return [e for e, near in zip(entries, found["distances"], strict=True) if min(near, default=2.0) > ROUNDING]


def _same_vector(held: NDArray[np.float32], vector: NDArray[np.float32]) -> bool:
    """Whether a vector in Chroma equals that of the record, up to length and rounding."""
    import numpy as np

    units = [one / max(float(np.linalg.norm(one)), 1e-9) for one in (held, vector)]
    return len(held) == len(vector) and bool(np.abs(units[0] - units[1]).max() <= ROUNDING)


# Comparison


def differences(feed: RecordFeed, collections: Collections) -> list[str]:
    """Differences from the record, one line per kind; changes after the mark are ignored.

    Raises:
        ChromaUnavailable: Chroma cannot read its own entries.
    """
    wrong: defaultdict[str, set[int]] = defaultdict(set)
    samples: dict[str, list[Entry]] = {tier: [] for tier in TIERS}
    step = max(1, sum(collections.sizes.values()) // SAMPLE)
    right: set[int] = set()
    for tier, collection in collections.tiers.items():
        for held in _pages(collection):
            entries = {entry.doc: entry for entry in feed.entries([*held]).entries if entry.tier == tier}
            for doc, (user, vector) in held.items():
                wrong[_difference(entries.get(doc), user, vector)].add(doc)
            samples[tier] += [*entries.values()][::step]
            right |= {*entries}
    wrong.pop("", None)
    after = 0
    while docs := feed.docs(after, PAGE):
        after = docs[-1]
        wrong["missing in Chroma"] |= {*docs} - right
    changed = feed.changes(collections.position.mark.sequence, 2**31)
    if changed.reembedded:
        return []
    found = [_finding(what, sorted(docs.difference(changed.docs))) for what, docs in wrong.items()]
    for tier, collection in collections.tiers.items():
        found.append(_damage(collection, [entry for entry in samples[tier] if entry.doc not in {*changed.docs}]))
    return [sentence for sentence in found if sentence]


def _pages(collection: Any) -> Generator[dict[int, tuple[object, NDArray[np.float32]]]]:
    """User and vector of every entry by doc, in pages."""
    offset = 0
    with _translate_errors("Reading from Chroma"):
        while (got := collection.get(limit=PAGE, offset=offset, include=["embeddings", "metadatas"]))["ids"]:
            users = [metadata["user"] for metadata in got["metadatas"]]
            held = zip(got["ids"], users, got["embeddings"], strict=True)
            yield {int(id_): (user, vector) for id_, user, vector in held}
            offset += len(users)


def _difference(entry: Entry | None, user: object, vector: NDArray[np.float32]) -> str:
    """The difference between an entry in Chroma and in the record; "" if there is none."""
    if entry is None:
        return "in Chroma, not in the record"
    if user != entry.user:
        return "filed under another user in Chroma"
    return "" if _same_vector(vector, entry.vector) else "another vector in Chroma than in the record"


def _damage(collection: Any, entries: Sequence[Entry]) -> str:
    """A finding if the graph is damaged, that is, returns wrong results; a few unreachable entries are linked again."""
    with _translate_errors("Searching Chroma"):
        lost = unreachable(collection, entries)
        if len(lost) > max(FEW, MISSED * len(entries)):
            return f"Chroma does not find {len(lost)} of {len(entries)} entries by their own vector"
        _link(collection, lost)
    return ""


def _finding(what: str, docs: Sequence[int]) -> str:
    shown = ", ".join(map(str, docs[:5])) + (" ..." if len(docs) > 5 else "")
    return f"{what}: {len(docs)} (number {shown})" if docs else ""


# Metadata


def metadata_of(entry: Entry) -> Metadata:
    """The metadata of a record as flat values for other Chroma tools; None means no such key.

    ``user`` is the number of the user in the record: names are not sent.
    """
    record = entry.stored.value
    stored = entry.stored
    values: Metadata = {
        "id": record.id, "user": entry.user, "kind": stored.kind, "status": stored.status, "session": record.session,
        "project": stored.project, "source": record.source, "trust": record.trust,
        "metadata_json": to_json(record.metadata),
    }  # fmt: skip
    match record:
        case Message():
            return values | {"role": record.role, "name": record.name, "created_at": _moment(record.sent_at)}
        case Episode():
            return values | {
                "summary": record.title, "created_at": _moment(record.started_at), "version": record.version,
            }  # fmt: skip
        case MemoryRecord():
            return values | _metadata_of_memory(record)


def _metadata_of_memory(record: MemoryRecord) -> Metadata:
    mood = record.emotion
    return {
        "summary": record.summary or " ".join(record.content.split())[:SUMMARY],
        "memory_type": record.type, "category": record.category, "importance_score": record.importance,
        "tags": json.dumps(record.tags, ensure_ascii=False),
        "keywords": json.dumps(record.keywords, ensure_ascii=False), "version": record.version,
        "emotional_context": None if mood is None else to_json({**asdict(mood), "quadrant": mood.quadrant}),
        "quadrant": None if mood is None else mood.quadrant,
        "created_at": _moment(record.created_at), "expired_at": _moment(record.expired_at),
    }  # fmt: skip


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
