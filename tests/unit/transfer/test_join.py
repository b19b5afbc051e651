"""The join of two states of one record is commutative, associative and idempotent, and loses no text."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.stores.sql.sync import numbered
from mnemic.stores.sql.trails import RecordState, TrailEvent, content_and_title, current, event_versions
from mnemic.text.values import to_json
from mnemic.transfer.join import Withdrawn, join, join_links

OPERATIONS = (
    "update", "enrich", "supersede", "restore", "hold", "archive", "quarantine", "promote", "undo", "use", "derive", "tire",
)  # fmt: skip
lives = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 3)), max_size=6)


def text(content):
    return to_json({"content": content, "length": 1, "pinned": 0})


def state(at=1, content="as it was"):
    made = text(content)
    return RecordState(
        id="r", kind="memory", project=None, session=None, trail=(TrailEvent(at, "remember", "{}"),), texts=((at, made),),
        tier="short_term", created_at=at, expired_at=None, invalid_at=None, trust=1.0, emotion=(None, None, None), waits=None,
        episode=None, parents=frozenset(), uses=(0, 0), tasks=frozenset({"enrich"}), **current(made, "memory", at),
    )  # fmt: skip


def lived(held, life, device):
    """The state after what a device did; no two devices write at one microsecond."""
    for operation, value in life:
        at = (held.trail[-1].at // 3 + 1 + value) * 3 + device
        held = changed(held, at, operation, value)
    return held


def changed(held, at, operation, value):
    def event(name, **detail):
        return {"trail": (*held.trail, TrailEvent(at, name, to_json(detail)))}

    match operation:
        case "update" | "enrich":
            content = f"v{value}" if operation == "update" else content_and_title(numbered(held).texts[-1])[0]
            written = replace(held, **event(operation), texts=(*held.texts, (at, text(content))))
            tasks = frozenset({"enrich"}) if operation == "update" else frozenset()
            trust = value / 4 if operation == "update" else held.trust
            return replace(written, trust=trust, tasks=tasks, **current(text(content), "memory", 1))
        case "supersede":
            return replace(held, **event("supersede"), expired_at=at, invalid_at=value)
        case "hold":
            return replace(held, **event("restore", after=[]), expired_at=None, invalid_at=None)
        case "archive" | "restore":
            return replace(held, **event(operation))
        case "quarantine":
            return replace(held, **event("archive", quarantine=True))
        case "promote" | "undo":
            return replace(
                held,
                **event(operation, consolidation="c"),
                tier="long_term" if operation == "promote" else "short_term",
            )
        case "use":
            return replace(held, uses=(held.uses[0] + value + 1, max(at, held.uses[1] + 1)))
        case _:
            return replace(held, parents=held.parents | {f"p{value}"})


@given(lives, lives, lives, lives)
def test_the_laws_of_a_join(before, one, two, three):
    common = lived(state(), before, 0)
    a, b, c = (lived(common, life, device) for device, life in enumerate((one, two, three)))
    assert join(a, a) == a
    assert join(a, b) == join(b, a)
    assert join(join(a, b), c) == join(a, join(b, c))
    assert join(join(a, b), a) == join(a, b)


@given(lives, lives)
def test_who_has_seen_all_is_taken_as_it_is(before, after):
    common = lived(state(), before, 0)
    later = lived(common, after, 1)
    assert join(common, later) == later


@given(lives, lives, st.booleans())
def test_every_text_stays_a_version_and_every_event_has_one(one, two, twice):
    """Also where both devices made the record, as they do when both process one message."""
    first, second = state(), state(at=2, content="as it was" if twice else "as it is")
    a, b = lived(first, one, 0), lived(second, two, 1)
    joined = join(a, b)
    found = numbered(joined)
    assert {content_and_title(text) for text in found.texts} == {
        content_and_title(text) for one in (a, b) for _, text in one.texts
    }
    versions = event_versions(joined.trail, found.numbers)
    assert set(versions) == set(range(1, len(found.texts) + 1))
    assert join(joined, a) == join(joined, b) == joined


def test_a_correction_outranks_what_another_device_reads_from_the_message_later():
    corrected = changed(state(), 5, "update", 1)
    read_later = changed(state(at=8), 9, "enrich", 0)
    joined = join(corrected, read_later)
    assert [content_and_title(text)[0] for text in numbered(joined).texts] == ["as it was", "as it was", "v1"]


def test_a_link_of_nobody_changes_nothing_that_a_correction_said():
    corrected, linked = (
        changed(state(), 5, "update", 1),
        replace(state(), trail=(*state().trail, TrailEvent(9, "link", "{}"))),
    )
    assert content_and_title(numbered(join(corrected, linked)).texts[-1]) == ("v1", None)


LINK = ("s", "r", "references")


@pytest.mark.parametrize(
    ("events", "stays"),
    [
        ([], True),
        ([(5, "unlink", {"source": "s", "types": ["references"]})], False),
        ([(5, "unlink", {"source": "s", "types": ["extends"]})], True),
        ([(5, "unlink", {"source": "s", "types": ["references"]}), (6, "link", {"source": "s", "type": "references"})], True),
    ],
)  # fmt: skip
def test_a_link_that_one_side_removed_goes(events, stays):
    target = state()
    after = replace(
        target, trail=(*target.trail, *(TrailEvent(at, name, to_json(detail)) for at, name, detail in events))
    )
    states = {"r": after, "s": replace(target, id="s")}
    links = join_links(({LINK: (2, 1.0, "", "")}, {}), ({"r": target}, {"r": after}), states, Withdrawn((), (), ()))
    assert (LINK in links) == stays


def test_what_holds_was_replaced_by_nothing():
    ends = ("s", "r", "supersedes")
    states = {"r": state(), "s": replace(state(), id="s")}
    assert join_links(({ends: (2, 1.0, "", "")}, {}), (states, states), states, Withdrawn((), (), ())) == {}


@pytest.mark.parametrize("undone", [False, True])
def test_a_link_that_an_undone_consolidation_gave_goes(undone):
    states = {name: replace(state(), id=name) for name in ("r", "s")}
    ends, value = ("s", "r", "extends"), (2, 1.0, "", "con")
    gone = Withdrawn({"con"} if undone else (), (), ())
    found = {} if undone else {ends: value}
    assert join_links(({ends: value}, {}), (states, states), states, gone) == found
