"""Changes to records and links. Every function runs inside the given transaction."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from mnemic.errors import Conflict, InvalidInput
from mnemic.stores.schema import LIVE
from mnemic.stores.sql import rows
from mnemic.stores.sql.transaction import Transaction
from mnemic.text.clock import to_micros
from mnemic.types import (
    AddEpisode,
    AddMemory,
    AddMessage,
    Archive,
    DropLink,
    MarkProcessed,
    MemoryRecord,
    PutLink,
    Receipt,
    Restore,
    Revise,
    SetEmotions,
    Supersede,
)

__all__ = [
    "add_episode",
    "add_memory",
    "add_message",
    "archive",
    "drop_link",
    "last_transition",
    "mark_processed",
    "put_link",
    "restore",
    "revise",
    "set_emotions",
    "supersede",
]


def _existing_message(t: Transaction, id: str, content: str) -> Receipt:
    sql = "SELECT kind, hash FROM records WHERE user_id = ? AND id = ?"
    kind, held = t.db.execute(sql, (t.user, id)).fetchone()
    if kind != "message":
        return Receipt(id=id, outcome="rejected", reason="a memory has this id: give the message another one")
    if held == rows.message_hash(content):
        return Receipt(id=id, outcome="duplicate", reason="a message with this id and content is stored")
    return Receipt(
        id=id,
        outcome="rejected",
        reason="another message has this id; messages are never rewritten: give the new one another id",
    )


def add_message(t: Transaction, change: AddMessage) -> Receipt:
    """Store a message under its id."""
    message = change.message
    assert message.id is not None
    doc = t.next_doc()
    if not t.insert(rows.message_row(change, doc, t.user, t.at)):
        return _existing_message(t, message.id, message.content)
    pending = t.index(doc, change.indexing)
    t.event("add", doc, message.id)
    return Receipt(id=message.id, outcome="stored", pending=pending)


def add_memory(t: Transaction, change: AddMemory) -> Receipt:
    """Store a memory, unless the same statement is live at the same level."""
    record = change.record
    if (held := t.find_stored(record.id)) and not _is_same_memory(t, record, held):
        reason = (
            "another record of this user has this id, or the memory it names was forgotten: restore() brings it back"
        )
        return Receipt(id=record.id, outcome="rejected", reason=reason)
    same = (
        (record.id,)
        if held
        else _live_duplicate(t, record.project, record.session, rows.content_hash(record.spoken), record.expired_at)
    )
    if same:
        t.alias(record.id, str(same[0]))
        reason = "the same statement is already remembered at this level"
        return Receipt(id=str(same[0]), outcome="duplicate", reason=reason)
    doc = t.next_doc()
    t.insert(rows.memory_row(record, doc, t.user, change.indexing))
    t.add_lineage(doc, record.source_ids)
    pending = t.index(doc, change.indexing)
    if change.enrich:
        t.add_pending("enrich", doc)
    t.event("remember", doc, record.id)
    return Receipt(id=record.id, outcome="stored", pending=pending)


def _is_same_memory(t: Transaction, record: MemoryRecord, held: tuple[str, int, str, int]) -> bool:
    """Whether a stored record is this memory: live, with the same text and level."""
    kind, doc, status, _ = held
    sql = "SELECT hash, project, session FROM records WHERE doc = ?"
    level = (rows.content_hash(record.spoken), record.project, record.session)
    return (
        kind == "memory" and rows.public_status(status) != "archived" and t.db.execute(sql, (doc,)).fetchone() == level
    )


def _live_duplicate(
    t: Transaction, project: str | None, session: str | None, digest: bytes, expired: datetime | None = None
) -> tuple[Any, ...] | None:
    """The live memory with the same text at the same level; among expired ones if ``expired`` is given."""
    expiry = "expired_at IS NULL" if expired is None else "expired_at IS NOT NULL"
    return t.db.execute(
        "SELECT id FROM memories WHERE user_id = ? AND coalesce(project, '') = ? AND coalesce(session, '') = ? "
        f"AND hash = ? AND {LIVE} AND {expiry}",
        (t.user, project or "", session or "", digest),
    ).fetchone()


def revise(t: Transaction, change: Revise) -> Receipt:
    """Write the next version of a memory."""
    record = change.record
    found = t.find_stored(record.id)
    if found is None:
        duplicate = t.required(record.id)  # raises NotFound for an unknown id
        return Receipt(id=record.id, outcome="duplicate", reason=f"another memory says this, number {duplicate[1]}")
    _, doc, status, version = found
    if version == record.version:
        return Receipt(id=record.id, outcome="duplicate", reason="this version is already stored")
    sql = "SELECT expired_at, importance FROM memories WHERE doc = ?"
    expired, importance = t.db.execute(sql, (doc,)).fetchone()
    same_expiry = (expired is None) == (record.expired_at is None)
    erased = any(t.find(id_) is None for id_ in record.source_ids)
    if version != record.version - 1 or rows.public_status(status) == "archived" or not same_expiry or erased:
        reason = "the memory was archived or changed in the meantime; read it again and repeat the update"
        return Receipt(id=record.id, outcome="rejected", reason=reason)
    duplicate = _live_duplicate(t, record.project, record.session, rows.content_hash(record.spoken), record.expired_at)
    if duplicate and duplicate[0] != record.id:
        return Receipt(id=record.id, outcome="rejected", reason=f"the memory {duplicate[0]!r} already says this")
    importance = record.importance if change.weighs else importance
    record = replace(record, status=status, importance=importance)  # it may have been promoted since the caller read it
    t.unindex(doc)
    t.rewrite(rows.memory_row(record, doc, t.user, change.indexing), version)
    t.add_lineage(doc, [id_ for id_ in record.source_ids if (source := t.find(id_)) and source[0] == "message"])
    pending = t.index(doc, change.indexing)
    if change.left and change.operation == "update":
        t.add_pending("enrich", doc)
    elif not change.left and change.operation == "enrich":
        t.db.execute("DELETE FROM pending WHERE task = 'enrich' AND doc = ?", (doc,))
    t.event(change.operation, doc, record.id, record.version)
    return Receipt(id=record.id, outcome="stored", pending=pending)


def archive(t: Transaction, change: Archive) -> Receipt:
    """Remove a record from search; it can be restored."""
    _, doc, status, version = t.required(change.id)
    if rows.public_status(status) == "archived":
        if last_transition(t, doc)[0] != "absorb":
            return Receipt(id=change.id, outcome="duplicate", reason="already archived")
        t.event("archive", doc, change.id, version, reason=change.reason)
        return Receipt(
            id=change.id, outcome="forgotten", reason="it was absorbed by another memory; undo will not restore it"
        )
    sql = "UPDATE records SET tier_before = status, status = 'archived' WHERE doc = ?"
    t.db.execute(sql, (doc,))
    t.event("archive", doc, change.id, version, reason=change.reason)
    return Receipt(id=change.id, outcome="forgotten", reason=_superseded_note(t, doc))


def _superseded_note(t: Transaction, doc: int) -> str:
    """A note that names the memories a forgotten one had replaced: only the user can decide whether they are true again."""
    sql = f"""SELECT m.id FROM links l JOIN memories m ON m.doc = l.target WHERE l.source = ? AND l.type = 'supersedes'
        AND m.{LIVE} AND m.expired_at IS NOT NULL ORDER BY m.doc"""
    before = [row[0] for row in t.db.execute(sql, (doc,)).fetchall()]
    if not before:
        return ""
    return f"it had taken the place of {', '.join(map(repr, before))}: restore() makes that hold again"


def last_transition(t: Transaction, doc: int) -> tuple[str, str]:
    """The last operation that archived or restored a record, and its consolidation if there was one."""
    sql = """SELECT operation, detail FROM events WHERE doc = ?
        AND operation IN ('absorb', 'archive', 'restore', 'undo') ORDER BY sequence DESC LIMIT 1"""
    row = t.db.execute(sql, (doc,)).fetchone()
    return (row[0], json.loads(row[1]).get("consolidation", "")) if row else ("", "")


def restore(t: Transaction, change: Restore) -> Receipt:
    """Bring an archived record back."""
    kind, doc, status, version = t.required(change.id)
    if status == "quarantined":
        reason = "it is in quarantine, perhaps for something it was made from: release() brings both back"
        return Receipt(id=change.id, outcome="rejected", reason=reason)
    if status != "archived":
        return _reinstate(t, change.id, doc, version) if kind == "memory" else _not_archived(change.id)
    if kind == "memory":
        project, session, digest, expired = t.db.execute(
            "SELECT project, session, hash, expired_at FROM memories WHERE doc = ?", (doc,)
        ).fetchone()
        if expired is None and (duplicate := _live_duplicate(t, project, session, digest)):
            return Receipt(id=change.id, outcome="rejected", reason=f"the memory {duplicate[0]!r} already says this")
    sql = "UPDATE records SET status = coalesce(tier_before, 'short_term'), tier_before = NULL WHERE doc = ?"
    t.db.execute(sql, (doc,))
    t.event("restore", doc, change.id, version)
    return Receipt(id=change.id, outcome="restored")


def _not_archived(id: str) -> Receipt:
    return Receipt(id=id, outcome="duplicate", reason="not archived")


def _reinstate(t: Transaction, id: str, doc: int, version: int) -> Receipt:
    """Make a superseded memory current again, if all its successors were forgotten or unlinked since."""
    sql = """SELECT s.id, s.status FROM links l JOIN memories s ON s.doc = l.source
        WHERE l.target = ? AND l.type = 'supersedes' ORDER BY s.doc"""
    later = t.db.execute(sql, (doc,)).fetchall()
    sql = "SELECT project, session, hash, expired_at FROM memories WHERE doc = ?"
    project, session, digest, expired = t.db.execute(sql, (doc,)).fetchone()
    if expired is None or (not later and not _was_unlinked(t, doc)):
        return _not_archived(id)
    if held := [name for name, status in later if rows.public_status(status) != "archived"]:
        return Receipt(id=id, outcome="duplicate", reason=f"not archived: {held[0]!r} took its place, and holds")
    if duplicate := _live_duplicate(t, project, session, digest):
        return Receipt(id=id, outcome="rejected", reason=f"the memory {duplicate[0]!r} already says this")
    t.db.execute("UPDATE records SET expired_at = NULL, invalid_at = NULL WHERE doc = ?", (doc,))
    t.db.execute("DELETE FROM links WHERE target = ? AND type = 'supersedes'", (doc,))
    t.event("restore", doc, id, version, after=[name for name, _ in later])
    return Receipt(id=id, outcome="restored", reason="it holds again")


def _was_unlinked(t: Transaction, doc: int) -> bool:
    """Whether the link from the successor of a memory was removed."""
    found = t.db.execute("SELECT detail FROM events WHERE doc = ? AND operation = 'unlink'", (doc,)).fetchall()
    details = [json.loads(detail) for (detail,) in found]
    return any("source" in one and "supersedes" in one["types"] for one in details)


def add_episode(t: Transaction, change: AddEpisode) -> Receipt:
    """Store an episode or its next version, and assign its messages to it."""
    record = change.record
    held = t.find(record.id)
    if held and (held[0] != "episode" or rows.public_status(held[2]) == "archived" or held[3] > record.version):
        raise Conflict(
            f"The episode {record.id!r} was changed or merged in the meantime. Nothing was stored; process() again."
        )
    if held and held[3] == record.version:
        return Receipt(id=record.id, outcome="duplicate", reason="this episode is stored")
    doc = held[1] if held else t.next_doc()
    values = rows.episode_row(change, doc, t.user)
    if held:
        t.unindex(doc)
        t.rewrite(values, held[3])
    else:
        t.insert(values)
    _assign_messages(t, doc, change)
    t.add_lineage(doc, (*record.source_ids, *record.message_ids))
    pending = t.index(doc, change.indexing)
    t.db.execute("DELETE FROM pending WHERE task = 'refine' AND doc = ?", (doc,))
    if change.refine:
        t.add_pending("refine", doc)
    t.event("episode", doc, record.id, record.version)
    return Receipt(id=record.id, outcome="stored", pending=pending)


def _assign_messages(t: Transaction, doc: int, change: AddEpisode) -> None:
    """Assign messages to an episode, unless another process assigned one of them to another episode in the meantime.

    Messages of a merged episode stay with it when one of its restored sources gets a new version.
    """
    parents = [found[1] for id_ in change.record.source_ids if (found := t.find(id_))]
    wanted = t.bind_list(change.record.message_ids)
    sql = """UPDATE records SET episode = ?, waits = 0 WHERE user_id = ? AND id IN (SELECT value FROM json_each(?))
        AND (waits = 1 OR episode IN (SELECT value FROM json_each(?)))"""
    t.db.execute(sql, (doc, t.user, wanted, t.bind_list(parents)))
    sql = """SELECT count(*) FROM messages WHERE user_id = ? AND id IN (SELECT value FROM json_each(?)) AND (episode = ?
        OR EXISTS (SELECT 1 FROM lineage WHERE child = ? AND parent = messages.doc))"""
    (filed,) = t.db.execute(sql, (t.user, wanted, doc, doc)).fetchone()
    if filed != len(set(change.record.message_ids)):
        raise Conflict(
            f"Some messages of episode {change.record.id!r} belong to another episode by now: another process processed them. "
            "Nothing was stored; process() continues with the unprocessed ones."
        )


def mark_processed(t: Transaction, change: MarkProcessed) -> Receipt:
    """Mark messages as processed without an episode."""
    sql = "UPDATE records SET waits = 0 WHERE user_id = ? AND waits = 1 AND id IN (SELECT value FROM json_each(?))"
    t.db.execute(sql, (t.user, t.bind_list(change.ids)))
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def set_emotions(t: Transaction, change: SetEmotions) -> Receipt:
    """Store the emotions of messages."""
    sql = "UPDATE records SET valence = ?, arousal = ?, emotion_confidence = ? WHERE user_id = ? AND id = ?"
    for id_, emotion in change.emotions.items():
        t.db.execute(sql, (emotion.valence, emotion.arousal, emotion.confidence, t.user, id_))
    return Receipt(id="", outcome="stored")


def _memory_doc(t: Transaction, id: str) -> int:
    kind, doc, _, _ = t.required(id)
    if kind != "memory":
        raise InvalidInput(f"{id!r} is not a memory; only memories can be linked and superseded.")
    return doc


def supersede(t: Transaction, change: Supersede) -> Receipt:
    """End the validity of a memory, and link its successor."""
    doc = _memory_doc(t, change.id)
    if change.by is not None and change.by != change.id and _memory_doc(t, change.by) == doc:
        return Receipt(id=change.id, outcome="duplicate", reason="nothing takes its own place")
    ended = None if change.at is None else to_micros(change.at)
    held = t.db.execute(
        "SELECT expired_at, invalid_at, valid_at, version FROM memories WHERE doc = ?", (doc,)
    ).fetchone()
    if held[0] is None:
        if ended is not None and held[1] is not None:
            ended = min(ended, held[1])
        if ended is not None and ended > t.at:  # valid until then
            t.db.execute("UPDATE records SET invalid_at = ? WHERE doc = ?", (ended, doc))
            t.event("supersede", doc, change.id, held[3], by=change.by, reason=change.reason)
            return Receipt(id=change.id, outcome="stored", reason="it holds until another takes its place")
        sql = "UPDATE records SET expired_at = ?, invalid_at = coalesce(?, invalid_at) WHERE doc = ?"
        t.db.execute(sql, (t.at, ended, doc))
        t.event("supersede", doc, change.id, held[3], by=change.by, reason=change.reason)
    elif ended is not None and (held[1] is None or ended < held[1]):
        t.db.execute("UPDATE records SET invalid_at = ? WHERE doc = ?", (ended, doc))
        t.event("supersede", doc, change.id, held[3], by=change.by, reason=change.reason)
    linked = change.by is not None and _link_successor(t, _memory_doc(t, change.by), doc, change.reason)
    if held[0] is not None:
        if linked:
            t.event("link", doc, change.id, held[3], source=change.by, type="supersedes")
        return Receipt(id=change.id, outcome="duplicate", reason="its time had ended before")
    return Receipt(id=change.id, outcome="stored")


def _link_successor(t: Transaction, source: int, target: int, reason: str) -> bool:
    """Link a memory to its successor, unless they are linked; returns whether the link is new."""
    held = "SELECT 1 FROM links WHERE source = ? AND target = ? AND type = 'supersedes'"
    return not t.db.execute(held, (source, target)).fetchall() and _upsert_link(
        t, source, target, "supersedes", 1.0, reason
    )


def _upsert_link(t: Transaction, source: int, target: int, kind: str, strength: float, reason: str) -> bool:
    """Insert or update a link; returns whether anything changed."""
    if source == target:
        raise InvalidInput("A memory cannot be linked to itself.")
    found = t.db.execute(
        """INSERT INTO links(user_id, source, target, type, strength, reason, created_at) VALUES(?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT(source, target, type) DO UPDATE SET strength = excluded.strength, reason = excluded.reason
        WHERE (links.strength, links.reason) != (excluded.strength, excluded.reason) RETURNING 1""",
        (t.user, source, target, kind, strength, reason, t.at),
    ).fetchall()
    return bool(found)


def put_link(t: Transaction, change: PutLink) -> Receipt:
    """Link two memories."""
    link = change.link
    source, target = _memory_doc(t, link.source), _memory_doc(t, link.target)
    if source == target and link.source != link.target:
        return Receipt(id=link.source, outcome="duplicate", reason="both are one memory")
    if not _upsert_link(t, source, target, link.type, link.strength, link.reason):
        return Receipt(id=link.source, outcome="duplicate", reason="linked so already")
    t.event("link", source, link.source, target=link.target, type=link.type)
    t.event("link", target, link.target, source=link.source, type=link.type)
    return Receipt(id=link.source, outcome="stored")


def drop_link(t: Transaction, change: DropLink) -> Receipt:
    """Remove links from one memory to another."""
    source, target = _memory_doc(t, change.source), _memory_doc(t, change.target)
    sql = "DELETE FROM links WHERE source = ? AND target = ? AND type = coalesce(?, type) RETURNING type"
    gone = [row[0] for row in t.db.execute(sql, (source, target, change.type)).fetchall()]
    if not gone:
        return Receipt(id=change.source, outcome="duplicate", reason="there was no such link")
    t.event("unlink", source, change.source, target=change.target, types=gone)
    t.event("unlink", target, change.target, source=change.source, types=gone)
    return Receipt(id=change.source, outcome="stored")
