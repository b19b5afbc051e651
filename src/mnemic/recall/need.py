"""Whether a text needs memory: "go on", "tell me a joke" and "translate this" do not.

A logistic regression on the vector of the default embedder. Fitted on 1,562 texts to an assistant, written by an author who
knew no code (``python -m benchmarks.quality.need_fit``).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import cache

import numpy as np

from mnemic.vectors import DEFAULT_MODELS, Floats, dot

_WEIGHTS = (
    "/6TbJdCxnzxuPR0+LDxXPQW4uLEOvpAtablnu94+tLh/QM6+aToxMRDBaj6Ds8Gm7DJDQU45A7FWuI+/cD00vTa5mbFDqTK7a0Bltky0AbfcMri3"
    "xDnHurq2XbnrOH28N0HvQQJAw76OPbqzWLx+PBc93jkSvaCq7DXSuK80IUB6vgC+LLmJOQJBTLy4Ki63JEAPsdkxYaw3QN84oDyIwx03cMC/udE4"
    "Rj1BP564jz9rOIY04EBdwMy+Vzjwtf486rxwMko2zLwSudo74rGTuCg1n7ekPLyyij4ntSc4MK39LYg/Nji2wAxAWCvBNYSslzzZNVe0PbHfvM1A"
    "ei8AgBS8mT/0LSg+Xz/HN1Q+abimu5nBcTVZOKu5775ywls5P7zBu1K9UjWnJhO8O61gO+85qD3xMY0rVLR8Jrq+tT20PEm+dLeBtza8Cb0PM6Ox"
    "HD5wM7Y7CbukNYi8nDwuQNM8vblHvPu+tjW+Kru8ArjetLO95jwmvaE8vrhOvs+2sr3dwOG/0zIMsjSqgL8ZvUe7lLqrPb0rhLzvO9W/gr1ZPu89"
    "Bq5pQIs4wTx/MmY+V7YYPUG5IzAOJ/q1Kj8AAIq5G7kvPnHD50APN0W8TjlLsl+x+0BfPAw4aTp+NSY1ArurudI9hbH8tW48ODgFOmU+AzQlPr05"
    "qrw+t9m697w/ua45SjYZvd+9EjdRvws7VDc0vMm5tzu6uGo6QrNXvYJA07FsOCW5NrwHt9c4ky1JO3e9n6YYOz++uz5bvae42jgpt/Y55cLcN/g3"
    "ocAuthyztbYqOrk7G7zMuXu5STUUOSy+K8D6OaNAYDqVP7W2/TmKPeg7+bDNwQaw4zwGAKUyJi0LuWA8jjeHvLi/4S+8vXJASL4NO2Y9q7dQMEW8"
    "bKpyuHG6yrf/oyi1qjnLvGmwurrJPJs//bp2QVU5zDnbpRW42r4iuVK/77U9OZM9fatkwEk5SxcRub827L1ROhc6vLs2vfO4wzhIPSw+vDwPvIS1"
    "7btpObu++7+PxDG0RLw="
)
"""385 numbers in half precision: the weights of the vector, and the intercept."""


def packed(weights: Floats) -> str:
    """The form in which the weights stand here."""
    return b64encode(np.asarray(weights, "<f2").tobytes()).decode()


@cache
def _weights() -> Floats:
    return np.frombuffer(b64decode(_WEIGHTS), "<f2").astype(np.float32)


def need(vector: Floats, model: str | None) -> float:
    """The log odds that a text needs memory, at most 0: most texts may.

    Args:
        vector: of the text as a query, shape (384,).
        model: id of its embedder; 0 with one that the weights were not fitted on.
    """
    weights = _weights()
    if model not in DEFAULT_MODELS or len(vector) != len(weights) - 1:
        return 0.0
    return min(0.0, float(dot(weights[:-1], vector) + weights[-1]))
