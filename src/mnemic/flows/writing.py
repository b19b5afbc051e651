"""The write path: check, embed, then one transaction. Nothing here waits for a model that writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, tzinfo
from typing import Any, cast

from mnemic.errors import InvalidInput, NotFound
from mnemic.flows.engine import Engine
from mnemic.flows.guarding import Guarded, incoming, telling
from mnemic.protocols import Embedder
from mnemic.safety.trust import TRUST_OF_SOURCE, is_trusted, least
from mnemic.services.ids import minted
from mnemic.text.canonical import to_json
from mnemic.text.clock import aware, now, to_micros
from mnemic.text.parts import joined
from mnemic.text.showing import shown
from mnemic.text.terms import clean
from mnemic.types import (
    UNSET,
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

__all__ = ["MAX_CONTENT", "MAX_ID", "add", "archive", "identifiers", "json_object", "remember", "restore", "update"]

MAX_CONTENT = 1_000_000
MAX_ID = 1_000
MAX_KEY = 200
MAX_DEPTH = 100
"""Levels of metadata: each takes a few frames of the stack, and how many are left depends on the caller."""
BATCH = 256
MINTED = "msg_"

SOURCE_OF_ROLE: Mapping[str, Source] = {
    "user": "direct_user", "assistant": "model_inference", "ai": "model_inference", "tool": "tool_external",
    "function": "tool_external", "system": "tool_internal", "developer": "tool_internal",
}  # fmt: skip
SOURCES = tuple(TRUST_OF_SOURCE)
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
        raise InvalidInput(f"{what} must be a number from 0 to 1, not {shown(value)}.")
    return float(value)


def json_object(what: str, value: object) -> dict[str, Any]:
    """A metadata object with text that can be stored; its values are checked when they are written."""
    if value is None:
        return {}
    given = shown(value, 60)
    items = cast("Mapping[object, object]", value if isinstance(value, Mapping) else {0: value})
    if not all(isinstance(key, str) for key in items):
        raise InvalidInput(f"{what} must be a mapping from strings to JSON values, not {given}.")
    try:
        cleaned = {clean(str(key)): _json_value(item, 1) for key, item in items.items()}
    except RecursionError as error:
        raise InvalidInput(
            f"{what} is nested deeper than {MAX_DEPTH} levels, or within itself. Store a flatter value."
        ) from error
    to_json(cleaned)
    return cleaned


def _json_value(value: object, depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, Mapping):
        return {clean(str(k)): _json_value(v, depth + 1) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item, depth + 1) for item in cast("Sequence[object]", value)]
    return value


def _words(what: str, values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of strings, not {type(values).__name__}.")
    return tuple(dict.fromkeys(_text(what, value, limit=MAX_ID) for value in cast("Iterable[object]", values)))


def _key(value: object) -> str | None:
    key = _optional("key", value, limit=MAX_KEY)
    if key is not None and not key.strip():
        raise InvalidInput("key must not be empty; leave it out for a statement without one.")
    return key


def _moment(what: str, value: object, zone: tzinfo) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {type(value).__name__} ({shown(value)}).")
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


def _said(content: object) -> object:
    """The text of a message that comes in parts; anything else as it is."""
    return joined(cast("list[object]", content), "content")[0] if isinstance(content, (list, tuple)) else content


def _complete(
    value: Message | Mapping[str, Any], scope: Scope, session: str | None, zone: tzinfo, moment: datetime
) -> Message:
    """The message with every field checked and filled in; without a time of its own it was said at ``moment``."""
    m = _as_message(value)
    role = _text("role", m.role, limit=MAX_ID)
    if not role:
        raise InvalidInput("role must not be empty; use user, assistant, system or tool.")
    source = _source(_optional("source", m.source) or SOURCE_OF_ROLE.get(role, "tool_external"))
    id_ = _optional("id", m.id)
    if id_ == "":
        raise InvalidInput("id must not be empty; leave it out to have one made.")
    return replace(
        m,
        role=role,
        content=_text("content", _said(m.content), limit=MAX_CONTENT),
        name=_optional("name", m.name) or None,
        sent_at=_moment("sent_at", m.sent_at, zone) or moment,
        id=id_ or minted(MINTED),
        session=_optional("session", m.session) or session or scope.session,
        metadata=json_object("metadata", m.metadata),
        source=source,
        trust=None if m.trust is None else _fraction("trust", m.trust),
    )


def add(
    engine: Engine, scope: Scope, messages: Iterable[Message | Mapping[str, Any]], session: str | None, zone: tzinfo
) -> Receipts:
    """Store messages: all are checked first, then embedded, then written in one transaction per batch."""
    if isinstance(messages, (str, bytes, Message, Mapping)) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput("add() takes a list of messages; for one message use add_message() or add_exchange().")
    moment = now().astimezone(zone)  # one for all: what is given together stays together, whoever else writes
    complete = [_complete(message, scope, _optional("session", session), zone, moment) for message in messages]
    receipts: list[Receipt] = []
    for start in range(0, len(complete), BATCH):
        batch = [incoming(engine, message) for message in complete[start : start + BATCH]]
        said: list[Message] = [one.record for one in batch if _is_said(one)]
        embedder = engine.embedder
        indexing = _indexing(engine, scope, said, embedder)
        changes = [
            AddMessage(message=m, project=scope.project, indexing=i) for m, i in zip(said, indexing, strict=True)
        ]
        written = iter(engine.store.apply(scope.user, changes, model=embedder.id) if changes else ())
        receipts += [telling(next(written), one.kinds) if _is_said(one) else _unsaid(one) for one in batch]
    return Receipts(receipts)


def _is_said(one: Guarded) -> bool:
    return not one.refusal and bool(one.record.content.strip())


def _unsaid(one: Guarded) -> Receipt:
    """The receipt of what is not stored."""
    if one.refusal:
        return Receipt(id=str(one.record.id), outcome="rejected", reason=one.refusal)
    return _empty(str(one.record.id))


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
        raise InvalidInput(f"type must be one of {list(TYPES)}, not {shown(kind)}.")
    source = _source(options["source"])
    importance = options["importance"]
    return MemoryRecord(
        id=_optional("id", options["id"]) or minted("mem_"),
        content=content,
        type=kind,
        category=_optional("category", options["category"]),
        importance=0.5 if importance is None else _fraction("importance", importance),
        salience=0.5 if importance is None else _fraction("importance", importance),
        pinned=importance is not None,
        key=_key(options["key"]),
        tags=_words("tags", options["tags"]),
        metadata=json_object("metadata", options["metadata"]),
        source_ids=_words("source_ids", options["source_ids"]),
        project=scope.project,
        session=scope.session if options["level"] == "session" else None,
        source=source,
        trust=TRUST_OF_SOURCE[source],
        valid_at=_moment("valid_at", options["valid_at"], zone),
        delete_after=_moment("delete_after", options.get("delete_after"), zone),
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
    one = incoming(engine, _record(scope, text, options, zone))
    if not _is_said(one):
        return _unsaid(one)
    record: MemoryRecord = one.record
    sources = [engine.store.get(scope.user, source) for source in record.source_ids]
    if any(source.status == "archived" for source in sources) and (
        held := set(engine.store.lifecycle.quarantined(scope.user)) & set(record.source_ids)
    ):
        return Receipt(
            id=record.id, outcome="rejected", reason=f"{sorted(held)} are in quarantine: release() them first"
        )
    record = replace(record, trust=least([record.trust, *(source.value.trust for source in sources)]))
    from mnemic.flows import remembering  # the rules of extraction are loaded when they are first needed

    return telling(remembering.store(engine, scope, record), one.kinds)


def _source(value: Any) -> Source:
    """A source, checked."""
    if value not in SOURCES:
        raise InvalidInput(f"source must be one of {sorted(TRUST_OF_SOURCE)}, not {shown(value)}.")
    return value


def _changed(name: str, value: object, zone: tzinfo) -> Any:
    """The checked new value of one field of a memory; ``None`` clears those that may be empty."""
    match name:
        case "importance":
            return None if value is None else _fraction(name, value)
        case "category":
            return _optional(name, value, limit=MAX_CONTENT)
        case "tags":
            return () if value is None else _words(name, value)
        case "metadata":
            return json_object(name, value)
        case "valid_at" | "invalid_at" | "delete_after":
            return _moment(name, value, zone)
        case "type" if value not in TYPES:
            raise InvalidInput(f"type must be one of {list(TYPES)}, not {shown(value)}.")
        case "source":
            return _source(value)
        case _:
            text = _text(name, value, limit=MAX_CONTENT)
            if name == "content" and not text.strip():
                raise InvalidInput("content must not be empty; to remove a memory call forget().")
            return text


def _said_by(changed: dict[str, Any], held: MemoryRecord) -> None:
    """Believe a new content no more than whoever says it."""
    if "source" in changed and "content" not in changed:
        raise InvalidInput("source= says whose words a new content is: give that as well.")
    if changed.get("content") == held.content:
        changed.pop("source", None)
    if "source" in changed:
        changed["trust"] = min(held.trust, TRUST_OF_SOURCE[changed["source"]])


def update(engine: Engine, scope: Scope, id: str, values: Mapping[str, Any], zone: tzinfo) -> Receipt:
    """Write the next version of a memory; the one before is kept."""
    held = engine.store.get(scope.user, _text("id", id, limit=MAX_ID)).value
    if not isinstance(held, MemoryRecord):
        what = "a message: what was said is evidence and never rewritten" if isinstance(held, Message) else "an episode"
        raise InvalidInput(f"{id!r} is {what}. Remember a correction instead.")
    changed = {name: _changed(name, value, zone) for name, value in values.items() if value is not UNSET}
    if "importance" in changed:
        changed["pinned"] = changed["importance"] is not None
        if not changed["pinned"]:
            del changed["importance"]
    _said_by(changed, held)
    one = incoming(engine, replace(held, **changed, version=held.version + 1, updated_at=now().astimezone(zone)))
    if not _is_said(one):
        return _unsaid(one)
    record: MemoryRecord = one.record
    reworded = record.content != held.content
    if not reworded:
        record = replace(record, trust=held.trust)
    elif is_trusted(held.trust) and not is_trusted(record.trust):
        why = "what is not trusted cannot take the place of what is; remember it as a memory of its own"
        return Receipt(id=held.id, outcome="rejected", reason=why)
    if all(getattr(held, name) == getattr(record, name) for name in changed):
        return Receipt(id=held.id, outcome="duplicate", reason="nothing changed")
    embedder = engine.embedder
    from mnemic.flows.candidates import redescribed  # what reads texts is loaded when it is first needed
    from mnemic.flows.feeling import feeling

    if reworded:
        record = redescribed(record, held)
    (indexing,) = engine.indexing([record], embedder)
    if reworded:
        record = feeling(record, indexing.vector, embedder.id)
    change = Revise(record=record, indexing=indexing, left=reworded, weighs="importance" in changed)
    receipt, *_ = engine.store.apply(scope.user, [change], model=embedder.id)
    return telling(receipt, one.kinds)


def archive(engine: Engine, scope: Scope, ids: Iterable[str], reason: str, zone: tzinfo) -> Receipts:
    """Take records out of every search; ids that do not exist are told in their receipts."""
    return _told_anew(engine, scope, _words("ids", ids), lambda id_: Archive(id=id_, reason=reason), zone)


def identifiers(ids: Iterable[str]) -> Sequence[str]:
    """Ids as they were given, checked."""
    return _words("ids", ids)


def restore(engine: Engine, scope: Scope, ids: Iterable[str], zone: tzinfo) -> Receipts:
    """Bring archived records back."""
    return _told_anew(engine, scope, _words("ids", ids), lambda id_: Restore(id=id_), zone)


def _told_anew(
    engine: Engine, scope: Scope, ids: Sequence[str], change: Callable[[str], Change], zone: tzinfo
) -> Receipts:
    """Change records, and then what tells of them."""
    from mnemic.flows.retelling import follow  # it needs all that tells episodes

    receipts = _each(engine, scope, ids, change)
    follow(engine, scope, ids, zone)
    return receipts


def _each(engine: Engine, scope: Scope, ids: Sequence[str], change: Callable[[str], Change]) -> Receipts:
    receipts: list[Receipt] = []
    for id_ in ids:
        try:
            receipts += engine.store.apply(scope.user, [change(id_)])
        except NotFound as error:
            reason = engine.secrets.redacted(str(error))[0]
            receipts.append(Receipt(id=engine.secrets.name(id_), outcome="rejected", reason=reason))
    return Receipts(receipts)
