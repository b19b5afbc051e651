"""What a replaced statement still says is a memory of its own, with the evidence of the statement, or else made from it."""

import pytest

from mnemic import Memory

BOTH = "I live in Porto. I work as a nurse."


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as opened:
        yield opened


def the_rest(memory):
    (rest,) = [record for record in memory.list() if record.content == "I work as a nurse."]
    return rest


def test_of_what_was_remembered_it_names_the_statement(memory):
    memory.remember(BOTH, id="both")
    memory.remember("I live in Lisbon.", id="new")
    assert the_rest(memory).source_ids == ("both",)
    assert memory.verify().ok
    erasure = memory.forget(ids=["both"], hard=True)
    assert erasure.clean
    assert [record.content for record in memory.list()] == ["I live in Lisbon."]


def test_of_what_has_evidence_it_names_the_same_evidence(memory):
    memory.add_message("Where we spoke of it", id="m1")
    memory.remember(BOTH, id="both", source_ids=["m1"])
    memory.remember("I live in Lisbon.", id="new")
    assert the_rest(memory).source_ids == ("m1",)
    memory.forget(ids=["m1"], hard=True)
    assert [record.content for record in memory.list()] == ["I live in Lisbon."]


def test_when_it_is_learned_from_a_conversation(memory):
    memory.remember(BOTH, id="both")
    memory.add_message("I live in Lisbon now.", id="m1")
    memory.add_message("I moved to Lisbon, so I live in Lisbon.", id="m2")
    memory.process()
    assert the_rest(memory).source_ids == ("both",)
    assert memory.verify().ok
