"""What a Markdown file says it is about: its front matter, else its first heading and paragraph. Pure, and never raises.

The front matter is read by a few rules of our own instead of a YAML library. Two flat strings are wanted, from files that
people and programs write by hand: where YAML stops at a tab, an open quote or a key given twice, something can still be
read. There are no anchors to expand, and nothing to import or to install.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

__all__ = ["decoded", "front_matter", "lead", "one_line"]

LONGEST_LINE = 2_000
"""Characters of a line that are read: no line of prose is longer, and no pattern is slow on it."""

_KEY = re.compile(r"""(["']?)([A-Za-z_][\w-]{0,63})\1[ \t]*:(?:[ \t]+(.*)|$)""")
_BLOCK = re.compile(r"[|>][-+0-9]{0,3}[ \t]*(?:#.*)?$")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_MARKS = re.compile(r"^(?:(?:&|!)\S*[ \t]*)+")
_ESCAPES = {"n": "\n", "t": " ", "r": " ", '"': '"', "\\": "\\", "/": "/", " ": " ", "0": " "}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_NOTHING = {"", "~", "null", "Null", "NULL"}
_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]+")


def decoded(data: bytes) -> str:
    """Bytes of a text file in UTF-8 or UTF-16, with or without a mark of which; what cannot be read is replaced."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data[:1] != b"\0" and data[1:2] == b"\0":
        encoding = "utf-16-le"
    elif data[:1] == b"\0" and data[1:2] != b"\0":
        encoding = "utf-16-be"
    else:
        encoding = "utf-8-sig"
    return data.decode(encoding, errors="replace").removeprefix("\ufeff")


def one_line(text: str, most: int) -> str:
    """Text as one line without control characters, cut at a word after so many characters."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    if len(line) <= most:
        return line
    cut = line[:most].rsplit(" ", 1)[0] if " " in line[:most] else line[: most - 1]
    return f"{cut.rstrip(' ,;:.')}…"


def _lines(text: str) -> list[str]:
    return [line[:LONGEST_LINE] for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


# Front matter


def front_matter(text: str) -> tuple[Mapping[str, str], str]:
    """The strings at the top level of the front matter, keys in lower case, and the text after it.

    Of a key that is there twice, the last counts. What is no string (a list, a mapping, an alias) is left out. Without an
    end marker, the block ends at the first empty line or heading.
    """
    lines = _lines(text)
    begin = next((i for i, line in enumerate(lines) if line.strip()), None)
    if begin is None or lines[begin].rstrip() != "---":
        return {}, "\n".join(lines)
    end = next((i for i in range(begin + 1, len(lines)) if lines[i].rstrip() in {"---", "..."}), None)
    if end is not None:
        return _fields(lines[begin + 1 : end]), "\n".join(lines[end + 1 :])
    stop = next(
        (i for i in range(begin + 1, len(lines)) if not lines[i].strip() or lines[i].startswith("#")), len(lines)
    )
    return _fields(lines[begin + 1 : stop]), "\n".join(lines[stop:])


def _fields(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    key, rest = "", [""]
    for line in [*textwrap.dedent("\n".join(lines).expandtabs(4)).split("\n"), "end_:"]:
        match = _KEY.match(line)
        if match is None:
            if line.startswith((" ", "#")) or not line.strip():
                rest.append(line)
            continue
        value = _value(rest) if key else None
        if value is not None:
            found[key] = value
        key, rest = match[2].lower(), [match[3] or ""]
    return found


def _value(lines: Sequence[str]) -> str | None:
    """The string that a key has: the rest of its line, and the lines under it."""
    first = _MARKS.sub("", lines[0].strip())
    if _BLOCK.match(first):
        gap = "\n" if first.startswith("|") else " "
        return gap.join(line.strip() for line in lines[1:]).strip() or None
    text = " ".join(part for line in [first, *lines[1:]] if (part := line.strip()) and not part.startswith("#"))
    if text.startswith('"'):
        return _ESCAPE.sub(_unescaped, _until_quote(text[1:], '"')) or None
    if text.startswith("'"):
        return _until_quote(text[1:], "'").replace("''", "'") or None
    text = _COMMENT.sub("", text, count=1).strip()
    nested = text.startswith(("*", "- ")) or (text[:1], text[-1:]) in {("[", "]"), ("{", "}")}
    return None if nested or text in _NOTHING else text


def _until_quote(text: str, quote: str) -> str:
    """What stands before the closing quote; all of it when the quote is never closed."""
    place = 0
    while place < len(text):
        escaped = text[place] == "\\" if quote == '"' else text.startswith("''", place)
        if escaped:
            place += 2
        elif text[place] == quote:
            return text[:place]
        else:
            place += 1
    return text


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _ESCAPES.get(match[3], match[3])


# Markdown

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_NO_PROSE = re.compile(
    r"\s*(?:[-*+][ \t]|\d{1,4}[.)][ \t]|[>|@<]|!?\[!?\[|!\[|\[[^\]]*\]:|    |([-*_])(?:[ \t]*\1){2,}[ \t]*$)"
)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_STRESS = re.compile(r"(\*\*|__|\*|`+)(?=\S)(.+?)(?<=\S)\1")

_SAYS_NOTHING = frozenset(
    """
    about agent agents and architecture build building claude code codebase coding commands common context
    contributing contributor conventions copilot cursor dev developer developers development docs documentation
    essential file files for general getting guidance guide guidelines guides how important in information
    instructions introduction key lint linting local md notes of on overview practices project purpose quick
    readme reference repo repository rules run running setup standards start started structure style summary
    table contents test testing tests the this to tools usage with work workflow working your
    """.split()
)
"""Words of headings that name a kind of file or section, such as "CLAUDE.md" or "Build & Test Commands", and no project."""

_ABOUT_THE_FILE = re.compile(
    r"(?:this|the) (?:file|document|guide|page)\b.{0,40}\b(?:provides?|contains?|gives?|offers?|describes?|is)\b|"
    r"(?:guidance|guidelines|instructions|rules|context|notes) (?:for|to) (?:\w+ ){0,3}(?:agents?|assistants?|claude|codex)\b",
    re.IGNORECASE,
)


def lead(text: str) -> tuple[str | None, str | None]:
    """The first heading and the first paragraph of prose, each None where there is none that says what this is about.

    Code, comments, lists, quotes, tables, pictures and imports are passed over; so are headings and paragraphs that only
    speak of the file itself, as "CLAUDE.md" and "This file provides guidance ..." do.
    """
    heading: str | None = None
    seen = False
    for level, block in _blocks(_lines(_without_comments(text))):
        words = _plain(block)
        if level and not seen:
            seen, heading = True, words if _names_something(words) else None
        elif not level and any(c.isalpha() for c in words) and not _ABOUT_THE_FILE.match(words):
            return heading, words
    return heading, None


def _names_something(heading: str) -> bool:
    words = re.findall(r"[^\W_]+", heading.lower())
    return bool(words) and not all(word in _SAYS_NOTHING for word in words)


def _without_comments(text: str) -> str:
    parts: list[str] = []
    place = 0
    while (start := text.find("<!--", place)) >= 0:
        parts.append(text[place:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join(parts)
        place = end + 3
    return "".join([*parts, text[place:]])


def _blocks(lines: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """Headings (True) and paragraphs of prose (False), in order."""
    paragraph: list[str] = []
    prose = True
    for line in _outside_code(lines):
        stripped = line.strip()
        underlined = len(stripped) > 1 and stripped[0] in "=-" and stripped == stripped[0] * len(stripped)
        if paragraph and prose and underlined:
            yield True, " ".join(paragraph)
            paragraph = []
        elif (title := stripped.lstrip("#")) != stripped and len(stripped) - len(title) <= 6 and title[:1].isspace():
            if paragraph and prose:
                yield False, " ".join(paragraph)
            yield True, title.strip().rstrip("#").strip()
            paragraph = []
        elif not stripped:
            if paragraph and prose:
                yield False, " ".join(paragraph)
            paragraph = []
        else:
            prose = prose if paragraph else not _NO_PROSE.match(line)
            paragraph.append(stripped)
    if paragraph and prose:
        yield False, " ".join(paragraph)


def _outside_code(lines: Sequence[str]) -> Iterator[str]:
    """The lines that stand in no fenced block; each block is one empty line."""
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match[1].startswith(fence) else fence
        elif match:
            fence = match[1]
            yield ""
        else:
            yield line


def _plain(text: str) -> str:
    """Prose without the marks of Markdown."""
    text = _TAG.sub("", _LINK.sub(r"\1", _IMAGE.sub("", text[:LONGEST_LINE])))
    return " ".join(_STRESS.sub(r"\2", text).split())
