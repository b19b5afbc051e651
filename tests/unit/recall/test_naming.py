"""What a question names decides between like things, in every recipe and after every pass."""

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.quality.named import FAMILIES
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.recall import order
from mnemic.recall.candidates import HERE
from mnemic.recall.order import named_first, naming_terms
from mnemic.text.dates import MOST_PERIODS, named_periods, without_dates
from mnemic.text.terms import query_terms

QUESTION = "Who holds badge 17 for Kestrel?"
TERMS = query_terms(QUESTION)
MASKS = st.lists(st.lists(st.booleans(), min_size=len(TERMS), max_size=len(TERMS)), min_size=1, max_size=30)


def pool_of(has):
    counts = np.zeros((len(has), 7, len(TERMS)), np.float32)
    counts[:, HERE] = has
    return SimpleNamespace(counts=counts)


@given(MASKS)
def test_none_that_lacks_a_name_stands_before_a_like_one_that_has_it(has):
    naming = naming_terms(QUESTION, TERMS)
    order = named_first(QUESTION, TERMS, pool_of(has), np.arange(len(has)))
    assert sorted(order.tolist()) == list(range(len(has)))
    rows = np.array(has)[order]
    for before, after in ((rows[i], rows[j]) for i in range(len(rows)) for j in range(i + 1, len(rows))):
        has_all = not (before & ~after).any()
        assert not (has_all and (after & ~before & naming).any() and (before & ~naming).any())


@given(MASKS)
def test_what_differs_in_no_name_keeps_its_order(has):
    has = [[mark and not named for mark, named in zip(row, naming_terms(QUESTION, TERMS), strict=True)] for row in has]
    assert named_first(QUESTION, TERMS, pool_of(has), np.arange(len(has))).tolist() == list(range(len(has)))


@pytest.mark.parametrize(
    ("question", "naming"),
    [
        ("Who holds badge 17?", {"17"}),
        ("What did Kestrel ship in May 2023?", {"kestrel"}),
        ("What did Kestrel ship on 8 May 2023 in crate 12?", {"kestrel", "12"}),
        ("where did I leave my keys", set()),
        ("What does error E1042 mean?", {"e1042"}),
        ("Who released version 2.1?", {"2.1"}),
        ("Was ticket 12 closed on 12 May?", {"12"}),
    ],
)
def test_numbers_identifiers_and_names_name_a_thing_and_dates_do_not(question, naming):
    terms = query_terms(question)
    assert {term for term, mark in zip(terms, naming_terms(question, terms), strict=True) if mark} == naming


def test_a_log_is_read_for_dates_once(monkeypatch):
    log = "\n".join(f"2026-03-{n % 28 + 1:02} WARN svc-{n} timeout" for n in range(300))
    reads = list[str]()
    monkeypatch.setattr(order, "without_dates", lambda text: reads.append(text) or without_dates(text))
    terms = query_terms(log)
    naming_terms(log, terms)
    assert len(reads) == 1
    assert len(named_periods(log, 738_000, ())) == MOST_PERIODS


@pytest.mark.parametrize("recipe", ["conversation", "facts", "rrf", "vector", "coding"])
@settings(max_examples=8)
@given(st.sampled_from(sorted(FAMILIES)), st.integers(2, 12), st.randoms(use_true_random=False), st.booleans())
def test_of_like_things_the_one_that_is_named_comes_first(recipe, family, count, random, processed):
    family = FAMILIES[family]
    chosen = random.sample(range(50), count)
    names = [family.names[at] for at in chosen]
    values = [value for value in family.values if value not in names]  # "hall 42" is not told from "rack 42"
    said = [family.says.format(name, random.choice(values)) for name in names]
    with Memory(":memory:", embedder="hashing") as memory:
        for text in said:
            memory.add_exchange(text, "Noted.")
        if processed:
            memory.process()
        for name, text in zip(names, said, strict=True):
            hits = memory.search(family.asks.format(name), recipe=recipe)
            assert next(hit.text for hit in hits if hit.text in said) == text
