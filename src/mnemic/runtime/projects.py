"""Detects a project: its root folder, name, description and id.

Only the beginnings of a few files are read; git is not run. A broken, hostile or unreadable file counts as absent.
"""

# ruff: noqa: PTH112, PTH113 - is_file and is_dir of pathlib may raise; these do not
from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from mnemic.errors import InvalidInput
from mnemic.paths import path_of
from mnemic.text.markup import unlinked, unmarked, visible

FILES = ("CLAUDE.md", "AGENTS.md")
MOST_READ = 64 * 1024
"""Bytes read of a file."""

MOST_LEVELS = 40
"""Parent folders searched."""

LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_LINE = 100, 500, 2_000

_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project: ``Memory(project=...)`` takes it, or its id.

    Attributes:
        name: for people, 1 to 100 characters.
        description: one line of at most 500 characters; empty when no file has one.
        root: its folder.
        id: for the memory: ``owner/repository`` of its git remote, in lower case and without host or credentials;
            without a remote, the folder's name and a hash of its path. It does not depend on name and description.
        marker: how ``root`` was recognized: by ``git``, by a ``file`` that describes it, or not at all (None).
    """

    name: str
    description: str
    root: Path
    id: str
    marker: Literal["git", "file"] | None = None


def project(path: str | os.PathLike[str] = ".") -> Project:
    """The project that a folder belongs to: the git repository around it, else the folder itself.

    The name (``project:`` or ``name:``) and ``description:`` come from the front matter of ``CLAUDE.md`` or ``AGENTS.md`` at
    its root; the default name is that of the folder. All clones and worktrees of one repository have one id. The home
    folder and the root of the file system never count as the repository around a folder.

    Args:
        path: a folder, or a file in it; it need not exist.

    Raises:
        InvalidInput: the argument is not a path.
    """
    start = _folder(path)
    root = _git_root(start)
    texts = [text for name in FILES if (text := _read_head(Path(root or start, name))) is not None]
    name, description = _name_and_description(texts)
    repository = None if root is None else _git_folder(root)
    repository_path = None if repository is None else _origin(repository)
    worktree = start if root is None else _main_worktree(root, repository)
    marker = "git" if root is not None else "file" if texts and not _is_home_or_root(start) else None
    return Project(
        name=name or _plain_line(worktree.name, LONGEST_NAME) or "files",
        description=description,
        root=root or start,
        id=repository_path.lower() if repository_path else _local_id(worktree),
        marker=marker,
    )


def project_id(project: str | Project | None) -> str | None:
    """The id of a project."""
    return project.id if isinstance(project, Project) else project


def _folder(path: object) -> Path:
    try:
        folder = Path(os.path.realpath(path_of(path)))
    except OSError as error:
        raise InvalidInput(f"{path!r:.80} is not the path of a folder ({error}).") from error
    return folder.parent if os.path.isfile(folder) else folder


def _read_head(path: Path) -> str | None:
    """The first 64 KB of a regular file as text, in UTF-8 or UTF-16; None when it cannot be read."""
    if not os.path.isfile(path):  # a pipe or a device would block
        return None
    try:
        with path.open("rb") as file:
            data = file.read(MOST_READ)
    except OSError:
        return None
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return data.decode(encoding, errors="replace")


def _plain_line(text: str, most: int) -> str:
    """A text as one line without markup: the files of a repository are untrusted, and prompts show this."""
    return unlinked(unmarked(visible(_one_line(text, most)))).strip()


def _name_and_description(texts: list[str]) -> tuple[str, str]:
    """Name and description, each from the front matter of the first file that has it."""
    headers = [front_matter(text) for text in texts]

    def first(key: str, most: int) -> str:
        return next(filter(None, (_plain_line(fields.get(key, ""), most) for fields in headers)), "")

    return first("project", LONGEST_NAME) or first("name", LONGEST_NAME), first("description", LONGEST_DESCRIPTION)


def front_matter(text: str) -> dict[str, str]:
    """The strings of one line at the top level of the front matter of a Markdown file, keys in lower case.

    The files are untrusted: anything but a flat string (a list, a mapping, an alias, a block) is left out, and nothing
    is expanded.
    """
    lines = iter(text.lstrip().splitlines())
    fields: dict[str, str] = {}
    if next(lines, "").rstrip() != "---":
        return fields
    for line in lines:
        if line.rstrip() in {"---", "..."}:
            break
        key, colon, value = line[:LONGEST_LINE].partition(":")
        value = value.strip()
        if not colon or key != key.strip() or value[:1] in set("[{&*!|>#"):
            continue
        fields[key.strip("\"'").lower()] = _unquote(value)
    return fields


def _unquote(value: str) -> str:
    """The string of a value: JSON in double quotes, in single quotes, or plain up to a comment."""
    if value[:1] == '"':
        with suppress(ValueError):
            return str(json.loads(value))
    quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
    return value[1:-1].replace("''", "'") if quoted else value.partition(" #")[0].rstrip()


def _one_line(text: str, most: int) -> str:
    """Text as one line without control characters, cut at a word to ``most`` characters."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    if len(line) <= most:
        return line
    cut = line[:most].rsplit(" ", 1)[0] if " " in line[:most] else line[: most - 1]
    return f"{cut.rstrip(' ,;:.')}…"


def chosen_project(name: str | None) -> Project | str | None:
    """The project that an option names: ``auto`` is that of the working folder if it is one, ``off`` and None are none."""
    if name in (None, "off"):
        return None
    here = project()
    if name == "auto":
        return here if here.marker else None
    return here if name == here.id else name


# Git


def _is_home_or_root(folder: Path) -> bool:
    """Whether a folder is the home folder or the root of the file system, which are no projects."""
    try:
        return folder.parent == folder or folder == Path(os.path.realpath(Path.home()))
    except (RuntimeError, OSError):  # the home folder is unknown
        return False


def _git_root(start: Path) -> Path | None:
    for folder in [start, *start.parents][:MOST_LEVELS]:
        if _is_home_or_root(folder):
            return None
        if _git_folder(folder) is not None:
            return folder
    return None


def _git_folder(root: Path) -> Path | None:
    """The git directory of a working folder; None when it is not one."""
    entry = root / ".git"
    if os.path.isdir(entry):
        return entry if os.path.isfile(entry / "HEAD") else None
    text = _read_head(entry)  # a worktree or a submodule: the file names it
    if text is None or not text.startswith("gitdir:"):
        return None
    return _resolve_line(root, text.removeprefix("gitdir:"))


def _resolve_line(folder: Path, text: str) -> Path | None:
    """The path on the first line of a text, relative to a folder."""
    line = text.strip().split("\n")[0].strip()
    if not line or "\0" in line:
        return None
    return Path(os.path.normpath(folder / line))


def _common_folder(repository: Path) -> Path:
    """The git directory shared by all worktrees of a repository."""
    text = _read_head(repository / "commondir")
    return (text and _resolve_line(repository, text)) or repository


def _main_worktree(root: Path, repository: Path | None) -> Path:
    """The main worktree of a repository; the folder itself where it is the main or only one."""
    if repository is None or repository == root / ".git":
        return root
    common = _common_folder(repository)
    if common == repository:  # a submodule
        return root
    return Path(os.path.realpath(common.parent if common.name == ".git" else common))


_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')


def _origin(repository: Path) -> str | None:
    """``owner/repository`` of the remote ``origin``, else of the first remote."""
    text = _read_head(_common_folder(repository) / "config") or ""
    remotes: dict[str, str] = {}
    section: str | None = None
    for line in text.splitlines():
        stripped = line[:MOST_READ].strip()
        if match := _SECTION.match(stripped):
            section = match[2] or "" if match[1].lower() == "remote" else None
            continue
        name, _, value = stripped.partition("=")
        if section is not None and name.strip().lower() == "url":
            repository_path = _repository_path(value.strip().strip('"'))
            if repository_path:
                remotes.setdefault(section, repository_path)
    return remotes.get("origin") or next(iter(remotes.values()), None)


def _repository_path(url: str) -> str | None:
    """The path of a repository on its host, ``owner/repository``, or ``host/repository`` without an owner.

    None for a local folder. User names, passwords and queries of the URL are never part of it.
    """
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return None
        if parts.scheme.lower() == "file":
            return None
    else:
        authority, _, path = url.partition(":")
        host = authority.rsplit("@", 1)[-1]
        if not path or len(host) < 2 or "/" in authority or "\\" in url:  # a path, or the letter of a drive
            return None
        path = path.partition("?")[0]
    names = [
        part for part in unquote(path).removesuffix("/").removesuffix(".git").split("/") if part not in ("", "~", "..")
    ]
    if not host or not names:
        return None
    return _one_line("/".join(names if len(names) > 1 else [host, *names]), 2 * LONGEST_NAME)


def _local_id(folder: Path) -> str:
    """The name of a folder and a hash of its path."""
    path = os.path.normcase(folder).encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(path, digest_size=4).hexdigest()
    return f"{_one_line(folder.name, LONGEST_NAME) or 'files'}-{digest}"
