"""Searches in a language that the embedder does not know."""

import warnings

import pytest

from mnemic import HashingEmbedder, Memory


class English(HashingEmbedder):
    """Stands in for the default model, whose name is all that counts here."""

    id = "all-MiniLM-L6-v2"


SPANISH = [f"El día {day} fui con mi hermana al mercado de la plaza." for day in range(1, 11)]
ENGLISH = [f"On day {day} I went to the market with my sister." for day in range(1, 21)]
QUESTION = "¿Cuándo fui con mi hermana al mercado?"


def warnings_of(place, question, said=(), embedder=English):
    """The warnings of a search in a record that is opened for it."""
    with warnings.catch_warnings(record=True) as given, Memory(place, user="ana", embedder=embedder()) as memory:
        warnings.simplefilter("always")
        memory.add([{"role": "user", "content": text} for text in said])
        for _ in range(2):
            found = memory.search(question)
        assert found.evidence != "strong" or question == ENGLISH[0]
    return [str(one.message) for one in given]


def test_it_is_told_once_per_record_and_not_once_per_process(tmp_path):
    (warning,) = warnings_of(tmp_path / "m", QUESTION, SPANISH)
    for part in ("not English", "all-MiniLM-L6-v2", 'embedder="multilingual"', "memory.admin.reembed()"):
        assert part in warning
    assert warnings_of(tmp_path / "m", QUESTION) == []
    assert len(warnings_of(tmp_path / "another", QUESTION, SPANISH)) == 1


def test_the_record_stays_whole(tmp_path):
    warnings_of(tmp_path / "m", QUESTION, SPANISH)
    with Memory(tmp_path / "m", user="ana", embedder=English()) as memory:
        assert memory.admin.verify(deep=True).ok


@pytest.mark.parametrize(
    ("said", "question"),
    [
        (SPANISH[:9], QUESTION),  # too few to say so for good
        ([*ENGLISH, *SPANISH[:9]], QUESTION),
        (ENGLISH, ENGLISH[0]),
    ],
)
def test_where_most_is_english_nothing_is_told_and_nothing_is_lost_for_later(tmp_path, said, question):
    assert warnings_of(tmp_path / "m", question, said) == []
    assert len(warnings_of(tmp_path / "m", QUESTION, SPANISH * 10)) == 1


def test_another_embedder_is_not_spoken_of(tmp_path):
    assert warnings_of(tmp_path / "m", QUESTION, SPANISH, HashingEmbedder) == []


def test_a_record_that_cannot_be_written_is_searched_all_the_same(tmp_path, monkeypatch):
    from mnemic.errors import StoreReadOnly
    from mnemic.stores.sql.vectors import Embedding

    def refuse(self, what):
        raise StoreReadOnly("the record is read-only")

    monkeypatch.setattr(Embedding, "first_notice", refuse)
    assert len(warnings_of(tmp_path / "m", QUESTION, SPANISH)) == 1
