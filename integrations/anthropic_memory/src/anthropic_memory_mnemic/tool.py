"""MnemicMemoryTool and AsyncMnemicMemoryTool: Claude's memory tool, for either kind of client."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, BetaFunctionToolResultType
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from anthropic_memory_mnemic.notes import Notes, command_of, readable
from mnemic import AsyncMemory, ConfigurationError, Memory, Scope
from mnemic.adapters import as_async, blocking, bound, checked_memory

MAX_CHARACTERS = 100_000
"""Most characters of a file, unless the program says otherwise: about what fits a prompt when it is viewed."""
MOST = 900_000
"""What a memory holds, with room for the path."""


def _notes(memory: Memory | AsyncMemory, max_characters: int) -> partial[Notes]:
    if not isinstance(max_characters, int) or not 1 <= max_characters <= MOST:  # pyright: ignore[reportUnnecessaryIsInstance] - not all callers are typed
        raise ConfigurationError(f"max_characters must be 1 to {MOST:,}, not {max_characters!r:.40}.")
    return partial(Notes, scope=memory.scope, clean=memory.admin.redacted, max_characters=max_characters)


class MnemicMemoryTool(BetaAbstractMemoryTool):
    r"""The memory tool of Claude for an ``Anthropic`` client: a file is a remembered note, and searches find it.

    The commands answer what those of the SDK's ``BetaLocalFilesystemMemoryTool`` do, with these differences: a directory
    exists as long as a file is in it, its size is that of its files, and secrets are replaced with a mark before a file is
    stored. An edit writes the next version of the note (``Memory.history`` has the earlier ones), a deleted file is
    forgotten (``Memory.restore`` brings it back), and a renamed one is a new note that supersedes the old.

    An error of the memory is a failed result, which Claude reads, and the run goes on.

    Args:
        memory: where the notes are.
        scope: whose notes; names it leaves out are those of ``memory``. A project has files of its own, and no session
            changes them.
        max_characters: most characters of a file, 1 to 900,000.
        cache_control: of the tool's definition; see the SDK.

    Raises:
        ConfigurationError: ``memory`` is no ``Memory``, or ``max_characters`` is out of range.
        InvalidInput: the scope is not usable.

    Examples:
        >>> memory = Memory(":memory:", embedder="hashing")
        >>> tool = MnemicMemoryTool(memory)
        >>> tool.call({"command": "create", "path": "/memories/tea.md", "file_text": "Ana drinks green tea."})
        'File created successfully at: /memories/tea.md'
        >>> memory.search("green tea")[0].text
        '/memories/tea.md\nAna drinks green tea.'
    """

    def __init__(
        self,
        memory: Memory,
        *,
        scope: Scope | Mapping[str, str] | None = None,
        max_characters: int = MAX_CHARACTERS,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._memory = bound(checked_memory(memory), scope, None)
        self._notes = _notes(self._memory, max_characters)

    def call(self, input: object) -> BetaFunctionToolResultType:
        """Do what Claude wrote.

        Raises:
            ToolError: it is no command, or failed.
        """
        return self.execute(command_of(input))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or a directory."""
        return self._done(lambda notes: notes.view(command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Remember a new file."""
        return self._done(lambda notes: notes.create(command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace words that a file has once."""
        return self._done(lambda notes: notes.str_replace(command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text behind a line of a file."""
        return self._done(lambda notes: notes.insert(command))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file or a directory."""
        return self._done(lambda notes: notes.delete(command))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return self._done(lambda notes: notes.rename(command))

    def clear_all_memory(self) -> str:
        """Forget all files."""
        return self._done(lambda notes: notes.clear())

    def _done(self, command: Callable[[Notes], Coroutine[Any, Any, str]]) -> str:
        with readable():
            return blocking(self._memory, lambda memory: command(self._notes(memory)))


class AsyncMnemicMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool of Claude for an ``AsyncAnthropic`` client; see ``MnemicMemoryTool``.

    Args:
        memory: where the notes are; blocking calls run on worker threads.
        scope: whose notes.
        max_characters: most characters of a file, 1 to 900,000.
        cache_control: of the tool's definition; see the SDK.

    Raises:
        ConfigurationError: ``memory`` is no handle, or ``max_characters`` is out of range.
        InvalidInput: the scope is not usable.
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        scope: Scope | Mapping[str, str] | None = None,
        max_characters: int = MAX_CHARACTERS,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        handle = bound(as_async(memory), scope, None)
        self._notes = _notes(handle, max_characters)(handle)

    async def call(self, input: object) -> BetaFunctionToolResultType:
        """Do what Claude wrote.

        Raises:
            ToolError: it is no command, or failed.
        """
        return await self.execute(command_of(input))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or a directory."""
        with readable():
            return await self._notes.view(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Remember a new file."""
        with readable():
            return await self._notes.create(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace words that a file has once."""
        with readable():
            return await self._notes.str_replace(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text behind a line of a file."""
        with readable():
            return await self._notes.insert(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file or a directory."""
        with readable():
            return await self._notes.delete(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        with readable():
            return await self._notes.rename(command)

    async def clear_all_memory(self) -> str:
        """Forget all files."""
        with readable():
            return await self._notes.clear()
