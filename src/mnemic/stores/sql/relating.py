"""Changes that relate records: episodes to their messages, memories to each other and to their time."""

from __future__ import annotations

from mnemic.errors import Conflict, InvalidInput
from mnemic.stores.sql import rows
from mnemic.stores.sql.transaction import Transaction
from mnemic.text.clock import to_micros
from mnemic.types import AddEpisode, DropLink, Feel, PutLink, Receipt, Settle, Supersede

__all__ = ["add_episode", "drop_link", "feel", "put_link", "settle", "supersede"]


def add_episode(t: Transaction, change: AddEpisode) -> Receipt:
    """Store an episode, or its next version, and file its messages under it."""
    record = change.record
    held = t.find(record.id)
    if held and (held[0] != "episode" or rows.shown(held[2]) == "archived" or held[3] > record.version):
        raise Conflict(
            f"The episode {record.id!r} was changed or merged meanwhile. Nothing was stored; process() again."
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
    _file(t, doc, change)
    t.add_lineage(doc, (*record.source_ids, *record.message_ids))
    pending = t.index(doc, change.indexing)
    t.db.execute("DELETE FROM pending WHERE task = 'refine' AND doc = ?", (doc,))
    if change.refine:
        t.leave("refine", doc)
    t.event("episode", doc, record.id, record.version)
    return Receipt(id=record.id, outcome="stored", pending=pending)


def _file(t: Transaction, doc: int, change: AddEpisode) -> None:
    """File the messages of an episode under it, unless another process has filed one of them elsewhere meanwhile.

    Those that a merged episode took over stay with that, when a part of it that was restored is told again.
    """
    parents = [found[1] for id_ in change.record.source_ids if (found := t.find(id_))]
    wanted = t.many(change.record.message_ids)
    sql = """UPDATE records SET episode = ?, waits = 0 WHERE user_id = ? AND id IN (SELECT value FROM json_each(?))
        AND (waits = 1 OR episode IN (SELECT value FROM json_each(?)))"""
    t.db.execute(sql, (doc, t.user, wanted, t.many(parents)))
    sql = """SELECT count(*) FROM messages WHERE user_id = ? AND id IN (SELECT value FROM json_each(?)) AND (episode = ?
        OR EXISTS (SELECT 1 FROM lineage WHERE child = ? AND parent = messages.doc))"""
    (filed,) = t.db.execute(sql, (t.user, wanted, doc, doc)).fetchone()
    if filed != len(set(change.record.message_ids)):
        raise Conflict(
            f"Of the messages of episode {change.record.id!r} some belong to another episode by now: they were processed "
            "elsewhere meanwhile. Nothing was stored; process() goes on with what still waits."
        )


def settle(t: Transaction, change: Settle) -> Receipt:
    """Messages that were looked at and belong to no episode."""
    sql = "UPDATE records SET waits = 0 WHERE user_id = ? AND waits = 1 AND id IN (SELECT value FROM json_each(?))"
    t.db.execute(sql, (t.user, t.many(change.ids)))
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def feel(t: Transaction, change: Feel) -> Receipt:
    """Note what messages feel like."""
    sql = "UPDATE records SET valence = ?, arousal = ?, emotion_confidence = ? WHERE user_id = ? AND id = ?"
    for id_, emotion in change.emotions.items():
        t.db.execute(sql, (emotion.valence, emotion.arousal, emotion.confidence, t.user, id_))
    return Receipt(id="", outcome="stored")


def _memory(t: Transaction, id: str) -> int:
    kind, doc, _, _ = t.required(id)
    if kind != "memory":
        raise InvalidInput(f"{id!r} is no memory; only memories are linked and superseded.")
    return doc


def supersede(t: Transaction, change: Supersede) -> Receipt:
    """End a memory's time, and link what takes its place."""
    doc = _memory(t, change.id)
    if change.by is not None and change.by != change.id and _memory(t, change.by) == doc:
        return Receipt(id=change.id, outcome="duplicate", reason="nothing takes its own place")
    ended = None if change.at is None else to_micros(change.at)
    held = t.db.execute(
        "SELECT expired_at, invalid_at, valid_at, version FROM memories WHERE doc = ?", (doc,)
    ).fetchone()
    if held[0] is None:
        if ended is not None and held[1] is not None:
            ended = min(ended, held[1])
        if ended is not None and ended > t.at:  # it is believed, and true until then
            t.db.execute("UPDATE records SET invalid_at = ? WHERE doc = ?", (ended, doc))
            t.event("supersede", doc, change.id, held[3], by=change.by, reason=change.reason)
            return Receipt(id=change.id, outcome="stored", reason="it holds until another takes its place")
        sql = "UPDATE records SET expired_at = ?, invalid_at = coalesce(?, invalid_at) WHERE doc = ?"
        t.db.execute(sql, (t.at, ended, doc))
        t.event("supersede", doc, change.id, held[3], by=change.by, reason=change.reason)
    elif ended is not None and (held[1] is None or ended < held[1]):
        t.db.execute("UPDATE records SET invalid_at = ? WHERE doc = ?", (ended, doc))
        t.event("supersede", doc, change.id, held[3], by=change.by, reason=change.reason)
    linked = change.by is not None and _replaced(t, _memory(t, change.by), doc, change.reason)
    if held[0] is not None:
        if linked:
            t.event("link", doc, change.id, held[3], source=change.by, type="supersedes")
        return Receipt(id=change.id, outcome="duplicate", reason="its time had ended before")
    return Receipt(id=change.id, outcome="stored")


def _replaced(t: Transaction, source: int, target: int, reason: str) -> bool:
    """Link what takes the place of a memory, unless somebody has linked them already; whether that is new."""
    held = "SELECT 1 FROM links WHERE source = ? AND target = ? AND type = 'supersedes'"
    return not t.db.execute(held, (source, target)).fetchall() and _link(t, source, target, "supersedes", 1.0, reason)


def _link(t: Transaction, source: int, target: int, kind: str, strength: float, reason: str) -> bool:
    """Write an edge; whether anything changed."""
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
    source, target = _memory(t, link.source), _memory(t, link.target)
    if source == target and link.source != link.target:
        return Receipt(id=link.source, outcome="duplicate", reason="both are one memory")
    if not _link(t, source, target, link.type, link.strength, link.reason):
        return Receipt(id=link.source, outcome="duplicate", reason="linked so already")
    t.event("link", source, link.source, target=link.target, type=link.type)
    t.event("link", target, link.target, source=link.source, type=link.type)
    return Receipt(id=link.source, outcome="stored")


def drop_link(t: Transaction, change: DropLink) -> Receipt:
    """Remove links from one memory to another."""
    source, target = _memory(t, change.source), _memory(t, change.target)
    sql = "DELETE FROM links WHERE source = ? AND target = ? AND type = coalesce(?, type) RETURNING type"
    gone = [row[0] for row in t.db.execute(sql, (source, target, change.type)).fetchall()]
    if not gone:
        return Receipt(id=change.source, outcome="duplicate", reason="there was no such link")
    t.event("unlink", source, change.source, target=change.target, types=gone)
    t.event("unlink", target, change.target, source=change.source, types=gone)
    return Receipt(id=change.source, outcome="stored")
