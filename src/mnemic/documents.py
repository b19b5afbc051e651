"""Documents as messages: the pieces of a text, each with its file, heading, page and position."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.paths import path_of
from mnemic.services.files import read_text
from mnemic.text.sentences import sentences
from mnemic.types import Message

MAX_CHARACTERS = 1000
"""About what the default model reads of a text: 256 word pieces."""
MARKDOWN, PLAIN = (".md", ".markdown"), (".txt", ".text")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_IN_LINES = re.compile(r"^[ \t]*(?:[-*+|>]|\d{1,3}[.)]|```|~~~)", re.MULTILINE)
"""Lists, tables and code: their lines are kept."""
_JOINTS = ("\n\n", "\n", " ", "")
"""What stands between blocks, between lines or sentences, between words, and between characters."""


def read(path: str | Path, *, project: str | None = None, max_characters: int = MAX_CHARACTERS) -> list[Message]:
    """The pieces of a text file (``.txt``) or a Markdown file (``.md``), in UTF-8.

    Their time is that of the file's last modification.

    Args:
        path: the file. Its location is its identity: when it is read again, equal
            pieces get the same ids.
        project: the project that the pieces are for; in another project the ids differ.
        max_characters: see ``split``.

    Raises:
        InvalidInput: the file is of another kind, cannot be read, or contains no text.
    """
    file = path_of(path)
    if file.suffix.lower() not in (*MARKDOWN, *PLAIN):
        raise InvalidInput(
            f"{file.name} is no .txt or .md file. Convert it first (a PDF with pdftotext, which keeps its pages), or give "
            "its text to mnemic.documents.split()."
        )
    text, changed = read_text(path), file.stat().st_mtime
    location = f"{project or ''}\0{file.resolve()}"
    pieces = split(
        text, document=f"doc_{_digest(location)}", file=file.name,
        markdown=file.suffix.lower() in MARKDOWN, sent_at=datetime.fromtimestamp(changed, UTC), max_characters=max_characters,
    )  # fmt: skip
    if not pieces:
        raise InvalidInput(f"{path} contains no text.")
    return pieces


def _check(text: object, document: str, max_characters: object) -> None:
    if not isinstance(text, str):
        raise InvalidInput(f"text must be a string, not {type(text).__name__}.")
    if not isinstance(max_characters, int) or max_characters < 100:
        raise InvalidInput(f"max_characters must be a whole number from 100, not {max_characters!r}.")
    if not document:
        raise InvalidInput("document must not be empty: the ids of the pieces are made of it.")


def split(
    text: str,
    *,
    document: str,
    file: str | None = None,
    markdown: bool = True,
    sent_at: datetime | None = None,
    max_characters: int = MAX_CHARACTERS,
) -> list[Message]:
    r"""The pieces of a document, for ``Memory.add``.

    A piece ends at the end of a section or page if possible, else between paragraphs,
    else between sentences. It begins with the headings of its section. Its role and its
    source are ``document``: searches find it, but it is never taken for something that
    a person said.

    Args:
        text: the document; a form feed begins a page.
        document: the id of the document. The id of a piece is made from it and from the
            text of the piece. When a document is split again, unchanged pieces
            therefore have the same ids and are stored once.
        file: a name to show as the speaker of the pieces. Default: the id.
        markdown: whether lines that begin with ``#`` are headings.
        sent_at: the time of the document. Default: the time when it is added.
        max_characters: most characters of a piece, at least 100.

    Returns:
        Messages whose metadata has ``document``, ``file``, ``position`` (from 1) and, where there is one, ``heading``
        and ``page``. A piece that a document repeats is one message.

    Raises:
        InvalidInput: ``max_characters`` is less than 100, or ``document`` is empty.

    Examples:
        >>> from mnemic import documents
        >>> [piece] = documents.split("# Setup\n\nRun make demo.", document="readme")
        >>> piece.content
        'Setup\n\nRun make demo.'
    """
    _check(text, document, max_characters)
    pages = text.replace("\r\n", "\n").split("\f")
    pieces: dict[str, Message] = {}
    headings: list[str] = []
    for number, page in enumerate(pages, 1):
        for section in _grouped(page, at_headings=True) if markdown else [page]:
            body = section
            if markdown and (match := _HEADING.fullmatch(section.partition("\n")[0])):
                headings[len(match[1]) - 1 :] = [""] * (len(match[1]) - 1 - len(headings)) + [match[2]]
                body = section.partition("\n")[2]
            heading = " > ".join(filter(None, headings))
            above = f"{heading}\n\n" if heading and len(heading) < max_characters // 2 else ""
            for piece in _packed(body.strip(), max_characters - len(above)):
                metadata: dict[str, Any] = {"document": document, "file": file or document, "position": len(pieces) + 1}
                metadata |= {"heading": heading} if heading else {}
                metadata |= {"page": number} if len(pages) > 1 else {}
                message = Message(
                    role="document", source="document", name=file or document, content=above + piece, sent_at=sent_at,
                    id=f"{document}_{_digest(above + piece)}", metadata=metadata,
                )  # fmt: skip
                pieces.setdefault(message.content, message)
    return list(pieces.values())


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def _grouped(text: str, *, at_headings: bool) -> Iterator[str]:
    """The text cut before each heading, or at blank lines; code blocks stay whole."""
    block: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if not fence and (_HEADING.fullmatch(line) if at_headings else not line.strip()) and block:
            yield "\n".join(block)
            block = []
        if mark:
            fence = "" if fence == mark[1] else fence or mark[1]
        block.append(line)
    yield "\n".join(block)


def _parts(text: str, level: int, most: int) -> list[str]:
    """The parts of a text: its blocks, its lines or sentences, its words, or runs of characters."""
    if level == 0:
        return [block.strip("\n") for block in _grouped(text, at_headings=False) if block.strip()]
    if level == 1:
        return [line for line in text.split("\n") if line.strip()] if _IN_LINES.search(text) else sentences(text)
    return text.split() if level == 2 else [text[start : start + most] for start in range(0, len(text), most)]


def _packed(text: str, most: int, level: int = 0) -> list[str]:
    """The text in pieces of at most so many characters, each as long as its parts allow."""
    if len(text) <= most:
        return [text] if text else []
    pieces: list[str] = []
    piece, joint = "", " " if level == 1 and not _IN_LINES.search(text) else _JOINTS[level]
    for part in _parts(text, level, most):
        if piece and len(piece) + len(joint) + len(part) <= most:
            piece += joint + part
            continue
        pieces += [piece] if piece else []
        *whole, piece = _packed(part, most, level + 1) or [""]
        pieces += whole
    return [*pieces, piece] if piece else pieces
