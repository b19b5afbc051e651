"""The distribution: its names, its namespace, the README."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from llama_index.memory import mnemic as package
from llama_index.memory.mnemic import MnemicChatMemory, MnemicMemoryBlock, MnemicRetriever, MnemicToolSpec
from mnemic import ConfigurationError, Memory
from mnemic.adapters import bind

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_names():
    assert package.__all__ == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["version"] == package.__version__
    assert set(project["tool"]["llamahub"]["class_authors"]) == set(package.__all__) - {"__version__"}


def test_the_namespace_belongs_to_nobody():
    source = ROOT / "src" / "llama_index"
    assert not [*source.glob("__init__.py"), *source.glob("memory/__init__.py")]
    assert (source / "memory" / "mnemic" / "py.typed").exists()


def test_importing_is_light():
    code = "import sys, llama_index.memory.mnemic; print({'llama_index.core', 'mnemic.memory', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_docstring_example():
    from llama_index.memory.mnemic import chat_memory

    result = doctest.testmod(chat_memory)
    assert (result.attempted > 0, result.failed) == (True, 0)


def test_only_public_names_of_the_core_are_used():
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            public = ("mnemic.adapters", "mnemic.services.lazy")
            assert not [m for m in modules if m.startswith("mnemic.") and not m.startswith(public)], path


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning:inspect")  # of the workflow runtime
async def test_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in BLOCKS:
        offline = block.replace('memory="./memory", ', 'memory="./memory", options={"embedder": "hashing"}, ')
        assert offline != block
        done = eval(compile(offline, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), scope)
        if inspect.isawaitable(done):
            await done
    await scope["history"].sql_store._async_engine.dispose()  # the stock Memory never closes its database
    with Memory("./memory", user="ana", embedder="hashing") as memory:
        assert {"My sister Eva visits in May.", "Who visits in May?"} <= {one.content for one in memory.messages()}


@pytest.mark.parametrize(
    "make",
    [MnemicChatMemory, MnemicChatMemory.from_defaults, MnemicMemoryBlock, MnemicRetriever, MnemicToolSpec],
    ids=lambda make: make.__qualname__,
)
def test_nobody_shares_a_folder_without_a_word(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"memory=.*scope="):
        make()
    assert list(tmp_path.iterdir()) == []
    chosen = {"scope": {"user": "ana"}, "options": {"embedder": "hashing"}}
    assert make(**chosen)
    assert (tmp_path / "memory").is_dir()
    bind(None, **chosen).root.close()
