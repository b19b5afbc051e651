"""The commands for whole records: counts, users, exports, backups, ``migrate``, ``sync`` and ``reembed``."""

from __future__ import annotations

import io
import os
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from mnemic.cli.config import open_memory, open_runtime, read_secret, record_file, require_record
from mnemic.cli.output import (
    LONGEST,
    Answer,
    enumerated,
    facts,
    found,
    moment,
    place,
    progress_bar,
    stdout,
    table,
    warn,
)
from mnemic.cli.parser import command, flag, option
from mnemic.errors import InvalidInput
from mnemic.paths import environment, is_address, path_of
from mnemic.text.values import as_object, counted, one_line
from mnemic.types import Kind

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory
    from mnemic.transfer.records import MovedUser
    from mnemic.types import Stats, VerifyReport


@command("count records")
def stats(args: Namespace) -> Answer:
    """Count the records of one user, and the size of the whole record; mnemic users lists the users.

    examples:
      mnemic stats --user ana
    """
    with open_memory(args) as memory:
        counts = memory.stats()
    _suggest_users(args, counts)
    named = {"user": args.user, "preferences": counts.preferences, "summaries": counts.summaries}
    rows = facts(counts, "location", "schema_version", "bytes_on_disk", "llm")
    return Answer({**named, **as_object(counts)}, table([("user", args.user), ("memory", place(counts)), *rows]))


def _suggest_users(args: Namespace, stats: Stats) -> None:
    """If the user has no records, mention the number of others: perhaps another name was meant."""
    if stats.messages or stats.episodes or stats.memories:
        return
    names = _user_names(args)
    if args.user not in names and (others := len(names)):
        has = "user has" if others == 1 else "users have"
        warn(f"the user {one_line(args.user)} has no records; {others} other {has} some: mnemic users.")


@command("list the users of the record")
def users(args: Namespace) -> Answer:
    """List the users of the whole record, oldest first, with the number of messages and memories and the last write.
    Exit code 1 if there are none.

    examples:
      mnemic users
      mnemic users --json
      mnemic --dir ~/.mnemic users
    """
    with open_memory(args) as memory:
        rows = [_user(memory.scoped(user=name), name) for name in _user_names(args)]
    lines = table((one_line(user["user"]), _user_line(**user)) for user in rows)
    return found({"users": rows}, lines, "the record has no users.")


def _user_line(*, messages: int, memories: int, last_write: datetime | None, **_: object) -> str:
    return f"{counted({'message': messages, 'memory': memories})}, last write {moment(last_write)}"


def _user_names(args: Namespace) -> list[str]:
    """The users of the record, oldest first."""
    with closing(open_runtime(args)) as runtime:
        return runtime.store.transfer.users()


def _user(memory: Memory, name: str) -> dict[str, Any]:
    """Counts of a user: live records, unprocessed messages, and the time of the last write."""
    stats, last = memory.stats(), memory.admin.log(kinds=get_args(Kind), limit=1)
    memories = sum(count for status, count in stats.memories.items() if status != "archived")
    counts = {"messages": stats.messages, "memories": memories, "waiting": stats.pending.get("process", 0)}
    return {"user": name, **counts, "last_write": last[0].at if last else None}


@command("recompute all vectors")
def reembed(args: Namespace) -> Answer:
    """Compute all vectors of the record again with the embedder of --embedder, for all users. Searches continue in the
    meantime; an interrupted run is resumed by the next.

    examples:
      mnemic reembed
      mnemic reembed --embedder openai:text-embedding-3-small
    """
    with open_memory(args) as memory:
        with progress_bar("vector") as step:
            count = memory.admin.reembed(progress=step)
        stats = memory.stats()
    model, dimension = stats.embedding_model, stats.dimension
    document = {"made": count, "embedding_model": model, "dimension": dimension}
    return Answer(document, [f"{counted({'vector': count})} computed with {model}, dimension {dimension}."])


@command(
    "write a user's memory to a file",
    option("file", "the output file; - is stdout", metavar="FILE"),
    flag("--vectors", "include the vectors: larger, but the import needs no embedder"),
    flag("--force", "overwrite an existing file"),
)
def export(args: Namespace) -> Answer:
    """Write all records of one user to a JSONL file: messages, episodes, memories with their lineage, times, statuses
    and versions, and links. mnemic import FILE --format mnemic imports it into another folder or under another name;
    exporting that again gives the same bytes. Vectors are computed again on import, unless --vectors includes them.
    The file is readable by its owner only; an existing one is overwritten only with --force. With - it goes to
    stdout.

    examples:
      mnemic export ana.jsonl --user ana
      mnemic export - --user ana | gzip > ana.jsonl.gz
    """
    require_record(args.dir)
    piped = args.file == "-"
    if piped and args.json:
        raise InvalidInput("stdout cannot have both the export and the output of --json. Name a file.")
    if not piped and not args.force and os.path.isfile(path_of(args.file)):  # noqa: PTH113 - is_file may raise
        raise InvalidInput(f"{args.file} exists. Name another file, or overwrite it with --force.")
    content = io.StringIO()
    with open_memory(args) as memory:
        counts = memory.admin.export(content if piped else args.file, vectors=args.vectors)
    if piped:
        stdout().flush()
        stdout().buffer.write(content.getvalue().encode())
    note = f"{counted(counts)} written to {'stdout' if piped else args.file}."
    return Answer({"file": args.file, "counts": counts}, notes=[note], fine=any(counts.values()))


@command("copy the whole record while it is in use", option("folder", "the target: a new folder", metavar="FOLDER"))
def backup(args: Namespace) -> Answer:
    """Copy the whole record with all users to a new folder while it is in use, and verify the copy. Nothing is
    overwritten. The folder is a complete memory; records erased later stay in it.

    examples:
      mnemic backup ~/backups/memory-2026-11-22
      mnemic --dir ./notes backup ~/backups/notes
    """
    with open_memory(args) as memory, progress_bar("page") as step:
        return _copy_answer(memory.admin.backup(args.folder, progress=step), args.folder)


@command("create a memory from a backup", option("folder", "a folder written by mnemic backup", metavar="FOLDER"))
def restore_backup(args: Namespace) -> Answer:
    """Create a memory from a backup in the folder of --dir, which must not contain one: move a damaged folder away
    first. The backup is verified and kept. (mnemic restore restores single forgotten records.)

    examples:
      mnemic --dir ./memory restore-backup ~/backups/memory-2026-11-22
    """
    from mnemic.runtime.config import record_key
    from mnemic.transfer import records

    record_file(args.dir)  # refuses RAM
    with progress_bar("page") as step:
        report = records.restore_backup(args.folder, args.dir, step, key=record_key(args.folder))
    return _copy_answer(report, args.dir)


@command("encrypt the record, or change or remove its key", flag("--remove", "decrypt the record"))
def rekey(args: Namespace) -> Answer:
    """Encrypt a plain record with all its users under the key in MNEMIC_KEY, or give an encrypted one another key. Its
    present key comes from MNEMIC_KEY or the keyring; a new one is entered without echo, or read from a pipe. No other
    process may have the record open. Whatever happens, it is whole under the old key or the new one. Backups and
    exports keep the key that they were made with. Needs: pip install "mnemic[encrypted]"

    examples:
      mnemic rekey
      pass show memory | mnemic rekey
      mnemic rekey --remove
    """
    from mnemic.memory import Memory

    require_record(args.dir)
    present = _present_key(args.dir)
    key = None
    if not args.remove:
        given = environment("MNEMIC_KEY") if present is None else None
        key = given or read_secret("The new key", repeat=True).rstrip("\r\n")
    with Memory(args.dir, embedder="hashing", key=present) as memory, progress_bar("page") as step:
        memory.admin.rekey(key, progress=step)
    if key is None:
        return Answer({"encrypted": False}, ["The record is not encrypted any more."])
    advice = "From now on, set MNEMIC_KEY to the key, or store it: mnemic keys set mnemic"
    return Answer({"encrypted": True}, ["The record is encrypted under the new key."], [advice])


def _copy_answer(report: VerifyReport, folder: str) -> Answer:
    document = {"folder": folder, "ok": report.ok, "checked": report.checks}
    return Answer(document, [f"copied to {folder} and verified: {enumerated(report.checks)}."])


def _present_key(location: str) -> str | None:
    """The key of an encrypted record; None for a plain one, whatever MNEMIC_KEY is to make of it."""
    from mnemic.runtime.config import record_key
    from mnemic.stores import SqliteStore

    encrypted = not is_address(location) and SqliteStore.encrypted(path_of(location))
    return record_key(location) if encrypted else None


@command(
    "copy a record to another folder or to PostgreSQL",
    option("--from", "a folder or postgresql://...", dest="source", required=True, metavar="PLACE"),
    option("--to", "the target; created if missing", dest="target", required=True, metavar="PLACE"),
)
def migrate(args: Namespace) -> Answer:
    """Copy a whole record with all users from a folder to PostgreSQL, back, or to another store of the same kind. Rows
    are copied unchanged, with versions, events and vectors: nothing is embedded again. Each user is copied in one
    transaction, which ends when all rows were compared; after an interruption, run it again. At the end both stores are
    verified. The source is not changed, and must not be written to in the meantime. MNEMIC_KEY is the key of an
    encrypted source, and encrypts a target that is a folder.

    examples:
      mnemic migrate --from ./memory --to postgresql://localhost/app
      mnemic migrate --from "postgresql://localhost/app?schema=mnemic" --to ./memory
    """
    from mnemic.runtime.config import record_key
    from mnemic.transfer import records

    keys = {
        "source_key": _present_key(args.source),
        "target_key": None if is_address(args.target) else record_key(args.target),
    }
    with progress_bar("row") as step:
        moves = records.migrate(args.source, args.target, step, **keys)
    lines = [f"{one_line(user.user)}: {_counts(user)}  {user.digest}" for user in moves.users]
    for finding in () if args.json else moves.findings:
        warn(finding)
    ending = "Both stores passed verification." if moves.ok else "Verification found problems: see above."
    lines.append(f"{counted({'user': len(moves.users)})} in {moves.target}, rows equal ({moves.digest}). {ending}")
    return Answer({"ok": moves.ok, "digest": moves.digest, **as_object(moves)}, lines, fine=moves.ok)


def _counts(user: MovedUser) -> str:
    """What was moved of a user, or was in the target before."""
    return f"{counted({'record': user.records, 'event': user.events})} {'were there' if user.before else 'moved'}"


@command(
    "merge a user's memories on two devices",
    option("dir", "one record: a folder or postgresql://...", metavar="PLACE"),
    option("other", "the other one", metavar="OTHER"),
    flag("--dry-run", "report what would change, and change nothing"),
)
def sync(args: Namespace) -> Answer:
    """Merge the records of one user in two places; afterwards both are equal. What either side added is on both. Of a
    record that both sides changed the last text holds, and its history keeps the other: these are listed. What either
    side erased is erased on both. Other users stay as they are. Syncing again changes nothing, and completes a run that
    was interrupted.

    examples:
      mnemic sync ./memory /media/stick/memory --user ana
      mnemic sync ./memory postgresql://localhost/app --user ana --dry-run
    """
    from mnemic.runtime.config import record_key

    key = None if is_address(args.other) else record_key(args.other)  # a server takes none
    with open_memory(args) as memory, progress_bar("record") as step:
        report = memory.admin.sync(args.other, dry_run=args.dry_run, progress=step, key=key)
    lines = [
        f"{one_line(side.location)}: {side.added} added, {side.updated} updated, {side.erased} erased, "
        f"{side.unchanged} unchanged"
        for side in report.sides
    ]
    for conflict in report.conflicts:
        lines.append(f"changed on both sides  [{one_line(conflict.id)}]  {', '.join(conflict.differs)}")
        lines.append(f"    holds now, of {moment(conflict.kept_at)}: {one_line(conflict.kept, LONGEST)}")
        if conflict.other != conflict.kept:
            lines.append(f"    in its history, of {moment(conflict.other_at)}: {one_line(conflict.other, LONGEST)}")
    return Answer(report, lines, ["nothing was changed: this is what would be done."] if args.dry_run else [])
