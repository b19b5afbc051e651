"""What the vectors of sentences say of them: whether a person would note them, and whether they hand over another's words.

Two logistic regressions on vectors of the default embedder, fitted on sentences by several authors who knew no code
(``python -m benchmarks.quality.worth_fit``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemic.knowledge.selection import Judgement
from mnemic.runtime.indexer import Indexer
from mnemic.text.english import is_english
from mnemic.vectors import DEFAULT_MODELS, LinearProbe

WORTH = LinearProbe(
    "krqkPFWY3Lahulc0mLXotc09bT6WN0lAPsTNLqEwtsB5PtnBTa9LvVYsfD33OGS5FT4Btha6eMFwPAa9PC4QuGO9M7oJwtI8vz6yOqG8RzWcwRpCbLuuPC"
    "E3db9LPjC8XbYirSC5Xq0sMgBB4Cj0PfJBYEDUOabA0zhjNNbASj5mryk+wT3yPDw/DjHoNxw8pkEEOfw7s0AauQI6V0BMwDDBujUcvEo1RjyLpnq3VELq"
    "vuO3drfJw2+x2j/lvDzAsbljuw6/17pTt6O1jkNwOnK4O75KP0c7dED5v76+GT9CP8U4rj+4vSM1+jqArMQ94b5EOcwykTjrvoI/zbsAgPRAkjIxufU2/L"
    "kPQCs1RjMRvIbBBj4kubG4kr+vPWs6ey0Yw3++ZsC6uW68d7kQQha7ES/XQW8+ub3BPmPA3zmfNa6ypcCeL0stocE5vKo8wT3gPpU8qDyKvH45izlsvDxC"
    "Ab4nNxcwzr7drRO8xbfEQOW/Rb3su685Vj19NBw2ZbyTtCO+sz0YP0GqrbztMnG1ajysQDfA1buaPVavQj3QPnlBWEBIQJg6cr2NwP28VbrAvu8mVzyGMO"
    "61XbQAAEO+Kq0FOu+7WbkcNXRCLkKgt/803EDVtxi8ODxON1ktE75nwN8x3L1Ewf43F7n8Olw6Hj4Lufw0Z7wDs461/DlUwAO9/DGxvkq7ar1swC82Sb1b"
    "uCY+iEI/Oh81V6fAOWE8AbiVum+8qjrkuzI9zLcAPq+5ObmtOZtApzpFN6BAMD0ZuhxAaioOQZq9SLwdLrI1Wz9nsXwzIrYPuR49drrap6u1j7AfOaw5/D"
    "pGPq48B7EQPFS7YbosuUVAu8AYAGK4TTzzPdc4A8PUNIQ03znit0RAebu4tJUsbrpePqS7nUHpMqG/Qb/ywW24M6eqO5U5YbBRPmo9z7RDsbw+xC84PbY1"
    "L7oIttI0DZp7uRA4V74DvEk1d77awqY9hzzkLZw5Cb0MNW25krxOQCKv9T8mvIC5/jwlsBi7jL5OQPI+9cA="
)
"""Added to the log odds of the words of a sentence."""
FRAME = LinearProbe(
    "L7yDQQu9RTupPZ45TkTvt/O/t7QuOKq91kCdvcCxFzy8vb89TLklPd9Ayzz+uUo17LU8Mh2zR0FONxc4RkDcrcg12bNZMgu4NrSXmDE+PzT5PkS9IbgIO0"
    "m8OTy+ub+sMcNatsjCLjUftgg5RL/YNQ+2QjV0vdW1A8LXOJc8M0HqPOW0Sy1lPFArXL7RvZDAEsFCua29L71jPcG6tLYwvHE0LD0JPJk8o65xOQGuor3Y"
    "Pz5Bwb3oJX0+S0D8uNo73MAquVM7gzneuLo8mTYVwdbA3r7pNfW8ikEoOkdAJb0Wtxq94T5NvUK1Sr4jvZo5zD2OO3K6CCz+u2+6gjUAgBU1LjRCsOW5pz"
    "6xuO7B8bJpNXdAJbylvcw4iEIbwAdAe7yKuDQ6JjhmOok/2rt9wQWvFzrMM/w+pzfsKpwv+LhmPesxbj7dPE8/Lz20OJE0ejt4vgG2FL3av644XrEWLl/A"
    "cDj5uDC8pDd4uJM4VzzQO6i6ksCgMPc+y73/tvUvzjtDNcy6VsH/PtK2ijSpPue/jD8vvxW+a7zBQbm+NL1ktLO2kr2hsL85RDrjvCe/Fz06QJI5OriJv0"
    "Y8ejwAALu+WTMOwJk7QzkDtcy9lLGeOT08xcMWuDG3a7odvVq+u8EEuUCzX0KlPYw4jkDQOmUvmL03RAC8TzmVtXU8DD/oOHQz970LQJ240zsntNu5pbrc"
    "OpnAUL/2uzwxojAav+AwQT3UsjQ5HTw4PC/Cb7ryv06z/j4zvrq+NKyAtC/D8DZDuIk4OTzewI20yUJdu5u9cr7VQDHAR8Llu+m5DUBipGW8DDzHLBa5Sr"
    "SotUA9M8LpOiFCLDWtOs/AaToBAJnDZbp2wEs5Izw5u6c3aj28uGeuQDCCOfi4spFaPQg/m8JPQMUy2L7xQ1k8Ozk7vsC/9kC3vhHAIr6VNow5Cz/OwJTA"
    "d8BmOgm2jjOOttC6YT0pO368v6Vfupk59bggsD4/VqrOrXKsOD0TJ3m+hcL1PAo+ULT4Nxs/gjw7NTw4TL8="
)


def judgements(indexer: Indexer, texts: Sequence[str]) -> dict[str, Judgement]:
    """Judge sentences: English ones, with the default embedder."""
    embedder = indexer.embedder
    if embedder.id not in DEFAULT_MODELS:
        return {}
    english = [text for text in texts if is_english(text)]
    vectors = zip(english, indexer.documents(english, embedder), strict=True)
    known = {text: vector for text, vector in vectors if vector is not None}
    if not known:
        return {}
    rows = np.stack([*known.values()])
    odds = zip(WORTH.log_odds(rows, embedder.id).tolist(), FRAME.log_odds(rows, embedder.id).tolist(), strict=True)
    return {text: Judgement(*one) for text, one in zip(known, odds, strict=True)}
