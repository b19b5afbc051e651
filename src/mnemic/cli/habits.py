"""The commands of everyday keeping: ``prefer``, ``end-session`` and ``retire``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mnemic.cli.opening import open_memory
from mnemic.cli.output import complain, counted, one_line, say, say_json, table
from mnemic.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["COMMANDS"]


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
        complain("nothing found.")
    elif arguments.key is not None and arguments.value is None and not arguments.remove:
        say(*(_worded(value) for value in found.values()))
    else:
        say(*table((key, _worded(value)) for key, value in found.items()))
    return there


def _value(text: str) -> Any:
    """What was typed: JSON if it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _worded(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _end_session(arguments: Namespace) -> bool:
    if arguments.session is None:
        raise InvalidInput("Which conversation? Name it with --session.")
    with open_memory(arguments) as memory:
        receipt = memory.end_session()
        text = memory.get(receipt.id).content if receipt is not None else ""
    if arguments.json:
        say_json({"receipt": receipt, "summary": text or None})
    elif receipt is None:
        complain(f"nothing was said in {arguments.session!r}.")
    else:
        say(f"{receipt.outcome}  [{one_line(receipt.id)}]  {one_line(text)}")
    return receipt is not None and receipt.outcome != "rejected"


def _retire(arguments: Namespace) -> bool:
    from mnemic.flows.retaining import RetentionPolicy

    given = {
        "message_days": arguments.message_days, "memory_limit": arguments.memory_limit,
        "session_summary_days": arguments.session_summary_days,
    }  # fmt: skip
    policy = RetentionPolicy(**{name: value for name, value in given.items() if value is not None})
    with open_memory(arguments, retention=policy) as memory:
        count = memory.retire()
    if arguments.json:
        say_json({"archived": count})
    else:
        say(f"{counted({'record': count})} archived; mnemic restore brings them back." if count else "Nothing is due.")
    return True


COMMANDS: Mapping[str, Callable[[Namespace], bool]] = {
    "end-session": _end_session, "prefer": _prefer, "retire": _retire,
}  # fmt: skip
