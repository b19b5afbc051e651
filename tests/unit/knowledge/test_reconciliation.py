"""What a new memory means for what is known."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mnemic.knowledge.reconciliation import reconcile, salience
from mnemic.types import MemoryRecord

DAY = datetime(2026, 1, 12, tzinfo=UTC)


def record(content, days=0, **fields):
    moment = DAY + timedelta(days=days)
    return MemoryRecord(id=content, content=content, said_at=moment, created_at=moment, updated_at=moment, **fields)


ROME, OSLO = record("I live in Rome."), record("I moved to Oslo.", 60)


@pytest.mark.parametrize(
    ("first", "second", "known"),
    [
        ("I live in Rome.", "I live in Rome, you know.", True),
        ("I ran today.", "I ran today, you know.", False),
        ("I have 2 cats.", "I have 3 cats.", False),
        ("Rob owes me 20 euros.", "I owe Rob 20 euros.", False),
        ("I like olives.", "I do not like olives.", False),
    ],
)
def test_a_repetition_is_near_and_differs_in_nothing(first, second, known):
    assert reconcile(record(second, 1), [(record(first), 0.95)], threshold=0.9).restated == [record(first)] * known
    assert not reconcile(record(second, 1), [(record(first), 0.5)], threshold=0.9).restated
    assert not reconcile(record(second, 1), [(record(first), 0.95)], threshold=None).restated


def test_the_threshold_decides_about_the_same_words_and_no_cosine_about_others():
    lux, tom = record("I work at Lux."), record("Tom repaired the sink.")
    for cosine, known in ((0.9, [lux]), (0.89, [])):
        again = reconcile(record("I do work at Lux.", 1), [(lux, cosine)], threshold=0.9)
        assert again.restated == known
    assert not reconcile(record("Tom fixed the sink.", 1), [(tom, 0.99)], threshold=0.9).restated


def test_what_was_over_and_holds_again_is_no_repetition():
    over = replace(ROME, expired_at=DAY + timedelta(days=5))
    assert not reconcile(record("I live in Rome.", 90), [(over, 1.0)], threshold=0.9).restated


def test_novelty_is_what_the_nearest_did_not_foretell():
    assert reconcile(record("I like tea."), []).novelty == 1
    assert reconcile(record("I like tea."), [(ROME, 0.2), (OSLO, 0.6)]).novelty == pytest.approx(0.4)
    assert reconcile(record("I like green tea."), [(record("I drink tea."), None)]).novelty == pytest.approx(1 / 2)


def test_salience_rises_with_worth_novelty_and_how_long_a_thing_is_of_use():
    assert salience(1, "procedural") > salience(1, "semantic") > salience(1, "episodic") > salience(0, "episodic") > 0
    assert salience(1, "semantic", 0.0) < salience(1, "semantic", 1.0) < 1
