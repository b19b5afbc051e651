"""The commands ``add``, ``import``, ``remember`` and ``process``."""

from __future__ import annotations

import io
import itertools
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from mnemic.cli.handles import has_record, open_memory, open_runtime
from mnemic.cli.output import Answer, counted, plain, progress_bar, receipt_line, table, warn
from mnemic.cli.parser import command, flag, limit, option, time_option
from mnemic.errors import InvalidInput, MnemicError
from mnemic.types import MemoryType, Message, ProcessReport, Receipt, Receipts, Source

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory
    from mnemic.transfer.importers import memories
    from mnemic.transfer.importers.fields import Damage, Found
    from mnemic.transfer.importers.files import Parsed

FORMATS = (
    "auto", "chatgpt", "claude", "claude-code", "whatsapp", "telegram", "slack", "transcript", "csv", "messages", "langchain",
    "llama-index", "locomo", "mem0", "langgraph", "memory-graph", "mnemic",
)  # fmt: skip

BATCH = 64
"""Messages per step of the progress bar; each batch is one transaction."""

SHOWN = 20
"""Maximum number of listed rejections; ``--json`` lists all."""

AGAIN = "Import the file again to continue: nothing is stored twice."

TEXT = option("text", "the text to store (default or -: read from stdin)", metavar="TEXT", nargs="?")


@command(
    "store one message",
    TEXT,
    option("--role", "user (default), assistant, system, tool or another role", default="user"),
    option("--name", "the speaker"),
    time_option("--sent-at", "when it was said (default: now)"),
    option("--id", "an id of your choice; the same id and text is stored once"),
)
def add(given: Namespace) -> Answer:
    """Store one message, verbatim. Without TEXT, or with -, it is read from stdin. When the command ends, the message
    is on disk and can be found. Exit code 1 if it is rejected.

    examples:
      mnemic add "I moved to Lisbon." --name Ana --session s1
      mnemic add "How do you like it?" --role assistant --session s1
      git log -1 --format=%B | mnemic add --role tool --project atlas
    """
    content = _text(given.text)
    with open_memory(given, make=True) as memory:
        return _stored(memory.add(content, role=given.role, name=given.name, sent_at=given.sent_at, id=given.id)[0])


def _text(text: str | None) -> str:
    """The text argument, or all of stdin without the final line end.

    Raises:
        InvalidInput: there is neither, or stdin is not text.
    """
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise InvalidInput("There is no text. Give it in quotes, pipe it in, or type it after -.")
    try:
        piped = sys.stdin.read().rstrip("\r\n")
        piped.encode()  # in the C locale, invalid UTF-8 is read as surrogates
        return piped
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise InvalidInput(f"The piped input is not text ({error.reason}). Convert it to UTF-8 first.") from error


def _stored(receipt: Receipt) -> Answer:
    note = "it has no vector yet and is found by keyword until then: see mnemic doctor"
    notes = [note] if "embed" in receipt.pending else []
    return Answer(receipt, [receipt_line(receipt)], notes, fine=receipt.outcome != "rejected")


@command("store documents in pieces", option("files", "text or Markdown files in UTF-8", metavar="FILE", nargs="+"))
def add_document(given: Namespace) -> Answer:
    """Store text and Markdown files in pieces that a search finds, each with its file, heading, page and position. A file
    that was changed may be added again: equal pieces are stored once, and those it no longer has are forgotten. What a
    document says is never taken for what the user said. Exit code 1 if a piece is rejected.

    examples:
      mnemic add-document docs/manual.md notes.txt
      pdftotext report.pdf && mnemic add-document report.txt --project atlas
    """
    from mnemic import documents

    rows: list[dict[str, object]] = []
    refused: list[Receipt] = []
    with open_memory(given, make=True) as memory, progress_bar("document") as step:
        pieces = [documents.read(file, project=memory.scope.project) for file in given.files]  # all can be read
        for number, (file, several) in enumerate(zip(given.files, pieces, strict=True), 1):
            receipts, gone = _store_document(memory, several)
            outcomes = Counter(receipt.outcome for receipt in receipts)
            counts = {name: outcomes[name] for name in ("stored", "duplicate", "rejected")}
            rows.append({"file": file, "document": several[0].metadata["document"], **counts, "forgotten": gone})
            refused += receipts.rejected
            step(number, len(pieces))
    lines = [
        f"{row['file']}: {row['stored']} pieces stored, {row['duplicate']} already stored, {row['forgotten']} forgotten"
        for row in rows
    ]
    return Answer({"documents": rows, "rejected": refused}, [*lines, *_rejections(refused)], fine=not refused)


def _store_document(memory: Memory, pieces: Sequence[Message]) -> tuple[Receipts, int]:
    """Store the pieces of a document and forget those that it no longer has; returns the number of these."""
    receipts = memory.add(pieces)
    held = {str(m.id) for m in memory.messages(metadata={"document": pieces[0].metadata["document"]}, reach="user")}
    if back := [receipt.id for receipt in receipts if receipt.outcome == "duplicate" and receipt.id not in held]:
        memory.restore(*back)
    if gone := sorted(held - {str(piece.id) for piece in pieces}):
        memory.forget(ids=gone, reason="the document has it no longer")
    return receipts, len(gone)


# import


@command(
    "import a file of messages or memories",
    option("file", "a file, or the folder or ZIP archive of an export; - is stdin", metavar="FILE"),
    option("--format", "the format of the file (default: auto)", choices=FORMATS, default="auto"),
    option(
        "--user-from", "for memories: the field that names their user, such as user_id or namespace.1; none: all belong "
        "to --user", metavar="FIELD",
    ),
    option("--only", "with --user-from: import only this user", metavar="NAME"),
    flag("--dry-run", "preview without changes"),
    name="import",
)  # fmt: skip
def import_file(given: Namespace) -> Answer:
    """Import the history of another product, with its dates: messages verbatim, memories as memories.

    formats (detected, unless --format names one):
      chatgpt      conversations.json of ChatGPT: of each tree the branch that was shown last
      claude       conversations.json of Claude
      claude-code  transcripts of Claude Code and Codex
      whatsapp     a chat exported as text, on any phone
      telegram     result.json of Telegram Desktop
      slack        the folder of an export
      transcript   turns that begin with User: and Assistant:, in text or Markdown
      csv          a table of messages with a header: content, role, name, sent_at, session, id
      messages     a list, or lines, of {"role", "content", "name"?, "sent_at"?, "id"?, "session"?, "metadata"?}
      langchain    messages_to_dict(messages), or a list of dumpd(message)
      llama-index  a list of ChatMessage.model_dump(mode="json"), or a stored SimpleChatStore
      locomo       one LoCoMo conversation, or a list of them
      mem0         the result of get_all() of mem0, or points of its Qdrant collection
      langgraph    items of a LangGraph store, including LangMem: {"namespace", "key", "value", "created_at" ...}
      memory-graph memory.jsonl of MCP's memory server
      mnemic       an export of mnemic, for a user without records

    Importing a file twice stores nothing twice: a missing message id is derived from text, speaker, time and session.
    Messages without a session belong to --session, else to one named after the file. Memories keep their ids with the
    prefix "mem0:" or "langgraph:", and --user-from names the field of their user. Damaged parts are listed; exit code 1
    then.

    examples:
      mnemic import chatgpt-export.zip --user ana
      mnemic import chat.json --user ana
      mnemic import mem0.json --user-from user_id --dry-run
      mnemic import store.jsonl --format langgraph --user-from namespace.1 --only ana
      mnemic --dir ./notes import export.jsonl --format messages --timezone Europe/Lisbon
      mnemic --dir ./copy import ana.jsonl --format mnemic --user ana
    """
    from mnemic.transfer.importers import files, sources

    read = sources.export_of(given.file)
    if read is None:
        content = sources.text_of(given.file)
        if given.format == "mnemic" or (given.format == "auto" and _is_export(content)):
            return _import_export(given, content)
        read = files.parse_lines(content)
    name = files.detect(read.data) if given.format == "auto" else given.format
    if name in files.MEMORY_FORMATS:
        return _import_memories(given, read, name)
    if given.user_from or given.only:
        raise InvalidInput(f"--user-from and --only are for {', '.join(files.MEMORY_FORMATS)}; this file is {name}.")
    return _import_messages(given, read, name)


def _is_export(content: str) -> bool:
    """Whether a text begins with the header of an export."""
    try:
        header = json.loads(content.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and {"mnemic", "counts"} <= set(cast("dict[str, object]", header))


def _import_export(given: Namespace, content: str) -> Answer:
    """Import an export into a user without records; a dry run into a temporary record in RAM."""
    document = {"file": given.file, "format": "mnemic"}
    if given.dry_run:
        from mnemic.memory import Memory

        with Memory(":memory:", embedder="hashing") as memory:
            counts = memory.admin.import_from(io.StringIO(content))
        line = f"{given.file} (mnemic): {counted(counts)} would be stored for {given.user}; nothing was."
        return Answer({**document, "counts": counts, "dry_run": True}, [line])
    with open_memory(given, make=True) as memory, progress_bar("record") as step:
        counts = memory.admin.import_from(io.StringIO(content), progress=step)
    return Answer({**document, "counts": counts}, [f"{given.file} (mnemic): {counted(counts)} stored for {given.user}"])


def _shown(lines: Sequence[str]) -> list[str]:
    """The first lines of a list, indented, and the number of the others."""
    more = [f"  ... and {len(lines) - SHOWN} more; --json lists all"] if len(lines) > SHOWN else []
    return [f"  {line}" for line in lines[:SHOWN]] + more


def _rejections(receipts: Sequence[Receipt]) -> list[str]:
    return _shown([f"rejected {receipt.id}: {receipt.reason}" for receipt in receipts])


def _remarks(given: Namespace, pending: Mapping[str, int]) -> list[str]:
    waiting = f"  {pending.get('embed')} have no vector yet and are found by keyword until then: see mnemic doctor"
    dry_run = "  nothing was stored: this was a dry run"
    return [*([waiting] if pending.get("embed") else []), *([dry_run] if given.dry_run else [])]


# import: messages


def _import_messages(given: Namespace, read: Parsed, name: str) -> Answer:
    from mnemic.transfer.importers import files

    session = given.session or ("stdin" if given.file == "-" else Path(given.file).stem)
    messages = files.read_messages(files.undamaged(read), format=name, session=session)
    if not messages:
        warn(f"{Path(given.file)} contains no messages.")
        return Answer(None, fine=False)
    if given.dry_run:
        return _messages_answer(given, name, messages, _expected(given, messages), {}, files.remarks(read.data, name))
    receipts: list[Receipt] = []
    with open_memory(given, make=True) as memory:
        try:
            with progress_bar("message") as step:
                for start in range(0, len(messages), BATCH):
                    receipts += memory.add(messages[start : start + BATCH])
                    step(len(receipts), len(messages))
            memory.admin.flush(process=False)
        except (MnemicError, KeyboardInterrupt):
            warn(f"stopped early. {_messages_answer(given, name, messages, receipts, {}).lines[0]}. {AGAIN}")
            raise
        remarks = files.remarks(read.data, name)
        return _messages_answer(given, name, messages, receipts, memory.stats().pending, remarks)


def _expected(given: Namespace, messages: Sequence[Message]) -> list[Receipt]:
    """The expected outcomes of the messages, without storing them."""
    known: dict[str | None, str] = {}
    if has_record(given.dir):
        with open_memory(given) as memory:
            known = {message.id: message.content for message in memory.messages(reach="user")}
    receipts: list[Receipt] = []
    for message in messages:
        held = known.setdefault(message.id, message.content)
        refusal = Receipt(id=str(message.id), outcome="rejected", reason="another message has this id")
        expected = Receipt(id=str(message.id), outcome="stored" if held is message.content else "duplicate")
        receipts.append(expected if held == message.content and message.content.strip() else refusal)
    return receipts


def _messages_answer(
    given: Namespace, name: str, messages: Sequence[Message], receipts: Sequence[Receipt], pending: Mapping[str, int],
    remarks: Sequence[str] = (),
) -> Answer:  # fmt: skip
    from mnemic.transfer.importers.fields import LEFT_OUT

    outcomes = Counter(receipt.outcome for receipt in receipts)
    refused = [
        (message, receipt)
        for message, receipt in zip(messages, receipts, strict=False)
        if receipt.outcome == "rejected"
    ]
    rejected = [receipt for message, receipt in refused if message.content.strip()]
    undated = sum(message.sent_at is None for message in messages)
    partial = Counter(what for message in messages for what in message.metadata.get(LEFT_OUT, ()))
    document = {
        "file": str(Path(given.file)), "format": name, "messages": len(messages), "stored": outcomes["stored"],
        "duplicate": outcomes["duplicate"], "without_text": len(refused) - len(rejected),
        "rejected": [{"id": receipt.id, "reason": receipt.reason} for receipt in rejected], "undated": undated,
        "left_out": partial, "remarks": remarks, "pending": pending, "dry_run": given.dry_run,
    }  # fmt: skip
    parts = f"{outcomes['stored']} stored, {outcomes['duplicate']} already stored, {len(rejected)} rejected"
    empty = f", {len(refused) - len(rejected)} without text" if len(refused) > len(rejected) else ""
    lines = [f"{document['file']} ({name}): {len(messages)} messages: {parts}{empty}", *_rejections(rejected)]
    lines += [f"  {remark}" for remark in remarks]
    if undated:
        lines.append(f"  {undated} have no time and are dated now")
    if partial:
        lines.append("  not text, left out: " + ", ".join(f"{what} ({count})" for what, count in partial.items()))
    return Answer(document, [*lines, *_remarks(given, pending)], fine=not rejected)


# import: memories


@dataclass(slots=True)
class _Outcome:
    """The result of importing a file of memories."""

    file: str
    format: str
    users: dict[str, memories.Tally]
    damaged: list[Damage]
    others: int
    undated: int

    def total(self) -> memories.Tally:
        from mnemic.transfer.importers import memories

        return sum(self.users.values(), memories.Tally())

    def line(self) -> str:
        total = self.total()
        damaged = f", {len(self.damaged)} not imported" if self.damaged else ""
        return f"{self.file} ({self.format}): {counted({'memory': total.memories})}: {total.line()}{damaged}"


def _import_memories(given: Namespace, read: Parsed, name: str) -> Answer:
    from mnemic.transfer.importers import files, memories

    found, damaged = files.read_memories(read, name)
    owned, nobodys, others = memories.by_user(found, user=given.user, field=given.user_from, only=given.only)
    undated = sum(one.changed is None for mine in owned.values() for one in mine)
    outcome = _Outcome(given.file, name, {}, [*damaged, *nobodys], others, undated)
    if not found and not outcome.damaged:
        warn(f"{given.file} contains no memories.")
        return Answer(None, fine=False)
    return _memories_answer(given, outcome, _store_memories(given, owned, outcome))


def _store_memories(given: Namespace, owned: Mapping[str, Sequence[Found]], outcome: _Outcome) -> Mapping[str, int]:
    """Store the memories of each user, or count the expected outcomes of a dry run; returns the pending tasks."""
    from mnemic.runtime import factory, scopes
    from mnemic.runtime.redaction import redact_scope
    from mnemic.transfer.importers import memories

    if not owned:
        return {}
    total, zone, done = sum(map(len, owned.values())), factory.time_zone(given.timezone), itertools.count(1)
    place = ":memory:" if given.dry_run and not has_record(given.dir) else None
    with closing(open_runtime(given, place=place)) as runtime:
        try:
            with progress_bar("memory") as bar:
                for user, mine in owned.items():
                    scope = redact_scope(runtime.secrets, scopes.scope(user, given.project))
                    tally = outcome.users[user] = memories.Tally()
                    for receipt in memories.store(runtime, scope, mine, zone, dry_run=given.dry_run):
                        tally.count(receipt)
                        bar(next(done), total)
        except (MnemicError, KeyboardInterrupt):
            if not given.dry_run:
                warn(f"stopped early. {outcome.line()}. {AGAIN}")
            raise
        waiting = (Counter(runtime.store.stats(user).pending) for user in owned)
        return {} if given.dry_run else sum(waiting, Counter[str]())


def _memories_answer(given: Namespace, outcome: _Outcome, pending: Mapping[str, int]) -> Answer:
    from mnemic.transfer.importers import memories

    total, lines = outcome.total(), [outcome.line()]
    if len(outcome.users) > 1 or given.user_from not in (None, memories.NOBODY):
        lines += _shown([f"{user}: {counted({'memory': tally.memories})}" for user, tally in outcome.users.items()])
    lines += _shown([damage.reason for damage in outcome.damaged]) + _rejections(total.rejected)
    if outcome.others:
        lines.append(f"  {outcome.others} of other users left out, as --only says")
    if outcome.undated:
        lines.append(f"  {outcome.undated} have no time and are dated now")
    document = {**plain(total), **plain(outcome), "pending": pending, "dry_run": given.dry_run}
    fine = not outcome.damaged and not total.rejected
    return Answer(document, [*lines, *_remarks(given, pending)], fine=fine)


# remember, process


@command(
    "store one statement",
    TEXT,
    option("--key", "its attribute, such as meetings.time: supersedes the earlier value", metavar="NAME"),
    option("--type", "default: semantic", choices=get_args(MemoryType), default="semantic"),
    option("--category", "preference, architecture_decision, bug_fix ...", metavar="WORD"),
    option("--tag", "repeatable", action="append", metavar="TAG", default=[]),
    option("--importance", "0 to 1; pins the importance", type=float, metavar="N"),
    option("--source-id", "a record it is derived from; repeatable", action="append", metavar="ID", default=[]),
    time_option("--valid-at", "start of its validity (default: now)"),
    time_option("--delete-after", "end of its lifetime (default: never)"),
    option("--source", "its origin (default: direct_user)", choices=get_args(Source), default="direct_user"),
    option("--id", "an id of your choice"),
)
def remember(given: Namespace) -> Answer:
    """Store one statement as a memory. Without TEXT, or with -, it is read from stdin. It supersedes an earlier
    statement with the same --key, which ends and is kept. Exit code 1 if it is rejected.

    examples:
      mnemic remember "Prefers morning meetings" --key meetings.time --tag schedule --category preference
      mnemic remember "The API runs on port 9000." --project atlas --importance 0.9
      mnemic remember "Deploy with make release" --type procedural --source-id m17
    """
    content = _text(given.text)
    with open_memory(given, make=True) as memory:
        receipt = memory.remember(
            content, key=given.key, type=given.type, category=given.category, tags=given.tag,
            importance=given.importance, source_ids=given.source_id, valid_at=given.valid_at,
            delete_after=given.delete_after, source=given.source, id=given.id,
        )  # fmt: skip
    return _stored(receipt)


@command(
    "extract episodes and memories from messages",
    limit(None, "approximate number of messages, whole episodes at a time"),
)
def process(given: Namespace) -> Answer:
    """Extract episodes and new memories from unprocessed messages. Safe to interrupt and to repeat. Needs no language
    model; --llm names one for better results.

    examples:
      mnemic process
      mnemic process --limit 200
      mnemic process --llm anthropic:claude-haiku-4-5
    """
    with open_memory(given) as memory, progress_bar("message") as step:
        memory.admin.flush(process=False)  # embed records that are still pending
        report = memory.process(limit=given.limit, progress=step)
        warn_of_fallbacks(memory)
    return Answer(report, _process_lines(report))


def warn_of_fallbacks(memory: Memory) -> None:
    """Warn if the language model gave no usable answer."""
    llm = memory.stats().llm
    count = sum(usage.fallbacks for usage in llm.stages.values()) if llm else 0
    if llm and count:
        why = f" {llm.error}" if llm.error else ""
        warn(f"{llm.model} gave no usable answer {count} times; the rules were used instead.{why}")


def _process_lines(report: ProcessReport) -> list[str]:
    if not report.messages and not report.enriched:
        return [f"Nothing was left to do; {report.waiting} messages wait." if report.waiting else "Nothing waits."]
    rows: list[tuple[str, object]] = [
        ("messages", report.messages),
        ("episodes", report.episodes),
        ("memories", f"{report.memories}, {report.updated} of them in the place of an earlier one"),
        ("contradictions", report.contradictions),
        ("known before", report.known),
        ("enriched", report.enriched),
        ("left to rules", report.fallbacks),
        ("waiting", report.waiting),
        ("seconds", f"{report.seconds:.1f}"),
    ]
    always = ("messages", "episodes", "memories", "seconds")
    return table((name, value) for name, value in rows if value or name in always)
