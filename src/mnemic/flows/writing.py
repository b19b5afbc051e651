"""The write path: check, embed, then one transaction. Nothing here waits for a model that writes."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, tzinfo
from typing import Any, cast

from mnemic.errors import InvalidInput, NotFound
from mnemic.flows.engine import Engine
from mnemic.protocols import Embedder
from mnemic.text.canonical import to_json
from mnemic.text.clock import aware, now, to_micros
from mnemic.text.terms import clean
from mnemic.types import (
    AddMessage,
    Archive,
    Change,
    Indexing,
    MemoryRecord,
    Message,
    Receipt,
    Receipts,
    Restore,
    Revise,
    Scope,
    Source,
)

__all__ = ["add", "archive", "remember", "restore", "update"]

MAX_CONTENT = 1_000_000
MAX_ID = 1_000
BATCH = 256
MINTED = "msg_"

SOURCE_OF_ROLE: Mapping[str, Source] = {
    "user": "direct_user", "assistant": "model_inference", "ai": "model_inference", "tool": "tool_external",
    "function": "tool_external", "system": "tool_internal", "developer": "tool_internal",
}  # fmt: skip
TRUST_OF_SOURCE: Mapping[str, float] = {
    "direct_user": 1.0, "model_inference": 0.7, "tool_internal": 0.7, "document": 0.4, "tool_external": 0.3,
}  # fmt: skip
TYPES = ("episodic", "semantic", "procedural", "emotional")


def _text(what: str, value: object, *, limit: int) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}. Nothing was stored.")
    if len(value) > limit:
        raise InvalidInput(f"{what} has {len(value):,} characters, more than {limit:,}. Split it; nothing was stored.")
    return clean(value)


def _optional(what: str, value: object, *, limit: int = MAX_ID) -> str | None:
    return None if value is None else _text(what, value, limit=limit)


def _fraction(what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0 or math.isnan(value):
        raise InvalidInput(f"{what} must be a number from 0 to 1, not {value!r:.40}.")
    return float(value)


def _json_object(what: str, value: object) -> dict[str, Any]:
    """A metadata object with text that can be stored; its values are checked when they are written."""
    if value is None:
        return {}
    items = cast("Mapping[object, object]", value if isinstance(value, Mapping) else {0: value})
    if not all(isinstance(key, str) for key in items):
        raise InvalidInput(f"{what} must be a mapping from strings to JSON values, not {value!r:.60}.")
    try:
        cleaned = {clean(str(key)): _json_value(item) for key, item in items.items()}
    except RecursionError as error:
        raise InvalidInput(f"{what} is nested too deep, or within itself. Store a flatter value.") from error
    to_json(cleaned)
    return cleaned


def _json_value(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(k)): _json_value(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in cast("Sequence[object]", value)]
    return value


def _words(what: str, values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of strings, not {type(values).__name__}.")
    return tuple(dict.fromkeys(_text(what, value, limit=MAX_ID) for value in cast("Iterable[object]", values)))


def _moment(what: str, value: object, zone: tzinfo) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {type(value).__name__} ({value!r:.40}).")
    to_micros(value, zone)
    return aware(value, zone)


def _as_message(value: Message | Mapping[str, Any]) -> Message:
    if isinstance(value, Message):
        return value
    if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise InvalidInput(f"A message must be a Message or a mapping, not {type(value).__name__}.")
    known = {f.name for f in fields(Message)}
    if unknown := sorted(str(key) for key in value if key not in known):
        raise InvalidInput(f"A message has no field {unknown}; it has {sorted(known)}. Put other values into metadata.")
    if missing := [name for name in ("role", "content") if name not in value]:
        raise InvalidInput(f"A message needs {missing}.")
    return Message(**value)


def _complete(value: Message | Mapping[str, Any], scope: Scope, session: str | None, zone: tzinfo) -> Message:
    """The message with every field checked and filled in."""
    m = _as_message(value)
    role = _text("role", m.role, limit=MAX_ID)
    if not role:
        raise InvalidInput("role must not be empty; use user, assistant, system or tool.")
    source = m.source or SOURCE_OF_ROLE.get(role, "tool_external")
    if source not in TRUST_OF_SOURCE:
        raise InvalidInput(f"source must be one of {sorted(TRUST_OF_SOURCE)}, not {source!r:.40}.")
    id_ = _optional("id", m.id)
    if id_ == "":
        raise InvalidInput("id must not be empty; leave it out to have one made.")
    return replace(
        m,
        role=role,
        content=_text("content", m.content, limit=MAX_CONTENT),
        name=_optional("name", m.name) or None,
        sent_at=_moment("sent_at", m.sent_at, zone) or now().astimezone(zone),
        id=id_ or f"{MINTED}{uuid.uuid4().hex}",
        session=_optional("session", m.session) or session or scope.session,
        metadata=_json_object("metadata", m.metadata),
        source=source,
        trust=TRUST_OF_SOURCE[source] if m.trust is None else _fraction("trust", m.trust),
    )


def add(
    engine: Engine, scope: Scope, messages: Iterable[Message | Mapping[str, Any]], session: str | None, zone: tzinfo
) -> Receipts:
    """Store messages: all are checked first, then embedded, then written in one transaction per batch."""
    if isinstance(messages, (str, bytes, Message, Mapping)) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput("add() takes a list of messages; for one message use add_message() or add_exchange().")
    complete = [_complete(message, scope, _optional("session", session), zone) for message in messages]
    receipts: list[Receipt] = []
    for start in range(0, len(complete), BATCH):
        batch = complete[start : start + BATCH]
        said = [message for message in batch if message.content.strip()]
        embedder = engine.embedder
        indexing = _indexing(engine, scope, said, embedder)
        changes = [
            AddMessage(message=m, project=scope.project, indexing=i) for m, i in zip(said, indexing, strict=True)
        ]
        written = iter(engine.store.apply(scope.user, changes, model=embedder.id) if changes else ())
        receipts += [next(written) if message.content.strip() else _empty(str(message.id)) for message in batch]
    return Receipts(receipts)


def _indexing(engine: Engine, scope: Scope, messages: Sequence[Message], embedder: Embedder) -> Sequence[Indexing]:
    """What makes new messages findable; of many, those whose id is taken are not embedded again for nothing."""
    if len(messages) == 1:
        return engine.indexing(messages, embedder)
    given = [message.id for message in messages if message.id and not message.id.startswith(MINTED)]
    known = engine.store.docs_of(scope.user, given, kind="message") if given else {}
    fresh = iter(engine.indexing([message for message in messages if message.id not in known], embedder))
    return [next(fresh) if message.id not in known else Indexing(terms=(), length=0, traits=0) for message in messages]


def _empty(id: str) -> Receipt:
    return Receipt(id=id, outcome="rejected", reason="the content is empty: there is nothing to remember")


def _record(scope: Scope, content: str, options: Mapping[str, Any], zone: tzinfo) -> MemoryRecord:
    """A checked memory from the arguments of remember()."""
    moment = now().astimezone(zone)
    kind = options["type"]
    if kind not in TYPES:
        raise InvalidInput(f"type must be one of {list(TYPES)}, not {kind!r:.40}.")
    source = options["source"]
    if source not in TRUST_OF_SOURCE:
        raise InvalidInput(f"source must be one of {sorted(TRUST_OF_SOURCE)}, not {source!r:.40}.")
    importance = options["importance"]
    return MemoryRecord(
        id=_optional("id", options["id"]) or f"mem_{uuid.uuid4().hex}",
        content=content,
        type=kind,
        category=_optional("category", options["category"]),
        importance=0.5 if importance is None else _fraction("importance", importance),
        salience=0.5 if importance is None else _fraction("importance", importance),
        pinned=importance is not None,
        tags=_words("tags", options["tags"]),
        metadata=_json_object("metadata", options["metadata"]),
        source_ids=_words("source_ids", options["source_ids"]),
        project=scope.project,
        session=scope.session if options["level"] == "session" else None,
        source=source,
        trust=TRUST_OF_SOURCE[source],
        valid_at=_moment("valid_at", options["valid_at"], zone),
        created_at=moment,
        updated_at=moment,
    )


def remember(engine: Engine, scope: Scope, content: str, options: Mapping[str, Any], zone: tzinfo) -> Receipt:
    """Store one statement, unless it is already remembered at this level."""
    text = _text("content", content, limit=MAX_CONTENT)
    if options["level"] not in (None, "session"):
        raise InvalidInput("level must be None (the project, else the user) or 'session'.")
    if options["level"] == "session" and scope.session is None:
        raise InvalidInput("level='session' needs a handle with a session: memory.scoped(session=...).")
    record = _record(scope, text, options, zone)
    if not text.strip():
        return _empty(record.id)
    trusts = [engine.store.get(scope.user, source).value.trust for source in record.source_ids]
    record = replace(record, trust=min([record.trust, *(t for t in trusts if t is not None)]))
    from mnemic.flows import remembering  # the rules of extraction are loaded when they are first needed

    return remembering.store(engine, scope, record)


def _changed(name: str, value: object, zone: tzinfo) -> Any:
    """The checked new value of one field of a memory."""
    match name:
        case "importance":
            return _fraction(name, value)
        case "tags":
            return _words(name, value)
        case "metadata":
            return _json_object(name, value)
        case "valid_at" | "invalid_at":
            return _moment(name, value, zone)
        case "type" if value not in TYPES:
            raise InvalidInput(f"type must be one of {list(TYPES)}, not {value!r:.40}.")
        case _:
            text = _text(name, value, limit=MAX_CONTENT)
            if name == "content" and not text.strip():
                raise InvalidInput("content must not be empty; to remove a memory call forget().")
            return text


def update(engine: Engine, scope: Scope, id: str, values: Mapping[str, Any], zone: tzinfo) -> Receipt:
    """Write the next version of a memory; the one before is kept."""
    held = engine.store.get(scope.user, _text("id", id, limit=MAX_ID)).value
    if not isinstance(held, MemoryRecord):
        what = "a message: what was said is evidence and never rewritten" if isinstance(held, Message) else "an episode"
        raise InvalidInput(f"{id!r} is {what}. Remember a correction instead.")
    changed = {name: _changed(name, value, zone) for name, value in values.items() if value is not None}
    if "importance" in changed:
        changed["pinned"] = True
    if all(getattr(held, name) == value for name, value in changed.items()):
        return Receipt(id=held.id, outcome="duplicate", reason="nothing changed")
    record = replace(held, **changed, version=held.version + 1, updated_at=now().astimezone(zone))
    embedder = engine.embedder
    from mnemic.flows.learning import slots_of  # the rules of extraction are loaded when they are first needed

    indexing = replace(engine.indexing([record], embedder)[0], slots=slots_of(record.content))
    return engine.store.apply(scope.user, [Revise(record=record, indexing=indexing)], model=embedder.id)[0]


def archive(engine: Engine, scope: Scope, ids: Iterable[str], reason: str) -> Receipts:
    """Take records out of every search; ids that do not exist are told in their receipts."""
    return _each(engine, scope, _words("ids", ids), lambda id_: Archive(id=id_, reason=reason))


def restore(engine: Engine, scope: Scope, ids: Iterable[str]) -> Receipts:
    """Bring archived records back."""
    return _each(engine, scope, _words("ids", ids), lambda id_: Restore(id=id_))


def _each(engine: Engine, scope: Scope, ids: Sequence[str], change: Callable[[str], Change]) -> Receipts:
    receipts: list[Receipt] = []
    for id_ in ids:
        try:
            receipts += engine.store.apply(scope.user, [change(id_)])
        except NotFound as error:
            receipts.append(Receipt(id=id_, outcome="rejected", reason=str(error)))
    return Receipts(receipts)
