"""Both keyword indexes give the scores of rank-bm25's own Okapi, whatever happened to the records meanwhile."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from mnemic.indexes import keyword
from mnemic.indexes import keyword as corpora
from mnemic.indexes.keyword import corpus_of
from mnemic.text.terms import content_terms, index_terms, query_terms
from mnemic.types import searchable

RUN = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = [
    "water",
    "garden",
    "the",
    "of",
    "naïve",
    "東京都庁",
    "C++",
    "10,000",
    "bought",
    "buy",
    "x",
    "!?",
    "@nasa",
    "猫",
    "\x00",
    "NOT",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("message"), TEXTS, st.sampled_from([None, "Ana"])),
        st.tuples(st.just("memory"), TEXTS),
        st.tuples(st.just("archive"), st.integers(0, 50)),
        st.tuples(st.just("restore"), st.integers(0, 50)),
        st.tuples(st.just("revise"), st.integers(0, 50), TEXTS),
        st.tuples(st.just("stranger"), TEXTS),
        st.tuples(st.just("search"), TEXTS),
    ),
    min_size=1,
    max_size=14,
)


def reference(world, columns, terms, corpus):
    """BM25Okapi over the corpus with the idf that text.bm25 states; zero elsewhere."""

    class Okapi(BM25Okapi):
        def _calc_idf(self, nd):
            n = self.corpus_size
            self.idf = {term: math.log(1 + (n - held + 0.5) / (held + 0.5)) for term, held in nd.items()}

    found = np.zeros(len(columns))
    rows = np.flatnonzero(corpus.rows)
    if len(rows) and terms:
        stored = world.store.fetch(world.user, columns.doc.tolist())
        texts = [searchable(stored[int(columns.doc[row])].value) for row in rows]
        okapi = Okapi([list(index_terms(text)) for text in texts], k1=keyword.K1, b=keyword.B)
        okapi.doc_len = np.array([len(content_terms(text)) for text in texts], float)
        okapi.avgdl = okapi.doc_len.mean() or 1.0
        found[rows] = okapi.get_scores(list(terms))
    return found


@pytest.fixture(autouse=True, params=[False, True], ids=["rare", "common"])
def terms_are(request, monkeypatch):
    """Every term is read from its postings, or told for every row."""
    if request.param:
        monkeypatch.setattr(corpora, "FEW", 1)
        monkeypatch.setattr(corpora, "COMMON", 1_000_000)
        monkeypatch.setattr(corpora, "MAX_COMMON", 2)


def where(index, columns, term, corpus):
    """How often every row contains a term, what no row has, the conversations that have it, and what it is worth."""
    said = index.occurrences(columns, term, corpus)
    buffer = np.zeros(len(columns) + 1, np.float32)
    counts = said.counts_at(np.arange(-1, len(columns)), buffer)
    assert not buffer.any()
    return counts.tolist(), said.conversations.tolist(), said.idf


def check(world, query):
    columns = world.follow()
    terms = query_terms(query)
    for kinds in (("message", "memory"), ("message",), ("memory",)):
        corpus = corpus_of(columns, kinds)
        expected = reference(world, columns, terms, corpus)
        for index in (world.fts5, world.rank_bm25):
            scores = index.scores(columns, terms, corpus)
            assert scores.dtype == np.float32
            np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5, err_msg=type(index).__name__)
        for term in terms:
            counts, conversations, idf = where(world.fts5, columns, term, corpus)
            rows, often = world.rank_bm25.postings(columns, term)
            inside = corpus.rows[rows]
            assert {row: count for row, count in enumerate(counts[1:]) if count} == dict(
                zip(rows[inside].tolist(), often[inside].tolist(), strict=True)
            )
            assert counts[0] == 0
            told = {int(group) for group in columns.group[rows[inside]]} - {0}
            assert np.flatnonzero(conversations).tolist() == sorted(told)
            assert idf == keyword.idf(corpus.size, int(inside.sum()))
            assert where(world.rank_bm25, columns, term, corpus) == (counts, conversations, idf)
    for term in terms:
        rows, counts = world.fts5.postings(columns, term)
        other_rows, other_counts = world.rank_bm25.postings(columns, term)
        assert rows.tolist() == sorted(rows.tolist()) == other_rows.tolist()
        assert counts.tolist() == other_counts.tolist()


def step(world, stranger, operation):
    kind, *rest = operation
    if kind == "message":
        world.apply(world.message(rest[0], name=rest[1]))
    elif kind == "memory":
        world.apply(world.memory(f"{rest[0]} {world.made}", tags=("garden",)))
    elif kind == "stranger":
        stranger.apply(stranger.message(rest[0]))
    elif kind == "search":
        check(world, rest[0])
    else:
        ids = world.ids(world.follow())
        id_ = ids[rest[0] % len(ids)]
        if kind != "revise":
            getattr(world, kind)(id_)
        elif id_.startswith("r") and world.store.get(world.name, id_).status != "archived":
            world.revise(id_, f"{rest[1]} again {world.made}")


@RUN
@given(steps=STEPS, query=TEXTS)
def test_every_index_scores_alike(followed, steps, query):
    world = followed()
    stranger = followed(world.store, "stranger")
    for operation in steps:
        step(world, stranger, operation)
    check(world, query)
    check(stranger, query)
    check(world, " ".join(WORDS))


def test_on_disk_with_a_long_tail(followed, tmp_path, monkeypatch):
    """Adds after the first search, past the size of the tail, and a handle that comes later."""
    from contextlib import closing

    from mnemic.stores import SqliteStore

    monkeypatch.setattr(keyword, "MAX_TAIL", 20)
    rng = np.random.default_rng(5)
    with closing(SqliteStore(tmp_path / "memory")) as store:
        world = followed(store)
        for round_ in range(8):
            texts = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(7)]
            world.apply(*[world.message(text) for text in texts])
            check(world, texts[round_ % 7])
            check(world, "water garden")
        learned = world.follow()
        scores = world.fts5.scores(learned, ("water", "garden"), corpus_of(learned, ("message",)))
        world.restart()
        columns = world.follow()
        again = world.fts5.scores(columns, ("water", "garden"), corpus_of(columns, ("message",)))
        np.testing.assert_allclose(again, scores, rtol=1e-6)


def test_an_older_snapshot_sees_only_its_own_rows(followed):
    world = followed()
    world.apply(world.message("water in the garden"))
    old = world.follow()
    before = world.fts5.scores(old, ("water",), corpus_of(old, ("message",)))
    for _ in range(3):
        world.apply(world.message("water water"))
        world.follow()
    for index in (world.fts5, world.rank_bm25):
        scores = index.scores(old, ("water",), corpus_of(old, ("message",)))
        np.testing.assert_allclose(scores, before, rtol=1e-5)
        rows, _ = index.postings(old, "water")
        assert rows.tolist() == [1]


@pytest.mark.parametrize("terms", [(), ("nobody",), ("water", "nobody")])
def test_nothing_to_find(followed, terms):
    world = followed()
    world.apply(world.message("garden"))
    columns = world.follow()
    for index in (world.fts5, world.rank_bm25):
        assert not index.scores(columns, terms, corpus_of(columns, ("message",))).any()
        assert not index.scores(columns, ("garden",), corpus_of(columns, ("memory",))).any()
        assert index.postings(columns, "nobody")[0].tolist() == []


def test_rank_bm25_reads_a_text_once(followed):
    """A conversation that is asked after every turn does not cost its length each time."""
    world, read = followed(), []
    texts = world.rank_bm25._texts
    world.rank_bm25._texts = lambda docs: read.extend(docs) or texts(docs)
    for n in range(5):
        world.apply(world.message(f"water in garden {n}"))
        check(world, "water")
    assert sorted(read) == sorted(set(read))
    before = len(read)
    world.apply(world.memory("water is dear", tags=()))
    world.revise(world.ids(world.follow())[-1], "the garden is dry")
    check(world, "garden water")
    assert len(read) == before + 2
