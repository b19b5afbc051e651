"""The rules of the house that a machine can hold. The allow-lists only shrink."""

import ast
import functools
import importlib
import inspect
import itertools
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mnemic
from mnemic import Admin, AsyncMemory, Links, Memory, Sessions
from mnemic.aio_parts import AsyncAdmin, AsyncLinks, AsyncSessions

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in (ROOT / "src", *ROOT.glob("integrations/*/src"))
    for path in folder.rglob("*.py")
    if "__pycache__" not in path.parts
)

MAX_FUNCTION, MAX_METHODS = 60, 15
FACES = {"Memory", "AsyncMemory", "Admin"}
TOO_LONG: set[str] = set()


def code_lines(node: ast.AST, source: list[str]) -> int:
    """Lines that hold code: no docstrings, no comments, no blanks."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose = {
        line
        for inner in ast.walk(node)
        if isinstance(inner, documented) and ast.get_docstring(inner, clean=False) is not None
        for line in range(inner.body[0].lineno, (inner.body[0].end_lineno or 0) + 1)
    }
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", len(source))
    return sum(
        1
        for number in range(first, last + 1)
        if number not in prose and (text := source[number - 1].strip()) and not text.startswith("#")
    )


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Every source, parsed by the first test that asks and not by each worker that collects."""
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def public_calls(node: ast.ClassDef) -> list[ast.AST]:
    """The public methods of a class that are no properties."""
    methods = [part for part in node.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [
        method
        for method in methods
        if not method.name.startswith(("_", "test_"))
        and not any(ast.unparse(decorator) == "property" for decorator in method.decorator_list)
    ]


def test_size_budget():
    found: set[str] = set()
    for name, tree in trees().items():
        source = (ROOT / name).read_text(encoding="utf-8").splitlines()
        for node in ast.walk(tree):
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            if function and code_lines(node, source) > MAX_FUNCTION:
                found.add(f"{name}:{node.name}")
            if isinstance(node, ast.ClassDef) and node.name not in FACES and len(public_calls(node)) > MAX_METHODS:
                found.add(f"{name}:{node.name}")
    assert found <= TOO_LONG


READ_THE_ENVIRONMENT = {
    "src/mnemic/paths.py",
    "src/mnemic/llm/keys.py",
    "integrations/mcp/src/mnemic_mcp/options.py",  # a command line
}


def called_by_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_nothing_that_executes_data_and_no_environment_outside_its_rooms():
    for name, tree in trees().items():
        nodes = [*ast.walk(tree)]
        modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        assert not modules & {"pickle", "marshal", "shelve"}, name
        assert not {node.func.id for node in nodes if called_by_name(node)} & {"eval", "exec"}, name
        read = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & {"environ", "getenv"}
        assert name in READ_THE_ENVIRONMENT or not read, name


def modules_of(package: str) -> list[str]:
    root = importlib.import_module(package)
    return [
        package,
        *(m.name for m in pkgutil.walk_packages(root.__path__, f"{package}.") if not m.name.endswith("__main__")),
    ]


def test_every_module_has_a_docstring_and_an_honest_all():
    for name in modules_of("mnemic"):
        module = importlib.import_module(name)
        assert (module.__doc__ or "").strip(), name
        exported = getattr(module, "__all__", ())
        assert [item for item in exported if not hasattr(module, item)] == [], name
        assert len(set(exported)) == len(exported), name


def test_the_public_names_are_exactly_all():
    assert sorted(mnemic.__all__) == sorted(dir(mnemic))
    assert [name for name in mnemic.__all__ if not hasattr(mnemic, name)] == []
    assert {name for names in mnemic._HOME.values() for name in names} < set(mnemic.__all__)
    with pytest.raises(AttributeError):
        _ = mnemic.nothing_of_that_name


def test_the_licence_of_every_file_that_is_shipped_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    notices = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("NOTICE*")}
    assert {*project["license-files"]} == {"LICENSE", *notices}
    for notice in notices:
        for name in re.findall(r"\bCC BY-SA [\d.]+", (ROOT / notice).read_text()):
            assert name.replace("CC ", "CC-").replace(" ", "-") in project["license"].split(" AND ")


def public_methods(cls: type) -> dict[str, inspect.Signature]:
    found = {n: m for n, m in inspect.getmembers(cls, inspect.isfunction) if not n.startswith("_")}
    return {name: inspect.signature(method) for name, method in found.items()}


PAIRS = (
    (Memory, AsyncMemory),
    (Links, AsyncLinks),
    (Sessions, AsyncSessions),
    (Admin, AsyncAdmin),
)


def test_both_faces_have_the_same_signatures():
    for face, its_asynchronous in PAIRS:
        sync, asynchronous = public_methods(face), public_methods(its_asynchronous)
        assert set(sync) == set(asynchronous)
        for name, signature in sync.items():
            other = asynchronous[name]
            assert list(signature.parameters.values()) == list(other.parameters.values()), name
            if name != "scoped":
                assert signature.return_annotation.removeprefix("builtins.") == other.return_annotation.removeprefix(
                    "builtins."
                ), name
            if name not in ("scoped", "redacted", "without_recalled"):  # nothing to wait for
                assert inspect.iscoroutinefunction(getattr(its_asynchronous, name)), name
    assert inspect.signature(Memory) == inspect.signature(AsyncMemory)


def test_the_face_stays_small():
    assert len([name for name in dir(Memory) if not name.startswith("_")]) <= 28
    assert len(inspect.signature(Memory.search).parameters) <= 12  # self and the filters among them


def test_every_public_method_is_documented():
    for cls in itertools.chain(*PAIRS):
        for name in public_methods(cls):
            assert (getattr(cls, name).__doc__ or "").strip(), name


LIGHT = """
import sys, threading, socket, builtins
opened = []
real = builtins.open
builtins.open = lambda file, *a, **k: (opened.append(str(file)), real(file, *a, **k))[1]
def refuse(*a, **k): raise AssertionError("network")
socket.socket.connect = refuse
import mnemic
heavy = {"numpy", "onnxruntime", "tokenizers", "apsw", "pydantic", "tiktoken", "rank_bm25", "chromadb", "torch", "anyio", "tqdm"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert threading.active_count() == 1
assert not opened, opened
from mnemic import Message, InvalidInput
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


def test_importing_does_no_work():
    subprocess.run([sys.executable, "-I", "-c", LIGHT], check=True)


def test_opening_a_memory_and_searching_loads_nothing_that_makes_knowledge(tmp_path):
    """A hook of an agent would pay for it on every turn."""
    script = (
        "import sys, warnings; warnings.simplefilter('ignore'); from mnemic import Memory; "
        f"m = Memory({str(tmp_path / 'memory')!r}, user='ana', embedder='hashing'); m.add('I was in Lisbon'); "
        "m.search('When was I in Lisbon?'); m.get_memory_context('When was I in Lisbon?'); m.close(); "
        "found = [name for name in sys.modules if name.startswith('mnemic.knowledge.')]; "
        "sys.exit(', '.join(found) or 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_one_version_everywhere():
    import tomllib

    members = [path for path in ROOT.glob("integrations/*/pyproject.toml") if path.parent.name != "minilm"]
    files = [ROOT / "pyproject.toml", *members]  # the model has versions of its own
    versions = {tomllib.loads(path.read_text())["project"]["version"] for path in files}
    assert versions == {mnemic.__version__}
    assert f"## {mnemic.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {mnemic.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pins = [pin for extra in core.values() for pin in extra if "mnemic" in pin and "minilm>" not in pin]
    assert all(pin.endswith(f"=={mnemic.__version__}") for pin in pins)
    for path in members:
        assert f"mnemic=={mnemic.__version__}" in tomllib.loads(path.read_text())["project"]["dependencies"]


def test_layers():
    """In a process of its own: the linter reconfigures logging."""
    code = f"from importlinter.cli import lint_imports; raise SystemExit(lint_imports(config_filename={str(ROOT / 'pyproject.toml')!r}, no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout


def test_a_group_is_atomic_and_never_possessive():
    """Python 3.11.2, which Debian 12 has, lets a possessive group run over its own lookaheads."""
    possessive = re.compile(r"\)(?:\*|\+|\?|\{\{?\d*,?\d*\}?\})\+")
    found = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
        if possessive.search(line) and "tokenchars" not in line
    ]
    assert found == []
