"""What stands beside the evidence: laws that hold for any hits, any budget and any counter."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.recall.context.packing import Background, Frame, annotate, pack
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
    episodes = {
        id_: Episode(
            id=id_, title=draw(TEXTS), content=draw(TEXTS), message_ids=("m",), started_at=draw(MOMENTS),
            ended_at=DAY, created_at=DAY,
        )
        for id_ in EPISODES
    }  # fmt: skip
    memories = {
        id_: memory_record(
            draw(TEXTS), id=id_, valid_at=draw(st.none() | MOMENTS), invalid_at=draw(st.none() | MOMENTS)
        )
        for id_ in draw(st.sets(st.sampled_from(MEMORIES)))
    }
    replaced = {id_: [memory_record(draw(TEXTS), id="old")] for id_ in memories if draw(st.booleans())}
    return hits, Background(episodes, memories, replaced)


def told(hits, background=None, *, budget=4_000, count=len, evidence=None):
    """The evidence alone, and with what stands beside it."""
    frame = Frame(budget, count, FENCE, evidence)
    packed = pack(hits, frame)
    return packed.context.text, annotate(packed.lines, background or Background(), frame)


@RUN
@given(cases(), st.integers(1, 900), st.sampled_from(sorted(COUNTERS)))
def test_what_stands_beside_the_evidence_keeps_the_budget_and_takes_none_of_it_away(case, budget, counter):
    text, prompt = told(*case, budget=budget, count=COUNTERS[counter])
    assert all(not one or COUNTERS[counter](one) <= budget for one in (text, prompt))
    rest = prompt
    for line in sorted(text.split("\n"), key=len, reverse=True) if prompt else ():
        assert line in rest
        rest = rest.replace(line, "", 1)
    assert not prompt or len(prompt) > len(text)
    hits, known = case
    again = Background(dict(reversed(known.episodes.items())), dict(reversed(known.memories.items())), known.replaced)
    assert told(list(hits), again, budget=budget, count=COUNTERS[counter]) == (text, prompt), (
        "the same hits, the same text"
    )


@RUN
@given(cases())
def test_what_stands_beside_the_evidence_leaves_its_order_and_the_fence(case):
    text, prompt = told(*case)
    at = 0
    for line in text.split("\n") if prompt else ():
        at = prompt.find(line, at) + len(line)
        assert at >= len(line), line
    nothing_ends_the_fence(told(*case, budget=20_000)[1])


def nothing_ends_the_fence(text):
    if not text:
        return
    lines = text.split("\n")
    assert (lines[0], lines[-1]) == (f"<memory {FENCE}>", f"</memory {FENCE}>")
    inside = "\n".join(lines[1:-1])
    assert FENCE not in inside
    assert not re.search(r"<\s*/?\s*memory|<\|", inside, re.IGNORECASE)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e]", inside)


SAID = st.lists(
    st.lists(st.sampled_from("the garden 'in Lisbon' needs water, policy HX-22918".split()), min_size=1, max_size=25).map(" ".join),
    min_size=1, max_size=4,
)  # fmt: skip


@RUN
@given(SAID, st.integers(0, 3), st.sampled_from(["", ".", "?"]), st.booleans())
def test_an_episode_adds_nothing_that_its_messages_say(texts, titled, end, opened):
    """Of an excerpt in verbatim sentences, with or without full stops, however many and long they are."""
    hits = [
        replace(
            MOVED,
            id=f"m{n}",
            text=f"Hello. {text}{end}" if opened else f"{text}{end}",
            sent_at=DAY + timedelta(minutes=n),
        )
        for n, text in enumerate(texts)
    ]
    said = "\n".join(f"Ana: {text}{end}" for text in texts)
    episode = replace(EPISODE, title=texts[titled % len(texts)], content=said)
    assert lines(hits, episodes=[episode]) == lines(hits, episodes=[])


MOVED = Hit(id="m1", kind="message", text="I moved to Lisbon in March, at last.", score=1.0, speaker="Ana", sent_at=DAY,
            episode="e1")  # fmt: skip
EPISODE = Episode(
    id="e1", title="A new home in the south", content="Ana told that she moved. Bo was glad.", message_ids=("m1",),
    started_at=DAY, ended_at=DAY, created_at=DAY,
)  # fmt: skip
LATER = DAY + timedelta(days=90)
PORTO = memory_record("Ana lives in Porto.", id="r2", valid_at=LATER)
LISBON = memory_record("Ana lives in Lisbon.", id="r1", valid_at=DAY, invalid_at=LATER)


def lines(hits, facts=(), replaced=None, episodes=(EPISODE,), budget=2_000):
    known = Background({e.id: e for e in episodes}, {fact.id: fact for fact in facts}, replaced or {})
    text, prompt = told(hits, known, budget=budget)
    return (prompt or text).split("\n")[2:-1]


def test_title_story_and_words_under_each_other():
    assert lines([MOVED]) == [
        "Wednesday 8 May 2024:",
        "A new home in the south:",
        "  Ana told that she moved.",
        "- Ana: I moved to Lisbon in March, at last.",
    ]


def test_what_belongs_to_no_episode_stands_in_its_place_below_a_blank_line():
    hello = replace(MOVED, id="m0", text="Hello.", episode=None, sent_at=DAY + timedelta(hours=1))
    before = replace(MOVED, id="m2", text="Good night.", episode=None, sent_at=DAY - timedelta(days=1))
    assert lines([MOVED, hello, before]) == [
        "Tuesday 7 May 2024:",
        "- Ana: Good night.",
        *lines([MOVED]),
        "",
        "- Ana: Hello.",
    ]


def test_an_episode_of_two_days_keeps_both():
    late = replace(MOVED, id="m2", text="It rains.", sent_at=DAY + timedelta(days=1))
    assert [line for line in lines([MOVED, late]) if line.endswith(":")] == [
        "Wednesday 8 May 2024:", "A new home in the south:", "Thursday 9 May 2024:", "A new home in the south:",
    ]  # fmt: skip


def test_a_title_or_story_that_the_lines_say_is_not_said_again():
    said = replace(EPISODE, title="moved to lisbon", content="I moved to Lisbon in March, at last. Bo was glad.")
    assert lines([MOVED], episodes=[said]) == lines([MOVED], episodes=[])


def test_a_story_that_begins_as_its_title_is_not_told():
    words = "Ana looks for a flat with a view of the river and of the hills"
    said = replace(EPISODE, title=f"{words[:40]}\u2026", content=f"user: {words}, at last.")
    assert [line for line in lines([MOVED], episodes=[said]) if "Ana looks" in line] == [f"{words[:40]}\u2026:"]
    other = replace(EPISODE, title="A new home", content=f"user: {words}.")
    assert f"  {words}." in lines([MOVED], episodes=[other])


def test_what_a_line_says_with_an_address_or_a_reference_within_is_not_said_again():
    plan = replace(
        MOVED, text="The plan of the flat [image: https://example.org/a.jpg] is at https://example.org/plan, **final**."
    )
    said = replace(EPISODE, title="The plan of the flat is at", content="Ana: The plan of the flat is at, final.")
    assert lines([plan], episodes=[said]) == lines([plan], episodes=[])


def test_without_its_title_a_story_would_stand_under_another_line():
    assert lines([MOVED], episodes=[replace(EPISODE, title="moved to lisbon")]) == lines([MOVED], episodes=[])
    long = replace(EPISODE, title="A new home in the south with a view of the sea", content="She moved.")
    for budget in range(100, 400):
        said = lines([MOVED], episodes=[long], budget=budget)
        assert "  She moved." not in said or f"{long.title}:" in said


def test_of_what_is_not_trusted_there_is_neither_title_nor_story():
    assert lines([MOVED], episodes=[replace(EPISODE, trust=0.3)]) == lines([MOVED], episodes=[])


def test_what_took_the_place_of_a_message_is_said_beside_it():
    said = lines([replace(MOVED, superseded_by=("r2",))], [PORTO])[-1]
    assert "no longer current" in said
    assert "now, since 6 August 2024: Ana lives in Porto." in said


def test_what_took_its_place_is_not_said_twice():
    now = replace(MOVED, id="r2", kind="memory", text=PORTO.content, sent_at=LATER, episode=None)
    said = lines([replace(MOVED, superseded_by=("r2",)), now], [PORTO])
    assert "\n".join(said).count("Ana lives in Porto.") == 1


def test_a_memory_says_what_it_replaced_since_when_and_until_when_it_held():
    found = Hit(id="r2", kind="memory", text=PORTO.content, score=1.0, sent_at=DAY)
    assert lines([found], [PORTO], {"r2": [LISBON]}) == [
        "Wednesday 8 May 2024:", "- Ana lives in Porto. (6 August 2024) (before: Ana lives in Lisbon.)",
    ]  # fmt: skip
    (line,) = lines([replace(found, id="r1", text=LISBON.content)], [LISBON])[1:]
    assert line == "- Ana lives in Lisbon. (until 6 August 2024)"


def test_what_there_is_no_room_for_goes_in_the_order_of_worth():
    hit = replace(MOVED, superseded_by=("r2",))
    shown = ["- Ana: I moved", "(now, since", "A new home", "Ana told that"]
    found = ["\n".join(lines([hit], [PORTO], budget=budget)) for budget in range(100, 400)]
    assert [[part in text for part in shown] for text in found] == sorted(
        [part in text for part in shown] for text in found
    )
    assert [part in found[-1] for part in shown] == [True] * 4
    assert any("- Ana: I moved" in text and "(now" not in text for text in found)


def test_nothing_to_add_is_nothing():
    assert told([MOVED])[1] == ""
    assert told([], Background({"e1": EPISODE})) == ("", "")


def test_of_what_cannot_fit_only_the_beginning_is_looked_at():
    looked_at = 0

    def count(text):
        nonlocal looked_at
        looked_at += len(text)
        return approximate_tokens(text)

    text = "The garden in Lisbon needs water. " * 29_000
    story = replace(EPISODE, id="e", title=text, content=text)
    short = Hit(
        id="short", kind="message", text="Ana moved to Porto.", score=0.5, episode="e", superseded_by=("long", "r")
    )
    known = Background({"e": story}, {"long": memory_record(text), "r": memory_record("Ana moved to Lisbon.")}, {})
    _, prompt = told([short], known, budget=200, count=count)
    assert looked_at < 100_000
    assert "Ana moved to Porto." in prompt
    assert "Ana moved to Lisbon." in prompt
    assert "  The garden in Lisbon needs water.\n" in prompt
