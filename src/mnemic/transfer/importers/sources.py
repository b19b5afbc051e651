"""Where an import is read from: a file, or a folder or ZIP archive as products hand out their exports."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TypeVar

from mnemic.errors import InvalidInput
from mnemic.paths import path_of
from mnemic.services.files import decoded, read_text
from mnemic.stores import is_encrypted, read_lines
from mnemic.transfer.importers import chats
from mnemic.transfer.importers.fields import Damage, array, from_json, maybe_json
from mnemic.transfer.importers.files import Parsed, parse_lines

LARGEST = 1 << 30
"""Bytes of a file in an archive."""
CONVERSATIONS = "conversations*.json"
"""The files of an export of ChatGPT or Claude; a large one has several: conversations-000.json ..."""
MEMORIES, PROJECTS = "memories*.json", "projects*.json"
"""What an export of Claude has beside them, in a file or a folder: what it wrote down, and projects with their documents."""
KNOWN = (CONVERSATIONS, "result.json", "*chat*.txt")
"""The file of an export that has the conversations: of ChatGPT and Claude, Telegram, WhatsApp."""

Reader = Callable[[], bytes]
T = TypeVar("T")


def export_of(path: str, format: str = "auto") -> Parsed | None:
    """The data of an export in a folder or a ZIP archive; None for a single file.

    Raises:
        InvalidInput: it cannot be read, or holds nothing that is known.
    """
    location = Path(path)
    try:
        if location.is_dir():
            files = [file for file in sorted(location.rglob("*")) if file.is_file()]
            readers = {file.relative_to(location).as_posix(): file.read_bytes for file in files}
            return _export_data(readers, path, format)
        if location.is_file() and zipfile.is_zipfile(location):
            return _archive_data(location, format)
        is_damaged = location.is_file() and _start(location) == b"PK\x03\x04"
    except (OSError, zipfile.BadZipFile, RuntimeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from error
    if is_damaged:
        raise InvalidInput(f"{path} is an archive that is cut off or damaged. Download it again.")
    return None


def _start(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(4)


def note_of(file: str, text: str, format: str) -> Parsed | None:
    """A note in Markdown: it has front matter, unless its format is named."""
    has_front = format == "auto" and Path(file).suffix.lower() == ".md" and text.startswith("---\n")
    is_named = format == "basic-memory" and maybe_json(text) is None
    return Parsed([{"file": Path(file).name, "note": text}]) if has_front or is_named else None


def text_of(path: str, key: str | bytes | None = None) -> str:
    """The text of a file; ``-`` is stdin.

    Raises:
        InvalidInput: it cannot be read, or is not UTF-8.
    """
    if path != "-":
        return text_of_file(path, key)
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
        raise InvalidInput("stdin is closed. Name a file, or pipe one in.")
    return decoded(sys.stdin.buffer.read(), "stdin")


def text_of_file(path: str | Path, key: str | bytes | None = None) -> str:
    """The text of a file; ``key`` is that of an encrypted export.

    Raises:
        InvalidInput: it cannot be read, or is not UTF-8.
        WrongKey: it is encrypted under another key.
    """
    file = path_of(path)
    return "".join(read_lines(file, key)) if is_encrypted(file) else read_text(path)


def _archive_data(location: Path, format: str) -> Parsed:
    with zipfile.ZipFile(location) as archive:

        def member(info: zipfile.ZipInfo) -> Reader:
            if info.file_size > LARGEST:
                raise InvalidInput(
                    f"{info.filename} of {location} has more than {LARGEST:,} bytes. Unpack it and import a part."
                )
            return lambda: archive.read(info)

        members = {info.filename: member(info) for info in archive.infolist() if not info.is_dir()}
        return _export_data(members, str(location), format)


def _export_data(files: Mapping[str, Reader], path: str, format: str) -> Parsed:
    """The file of an export that has the conversations, the days of each channel of Slack, or a folder of notes."""
    for pattern in KNOWN:
        matching = (
            name for name in files if fnmatch(PurePosixPath(name).name.lower(), pattern) and "/." not in f"/{name}"
        )
        names = sorted(matching, key=lambda name: (name.count("/"), len(name), name))
        if not names:
            continue
        folder = PurePosixPath(names[0]).parent
        siblings = [name for name in names if PurePosixPath(name).parent == folder]
        chosen = [*siblings, *_beside(files, folder, MEMORIES)] if pattern == CONVERSATIONS else names[:1]
        parsed = _joined({name: files[name] for name in chosen}, format)
        unread = [Damage(name, f"{name} was not read. Import it by itself.") for name in names if name not in chosen]
        left_out = _beside(files, folder, PROJECTS) if pattern == CONVERSATIONS else []
        return replace(parsed, damaged=[*parsed.damaged, *unread], left_out=left_out)
    users = next((name for name in files if PurePosixPath(name).name == "users.json"), None)
    if users is not None:
        return _slack(files, users)
    notes = [name for name in sorted(files) if name.lower().endswith(".md") and "/." not in f"/{name}"]
    if not notes:
        raise InvalidInput(
            f"{path} holds no export that is known: no conversations.json (ChatGPT, Claude), result.json (Telegram), chat "
            "in text (WhatsApp), users.json (Slack) or notes in Markdown (basic-memory). Name the file to import."
        )
    read, damaged = _parse_each(files, notes, lambda text: text)
    return Parsed([{"file": name, "note": text} for name, text in read], damaged=damaged)


def _beside(files: Iterable[str], folder: PurePosixPath, pattern: str) -> list[str]:
    """The files in a folder whose path from there fits a pattern; its star stands for folders too."""
    inside = [name for name in sorted(files) if PurePosixPath(name).is_relative_to(folder)]
    return [name for name in inside if fnmatch(str(PurePosixPath(name).relative_to(folder)).lower(), pattern)]


def _joined(files: Mapping[str, Reader], format: str) -> Parsed:
    """The conversations of a file or of several; one that cannot be read is named as damaged."""
    read, damaged = _parse_each(files, files, lambda text: parse_lines(text, format))
    if len(files) == len(read) == 1:
        return read[0][1]
    conversations = [item for _, parsed in read for item in array(parsed.data, [parsed.data])]
    return Parsed(conversations, damaged=[*damaged, *(item for _, parsed in read for item in parsed.damaged)])


def _slack(files: Mapping[str, Reader], users: str) -> Parsed:
    """The messages of each channel in order of the days, and the names of the users."""
    days = [name for name in sorted(files) if name.endswith(".json") and PurePosixPath(name).stem[:4].isdigit()]
    read, damaged = _parse_each(files, days, from_json)
    channels: dict[str, list[object]] = {}
    for name, messages in read:
        channels.setdefault(PurePosixPath(name).parent.name, []).extend(array(messages, [messages]))
    user_files, unread = _parse_each(files, [users], lambda text: chats.slack_users(from_json(text)))
    names = {id_: name for _, (by_id, _) in user_files for id_, name in by_id.items()}
    unread += [damage for _, (_, others) in user_files for damage in others]
    return Parsed({"channels": channels, "users": names}, damaged=[*damaged, *unread])


def _parse_each(
    files: Mapping[str, Reader], names: Iterable[str], parse: Callable[[str], T]
) -> tuple[list[tuple[str, T]], list[Damage]]:
    """Files by name as they are parsed, and those that cannot be read."""
    results, damaged = list[tuple[str, T]](), list[Damage]()
    for name in names:
        try:
            results.append((name, parse(decoded(files[name](), name))))
        except InvalidInput as error:
            damaged.append(Damage(name, f"{name} cannot be read. {error}"))
    return results, damaged
