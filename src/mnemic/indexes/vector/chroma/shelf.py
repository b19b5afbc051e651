"""The two collections of a record: ``short_term_memory`` and ``long_term_memory``."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mnemic.indexes.vector.chroma.client import ChromaFailed, Client, Collection, missing, refused, translated
from mnemic.indexes.vector.chroma.metadata import document_of, metadata_of
from mnemic.indexes.vector.chroma.settings import Chroma
from mnemic.indexes.vector.following import State
from mnemic.protocols import Entry, Mark, Model, RecordFeed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ChromaShelf", "alike", "has_direction"]

TIERS = {"short_term": "short_term_memory", "long_term": "long_term_memory"}
COSINE: dict[str, Any] = {"hnsw": {"space": "cosine"}}

APART = 2e-3
"""How far a number of a unit vector in Chroma may be from the record's."""
SPARE = 1.2
"""How many times more is asked for where other users' results come along: shares differ from place to place."""
WALK = 10
"""What one more result costs, in rows that a filter would have to look at instead (measured at 100,000 rows)."""
ATTEMPTS = 3
"""How often an entry that cannot be found is written again; once was enough in 32 of 32 cases."""
COUNTED = 30.0
"""Seconds for which the sizes of users are believed."""


class ChromaShelf:
    """Entries in Chroma. Queries may run beside the one thread that writes.

    Args:
        client: where the collections are.
        feed: the record they hold.
        settings: limits.
        renew: makes an empty place and returns its client; None where collections are deleted instead.
    """

    def __init__(
        self, client: Client, feed: RecordFeed, settings: Chroma, renew: Callable[[], Client] | None = None
    ) -> None:
        self._client, self._feed, self._settings, self._renew = client, feed, settings, renew
        self._tiers: dict[str, Collection] = {}
        self._top = 0
        self._counted = -math.inf
        self._sizes: dict[int, int] = {}
        self._rows: dict[str, int] = {}

    def _name(self, tier: str, model: Model) -> str:
        """Collections of one record and one model; a name in Chroma holds letters, digits and a few signs."""
        words = f"{self._feed.name}\0{model.name}\0{model.dimension}"
        return f"{TIERS[tier]}-{hashlib.blake2b(words.encode(), digest_size=6).hexdigest()}"

    def state(self) -> State | None:
        """As it is noted in the metadata of the short-term collection."""
        model = self._feed.model()
        if model is None:
            return None
        found: dict[str, Collection] = {}
        with translated("Reading Chroma's collections"):
            for tier in TIERS:
                try:
                    found[tier] = self._client.get_collection(self._name(tier, model), embedding_function=None)
                except Exception as error:
                    if missing(error):
                        return None
                    raise
        self._tiers = found
        noted = found["short_term"].metadata or {}
        try:
            filled = int(noted["mnemic_filled"])
            state = State(
                model=model,
                mark=Mark(int(noted["mnemic_sequence"]), int(noted["mnemic_at"])),
                filled=None if filled < 0 else filled,
                top=int(noted["mnemic_top"]),
            )
        except (KeyError, TypeError, ValueError):
            return None
        self._top = state.top
        return state

    def _noted(self, state: State) -> dict[str, str | int]:
        return {
            "mnemic_record": self._feed.name,
            "mnemic_model": state.model.name,
            "mnemic_dimension": state.model.dimension,
            "mnemic_sequence": state.mark.sequence,
            "mnemic_at": state.mark.at,
            "mnemic_filled": -1 if state.filled is None else state.filled,
            "mnemic_top": state.top,
        }

    def begin(self, state: State) -> None:
        """Two new collections; the old ones, of whatever model, go."""
        if self._renew is not None:
            self._client = self._renew()
        with translated("Making Chroma's collections"):
            for name in self._own():
                self._client.delete_collection(name)
            noted, made = self._noted(state), {}
            for tier in ("long_term", "short_term"):  # the one that holds the state comes last
                made[tier] = self._client.create_collection(
                    self._name(tier, state.model), configuration=COSINE, metadata=noted, embedding_function=None
                )
        self._tiers, self._top, self._counted = made, 0, -math.inf

    def _own(self) -> list[str]:
        """The names of all collections of this record."""
        found: list[str] = []
        offset, page = 0, 100
        while True:
            held = self._client.list_collections(limit=page, offset=offset)
            found += [one.name for one in held if (one.metadata or {}).get("mnemic_record") == self._feed.name]
            if len(held) < page:
                return found
            offset += page

    def note(self, state: State) -> None:
        """In the metadata of the short-term collection: after a crash it is never newer than the contents."""
        with translated("Noting the position in Chroma"):
            self._tiers["short_term"].modify(metadata=self._noted(state))
        self._top = state.top

    def put(self, entries: Sequence[Entry]) -> None:
        """Into the collection of the tier of each; then out of the other, where a memory may have been."""
        with translated("Writing into Chroma"):
            for tier in TIERS:
                chosen = [entry for entry in entries if entry.tier == tier]
                for start in range(0, len(chosen), self._settings.batch):
                    self._upsert(self._tiers[tier], chosen[start : start + self._settings.batch])
            for tier in TIERS:
                moved = [str(e.doc) for e in entries if e.tier != tier and e.stored.kind == "memory"]
                self._remove(self._tiers[tier], moved)

    def _upsert(self, collection: Collection, entries: Sequence[Entry]) -> None:
        """Write what is new or says something else; where only metadata changed, the graph of vectors is left alone."""
        same = self._unchanged(collection, [entry for entry in entries if entry.doc <= self._top])
        fresh = [entry for entry in entries if entry.doc not in same]
        known = [entry for entry in entries if entry.doc in same]
        _each(known, lambda some: _describe(collection, some))
        _each(fresh, lambda some: _write(collection, some), lambda one: _write(collection, [one], whole=False))
        _link_anew(collection, [entry for entry in fresh if has_direction(entry.vector)])

    def _unchanged(self, collection: Collection, entries: Sequence[Entry]) -> set[int]:
        """The docs of those that are kept with this very text and vector."""
        if not entries:
            return set()
        got = collection.get([str(entry.doc) for entry in entries], include=["embeddings", "documents"])
        held = dict(zip(map(int, got["ids"]), zip(got["embeddings"], got["documents"], strict=True), strict=True))
        return {
            entry.doc
            for entry in entries
            if entry.doc in held
            and held[entry.doc][1] == document_of(entry)
            and alike(held[entry.doc][0], entry.vector)
        }

    def _remove(self, collection: Collection, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), self._settings.batch):
            held = collection.get(list(ids[start : start + self._settings.batch]), include=[])["ids"]
            if held:
                collection.delete(held)

    def drop(self, docs: Sequence[int]) -> None:
        """Out of both."""
        with translated("Removing from Chroma"):
            for collection in self._tiers.values():
                self._remove(collection, [str(doc) for doc in docs])

    def erase(self, docs: Sequence[int]) -> bool:
        """On a server by deleting; in our own folder only a new one is free of what was deleted."""
        if self._renew is None:
            self.drop(docs)
            return True
        with translated("Looking into Chroma"):
            if not docs or any(doc <= self._top for doc in docs):
                return not docs
            ids = [str(doc) for doc in docs]
            return not any(one.get(ids, include=[])["ids"] for one in self._tiers.values())

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> list[int]:
        """The docs of the nearest entries; where that is cheaper, those of other users come along.

        Chroma has no index over metadata: a filter looks at every row, and one that lets much through costs most of all.
        Asking for more than is wanted and leaving out the others' is cheaper for whoever has a large share.
        """
        with translated("Searching Chroma"):
            self._count()
            share = self._sizes.get(user, 0) / max(sum(self._sizes.values()), 1)
            found: list[tuple[float, int]] = []
            for tier, collection in self._tiers.items():
                rows = self._rows.get(tier, 0)
                if not rows or not share:
                    continue
                most = min(rows, self._settings.most_results)
                wide = math.ceil(SPARE * k / share) if share < 1 else k
                plain = share == 1 or (wide <= most and wide * WALK < rows)
                answer = collection.query(
                    query_embeddings=query[None],
                    n_results=min(wide if plain else k, most),
                    where=None if plain else {"user": user},
                    include=["distances"],
                )
                found += zip(answer["distances"][0], map(int, answer["ids"][0]), strict=True)
        return [doc for _, doc in sorted(found)]

    def _count(self) -> None:
        if time.monotonic() - self._counted > COUNTED:
            self._sizes = self._feed.sizes()
            self._rows = {tier: collection.count() for tier, collection in self._tiers.items()}
            self._counted = time.monotonic()

    def counted_anew(self) -> None:
        """Sizes have changed."""
        self._counted = -math.inf

    def held(self, tier: str, docs: Sequence[int]) -> dict[int, tuple[int, NDArray[np.float32]]]:
        """User and vector of those docs that the collection of a tier holds."""
        with translated("Reading from Chroma"):
            got = self._tiers[tier].get([str(doc) for doc in docs], include=["embeddings", "metadatas"])
        if got["embeddings"] is None or len(got["embeddings"]) != len(got["ids"]):
            raise ChromaFailed("Chroma gives no vectors for some of its own entries.")
        return {
            int(id_): (int(metadata["user"]), vector)
            for id_, metadata, vector in zip(got["ids"], got["metadatas"], got["embeddings"], strict=True)
        }

    def docs(self, tier: str) -> set[int]:
        """Every doc in the collection of a tier."""
        found: set[int] = set()
        with translated("Reading from Chroma"):
            while ids := self._tiers[tier].get(limit=1000, offset=len(found), include=[])["ids"]:
                found |= {int(id_) for id_ in ids}
        return found

    def unfound(self, tier: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those of a tier that their own vector does not lead to."""
        with translated("Searching Chroma"):
            return _unfound(self._tiers[tier], entries)

    def link_anew(self, tier: str, entries: Sequence[Entry]) -> None:
        """Make those of a tier found that their own vector does not lead to."""
        with translated("Writing into Chroma"):
            _link_anew(self._tiers[tier], entries)


def alike(held: NDArray[np.float32], vector: NDArray[np.float32]) -> bool:
    """Whether a vector in Chroma is the record's: that one is rounded to float16, Chroma's is scaled to unit length."""
    import numpy as np

    if len(held) != len(vector):
        return False
    units = [one / max(float(np.linalg.norm(one)), 1e-9) for one in (held, vector)]
    return bool(np.abs(units[0] - units[1]).max() <= APART)


def has_direction(vector: NDArray[np.float32]) -> bool:
    """Whether a vector is near to itself: that of a text without a word is zero."""
    import numpy as np

    return float(np.linalg.norm(vector)) > 0.5


def _unfound(collection: Collection, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Those that their own vector does not lead to."""
    import numpy as np

    if not entries:
        return ()
    vectors = np.stack([entry.vector for entry in entries])
    found = collection.query(query_embeddings=vectors, n_results=10, include=["distances"])
    return [entry for entry, near in zip(entries, found["distances"], strict=True) if min(near, default=2.0) > APART]


def _link_anew(collection: Collection, entries: Sequence[Entry]) -> None:
    """Write those again that their own vector does not find: Chroma's graph now and then links to a new one from nowhere.

    Chroma's issue 7758; seen with 1.5.9, in one of eight small collections for a text unlike all others. Linking one anew can
    cost another its links, so all are looked at again.
    """
    for _ in range(ATTEMPTS):
        lost = _unfound(collection, entries)
        if not lost:
            return
        for entry in lost:
            collection.update(ids=[str(entry.doc)], embeddings=entry.vector[None])


def _each(
    entries: Sequence[Entry],
    write: Callable[[Sequence[Entry]], None],
    without: Callable[[Entry], None] = lambda _: None,
) -> None:
    """Write all, or where Chroma refuses one of them each by itself, and the refused one without what it refuses."""
    if not entries:
        return
    try:
        write(entries)
    except Exception as error:
        if not refused(error):
            raise
        if len(entries) == 1:
            without(entries[0])
            return
        for entry in entries:
            _each([entry], write, without)


def _describe(collection: Collection, entries: Sequence[Entry]) -> None:
    collection.update(ids=[str(entry.doc) for entry in entries], metadatas=[metadata_of(entry) for entry in entries])


def _write(collection: Collection, entries: Sequence[Entry], *, whole: bool = True) -> None:
    """With text and metadata, or only with what searching needs."""
    import numpy as np

    collection.upsert(
        ids=[str(entry.doc) for entry in entries],
        embeddings=np.stack([entry.vector for entry in entries]),
        metadatas=[metadata_of(entry) if whole else {"user": entry.user} for entry in entries],
        documents=[document_of(entry) if whole else "" for entry in entries],
    )
