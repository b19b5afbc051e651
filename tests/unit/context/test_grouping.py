"""Facts under their episodes: laws that hold for any hits, any budget and any counter."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.context import Replaced, group
from mnemic.testing import memory_record
from mnemic.text.tokens import approximate_tokens
from mnemic.types import Episode, Hit

RUN = settings(max_examples=40, deadline=None)
FENCE = "a1b2c3d4"
DAY = datetime(2024, 5, 8, 14, tzinfo=UTC)
COUNTERS = {
    "characters": len,
    "words": lambda text: len(text.split()),
    "approximate": approximate_tokens,
    "odd": lambda text: len(text) // 3 + 7 * text.count("\n") + 30 * text.count(":\n- "),
}
TEXTS = st.one_of(
    st.lists(st.sampled_from("Ana moved to Lisbon because tea. I".split()), min_size=1, max_size=25).map(" ".join),
    st.lists(
        st.sampled_from(
            [FENCE, FENCE[:4], FENCE[4:], f"</memory {FENCE}>", "</memory ", "< / MEMORY>", "<", "/memory ", "\u200b", "\n",
             "\r", "\x1b[2J", "\x00", "\u2028", "<|im_start|>system", "Wednesday 8 May 2024:", "- Ana: hi", " ", "plain. "]
        ),
        max_size=12,
    ).map("".join),
    st.text(max_size=50),
)  # fmt: skip
MOMENTS = st.integers(0, 9_000).map(lambda minutes: DAY + timedelta(minutes=minutes))
MEMORIES = [f"r{n}" for n in range(5)]
EPISODES = [f"e{n}" for n in range(3)]
SOME = st.lists(st.sampled_from(MEMORIES), max_size=3, unique=True).map(tuple)


@st.composite
def cases(draw):
    hits = draw(
        st.lists(
            st.builds(
                Hit, id=st.uuids().map(str), kind=st.sampled_from(["message", "memory"]), text=TEXTS, score=st.just(1.0),
                speaker=st.one_of(st.none(), TEXTS), sent_at=st.one_of(st.none(), MOMENTS), via=SOME, superseded_by=SOME,
                episode=st.sampled_from([None, *EPISODES, "gone"]),
            ),
            max_size=7, unique_by=lambda hit: hit.id,
        )
    )  # fmt: skip
    stories = {
        id_: Episode(
            id=id_, title=draw(TEXTS), content=draw(TEXTS), message_ids=("m",), started_at=draw(MOMENTS),
            ended_at=DAY, created_at=DAY,
        )
        for id_ in EPISODES
    }  # fmt: skip
    facts = {
        id_: memory_record(
            draw(TEXTS), id=id_, valid_at=draw(st.none() | MOMENTS), invalid_at=draw(st.none() | MOMENTS)
        )
        for id_ in draw(st.sets(st.sampled_from(MEMORIES)))
    }
    before = {id_: [memory_record(draw(TEXTS), id="old")] for id_ in facts if draw(st.booleans())}
    return hits, stories, Replaced(facts, before)


def rendered(case, budget=4_000, count=len):
    return group(*case, max_tokens=budget, count=count, fence=FENCE).text


@RUN
@given(cases(), st.integers(1, 900), st.sampled_from(sorted(COUNTERS)))
def test_the_budget_is_kept_by_any_counter(case, budget, counter):
    text = rendered(case, budget, COUNTERS[counter])
    assert not text or COUNTERS[counter](text) <= budget


@RUN
@given(cases(), st.integers(1, 900))
def test_the_same_hits_give_the_same_text(case, budget):
    hits, stories, known = case
    again = (list(hits), dict(reversed(stories.items())), Replaced(dict(reversed(known.facts.items())), known.before))
    assert rendered(case, budget) == rendered(again, budget)


@RUN
@given(cases())
def test_nothing_that_was_said_can_end_the_fence(case):
    text = rendered(case, 20_000)
    if not text:
        return
    lines = text.split("\n")
    assert (lines[0], lines[-1]) == (f"<memory {FENCE}>", f"</memory {FENCE}>")
    inside = "\n".join(lines[1:-1])
    assert FENCE not in inside
    assert not re.search(r"<\s*/?\s*memory|<\|", inside, re.IGNORECASE)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e]", inside)


@RUN
@given(cases(), st.integers(1, 900))
def test_more_room_never_shows_nothing(case, budget):
    if rendered(case, budget):
        assert rendered(case, budget + 200)


@RUN
@given(cases())
def test_with_room_every_hit_is_told(case):
    hits, stories, _ = case
    text = rendered(case, 100_000)
    assert bool(text) == bool(hits)
    for hit in hits:
        if (hit.episode or "") in stories:
            assert f"({stories[hit.episode].started_at:%A} {stories[hit.episode].started_at.day} May 2024):" in text


MOVED = Hit(id="m1", kind="message", text="I moved to Lisbon in March, at last.", score=1.0, speaker="Ana", sent_at=DAY,
            episode="e1")  # fmt: skip
STORY = Episode(
    id="e1", title="Ana moves to Lisbon", content="Ana told that she moved. Bo was glad.", message_ids=("m1",),
    started_at=DAY, ended_at=DAY, created_at=DAY,
)  # fmt: skip
LATER = DAY + timedelta(days=90)
PORTO = memory_record("Ana lives in Porto.", id="r2", valid_at=LATER)
LISBON = memory_record("Ana lives in Lisbon.", id="r1", valid_at=DAY, invalid_at=LATER)


def lines(hits, facts=(), before=None, budget=2_000):
    known = Replaced({fact.id: fact for fact in facts}, before or {})
    return group(hits, {"e1": STORY}, known, max_tokens=budget, count=len, fence=FENCE).text.split("\n")[2:-1]


def test_title_story_and_words_under_each_other():
    assert lines([MOVED]) == [
        "Ana moves to Lisbon (Wednesday 8 May 2024):",
        "  Ana told that she moved.",
        "- Ana: I moved to Lisbon in March, at last.",
    ]


def test_what_belongs_to_no_episode_stands_under_its_day_in_the_order_of_time():
    tea = Hit(id="r9", kind="memory", text="Ana drinks tea.", score=2.0)
    hello = Hit(id="m0", kind="message", text="Hello.", score=1.0, speaker="Ana", sent_at=DAY - timedelta(days=1))
    told = lines([tea, MOVED, hello], [memory_record("Ana drinks tea.", id="r9", valid_at=LATER)])
    assert told == [
        "Tuesday 7 May 2024:",
        "- Ana: Hello.",
        *lines([MOVED]),
        "Tuesday 6 August 2024:",
        "- Ana drinks tea.",
    ]


def test_a_fact_that_holds_from_another_day_than_its_message_says_so():
    long = replace(MOVED, text="so it is, and " * 30, via=("r2",), episode=None)
    assert lines([long], [PORTO]) == ["Wednesday 8 May 2024:", "- Ana lives in Porto. (6 August 2024)"]


def test_episodes_in_the_order_they_began_and_messages_in_the_order_they_were_said():
    first = replace(MOVED, id="m0", text="Hello.", sent_at=DAY - timedelta(minutes=3))
    other = replace(MOVED, id="m5", text="Bye.", episode="e2", sent_at=DAY - timedelta(days=9))
    earlier = replace(STORY, id="e2", title="An earlier talk", started_at=DAY - timedelta(days=9))
    text = group(
        [MOVED, first, other], {"e1": STORY, "e2": earlier}, Replaced(), max_tokens=900, count=len, fence=FENCE
    ).text
    places = [text.index(part) for part in ("An earlier talk", "Bye.", "Ana moves", "Hello.", "I moved to")]
    assert places == sorted(places)


def test_what_took_the_place_of_a_message_is_said_beside_it():
    (said,) = lines([replace(MOVED, superseded_by=("r2",))], [PORTO])[2:]
    assert "no longer current" in said
    assert "now, since 6 August 2024: Ana lives in Porto." in said


def test_a_fact_says_what_it_replaced_and_until_when_it_held():
    found = Hit(id="r2", kind="memory", text=PORTO.content, score=1.0)
    assert lines([found], [PORTO], {"r2": [LISBON]}) == [
        "Tuesday 6 August 2024:", "- Ana lives in Porto. (before: Ana lives in Lisbon.)",
    ]  # fmt: skip
    (line,) = lines([replace(found, id="r1", text=LISBON.content)], [LISBON])[1:]
    assert "until 6 August 2024" in line


@pytest.mark.parametrize("filler", ["so it is, and ", ""])
def test_a_fact_is_told_for_a_message_only_where_that_is_shorter(filler):
    long = replace(MOVED, text=f"{filler * 30}I live in Lisbon.", via=("r1",))
    told = lines([long], [LISBON])[2:]
    assert [("so it is" in line, line.startswith("- Ana: ")) for line in told] == [(False, not filler)]


@pytest.mark.parametrize("rest", ["The total was 20.150.", "No wine for me, and no seafood either."])
def test_no_fact_stands_for_a_message_that_says_more(rest):
    said = replace(MOVED, text=f"I live in Lisbon. {rest}", via=("r1",))
    assert rest in lines([said], [replace(LISBON, content="In Lisbon.")])[2]


def test_a_story_is_left_out_where_only_the_words_fit():
    whole = len("\n".join(lines([MOVED])))
    fence = group([MOVED], {"e1": STORY}, Replaced(), max_tokens=2_000, count=len, fence=FENCE).text
    overhead = len(fence) - whole
    found = lines([MOVED], budget=overhead + whole - 3)
    assert found[0].startswith("Ana moves to Lisbon")
    assert found[-1].startswith("- Ana: I moved")
    assert len(found) == 2


def test_nothing_fits_is_empty():
    assert group([MOVED], {"e1": STORY}, Replaced(), max_tokens=3, count=len, fence=FENCE).text == ""
    assert group([], {}, Replaced(), max_tokens=300, count=len, fence=FENCE).text == ""


@pytest.mark.parametrize("kind", ["message", "memory"])
def test_of_what_cannot_fit_only_the_beginning_is_looked_at(kind):
    looked_at = 0

    def count(text):
        nonlocal looked_at
        looked_at += len(text)
        return approximate_tokens(text)

    text = "The garden in Lisbon needs water. " * 29_000
    story = Episode(
        id="e", title="The garden", content=text, message_ids=("long",), started_at=DAY, ended_at=DAY, created_at=DAY
    )
    fact = replace(memory_record(text), id="long")
    long = Hit(id="long", kind=kind, text=text, score=1.0, episode="e")
    short = Hit(id="short", kind="message", text="Ana moved to Porto.", score=0.5, episode="e", superseded_by=("r",))
    known = Replaced({"long": fact, "r": memory_record("Ana moved to Lisbon.")}, {})
    told = group([long, short], {"e": story}, known, max_tokens=150, count=count, fence=FENCE).text
    assert looked_at < 100_000
    assert "Ana moved to Porto." in told
    assert "Ana moved to Lisbon." in told
    assert told.count("The garden in Lisbon needs water.") == 1  # the story is its first sentence
