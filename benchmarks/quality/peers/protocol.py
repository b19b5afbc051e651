"""What the parent hands to a peer's process: turns, questions and their vectors, in files that any environment can read.

Only the standard library and, once vectors are read, numpy: this is imported where Mnemic is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Known", "Talk", "Turn", "sessions"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. ``rendered`` is ``Speaker: text``, what every peer stores; ``sent_at`` is an ISO date."""

    id: str
    session: str
    speaker: str
    text: str
    rendered: str
    sent_at: str
    role: str


@dataclass(frozen=True, slots=True)
class Talk:
    """What goes into one store, in order, and what is asked of it; ``now`` is when (ISO).

    ``turn_vectors`` (n, d) and ``question_vectors`` (q, d) are unit vectors.
    """

    name: str
    now: str
    turns: Sequence[Turn]
    questions: Sequence[str]
    turn_vectors: np.ndarray
    question_vectors: np.ndarray

    def write(self, folder: Path) -> None:
        """Put it where a child can read it."""
        import numpy as np

        folder.mkdir(parents=True, exist_ok=True)
        held = {
            "name": self.name, "now": self.now, "turns": [asdict(turn) for turn in self.turns],
            "questions": list(self.questions),
        }  # fmt: skip
        (folder / f"{self.name}.json").write_text(json.dumps(held), encoding="utf-8")
        np.savez(folder / f"{self.name}.npz", turns=self.turn_vectors, questions=self.question_vectors)

    @classmethod
    def read(cls, folder: Path, name: str) -> Talk:
        """What ``write`` wrote."""
        import numpy as np

        held = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        turns = [Turn(**turn) for turn in held["turns"]]
        with np.load(folder / f"{name}.npz") as vectors:
            return cls(name, held["now"], turns, held["questions"], vectors["turns"], vectors["questions"])

    def known(self) -> Known:
        """Every text of it with its vector."""
        texts = [*(turn.rendered for turn in self.turns), *self.questions]
        return Known(dict(zip(texts, [*self.turn_vectors, *self.question_vectors], strict=True)))


class Known:
    """Texts with their vectors; stands in for the embedder of every peer, so that no figure contains an embedding.

    A text that it does not hold is an error: a peer that embeds something else would be measured on other vectors.
    """

    def __init__(self, vectors: Mapping[str, Any]) -> None:
        self._vectors = dict(vectors)

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dimension(self) -> int:
        return len(next(iter(self._vectors.values())))

    def of(self, text: str) -> np.ndarray:
        """The vector of one text.

        Raises:
            LookupError: the text was not prepared.
        """
        import numpy as np

        try:
            return np.asarray(self._vectors[text], np.float32)
        except KeyError:
            raise LookupError(f"a peer embeds a text that was not prepared: {text[:200]!r}") from None

    def matrix(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of several texts, (n, d)."""
        import numpy as np

        return np.stack([self.of(text) for text in texts]) if texts else np.empty((0, self.dimension), np.float32)


def sessions(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Turns session by session, in order: what one call of ``add`` takes."""
    for _, group in groupby(turns, key=lambda turn: turn.session):
        yield list(group)
