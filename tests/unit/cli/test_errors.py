"""Errors of the library, in the options of a command."""

import re

import pytest

from mnemic.cli.parser import COMMANDS, in_options


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["forget"], "mnemic forget takes a description or --id, one of them."),
        (["forget", "--id", "m1", "--dry-run"], "--dry-run previews a description; --id already names the records."),
        (["forget", "m1"], "'m1' is the id of a record, not a description: mnemic forget --id m1."),
        (["list", "--min-importance", "3"], "--min-importance must be a number from 0 to 1, not 3.0."),
        (["list", "--limit", "-1"], "--limit must be a whole number from 0"),
        (["list", "--reach", "session"], "--reach session needs a session: --session SESSION."),
        (["search", "tea", "-k", "0"], "-k must be a whole number"),
        (["search", "tea", "--kinds", "memo"], "--kinds must be among"),
        (["--timezone", "Nowhere", "list"], "--timezone Nowhere is not a zone"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_error_speaks_of_options(filled, words, said):
    run = filled(*words)
    assert run.code == 2
    assert run.err.startswith(f"mnemic: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Erase them with forget(ids=[..., 'm2', 'm 3'], hard=True).", "Erase them with mnemic forget --id ID --id m2 --id m 3 --hard."),
        ("Open it with the first, or call memory.admin.reembed() once.", "Open it with the first, or call mnemic reembed once."),
        ("See them with dry_run=True and give those as ids=[...].", "See them with --dry-run and give those as --id ID."),
        ("description must be text; the limit and update() stay.", "DESCRIPTION must be text; the limit and update() stay."),
        ("'ids= and dry_run' describes nothing, isn't it?", "'ids= and dry_run' describes nothing, isn't it?"),
    ],
)  # fmt: skip
def test_calls_and_arguments_are_written_as_options(text, said):
    assert in_options(text, "forget") == said


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_is_left_as_an_argument(command):
    names = [settings.get("dest") or name.strip("-").replace("-", "_") for name, settings in COMMANDS[command].options]
    text = " ".join(f"{name}={value}" for name in names for value in ("...", "[...]", "'x'", ""))
    assert not re.search(r"\w=", in_options(text, command))
