"""The commands that store one thing: ``add`` and ``remember``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mnemic.cli.opening import open_memory, text_given
from mnemic.cli.output import complain, receipt_line, say, say_json
from mnemic.types import Receipt

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS"]


def _add(arguments: Namespace) -> bool:
    content = text_given(arguments.text)
    with open_memory(arguments, make=True) as memory:
        receipt = memory.add_message(
            content, role=arguments.role, name=arguments.name, sent_at=arguments.sent_at, id=arguments.id
        )
    return _told(receipt, as_json=arguments.json)


def _remember(arguments: Namespace) -> bool:
    content = text_given(arguments.text)
    with open_memory(arguments, make=True) as memory:
        receipt = memory.remember(
            content, key=arguments.key, type=arguments.type, category=arguments.category, tags=arguments.tag,
            importance=arguments.importance, source_ids=arguments.source_id, valid_at=arguments.valid_at,
            delete_after=arguments.delete_after,
            source=arguments.source, id=arguments.id,
        )  # fmt: skip
    return _told(receipt, as_json=arguments.json)


def _told(receipt: Receipt, *, as_json: bool) -> bool:
    if as_json:
        say_json(receipt)
    else:
        say(receipt_line(receipt))
        if "embed" in receipt.pending:
            complain("it waits for its vector and is found by keyword until then: see mnemic doctor")
    return receipt.outcome != "rejected"


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {"add": _add, "remember": _remember}
