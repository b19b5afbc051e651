"""A rendered context, read as its format says."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a rendered context, and its heading."""

    heading: str
    text: str


def parsed(context: str, fence: str) -> Sequence[Item] | None:
    """The items of a rendered context, or None if it is not enclosed in fences of this record.

    Headings start in the first column, items with a hyphen, and continuation lines with two spaces.

    Args:
        context: the text of a context.
        fence: the word of the record's fences.
    """
    lines = context.split("\n")
    if len(lines) < 3 or lines[0] != f"<memory {fence}>" or lines[-1] != f"</memory {fence}>":
        return None
    heading, items, open_ = "", list[Item](), False
    for line in lines[2:-1]:
        if line.startswith("- "):
            items.append(Item(heading, line[2:]))
            open_ = True
        elif line.startswith("  "):
            if open_:
                items[-1] = Item(heading, f"{items[-1].text}\n{line[2:]}")
        elif line.endswith(":"):
            heading, open_ = line[:-1], False
        else:
            return None
    return items
