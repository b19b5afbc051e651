"""Ids that sort as they were made."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from mnemic.ingest import new_id


def test_they_sort_in_the_order_they_were_made():
    made = [new_id("msg_") for _ in range(10_000)]
    assert all(before < after for before, after in pairwise(made))


def test_threads_never_make_the_same_one():
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_id("m_"), range(5_000)))
    assert len({id_[: len("m_") + 16] for id_ in made}) == 5_000  # the part that tells the time is distinct already


def test_they_are_version_seven_of_the_standard():
    made = uuid.UUID(new_id(""))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
