from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mnemic import Memory, Message
from mnemic.embedders.readers import UPDATES
from mnemic.recall import order
from mnemic.recall.order import CERTAIN, WEIGHTS, FirstHits, features, latest_first, ordered, update_odds
from mnemic.recall.results import doubtful_last
from mnemic.text.terms import content_terms, query_terms
from mnemic.vectors import base_cosine, eased

MODEL = "all-MiniLM-L6-v2"


def said(question, *lines, alike=0.6, cosine=0.6, farther=0.02, people=-1, updates=(), earlier=()):
    """Hits in this order, each said after the one before it, or at these ranks in time; ``updates``: of each as the later one."""
    terms = query_terms(question)
    count = len(lines)
    return FirstHits(
        texts=lines,
        times=np.array(earlier or range(count)),
        cosines=np.array([cosine - n * farther for n in range(count)], np.float32),
        alike=np.full((count, count), alike, np.float32) + np.float32(1 - alike) * np.eye(count, dtype=np.float32),
        has_terms=np.array([[term in content_terms(line) for term in terms] for line in lines]),
        people=np.broadcast_to(people, count),
        updates=told(updates) if updates else update_odds(question, lines, MODEL),
    )


def told(updates):
    return lambda pairs: np.array([updates[new] for _, new in pairs], np.float32)


def asked(question, *lines, at_a_time=False, **given):
    return latest_first(question, said(question, *lines, **given), at_a_time=at_a_time)


def test_what_was_said_last_of_one_matter_is_first():
    lines = ("The alarm code is 4711.", "The alarm code is 9023 now.", "We changed the alarm code to 3358.")
    assert asked("What is the alarm code?", *lines, alike=0.8) == [2, 1, 0]


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        (
            "Which sport does Teo play?",
            "My son Teo has football on Wednesdays.",
            "Teo switched from football to basketball",
        ),
        ("Wo wohne ich?", "Ich wohne in Köln.", "Ich wohne in Bonn."),
        ("我住在哪里？", "我住在北京。", "我住在上海。"),
        ("What is our budget?", "Our budget is 900 euros.", "Our budget is 1200 euros."),
    ],
)
def test_a_later_value_comes_first(question, before, after):
    assert asked(question, before, after, alike=0.8) == [1, 0]


@pytest.mark.parametrize(
    ("question", "own", "other"),
    [
        ("Who is my dentist?", "My dentist is Dr. Haas.", "Ben's dentist is Dr. Silva."),
        ("Where do I work?", "I work at Otto.", "My brother works at Siemens."),
        ("Where do I live?", "I live in Hamburg.", "I might move to Lisbon some day."),
        ("Which editor do we use?", "We use Vim.", "Should we use Emacs?"),
    ],
)
def test_others_and_what_is_only_considered_stay_behind(question, own, other):
    assert asked(question, own, other, alike=0.3, cosine=0.4) == [0, 1]


def test_what_has_nothing_in_common_keeps_its_place():
    lines = ("What a lovely day!", "Thanks, that helps.", "Did you see the match?")
    assert asked("Who is my dentist?", *lines, alike=0.1, cosine=0.1) == [0, 1, 2]
    assert asked("Who is my dentist?", *lines[:1]) == [0]


def test_what_updates_nothing_stays_behind():
    question, lives = "Where does Ana live?", "Ana lives in Porto."
    assert asked(question, lives, "Ana keeps two cats.", alike=0.45) == [0, 1]
    assert asked(question, lives, "Ana moved to Braga.", alike=0.45) == [1, 0]


def test_a_message_without_a_name_makes_no_second_person():
    with Memory(":memory:", user="ana") as memory:
        memory.add("My dentist is Dr. Costa.", name="Ana", sent_at=datetime(2026, 2, 9, tzinfo=UTC))
        memory.add("My new dentist is Dr. Haas.", sent_at=datetime(2026, 5, 4, tzinfo=UTC))
        assert "Haas" in memory.search("Who is my dentist?", now=datetime(2026, 6, 1, tzinfo=UTC))[0].text


def test_the_order_stays_where_the_past_is_asked_for_unless_it_is_asked_as_of_then():
    lines = ("The parking space costs 90 euros.", "The parking space costs 70 euros.")
    question = "What was the price of parking last year?"
    assert asked(question, *lines, alike=0.5) == [0, 1]
    assert asked(question, *lines, alike=0.9, at_a_time=True) == [1, 0]


def test_people_who_talk_with_each_other_update_their_own_words_alone():
    question, *lines = "Who is my dentist?", "My dentist is Dr. Costa.", "I go to Dr. Haas now, my new dentist."
    assert asked(question, *lines) == [1, 0]
    assert asked(question, *lines, people=(1, 2)) == [0, 1]
    assert asked(question, *lines, people=(2, 2)) == [1, 0]


def test_a_long_text_is_read_where_it_answers(monkeypatch):
    read = []
    monkeypatch.setattr(UPDATES, "log_odds", lambda pairs, _: read.extend(pairs) or np.ones(1))
    talk = "Here is some code that I would like you to look at, it sorts the rows of a table by their dates. " * 10
    question = "What is the response time of the dashboard?"
    before, after = (f"{talk}The response time of the dashboard is {ms} ms. {talk}" for ms in (300, 250))
    pairs, values = features(said(question, before, after))
    assert pairs == [(0, 1)]
    assert set(values) == set(WEIGHTS)
    ((first, later),) = read
    assert first.startswith(question)
    assert "is 300 ms" in first
    assert "is 250 ms" in later
    assert max(len(first) - len(question) - 1, len(later)) <= order.SHORT


@given(st.text(alphabet="ab .?!\n", max_size=3_000), st.sets(st.sampled_from(["a", "b", "ab", "ba"])))
def test_what_is_read_of_a_text_is_short_and_of_the_text(text, terms):
    part = order.about(text, terms)
    assert len(part) <= order.SHORT
    assert (
        part == text if len(text) <= order.SHORT else set(part.split()) <= set(text.split()) or len(part) == order.SHORT
    )


def test_order_goes_from_one_to_the_next():
    assert ordered(3, [(0, 2), (2, 1)]) == [1, 2, 0]
    assert ordered(3, []) == [0, 1, 2]


def test_cosines_of_an_embedder_that_holds_all_texts_alike():
    plain = np.eye(8, 16, dtype=np.float32)
    squeezed = np.hstack([plain * np.sqrt(0.3), np.full((8, 1), np.sqrt(0.7))])
    assert base_cosine(plain) == pytest.approx(0.15)
    assert base_cosine(squeezed) == pytest.approx(0.7, abs=0.01)
    assert base_cosine(plain[:3]) == base_cosine(np.zeros((9, 4))) == pytest.approx(0.15)
    found = eased(np.array([1.0, 0.7, 0.85]), 0.7)
    assert found == pytest.approx([1.0, 0.15, 0.575])
    assert eased(np.array([0.4]), 0.1) == pytest.approx([0.4])


CHANGES = (
    ("My birthday is on 4 May.", "Correction: my birthday is on 5 May.", "When is my birthday?"),
    ("I love sushi.", "I hate sushi.", "Do I like sushi?"),
    ("My boss is called Petra.", "My boss is called Ines now.", "What is my boss called?"),
)


@pytest.mark.parametrize("between", [(), ("Noted, thanks.",)], ids=["alone", "answered"])
@pytest.mark.parametrize(("old", "new", "question"), CHANGES)
def test_processing_changes_no_order_in_a_small_record(old, new, question, between):
    with Memory(":memory:", user="ana") as memory:
        for day, text in enumerate((old, new), start=1):
            memory.add(text, name="Ana", sent_at=datetime(2026, 9, day, tzinfo=UTC), session=f"s{day}")
            memory.add(
                [
                    Message(
                        role="assistant", content=line, sent_at=datetime(2026, 9, day, 1, tzinfo=UTC), session=f"s{day}"
                    )
                    for line in between
                ]
            )
        before = [hit.text for hit in memory.search(question)]
        assert before[0] == new
        memory.process()
        assert [hit.text for hit in memory.search(question)] == before


class TestUpdates:
    """Whether a text corrects, ends or changes what was said before."""

    def test_it_moves_what_is_otherwise_an_addition(self):
        lines = ("The alarm code is 4711.", "Ask Ben for the alarm code.")
        for updates, places in (((-4, -4), [0, 1]), ((-4, 4), [1, 0]), ((4, -4), [0, 1])):
            assert asked("What is the alarm code?", *lines, alike=0.3, updates=updates) == places

    def test_what_was_remembered_is_read_too(self, monkeypatch):
        read = []
        monkeypatch.setattr(UPDATES, "log_odds", lambda pairs, _: read.extend(pairs) or np.zeros(len(pairs)))
        with Memory(":memory:", user="ana") as memory:
            memory.remember("The alarm code of the office is 17.")
            memory.remember("The alarm code of the office is 18.")
            memory.search("What is the alarm code of the office?")
        question = "What is the alarm code of the office?"
        assert read == [(f"{question} The alarm code of the office is 17.", "The alarm code of the office is 18.")]

    def test_no_pair_is_read_that_cannot_change_places(self):
        hits = said("What is the alarm code?", *"abcdefgh", alike=-0.5, farther=0.1)
        read = []
        asked_of = replace(hits, updates=lambda pairs: read.extend(pairs) or np.zeros(len(pairs), np.float32))
        assert latest_first("What is the alarm code?", asked_of) == [*range(8)]
        assert (0, 1) in read
        assert (0, 7) not in read


class TestDistantUpdates:
    """A later statement that updates the first hit and shares nothing with the question."""

    TALK = (
        "I work at the library.", "I teach the piano at the school.", "I train with Ben at the gym.",
        "I help out at the food bank.", "I signed up to help at the school fair.", "I sing in a choir at the church.",
        "I work for a small publisher.", "I coach a youth team.", "I study in the evenings.", "I donate blood at the clinic.",
        "I help my neighbour with her garden.", "I give lessons at the community centre.",
    )  # fmt: skip
    OLD, NEW = "I volunteer at the animal shelter.", "I don't do the shelter any more since they changed the shifts."
    QUESTION = "Where do I volunteer?"

    def first(self, *messages, question=QUESTION, **filters):
        with Memory(":memory:", user="ana") as memory:
            memory.add(messages)
            return [hit.text for hit in memory.search(question, k=20, **filters)]

    def said(self, *lines, role="user", name="Ana"):
        return [
            Message(
                role=role, name=name, content=line, sent_at=datetime(2026, 1, 1 + n, tzinfo=UTC), session=f"day {n}"
            )
            for n, line in enumerate(lines)
        ]

    def test_it_comes_before_the_hit(self):
        hits = self.first(*self.said(self.OLD, *self.TALK, self.NEW))
        assert hits[:2] == [self.NEW, self.OLD]

    def test_it_is_as_relevant_as_the_hit_so_that_a_context_shows_both(self):
        with Memory(":memory:", user="ana") as memory:
            memory.add(self.said(self.OLD, *self.TALK, self.NEW))
            text = memory.get_memory_context(self.QUESTION, max_tokens=300).text
        assert self.OLD in text
        assert self.NEW in text

    def test_what_may_not_be_found_does_not_come(self):
        messages = self.said(self.OLD, *self.TALK, self.NEW)
        assert self.NEW not in self.first(*messages, until=messages[-1].sent_at)

    def test_an_earlier_statement_updates_nothing(self):
        assert self.first(*self.said(self.NEW, *self.TALK, self.OLD))[0] == self.OLD

    def test_what_is_not_near_updates_nothing_though_nothing_is_nearer(self):
        lines = ("The booking app listens on port 8080.", *self.TALK[:7], "Pixel is well again, I am so relieved!")
        hits = self.first(*self.said(*lines), question="Which port does the booking app listen on?")
        assert hits[0] == lines[0]

    def test_a_question_about_the_past_keeps_its_order(self):
        question = "Where did I volunteer before?"
        assert self.first(*self.said(self.OLD, *self.TALK, self.NEW), question=question)[0] == self.OLD

    def test_what_somebody_else_says_updates_nothing(self):
        lines = self.said(self.OLD, *self.TALK, self.NEW)
        other = Message(role="tool", name="calendar", content=self.NEW, sent_at=datetime(2026, 2, 1, tzinfo=UTC))
        assert self.first(*lines[:-1], other)[0] == self.OLD

    def test_it_is_not_looked_for_with_an_embedder_that_was_not_fitted(self, monkeypatch):
        monkeypatch.setattr(order, "_updates_among", lambda *_: pytest.fail("looked for"))
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.add(self.said(self.OLD, *self.TALK, self.NEW))
            assert memory.search(self.QUESTION)


NUMBERS = st.integers(1, 99).map(str)
WEEKDAYS = st.sampled_from(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"])
ROOMS = st.sampled_from(["garage", "cellar", "office", "bike shed", "mailbox"])
DEPARTMENTS = st.sampled_from(["sales", "design", "budget", "safety"])
OTHERS = [
    ("Seat {}B is taken by Jonas.", "Who sits in {}B?", NUMBERS),
    ("On {} Leo has swimming.", "What does Leo have on {}?", WEEKDAYS),
    ("The {} PIN is known to Jonas.", "Who knows the {} PIN?", ROOMS),
    ("The key for the {} is with Jonas.", "Who has the {} key?", ROOMS),
    ("The {} meeting is at noon.", "When is our {} meeting?", DEPARTMENTS),
]


@given(st.sampled_from(OTHERS), st.data())
def test_another_thing_than_the_question_names_supersedes_nothing(form, data):
    text, question, names = form
    asked_for, other = data.draw(st.lists(names, min_size=2, max_size=2, unique=True))
    lines = (text.format(asked_for), text.format(other))
    assert asked(question.format(asked_for), *lines, alike=0.9, updates=(0, 9)) == [0, 1]
    moved = f"{text.format(asked_for)} Not any more."
    assert asked(question.format(asked_for), lines[0], moved, alike=0.9, updates=(0, 9)) == [1, 0]


@pytest.mark.parametrize(
    "new", ["The new PIN is known to Ben.", "The PIN was given to Ben.", "Ben has been told the PIN."]
)
def test_the_same_thing_without_its_qualifier_may_supersede(new):
    question, old = "Who knows the garage PIN?", "The garage PIN is known to Jonas."
    assert asked(question, old, new, alike=0.9, updates=(0, 9)) == [1, 0]


LINES = [
    "I drive a Fiat.",
    "I sold the Fiat.",
    "Ben drives a Skoda.",
    "If I could, I would drive a Tesla 3.",
    "The car has 4 doors.",
    "We walk.",
]


@given(
    st.permutations(LINES),
    st.floats(0, 1),
    st.floats(0.1, 1),
    st.lists(st.floats(-2 * CERTAIN, 2 * CERTAIN), min_size=6, max_size=6),
)
def test_pairs_that_are_not_read_would_not_change_places(lines, alike, cosine, updates):
    weights = order.WEIGHTS
    hits = said("What car do I drive?", *lines, alike=alike, cosine=cosine, updates=updates)
    pairs, values = features(hits)
    sums = sum(weights[name] * value.astype(float) for name, value in values.items())
    assume(np.abs(sums).min() > 1e-4)
    moved = {pair for pair, total in zip(pairs, sums, strict=True) if total > 0}
    assert {*order._superseding(hits, pairs)} == moved


class TestWhatOutlasts:
    """An earlier statement goes before a later one that leaves it as it was, though that is nearer to the question."""

    QUESTION, OLD, NEW = "What car do I drive?", "I drive an old Saab.", "If I won the lottery, I would drive a Tesla."

    def order(self, question=QUESTION, *, update=-3.0, **given):
        return asked(question, self.NEW, self.OLD, updates=(update, 0), earlier=(1, 0), **given)

    def test_it_comes_first(self):
        assert self.order() == [1, 0]

    @pytest.mark.parametrize(
        "given", [{"update": -0.5}, {"alike": 0.3}, {"cosine": 0.9, "farther": 0.2}, {"people": (1, 2)}]
    )
    def test_the_later_one_stays_where_it_may_update_or_is_of_something_else(self, given):
        assert self.order(**given) == [0, 1]

    def test_the_later_one_stays_where_the_question_names_what_only_it_has(self):
        assert self.order("What car would I drive after the lottery?") == [0, 1]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=30))
def test_what_is_hardly_evidence_comes_after_what_is_more_relevant(pool):
    doubtful, relevance = np.array([one for one, _ in pool]), np.array([one for _, one in pool], np.float32)
    found = doubtful_last(np.arange(len(pool)), doubtful, relevance)
    assert sorted(found.tolist()) == list(range(len(pool)))
    assert found[~doubtful[found]].tolist() == np.flatnonzero(~doubtful).tolist()
    for place, row in enumerate(found):
        assert not doubtful[row] or not (~doubtful[found[place:]] & (relevance[found[place:]] > relevance[row])).any()


EARLIER = (
    "What was my phone number before?",
    "Who was my previous boss?",
    "my former landlord?",
    "Where did I use to live?",
)


@pytest.mark.parametrize("question", EARLIER)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_earlier_value_comes_first_where_it_is_asked_for(question, place):
    lines = ["The first.", "The second.", "The third."]
    times = [0, 1, 2]
    order = asked(question, *lines, earlier=times, updates=[-5.0, *(3.0 if n == place else -3.0 for n in (1, 2))])
    assert order == [0, 1, 2]  # each stands ahead of what updates it
    assert asked(question, *lines[::-1], earlier=times[::-1], updates=[-5.0, 3.0, 3.0][::-1]) == [2, 1, 0]


@pytest.mark.parametrize(
    "question", ["Who was my dentist again?", "What was my new address again", "Who is my dentist now?"]
)
def test_what_has_slipped_the_mind_is_not_of_the_past(question):
    assert not order.asks_for_earlier(question)
    assert not order.asks_of_the_past(question, at_a_time=False)


@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=8))
def test_only_the_one_that_is_ahead_of_the_others_has_a_positive_lead(odds):
    features = order.distant_features(np.sort(np.array(odds, np.float32))[::-1], np.array(odds, np.float32))
    ahead = features[:, [*order.DISTANT].index("ahead")]
    assert np.count_nonzero(ahead > 0) <= 1
    assert (ahead > 0).any() == (max(odds) > order.ALONE and odds.count(max(odds)) == 1)
