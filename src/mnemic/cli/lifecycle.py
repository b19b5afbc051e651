"""The commands that correct, forget, restore and consolidate, and those for the log, preferences and sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, get_args

from mnemic.cli.config import open_memory
from mnemic.cli.ingest import warn_of_fallbacks
from mnemic.cli.output import (
    LONGEST,
    Answer,
    event_line,
    facts,
    found,
    plain_value,
    receipt_line,
    table,
    warn,
)
from mnemic.cli.parser import arguments, command, flag, limit, option
from mnemic.errors import InvalidInput
from mnemic.text.values import counted, one_line
from mnemic.types import ConsolidationReport, Erasure, Kind, Receipt
from mnemic.types.literals import KEPT

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.memory import Memory
    from mnemic.types import Receipts


NOTHING_MATCHES = "Nothing matches; nothing was forgotten."


@command(
    "replace what is wrong with what is true",
    option("wrong", "what is wrong: a description, or the id of a record", metavar="WRONG"),
    option("statement", "what is true", metavar="STATEMENT"),
    flag("--dry-run", "preview what would be replaced"),
)
def correct(args: Namespace) -> Answer:
    """Replace what is wrong with a statement. What was said stays as evidence, behind the correction, without the wrong
    sentence or, if it says nothing else, marked as replaced. Records that are near the description and kept are printed. To
    take a correction back, mnemic forget --id the new record, then mnemic restore the replaced one. Exit code 1 if nothing
    was corrected.

    examples:
      mnemic correct "my dentist" "My dentist is Dr. Bianchi."
      mnemic correct --dry-run "my dentist" "My dentist is Dr. Bianchi."    preview
      mnemic correct mem_0f8f "The flight leaves at 9:15."
    """
    with open_memory(args) as memory:
        first, *near = memory.correct(**arguments(args))
        warn_of_fallbacks(memory)
    line = receipt_line(first) if first.id else one_line(first.reason)
    return Answer({"receipts": [first, *near]}, [line, *map(_unchanged_line, near)], fine=first.changed)


@command(
    "forget or erase records",
    option("description", "a description of what to forget", metavar="DESCRIPTION", nargs="?"),
    option("--id", "this record; repeatable", dest="ids", action="append", metavar="ID"),
    option("--reason", "stored in the history of the records", default="", metavar="TEXT"),
    flag("--dry-run", "preview the effect of a description"),
    flag("--hard", "erase for good, with everything derived from it; cannot be undone"),
    flag("--everything", "all records of the user; needs --hard and --yes"),
    flag("--yes", "confirm --everything"),
)
def forget(args: Namespace) -> Answer:
    """Remove records from search and listings: those that clearly match a description, by words or meaning, or those
    named by --id. Records that only resemble the description, or say something else as well, are printed and kept.
    mnemic restore undoes it. --hard with a description erases at most 5 records. Exit code 1 if nothing was
    forgotten, or bytes of what was erased may still be on disk.

    examples:
      mnemic forget "my schedule preferences"
      mnemic forget --dry-run "everything about Eva"    preview
      mnemic forget --id mem_0f8f --id m17 --reason "said in jest"
      mnemic forget --hard --id m17                  erase it and everything derived from it, for good
      mnemic forget --hard --everything --yes        erase all records of the user
    """
    everything, others = args.everything, arguments(args, "everything", "hard", "yes")
    if everything and (any(others.values()) or not (args.hard and args.yes)):
        raise InvalidInput(
            "--everything erases all records of the user, for good: give --hard and --yes with it, and nothing else."
        )
    with open_memory(args) as memory:
        of_some = cast("Callable[..., Receipts | Erasure]", memory.forget)
        result = memory.admin.erase_user() if everything else of_some(hard=args.hard, **others)
        warn_of_fallbacks(memory)
        if isinstance(result, Erasure):
            return _erased(result)
        forgotten = [receipt for receipt in result if receipt.changed]
        texts = _texts(memory, [receipt.id for receipt in forgotten])
    if args.ids is None:  # without what was forgotten of them before
        texts = {receipt.id: one_line(receipt.reason) for receipt in forgotten}
    word = "would be forgotten" if args.dry_run else "forgotten"
    unchanged = [receipt for receipt in result if not receipt.changed]
    kept = sum(receipt.reason.startswith(KEPT) for receipt in unchanged)
    lines = [f"{word}  [{one_line(id_)}]  {text}" for id_, text in texts.items()]
    lines += [_unchanged_line(receipt, len(word)) for receipt in unchanged]
    if not lines:
        note = NOTHING_MATCHES
    elif args.dry_run:
        note = f"{len(forgotten)} would be forgotten, {kept} would be kept; nothing was changed."
    else:
        back = "; mnemic restore ID brings one back" if forgotten else ""
        note = f"{len(forgotten)} forgotten, {kept} kept{back}."
    return Answer({"receipts": [*result]}, lines, [note], fine=bool(forgotten))


def _erased(erasure: Erasure) -> Answer:
    if not erasure.clean:
        warn(f"bytes of it may still be on disk: {erasure.purge.pending}")
    lines = [
        *(f"erased     [{one_line(id_)}]" for id_ in erasure.ids),
        *(f"rewritten  [{one_line(id_)}]" for id_ in erasure.remade),
        *(_unchanged_line(receipt) for receipt in erasure.spared),
        *(f"not there  [{one_line(id_)}]" for id_ in erasure.missing),
    ]
    rows = sum(erasure.counts.values())
    note = f"{counted({'row': rows})} erased." if rows else NOTHING_MATCHES
    document = {"clean": erasure.clean, "erasure": erasure}
    return Answer(document, lines, [note], fine=erasure.clean and bool(erasure.counts))


def _unchanged_line(receipt: Receipt, width: int = len("forgotten")) -> str:
    word = "kept" if receipt.reason.startswith(KEPT) else "unchanged"
    return f"{word:<{width}}  [{one_line(receipt.id)}]  {one_line(receipt.reason.removeprefix(KEPT))}"


@command("restore forgotten records", option("ids", "the records", metavar="ID", nargs="+"))
def restore(args: Namespace) -> Answer:
    """Restore forgotten records. Exit code 1 if one of them cannot be restored.

    example:
      mnemic restore mem_0f8f m17
    """
    with open_memory(args) as memory:
        receipts = memory.restore(args.ids)
        texts = _texts(memory, [receipt.id for receipt in receipts if receipt.changed])
    lines = [
        f"restored  [{one_line(receipt.id)}]  {texts[receipt.id]}" if receipt.changed else receipt_line(receipt)
        for receipt in receipts
    ]
    return Answer({"receipts": [*receipts]}, lines, fine=not receipts.rejected)


def _texts(memory: Memory, ids: Sequence[str]) -> dict[str, str]:
    """One line of text per record."""
    return {id_: one_line(memory.get(id_).content, LONGEST) for id_ in ids}


# consolidate, undo


@command(
    "promote important memories, merge equivalent ones",
    flag("--dry-run", "preview without changes"),
    flag("--advice", "only report whether there is enough to do"),
    option(
        "--id", "merge only these memories, whatever their age; repeatable", dest="ids", action="append", metavar="ID"
    ),
    option(
        "--importance-threshold", "minimum importance of long-term memories (default: 0.6)", type=float, metavar="N"
    ),
    option("--similarity-threshold", "minimum cosine of equivalent memories (default: 0.85)", type=float, metavar="N"),
    option("--min-age-hours", "minimum age of a memory (default: 1)", type=float, metavar="N"),
)
def consolidate(args: Namespace) -> Answer:
    """Run one consolidation: important memories become long-term, equivalent ones are merged. Memories that differ in a
    number, a date, a name or a negation are never merged. mnemic undo reverts it. --advice only reports whether
    there is enough to do, with exit code 1 if there is not.

    examples:
      mnemic consolidate --dry-run
      mnemic consolidate --advice && mnemic consolidate
      mnemic consolidate --id mem_0f8f --id mem_1a2b    merge these, if they say the same
      mnemic consolidate --importance-threshold 0.5 --similarity-threshold 0.9 --min-age-hours 24
    """
    with open_memory(args) as memory:
        if args.advice:
            advice = memory.should_consolidate()
            counts = f"{advice.short_term_count} short-term, {advice.long_term_count} long-term"
            line = f"{'yes' if advice.should_consolidate else 'no'}: {advice.reason} ({counts})"
            return Answer(advice, [line], fine=advice.should_consolidate)
        report = memory.consolidate(**arguments(args, "advice"))
        warn_of_fallbacks(memory)
        texts = _texts(memory, [cluster.promoted_id for cluster in report.cluster_summaries])
    return Answer(report, _consolidation_lines(report, texts))


def _consolidation_lines(report: ConsolidationReport, texts: Mapping[str, str]) -> list[str]:
    lines = table(facts(report, "id", "cluster_summaries", "dry_run"))
    for cluster in report.cluster_summaries:
        lines.append(f"[{one_line(cluster.promoted_id)}]  {texts[cluster.promoted_id]}")
        others = [id_ for id_ in cluster.source_ids if id_ != cluster.promoted_id]
        if others:
            lines.append("    stands for " + ", ".join(f"[{one_line(id_)}]" for id_ in others))
    if report.dry_run:
        lines.append("Nothing was changed: this is what would be done.")
    elif report.id:
        lines.append(f"To take it back: mnemic undo {report.id}")
    return lines


@command("undo a consolidation", option("id", "id of the consolidation", metavar="ID"))
def undo(args: Namespace) -> Answer:
    """Undo the promotions, archivings and links of a consolidation. Its id is in the report.

    example:
      mnemic undo con_0f8fad5b
    """
    with open_memory(args) as memory:
        receipt = memory.undo(args.id)
    line = f"taken back  [{one_line(receipt.id)}]" if receipt.outcome == "stored" else receipt_line(receipt)
    return Answer(receipt, [line], fine=receipt.outcome != "rejected")


# log, prefer, end-session, retire


@command(
    "show the history of the memories",
    limit(20, "maximum number of newest ones"),
    flag("--all", "messages and episodes too"),
)
def log(args: Namespace) -> Answer:
    """The history of all memories of one user, newest first: remembered, superseded, linked, forgotten, restored,
    promoted. mnemic show ID has the history of one record.

    examples:
      mnemic log
      mnemic log --limit 100 --json
      mnemic log --all                               messages and episodes too
    """
    kinds: Sequence[Kind] = get_args(Kind) if args.all else ("memory",)
    with open_memory(args) as memory:
        events = memory.admin.log(kinds=kinds, limit=args.limit)
    return found({"events": events}, [event_line(event, named=True) for event in events])


@command(
    "read or set a preference",
    option("key", "the preference (default: all)", metavar="KEY", nargs="?"),
    option("value", "its new value: JSON or text", metavar="VALUE", nargs="?"),
    flag("--remove", "remove it"),
)
def prefer(args: Namespace) -> Answer:
    """Read or set preferences, of --project or else of the user. Earlier values stay in the record. VALUE is parsed as
    JSON if possible, else it is a text. What is removed is printed. Exit code 1 if there is no such preference.

    examples:
      mnemic prefer
      mnemic prefer theme dark
      mnemic prefer indent 4 --project atlas
      mnemic prefer theme --remove
    """
    key, value = args.key and args.key.strip(), args.value
    if args.remove and (key is None or value is not None):
        raise InvalidInput("--remove takes a KEY and no VALUE.")
    with open_memory(args) as memory:
        if value is not None:
            memory.preferences[key] = _value(value)
        values = {name: item for name, item in memory.preferences.items() if key is None or name == key}
        if args.remove and values:
            del memory.preferences[str(key)]
    rows = [(name, plain_value(item)) for name, item in values.items()]
    asked_for_one = key is not None and value is None and not args.remove
    return found({"preferences": values}, [text for _, text in rows] if asked_for_one else table(rows))


def _value(text: str) -> Any:
    """A value as JSON if it is JSON, which has no NaN and no infinity, else as text."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return text
    return value


@command("store a summary of a conversation")
def end_session(args: Namespace) -> Answer:
    """Process the conversation of --session and keep a summary of it for a week: topics, tools, number of messages.
    mnemic context includes it for a new session. Exit code 1 if there are no messages.

    example:
      mnemic end-session --session s1
    """
    if args.session is None:
        raise InvalidInput("Which conversation? Name it with --session.")
    with open_memory(args) as memory:
        receipt = memory.sessions.end()
        text = memory.get(receipt.id).content if receipt is not None else ""
    document = {"receipt": receipt, "summary": text or None}
    if receipt is None:
        return found(document, [], f"there are no messages in {args.session!r}.")
    line = f"{receipt.outcome}  [{one_line(receipt.id)}]  {one_line(text)}"
    return Answer(document, [line], fine=receipt.outcome != "rejected")


@command("archive expired and surplus records")
def retire(args: Namespace) -> Answer:
    """Archive memories whose lifetime is over and, if [retention] of the settings has limits, old messages and surplus
    memories. Sources of live memories are kept. mnemic restore undoes it.

    examples:
      mnemic retire
      mnemic --config strict.toml retire
    """
    with open_memory(args) as memory:
        count = memory.admin.retire()
    line = f"{counted({'record': count})} archived; mnemic restore brings them back." if count else "Nothing is due."
    return Answer({"archived": count}, [line])
