"""Work that is not on anyone's critical path: embedding what had to wait, changing the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mnemic.embedders import checked
from mnemic.errors import EmbedderError, EmbedderUnavailable
from mnemic.flows.engine import Engine
from mnemic.protocols import Embedder

__all__ = ["embed_pending", "reembed"]

BATCH = 64

Progress = Callable[[int, int], None]
"""Called with (done, total) after each batch."""


def embed_pending(engine: Engine) -> int:
    """Embed the records that still wait; returns how many got their vector.

    Stops quietly when the embedder cannot be had: the work stays in ``pending``. A text that fails by itself is noted
    with its reason and does not hold up the others.
    """
    done, seen = 0, set[int]()
    while True:
        batch = [row for row in engine.store.embedding.pending(BATCH + len(seen)) if row[1] not in seen][:BATCH]
        if not batch:
            return done
        seen |= {doc for _, doc, _ in batch}
        try:
            done += _embed(engine, batch)
        except EmbedderUnavailable as error:
            engine.store.embedding.failed([doc for _, doc, _ in batch], str(error))
            return done


def _embed(engine: Engine, batch: Sequence[tuple[int, int, str]]) -> int:
    try:
        vectors = checked(engine.embedder.embed([text for *_, text in batch]), len(batch), engine.embedder.dimension)
    except EmbedderUnavailable:
        raise
    except EmbedderError as error:
        if len(batch) == 1:
            engine.store.embedding.failed([batch[0][1]], str(error))
            return 0
        return sum(_embed(engine, [row]) for row in batch)
    engine.store.embedding.fill([(user, doc) for user, doc, _ in batch], vectors, engine.embedder.id)
    return len(batch)


def reembed(engine: Engine, embedder: Embedder, progress: Progress | None) -> int:
    """Make every vector anew with an embedder, beside the old ones, and swap at the end.

    Searches go on with the old vectors meanwhile. Interrupted, it goes on where it stopped when called again.
    """
    work = engine.store.embedding
    total, done, dimension = work.begin(embedder.id), 0, embedder.dimension or 0
    while True:
        while batch := work.missing(BATCH):
            vectors = checked(embedder.embed([text for *_, text in batch]), len(batch), embedder.dimension)
            work.build([(user, doc) for user, doc, _ in batch], vectors)
            done, dimension = done + len(batch), vectors.shape[1]
            if progress:
                progress(done, max(total, done))
        if work.swap(embedder.id, dimension or len(embedder.embed(["dimension"])[0])):
            engine.embedder = embedder
            return done
