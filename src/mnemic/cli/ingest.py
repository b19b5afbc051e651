"""The commands ``add``, ``import``, ``remember`` and ``process``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, get_args

from mnemic.cli.config import has_record, open_memory, open_runtime
from mnemic.cli.output import Answer, facts, found, progress_bar, receipt_line, table, warn
from mnemic.cli.parser import arguments, command, flag, in_options, limit, option, time_option
from mnemic.errors import InvalidInput, MnemicError
from mnemic.text.values import as_object, counted
from mnemic.types import ImportReport, MemoryType, Message, Receipt, Receipts, Source

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory

SHOWN = 20
"""Maximum number of listed rejections; ``--json`` lists all."""

NO_VECTOR = "not everything has a vector yet, and what has none is found by keyword only; mnemic doctor says why"
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
def add(args: Namespace) -> Answer:
    """Store one message, verbatim. Without TEXT, or with -, it is read from stdin. When the command ends, the message
    is on disk and can be found. Exit code 1 if it is rejected.

    examples:
      mnemic add "I moved to Lisbon." --name Ana --session s1
      mnemic add "How do you like it?" --role assistant --session s1
      git log -1 --format=%B | mnemic add --role tool --project atlas
    """
    content = _text(args.text)
    with open_memory(args, make=True) as memory:
        return _receipt_answer(memory.add(content, **arguments(args, "text"))[0])


def _text(text: str | None) -> str:
    """The text argument, or all of stdin without the final line end.

    Raises:
        InvalidInput: there is neither, or stdin is not text.
    """
    from mnemic.transfer.importers.sources import text_of

    if text is not None and text != "-":
        return text
    if text is None and sys.stdin is not None and sys.stdin.isatty():
        raise InvalidInput("There is no text. Give it in quotes, pipe it in, or type it after -.")
    return text_of("-").rstrip("\n")


def _receipt_answer(receipt: Receipt) -> Answer:
    notes = [NO_VECTOR] if "embed" in receipt.pending else []
    return Answer(receipt, [receipt_line(receipt)], notes, fine=receipt.outcome != "rejected")


@command("store documents in pieces", option("files", "text or Markdown files in UTF-8", metavar="FILE", nargs="+"))
def add_document(args: Namespace) -> Answer:
    """Store text and Markdown files in pieces that a search finds, each with its file, heading, page and position. A file
    that was changed may be added again: equal pieces are stored once, and those it no longer has are forgotten. What a
    document says is never taken for what the user said. Exit code 1 if a piece is rejected.

    examples:
      mnemic add-document docs/manual.md notes.txt
      pdftotext report.pdf && mnemic add-document report.txt --project atlas
    """
    from mnemic import documents

    rows: list[dict[str, Any]] = []
    refused: list[Receipt] = []
    with open_memory(args, make=True) as memory, progress_bar("document") as step:
        pieces_by_file = [documents.read(file, project=memory.scope.project) for file in args.files]  # all can be read
        for number, (file, pieces) in enumerate(zip(args.files, pieces_by_file, strict=True), 1):
            receipts, forgotten = _store_document(memory, pieces)
            outcomes = Counter(receipt.outcome for receipt in receipts)
            counts = {name: outcomes[name] for name in ("stored", "duplicate", "rejected")}
            rows.append({"file": file, "document": pieces[0].metadata["document"], **counts, "forgotten": forgotten})
            refused += receipts.rejected
            step(number, len(pieces_by_file))
    lines = [
        f"{row['file']}: {counted({'piece': row['stored']})} stored, {row['duplicate']} unchanged, {row['forgotten']} forgotten"
        for row in rows
    ]
    return Answer({"documents": rows, "rejected": refused}, [*lines, *_rejections(refused)], fine=not refused)


def _store_document(memory: Memory, pieces: Sequence[Message]) -> tuple[Receipts, int]:
    """Store the pieces of a document and forget those that it no longer has; returns the number of these."""
    receipts = memory.add(pieces)
    live = {str(m.id) for m in memory.messages(metadata={"document": pieces[0].metadata["document"]}, reach="user")}
    if archived := [receipt.id for receipt in receipts if receipt.outcome == "duplicate" and receipt.id not in live]:
        memory.restore(archived)
    if obsolete := sorted(live - {str(piece.id) for piece in pieces}):
        memory.forget(ids=obsolete, reason="no longer in the document")
    return receipts, len(obsolete)


# import


@command(
    "import a file of messages or memories",
    option("file", "a file, or the folder or ZIP archive of an export; - is stdin", metavar="FILE"),
    option("--format", "one of the formats above, or that of an installed importer (default: auto)", default="auto"),
    option(
        "--user-from", "the field that names the user of a record, such as user_id or namespace.1; none: all belong to "
        "--user", metavar="FIELD",
    ),
    option("--only", "with --user-from: import only this user", metavar="NAME"),
    flag("--strict", "refuse a file with a damaged part"),
    flag("--dry-run", "preview without changes"),
    name="import",
)  # fmt: skip
def import_file(args: Namespace) -> Answer:
    """Import the history of another product, with its dates: messages verbatim, memories as memories.

    formats (detected, unless --format names one):
      chatgpt      conversations.json of ChatGPT, or several files: of each tree the branch that was shown last
      claude       conversations.json of Claude, and memories.json: what it wrote down about you
      claude-code  transcripts of Claude Code and Codex
      whatsapp     a chat exported as text, on any phone
      telegram     result.json of Telegram Desktop
      slack        the folder of an export
      transcript   turns that begin with User: and Assistant:, in text or Markdown
      csv          a table of messages with a header: content, role, name, sent_at, session, id, user
      messages     a list, or lines, of {"role", "content", "name"?, "sent_at"?, "id"?, "session"?, "user_id"?, ...}
      langchain    messages_to_dict(messages), or a list of dumpd(message)
      llama-index  a list of ChatMessage.model_dump(mode="json"), or a stored SimpleChatStore
      locomo       one LoCoMo conversation, or a list of them
      mem0         the result of get_all() of mem0, or points of its Qdrant collection
      langgraph    items of a LangGraph store, including LangMem: {"namespace", "key", "value", "created_at" ...}
      memory-graph memory.jsonl of MCP's memory server
      zep          facts (edges) of a Zep or Graphiti graph, or the messages of a thread
      letta        an agent file (.af), or a list of messages or archival passages
      chroma       the result of get() of a Chroma collection
      basic-memory a folder of notes in Markdown
      mnemic       an export of mnemic, for a user without records

    Importing a file twice stores nothing twice: a missing message id is derived from text, speaker, time and session.
    Messages without a session belong to --session, else to one named after the file. Memories keep their ids with the
    format as a prefix, such as "mem0:". A file with records of several users needs --user-from. Damaged parts are
    listed; exit code 1 then.

    examples:
      mnemic import chatgpt-export.zip --user ana
      mnemic import chat.json --user ana
      mnemic import mem0.json --user-from user_id --dry-run
      mnemic import support.csv --user-from user_id --only ana
      mnemic import store.jsonl --format langgraph --user-from namespace.1 --only ana
      mnemic --dir ./notes import export.jsonl --format messages --timezone Europe/Lisbon
      mnemic --dir ./copy import ana.jsonl --format mnemic --user ana
    """
    from mnemic.runtime import factory
    from mnemic.runtime.config import record_key
    from mnemic.transfer import imports
    from mnemic.transfer.importers import users

    key, zone = record_key(args.dir), factory.time_zone(args.timezone)
    reading = imports.read(args.file, format=args.format, session=args.session, strict=args.strict, key=key)
    whole, parts = users.by_user(reading, user=args.user, field=args.user_from, only=args.only)
    if not (whole.export or whole.records or whole.damaged):
        document = as_object(imports.Tally().report(whole, dry_run=args.dry_run))
        return found(document, [], f"{args.file} contains nothing to import.")
    tally, in_memory = imports.Tally(), not parts or (args.dry_run and not has_record(args.dir))
    try:
        with closing(open_runtime(args, in_memory=in_memory)) as runtime, progress_bar("record") as step:
            imports.store(runtime, args.project, parts, zone, tally, dry_run=args.dry_run, progress=step)
    except (MnemicError, KeyboardInterrupt):
        if (tally.stored or tally.duplicate) and not args.dry_run:
            warn(f"stopped early: {tally.stored} stored, {tally.duplicate} were there. {AGAIN}")
        raise
    return _imported(tally.report(whole, dry_run=args.dry_run), tally.users)


def _imported(report: ImportReport, users: Mapping[str, Mapping[str, int]]) -> Answer:
    lines = [
        *table(facts(report, "damaged", "rejected")),
        *_first_lines([f"{user}: {counted(counts)}" for user, counts in users.items()]),
        *_first_lines([f"not imported: {in_options(reason, 'import')}" for reason in report.damaged]),
        *_rejections(report.rejected),
    ]
    lines += ["nothing was stored: this is what would be."] if report.dry_run else []
    notes = [NO_VECTOR] if report.pending.get("embed") else []
    document = {**as_object(report), "users": users}
    return Answer(document, lines, notes, fine=not report.damaged and not report.rejected)


def _first_lines(lines: Sequence[str]) -> list[str]:
    """The first lines of a list, indented, and the number of the others."""
    more = [f"  ... and {len(lines) - SHOWN} more; --json lists all"] if len(lines) > SHOWN else []
    return [f"  {line}" for line in lines[:SHOWN]] + more


def _rejections(receipts: Sequence[Receipt]) -> list[str]:
    return _first_lines([f"rejected {receipt.id}: {receipt.reason}" for receipt in receipts])


# remember, process


@command(
    "store one statement",
    TEXT,
    option("--key", "the attribute it states, such as meetings.time; supersedes the earlier value", metavar="NAME"),
    option("--type", "default: semantic", choices=get_args(MemoryType), default="semantic"),
    option("--category", "preference, architecture_decision, bug_fix ...", metavar="WORD"),
    option("--tag", "repeatable", dest="tags", action="append", metavar="TAG", default=[]),
    option("--importance", "0 to 1; pins the importance", type=float, metavar="N"),
    option(
        "--source-id", "a record it is derived from; repeatable", dest="source_ids", action="append", metavar="ID",
        default=[],
    ),
    time_option("--valid-at", "start of its validity (default: now)"),
    time_option("--delete-after", "end of its lifetime (default: never)"),
    option("--source", "its origin (default: direct_user)", choices=get_args(Source), default="direct_user"),
    option("--id", "an id of your choice"),
)  # fmt: skip
def remember(args: Namespace) -> Answer:
    """Store one statement as a memory. Without TEXT, or with -, it is read from stdin. It supersedes an earlier
    statement with the same --key, which ends and is kept. Exit code 1 if it is rejected.

    examples:
      mnemic remember "Prefers morning meetings" --key meetings.time --tag schedule --category preference
      mnemic remember "The API runs on port 9000." --project atlas --importance 0.9
      mnemic remember "Deploy with make release" --type procedural --source-id m17
    """
    content = _text(args.text)
    with open_memory(args, make=True) as memory:
        return _receipt_answer(memory.remember(content, **arguments(args, "text")))


@command(
    "extract episodes and memories from messages",
    limit(None, "approximate number of messages, whole episodes at a time"),
)
def process(args: Namespace) -> Answer:
    """Extract episodes and new memories from unprocessed messages. Safe to interrupt and to repeat. Needs no language
    model; --llm names one for better results.

    examples:
      mnemic process
      mnemic process --limit 200
      mnemic process --llm anthropic:claude-haiku-4-5
    """
    with open_memory(args) as memory, progress_bar("message") as step:
        memory.admin.flush(process=False)  # embed records that are still pending
        report = memory.process(limit=args.limit, progress=step)
        warn_of_fallbacks(memory)
    if report.messages or report.enriched:
        return Answer(report, table(facts(report)))
    line = (
        f"Nothing was left to do; {counted({'message': report.waiting})} waiting."
        if report.waiting
        else "Nothing waits."
    )
    return Answer(report, [line])


def warn_of_fallbacks(memory: Memory) -> None:
    """Warn if the language model gave no usable answer."""
    llm = memory.stats().llm
    count = sum(usage.fallbacks for usage in llm.stages.values()) if llm else 0
    if llm and count:
        why = f" {llm.error}" if llm.error else ""
        warn(f"{llm.model} gave no usable answer {counted({'time': count})}; the rules were used instead.{why}")
