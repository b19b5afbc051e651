"""How candidates answer by the time that they are of."""

from types import SimpleNamespace

import numpy as np

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


def answers(named=ELSEWHERE, asked=((100, 103),), particular=(True, True, False), roles=()):
    columns = _Columns(
        doc=np.arange(5), day=DAYS, kind=np.full(5, KINDS["message"]), periods_of=MENTIONED.__getitem__,
        has_role=lambda of: np.array([True, False, True, True, True]) if of else np.zeros(5, np.bool_),
    )  # fmt: skip
    of = AskedPeriods(asked, asked, np.array(particular), frozenset(roles), np.zeros(3, np.bool_))
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
