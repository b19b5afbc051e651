"""The commands of the memory tool on remembered notes: one memory for each file, which begins with its path."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any

from anthropic.lib.tools import ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from pydantic import Field, TypeAdapter, ValidationError

from anthropic_memory_mnemic import files
from mnemic import AsyncMemory, MnemicError, Receipt, Scope
from mnemic.adapters import Clean

TOOL = {"tool": "anthropic_memory"}
"""Metadata of every note."""
NEVER = datetime(9999, 12, 31, tzinfo=UTC)
"""Consolidation leaves a memory alone that has an end: two files that say the same must stay two."""
DELETED = "deleted with the memory tool"
REDACTED = "Secrets in it were not stored: [redacted: ...] stands in their place."


@contextmanager
def readable() -> Generator[None]:
    """Errors as results that the model can act on; memory never ends a run."""
    try:
        yield
    except MnemicError as error:
        raise ToolError(str(error)) from error


@cache
def _commands() -> TypeAdapter[BetaMemoryTool20250818Command]:
    return TypeAdapter(Annotated[BetaMemoryTool20250818Command, Field(discriminator="command")])


def command_of(given: object) -> BetaMemoryTool20250818Command:
    """A command as Claude wrote it, which the SDK does not check.

    Raises:
        ToolError: it is none, or an argument is missing or of another type.
    """
    try:
        return _commands().validate_python(given)
    except ValidationError as error:
        problems = (": ".join([*map(str, one["loc"]), one["msg"]]) for one in error.errors())
        raise ToolError(f"Wrong arguments: {'; '.join(problems)}. Nothing was done.") from error


@dataclass(frozen=True, slots=True)
class Note:
    """A file.

    Attributes:
        text: what stands below the path.
        ids: of its memory; before it those of writers that made the same file at the same moment.
    """

    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """The files of one scope.

    Attributes:
        memory: bound to the user.
        scope: of the memory; a project has files of its own.
        clean: ``Memory.admin.redacted``.
        max_characters: of a file.
    """

    memory: AsyncMemory
    scope: Scope
    clean: Clean
    max_characters: int

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Returns a directory, or the lines of a file."""
        path, found = files.normal(command.path), await self._found()
        if path in found:
            return files.content(path, found[path].text, command.view_range)
        if not files.exists(found, path):
            raise _missing(path)
        return files.listing({file: note.text for file, note in found.items()}, path)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Stores a new file."""
        path, found = files.normal(command.path), await self._found()
        if files.exists(found, path):
            raise ToolError(f"File {path} already exists")
        files.check_place(found, path)
        self._check(path, command.file_text)
        await self._remember(path, command.file_text)
        return self._told(f"File created successfully at: {path}", "", command.file_text)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces words in a file."""
        path, note = await self._file(command.path)
        text = files.replaced(path, note.text, command.old_str, command.new_str)
        await self._update(path, note, text)
        line = note.text.count("\n", 0, note.text.find(command.old_str))
        return self._told(files.snippet(self.clean(text), line), note.text, text)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts lines into a file."""
        path, note = await self._file(command.path)
        text = files.inserted(note.text, command.insert_line, command.insert_text)
        await self._update(path, note, text)
        return self._told(f"The file {path} has been edited.", note.text, text)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forgets a file, or a directory with its files."""
        path, found = files.normal(command.path), await self._found()
        if path == files.ROOT:
            raise ToolError(f"Cannot delete the {path} directory itself")
        if not files.exists(found, path):
            raise ToolError(f"The path {path} does not exist")
        await self._forget(found[file] for file in files.at(found, path))
        return f"Successfully deleted {path}"

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Moves a file, or the files of a directory."""
        old, new, found = files.normal(command.old_path), files.normal(command.new_path), await self._found()
        if old == files.ROOT:
            raise ToolError(f"Cannot rename the {old} directory itself")
        if files.exists(found, new):
            raise ToolError(f"The destination {new} already exists")
        if not files.exists(found, old):
            raise ToolError(f"The path {old} does not exist")
        if new.startswith(f"{old}/"):
            raise ToolError(f"{old} cannot be moved into itself")
        files.check_place(found, new)
        moved = {files.normal(new + file.removeprefix(old)): found[file] for file in files.at(found, old)}
        for path, note in moved.items():
            self._check(path, note.text)
        for path, note in moved.items():  # when all can be stored
            await self._remember(path, note.text, replaces=note.ids)
        return f"Successfully renamed {old} to {new}"

    async def clear(self) -> str:
        """Forgets all files."""
        await self._forget((await self._found()).values())
        return "All memory cleared"

    # Memories

    async def _found(self) -> Mapping[str, Note]:
        """The files by path."""
        found: dict[str, Note] = {}
        for record in await self.memory.list(metadata=TOOL, order="oldest", limit=None):
            if record.project != self.scope.project:
                continue
            path = str(record.metadata["path"])
            text = record.content.removeprefix(f"{path}\n")  # all of it where a program wrote another first line
            before = found[path].ids if path in found else ()
            found[path] = Note(text, (*before, record.id))
        return found

    async def _file(self, path: str) -> tuple[str, Note]:
        path, found = files.normal(path), await self._found()
        if not files.exists(found, path):
            raise _missing(path)
        if path not in found:
            raise ToolError(f"The path {path} is not a file.")
        return path, found[path]

    def _check(self, path: str, text: str) -> None:
        """Check that a file can be stored.

        Raises:
            ToolError: it is too long, or its path holds a secret.
        """
        if len(text) > self.max_characters:
            raise ToolError(
                f"{path} would have {len(text):,} characters, more than {self.max_characters:,}. Use several files."
            )
        if (clean := self.clean(path)) != path:
            raise ToolError(f"The path {clean} holds a secret. Use another one.")

    async def _remember(self, path: str, text: str, **given: Any) -> None:
        receipt = await self.memory.remember(
            f"{path}\n{text}", key=path, metadata={**TOOL, "path": path}, source="model_inference", delete_after=NEVER,
            **given,
        )  # fmt: skip
        _check_stored(receipt)

    async def _update(self, path: str, note: Note, text: str) -> None:
        self._check(path, text)
        _check_stored(await self.memory.update(note.ids[-1], content=f"{path}\n{text}", source="model_inference"))

    async def _forget(self, notes: Iterable[Note]) -> None:
        await self.memory.forget(ids=[id_ for note in notes for id_ in note.ids], reason=DELETED)

    def _told(self, done: str, before: str, text: str) -> str:
        """What was done, and whether a mark stands for a secret that was not there before."""
        new = self.clean(text) != text and self.clean(before) == before
        return f"{done}\n{REDACTED}" if new else done


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _check_stored(receipt: Receipt) -> None:
    if receipt.outcome == "rejected":
        raise ToolError(f"Nothing was stored: {receipt.reason}")
