"""The command ``migrate``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mnemic.cli.opening import progress_bar
from mnemic.cli.output import complain, counted, one_line, say, say_json
from mnemic.flows import migrating

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS"]


def _migrate(arguments: Namespace) -> bool:
    with progress_bar("row") as step:
        moves = migrating.migrate(arguments.source, arguments.target, step)
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
        complain(finding)
    ending = "Both verify." if moves.ok else "verify has findings, above."
    say(f"{counted({'user': len(moves.users)})} in {moves.target}, rows equal ({moves.digest}). {ending}")
    return moves.ok


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"migrate": _migrate}
