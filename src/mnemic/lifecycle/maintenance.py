"""Maintenance: pending embeddings, change of the embedding model, verification, and retention."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from mnemic.errors import EmbedderError, EmbedderUnavailable, StoreError, StoreReadOnly
from mnemic.protocols import Embedder, Progress
from mnemic.runtime.runtime import Runtime, is_counted
from mnemic.runtime.settings import RetentionPolicy
from mnemic.stores.sql.vectors import Waiting
from mnemic.text.values import now, to_micros
from mnemic.types import (
    Archive,
    Emotion,
    GivenContext,
    KeepContexts,
    KeepQuestions,
    MemoryContext,
    Query,
    Question,
    RecalledHit,
    Scope,
    StoredVector,
    VerifyReport,
)

BATCH = 64
PAGE = 500
SHOWN = 20
"""Most ids listed in a finding."""


def embed_pending(runtime: Runtime) -> int:
    """Embed pending records; returns the number embedded.

    Stops silently when the embedder is unavailable: the rest stays pending. A text that fails alone is noted with its
    reason and does not block the others.
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
            runtime.store.embedding.failed([doc for _, doc, _ in batch], _redacted_error(runtime, error))
            return done


def _embed(runtime: Runtime, batch: Sequence[Waiting]) -> int:
    embedder = runtime.indexer.embedder
    try:
        vectors = runtime.indexer.vectors([text for *_, text in batch], embedder)
    except EmbedderUnavailable:
        raise
    except EmbedderError as error:
        if len(batch) == 1:
            runtime.store.embedding.failed([batch[0][1]], _redacted_error(runtime, error))
            return 0
        return sum(_embed(runtime, [row]) for row in batch)
    runtime.store.embedding.fill(batch, vectors, embedder.id)
    return len(batch)


def _redacted_error(runtime: Runtime, error: EmbedderError) -> str:
    """The error message to store, redacted because some embedders quote the key."""
    return runtime.secrets.redacted(str(error))[0]


def reembed(runtime: Runtime, embedder: Embedder, progress: Progress | None) -> int:
    """Recompute every vector beside the old ones, and swap at the end.

    Searches use the old vectors meanwhile. An interrupted call resumes when called again. A text that the embedder
    rejects is pending afterwards.
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
        vectors = runtime.indexer.vectors([text for *_, text in batch], embedder)
        runtime.store.embedding.build(batch, vectors, embedder.id)
    except EmbedderUnavailable:
        raise
    except EmbedderError:
        if len(batch) == 1:
            runtime.store.embedding.skip(batch[0], embedder.id)
            return
        for row in batch:
            _rebuild(runtime, embedder, [row])


def vector_of(runtime: Runtime, scope: Scope, id: str) -> StoredVector | None:
    """The vector of a record with its model; None without one."""
    runtime.store.get(scope.user, id)  # raises NotFound
    vectors = runtime.store.knowledge.vectors(scope.user, [id]).get(id)
    model = runtime.store.embedding.model()
    return None if vectors is None or model is None else StoredVector(model, vectors.text)


def verify(runtime: Runtime, *, deep: bool) -> VerifyReport:
    """Check the record; with ``deep`` also the vector index and the texts for secrets."""
    report = runtime.store.verify(deep=deep)
    if not deep or not report.ok:
        return report
    derived = () if runtime.updater is None else runtime.updater.findings()
    return replace(report, findings=(*derived, *_secrets(runtime)))


def _secrets(runtime: Runtime) -> list[str]:
    """Findings of stored secrets, by kind."""
    policy, ids_by_kind, after = runtime.secrets, dict[str, list[str]](), 0
    if policy.action == "allow":
        return []
    while page := runtime.store.knowledge.texts(after, PAGE):
        after = page[-1][0]
        for _, id_, texts in page:
            for kind in policy.within(texts)[1]:
                ids_by_kind.setdefault(kind, []).append(policy.name(id_))
    return [_finding(kind, ids) for kind, ids in sorted(ids_by_kind.items())]


def _finding(kind: str, ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")
    return (
        f"a secret ({kind}) is stored in {shown}, by another policy or an older rule. Erase it with "
        "forget(ids=[...], hard=True) and store it again without, or allow the kind in the policy"
    )


ARCHIVED_AT_ONCE = 500
EXPIRED, OLD, SURPLUS = "its time is over", "older than message_days", "beyond memory_limit"
"""Why ``retire`` archives a record."""


def retire(runtime: Runtime, scope: Scope, policy: RetentionPolicy) -> int:
    """Archive expired records; returns their number."""
    runtime.uses.save()
    moment = now()
    lifecycle, at = runtime.store.lifecycle, to_micros(moment)
    due = dict.fromkeys(lifecycle.overdue(scope.user, at), EXPIRED)
    if policy.message_days is not None:
        before = at - timedelta(days=policy.message_days) // timedelta(microseconds=1)
        due = dict.fromkeys(lifecycle.uncited(scope.user, before), OLD) | due
    if policy.memory_limit is not None:
        due = dict.fromkeys(lifecycle.over_capacity(scope.user, policy.memory_limit, at), SURPLUS) | due
    changes = [Archive(id=id_, reason=reason) for id_, reason in due.items()]
    for start in range(0, len(changes), ARCHIVED_AT_ONCE):
        runtime.store.apply(scope.user, changes[start : start + ARCHIVED_AT_ONCE])
    with suppress(StoreReadOnly):
        limits = [KeepQuestions(asked=(), most=policy.questions), KeepContexts(given=(), most=policy.contexts)]
        runtime.store.apply(scope.user, limits)
    return len(due)


def keep_question(runtime: Runtime, scope: Scope, query: Query) -> None:
    """Keep a question; one that cannot be written is left out, and its answer stands."""
    if not is_counted() or not query.text.strip():
        return
    mood = query.mood if isinstance(query.mood, Emotion) else None
    question = Question(text=query.text, asked_at=now(), project=scope.project, session=scope.session, mood=mood)
    with suppress(StoreError):
        runtime.store.apply(scope.user, [KeepQuestions(asked=(question,), most=runtime.settings.retention.questions)])


HITS = 10
"""First hits kept of a context beside those that it shows."""


def keep_context(
    runtime: Runtime,
    scope: Scope,
    query: Query,
    context: MemoryContext,
    *,
    asked_at: datetime,
    max_tokens: int,
    plain: bool,
) -> None:
    """Keep a context as it was given; one that cannot be written is left out, and its answer stands.

    Args:
        runtime: the record.
        scope: where it was asked.
        query: what was asked.
        context: what was given.
        asked_at: when, before anything was read.
        max_tokens: the budget.
        plain: the question alone decided what was found, and asking it again is a fair comparison.
    """
    if not is_counted() or not query.text.strip():
        return
    shown = {id_ for hit in context.hits for id_ in (hit.id, *hit.similar, *hit.via)}
    hits = tuple(
        RecalledHit(
            id=hit.id, kind=hit.kind, text=hit.text, relevance=round(hit.relevance, 4), shown=hit.id in shown,
            contributions={name: round(value, 4) for name, value in hit.contributions.items()},
        )
        for position, hit in enumerate(context.found)
        if position < HITS or hit.id in shown
    )  # fmt: skip
    snapshot = GivenContext(
        question=query.text, given_at=asked_at, prompt=context.to_prompt(), evidence=context.found.evidence,
        probability=context.found.probability, max_tokens=max_tokens, token_count=context.token_count,
        left_out=context.left_out, hits=hits, project=scope.project, session=scope.session, plain=plain,
        min_evidence=query.min_evidence,
    )  # fmt: skip
    with suppress(StoreError):
        runtime.store.apply(scope.user, [KeepContexts(given=(snapshot,), most=runtime.settings.retention.contexts)])
