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


def test_when_it_is_learned_from_a_conversation(memory):
    memory.remember(BOTH, id="both")
    memory.add_message("I live in Lisbon now.", id="m1")
    memory.add_message("I moved to Lisbon, so I live in Lisbon.", id="m2")
    memory.process()
    assert the_rest(memory).source_ids == ("both",)
    assert memory.verify().ok
