import threading
from pathlib import Path

import numpy as np
import pytest

from mnemic import paths
from mnemic.embedders import readers
from mnemic.embedders.readers import REQUESTS, UPDATES, PairReader, phrases
from mnemic.knowledge.selection import WORTH

MODEL = "all-MiniLM-L6-v2"
PAIRS = [
    ("We use MySQL.", "We switched to Postgres."),
    ("I live in Rome.", "I live in Oslo now."),
    ("I live in Porto.", "My sister lives in Braga."),
]


def test_what_a_request_means_needs_none_of_its_words():
    texts = ("I earn 3,100 a month.", "My rent is 900 a month.")
    salary, rent = REQUESTS.log_odds([("my salary", text) for text in texts], MODEL)
    assert salary > 0 > rent
    assert REQUESTS.log_odds([("forget my job", "I drive the night bus.")], MODEL)[0] > 0


@pytest.mark.parametrize("question", ["", "What do we use for the data, and where do I live? "])
def test_a_later_value_updates_and_that_of_somebody_else_does_not(question):
    changed, now, sister = UPDATES.log_odds([(f"{question}{old}", new) for old, new in PAIRS], MODEL)
    assert min(changed, now) > 0 > sister


def test_a_pair_is_read_alike_alone_and_among_others():
    together = UPDATES.log_odds(PAIRS, MODEL)
    alone = [PairReader("updates").log_odds([pair], MODEL)[0] for pair in PAIRS]
    np.testing.assert_array_equal(together, np.array(alone, np.float32))
    assert together.dtype == np.float32


def test_which_text_is_the_later_one_matters():
    swapped = [pair[::-1] for pair in PAIRS]
    assert not np.allclose(UPDATES.log_odds(PAIRS, MODEL), UPDATES.log_odds(swapped, MODEL))


def test_a_pair_is_read_once(monkeypatch):
    read = []
    own = PairReader("updates")
    monkeypatch.setattr(readers, "_read", lambda _, *pair: float(read.append(pair) or len(read)))
    assert own.log_odds(PAIRS, MODEL).tolist() == [1, 2, 3]
    assert own.log_odds([*PAIRS[::-1], *PAIRS], MODEL).tolist() == [3, 2, 1, 1, 2, 3]
    assert read == PAIRS


def test_only_the_latest_pairs_are_kept_and_none_of_their_texts(monkeypatch):
    monkeypatch.setattr(readers, "KEPT", 2)
    own = PairReader("updates")
    own.log_odds(PAIRS, MODEL)
    kept = own._kept.get()
    assert [*kept] == [readers._key(*pair) for pair in PAIRS[1:]]
    assert {len(key) for key in kept} == {16}


def test_threads_share_it():
    own, found = PairReader("updates"), []
    threads = [threading.Thread(target=lambda: found.append(own.log_odds(PAIRS, MODEL).tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [UPDATES.log_odds(PAIRS, MODEL).tolist()] * 8


def test_no_pair_has_no_odds():
    assert UPDATES.log_odds([], MODEL).shape == (0,)


@pytest.mark.parametrize("folder", [None, Path("/nowhere")])
def test_nothing_is_read_without_the_package_or_its_file(monkeypatch, folder):
    monkeypatch.setattr(paths, "wheel_folder", lambda _: folder)
    assert PairReader("updates").log_odds(PAIRS, MODEL) is None


def test_nothing_is_read_for_other_embedders():
    assert UPDATES.log_odds(PAIRS, "hashing") is None
    assert UPDATES.log_odds(PAIRS, None) is None


def test_long_texts_and_odd_characters_are_read():
    odd = [("x" * 100_000, "a\x00b"), ("", ""), ("my job", "I drive the night bus. " * 900)]
    assert np.isfinite(UPDATES.log_odds(odd, MODEL)).all()


def test_of_another_language_it_knows_nothing():
    pairs = [("mein Gehalt bitte vergessen", "Ich verdiene im Monat 3100 Euro."), ("我的工资", "我每月挣三千。")]
    assert np.isnan(UPDATES.log_odds(pairs, MODEL)).all()


def test_phrases_are_words_and_pairs_of_the_beginning_in_any_case():
    found = phrases("No, it\u2019s NOT: " + "a " * 100 + "because")
    assert found == {"no", "it", "s", "not", "a", "no it", "it s", "s not", "not a", "a a"}
    assert not phrases("")


def test_another_embedder_has_none():
    texts, vectors = ["It's not on any more."], np.eye(1, 384, dtype=np.float32)
    assert WORTH.log_odds(texts, vectors, "all-MiniLM-L6-v2").any()
    assert not WORTH.log_odds(texts, vectors, "another model").any()
    assert WORTH.log_odds([], vectors[:0], "all-MiniLM-L6-v2").shape == (0,)
