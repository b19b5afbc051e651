"""What stands deep in a long text is found by its passage, wherever the record goes."""

import io

import pytest
from tests.internals import runtime_of, store_of

from mnemic import EmbedderUnavailable, Memory, Message

LINES = [
    "The tenant pays 940 euros a month, due on the third working day.",
    "The caretaker, Mr. Adler, has his office on the ground floor behind the lifts.",
    "Rubbish is collected on Tuesdays; paper goes into the blue container in the yard.",
    "The cellar compartment with the number 14 belongs to the flat and has a padlock.",
    "Bicycles stand in the rack by the east gate, never in the stairwell.",
    "The heating is bled every October by Kestrel Heating, reachable on 01273 555 0148.",
    "Windows are replaced in the spring, for which a scaffold stands for two weeks.",
    "Parcels for absent neighbours are kept by the bakery at the corner until six.",
    "One cat may be kept; a dog needs the written consent of all other parties.",
    "Between ten in the evening and seven in the morning no instruments are played.",
    "Lifts are inspected twice a year and are then out of order for half a day.",
    "The roof terrace is open to everybody from April to the end of September.",
    "The deposit of 2,670 euros is returned within eight weeks after the keys.",
    "The lock of the front door was changed in March, and a third key costs 25 euros.",
    "A smoke detector hangs in each bedroom, and its battery is changed by the owner.",
]
PASTED = "Here is what the landlord sent me:\n\n" + "\n\n".join(LINES)
QUESTION = "Whom do I call when the heating does not work?"
ANSWER = "01273 555 0148"
OTHERS = [f"I walked {n} kilometres along the river before breakfast." for n in range(3, 9)]


@pytest.fixture(scope="module")
def embedder():
    with Memory(":memory:") as memory:
        yield runtime_of(memory).indexer.embedder


def filled(embedder, place=":memory:", *, user="ana", role="user"):
    memory = Memory(place, user=user, embedder=embedder)
    memory.add([Message(role="user", content=text, session="walks") for text in OTHERS])
    memory.add([Message(role=role, content=PASTED, id="paste", session="flat")])
    return memory


def nearest(memory):
    (hit,) = (hit for hit in memory.search(QUESTION) if hit.id == "paste")
    return hit.passage


def passages_of(memory, user="ana"):
    return {id_: len(one.passages) for id_, one in store_of(memory).knowledge.vectors(user, ["paste", "note"]).items()}


def test_a_question_in_other_words_finds_the_passage(embedder):
    with filled(embedder) as memory:
        hit = memory.search(QUESTION)[0]
        assert hit.id == "paste"
        assert ANSWER in hit.passage
        assert hit.passage in PASTED
        assert len(hit.passage) <= 300
        assert all(hit.passage is None for hit in memory.search("How far did I walk?") if hit.id != "paste")
        context = memory.get_memory_context(QUESTION, max_tokens=250)
        assert ANSWER in context.text
        assert context.truncated


def test_answers_of_an_assistant_get_theirs_when_they_are_processed(embedder, tmp_path):
    with filled(embedder, role="user") as memory:
        expected = nearest(memory), passages_of(memory)
    with filled(embedder, tmp_path / "one", role="assistant") as memory:
        assert passages_of(memory) == {"paste": 0}
        assert nearest(memory) is None
        memory.process()
        assert (nearest(memory), passages_of(memory)) == expected
        with Memory(tmp_path / "two", user="ana", embedder=embedder) as other:
            other.admin.sync(memory)
            assert (nearest(other), passages_of(other)) == expected
        assert memory.admin.verify().ok


def test_an_answer_is_processed_without_passages_while_the_embedder_is_away(embedder, monkeypatch):
    with filled(embedder, role="assistant") as memory:
        monkeypatch.setattr(
            type(embedder), "embed", lambda *_, **__: (_ for _ in ()).throw(EmbedderUnavailable("later"))
        )
        with pytest.warns(RuntimeWarning, match="later"):
            assert memory.process().messages == len(OTHERS) + 1
        assert passages_of(memory) == {"paste": 0}


@pytest.mark.parametrize("role", ["tool", "system"])
def test_what_programs_say_has_none(embedder, role):
    with filled(embedder, role=role) as memory:
        memory.process()
        assert passages_of(memory) == {"paste": 0}


def test_a_memory_has_passages_that_follow_its_text(embedder):
    with filled(embedder) as memory:
        memory.remember(PASTED, id="note")
        assert passages_of(memory)["note"] > 4
        memory.update("note", content="The flat has a padlock.")
        assert passages_of(memory)["note"] == 0
        assert memory.admin.verify().ok


def test_what_has_ended_in_a_text_is_no_passage(embedder):
    with filled(embedder) as memory:
        memory.process()
        memory.correct("the number of Kestrel Heating", "The heating is bled by Martin Heating, on 01273 555 0999.")
        assert not any(ANSWER in (hit.passage or "") for hit in memory.search(QUESTION))
        assert ANSWER not in memory.get_memory_context(QUESTION, max_tokens=400).text


def test_passages_go_where_the_record_goes(embedder, tmp_path):
    file = io.StringIO()
    with filled(embedder, tmp_path / "one") as memory:
        found, many = nearest(memory), passages_of(memory)
        memory.admin.export(file, vectors=True)
        with Memory(tmp_path / "two", user="ana", embedder=embedder) as other:
            other.admin.sync(memory)
            assert (nearest(other), passages_of(other)) == (found, many)
    with Memory(tmp_path / "three", user="ana", embedder=embedder) as other:
        file.seek(0)
        other.admin.import_from(file)
        assert (nearest(other), passages_of(other)) == (found, many)
        assert other.admin.verify().ok


def test_a_rebuild_makes_them_again(embedder):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add([Message(role="user", content=PASTED, id="paste")])
        many = passages_of(memory)
        memory.admin.reembed(embedder)
        assert passages_of(memory) == many
        assert ANSWER in nearest(memory)


def test_they_wait_for_an_embedder_that_is_not_there_yet(embedder, monkeypatch):
    with Memory(":memory:", user="ana", embedder=embedder) as memory:
        with monkeypatch.context() as patch:
            patch.setattr(type(embedder), "embed", lambda *_, **__: (_ for _ in ()).throw(EmbedderUnavailable("later")))
            with pytest.warns(RuntimeWarning, match="later"):
                memory.add([Message(role="user", content=PASTED, id="paste")])
        assert passages_of(memory) == {}
        assert memory.admin.flush(process=False) == 1
        assert passages_of(memory)["paste"] > 4
        assert ANSWER in nearest(memory)


def test_an_erased_text_leaves_no_passage(embedder, tmp_path):
    with filled(embedder, tmp_path) as memory:
        vectors = store_of(memory).knowledge.vectors("ana", ["paste"])["paste"].passages.astype("<f2")
        assert memory.forget(ids=["paste"], hard=True).clean
        assert passages_of(memory) == {}
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(row.tobytes() in files for row in vectors)
