"""The benchmark of everyday talk counts what it says."""

import json
from types import SimpleNamespace

import pytest
from benchmarks.quality import talk

from mnemic import HashingEmbedder, Memory, Message

STORY = {
    "id": "town", "name": None, "ended": ["a"],
    "messages": [
        {"date": "2026-01-12", "tag": "a", "user": "I live in Rome.", "assistant": "Ok."},
        {"date": "2026-03-09", "tag": "b", "user": "I moved to Oslo.", "assistant": "Ok."},
        {"date": "2026-03-10", "tag": "c", "user": "I play the oboe.", "assistant": "Ok."},
    ],
}  # fmt: skip


def question(current, earlier, at=None, **more):
    return {"question": "where?", "current": current, "earlier": earlier, "at": at} | more


@pytest.fixture
def memory():
    with Memory(":memory:", embedder=HashingEmbedder()) as opened:
        yield opened


def searching(*hits):
    """Stands in for a memory whose search always gives these messages."""
    return SimpleNamespace(search=lambda query, k, **options: [SimpleNamespace(message_ids=ids) for ids in hits[:k]])


def test_a_question_counts_by_what_ended():
    assert talk.kind_of(STORY, question(["b"], ["a"])) == "changed"
    assert talk.kind_of(STORY, question(["c"], ["b"])) == "still"
    assert talk.kind_of(STORY, question(["a"], ["b"], "2026-02-01")) == "past"
    assert talk.kind_of(STORY, question(["b"], ["a"], holds="still")) == "still"


@pytest.mark.parametrize(
    ("hits", "right"),
    [
        ((("x",), ("b",), ("a",)), True),  # what belongs to neither is passed over
        ((("a",), ("b",)), False),
        ((("x",),), False),
        ((), False),
    ],
)
def test_the_first_hit_of_either_decides(hits, right):
    assert talk.current_first(searching(*hits), question(["b"], ["a"])) is right


def test_only_what_stands_beside_a_text_says_that_it_has_ended():
    pair = ("My old bike was replaced", "I eat fish")
    assert not talk.told_as_ended("- user: My old bike was replaced\n- user: I eat fish", pair)
    assert talk.told_as_ended("- user: I eat fish [no longer current]", pair)


def test_what_a_search_and_a_record_mark_as_ended_is_found(memory):
    memory.add(talk.told(STORY))
    texts = {each["tag"]: each["user"] for each in STORY["messages"]}
    after = talk.moment("2026-03-11")
    assert talk.ended_messages(memory, texts, after) == set()
    old = memory.remember("Rome it was.", source_ids=["a"])
    new = memory.remember("Then came Oslo.", source_ids=["b"])
    memory.links.add(new.id, old.id, "supersedes")
    assert talk.ended_messages(memory, texts, after) == {"a"}


def test_a_memory_of_one_message_that_ended_marks_it_though_no_search_says_so(memory):
    memory.add(talk.told(STORY))
    texts = {each["tag"]: each["user"] for each in STORY["messages"]}
    for sources in (["a"], ["b", "c"]):  # of two messages nobody can tell which of them it is
        made = memory.remember(f"Made from {sources}.", source_ids=sources)
        memory.update(made.id, invalid_at=talk.SECOND)
    assert talk.ended_messages(memory, texts, talk.moment("2026-03-11")) == {"a"}


def test_lines_are_spoken_by_whom_they_name():
    lines = [{"who": "u", "text": "hi"}, {"who": "a", "text": "Hello!"}, {"who": "Bea", "text": "hey"}]
    made = talk.spoken({"id": "x", "date": "2026-03-01", "lines": lines})
    assert [(m.role, m.name) for m in made] == [("user", None), ("assistant", None), ("user", "Bea")]
    assert [m.sent_at for m in made] == sorted(m.sent_at for m in made)


def test_statements_are_merged_or_both_kept():
    assert talk.joined(("I hate olives.", "I hate olives."), HashingEmbedder()) == "merged"
    assert talk.joined(("I hate olives.", "The bus was late."), HashingEmbedder()) == "both"


def test_a_request_is_fulfilled_exactly_or_not():
    cases = [
        {
            "statements": ["I hate olives", "The bus was late"],
            "request": "that I hate olives",
            "gone": gone,
            "stay": stay,
        }
        for gone, stay in (([0], [1]), ([0, 1], []), ([], [0, 1]))
    ]
    found = talk.forget(cases, HashingEmbedder(), show=False)
    assert found["exactly"]["count"] == 1
    assert (found["left"], found["wrongly_gone"]) == (1, 1)


def test_words_are_those_of_the_message(memory):
    memory.add([Message(role="user", content="Vivo en Teruel, al lado del río.", id="m0")])
    assert talk.kept(memory, "Vivo en Teruel, al lado del río.", "m0") == (False, False)
    memory.remember("Teruel is home.", source_ids=["m0"])
    assert talk.kept(memory, "Vivo en Teruel, al lado del río.", "m0") == (True, False)
    memory.remember("Ana: «Vivo en Teruel, al lado del río»", source_ids=["m0"])
    assert talk.kept(memory, "Vivo en Teruel, al lado del río.", "m0") == (True, True)


def test_a_folder_is_measured_by_the_files_it_holds(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(talk, "default_embedder", lambda file: Closing())
    (tmp_path / "both_stay_true.json").write_text(json.dumps([["I play chess", "I play the oboe"]]))
    talks = [
        {"id": "t", "date": "2026-03-01", "lines": [{"who": "u", "text": "I live in Rome."}], "notes": ["rome", "oslo"],
         "questions": [["where do I live?", "rome"]]},
        {"id": "s", "date": "2026-03-01", "lines": [{"who": "u", "text": "hi"}], "notes": [], "questions": []},
    ]  # fmt: skip
    (tmp_path / "conversations.json").write_text(json.dumps(talks))
    result = talk.main(["--data", str(tmp_path), "--json", str(tmp_path / "out.json")])
    assert set(result["figures"]) == {"both_stay_true", "conversations"} == {name[:-5] for name in result["data"]}
    found = result["figures"]["conversations"]
    assert found["notes"] == {"count": 1, "of": 2, "percent": 50.0}
    assert found["small_talk"]["messages"] == 1
    assert found["before"]["found_10"] == {"count": talk.RECORDS, "of": talk.RECORDS, "percent": 100.0}
    assert json.loads((tmp_path / "out.json").read_text())["figures"] == result["figures"]
    assert "both_stay_true" in capsys.readouterr().out


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(SystemExit):
        talk.main(["--data", str(tmp_path)])


class Closing(HashingEmbedder):
    def close(self):
        """There is nothing to close."""
