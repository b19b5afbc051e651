"""Vectors that belonged to another text or to another model."""

import numpy as np
import pytest

from mnemic import EmbeddingMismatch, Memory, Message, StoreError
from mnemic.errors import EmbedderUnavailable
from mnemic.testing.fakes import FailingEmbedder

SIZE = 16


class Texts:
    """A vector of its own for every text, another for every id. ``meanwhile`` runs once, while texts are embedded."""

    dimension = SIZE

    def __init__(self, id, meanwhile=None):
        self.id, self.meanwhile, self.down = id, meanwhile, False

    def embed(self, texts, *, kind="document"):
        if self.down:
            raise EmbedderUnavailable("switched off by the test")
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        rows = [np.random.default_rng([*self.id.encode(), 0, *text.encode()]).normal(size=SIZE) for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32).reshape(len(texts), SIZE)


def has_its_vector(memory, text):
    """Whether the vector of a text is the one the present embedder makes of it."""
    cosines = {hit.text: hit.scores["dense"] for hit in memory.search(text, k=200, recipe="vector")}
    return cosines.get(text, 0.0) > 0.99


@pytest.fixture
def memory():
    with Memory(":memory:", embedder=Texts("a")) as memory:
        yield memory


def test_a_text_updated_after_reembed_reached_it_has_the_vector_of_the_new_text(memory):
    id_ = memory.remember("old text").id
    memory.admin.reembed(Texts("b"), progress=lambda done, total: memory.update(id_, content="new text"))
    assert memory.get(id_).content == "new text"
    assert has_its_vector(memory, "new text")
    assert memory.admin.verify().ok


def test_a_text_updated_while_reembed_embeds_it_has_the_vector_of_the_new_text(memory):
    id_ = memory.remember("old text").id
    memory.admin.reembed(Texts("b", meanwhile=lambda: memory.update(id_, content="new text")))
    assert has_its_vector(memory, "new text")
    assert memory.admin.verify().ok


@pytest.mark.parametrize("newer_ends", [True, False], ids=["the newer ends", "the newer is interrupted"])
def test_the_older_of_two_reembeds_stops_and_models_are_not_mixed(memory, newer_ends):
    texts = [f"text {n}" for n in range(70)]  # more than one batch
    memory.add([Message(role="user", content=text) for text in texts])

    def interrupt(done, total):
        raise KeyboardInterrupt

    others = [Texts("c")]

    def begin_another(done, total):
        if not others:
            return
        other = others.pop()
        if newer_ends:
            memory.admin.reembed(other)
        else:
            with pytest.raises(KeyboardInterrupt):
                memory.admin.reembed(other, progress=interrupt)

    with pytest.raises(StoreError, match="Another reembed"):
        memory.admin.reembed(Texts("b"), progress=begin_another)
    assert memory.stats().embedding_model == ("c" if newer_ends else "a")
    assert all(has_its_vector(memory, text) for text in texts)
    assert memory.admin.reembed(Texts("b")) == 70
    assert all(has_its_vector(memory, text) for text in texts)
    assert memory.admin.verify().ok


def write_message(memory):
    memory.add("late text")


def write_memory(memory):
    memory.remember("late text")


def write_update(memory):
    memory.update("held", content="late text")


@pytest.mark.parametrize("write", [write_message, write_memory, write_update])
def test_a_write_that_embedded_before_a_change_of_model_does_not_pass_for_the_new_one(write):
    old = Texts("a")
    with Memory(":memory:", embedder=old) as memory:
        memory.remember("held text", id="held")
        old.meanwhile = lambda: memory.admin.reembed(Texts("b"))
        with pytest.raises(EmbeddingMismatch):
            write(memory)
        assert not has_its_vector(memory, "late text")
        write(memory)
        assert has_its_vector(memory, "late text")
        assert memory.admin.verify().ok


@pytest.mark.filterwarnings("ignore:Without vectors for now")
def test_flush_does_not_give_a_new_text_the_vector_of_the_old_one():
    embedder = Texts("a")
    embedder.down = True
    with Memory(":memory:", embedder=embedder) as memory:
        id_ = memory.remember("old text").id

        def update_without_vector():
            embedder.down = True
            memory.update(id_, content="new text")
            embedder.down = False

        embedder.down, embedder.meanwhile = False, update_without_vector
        memory.admin.flush(process=False)
        assert memory.stats().pending["embed"] == 1
        assert memory.admin.flush(process=False) == 1
        assert has_its_vector(memory, "new text")
        assert "embed" not in memory.stats().pending


def test_one_text_that_the_new_model_refuses_does_not_stop_reembed():
    with Memory(":memory:", embedder=Texts("a")) as memory:
        memory.add([Message(role="user", content=text, id=text) for text in ("one", "poison", "two")])
        picky = FailingEmbedder(down=False, refuses="poison")
        memory.admin.reembed(picky)
        assert memory.stats().embedding_model == picky.id
        assert memory.stats().pending["embed"] == 1
        assert all(has_its_vector(memory, text) for text in ("one", "two"))
        assert memory.admin.flush(process=False) == 0
        assert memory.stats().pending["embed"] == 1
        picky.refuses = None
        assert memory.admin.flush(process=False) == 1
        assert has_its_vector(memory, "poison")
        assert memory.admin.verify().ok
