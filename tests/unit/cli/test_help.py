"""The help: every command has one that teaches, and it answers at once."""

import shlex
import subprocess
import sys

import pytest

from mnemic.cli import main
from mnemic.cli.parser import COMMANDS, make_parser

LIGHT = """
import sys
from mnemic.cli import main
code = main(sys.argv[1:])
heavy = {"numpy", "apsw", "tqdm", "onnxruntime", "pydantic_ai", "asyncio", "mnemic.memory"} & set(sys.modules)
sys.exit(code or (f"loaded: {heavy}" if heavy else 0))
"""


def examples(text):
    """The command lines after "example:" or "examples:", as words; shell around them is cut off."""
    lines = text.partition("example")[2].splitlines()[1:]
    for line in lines:
        for part in line.strip().split("&&"):
            command = part.split("  ")[0].partition("| mnemic ")[2] or part.strip().partition("mnemic ")[2]
            if command:
                yield shlex.split(command.split(" | ")[0].split(" || ")[0].split(" > ")[0].split("   ")[0])


def test_every_command_is_listed_with_its_summary(capsys):
    assert main(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, command in COMMANDS.items():
        assert f" {name} {command.summary}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_by_examples_that_are_understood(name, capsys):
    assert main([name, "--help"]) == 0
    text = COMMANDS[name].run.__doc__
    assert text.strip().splitlines()[-1].strip() in capsys.readouterr().out
    parser = make_parser()
    found = [parser.parse_args(words).command for words in examples(text)]
    assert found
    assert set(found) == {name}


@pytest.mark.parametrize("words", [("--help",), ("consolidate", "--help"), ("--version",)])
def test_help_does_not_load_the_memory(words):
    run = subprocess.run([sys.executable, "-c", LIGHT, *words], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")
