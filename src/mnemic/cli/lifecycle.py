"""The commands that store, process, consolidate, forget and restore, and those for preferences and the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from mnemic.cli.handles import open_memory, progress_bar, read_text
from mnemic.cli.output import counted, event_line, one_line, receipt_line, say, say_json, table, warn
from mnemic.errors import InvalidInput
from mnemic.memory import Memory
from mnemic.types import ConsolidationReport, Kind, ProcessReport, Receipt

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS"]


LONGEST = 100
"""Maximum characters of a text on one line."""


# process


def _process(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory, progress_bar("message") as step:
        memory.admin.flush(process=False)  # embed records that are still pending
        report = memory.process(limit=arguments.limit, progress=step)
        _warn_of_fallbacks(memory)
    if arguments.json:
        say_json(report)
    else:
        say(*_process_lines(report))
    return True


def _warn_of_fallbacks(memory: Memory) -> None:
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


# consolidate, undo


def _consolidate(arguments: Namespace) -> bool:
    if arguments.advice:
        return _advice(arguments)
    with open_memory(arguments) as memory:
        report = memory.consolidate(
            importance_threshold=arguments.importance_threshold, similarity_threshold=arguments.similarity_threshold,
            min_age_hours=arguments.min_age_hours, dry_run=arguments.dry_run,
        )  # fmt: skip
        _warn_of_fallbacks(memory)
        texts = {} if arguments.json else _texts(memory, [c.promoted_id for c in report.cluster_summaries])
    if arguments.json:
        say_json(report)
    else:
        say(*_consolidation_lines(report, texts))
    return True


def _advice(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        advice = memory.should_consolidate()
    if arguments.json:
        say_json(advice)
    else:
        counts = f"{advice.short_term_count} short-term, {advice.long_term_count} long-term"
        say(f"{'yes' if advice.should_consolidate else 'no'}: {advice.reason} ({counts})")
    return advice.should_consolidate


def _consolidation_lines(report: ConsolidationReport, texts: Mapping[str, str]) -> list[str]:
    lines = table(
        [
            ("promoted", report.memories_promoted),
            ("archived", report.memories_archived),
            ("groups", report.clusters_formed),
            ("left short-term", report.memories_skipped),
            ("contradictions", report.contradictions),
            ("seconds", f"{report.duration_seconds:.1f}"),
        ]
    )
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


def _undo(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        receipt = memory.undo(arguments.id)
    if arguments.json:
        say_json(receipt)
    else:
        say(f"taken back  [{one_line(receipt.id)}]" if receipt.outcome == "stored" else receipt_line(receipt))
    return receipt.outcome != "rejected"


# forget, restore


def _forget(arguments: Namespace) -> bool:
    if arguments.dry_run and (arguments.everything or arguments.id is not None):
        raise InvalidInput("--dry-run shows what a description takes; --id and --everything take what they name.")
    if (arguments.hard or arguments.everything) and not arguments.dry_run:
        return _erase(arguments)
    if (arguments.description is None) == (arguments.id is None):
        raise InvalidInput("Say what to forget in words, or name records with --id: one of them.")
    with open_memory(arguments) as memory:
        if arguments.dry_run:
            receipts = memory.forget(arguments.description, hard=arguments.hard, dry_run=True)
        else:
            receipts = memory.forget(arguments.description, ids=arguments.id, reason=arguments.reason)
        gone = [receipt for receipt in receipts if receipt.changed]
        texts = {} if arguments.json else _texts(memory, [receipt.id for receipt in gone])
    if arguments.json:
        say_json({"receipts": [*receipts]})
        return bool(gone)
    word = "would go" if arguments.dry_run else "forgotten"
    say(*(f"{word:<9}  [{one_line(receipt.id)}]  {texts[receipt.id]}" for receipt in gone))
    kept = [receipt for receipt in receipts if not receipt.changed]
    say(*(_kept_line(receipt) for receipt in kept))
    warn(_summary(len(gone), len(kept), dry_run=arguments.dry_run))
    return bool(gone)


def _summary(gone: int, kept: int, *, dry_run: bool) -> str:
    if not gone and not kept:
        return "nothing matches; nothing went."
    if dry_run:
        return f"{gone} would go, {kept} would stay; nothing was changed."
    return f"{gone} forgotten, {kept} left{'; mnemic restore ID brings one back' if gone else ''}."


def _erase(arguments: Namespace) -> bool:
    """Erase the records of a description or ids, or everything."""
    named = sum((arguments.description is not None, arguments.id is not None, arguments.everything))
    if named != 1:
        raise InvalidInput("Say what to erase in words, name records with --id, or give --everything: one of them.")
    if arguments.everything and not (arguments.hard and arguments.yes):
        raise InvalidInput("--everything erases all records of the user, for good: give --hard and --yes with it.")
    with open_memory(arguments) as memory:
        if arguments.everything:
            erasure = memory.admin.erase_user()
        else:
            erasure = memory.forget(arguments.description, ids=arguments.id, hard=True)
    if not erasure.clean:
        warn(f"bytes of it may still be on disk: {erasure.purge.pending}")
    if arguments.json:
        say_json({"erasure": erasure})
        return bool(erasure.counts)
    say(*(f"erased     [{one_line(id_)}]" for id_ in erasure.ids))
    say(*(f"rewritten  [{one_line(id_)}]" for id_ in erasure.remade))
    say(*(_kept_line(receipt) for receipt in erasure.spared))
    say(*(f"not there  [{one_line(id_)}]" for id_ in erasure.missing))
    rows = sum(erasure.counts.values())
    warn(f"{rows} rows erased." if rows else "nothing matches; nothing went.")
    return bool(erasure.counts)


def _kept_line(receipt: Receipt) -> str:
    word = "kept" if "and was kept" in receipt.reason else "left"
    return f"{word:<9}  [{one_line(receipt.id)}]  {one_line(receipt.reason)}"


def _restore(arguments: Namespace) -> bool:
    with open_memory(arguments) as memory:
        receipts = memory.restore(*arguments.ids)
        texts = {} if arguments.json else _texts(memory, [r.id for r in receipts if r.changed])
    if arguments.json:
        say_json({"receipts": [*receipts]})
    for receipt in () if arguments.json else receipts:
        back = receipt.changed
        say(f"restored  [{one_line(receipt.id)}]  {texts[receipt.id]}" if back else receipt_line(receipt))
    return not receipts.rejected


def _texts(memory: Memory, ids: Sequence[str]) -> dict[str, str]:
    """One line of text per record."""
    found = {id_: one_line(memory.get(id_).content) for id_ in ids}
    return {id_: text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for id_, text in found.items()}


# log


def _log(arguments: Namespace) -> bool:
    if arguments.limit < 0:
        raise InvalidInput(f"--limit must be 0 or more, not {arguments.limit}.")
    kinds: Sequence[Kind] = get_args(Kind) if arguments.all else ("memory",)
    with open_memory(arguments) as memory:
        if arguments.id:
            shown = memory.history(arguments.id)[::-1][: arguments.limit]
        else:
            shown = memory.admin.log(kinds=kinds, limit=arguments.limit)
    if arguments.json:
        say_json({"events": shown})
    elif not shown:
        warn("nothing found.")
    for event in () if arguments.json else shown:
        text = f"  {one_line(event.content)[:LONGEST]}" if event.content and not arguments.id else ""
        say(f"{event_line(event, named=not arguments.id)}{text}")
    return bool(shown)


def _add(arguments: Namespace) -> bool:
    content = read_text(arguments.text)
    with open_memory(arguments, make=True) as memory:
        receipt = memory.add(
            content, role=arguments.role, name=arguments.name, sent_at=arguments.sent_at, id=arguments.id
        )[0]
    return _print_receipt(receipt, as_json=arguments.json)


def _remember(arguments: Namespace) -> bool:
    content = read_text(arguments.text)
    with open_memory(arguments, make=True) as memory:
        receipt = memory.remember(
            content, key=arguments.key, type=arguments.type, category=arguments.category, tags=arguments.tag,
            importance=arguments.importance, source_ids=arguments.source_id, valid_at=arguments.valid_at,
            delete_after=arguments.delete_after,
            source=arguments.source, id=arguments.id,
        )  # fmt: skip
    return _print_receipt(receipt, as_json=arguments.json)


def _print_receipt(receipt: Receipt, *, as_json: bool) -> bool:
    if as_json:
        say_json(receipt)
    else:
        say(receipt_line(receipt))
        if "embed" in receipt.pending:
            warn("it has no vector yet and is found by keyword until then: see mnemic doctor")
    return receipt.outcome != "rejected"


def _prefer(arguments: Namespace) -> bool:
    if arguments.remove and (arguments.key is None or arguments.value is not None):
        raise InvalidInput("--remove takes a KEY and no VALUE.")
    with open_memory(arguments) as memory:
        held = memory.preferences
        if arguments.remove:
            if (there := arguments.key in held) is True:
                del held[arguments.key]
        elif arguments.value is not None:
            held[arguments.key] = _value(arguments.value)
            there = True
        else:
            there = arguments.key in held if arguments.key is not None else len(held) > 0
        found = dict(held)
    if arguments.key is not None and not arguments.remove:
        found = {key: value for key, value in found.items() if key == arguments.key.strip()}
    if arguments.json:
        say_json({"preferences": found})
    elif not there:
        warn("nothing found.")
    elif arguments.key is not None and arguments.value is None and not arguments.remove:
        say(*(_format(value) for value in found.values()))
    else:
        say(*table((key, _format(value)) for key, value in found.items()))
    return there


def _value(text: str) -> Any:
    """A value as JSON if it is JSON, else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _format(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _end_session(arguments: Namespace) -> bool:
    if arguments.session is None:
        raise InvalidInput("Which conversation? Name it with --session.")
    with open_memory(arguments) as memory:
        receipt = memory.sessions.end()
        text = memory.get(receipt.id).content if receipt is not None else ""
    if arguments.json:
        say_json({"receipt": receipt, "summary": text or None})
    elif receipt is None:
        warn(f"there are no messages in {arguments.session!r}.")
    else:
        say(f"{receipt.outcome}  [{one_line(receipt.id)}]  {one_line(text)}")
    return receipt is not None and receipt.outcome != "rejected"


def _retire(arguments: Namespace) -> bool:
    from mnemic.runtime.settings import RetentionPolicy

    given = {
        "message_days": arguments.message_days, "memory_limit": arguments.memory_limit,
        "session_summary_days": arguments.session_summary_days,
    }  # fmt: skip
    policy = RetentionPolicy(**{name: value for name, value in given.items() if value is not None})
    with open_memory(arguments, retention=policy) as memory:
        count = memory.admin.retire()
    if arguments.json:
        say_json({"archived": count})
    else:
        say(f"{counted({'record': count})} archived; mnemic restore brings them back." if count else "Nothing is due.")
    return True


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {
    "add": _add,
    "consolidate": _consolidate,
    "end-session": _end_session,
    "forget": _forget,
    "log": _log,
    "prefer": _prefer,
    "process": _process,
    "remember": _remember,
    "restore": _restore,
    "retire": _retire,
    "undo": _undo,
}
