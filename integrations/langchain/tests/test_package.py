"""The package itself: what importing it costs, what it needs, and that its README tells the truth."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import langchain_mnemic
from mnemic import AsyncMemory, ConfigurationError, Memory

README = Path(__file__).parents[1] / "README.md"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_names_are_sorted_and_there() -> None:
    assert sorted({*langchain_mnemic.__all__}) == sorted(langchain_mnemic.__all__)
    assert "MnemicMemory" in langchain_mnemic.__all__
    assert all(hasattr(langchain_mnemic, name) for name in langchain_mnemic.__all__)
    assert {*langchain_mnemic.__all__} <= {*dir(langchain_mnemic)}
    with pytest.raises(AttributeError, match="MnemicNothing"):
        _ = langchain_mnemic.MnemicNothing  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "make",
    [
        langchain_mnemic.MnemicIdleConsolidation,
        langchain_mnemic.MnemicMiddleware,
        langchain_mnemic.mnemic_tools,
        lambda memory: langchain_mnemic.MnemicChatMessageHistory(memory, "s1"),
        lambda memory: langchain_mnemic.MnemicMemory(memory=memory),
        lambda memory: langchain_mnemic.MnemicRetriever(memory=memory),
    ],
)
def test_an_asynchronous_handle_is_refused_where_it_is_given(memory: Memory, make: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"must be a Memory, not .*AsyncMemory"):
        make(AsyncMemory.over(memory))


def test_importing_loads_nothing_heavy() -> None:
    heavy = run(
        "import sys, langchain_mnemic\n"
        "print([m for m in ('langchain', 'langchain_core', 'langchain_classic', 'langgraph', 'numpy') if m in sys.modules])"
    )
    assert heavy == "[]"


@pytest.mark.parametrize("name", ["MnemicRetriever", "MnemicChatMessageHistory", "MnemicMiddleware"])
def test_classic_is_loaded_only_for_its_class(name: str) -> None:
    assert run(f"import sys, langchain_mnemic as m; m.{name}; print('langchain_classic' in sys.modules)") == "False"


def test_without_classic_everything_else_is_imported() -> None:
    code = (
        "import sys; sys.modules['langchain_classic'] = None\n"
        "from langchain_mnemic import *\n"
        "print('MnemicMiddleware' in globals(), 'MnemicMemory' in globals())"
    )
    assert run(code) == "True False"


def test_without_classic_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['langchain_classic'] = None\n"
        "import langchain_mnemic, mnemic\n"
        "langchain_mnemic.MnemicRetriever\n"
        "try: langchain_mnemic.MnemicMemory\n"
        "except mnemic.MissingExtra as error: print(error)"
    )
    assert run(code).startswith("MnemicMemory ")
    assert run(code).endswith('Run: pip install "langchain-mnemic[classic]"')


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = blocks
    offline = block.replace('"./memory", ', '"./memory", embedder="hashing", ')
    assert offline != block
    exec(compile(offline, "README.md", "exec"), {})
    assert "Lisbon" in capsys.readouterr().out
