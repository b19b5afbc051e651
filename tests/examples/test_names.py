"""The page of names: everything it says is here, is here."""

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import mnemic
import mnemic.documents
from mnemic import AsyncMemory, Memory, MnemicError
from mnemic.cli.parser import COMMANDS
from mnemic_mcp.options import PROFILES
from mnemic_mcp.tools import Tools, tools_of

PAGE = Path(__file__).parents[2] / "docs/more/names.md"
ROWS = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
INDEX = [row for row in ROWS if len(row) == 2][2:]
TABLES = [row for row in ROWS if len(row) == 4]
HERE = sorted({token for row in TABLES for token in re.findall(r"(?:tool )?`[^`]+`", row[1])})


def test_the_page_is_long():
    assert len(ROWS) > 70
    assert len(HERE) > 120


def test_each_word_of_the_index_has_a_row():
    words = [word.strip() for row in INDEX for word in row[1].split(", ")]
    described = "\n".join(row[0] for row in TABLES)
    assert len(words) > 30
    assert [word for word in words if word not in described] == []


@pytest.mark.parametrize("token", HERE)
def test_what_is_named_exists(token):
    name = token.removeprefix("tool ").strip("`")
    if token.startswith("tool "):
        with Memory(":memory:", embedder="hashing") as memory:
            do = Tools(memory=AsyncMemory.over(memory))
            assert name in {name for profile in PROFILES for name in tools_of(profile, do)}
        return
    if name.startswith("mnemic "):
        assert name.split()[1] in COMMANDS
        return
    if name in ("MNEMIC_DIR", "document"):
        return
    path, _, parameter = name.rstrip(")").partition("(")
    holder, _, attribute = path.partition(".")
    found = getattr(mnemic, holder)
    if attribute:
        own = (
            {field.name for field in fields(found)} if is_dataclass(found) else {*getattr(found, "__annotations__", ())}
        )
        assert attribute in own or hasattr(found, attribute)
        found = getattr(found, attribute, None)
    if parameter:
        assert parameter.rstrip("=") in inspect.signature(found).parameters


def test_the_tree_of_errors_is_whole():
    tree = (PAGE.parent / "errors.md").read_text("utf-8").split("```text\n")[1].split("```")[0]
    told = [line.split("── ")[-1].split()[0] for line in tree.splitlines()]
    errors = {
        name for name, found in vars(mnemic.errors).items() if inspect.isclass(found) and issubclass(found, MnemicError)
    }
    assert sorted(told) == sorted(errors)
