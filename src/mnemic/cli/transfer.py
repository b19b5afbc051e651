"""The commands for whole records: export and its import, backups, ``migrate`` and ``reembed``."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mnemic.cli.handles import SERVERS, bytes_of_record, open_memory, progress_bar, record_file, require_record
from mnemic.cli.output import counted, one_line, say, say_json, stdout, warn
from mnemic.errors import InvalidInput
from mnemic.runtime import factory, scopes
from mnemic.runtime.redaction import policy_from
from mnemic.transfer import backup, export, migrate
from mnemic.types import Scope

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.runtime.runtime import Runtime
    from mnemic.types import VerifyReport

__all__ = ["COMMANDS", "has_record", "import_export", "is_export", "refuse_ram"]


def refuse_ram(folder: str) -> None:
    """Refuse a memory in RAM, which ends with the command.

    Raises:
        ConfigurationError: the folder is ``:memory:``.
    """
    if not folder.startswith(SERVERS):
        record_file(folder)


def has_record(folder: str) -> bool:
    """Whether there is a memory in a folder or on a server; creates nothing.

    Raises:
        ConfigurationError: the folder is ``:memory:``.
        StoreError: the server cannot be reached, or the folder cannot be accessed.
    """
    return backup.probe_server(folder)[1] if folder.startswith(SERVERS) else bool(bytes_of_record(folder))


@contextmanager
def _open(arguments: Namespace) -> Generator[tuple[Runtime, Scope]]:
    """The record of the options, and the scope of the user."""
    refuse_ram(arguments.dir)
    scope = scopes.scope(arguments.user, None, None)
    runtime = factory.open_runtime(
        arguments.dir, embedder=arguments.embedder, tokenizer=None, reranker=None, llm=None, processing=None,
        consolidator=None, idle=None, retention=None, secrets=policy_from("redact"), durability="FULL",
    )  # fmt: skip
    try:
        yield runtime, scope
    finally:
        runtime.close()


def _export(arguments: Namespace) -> bool:
    require_record(arguments.dir)
    there = arguments.file == "-"
    if there and arguments.json:
        raise InvalidInput("stdout cannot have both the export and the output of --json. Name a file.")
    if not there and not arguments.force and os.path.isfile(Path(arguments.file).expanduser()):  # noqa: PTH113 - is_file may raise
        raise InvalidInput(f"{arguments.file} exists. Name another file, or overwrite it with --force.")
    with _open(arguments) as (runtime, scope):
        held = io.StringIO()
        counts = export.export(runtime, scope, held if there else arguments.file, vectors=arguments.vectors)
    if there:
        out = stdout()
        out.flush()
        out.buffer.write(held.getvalue().encode())
    left_out = counts.pop("left_out")
    if arguments.json:
        say_json({"file": arguments.file, "counts": counts, "left_out": left_out})
    else:
        warn(f"{counted(counts)} written to {'stdout' if there else arguments.file}.")
        if left_out:
            warn(f"{counted({'link': left_out})} between forgotten memories left out.")
    return any(counts.values())


def is_export(content: str) -> bool:
    """Whether a text begins with the header of an export."""
    try:
        header = json.loads(content.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and {"mnemic", "counts"} <= set(cast("dict[str, object]", header))


def import_export(arguments: Namespace, content: str) -> bool:
    """Import an export into a user without records."""
    with _open(arguments) as (runtime, scope), progress_bar("record") as step:
        counts = export.restore_from(runtime, scope, io.StringIO(content), progress=step)
    if arguments.json:
        say_json({"file": arguments.file, "format": "mnemic", "counts": counts})
    else:
        say(f"{arguments.file} (mnemic): {counted(counts)} stored for {arguments.user}")
    return True


def _reembed(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        with progress_bar("vector") as step:
            made = memory.admin.reembed(progress=step)
        stats = memory.stats()
    if arguments.json:
        say_json({"made": made, "embedding_model": stats.embedding_model, "dimension": stats.dimension})
    else:
        say(f"{made} vectors computed with {stats.embedding_model}, dimension {stats.dimension}.")
    return True


def _backup(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory, progress_bar("page") as step:
        report = memory.admin.backup(arguments.folder, progress=step)
    return _print_report(arguments, report, arguments.folder)


def _restore_backup(arguments: Namespace) -> bool:
    record_file(arguments.dir)  # refuses RAM
    with progress_bar("page") as step:
        report = backup.restore_backup(arguments.folder, arguments.dir, step)
    return _print_report(arguments, report, arguments.dir)


def _print_report(arguments: Namespace, report: VerifyReport, folder: str) -> bool:
    if arguments.json:
        say_json({"folder": folder, "ok": report.ok, "checked": dict(report.checks)})
    else:
        names = {"messages": "message", "episodes": "episode", "memories": "memory"}
        counts = {one: report.checks[many] for many, one in names.items()}
        say(f"{counted(counts)} copied to {folder}, and verified.")
    return True


def _migrate(arguments: Namespace) -> bool:
    with progress_bar("row") as step:
        moves = migrate.migrate(arguments.source, arguments.target, step)
    if arguments.json:
        users = [
            {"user": m.user, "records": m.records, "events": m.events, "hash": m.digest, "was_there": m.before}
            for m in moves.users
        ]
        say_json({"ok": moves.ok, "users": users, "hash": moves.digest, "findings": list(moves.findings)})
        return moves.ok
    for moved in moves.users:
        state = "was there" if moved.before else "moved"
        rows = counted({"record": moved.records, "event": moved.events})
        say(f"{one_line(moved.user)}: {rows}  {moved.digest}  {state}")
    for finding in moves.findings:
        warn(finding)
    ending = "Both verify." if moves.ok else "verify has findings, above."
    say(f"{counted({'user': len(moves.users)})} in {moves.target}, rows equal ({moves.digest}). {ending}")
    return moves.ok


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {
    "backup": _backup,
    "export": _export,
    "migrate": _migrate,
    "reembed": _reembed,
    "restore-backup": _restore_backup,
}
