"""Writes docs/reference/command-line.md from the parser of ``mnemic``; ``--check`` only compares."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

import mnemic.cli  # noqa: F401 - declares the commands
from mnemic.cli.parser import COMMANDS, MEMORY_OPTIONS, Command, Option

PAGE = Path(__file__).parent / "reference" / "command-line.md"
NOTE = "<!-- Written by docs/command_line.py from the parser. Change that, then run it. -->"


def section(name: str, command: Command) -> Iterator[str]:
    """The usage, description and own options of a command."""
    usage = " ".join([f"mnemic {name}", *map(_usage, command.options)])
    yield from (f"## `mnemic {name}`", "", "```text", usage, "```", "")
    yield from _description(command.run.__doc__ or command.summary)
    if command.options:
        yield from (*table(command.options), "")


def table(options: Sequence[Option]) -> Iterator[str]:
    """Each option with its meaning and choices."""
    yield from ("| argument | meaning |", "|---|---|")
    for name, settings in options:
        listed = [f"`{one}`" for one in settings.get("choices", ())] if name.startswith("-") else []
        about = settings["help"] + f": {', '.join(listed)}" * bool(listed)
        yield f"| `{_placed(name, settings)}` | {_cell(about)} |"


def _placed(name: str, settings: Mapping[str, Any]) -> str:
    value = _value(name, settings)
    return f"{name} {value}".strip() if name.startswith("-") else value


def _usage(option: Option) -> str:
    name, settings = option
    optional = name.startswith("-") or settings.get("nargs") in ("?", "*")
    return f"[{_placed(name, settings)}]" if optional else _placed(name, settings)


def _value(name: str, settings: Mapping[str, Any]) -> str:
    """The placeholder of a value; empty for an option without one."""
    if str(settings.get("action", "")).startswith("store_"):
        return ""
    value = settings.get("metavar") or (name.lstrip("-").replace("-", "_").upper() if name.startswith("-") else name)
    return f"{value} ..." if settings.get("nargs") in ("+", "*") else value


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _description(text: str) -> Iterator[str]:
    """Paragraphs as they are; indented lines, such as examples, as a block."""
    for paragraph in cleandoc(text).split("\n\n"):
        lines = paragraph.replace("examples:", "Examples:").splitlines()
        first = next((n for n, line in enumerate(lines) if line.startswith("  ")), len(lines))
        if first:
            yield from (*lines[:first], "")
        if block := lines[first:]:
            shell = block[0].lstrip().startswith("mnemic ")
            yield from ("```sh" if shell else "```text", *(line[2:] for line in block), "```", "")


def page() -> str:
    """The whole page."""
    lines = [
        NOTE,
        "",
        "# Command line",
        "",
        "Every command and option of `mnemic`, as `mnemic COMMAND --help` prints them.",
        "",
    ]
    lines += ["| command | what it does |", "|---|---|"]
    lines += [f"| [`{name}`](#mnemic-{name}) | {_cell(one.summary)} |" for name, one in COMMANDS.items()]
    lines += ["", "## Options of every command", "", "They go before or after the command.", "", *table(MEMORY_OPTIONS)]
    for name, one in COMMANDS.items():
        lines += ["", *section(name, one)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).rstrip() + "\n"


def main(words: Sequence[str]) -> int:
    """Write the page, or say that it is out of date."""
    made = page()
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == made:
        return 0
    if "--check" in words:
        sys.stderr.write(f"{PAGE.name} is out of date. Run: python docs/command_line.py\n")
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
