"""Two handles change one statement: each pair of calls, the second between what the first reads and what it writes."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from itertools import product

import pytest
from tests.internals import store_of

from mnemic import EmbeddingMismatch, Episode, HashingEmbedder, Memory
from mnemic.runtime.indexer import Indexer
from mnemic.types import searchable

CALLS = {
    "value": ("Dentist is Dr. Haas.", lambda m, text: m.remember(text, key="dentist")),
    "other value": ("Dentist is Dr. Costa.", lambda m, text: m.remember(text, key="dentist")),
    "words of a value": ("Dentist is Dr. Haas.", lambda m, text: m.remember(text)),
    "replacing": ("Dentist is Dr. Weber.", lambda m, text: m.remember(text, key="dentist", replaces="wrong")),
    "correction": ("Dentist is Dr. Bianchi.", lambda m, text: m.correct("wrong", text)[0]),
    "other correction": ("Dentist is Dr. Moreau.", lambda m, text: m.correct("wrong", text)[0]),
    "edit": ("Dentist is Dr. Silva.", lambda m, text: m.update("wrong", content=text)),
    "other edit": ("Dentist is Dr. Souza.", lambda m, text: m.update("wrong", content=text)),
    "restoring": (None, lambda m, _: m.restore("wrong")[0]),
}
"""What each call states, if anything, and the call."""


@pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.engine)])
def handles(request, tmp_path):
    """Two handles on one record."""
    place = tmp_path / "memory" if request.param == "folder" else request.getfixturevalue("postgres_url")
    with Memory(place, user="ana", embedder="hashing") as one, Memory(place, user="ana", embedder="hashing") as other:
        yield one, other


@contextmanager
def before_it_writes(memory, call):
    """Within the block ``call`` runs once, when the handle has read and is about to write."""
    store, waiting = store_of(memory), [call]
    apply = store.apply

    def interrupted(*args, **options):
        if waiting:
            waiting.pop()()
        return apply(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "apply", interrupted)
        yield


@pytest.mark.parametrize("key", ["dentist", None], ids=["keyed", "plain"])
@pytest.mark.parametrize(("first", "second"), list(product(CALLS, repeat=2)))
def test_a_write_between_reading_and_writing_is_seen(handles, key, first, second):
    one, other = handles
    one.remember("Dentist is Dr. Rossi.", id="wrong", key=key)
    (text, call), (_, between) = CALLS[first], CALLS[second]
    with before_it_writes(one, lambda: between(other, CALLS[second][0])):
        receipt = call(one, text)
    current = one.list()
    assert max(Counter(record.key for record in current if record.key).values(), default=1) == 1
    assert len({record.content for record in current}) == len(current)
    if text and receipt.outcome != "rejected" and "a later value" not in receipt.reason:
        assert text in {record.content for record in current}, receipt
    if "correction" in first and "correction" in second:
        assert len(current) == 1
    assert one.admin.verify().ok


TAGS, CATEGORY = {"tags": ["teeth"]}, {"category": "health"}


@pytest.mark.parametrize(
    ("edit", "other"), [(TAGS, CATEGORY), ({"content": "Dentist is Dr. Haas."}, TAGS), (TAGS, TAGS)]
)
def test_an_edit_is_stored_or_is_to_be_repeated(handles, edit, other):
    one, another = handles
    one.remember("Dentist is Dr. Rossi.", id="wrong")
    with before_it_writes(one, lambda: another.update("wrong", **other)):
        receipt = one.update("wrong", **edit)
    assert (receipt.outcome, one.get("wrong").version) == ("duplicate" if edit == other else "rejected", 2)
    assert edit == other or "read it again" in receipt.reason
    one.update("wrong", **edit)
    record = one.get("wrong")
    for name, value in (edit | other).items():
        assert getattr(record, name) == (tuple(value) if name == "tags" else value)


@pytest.mark.parametrize("source", ["model_inference", "direct_user"])
def test_what_is_processed_meets_the_same_words_of_another_source(handles, source):
    one, other = handles
    one.add("My dentist is Dr. Rossi.")
    with before_it_writes(one, lambda: other.remember("My dentist is Dr. Rossi.", source=source)):
        one.process()
    (record,) = one.list()
    assert record.source == "direct_user"
    assert one.admin.verify().ok


class Opposite(HashingEmbedder):
    """A model of the same dimension with other vectors."""

    id = "opposite"

    def embed(self, texts, *, kind="document"):
        return -super().embed(texts, kind=kind)


def test_no_vector_is_stored_under_the_name_of_another_model(handles):
    one, _ = handles
    told = [
        one.add(text, name="Ana").id for text in ("I moved to Lisbon.", "We found a flat.", "The rent is 900 euros.")
    ]
    one.process()
    indexed = Indexer.indexed

    def reembedded(self, records, **options):
        entries = indexed(self, records, **options)
        if any(isinstance(record, Episode) for record, _ in entries):
            patch.undo()
            one.admin.reembed(Opposite())
        return entries

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Indexer, "indexed", reembedded)
        with pytest.raises(EmbeddingMismatch):
            one.forget(ids=told[-1:])
    assert one.get(told[-1]).id == told[-1]
    assert one.stats().embedding_model == "opposite"
    for record in (*one.messages(), *one.episodes()):
        (vector,) = Opposite().embed([searchable(record)])
        assert one.admin.vector(record.id).values @ vector > 0.99
