"""The collections of a record in Chroma, ``short_term_memory`` and ``long_term_memory``: where they are, and what they hold."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mnemic.errors import MnemicError, StoreUnavailable
from mnemic.protocols import Entry, Mark, Model, RecordFeed
from mnemic.text.canonical import to_json
from mnemic.types import Emotion, Episode, MemoryRecord, Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "LOCK", "ChromaUnavailable", "Collections", "Folder", "Position", "Server", "created", "differences", "metadata_of",
    "opened", "unreachable",
]  # fmt: skip

Metadata: TypeAlias = dict[str, str | int | float | bool | None]

LOCK = "owner.lock"
"""Held by the process that has the collections of a folder open."""
CLOSED = "closed.json"
"""The hashes of Chroma's files after a clean close, beside them."""
TIMEOUT = 30.0
"""Seconds for one request to a server; chromadb has no limit."""

TIERS = {"short_term": "short_term_memory", "long_term": "long_term_memory"}
COSINE: dict[str, Any] = {"hnsw": {"space": "cosine"}}
PAGE = 500
"""Records read from the record at a time."""
ROUNDING = 2e-3
"""By how much a number of a unit vector in Chroma may differ from the record's, which is rounded to float16."""
SPARE = 1.2
"""By how much more is asked for where results of other users are left out: a user's share differs from place to place."""
RESULT_COST = 10
"""What one more result costs, in rows that a filter would have to look at instead (measured at 100,000 rows)."""
ATTEMPTS = 3
"""How often an entry that a search does not reach is written again; once was enough in 32 of 32 cases."""
SAMPLE = 100
"""Entries that ``differences`` searches for by their own vector; of a large record one of each page."""
MISSED, FEW = 0.05, 2
"""Share of that sample, or number, that an approximate search may miss; more is a damaged graph."""


class ChromaUnavailable(StoreUnavailable):
    """Chroma cannot be used; never raised to callers, whose search goes on without it."""


@contextmanager
def _translated(what: str) -> Generator[None]:
    """Every error of Chroma as ``ChromaUnavailable``."""
    try:
        yield
    except (MnemicError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # its own errors, those of its HTTP client, and Rust panics, which are no Exception
        raise ChromaUnavailable(f"{what} failed: {type(error).__name__}: {str(error)[:200]}") from error


# Where they are


class Server:
    """Collections in a Chroma server.

    Args:
        client: a client that the caller has made and will close.
        address: host, port and whether it speaks TLS, where there is no such client.
    """

    embedded = False

    def __init__(self, client: Any = None, address: tuple[str, int, bool] | None = None) -> None:
        self._given, self._address = client, address
        self._client: Any = None

    def client(self) -> Any:
        """The client, connected if it was not.

        Raises:
            ChromaUnavailable: the server cannot be reached.
        """
        if self._given is not None or self._client is not None:
            return self._given or self._client
        assert self._address is not None
        import chromadb
        from chromadb.config import Settings

        host, port, secure = self._address
        with _translated(f"Reaching the Chroma server at {host}:{port}"):
            settings = Settings(anonymized_telemetry=False)
            self._client = chromadb.HttpClient(host, port, ssl=secure, settings=settings)
            for session in _sessions(self._client):
                session.timeout = TIMEOUT
        return self._client

    def reset(self) -> None:
        """Disconnect; what the server holds stays."""
        client, self._client = self._client, None
        if client is not None:
            sessions = _sessions(client)
            _close(client)
            with suppress(Exception):
                for session in sessions:  # chromadb leaves them open
                    session.close()

    def close(self) -> None:
        """Disconnect."""
        self.reset()


class Folder:
    """Collections in a folder that only this process has open.

    A damaged index can end the process that loads it. So Chroma loads only files that are as the last owner left them at a
    clean close; after a crash, or where a byte has changed, they are removed, to be filled again from the record.

    Args:
        root: a folder for Chroma's own folder and the lock.
    """

    embedded = True

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path: Path | None = None
        self._client: Any = None

    def client(self) -> Any:
        """The client of the files that are there if they are sound, else of a new and empty folder.

        Raises:
            StoreUnavailable: the folder cannot be written.
            ChromaUnavailable: Chroma cannot open it.
        """
        if self._client is not None:
            return self._client
        import chromadb
        from chromadb.config import Settings

        with _writing(self._root):
            path = self._sound()
            if path is None:
                self.reset()
                path = self._root / f"generation-{secrets.token_hex(6)}"  # chromadb keeps clients by path
                path.mkdir(mode=0o700)
            (path / CLOSED).unlink(missing_ok=True)
        with _translated("Opening Chroma's folder"):
            self._client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
        self._path = path
        return self._client

    def _sound(self) -> Path | None:
        for note in self._root.glob(f"*/{CLOSED}"):
            with suppress(ValueError):
                if json.loads(note.read_text(encoding="utf-8")) == _hashes(note.parent):
                    return note.parent
        return None

    def reset(self) -> None:
        """Close Chroma and remove all its files.

        Raises:
            StoreUnavailable: some cannot be removed.
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

    def tidy(self) -> None:
        """Overwrite with zeros what Chroma has reserved for graphs that it has not saved yet.

        It creates their files from memory that it has not written to, in which erased text may stand; until it has saved a
        graph (with an ``index_metadata.pickle``) it does not read them.
        """
        with _writing(self._root):
            for name in ("data_level0.bin", "length.bin"):
                for path in self._root.rglob(name):
                    if not path.with_name("index_metadata.pickle").exists() and path.read_bytes().strip(b"\0"):
                        path.write_bytes(bytes(path.stat().st_size))

    def close(self) -> None:
        """Close Chroma and note the hashes of its files.

        Raises:
            StoreUnavailable: they cannot be noted; then they are not used again.
        """
        if self._client is None or self._path is None:
            return
        self._disconnect()
        self.tidy()
        with _writing(self._root):
            draft = self._root / f"{CLOSED}.new"
            draft.write_text(json.dumps(_hashes(self._path)), encoding="utf-8")
            draft.replace(self._path / CLOSED)


def _hashes(folder: Path) -> dict[str, str]:
    """The content of every file by its path, but for the note of these hashes."""
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
            f"The folder of the Chroma index cannot be written: {error}. Searches are exact until it can; check the "
            f"permissions and the free space of {root}."
        ) from error


def _close(client: Any) -> None:
    with suppress(ChromaUnavailable), _translated("Closing Chroma"):
        client.close()


def _sessions(client: Any) -> list[Any]:
    """The HTTP connections of a client, and of the second one inside it that looks after tenants."""
    holders = (client, getattr(client, "_admin_client", None))
    found = (getattr(getattr(holder, "_server", None), "_session", None) for holder in holders)
    return [session for session in found if session is not None]


# What they hold


class Position(NamedTuple):
    """How far the collections are; kept in the metadata of the short-term one, and never ahead of the contents.

    Attributes:
        model: whose vectors they hold.
        mark: the last event that they have.
        filled: while they are filled for the first time, the last doc they have; None once they hold the whole record.
    """

    model: Model
    mark: Mark
    filled: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collections:
    """The collections of a record as one moment found them. One thread writes; any may search.

    Attributes:
        tiers: chromadb's collections by tier.
        position: how far they are.
        sizes: how many vectors each user has in the record; counted once they hold the whole record.
    """

    tiers: Mapping[str, Any]
    position: Position
    sizes: Mapping[int, int]

    @property
    def complete(self) -> bool:
        """Whether they hold the whole record, but for what changed after their mark."""
        return self.position.filled is None

    def nearest(self, user: int, query: NDArray[np.float32], k: int, most: int) -> list[int]:
        """The docs nearest to a unit vector, best first; those of other users may be among them.

        Chroma has no index over metadata: a filter looks at every row, and one that lets much through costs most of all.
        For whoever has a large share of the rows it is cheaper to ask for more and leave out the others'.

        Args:
            user: the number of a user.
            query: shape (dimension,).
            k: how many at least, if there are so many.
            most: how many results Chroma gives at most.

        Raises:
            ChromaUnavailable: Chroma does not answer.
        """
        rows = sum(self.sizes.values())
        share = self.sizes.get(user, 0) / max(rows, 1)
        most = max(min(rows, most), 1)
        wide = math.ceil(SPARE * k / share) if 0 < share < 1 else k
        plain = share == 1 or (share > 0 and wide <= most and wide * RESULT_COST < rows)
        found: list[tuple[float, int]] = []
        with _translated("Searching Chroma"):
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
        """Into the collection of the tier of each; then out of the other, where a memory may have been.

        Raises:
            ChromaUnavailable: Chroma does not take them; some may be there.
        """
        with _translated("Writing into Chroma"):
            for tier, collection in self.tiers.items():
                _put(collection, [entry for entry in entries if entry.tier == tier])
            for tier, collection in self.tiers.items():
                _delete(collection, [e.doc for e in entries if e.tier != tier and e.stored.kind == "memory"])

    def drop(self, docs: Sequence[int]) -> None:
        """Delete them from both.

        Raises:
            ChromaUnavailable: Chroma does not delete them; some may be gone.
        """
        with _translated("Deleting from Chroma"):
            for collection in self.tiers.values():
                _delete(collection, docs)

    def moved(self, feed: RecordFeed, position: Position) -> Collections:
        """Note that they are further.

        Raises:
            ChromaUnavailable: it cannot be noted.
        """
        with _translated("Noting the position in Chroma"):
            self.tiers["short_term"].modify(metadata=_noted(feed, position))
        return replace(self, position=position)


def opened(client: Any, feed: RecordFeed, model: Model) -> Collections | None:
    """Those of a record and a model; None where there are none that can be used.

    Raises:
        ChromaUnavailable: Chroma does not answer.
    """
    from chromadb.errors import NotFoundError

    with _translated("Reading Chroma's collections"):
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


def created(client: Any, feed: RecordFeed, position: Position) -> Collections:
    """New and empty ones; all others of this record, of whatever model, are deleted.

    Raises:
        ChromaUnavailable: Chroma does not answer.
    """
    tiers: dict[str, Any] = {}
    with _translated("Creating Chroma's collections"):
        for name in _names(client, feed):
            client.delete_collection(name)
        for tier in ("long_term", "short_term"):  # the one that holds the position comes last
            tiers[tier] = client.create_collection(
                _name(feed, tier, position.model),
                configuration=COSINE,
                metadata=_noted(feed, position),
                embedding_function=None,
            )
    return Collections(tiers=tiers, position=position, sizes={})


def _noted(feed: RecordFeed, position: Position) -> dict[str, str]:
    return {"mnemic_record": feed.name, "mnemic_position": json.dumps([position.mark, position.filled])}


def _name(feed: RecordFeed, tier: str, model: Model) -> str:
    """Of one record and one model; a name in Chroma holds letters, digits and a few signs."""
    words = f"{feed.name}\0{model.name}\0{model.dimension}"
    return f"{TIERS[tier]}-{hashlib.blake2b(words.encode(), digest_size=6).hexdigest()}"


def _names(client: Any, feed: RecordFeed) -> list[str]:
    """Of all collections of this record."""
    found: list[str] = []
    offset = 0
    while held := client.list_collections(limit=100, offset=offset):
        notes: list[Mapping[str, Any]] = [one.metadata or {} for one in held]
        found += [one.name for one, note in zip(held, notes, strict=True) if note.get("mnemic_record") == feed.name]
        offset += len(held)
    return found


# Entries


def _put(collection: Any, entries: Sequence[Entry]) -> None:
    """Write what is new or has another text or vector; of the others only the metadata, which leaves the graph alone."""
    same = _unchanged(collection, entries)
    fresh = [entry for entry in entries if entry.doc not in same]
    _send(collection.update, [entry for entry in entries if entry.doc in same])
    _send(collection.upsert, fresh, contents=True)
    _link(collection, fresh)


def _unchanged(collection: Any, entries: Sequence[Entry]) -> set[int]:
    """The docs of those that are there with this very text and vector."""
    if not entries:
        return set()
    got = collection.get([str(entry.doc) for entry in entries], include=["embeddings", "documents"])
    held = zip(got["ids"], got["documents"], got["embeddings"], strict=True)
    by_doc = {entry.doc: entry for entry in entries}
    return {
        int(id_)
        for id_, text, vector in held
        if text == by_doc[int(id_)].stored.value.content and _alike(vector, by_doc[int(id_)].vector)
    }


def _send(send: Callable[..., object], entries: Sequence[Entry], *, contents: bool = False, whole: bool = True) -> None:
    """Metadata, or all contents; where Chroma refuses a value of one entry, that one with its user and vector only."""
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
    """Write those again that their own vector does not reach: Chroma's graph now and then has no link to a new entry.

    Chroma's issue 7758; seen with 1.5.9, in one of eight small collections for a text unlike all others. Linking one can cost
    another its links, so all are looked at again.
    """
    for _ in range(ATTEMPTS):
        for entry in (lost := unreachable(collection, entries)):
            collection.update(ids=[str(entry.doc)], embeddings=entry.vector[None])
        if not lost:
            return


def unreachable(collection: Any, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Those that a search for their own vector does not find; zeros, of a text without a word, are near to nothing."""
    import numpy as np

    entries = [entry for entry in entries if entry.vector.any()]
    if not entries:
        return ()
    vectors = np.stack([entry.vector for entry in entries])
    found = collection.query(query_embeddings=vectors, n_results=10, include=["distances"])
    return [e for e, near in zip(entries, found["distances"], strict=True) if min(near, default=2.0) > ROUNDING]


def _alike(held: NDArray[np.float32], vector: NDArray[np.float32]) -> bool:
    """Whether a vector in Chroma is the record's, but for its length and rounding."""
    import numpy as np

    units = [one / max(float(np.linalg.norm(one)), 1e-9) for one in (held, vector)]
    return len(held) == len(vector) and bool(np.abs(units[0] - units[1]).max() <= ROUNDING)


# Comparison with the record


def differences(feed: RecordFeed, collections: Collections) -> list[str]:
    """What differs from the record, each kind in a sentence; what changed after the mark is left out.

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
    if changed.anew:
        return []
    found = [_sentence(what, sorted(docs.difference(changed.docs))) for what, docs in wrong.items()]
    for tier, collection in collections.tiers.items():
        found.append(_damage(collection, [entry for entry in samples[tier] if entry.doc not in {*changed.docs}]))
    return [sentence for sentence in found if sentence]


def _pages(collection: Any) -> Generator[dict[int, tuple[object, NDArray[np.float32]]]]:
    """The user and the vector of every entry, by its doc."""
    offset = 0
    with _translated("Reading from Chroma"):
        while (got := collection.get(limit=PAGE, offset=offset, include=["embeddings", "metadatas"]))["ids"]:
            users = [metadata["user"] for metadata in got["metadatas"]]
            held = zip(got["ids"], users, got["embeddings"], strict=True)
            yield {int(id_): (user, vector) for id_, user, vector in held}
            offset += len(users)


def _difference(entry: Entry | None, user: object, vector: NDArray[np.float32]) -> str:
    """What is wrong with an entry of Chroma, beside that of the record; "" where nothing is."""
    if entry is None:
        return "in Chroma, not in the record"
    if user != entry.user:
        return "filed under another user in Chroma"
    return "" if _alike(vector, entry.vector) else "another vector in Chroma than in the record"


def _damage(collection: Any, entries: Sequence[Entry]) -> str:
    """Says that a graph is damaged: it gives answers, but wrong ones. The few that any may miss are linked again."""
    with _translated("Searching Chroma"):
        lost = unreachable(collection, entries)
        if len(lost) > max(FEW, MISSED * len(entries)):
            return f"Chroma does not find {len(lost)} of {len(entries)} entries by their own vector"
        _link(collection, lost)
    return ""


def _sentence(what: str, docs: Sequence[int]) -> str:
    shown = ", ".join(map(str, docs[:5])) + (" ..." if len(docs) > 5 else "")
    return f"{what}: {len(docs)} (number {shown})" if docs else ""


# Metadata


def metadata_of(entry: Entry) -> Metadata:
    """What is known of a record, as flat values that other Chroma tools read; what is not known is None: no such key.

    ``user`` is the number of the user in the record: names stay there.
    """
    record = entry.stored.value
    values: Metadata = {
        "id": record.id,
        "user": entry.user,
        "kind": entry.stored.kind,
        "status": entry.stored.status,
        "session": record.session,
        "project": entry.stored.project,
        "source": record.source,
        "trust": record.trust,
        "metadata_json": to_json(record.metadata),
    }
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
    return {
        "summary": record.summary,
        "memory_type": record.type,
        "category": record.category,
        "importance_score": record.importance,
        "tags": json.dumps(record.tags, ensure_ascii=False),
        "keywords": json.dumps(record.keywords, ensure_ascii=False),
        "emotional_context": None if record.emotion is None else _feeling(record.emotion),
        "created_at": _moment(record.created_at),
        "expired_at": _moment(record.expired_at),
        "version": record.version,
    }


def _feeling(emotion: Emotion) -> str:
    return to_json({"valence": emotion.valence, "arousal": emotion.arousal, "confidence": emotion.confidence})


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
