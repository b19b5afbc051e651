"""Work that is not on anyone's critical path: embedding what had to wait, changing the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mnemic.embedders import checked
from mnemic.errors import EmbedderError, EmbedderUnavailable
from mnemic.protocols import Embedder
from mnemic.runtime.runtime import Runtime
from mnemic.types import VerifyReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["embed_pending", "reembed", "verify"]

BATCH = 64
PAGE = 500
SHOWN = 20
"""Ids that a finding names."""

Waiting = tuple[int, int, str]

Progress = Callable[[int, int], None]
"""Called with (done, total) after each batch."""


def embed_pending(runtime: Runtime) -> int:
    """Embed the records that still wait; returns how many got their vector.

    Stops quietly when the embedder cannot be had: the work stays in ``pending``. A text that fails by itself is noted
    with its reason and does not hold up the others.
    """
    done, seen = 0, set[int]()
    while True:
        batch = [row for row in runtime.store.embedding.pending(BATCH + len(seen)) if row[1] not in seen][:BATCH]
        if not batch:
            return done
        seen |= {doc for _, doc, _ in batch}
        try:
            done += _embed(runtime, batch)
        except EmbedderUnavailable as error:
            runtime.store.embedding.failed([doc for _, doc, _ in batch], _said(runtime, error))
            return done


def _embed(runtime: Runtime, batch: Sequence[Waiting]) -> int:
    embedder = runtime.indexer.embedder
    try:
        vectors = _vectors(runtime, embedder, batch)
    except EmbedderUnavailable:
        raise
    except EmbedderError as error:
        if len(batch) == 1:
            runtime.store.embedding.failed([batch[0][1]], _said(runtime, error))
            return 0
        return sum(_embed(runtime, [row]) for row in batch)
    runtime.store.embedding.fill(batch, vectors, embedder.id)
    return len(batch)


def _said(runtime: Runtime, error: EmbedderError) -> str:
    """What an embedder says of its failure is stored: some name the key that they were given."""
    return runtime.secrets.redacted(str(error))[0]


def _vectors(runtime: Runtime, embedder: Embedder, batch: Sequence[Waiting]) -> NDArray[np.float32]:
    texts = [runtime.secrets.redacted(text)[0] for *_, text in batch]  # what was stored under another policy
    return checked(embedder.embed(texts), len(batch), embedder.dimension)


def reembed(runtime: Runtime, embedder: Embedder, progress: Progress | None) -> int:
    """Make every vector anew with an embedder, beside the old ones, and swap at the end.

    Searches go on with the old vectors meanwhile. Interrupted, it goes on where it stopped when called again. A text that
    the embedder refuses is pending afterwards.
    """
    work = runtime.store.embedding
    total, done = work.begin(embedder.id), 0
    while True:
        while batch := work.missing(BATCH):
            _rebuild(runtime, embedder, batch)
            done += len(batch)
            if progress:
                progress(done, max(total, done))
        dimension = embedder.dimension or len(embedder.embed(["dimension"])[0])
        if work.swap(embedder.id, dimension):
            runtime.indexer.embedder = embedder
            return done


def _rebuild(runtime: Runtime, embedder: Embedder, batch: Sequence[Waiting]) -> None:
    try:
        runtime.store.embedding.build(batch, _vectors(runtime, embedder, batch), embedder.id)
    except EmbedderUnavailable:
        raise
    except EmbedderError:
        if len(batch) == 1:
            runtime.store.embedding.skip(batch[0], embedder.id)
            return
        for row in batch:
            _rebuild(runtime, embedder, [row])


def verify(runtime: Runtime, *, deep: bool) -> VerifyReport:
    """Check the record, and with ``deep`` what is derived from it and whether secrets stand in it."""
    report = runtime.store.verify(deep=deep)
    if not deep or not report.ok:
        return report
    derived = () if runtime.index is None else tuple(runtime.index.findings())
    return replace(report, findings=(*derived, *_secrets(runtime)))


def _secrets(runtime: Runtime) -> list[str]:
    """Kinds of secrets and where they stand: stored under another policy, or before there was a rule for them."""
    policy, found, after = runtime.secrets, dict[str, list[str]](), 0
    if policy.action == "allow":
        return []
    while page := runtime.store.knowledge.texts(after, PAGE):
        after = page[-1][0]
        for _, id_, says in page:
            for kind in policy.within(says)[1]:
                found.setdefault(kind, []).append(policy.name(id_))
    return [_told(kind, ids) for kind, ids in sorted(found.items())]


def _told(kind: str, ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")
    return (
        f"a secret ({kind}) stands in {shown}: stored under another policy, or before there was a rule for it. Erase it with "
        "forget(ids=[...], hard=True) and store it again without, or allow the kind in the policy"
    )
