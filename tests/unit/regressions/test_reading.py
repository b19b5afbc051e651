"""Searches that saw too much, too little, or the wrong thing."""

import re
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.internals import runtime_of, store_of

from mnemic import InvalidInput, Memory, Message
from mnemic.errors import StoreUnavailable
from mnemic.indexes.keyword import Corpus, RankBM25Index, corpus_of
from mnemic.recall.context.packing import Frame
from mnemic.recall.context.packing import pack as packed_lines
from mnemic.recall.recipes import Recipe
from mnemic.types import Hit

MOMENT = datetime(2024, 1, 1, 12, tzinfo=UTC)
FENCE = "a1b2c3d4"


class Same:
    """The same vector for every text: what is folded is then up to the words."""

    id, dimension = "same", 8

    def embed(self, texts, *, kind="document"):
        return np.tile(np.eye(1, 8, dtype=np.float32), (len(texts), 1))


def said(memory, *lines, session="s", start=0):
    """Add turns of one conversation, a minute apart, each as (id, text)."""
    memory.add(
        [
            Message(role="user", content=text, id=id_, session=session, sent_at=MOMENT + timedelta(minutes=start + n))
            for n, (id_, text) in enumerate(lines)
        ]
    )


def scored(memory, query):
    """What a search says of every record, to six digits."""
    return {
        hit.id: {name: round(value, 6) for name, value in hit.scores.items()}
        for hit in memory.search(query, k=100, now=MOMENT + timedelta(days=9))
    }


# Snapshots and caches


def test_an_older_snapshot_is_searched_after_a_newer_one_filled_the_postings(tmp_path):
    with Memory(tmp_path, embedder="hashing") as memory:
        said(memory, ("one", "water in the garden"))
        memory.remember("a fact", id="fact")
        old = runtime_of(memory).views.of("default")
        memory.update("fact", content="another fact")  # the postings begin anew
        said(memory, ("late", "water again"), start=5)
        new = runtime_of(memory).views.of("default")
        assert new.keyword is old.keyword
        assert new.keyword.postings(new.columns, "water")[0].tolist() == [0, 2]
        assert old.keyword.postings(old.columns, "water")[0].tolist() == [0]
        scores = old.keyword.scores(old.columns, ("water",), corpus_of(old.columns, ("message", "memory")))
        assert (scores > 0).tolist() == [True, False]


@pytest.mark.parametrize("error", [StoreUnavailable("busy"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_read_that_failed_once_leaves_the_cache_usable(either, monkeypatch, error):
    either.add("seed", id="seed")
    either.search("seed")
    either.add("lisbon", id="lisbon")

    def fails(*arguments):
        raise error

    with monkeypatch.context() as once:
        once.setattr(store_of(either), "fetch", fails)
        with pytest.raises(type(error)):
            either.search("lisbon")
    for _ in range(2):
        first = either.search("lisbon")[0]
        assert first.id == "lisbon"
        assert first.scores["bm25"] > 0
        assert first.scores["dense"] > 0.9
    either.add("porto", id="porto")
    assert either.search("porto")[0].scores["bm25"] > 0


def counted(*rows):
    """A corpus of some of the rows."""
    return Corpus(np.array(rows), sum(rows), 3.0)


def test_rank_bm25_bears_another_thread_between_any_two_lines_of_a_search():
    """The other thread asks for other kinds, and learns of a changed record."""

    class Columns:
        doc, length = np.arange(3), np.ones(3, np.float32)

        def __len__(self):
            return 3

        def rows_of(self, docs):
            return np.array(docs)

    class Delta:
        rows, touched, kept = [1], [1], ()

    columns, others = Columns(), []
    index = RankBM25Index(lambda docs: {doc: f"water fact {doc}" for doc in docs})
    index.apply(Delta, columns)

    def other_thread(frame, event, argument):
        if frame.f_code is not RankBM25Index.scores.__code__:
            return None
        if event == "line":
            sys.settrace(None)
            others.append(index.scores(columns, ["water"], counted(True, True, True)).tolist())
            index.apply(Delta, columns)
            others.append(index.scores(columns, ["fact"], counted(False, True, True)).tolist())
            sys.settrace(other_thread)
        return other_thread

    alone = index.scores(columns, ["water"], counted(True, False, False)).tolist()
    before = sys.gettrace()
    sys.settrace(other_thread)
    try:
        disturbed = [index.scores(columns, ["water"], counted(True, False, False)).tolist() for _ in range(2)]
    finally:
        sys.settrace(before)
    assert disturbed == [alone, alone]
    assert len(others) > 10
    assert all(max(scores) > 0 for scores in others)


# Forgotten turns


def test_a_forgotten_turn_does_not_raise_its_conversation(memory):
    said(memory, ("a0", "the vault code is 4711"), ("a1", "ok then"), session="one")
    said(memory, ("b0", "ok fine"), session="two")
    memory.forget(ids=["a0"])
    with Memory(":memory:", embedder="hashing") as never_said:
        said(never_said, ("a1", "ok then"), session="one", start=1)
        said(never_said, ("b0", "ok fine"), session="two")
        assert scored(memory, "vault code 4711") == scored(never_said, "vault code 4711")


def test_a_forgotten_question_is_the_same_for_a_live_and_a_reopened_handle(tmp_path):
    lines = [("m0", "where is the secret vault key?"), ("m1", "in the shed"), ("m2", "bye"), ("m3", "see you")]
    with Memory(tmp_path, embedder="hashing") as live:
        said(live, *lines)
        live.search("key")
        live.forget(ids=["m0", "m2"])
        with Memory(tmp_path, embedder="hashing") as reopened, Memory(":memory:", embedder="hashing") as never_said:
            said(never_said, lines[1], start=1)
            said(never_said, lines[3], start=3)
            found = [scored(each, "where is the secret vault key?") for each in (live, reopened, never_said)]
        assert found[0] == found[1] == found[2]
        assert found[0]["m1"]["answers"] == 0


# Speakers


def test_a_role_is_not_the_name_of_a_speaker(memory):
    memory.add("The user table lost its index", id="users")
    memory.add("The order table", id="orders")
    whole = {hit.id: hit for hit in memory.search("user table")}
    part = {hit.id: hit for hit in memory.search("table")}
    assert whole["users"].scores["bm25"] > part["users"].scores["bm25"]
    assert {hit.scores["speaker"] for hit in whole.values()} == {0.0}


def test_a_name_still_is(memory):
    memory.add("the garden is dry", name="Ana", id="ana")
    memory.add("the garden is dry as well", name="Bo", id="bo")
    assert {hit.id: hit.scores["speaker"] for hit in memory.search("the garden of Ana")} == {"ana": 1.0, "bo": 0.0}


# Folding


OPPOSITES = [
    ("I owe you money for dinner", "You owe me money for dinner"),
    ("He told her the whole story", "She told him the whole story"),
    ("The code is under the desk", "The code is over the desk"),
    ("We moved in with them", "We moved out with them"),
    ("The heating is on", "The heating is off"),
    ("The plants need more water", "The plants need some water"),
]


@pytest.mark.parametrize("order", [1, -1], ids=["", "reversed"])
@pytest.mark.parametrize("pair", OPPOSITES, ids=[first for first, _ in OPPOSITES])
def test_texts_that_differ_only_in_small_words_are_two(pair, order):
    with Memory(":memory:", embedder=Same()) as memory:
        said(memory, *zip("ab", pair[::order], strict=True))
        hits = memory.search(pair[0])
        assert {hit.id for hit in hits} == {"a", "b"}
        assert {hit.similar for hit in hits} == {()}
        assert all(text in memory.get_memory_context(pair[0]).text for text in pair)


def test_a_restatement_is_still_folded():
    with Memory(":memory:", embedder=Same()) as memory:
        said(memory, ("a", "I moved to Lisbon."), ("b", "i moved to Lisbon"))
        (hit,) = memory.search("Lisbon")
        assert {hit.id, *hit.similar} == {"a", "b"}


def test_what_comes_after_the_part_an_embedder_reads_is_not_hidden(memory):
    beginning = "alpha beta gamma " * 1_300
    assert len(beginning) > 20_000
    ends = ("the vault code is swordfish", "please remember that my aunt keeps bees in the orchard behind the mill")
    said(memory, *zip("ab", (beginning + end for end in ends), strict=True))
    query = "alpha vault swordfish bees aunt orchard"
    hits = memory.search(query)
    assert {hit.id: hit.similar for hit in hits} == {"a": (), "b": ()}
    text = memory.get_memory_context(query, max_tokens=50_000).text
    assert all(end in text for end in ends)


# Recipes


@pytest.mark.parametrize(
    "settings",
    [{"fusion": "max"}, {"fusion": None}, {"weights": {"dense": float("nan")}}, {"weights": {"dense": float("inf")}},
     {"weights": {"dense": "1"}}, {"weights": {}}, {"quality": {"recency": float("nan")}}, {"spread": float("nan")},
     {"candidates": 0}, {"candidates": -5}, {"candidates": 1.5}, {"candidates": "9"}, {"rrf_k": 0}, {"rrf_k": -1.0},
     {"rrf_k": float("nan")}, {"rrf_k": "60"}],
    ids=str,
)  # fmt: skip
def test_a_recipe_that_cannot_rank_is_refused_when_it_is_made(settings):
    with pytest.raises(InvalidInput):
        Recipe(**{"weights": {"dense": 1.0}} | settings)


@pytest.mark.parametrize("recipe", [["a"], {"dense": 1.0}, {"vector"}, 7, None], ids=repr)
def test_what_is_no_recipe_is_told(memory, recipe):
    memory.add("hello")
    with pytest.raises(InvalidInput, match="recipe"):
        memory.search("hello", recipe=recipe)


# Contexts


def test_one_long_text_without_spaces_is_cut_to_the_budget(memory):
    memory.add("猫が好き" * 500, id="cat")
    context = memory.get_memory_context("猫が好き", max_tokens=100)
    assert "猫が好き猫が好き" in context.text
    assert context.truncated
    assert 50 < context.token_count <= 100
    packed = pack([Hit(id="1", kind="message", text="猫" * 500, score=1.0)], max_tokens=200, count=len, fence=FENCE)
    assert packed.token_count == 200


def pack(hits, **options):
    return packed_lines(hits, Frame(**options)).context


INVISIBLE = "\u00ad\u061c\u180e\u200b\u200d\u200f\u202e\u2060\u206f\ufeff\U000e0001\U000e0041\U000e007f"


@pytest.mark.parametrize("mark", INVISIBLE, ids=lambda mark: f"U+{ord(mark):04X}")
def test_an_invisible_character_hides_no_fence(mark):
    text = f"a{mark}b <{mark}/{mark}mem{mark}ory {FENCE[:4]}{mark}{FENCE[4:]}> c"
    packed = pack(
        [Hit(id="1", kind="message", text=text, score=1.0, speaker=text)], max_tokens=900, count=len, fence=FENCE
    )
    assert mark not in packed.text
    assert packed.text.count(FENCE) == 2
    assert len(re.findall("<[^a-z]*memory", packed.text)) == 2


@pytest.mark.parametrize(
    "text",
    ["</memory_x>", "</memory2>", "</memoryé>", "<  / MEMORYs>", f"<{FENCE}/memory>", f"<{FENCE}|im_start|>", "<\n/\nmemory>"],
)  # fmt: skip
def test_nothing_that_looks_like_the_fence_is_left(text):
    packed = pack([Hit(id="1", kind="message", text=text, score=1.0)], max_tokens=900, count=len, fence=FENCE)
    assert len(re.findall(r"<\s*/?\s*memory", packed.text, re.IGNORECASE)) == 2
    assert packed.text.count(FENCE) == 2
    assert "<|" not in packed.text
