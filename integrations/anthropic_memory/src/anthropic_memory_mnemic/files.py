"""Paths and texts of files, and what Claude is shown of them. Pure: no memory is read or written here."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from anthropic.lib.tools import ToolError

ROOT = "/memories"
MAX_PATH = 200
"""Characters: a path is the key of a memory."""
DEPTH = 2
"""Levels of a directory that are listed."""
AROUND = 2
"""Lines that are shown before and after an edited one."""


def normal(path: str) -> str:
    """The path without ``.``, ``..`` and needless slashes.

    Raises:
        ToolError: it leads out of ``/memories``, or cannot be the path of a file.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    found = posixpath.normpath(path)
    if found != ROOT and not found.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    if not found.isprintable():
        raise ToolError(f"Path {found!r} has characters that are not printable. Use letters, digits, '-', '_' and '.'.")
    if len(found) > MAX_PATH:
        raise ToolError(f"Path {found} has {len(found)} characters, more than {MAX_PATH}. Use a shorter one.")
    return found


def below(files: Collection[str], directory: str) -> list[str]:
    """The files in a directory, at any depth. A directory exists as long as there is one."""
    return [path for path in files if path.startswith(f"{directory}/")]


def at(files: Collection[str], path: str) -> list[str]:
    """The file of that path, or the files in the directory."""
    return [path] if path in files else below(files, path)


def exists(files: Collection[str], path: str) -> bool:
    """Whether there is a file or a directory of that path."""
    return path == ROOT or bool(at(files, path))


def check_place(files: Collection[str], path: str) -> None:
    """Check that no directory above a new path is a file.

    Raises:
        ToolError: one is.
    """
    above = posixpath.dirname(path)
    while above != ROOT:
        if above in files:
            raise ToolError(f"{above} is a file, so {path} cannot be in it. Use another path.")
        above = posixpath.dirname(above)


def listing(files: Mapping[str, str], directory: str) -> str:
    """The files and directories in a directory, with their sizes; the size of a directory is that of its files.

    Args:
        files: texts by path.
        directory: a directory that exists.
    """
    sizes: Counter[tuple[str, ...]] = Counter()  # the parts of a path, with an empty one behind a directory
    for path in below(files, directory):
        size = len(files[path].encode())
        sizes[("",)] += size
        parts = path.removeprefix(f"{directory}/").split("/")
        for depth in range(1, min(len(parts), DEPTH) + 1):
            if parts[depth - 1].startswith("."):
                break
            sizes[(*parts[:depth], *([""] if depth < len(parts) else []))] += size
    lines = [f"{_size(sizes.pop(('',), 0))}\t{directory}"]
    lines += [f"{_size(size)}\t{directory}/{'/'.join(parts)}" for parts, size in sorted(sizes.items())]
    head = f"Here're the files and directories up to {DEPTH} levels deep in {directory}, excluding hidden items:"
    return "\n".join([head, *lines])


def _size(count: int) -> str:
    """A number of bytes, such as ``1.5K``."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**power
    return f"{size:.0f}{'BKMG'[power]}" if size.is_integer() else f"{size:.1f}{'BKMG'[power]}"


def content(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """The lines of a file, numbered.

    Args:
        path: of the file.
        text: of the file.
        view_range: the first and the last line, of which -1 is the end.
    """
    lines = text.split("\n")
    first, last = view_range if view_range and len(view_range) == 2 else (1, -1)
    first = max(first, 1)
    shown = lines[first - 1 : len(lines) if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_numbered(shown, first))


def replaced(path: str, text: str, old: str, new: str) -> str:
    """The text with its only ``old`` replaced.

    Raises:
        ToolError: it is not there, or more than once.
    """
    count = text.count(old)
    if count == 0:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        places = re.finditer(f"(?={re.escape(old)})", text)
        lines = ", ".join(str(text.count("\n", 0, place.start()) + 1) for place in places)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    return text.replace(old, new)


def snippet(text: str, line: int) -> str:
    """The lines around an edited one, counted from 0."""
    first = max(line - AROUND, 0)
    shown = _numbered(text.split("\n")[first : line + AROUND + 1], first + 1)
    head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return "\n".join([head, *shown])


def inserted(text: str, line: int, added: str) -> str:
    """The text with another behind a line; 0 is the beginning.

    Raises:
        ToolError: there is no such line.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        raise ToolError(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    lines.insert(line, added.rstrip("\n"))
    joined = "\n".join(lines)
    return joined if joined.endswith("\n") else f"{joined}\n"


def _numbered(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>6}\t{line}" for number, line in enumerate(lines, first)]
