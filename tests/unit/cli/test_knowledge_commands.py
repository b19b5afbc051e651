"""list, show, graph, link, unlink, and the filters of search that concern memories."""

import re
from datetime import UTC, datetime

import pytest

from mnemic import Memory


@pytest.fixture
def known(mnemic, folder):
    """The command on a memory of four statements, one of which replaced another."""
    with Memory(folder, embedder="hashing") as memory:
        memory.remember("The API runs on port 8080.", id="a1", valid_at=datetime(2026, 1, 1, tzinfo=UTC), tags=["api"])
        memory.remember(
            "The API runs on port 9000.", id="a2", valid_at=datetime(2026, 2, 1, tzinfo=UTC), tags=["api"],
            replaces="a1",
        )  # fmt: skip
        memory.remember("Prefers morning meetings", id="p1", importance=0.9, tags=["schedule"])
        memory.remember("Deploy with make release", id="d1", type="procedural", source_ids=["p1"])
    return mnemic


def ids(run, name="memories"):
    return [record["id"] for record in run.json[name]]


class TestList:
    def test_text(self, known):
        run = known("list", "--limit", "1", "--order", "importance")
        assert (run.code, run.err) == (0, "")
        head, text = run.out.splitlines()
        assert head.endswith("  semantic  short_term  0.90  #schedule  [p1]")
        assert text == "    Prefers morning meetings"

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ((), ["d1", "p1", "a2"]),
            (("--order", "oldest"), ["a2", "p1", "d1"]),
            (("--limit", "1", "--offset", "1"), ["p1"]),
            (("--type", "procedural"), ["d1"]),
            (("--type", "procedural", "--type", "semantic", "--tag", "schedule"), ["p1"]),
            (("--tag", "schedule", "--tag", "api"), ["p1", "a2"]),
            (("--include-expired", "--tag", "api"), ["a2", "a1"]),
            (("--at", "2026-01-15", "--tag", "api"), ["a1"]),
            (("--known-at", "2020-01-01"), []),
            (("--until", "2020-01-01"), []),
            (("--status", "archived"), []),
            (("--reach", "session", "--session", "s9"), []),
        ],
    )
    def test_filters(self, known, words, expected):
        run = known("list", *words, "--json")
        assert (ids(run), run.code) == (expected, 0 if expected else 1)

    def test_what_is_no_longer_believed_says_so(self, known):
        assert "  believed until 20" in known("list", "--include-expired").out

    def test_fields_are_those_of_the_library(self, known, folder):
        listed = known("list", "--json").json["memories"][0]
        with Memory(folder, embedder="hashing") as memory:
            record = memory.get("d1")
        assert set(listed) == set(type(record).__dataclass_fields__)
        assert (listed["source_ids"], listed["created_at"]) == (["p1"], record.created_at.isoformat())

    def test_nothing_found(self, known):
        run = known("list", "--user", "nobody")
        assert (run.code, run.out, run.err) == (1, "", "mnemic: nothing found.\n")
        assert known("list", "--limit", "-1").code == 2


class TestSearchForMemories:
    def test_kinds(self, known):
        known("add", "Which port was it again?", "--id", "m1")
        found = known("search", "which port", "--kinds", "memory", "--json").json["hits"]
        assert {hit["kind"] for hit in found} == {"memory"}
        found = known("search", "which port", "--kinds", "message, memory", "--json").json["hits"]
        assert {hit["kind"] for hit in found} == {"memory", "message"}
        run = known("search", "which port", "--kinds", "dream")
        assert run.code == 2
        assert "dream" in run.err

    def test_the_two_clocks(self, known):
        words = ("search", "which port has the API?", "--kinds", "memory", "--tag", "api", "--json")
        assert [hit["id"] for hit in known(*words).json["hits"]] == ["a2"]
        assert [hit["id"] for hit in known(*words, "--at", "2026-01-15").json["hits"]] == ["a1"]
        assert {hit["id"] for hit in known(*words, "--include-expired").json["hits"]} == {"a1", "a2"}
        assert known(*words, "--known-at", "2020-01-01").code == 1

    def test_what_was_replaced_says_by_what(self, known):
        run = known("search", "which port has the API?", "--kinds", "memory", "--include-expired")
        assert "\n    The API runs on port 8080.\n    replaced by a2\n" in run.out

    def test_context_takes_the_same_filters(self, known):
        run = known("context", "API", "--type", "procedural", "--kinds", "memory", "--json")
        assert [hit["id"] for hit in run.json["hits"]] == ["d1"]


class TestEpisodes:
    def test_text_and_json(self, filled):
        assert filled("list", "--kind", "episode").code == 1
        filled("process")
        found = filled("list", "--kind", "episode", "--order", "oldest", "--json").json["episodes"]
        assert [episode["message_ids"] for episode in found] == [["m1", "m2"], ["m3"]]
        head, _ = filled("list", "--kind", "episode", "--limit", "1").out.splitlines()
        assert head.startswith("2026-04-14 08:30 UTC  ")
        assert head.endswith(f"  in s2  1 message  [{found[1]['id']}]")

    @pytest.mark.parametrize("words", [("--since", "2026-04-01"), ("--session", "s2"), ("--limit", "1")])
    def test_filters(self, filled, words):
        filled("process")
        (found,) = filled("list", "--kind", "episode", *words, "--json").json["episodes"]
        assert found["session"] == "s2"


class TestShow:
    def test_a_memory(self, known):
        known("link", "d1", "p1", "references", "--reason", "both are\nhabits")
        run = known("show", "d1")
        assert run.code == 0
        assert "\n    Deploy with make release\n" in run.out
        assert re.search(r"^type +procedural$", run.out, re.MULTILINE)
        assert "\nmade from:\n  [p1]  Prefers morning meetings\n" in run.out
        assert "\nlinks:\n  -- references 1 ->  [p1]  Prefers morning meetings  (both are habits)\n" in run.out
        assert "  remember\n" in run.out
        assert "\nmade from it:\n  [d1]  Deploy with make release\n" in known("show", "p1").out
        assert "  <- supersedes 1 --  [a2]  The API runs on port 9000." in known("show", "a1").out

    def test_json(self, known):
        answer = known("show", "a1", "--json").json
        assert (answer["kind"], answer["memory"]["id"], answer["made_from"]) == ("memory", "a1", [])
        (link,) = answer["links"]
        assert (link["source"], link["target"], link["type"]) == ("a2", "a1", "supersedes")
        assert [event["operation"] for event in answer["history"]] == ["remember", "supersede"]
        made = known("show", "p1", "--json").json["made_into"]
        assert made == [{"id": "d1", "kind": "memory", "content": "Deploy with make release"}]

    def test_a_message_and_its_episode(self, filled):
        filled("process")
        message = filled("show", "m1", "--json").json
        assert (message["kind"], message["message"]["session"], message["links"]) == ("message", "s1", [])
        episode = next(made["id"] for made in message["made_into"] if made["kind"] == "episode")
        assert "made from it:" in filled("show", "m1").out
        told = filled("show", episode, "--json").json
        assert (told["kind"], [source["id"] for source in told["made_from"]]) == ("episode", ["m1", "m2"])
        assert "  [m2]  How do you like the trams?\n" in filled("show", episode).out

    def test_what_was_forgotten_is_shown(self, known):
        known("forget", "--id", "d1", "--reason", "out of date")
        run = known("show", "d1")
        assert "archived" in run.out
        assert "reason out of date" in run.out

    def test_unknown_and_foreign_ids(self, known):
        for words in (("show", "nowhere"), ("show", "a1", "--user", "rita")):
            run = known(*words)
            assert (run.code, run.out) == (2, "")
            assert "no record with the id" in run.err


class TestGraph:
    @pytest.fixture
    def linked(self, known):
        known("link", "d1", "a2", "implements", "--strength", "0.5")
        known("link", "p1", "d1", "extends")
        known("link", "p1", "a2", "contradicts", "--reason", "no")
        return known

    def test_every_memory_and_every_link_once(self, linked):
        run = linked("graph", "a1")
        memories = [line for line in run.out.splitlines() if line.startswith("[")]
        assert memories[:2] == ["[a1]  The API runs on port 8080.", "[a2]  The API runs on port 9000."]
        assert {*memories[2:]} == {"[p1]  Prefers morning meetings", "[d1]  Deploy with make release"}
        assert "[a2]  The API runs on port 9000.\n    -- supersedes 1 ->  [a1]  (the caller says so)\n" in run.out
        for link in ("-- contradicts 1 ->  [a2]  (no)", "-- extends 1 ->  [d1]", "-- implements 0.5 ->  [a2]"):
            assert run.out.count(f"    {link}\n") == 1
        assert run.err == "mnemic: 4 memories, 4 links.\n"

    def test_a_circle(self, linked):
        linked("link", "a1", "p1", "references")
        linked("link", "a2", "a1", "references")
        run = linked("graph", "p1", "--depth", "10")
        assert len(run.out.splitlines()) == 4 + 6
        assert run.out.count("Deploy with make release") == 1

    def test_depth_and_types(self, linked):
        assert linked("graph", "a1", "--depth", "0").out == "[a1]  The API runs on port 8080.\n"
        assert len(linked("graph", "a1", "--depth", "1").out.splitlines()) == 2 + 1
        only = linked("graph", "a2", "--type", "implements", "--type", "extends").out
        assert [line.split()[1] for line in only.splitlines() if line.startswith(" ")] == ["implements", "extends"]

    def test_json(self, linked):
        answer = linked("graph", "a1", "--json").json
        assert answer["depths"] == {"a1": 0, "a2": 1, "p1": 2, "d1": 2}
        assert {(link["source"], link["type"], link["target"]) for link in answer["links"]} == {
            ("a2", "supersedes", "a1"), ("d1", "implements", "a2"), ("p1", "extends", "d1"), ("p1", "contradicts", "a2"),
        }  # fmt: skip
        assert {memory["id"] for memory in answer["memories"]} == {"a1", "a2", "p1", "d1"}

    def test_errors(self, filled):
        assert "the graph is one of memories" in filled("graph", "m1").err
        assert filled("graph", "m1", "--depth", "99").code == 2


class TestLink:
    def test_link_and_unlink(self, known):
        assert known("link", "p1", "d1", "extends").out == "linked  [p1] extends -> [d1]\n"
        assert known("link", "p1", "d1", "extends").out == "linked so already  [p1] extends -> [d1]\n"
        assert known("link", "p1", "d1", "extends", "--strength", "0.2", "--json").json["outcome"] == "stored"
        assert known("unlink", "p1", "d1", "--type", "implements").code == 1
        assert known("unlink", "p1", "d1").out == "unlinked  [p1] from [d1]\n"
        gone = known("unlink", "p1", "d1", "--json")
        assert (gone.code, gone.json["reason"]) == (1, "there was no such link")
        assert known("unlink", "p1", "d1").err == "mnemic: there was no such link.\n"

    def test_supersedes_ends_the_other(self, known):
        known("link", "p1", "d1", "supersedes")
        assert "d1" not in ids(known("list", "--json"))

    def test_errors(self, known):
        assert "strength" in known("link", "p1", "d1", "extends", "--strength", "3").err
        assert known("link", "p1", "p1", "extends").code == 2
        assert known("link", "p1", "nowhere", "extends").code == 2
        assert known("link", "p1", "d1", "likes").code == 2
