"""Every command answers with one JSON document when it is asked to."""

import io
import json
import sys

import pytest

from mnemic.cli.hooks import MOMENTS
from mnemic.cli.parser import COMMANDS


@pytest.fixture
def record(filled, mnemic):
    """A record with something of every kind, and the ids of two memories."""
    ids = [
        mnemic("remember", text, "--json").json["id"]
        for text in ("Tiles are cached for a day.", "Ana prefers short answers.")
    ]
    mnemic("link", *ids, "extends")
    return ids


def lines(record, tmp_path) -> dict[str, list[tuple[str, ...]]]:
    """What to run for each command: where all is well, and where there is nothing to tell."""
    one, two = record
    chat = tmp_path / "more.json"
    chat.write_text(json.dumps([{"role": "user", "content": "The garden is green.", "id": "g1"}]))
    manual = tmp_path / "manual.md"
    manual.write_text("# Boiler\n\nThe valve is behind the panel.")
    return {
        "add": [("add", "Hello there.", "--session", "new"), ("add", " ")],
        "add-document": [("add-document", str(manual)), ("add-document", str(manual))],
        "import": [("import", str(chat)), ("import", str(chat))],
        "remember": [("remember", "Maps are drawn at night."), ("remember", "Maps are drawn at night.")],
        "process": [("process",)],
        "search": [("search", "tiles"), ("search", "tiles", "--user", "nobody")],
        "context": [("context", "tiles"), ("context",), ("context", "--user", "nobody")],
        "procedures": [("procedures", "tiles"), ("procedures", "tiles", "--user", "nobody")],
        "list": [("list",), ("list", "--kind", "episode"), ("list", "--user", "nobody")],
        "show": [("show", one)],
        "graph": [("graph", one)],
        "link": [("link", two, one, "references")],
        "unlink": [("unlink", two, one), ("unlink", two, one)],
        "correct": [
            ("correct", two, "Ana prefers long answers."),
            ("correct", "the colour of the moon", "It is grey."),
        ],
        "forget": [("forget", "--id", two), ("forget", "the colour of the moon")],
        "restore": [("restore", two)],
        "consolidate": [("consolidate",), ("consolidate", "--advice"), ("consolidate", "--dry-run")],
        "undo": [],  # needs a cycle that did something: see the tests of consolidation
        "log": [("log",), ("log", "--user", "nobody")],
        "stats": [("stats",), ("stats", "--user", "nobody")],
        "users": [("users",)],
        "reembed": [("reembed",)],
        "export": [("export", str(tmp_path / "all-{}.jsonl"))],
        "prefer": [("prefer",), ("prefer", "theme", "dark"), ("prefer", "theme"), ("prefer", "theme", "--remove")],
        "end-session": [("end-session", "--session", "s1"), ("end-session", "--session", "nothing")],
        "retire": [("retire",)],
        "backup": [("backup", str(tmp_path / "backup-{}"))],
        "restore-backup": [("restore-backup", str(tmp_path / "kept"), "--dir", str(tmp_path / "again-{}"))],
        "rekey": [],  # needs an SQLite that encrypts: see its own tests
        "config": [("config",)],
        "doctor": [("doctor",), ("doctor", "--deep")],
        "hook": [("hook", moment) for moment in MOMENTS],
        "migrate": [],  # needs two records: see its own tests
        "sync": [],  # likewise
        "ui": [],  # serves until it is interrupted: see tests/web
        "report": [("report", "-o", str(tmp_path / "memory.html"))],
        "keys": [],  # asks for a key: see its own tests
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_one_document_on_stdout_and_no_word_else(name, record, mnemic, tmp_path, monkeypatch):
    runs = lines(record, tmp_path)
    assert name in runs, f"say how to run mnemic {name} with --json"
    if name == "restore-backup":
        assert mnemic("backup", tmp_path / "kept").code == 0
    for words in runs[name]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        for number, given in enumerate(((*words, "--json"), ("--json", *words))):
            run = mnemic(*(word.format(number) for word in given))  # some write into a folder that must be new
            assert run.code in (0, 1), run.err
            assert isinstance(run.json, dict), given


def test_a_list_by_time_importance_kind_and_type(mnemic, record):
    mnemic("remember", "Deploy with make release.", "--type", "procedural", "--importance", "0.9", "--category", "work")
    mnemic("process")

    def listed(*words):
        return [memory["content"] for memory in mnemic("list", *words, "--json").json["memories"]]

    everything = listed("--limit", "100")
    assert listed("--order", "importance")[0] == "Deploy with make release."
    assert listed("--order", "oldest", "--limit", "100") == everything[::-1]
    assert listed("--type", "procedural") == ["Deploy with make release."]
    assert listed("--since", "2100-01-01") == []
    assert {*listed("--until", "2100-01-01", "--limit", "100")} == {*everything}


def test_a_list_of_messages_and_episodes(filled, mnemic):
    def listed(kind, *words):
        return [record["id"] for record in mnemic("list", "--kind", kind, *words, "--json").json[f"{kind}s"]]

    assert listed("message") == ["m3", "m2", "m1"]
    assert listed("message", "--order", "oldest", "--limit", "2") == ["m1", "m2"]
    assert listed("message", "--limit", "1", "--offset", "1") == ["m2"]
    assert listed("message", "--session", "s2") == listed("message", "--since", "2026-04-01") == ["m3"]
    mnemic("process")
    assert listed("episode") == listed("episode", "--order", "oldest")[::-1] != []
    assert mnemic("forget", "--id", "m2").code == 0
    assert listed("message", "--status", "archived") == ["m2"]
    assert mnemic("list", "--kind", "message", "--type", "semantic").err == "mnemic: nothing found.\n"
    for words in (("--order", "importance"), ("--limit", "-1")):
        assert mnemic("list", "--kind", "message", *words).code == 2


def test_the_project_of_the_working_folder(mnemic, tmp_path, monkeypatch):
    (tmp_path / "atlas").mkdir()
    monkeypatch.chdir(tmp_path / "atlas")
    run = mnemic("remember", "Of no project.", "--project", "auto")
    assert "is not a project" in run.err
    (tmp_path / "atlas" / "CLAUDE.md").write_text("# Atlas\n")
    run = mnemic("remember", "Of the atlas.", "--project", "auto")
    assert (run.code, run.err) == (0, "")
    projects = {m["content"]: m["project"] for m in mnemic("list", "--json").json["memories"]}
    assert projects["Of no project."] is None
    assert projects["Of the atlas."].startswith("atlas-")
    assert mnemic("list", "--project", "auto", "--reach", "project").out.count("Of ") == 1
    assert mnemic("list", "--project", "off").out.count("Of ") == 2


def test_a_new_session(mnemic):
    run = mnemic("add", "Hello.", "--session", "new")
    name = run.err.removeprefix("mnemic: the session is ").strip()
    assert name.startswith("session_")
    assert mnemic("search", "Hello", "--session", name, "--json").json["hits"][0]["session"] == name
