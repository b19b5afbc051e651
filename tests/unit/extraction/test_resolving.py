"""What a statement does to what is known: the newest value stays open, nothing else is closed, nothing that differs is dropped."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.extraction.resolving import Resolution, resolve, said_when
from mnemic.text.differs import differs
from mnemic.types import MemoryRecord

DAY = datetime(2025, 3, 1, tzinfo=UTC)


def record(id_: str, content: str, day: float = 0, *, expired: bool = False) -> MemoryRecord:
    at = DAY + timedelta(days=day)
    return MemoryRecord(
        id=id_, content=content, valid_at=at, created_at=at, updated_at=at, expired_at=at if expired else None
    )


def against(text: str, *known: str, day: float = 5, **options) -> Resolution:
    """Resolve a text, said on a day, against what was said on day 0; ids are the places."""
    records = [record(str(n), each) for n, each in enumerate(known)]
    return resolve(text, DAY + timedelta(days=day), None, records, None, **options)


UPDATES = [
    ("Ana lives in Lisbon.", "Ana moved to Porto."),
    ("Ana lives in Lisbon.", "Ana no longer lives in Lisbon."),
    ("Ana's favourite colour is purple.", "Ana's favourite colour is cyan."),
    ("Ana works at Google.", "Ana left Google and joined Meta."),
    ("We use MySQL 8.", "We've switched to Postgres 16."),
    ("The API runs on port 8080.", "The API port is 9090."),
    ("The API runs on port 8080.", "The port is now 9090."),
    ("The standup is at 9:30.", "The standup is at 10 now."),
    ("The launch is on 3 May.", "The launch was moved to 10 May."),
    ("Ana drinks coffee in the morning.", "Ana drinks tea in the morning now."),
    ("Ana takes the 8:15 train to work.", "Ana takes the 9:05 train to work now."),
    ("Ana plays tennis.", "Ana gave up tennis."),
    ("Ana likes rock.", "Ana no longer likes rock."),
    ("Ana drives a Honda Civic.", "Ana traded her Civic for a Tesla."),
    ("Sara leads the Atlas project.", "Tom took over the Atlas project from Sara."),
    ("Logs are kept for 30 days.", "Logs are now kept for 60 days."),
    ("The Pro plan costs 9 euros.", "We raised the price of the Pro plan to 12 euros."),
    ("Ana has two cats.", "Ana has three cats now."),
    ("Ana's sister lives in Lyon.", "Ana's sister moved to Nice."),
]


@pytest.mark.parametrize(("old", "new"), UPDATES)
def test_an_update_closes_the_old_value_and_is_fully_new_or_a_denial(old, new):
    found = against(new, old)
    assert (found.outcome, found.of) == ("update", ("0",))
    assert found.novelty > 0
    assert found.reason


@pytest.mark.parametrize(
    ("old", "new"), [pair for pair in UPDATES if "no longer" not in pair[1] and "gave up" not in pair[1]]
)
def test_the_old_value_told_late_is_outdated(old, new):
    known = [record("later", new, 9)]
    found = resolve(old, DAY, None, known, None)
    assert (found.outcome, found.of) == ("outdated", ("later",))


KEPT = [
    ("Ana lives in Lisbon.", "Ben moved to Porto."),
    ("Ana lives in Lisbon.", "Ana's sister moved to Porto."),
    ("Ana lives in Lisbon.", "Ana used to live in Rome."),
    ("Ana lives in Lisbon.", "Ana might move to Rome."),
    ("Ana lives in Lisbon.", "Ana wants to move to Rome."),
    ("Ana lives in Lisbon.", "I think Ana moved to Rome."),
    ("Ana lives in Lisbon.", "Ana works at Google."),
    ("Ana likes jazz.", "Ana likes rock now."),
    ("Ana speaks French.", "Ana speaks German."),
    ("Ana has a dog named Rex.", "Ana has a cat named Tom."),
    ("Ana visited Rome.", "Ana visited Oslo."),
    ("Ana's friend is Lea.", "Ana's friend is Tom."),
    ("Ana's hobbies are chess and running.", "Ana's hobbies are reading and yoga."),
    ("The API runs on port 8080.", "The admin panel runs on port 9090."),
    ("The Pro plan costs 9 euros.", "The Basic plan costs 5 euros now."),
    ("Sara leads the Atlas project.", "Tom leads the Borealis project."),
    ("The standup is at 9:30.", "The retro is at 10 now."),
    ("The standup is at 9:30.", "The standup is on Tuesday."),
    ("Ana's car is a Tesla.", "Ana's car is red."),
    ("Ana wakes up at 7:00.", "Ana goes to bed at 22:00 now."),
    ("We have 8 designers.", "We have 6 engineers now."),
    ("Family is important.", "Family is the most important thing."),
    ("It is a journey for Ana.", "It is a dream for Ana now."),
    ("Ana drinks coffee.", "Ana drinks tea."),
]


@pytest.mark.parametrize(("old", "new"), KEPT)
def test_what_is_not_an_update_closes_nothing(old, new):
    assert against(new, old).outcome == "new"
    assert against(old, new).outcome == "new"


def test_what_cannot_both_hold_and_is_not_decided_stays_linked():
    assert against("Ana lives in Lisbon.", "Ana lives in Porto.", day=0) == replace(
        against("Ana lives in Lisbon.", "Ana lives in Porto.", day=0), outcome="contradiction", of=("0",)
    )
    assert against("Ana does not like rock.", "Ana likes rock.").outcome == "contradiction"
    assert against("Ana moved to Lisbon.", "Ana lives in Porto.", day=0).outcome == "update"  # the wording decides


def test_only_what_it_concerns_is_closed():
    found = against(
        "Ana moved to Porto.",
        "Ben lives in Lisbon.",
        "Ana lives in Lisbon.",
        "Ana works at Google.",
        "Ana's home is Lisbon.",
    )
    assert found.of == ("1", "3")


def test_said_again_is_a_duplicate_and_in_no_other_value():
    assert against("Ana lives in Porto.", "Ana lives in Porto").outcome == "duplicate"
    assert against("Ana lives in Porto.", "Ana lives in Porto", dedup=False).outcome == "new"
    ones = np.ones((1, 4), np.float32)
    same = resolve(
        "She really loves her garden in Porto", DAY, ones[0], [record("a", "She loves her garden in Porto", -1)], ones
    )
    assert (same.outcome, same.of) == ("duplicate", ("a",))
    assert same.novelty <= 0.2
    other = resolve("The meeting took two hours", DAY, ones[0], [record("a", "The meeting took three hours", -1)], ones)
    assert other.outcome == "new"
    past = resolve("Ana used to live in Porto", DAY, ones[0], [record("a", "Ana lives in Porto", -1)], ones)
    assert past.outcome == "new"


def test_a_return_to_an_earlier_value_is_an_update():
    known = [record("a", "Ana lives in Porto.", 0, expired=True), record("b", "Ana lives in Rome.", 1)]
    found = resolve("Ana lives in Porto.", DAY + timedelta(days=2), None, known, None)
    assert (found.outcome, found.of) == ("update", ("b",))


def test_the_same_message_processed_again_adds_nothing_though_it_is_closed():
    known = [record("a", "Ana lives in Porto.", 0, expired=True), record("b", "Ana lives in Rome.", 1)]
    assert resolve("Ana lives in Porto.", DAY, None, known, None).outcome == "duplicate"


def test_a_value_in_between_ends_the_one_before_it_earlier():
    known = [record("a", "Ana lives in Porto.", 0, expired=True), record("c", "Ana lives in Rome.", 9)]
    found = resolve("Ana moved to Oslo.", DAY + timedelta(days=4), None, known, None)
    assert (found.outcome, found.of, found.shortens) == ("outdated", ("c",), ("a",))


def test_naive_times_are_utc_and_said_at_comes_first():
    assert said_when(record("a", "x")) == DAY
    assert (
        resolve("Ana moved to Porto.", datetime(2025, 4, 1), None, [record("a", "Ana lives in Rome.")], None).outcome
        == "update"
    )


VALUES = ["Porto", "Rome", "Oslo", "Berlin", "Dublin"]
WORDINGS = ["Ana lives in {}.", "Ana moved to {}.", "Ana's home is {}.", "Ana lives in {} now.", "Ana is based in {}."]


def store(records: list[MemoryRecord], text: str, said: datetime) -> None:
    """What a flow does with a resolution."""
    found = resolve(text, said, None, records, None)
    at = {r.id: n for n, r in enumerate(records)}
    for id_ in found.of:
        old = records[at[id_]]
        if found.outcome == "update":
            records[at[id_]] = replace(old, expired_at=said)
        elif found.outcome == "duplicate" and said_when(old) < said:
            records[at[id_]] = replace(old, valid_at=said)
    if found.outcome != "duplicate":
        closed = said if found.outcome == "outdated" else None
        records.append(replace(record(f"r{len(records)}", text), valid_at=said, expired_at=closed))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(WORDINGS)), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_in_any_order_of_arrival_the_latest_value_is_open_and_no_other(told, draw):
    dated = [(value, wording.format(value), DAY + timedelta(days=n)) for n, (value, wording) in enumerate(told)]
    arriving = list(dated)
    draw.shuffle(arriving)
    records: list[MemoryRecord] = []
    for _, text, said in arriving:
        store(records, text, said)
    live = [r.content for r in records if r.expired_at is None]
    assert live
    assert {next(v for v in VALUES if v in content) for content in live} == {dated[-1][0]}
    assert {v for v, _, _ in dated} == {next(v for v in VALUES if v in r.content) for r in records}


SENTENCES = [text for pair in UPDATES + KEPT for text in pair]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES), st.floats(-1, 1))
def test_a_duplicate_never_differs_and_is_one_in_both_directions(first, second, cosine):
    one = np.array([1.0, 0.0])
    other = np.array([[cosine, (1 - cosine**2) ** 0.5]])
    there = resolve(first, DAY + timedelta(days=1), one, [record("a", second)], other)
    back = resolve(second, DAY + timedelta(days=1), one, [record("a", first)], other)
    if there.outcome == "duplicate":
        assert differs(first, second) is None
        assert back.outcome == "duplicate"


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES))
def test_update_and_outdated_are_mirrors(first, second):
    forward = resolve(second, DAY + timedelta(days=1), None, [record("a", first)], None).outcome
    backward = resolve(first, DAY, None, [record("b", second, 1)], None).outcome
    assert (forward == "update") == (backward == "outdated")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=4), st.integers(-3, 3))
def test_any_text_can_be_resolved(text, known, day):
    records = [record(str(n), each, n, expired=n % 2 == 1) for n, each in enumerate(known)]
    found = resolve(text, DAY + timedelta(days=day), np.ones(3), records, np.ones((len(records), 3)))
    assert 0 <= found.novelty <= 1
    assert set(found.of) <= {r.id for r in records}
    assert (found.outcome == "new") == (not found.of)
