"""An embedder of your own, and changing to another one later without losing anything.

Install: pip install "mnemic[minilm]"
"""

from collections.abc import Sequence
from tempfile import TemporaryDirectory

import numpy as np

from mnemic import EmbeddingMismatch, HashingEmbedder, Memory

SUBJECTS = {
    "animals": ("cat", "dog", "kitten", "vet", "pet"),
    "travel": ("train", "ticket", "hotel", "lisbon", "journey"),
    "money": ("rent", "salary", "euro", "price", "cost"),
}


class SubjectEmbedder:
    """One number for each subject: how many of its words a text has. Anything with these three members will do."""

    id = "subjects-1"  # kept with the vectors: change it when the vectors would change
    dimension = len(SUBJECTS) + 1

    def embed(self, texts: Sequence[str], *, kind: str = "document") -> np.ndarray:
        rows = np.array([self._row(text.lower()) for text in texts], dtype=np.float32).reshape(-1, self.dimension)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _row(self, text: str) -> list[float]:
        return [sum(word in text for word in words) for words in SUBJECTS.values()] + [0.1]


def main() -> None:
    with TemporaryDirectory() as folder:
        with Memory(folder, user="ana", embedder=SubjectEmbedder()) as memory:
            memory.add_exchange("The kitten sleeps in my shoe.", "How sweet.")
            memory.add_exchange("My ticket to Porto was on sale.", "When do you leave?")
            best = memory.search("Does she have a pet?", k=1, recipe="vector")[0]
            print(f"Does she have a pet?  {best.text}  (cosine {best.scores['dense']:.2f})")
            assert best.text == "The kitten sleeps in my shoe."  # no word in common, the same subject
            assert memory.stats().embedding_model == "subjects-1"

        # Vectors of two models cannot be compared: the memory says so instead of answering nonsense.
        with Memory(folder, user="ana", embedder=HashingEmbedder()) as memory:
            try:
                memory.search("kitten")
            except EmbeddingMismatch as error:
                print(f"As it should: {error}")
            else:
                raise AssertionError("two models were mixed")
            made = memory.admin.reembed()
            assert made == 4
            assert memory.search("kitten", k=1)[0].text == "The kitten sleeps in my shoe."
            assert memory.stats().embedding_model == "hashing-256"
            assert memory.admin.verify().ok
    print("All as expected.")


if __name__ == "__main__":
    main()
