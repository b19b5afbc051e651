"""What errors, docstrings and pages tell a reader to write exists."""

import ast
import inspect
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import mnemic
from mnemic.validation import _METHODS

ROOT = Path(__file__).parents[2]
SOURCES = [path for root in (ROOT, *ROOT.glob("integrations/*")) for path in root.glob("src/**/*.py")]
PAGES = [
    *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("integrations/*/*.md"), *ROOT.glob("cookbook/**/*.md"),
]  # fmt: skip
EXPRESSION = re.compile(r"(?<![\w./-])memory((?:\.[a-z]\w*)+)")
NOT_OURS = {"save_context", "load_memory_variables", "html", "txt", "md", "jsonl", "before"}
"""Methods of LangChain's classic memory, and the ends of names of files."""
CODE = re.compile(
    r"``.+?``|`.+?`|^ *>>> .*$|^ *\.\.\. .*$|::\n(?:\n|    .*\n?)+|https?://\S+", re.MULTILINE | re.DOTALL
)
SNAKE = re.compile(r"(?<![\w./*{<-])[a-z]+(?:_[a-z]+)+(?![\w/(=*}>-]|\.\w)")


def texts_of(path: Path) -> list[str]:
    """A page, or the strings of a source: what its errors and docstrings say."""
    text = path.read_text()
    if path.suffix == ".md":
        return [text]
    return [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def step(owner: Any, name: str) -> Any:
    """What an attribute gives: a class of ours, else ``Any``; None where there is no such attribute."""
    if owner is Any:
        return Any
    if name not in dir(owner) and name not in getattr(owner, "__dataclass_fields__", ()):
        return None
    member = inspect.getattr_static(owner, name, None)
    given = inspect.signature(member.fget).return_annotation if isinstance(member, property) and member.fget else ""
    return getattr(mnemic, given, Any) if isinstance(given, str) and given.isidentifier() else Any


def exists(path: str) -> bool:
    at: Any = mnemic.Memory
    for name in path.strip(".").split("."):
        at = step(at, name)
        if at is None:
            return False
    return True


@pytest.mark.parametrize("path", ["search", "admin.reembed", "idle.wait", "scope.user", "links.graph"])
def test_a_name_that_exists_is_found(path: str) -> None:
    assert exists(path)


@pytest.mark.parametrize("path", ["reembed", "redacted", "admin.search", "links.reembed", "idle.reembed"])
def test_a_name_that_does_not_exist_is_not(path: str) -> None:
    assert not exists(path)


def test_every_expression_on_a_memory_resolves() -> None:
    for path in (*SOURCES, *PAGES):
        found = {name for text in texts_of(path) for name in EXPRESSION.findall(text)}
        assert [name for name in sorted(found) if name.split(".")[1] not in NOT_OURS and not exists(name)] == [], path


def test_every_method_that_a_hint_offers_resolves() -> None:
    assert [meant for meant in _METHODS.values() if not exists(meant.split("(")[0])] == []


def docstrings(path: Path) -> list[str]:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, holders))
    return [text for node in nodes if (text := ast.get_docstring(node))]


LIBRARY = [path for path in SOURCES if path.is_relative_to(ROOT / "src") and path.parent.name != "cli"]
"""The docstrings of a command are its help, those of tools are read by a model: both are plain text."""


def test_names_of_code_in_a_docstring_are_marked_as_code() -> None:
    arguments = re.compile(r"^ *\w+(?:, \w+)*:", re.MULTILINE)  # the entries of Args and Attributes
    for path in LIBRARY:
        prose = (arguments.sub("", CODE.sub("", text)) for text in docstrings(path))
        assert [*chain.from_iterable(map(SNAKE.findall, prose))] == [], path
