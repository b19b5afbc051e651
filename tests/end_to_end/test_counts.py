"""How many records there are of each kind of thing, and when they were said."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic import InvalidInput, Memory

DAY = datetime(2026, 5, 8, 10, tzinfo=UTC)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as opened:
        for n in range(6):
            opened.add(
                f"Note {n}.", role="user" if n % 3 else "assistant", name=None if n % 2 else "Ana", session=f"s{n // 4}",
                sent_at=DAY + timedelta(days=n), id=f"m{n}",
            )  # fmt: skip
        opened.scoped(project="kiln").remember("The kiln is red.", tags=["kiln", "red"], category="work", id="kiln")
        opened.remember("Ana likes red.", tags=["red"], category="preference", id="red")
        opened.scoped(user="bo").add("Hello.", session="other")
        yield opened


def test_values_by_frequency(memory):
    assert memory.admin.counts("session", kind="message") == {"s0": 4, "s1": 2}
    assert memory.admin.counts("speaker", kind="message") == {None: 3, "Ana": 3}
    assert memory.admin.counts("role", kind="message") == {"user": 4, "assistant": 2}
    assert memory.admin.counts("tag") == {"red": 2, "kiln": 1}
    assert memory.admin.counts("project") == {None: 1, "kiln": 1}
    assert memory.admin.counts("trust") == {1.0: 2}
    assert memory.admin.counts("category", limit=1) in ({"work": 1}, {"preference": 1})
    assert memory.admin.counts("tag", kind="message") == {}


def test_filters_apply(memory):
    assert memory.admin.counts("session", kind="message", role="user", since=DAY + timedelta(days=3)) == {"s1": 2}
    assert memory.admin.counts("tag", tags="kiln") == {"kiln": 1, "red": 1}
    assert memory.scoped(project="kiln").admin.counts("tag", reach="project") == {"kiln": 1, "red": 1}
    memory.forget(ids=["m1", "red"])
    assert memory.admin.counts("status", kind="message", status=["short_term", "archived"]) == {
        "short_term": 5,
        "archived": 1,
    }
    assert memory.admin.counts("tag") == {"kiln": 1, "red": 1}


def test_a_histogram_is_exact(memory):
    found = memory.admin.histogram(most=100)
    assert sum(count for _, count in found) == 6
    assert found[-1][1] == 0
    days = memory.admin.histogram(most=6)
    assert days == [(DAY.replace(hour=0) + timedelta(days=n), int(n < 6)) for n in range(7)]
    assert memory.admin.histogram(session="s1", most=2)[0] == (DAY.replace(hour=0) + timedelta(days=4), 1)
    noon = DAY + timedelta(days=1, hours=2)
    assert [count for _, count in memory.admin.histogram(since=noon, until=noon + timedelta(days=2), most=2)] == [
        1,
        1,
        0,
    ]
    assert sum(count for _, count in memory.admin.histogram(kind="memory")) == 2
    assert memory.scoped(user="nobody").admin.histogram() == []


def test_what_is_refused(memory):
    with pytest.raises(InvalidInput, match="by must be one of"):
        memory.admin.counts("colour")
    with pytest.raises(InvalidInput, match="most"):
        memory.admin.histogram(most=0)
    with pytest.raises(InvalidInput, match="kinds"):
        memory.admin.counts("tag", kind="thought")
