"""The commands ``backup`` and ``restore-backup``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mnemic.cli.opening import open_memory, progress_bar, record_file
from mnemic.cli.output import counted, say, say_json
from mnemic.flows import backing

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.types import VerifyReport

__all__ = ["COMMANDS"]


def _backup(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory, progress_bar("page") as step:
        report = memory.backup(arguments.folder, progress=step)
    return _told(arguments, report, arguments.folder)


def _restore_backup(arguments: Namespace) -> bool:
    record_file(arguments.dir)  # refuses RAM
    with progress_bar("page") as step:
        report = backing.restore_backup(arguments.folder, arguments.dir, step)
    return _told(arguments, report, arguments.dir)


def _told(arguments: Namespace, report: VerifyReport, folder: str) -> bool:
    if arguments.json:
        say_json({"folder": folder, "ok": report.ok, "checked": dict(report.checks)})
    else:
        names = {"messages": "message", "episodes": "episode", "memories": "memory"}
        counts = {one: report.checks[many] for many, one in names.items()}
        say(f"{counted(counts)} copied to {folder}, and verified.")
    return True


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"backup": _backup, "restore-backup": _restore_backup}
