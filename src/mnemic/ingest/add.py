"""Adds messages: validated, redacted, embedded, then written in one transaction; no language model is called."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.ingest.messages import join_parts, message_fields, role_of
from mnemic.protocols import Embedder
from mnemic.runtime.redaction import CheckedRecord, check_record, with_redactions
from mnemic.runtime.runtime import Runtime
from mnemic.services.processes import process_lock
from mnemic.text.markup import is_blank
from mnemic.text.values import now
from mnemic.types import AddMessage, Indexing, Message, Receipt, Receipts, Scope, Source
from mnemic.types.literals import AGENT

_lock = process_lock()
_last = 0


def new_id(prefix: str) -> str:
    """A new id, such as ``msg_019aab...``.

    Ids of one process sort in the order of creation, so that texts of the same millisecond keep their order. UUID version 7
    of RFC 9562, with the twelve bits of ``rand_a`` as fractions of a millisecond.
    """
    global _last  # noqa: PLW0603 - the order holds for the whole process
    with _lock:
        _last = tick = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
    rest = int.from_bytes(os.urandom(8)) >> 2 | 1 << 63
    return f"{prefix}{tick >> 12:012x}7{tick & 4095:03x}{rest:016x}"


BATCH = 256
ID_PREFIX = "msg_"

SOURCE_OF_ROLE: Mapping[str, Source] = {
    "user": "direct_user", "assistant": "model_inference", "tool": "tool_external",
    "function": "tool_external", "system": "tool_internal", "developer": "tool_internal", "document": "document",
}  # fmt: skip


def complete(
    value: Message | Mapping[str, Any],
    scope: Scope,
    session: str | None,
    zone: tzinfo,
    moment: datetime,
    *,
    path: str = "message",
) -> Message:
    """The message with every field validated and filled in; ``moment`` is the default time."""
    if isinstance(value, Message):
        m, content = value, join_parts(value.content, "content")[0]
    else:
        fields: dict[str, Any] = message_fields(value, path)[0]
        m, content = Message(**fields), fields["content"]
    role = role_of(validation.name("role", m.role))
    if not role:
        raise InvalidInput("role must not be empty; use user, assistant, system or tool.")
    source = validation.source(validation.optional("source", m.source) or SOURCE_OF_ROLE.get(role, "tool_external"))
    id_ = validation.optional("id", m.id)
    if id_ == "":
        raise InvalidInput("id must not be empty; leave it out to have one made.")
    return replace(
        m,
        role=role,
        content=validation.text("content", content, validation.MAX_CONTENT),
        name=validation.optional("name", m.name) or None,
        sent_at=validation.moment("sent_at", m.sent_at, zone) or moment,
        id=id_ or new_id(ID_PREFIX),
        session=validation.optional("session", m.session) or session or scope.session,
        metadata=validation.json_object("metadata", m.metadata),
        source=source,
        trust=None if m.trust is None else validation.number("trust", m.trust),
    )


def add(
    runtime: Runtime,
    scope: Scope,
    messages: Iterable[Message | Mapping[str, Any]],
    session: str | None,
    zone: tzinfo,
    *,
    agent: str | None = None,
) -> Receipts:
    """Store messages: validate all, then embed and write them in one transaction per batch."""
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"add() takes a text, a message or a list of messages, not {type(messages).__name__}.")
    moment = now().astimezone(zone)  # one time for all, so that they stay together whatever else is written
    own_session = validation.optional("session", session)
    checked = [
        complete(message, scope, own_session, zone, moment, path=f"messages[{number}]")
        for number, message in enumerate(messages)
    ]
    if agent := validation.optional("agent", agent):
        checked = [replace(message, metadata={**message.metadata, AGENT: agent}) for message in checked]
    receipts: list[Receipt] = []
    for start in range(0, len(checked), BATCH):
        batch = [check_record(runtime.secrets, runtime.fence, message) for message in checked[start : start + BATCH]]
        accepted: list[Message] = [record.record for record in batch if storable(record)]
        embedder = runtime.indexer.embedder
        indexing = _indexing(runtime, scope, accepted, embedder)
        changes = [
            AddMessage(message=m, project=scope.project, indexing=i) for m, i in zip(accepted, indexing, strict=True)
        ]
        written = iter(runtime.store.apply(scope.user, changes, model=embedder.id) if changes else ())
        receipts += [with_redactions(next(written), c.kinds) if storable(c) else unstored(c) for c in batch]
    return Receipts(receipts)


def storable(checked: CheckedRecord) -> bool:
    """Whether a record may be stored and has content."""
    return not checked.refusal and not is_blank(checked.record.content)


def unstored(checked: CheckedRecord) -> Receipt:
    """The receipt of a record that is not stored."""
    reason = checked.refusal or "the content is empty: there is nothing to remember"
    return Receipt(id=str(checked.record.id), outcome="rejected", reason=reason)


def _indexing(runtime: Runtime, scope: Scope, messages: Sequence[Message], embedder: Embedder) -> Sequence[Indexing]:
    """The index entries of new messages; in a batch, those whose id is taken are not embedded again."""
    if len(messages) == 1:
        return runtime.indexer.indexing(messages, embedder)
    ids = [message.id for message in messages if message.id and not message.id.startswith(ID_PREFIX)]
    docs = runtime.store.docs_of(scope.user, ids, kind="message") if ids else {}
    entries = iter(runtime.indexer.indexing([message for message in messages if message.id not in docs], embedder))
    return [next(entries) if message.id not in docs else Indexing(terms=(), length=0, traits=0) for message in messages]


def cite(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> None:
    """Count one use of each cited memory and of those derived from a cited message; unknown ids are ignored."""
    if ids:
        derived = runtime.store.relations.memories_of(scope.user, ids)
        cited = [*ids, *(id_ for memories in derived.values() for id_ in memories)]
        runtime.uses.note(scope.user, runtime.store.docs_of(scope.user, cited, kind="memory").values())
