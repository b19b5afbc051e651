"""Questions about a day, asked of a journal: the day comes first and stands in the context."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory

DAYS = 100
BEGUN = datetime(2025, 6, 4, 21, tzinfo=UTC)
NOW = BEGUN + timedelta(days=DAYS)
ENTRIES = (
    "I worried about Ella's school.", "We planted tomatoes on the balcony.", "My back hurt after the long drive.",
    "I could not sleep and read until three.", "We ate at the new Thai place on the corner.", "I ran along the river.",
    "I don't know what to say about Ben, what happened is a mess.",
)  # fmt: skip
REPLY = "Thank you for sharing this, entry {}. It sounds as if the day asked a lot of you. Be kind to yourself tonight."
RUN = settings(max_examples=10, deadline=None)


def journal(texts, reply=None):
    memory = Memory(":memory:", user="ana")
    for day in range(DAYS):
        at = BEGUN + timedelta(days=day)
        said = [{"role": "user", "content": texts[day % len(texts)], "sent_at": at, "id": f"entry-{day}"}]
        if reply is not None:
            answer = {"role": "assistant", "content": reply.format(day), "sent_at": at + timedelta(minutes=1)}
            said.append(answer)
        memory.add(said, session=f"day-{day}")
    return memory


@pytest.fixture(scope="module", params=["with an assistant", "alone", "one text"])
def kept(request):
    texts = ENTRIES[:1] if request.param == "one text" else ENTRIES
    with journal(texts, None if request.param == "alone" else REPLY) as memory:
        yield memory


def ago(days):
    """Ways to name the day so many days ago."""
    moment = NOW - timedelta(days=days)
    named = [f"{days} days ago", f"on {moment.day} {moment:%B}", f"on {moment:%Y-%m-%d}"]
    named += {1: ["yesterday"], 2: ["the day before yesterday", "two days ago"], 5: ["five days ago"]}.get(days, [])
    return named + ([f"on {moment:%A}"] if days <= 7 else [])


WHEN = st.integers(1, DAYS).flatmap(lambda days: st.tuples(st.just(days), st.sampled_from(ago(days))))
ASKS = st.sampled_from(
    ["What did I say {}?", "What happened {}?", "What did I write {}?", "How was my day {}?", "What did I do {}?"]
)


@RUN
@given(WHEN, ASKS)
def test_the_day_that_is_asked_for_comes_first_and_reaches_the_context(kept, when, asks):
    days, words = when
    question, moment = asks.format(words), NOW - timedelta(days=days)
    found = kept.search(question, now=NOW)
    assert found[0].sent_at.date() == moment.date()
    assert found.evidence != "none"
    context = kept.get_memory_context(question, now=NOW, min_evidence="weak")
    assert f"entry-{DAYS - days}" in {hit.id for hit in context.hits}


@RUN
@given(st.integers(1, 60), st.integers(1, 12))
def test_all_days_of_a_period_come_before_any_other(kept, first, length):
    start, end = NOW - timedelta(days=first + length), NOW - timedelta(days=first)
    question = f"What happened between {start:%Y-%m-%d} and {end:%Y-%m-%d}?"
    days = [hit.sent_at.date() for hit in kept.search(question, k=60, now=NOW)]
    inside = [start.date() <= day <= end.date() for day in days]
    assert inside[0]
    assert inside == sorted(inside, reverse=True)


@pytest.mark.parametrize("assistant", [True, False])
def test_what_else_is_named_counts_as_well(assistant):
    texts = [f"I sorted box number {number} of the old letters." for number in range(DAYS)]
    texts[20], texts[60], texts[61] = "Tom says the roof leaks.", "Tom says the roof is done.", "I bought a red kettle."
    with journal(texts, REPLY if assistant else None) as memory:
        of_both = memory.search(f"What did Tom say about the roof on {BEGUN + timedelta(days=60):%Y-%m-%d}?", now=NOW)
        assert of_both[0].id == "entry-60"
        of_another = memory.search(f"Who mends the roof since {BEGUN + timedelta(days=70):%Y-%m-%d}?", now=NOW)
        assert {"entry-20", "entry-60"} <= {hit.id for hit in of_another}
        another_day = memory.search(f"Which kettle did I buy on {BEGUN + timedelta(days=60):%Y-%m-%d}?", now=NOW)
        assert "entry-61" in {hit.id for hit in another_day[:3]}


SUPPORT = (
    (15, 9, "user", "We lost the ticket about our printers."), (19, 11, "user", "The invoice for October is wrong."),
    (24, 11, "user", "Can you raise our API limit to 500 requests?"), (24, 11, "assistant", "Done, the limit is 500 now."),
    (25, 11, "user", "The customer portal shows a blank page in Firefox."), (25, 11, "user", "Our agent writes back on Friday."),
)  # fmt: skip
TUESDAY = st.sampled_from(
    ["on Tuesday", "on 24 November", "on 24.11.2026", "on 24/11/2026", "between 23 and 24 November"]
)
OF_ANY = st.sampled_from(
    ["Show me the messages {}", "List everything {}", "Which tickets came in {}?", "Summarise what happened {}"]
)
OF_A_ROLE = st.sampled_from(
    [(who, role) for role, names in (("user", ("customer", "user", "client")), ("assistant", ("agent", "assistant", "bot")))
     for who in names]
)  # fmt: skip


@pytest.fixture(scope="module", params=["one session", "a session a day"])
def desk(request):
    with Memory(":memory:", user="desk") as memory:
        for place, (day, month, role, text) in enumerate(SUPPORT):
            at = datetime(2026, month, day, 9, place, tzinfo=UTC)
            session = "all" if request.param == "one session" else f"{month}-{day}"
            memory.add([{"role": role, "content": text, "sent_at": at}], session=session)
        yield memory


@RUN
@given(OF_ANY, TUESDAY)
def test_words_for_records_do_not_outweigh_the_period(desk, asks, when):
    found = desk.search(asks.format(when), now=datetime(2026, 11, 28, 12, tzinfo=UTC))
    assert [hit.sent_at.day for hit in found[:2]] == [24, 24]


@RUN
@given(OF_A_ROLE, st.sampled_from(["write", "say", "answer", "want"]), TUESDAY)
def test_a_role_asks_for_its_turns_of_the_period(desk, who, verb, when):
    found = desk.search(f"What did the {who[0]} {verb} {when}?", now=datetime(2026, 11, 28, 12, tzinfo=UTC))
    assert (found[0].sent_at.day, found[0].role) == (24, who[1])


def test_what_needs_no_memory_finds_no_day(kept):
    assert kept.get_memory_context("What is the capital of France today?", now=NOW - timedelta(days=1)).text == ""
