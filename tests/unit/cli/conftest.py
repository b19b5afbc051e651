"""A memory folder and a way to run the command in this process."""

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mnemic import cli
from mnemic.cli import main


@dataclass(frozen=True)
class Run:
    """What one run of the command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The JSON document on stdout."""
        return json.loads(self.out)

    @property
    def rows(self) -> dict[str, str]:
        """The table on stdout, value by name."""
        lines = (line for line in self.out.splitlines() if "  " in line.strip() and not line.startswith(" "))
        return {name: value.strip() for name, _, value in (line.partition("  ") for line in lines)}


@pytest.fixture(scope="session", autouse=True)
def parser_is_made_once() -> Iterator[None]:
    """It takes longer to make than most commands take, and keeps nothing of what it parsed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "make_parser", functools.cache(cli.make_parser))
        yield


@pytest.fixture
def chat() -> list[dict[str, str]]:
    """Three messages of two conversations."""
    return [
        {
            "role": "user", "name": "Ana", "content": "I moved to Lisbon in March.", "id": "m1", "session": "s1",
            "sent_at": "2026-03-09T18:05:00+00:00",
        },
        {
            "role": "assistant", "content": "How do you like the trams?", "id": "m2", "session": "s1",
            "sent_at": "2026-03-09T18:06:00+00:00",
        },
        {
            "role": "user", "name": "Ana", "content": "My sister Rita visits on Friday.", "id": "m3", "session": "s2",
            "sent_at": "2026-04-14T08:30:00+00:00",
        },
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "memory"


@pytest.fixture
def mnemic(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """The command on that folder, with the embedder that needs no model."""
    monkeypatch.delenv("MNEMIC_DIR", raising=False)

    def run(*words: str | Path, embedder: str = "hashing") -> Run:
        capsys.readouterr()
        code = main(["--dir", str(folder), "--embedder", embedder, *map(str, words)])
        output = capsys.readouterr()
        return Run(code, output.out, output.err)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a value as JSON, or text as it is, into a file."""

    def into(value: object, name: str = "chat.json") -> Path:
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    return into


@pytest.fixture
def filled(mnemic: Callable[..., Run], write: Callable[..., Path], chat: list[dict[str, str]]) -> Callable[..., Run]:
    """The command on a folder that holds the three messages of chat."""
    assert mnemic("import", write(chat)).code == 0
    return mnemic
