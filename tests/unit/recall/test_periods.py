"""How candidates answer by the time that they are of."""

from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from mnemic import Memory, Message
from mnemic.indexes.catalog import KINDS
from mnemic.recall.periods import AskedPeriods, period_answers

DAYS = np.array([100, 103, 99, 99, 99])
MENTIONED = [[], [], [(101, 101)], [(99, 101)], []]
SPOKEN = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]], np.bool_)
IDF = np.array([0.4, 0.6, 1.0], np.float32)
ELSEWHERE = np.array([0.4, 0.0, 0.0, 0.4, 0.6], np.float32)
"""The idf of what the query names in each record: most of it in the last, which is of another time."""


class _Columns(SimpleNamespace):
    def __len__(self):
        return len(self.day)


def answers(named=ELSEWHERE, asked=((100, 103),), particular=(True, True, False), roles=(), of_words=False):
    columns = _Columns(
        doc=np.arange(5), day=DAYS, kind=np.full(5, KINDS["message"]), periods_of=MENTIONED.__getitem__,
        has_role=lambda of: np.array([True, False, True, True, True]) if of else np.zeros(5, np.bool_),
    )  # fmt: skip
    of = AskedPeriods(asked, asked, np.array(particular), frozenset(roles), np.zeros(3, np.bool_), of_words)
    return period_answers(SimpleNamespace(columns=columns), of, np.arange(5), SPOKEN, named, IDF)


def test_what_is_of_the_period_or_tells_of_a_time_in_it_is_within():
    found = answers()
    kept = 1 - 0.2 * 0.6  # a record of another time has more of what the query names
    np.testing.assert_allclose(found.within, [kept, kept, kept, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(found.answering, [0.4 * kept, 0, 0, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(found.beside, 0.36, rtol=1e-5)


def test_another_role_than_the_one_asked_for_counts_half():
    np.testing.assert_allclose(answers(roles=("user",)).within / answers().within.max(), [1, 0.5, 1, 0, 0], rtol=1e-5)


def test_all_of_it_answers_where_the_query_names_nothing_else():
    found = answers(named=np.zeros(5, np.float32), particular=(False, False, False))
    assert found.answering.tolist() == [1, 1, 1, 0, 0]


def test_nothing_without_a_period():
    found = answers(asked=())
    assert not found.within.any()
    assert not found.answering.any()


def test_what_was_said_at_another_time_is_elsewhere_where_words_are_asked_for():
    assert answers(of_words=True).elsewhere.tolist() == [False, False, True, True, True]  # whatever it tells of
    assert answers(of_words=True, asked=((200, 201),)).elsewhere.all()
    assert not answers(asked=((200, 201),)).elsewhere.any()


NOW = datetime(2026, 11, 29, 18, tzinfo=UTC)


@pytest.fixture(scope="module")
def dated():
    days = [
        (datetime(2026, 9, 7, 9, tzinfo=UTC), "Yes. We have 86 open tickets, and our target is a first reply within 8 hours.",
         "Sort the 86 tickets into four buckets, safety first, and close what is older than a year."),
        (datetime(2026, 10, 21, 9, tzinfo=UTC), "New target: first reply within 4 hours instead of 8, from November on.",
         "Then the internal alarm should go to 3 hours."),
    ]  # fmt: skip
    with Memory(":memory:", user="ana") as memory:
        for day, said, answered in days:
            turns = (("user", said), ("assistant", answered))
            memory.add([Message(role=r, content=text, sent_at=day, session=str(day)) for r, text in turns])
        yield memory


@pytest.mark.parametrize(
    "question",
    [
        "What did I write yesterday?",
        "What did I say in July?",
        "What did you say last Monday?",
        "What did I say yesterday about the tickets?",
        "What did we talk about yesterday?",
        "What did you and I discuss in July?",
        "What was our conversation about last Monday?",
        "What were we talking about yesterday?",
        "What did I tell you in July about the first reply?",
        "What did you recommend on 7 October for the 86 tickets?",
    ],
)
def test_nothing_was_said_then(dated, question):
    found = dated.search(question, now=NOW)
    assert (found.evidence, {hit.relevance for hit in found}) == ("none", {0.0})
    assert not dated.get_memory_context(question, now=NOW).hits


@pytest.mark.parametrize(
    "question", ["What should I write today?", "How was I doing yesterday?", "Where was I last week?"]
)
def test_what_was_done_or_is_to_be_done_may_stand_in_anything(dated, question):
    assert dated.search(question, now=NOW).probability > 0


def test_a_period_of_the_subject_is_no_time_of_saying(dated):
    assert dated.search("What did I say about the target for November?", now=NOW).evidence == "strong"


@pytest.mark.parametrize(
    "question",
    ["What did my doctor recommend in March?", "What did my boss tell me on Friday?", "What did Rita ask in March?"],
)
def test_what_others_said_may_be_told_at_any_time(question):
    told = {
        datetime(2026, 4, 5, tzinfo=UTC): "In March my doctor recommended iron pills, and Rita asked for the recipe.",
        datetime(2026, 6, 14, tzinfo=UTC): "On Friday my boss told me that I get a raise in autumn.",
        datetime(2026, 6, 16, tzinfo=UTC): "I had pasta for lunch.",
    }
    with Memory(":memory:", user="ana") as memory:
        memory.add([Message(role="user", content=text, sent_at=day) for day, text in told.items()])
        found = memory.search(question, now=datetime(2026, 6, 17, 12, tzinfo=UTC))
        assert found.evidence == "strong"
        assert "pasta" not in found[0].text


def test_only_what_was_said_then_is_evidence(dated):
    hits = dated.search("What did I say in October about the first reply?", now=NOW)
    assert "4 hours" in hits[0].text
    assert hits.evidence == "strong"
    assert {hit.relevance for hit in hits if hit.sent_at.month == 9} == {0.0}


@pytest.mark.parametrize("question", ["What did you say on 7 September?", "What did you advise on 7 September?"])
def test_the_assistant_is_asked_for_its_words(dated, question):
    assert dated.search(question, now=NOW)[0].text.startswith("Sort the 86 tickets")


def test_what_was_said_in_the_period_comes_before_what_is_less_relevant(dated):
    hits = dated.search("What was the first reply target in September?", now=NOW)
    assert "8 hours." in hits[0].text
    assert hits[0].relevance > hits[1].relevance
