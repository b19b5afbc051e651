"""Files of others: front matter, folders of projects, and what ``mnemic import`` reads."""

from __future__ import annotations

import io
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.faults.fuzzing.oracle import told
from tests.internals import runtime_of

from mnemic import InvalidInput, Memory, Project, project
from mnemic.runtime.projects import front_matter
from mnemic.text.markup import unlinked, unmarked, visible
from mnemic.transfer import imports
from mnemic.transfer.importers import files, users
from mnemic.validation import scope

TOKEN = "tok3n-of-ana"
"""Stands as user or password in addresses of repositories; no id may hold it."""
KINDS_OF_MESSAGES = ("locomo", "messages", "langchain", "llama-index", "letta", "zep")
SEVERAL_OF_ONE = ("memory-graph", "basic-memory")
"""Formats with several memories in an item."""


def headed(text: str) -> None:
    """Front matter: strings under keys, each of one line of the text."""
    for key, value in front_matter(text).items():
        assert key == key.lower()
        assert len(value) <= len(text)


def described(folder: Path, data: bytes, url: str) -> Project:
    """A project whose files say what they like."""
    (folder / "CLAUDE.md").write_bytes(data)
    git = folder / ".git"
    git.mkdir(exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_bytes(f'[core]\n[remote "origin"]\n\turl = {url}\n'.encode(errors="surrogatepass"))
    found = project(folder)
    assert 1 <= len(found.name) <= 100
    assert len(found.description) <= 500
    assert "\n" not in found.name + found.description + found.id
    assert TOKEN not in found.id.casefold()
    assert project(folder) == found
    scope("ana", found.id)  # it can name a level
    return found


def stated(folder: Path, name: str, description: str) -> None:
    """What front matter quotes is what the project is called, its marks and links made harmless."""
    quoted = [json.dumps(text, ensure_ascii=False) for text in (name, description)]
    text = "---\nname: {}\ndescription: {}\n---\n".format(*quoted)
    (folder / "CLAUDE.md").write_text(text, encoding="utf-8")
    found = project(folder)
    shown = [unlinked(unmarked(visible(text))).strip() for text in (name, description)]
    assert [found.name, found.description] == [shown[0] or folder.name, shown[1]]


class Importer:
    """A record in RAM that takes in file after file, each for a user of its own."""

    def __init__(self) -> None:
        self.memory = Memory(":memory:", embedder="hashing", secrets="allow")
        self._users = (f"user{n}" for n in itertools.count())

    def imported(self, text: str) -> int:
        """Read a text as every kind of file; how many records it gave."""
        try:
            read = files.parse_lines(text)
        except InvalidInput as error:
            told(error)
            return 0
        units = sum(1 for _ in _objects(read.data))
        return self._messages(read, units) + self._memories(read)

    def _messages(self, read: files.Parsed, units: int) -> int:
        total = 0
        for name in KINDS_OF_MESSAGES:
            try:
                found, damaged = files.messages_of(read, name, "s")
            except InvalidInput as error:
                told(error)
                continue
            assert all(damage.reason for damage in damaged)
            assert len(found) <= units
            assert files.messages_of(read, name, "s") == (found, damaged)
            made = [message.id for message in found if str(message.id).startswith("import:")]
            assert all(isinstance(message.id, str) for message in found)
            assert len(set(made)) == len(made)
            total += self._stored(found)
        return total

    def _stored(self, found: list[Any]) -> int:
        """Every message gets a receipt, and a second import stores nothing."""
        mine = self.memory.scoped(user=next(self._users))
        try:
            receipts = mine.add(found)
        except InvalidInput as error:
            told(error)
            receipts = None
        if receipts is None:
            assert not mine.messages(reach="user")  # all of it or nothing
            return 0
        stored = sum(receipt.outcome == "stored" for receipt in receipts)
        assert len(receipts) == len(found)
        assert len(mine.messages(reach="user")) == stored
        assert all(receipt.outcome != "stored" for receipt in mine.add(found))
        return stored

    def _memories(self, read: files.Parsed) -> int:
        total = 0
        for name in files.MEMORY_FORMATS:
            try:
                found, damaged = files.read_memories(read, name)
            except InvalidInput as error:
                told(error)
                continue
            value = files._items(read.data, name)
            items = len(value) if isinstance(value, list) else 1
            assert len(found) <= items or name in SEVERAL_OF_ONE
            if name not in files.MESSAGE_FORMATS:
                assert items <= len(found) + len(damaged)  # nothing is dropped in silence
            assert all(damage.reason for damage in damaged)
            whole, parts = users.by_user(users.Reading("", name, found), user="ana", field=users.NOBODY, only=None)
            assert not whole.damaged
            assert len(whole.records) == sum(len(part.records) for part in parts.values()) == len(found)
            total += self._remembered(parts["ana"].memories if parts else [])
        return total

    def _remembered(self, found: list[Any]) -> int:
        mine = self.memory.scoped(user=next(self._users))
        engine, first, second = runtime_of(mine), imports.Tally({"": Counter()}), imports.Tally({"": Counter()})
        for tally in (first, second):
            receipts = imports.store_memories(engine, mine.scope, found, mine.admin.settings.timezone)
            for one, receipt in zip(found, receipts, strict=True):
                tally.count("", "memory", receipt, one.content)
        assert first.counts.total() == len(found) == first.stored + first.duplicate + len(first.rejected)
        assert not second.stored
        assert len(mine.list(reach="user", limit=None, status=["short_term", "long_term", "archived"])) <= len(found)
        return first.stored

    def restored(self, text: str) -> int:
        """Read a text as an export: all of it or nothing."""
        user = next(self._users)
        mine = self.memory.scoped(user=user)
        try:
            counts = mine.admin.import_from(io.StringIO(text))
        except InvalidInput as error:
            told(error)
            counts = {}
        held = mine.stats()
        assert (held.messages, held.episodes, sum(held.memories.values())) == tuple(
            counts.get(kind, 0) for kind in ("message", "episode", "memory")
        )
        assert sum(counts.values()) <= text.count("\n") + 1
        return sum(counts.values())


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    """Every object in a JSON value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
