"""The generated sequences are what they say, and the figures count what they say."""

from datetime import timedelta

import numpy as np
import pytest
from benchmarks.quality import updates

from mnemic import HashingEmbedder
from mnemic.types import Hit

EVERY = [attribute for family in updates.FAMILIES.values() for attribute in family]


def test_every_template_holds_its_value_and_leaves_no_gap():
    for attribute in EVERY:
        for wording in (*attribute.first, *attribute.changes, *attribute.others):
            text = wording.format(v="NEWEST", o="OLDEST")
            assert "NEWEST" in text
            assert not set("{}|") & set(text)
        assert len(set(attribute.values)) == len(attribute.values) >= 4
        assert all(question.endswith("?") for question in attribute.questions)


def test_the_families_share_no_attribute_and_no_wording():
    tuned, held = updates.TUNED, updates.HELD_OUT
    assert not {a.name for a in tuned} & {a.name for a in held}
    assert not {w for a in tuned for w in a.changes} & {w for a in held for w in a.changes}


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("attribute", [updates.TUNED[0], updates.TUNED[12], updates.HELD_OUT[3]], ids=lambda a: a.name)
def test_a_sequence_is_dated_in_order_with_three_to_six_values(attribute, number):
    made = updates.generated(attribute, number, 1)
    times = [step.message.sent_at for step in made.steps]
    assert times == sorted(times)
    assert 3 <= len(made.changes) <= 6
    assert [step.value for step in made.steps if step.value] == [value for _, value in made.changes]
    assert all(a != b for (_, a), (_, b) in zip(made.changes, made.changes[1:], strict=False))
    assert len({step.message.id for step in made.steps}) == len(made.steps)
    first, second = made.changes[0][0], made.changes[1][0]
    assert made.at(first) == made.at(second - timedelta(seconds=1)) == made.changes[0][1]
    assert made.at(second) == made.changes[1][1]


def test_the_same_seed_gives_the_same_sequences_and_another_gives_others():
    assert updates.sequences("tuned", 5, 3) == updates.sequences("tuned", 5, 3)
    assert updates.sequences("tuned", 5, 3) != updates.sequences("tuned", 5, 4)


def test_a_hit_is_right_only_with_the_value_from_a_message_that_gave_it():
    made = updates.generated(updates.TUNED[0], 0, 0)
    value = made.changes[-1][1]
    source = next(step.message.id for step in made.steps if step.value == value)
    other = next(step.message.id for step in made.steps if step.value not in {None, value})
    hit = Hit(id="x", kind="message", text=f"I moved to {value}.", score=1.0, message_ids=(source,))
    assert updates.right(hit, value, made)
    assert not updates.right(None, value, made)
    assert not updates.right(
        Hit(id="x", kind="message", text="I moved.", score=1.0, message_ids=(source,)), value, made
    )
    assert not updates.right(
        Hit(id="x", kind="message", text=f"from {value}", score=1.0, message_ids=(other,)), value, made
    )


def test_shares_and_their_interval():
    assert updates.share([]) is None
    assert updates.share([1.0, 0.0, 0.0, 0.0]) == 25.0
    low, high = updates.interval([1.0, 0.0] * 50)
    assert low < 50 < high
    assert updates.interval([1.0] * 5) == [100.0, 100.0]


def test_the_whole_runs_through_the_public_api():
    made = [updates.generated(updates.TUNED[0], 0, 0)]
    found = updates.by_memory(made, HashingEmbedder(64))
    assert found["sequences"] == 1
    assert found["lost"] == 0
    assert found["past_questions"] == len(made[0].changes) - 1
    assert found["current"] in {0.0, 100.0}
    assert np.isfinite(found["past"])
