"""Words that a question and a text share, and that did not meet."""

import pytest

from mnemic import Memory
from mnemic.recall.recipes import Recipe
from mnemic.text.terms import content_terms, index_terms, query_terms

BY_WORDS = Recipe(weights={"bm25": 1.0})
OTHERS = ["He repairs old radios", "昨日は雨だった", "the weather was mild"]

FOUND = [
    ("Where does she live?", "She lives in Lisbon"),
    ("When will they leave?", "The bus leaves at noon"),
    ("the shots", "He took one shot"),
    ("the shot", "He took many shots"),
    ("shooting", "He took many shots"),
    ("her thoughts", "She thought about it"),
    ("猫", "猫が好きです"),
    ("き", "猫が好きです"),
    ("집", "우리집은 크다"),
    ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
    ("istanbul", "Wir waren in İstanbul."),
    ("İSTANBUL", "we met in Istanbul"),
    ("محمد", "وصل مُحَمَّد أمس"),
    ("مُحَمَّد", "وصل محمد أمس"),
    ("שלום", "הוא אמר שָׁלוֹם"),
]  # fmt: skip
ONE_WORD = ["हिन्दी", "தமிழ்", "বাংলা", "İstanbul", "مُحَمَّد", "שָׁלוֹם", "e\u0301te\u0301"]


@pytest.mark.parametrize("place", ["folder", "ram"])
@pytest.mark.parametrize(("query", "text"), FOUND, ids=[query for query, _ in FOUND])
def test_a_word_finds_its_other_forms_without_any_vector(place, query, text, tmp_path):
    with Memory(tmp_path if place == "folder" else ":memory:", embedder="hashing") as memory:
        for n, other in enumerate(OTHERS):
            memory.add(other, id=f"other{n}")
        memory.search(query)  # what comes now is read in another way than what was there
        memory.add(text, id="it")
        first = memory.search(query, recipe=BY_WORDS)[0]
        assert first.id == "it"
        assert first.scores["bm25"] > 0


@pytest.mark.parametrize("word", ONE_WORD)
def test_marks_inside_a_word_do_not_cut_it_to_pieces(word):
    assert len(index_terms(word)) == 1
    assert query_terms(word) == index_terms(word)


def test_different_words_with_marks_stay_apart():
    assert index_terms("हिन्दी") != index_terms("हिसाब")
    assert not set(index_terms("हिन्दी")) & set(index_terms("यह है"))  # both begin with the same letter


def test_will_not_is_no_victory():
    assert index_terms("won't") != index_terms("won")
    assert not set(query_terms("Who won?")) & set(index_terms("I won't go"))
    assert content_terms("I won\u2019t go") == content_terms("I will go")


def test_one_character_is_not_looked_for_in_a_longer_word(memory):
    """Single characters are there to be asked for; a longer word is still looked for by its pairs."""
    memory.add("東洋", id="east")
    memory.add("京都", id="old")
    memory.add("東京", id="tokyo")
    scores = {hit.id: hit.scores["bm25"] for hit in memory.search("東京")}
    assert scores["tokyo"] > 0
    assert scores["east"] == scores["old"] == 0
