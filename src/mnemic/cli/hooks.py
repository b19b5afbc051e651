"""``mnemic hook``: hooks for coding agents and git.

A hook never interrupts its caller: errors go to stderr, the exit code is 0, and the time is bounded.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic import cli
from mnemic.cli.config import has_record, open_memory
from mnemic.cli.output import Answer, masked, warn
from mnemic.cli.parser import command, option
from mnemic.errors import InvalidInput, MnemicError
from mnemic.paths import path_of
from mnemic.runtime.projects import Project, project
from mnemic.text.values import as_object, counted, new_session
from mnemic.transfer.importers import transcripts
from mnemic.transfer.importers.fields import from_json, mapping

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory

MOMENTS = ("session-start", "pre-compact", "session-end", "post-commit", "instructions")

PATIENCE = 2.0
"""Seconds to wait for input on stdin; some agents leave it open and write nothing."""

GIT_PATIENCE = 10.0
MOST_FILES = 100
SHOWN_FILES = 12
BATCH = 64

STEP = 50
"""Messages processed between two looks at the clock."""
END_SHARE = 0.5
"""Share of --timeout after which session-end begins no other step."""
START_PATIENCE = 3.0
"""Seconds after which session-start begins no other step: the user waits for it."""

IMPORTANCE = 0.3
"""The importance of commits, low because there are many."""

Payload = Mapping[str, object]


@command(
    "hooks for coding agents and git",
    option("moment", ", ".join(MOMENTS), metavar="MOMENT", choices=MOMENTS),
    option("--max-tokens", "token budget of session-start (default: 1500)", type=int, default=1500, metavar="N"),
    option("--timeout", "maximum seconds (default: 30)", type=float, default=30.0, metavar="S"),
)
def hook(args: Namespace) -> Answer:
    """Hooks for coding agents and git. The agent's JSON is read from stdin; its folder determines the project, unless
    --project names one or is off. The memory is in --dir, $MNEMIC_DIR, else ~/.mnemic, as for mnemic-mcp. Errors are
    printed on stderr, and the exit code is 0: a hook never stops its caller.

    moments:
      session-start  process what waits, and print the context for a new session
      pre-compact    store the new messages of the transcript
      session-end    the same, keep a summary of the session for a week, and process what waits
      post-commit    remember the last commit
      instructions   print instructions for CLAUDE.md or AGENTS.md

    examples:
      mnemic hook session-start --max-tokens 1000
      mnemic hook pre-compact --user ana
      mnemic hook post-commit --project off
      mnemic hook instructions | tee -a CLAUDE.md
    """
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(_answer(args)), name="mnemic-hook", daemon=True)
    thread.start()
    thread.join(max(0.0, min(args.timeout, threading.TIMEOUT_MAX)))
    if thread.is_alive():
        warn(f"{args.moment} took longer than {args.timeout:g} seconds and was stopped; stored messages are kept.")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # the running thread may block an orderly exit; acknowledged writes are on disk
    return answers[0]


def _answer(args: Namespace) -> Answer:
    """The answer of a hook, or its error: it must not stop the agent."""
    try:
        return _MOMENTS[args.moment](args)
    except Exception as error:  # noqa: BLE001 - an error must not stop the agent
        what = masked(str(error) if isinstance(error, MnemicError) else f"{type(error).__name__}: {error}")
    warn(f"{args.moment}: {what}")
    return Answer({"error": what})


# Input


def _payload() -> Payload:
    """The JSON object on stdin; empty if there is none."""
    if sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None under pythonw
        return {}
    parts: list[bytes] = []
    reader = threading.Thread(target=_read, args=(parts,), daemon=True)
    reader.start()
    reader.join(PATIENCE)
    text = b"".join([*parts]).decode("utf-8-sig", errors="replace").strip()
    if not text:
        return {}
    try:
        return mapping(from_json(text, "The input on stdin"))
    except InvalidInput as error:
        warn(f"{error} Continuing without it.")
        return {}


def _read(parts: list[bytes]) -> None:
    """Read stdin unbuffered: a thread blocked in the buffer would delay the end of the process."""
    with suppress(OSError):  # it was closed
        try:
            descriptor = sys.stdin.fileno()
        except io.UnsupportedOperation:  # stdin is not a file
            parts.append(sys.stdin.buffer.read())
            return
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)


def _word(payload: Payload, name: str) -> str | None:
    value = payload.get(name)
    return value if isinstance(value, str) and value else None


def _project(args: Namespace, payload: Payload) -> Project | None:
    """The project of the agent's folder, unless the command line names another or none."""
    if args.project not in (None, "auto"):
        return None
    here = project(_folder(payload))
    return here if here.marker else None


def _folder(payload: Payload) -> Path:
    folder = _word(payload, "cwd")
    return Path(folder) if folder and Path(folder).is_dir() else Path.cwd()


def _open(args: Namespace, payload: Payload, here: Project | None) -> Memory:
    args.session = args.session or _word(payload, "session_id") or new_session()
    if args.project in (None, "auto"):
        args.project = here.id if here else None
    return open_memory(args, make=True)


# Hooks


def _session_start(args: Namespace) -> Answer:
    """The context for a new session."""
    text, payload = "", _payload()
    if has_record(args.dir):
        folder_project = _project(args, payload)
        with _open(args, payload, folder_project) as memory:
            if args.llm is None:  # a language model may take longer than the user would wait
                _process(memory, START_PATIENCE)
            context = memory.get_memory_context(max_tokens=args.max_tokens).to_prompt()
        name = folder_project.name if folder_project else args.project if args.project != "off" else None
        description = f": {folder_project.description}" if folder_project and folder_project.description else ""
        about = f"Project: {name}{description}\n\n" if name else ""
        text = f"{about}From the long-term memory (mnemic):\n{context}" if context else ""
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return Answer({"hookSpecificOutput": output}, [text] if text else [])


def _process(memory: Memory, seconds: float) -> None:
    """Process waiting messages for some seconds; each step is stored, and what is left waits for the next hook."""
    until, waiting = time.monotonic() + seconds, True
    try:
        while waiting and time.monotonic() < until:
            report = memory.process(limit=STEP)
            waiting = bool(report.waiting and report.messages)
    except MnemicError as error:  # the hook has more to do
        warn(f"processing is left to the next hook: {error}")


def _pre_compact(args: Namespace, *, ended: bool = False) -> Answer:
    """Store the new messages of the transcript; of a session that ended store a summary too, and process what waits.

    stdout stays empty: agents interpret it as instructions.
    """
    from mnemic.transfer.imports import add_valid

    began, payload = time.monotonic(), _payload()
    path = _word(payload, "transcript_path")
    if path is None:
        raise InvalidInput(
            'The JSON on stdin has no "transcript_path", so nothing was stored. Agents pass it; by hand, pipe in '
            '{"transcript_path": "..."}.'
        )
    with _open(args, payload, _project(args, payload)) as memory:
        session = str(args.session)
        stored_ids = {message.id for message in memory.messages(session=session, reach="user")}
        messages = list(transcripts.messages(path_of(path), session))
        missing = [message for message in messages if message.id not in stored_ids]
        erased = memory.admin.erased(str(message.id) for message in missing)
        new = [m for m in missing if not (moment := erased.get(str(m.id))) or (m.sent_at and m.sent_at > moment)]
        batches = (new[start : start + BATCH] for start in range(0, len(new), BATCH))  # a timeout then loses little
        outcomes = Counter(receipt.outcome for batch in batches for receipt in add_valid(memory.add, batch))
        summary = memory.sessions.summarize() if ended else None
        if ended:
            _process(memory, began + END_SHARE * args.timeout - time.monotonic())
    stored = outcomes["stored"]
    if refused := outcomes["rejected"]:
        warn(f"{counted({'message': refused})} of this session skipped, because they cannot be stored.")
    document: dict[str, Any] = {"session": session, "stored": stored, "known": len(messages) - len(new)}
    if ended:
        document["summary"] = summary and summary.id
    return Answer(document, notes=[f"{counted({'message': stored})} of this session stored."] if stored else [])


def _post_commit(args: Namespace) -> Answer:
    """Remember the last commit. Its words are not the user's: they may come from a patch, a merge or a tool."""
    payload = _payload()
    folder = _folder(payload)
    commit = _last_commit(folder) if _commits(payload) else None
    if commit is None:
        return Answer({"commit": None})
    with _open(args, payload, _project(args, payload)) as memory:
        receipt = memory.remember(
            **commit, type="episodic", category="commit", tags=["commit"], source="tool_external",
            importance=IMPORTANCE,
        )  # fmt: skip
    return Answer({"commit": commit["metadata"]["commit"], **as_object(receipt)})


def _commits(payload: Payload) -> bool:
    """Whether the agent's command was a commit; git runs this hook only for commits."""
    command = mapping(payload.get("tool_input")).get("command")
    return command is None or all(word in str(command) for word in ("git", "commit"))


def _last_commit(folder: Path) -> dict[str, Any] | None:
    """The last commit as arguments of ``remember``; None if there is none, or during a rebase, which rewrites old ones."""
    under_way = _git(folder, "rev-parse", "--git-path", "rebase-merge", "--git-path", "rebase-apply")
    if any((folder / line).exists() for line in under_way.splitlines()):
        return None
    log = _git(
        folder, "log", "-1", "-z", "--first-parent", "-m", "--name-only", "--no-show-signature",
        "--format=%H%x00%an%x00%aI%x00%s%x00",
    )  # fmt: skip
    parts = [part.strip("\n") for part in log.split("\0")]
    if len(parts) < len(("hash", "author", "date", "subject")):
        return None
    name, author, made_at, subject = parts[:4]
    files = [part for part in parts[4:] if part]
    rest = f" and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else ""
    shown = f" (files: {', '.join(files[:SHOWN_FILES])}{rest})" if files else ""
    return {
        "content": f"Commit {name[:10]}: {subject}{shown}",
        "id": f"commit_{name}",
        "valid_at": datetime.fromisoformat(made_at),
        "metadata": {"commit": name, "author": author, "files": files[:MOST_FILES]},
    }


def _git(folder: Path, *words: str) -> str:
    """The output of a git command.

    Raises:
        InvalidInput: there is no git, no repository, or no commit.
    """
    try:
        process = subprocess.run(  # noqa: S603 - constant arguments
            ["git", "-C", str(folder), *words],  # noqa: S607 - git from PATH
            capture_output=True, timeout=GIT_PATIENCE, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput(f"git cannot be run: {error}.") from error
    if process.returncode:
        reason = process.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise InvalidInput(
            f"git failed in {folder}: {reason}. Nothing was remembered; run the hook in a repository with a commit."
        )
    return process.stdout.decode(errors="replace")


def _instructions(_: Namespace) -> Answer:
    """Instructions for CLAUDE.md or AGENTS.md."""
    text = resources.files(cli).joinpath("instructions.md").read_text(encoding="utf-8")
    return Answer({"instructions": text}, [text.rstrip("\n")])


_MOMENTS: Mapping[str, Callable[[Namespace], Answer]] = {
    "session-start": _session_start,
    "pre-compact": _pre_compact,
    "session-end": partial(_pre_compact, ended=True),
    "post-commit": _post_commit,
    "instructions": _instructions,
}
