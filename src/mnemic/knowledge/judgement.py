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
    "frSaPnQ4J7hKu2A0Kb1yswI/UDyuOL9BpcLAKG88GsFYPX7CpTdavlmyDTfYOxyxIT2cuMq74cCQOn++CyL3uS6//bOdwC4/IzrbPfa8kjybwV1CurrGP5"
    "Q9nr86PNe6OTD7oB61LjJVKd5ADSFcP8pCIEEZPU7BbLDbNxzBxkBZu1g/Ez1HPcU9+LnzNZw5AUEKP3s9X0DYHuQ2t0DLvj7ChrNbuiE2yDfUMsGzVUPA"
    "vbazM7FywcMvGT8Zv0fBn7iouK28b7jxtGO4qkMROwG3u70eP204qj7lwMy/ST4DPXM5ZEA2u/U5mDd9tl4/m70mPk+1UTclvUc+UrwAgLI/n7gprV4t/b"
    "QSQQW34TiPu+/AZD3ovEWt+ME0Ojk+iCrXwGW+6b7ouTu9P7q1Qmq4sTEDQQ0917w2PnbA8zjoPzCtnsLqMrC6TMEbwEA8JD9UP1083z4jvC82cD4etv5C"
    "BcATtk+8pr7sNiq6/7EKQOzAu76BvEC2WjqGOCxAY79qMES9mz1sP7IynLsgtrS4OTMMQSi+vr2TQEu18jxKP01CnUFrQcw86rzcwOy9HbxAviY6bTvzMq"
    "q3C7gAADW/dTOpPkG8dbmeMelCpUKDuYU3g0AWOJi6bTnONrGwiMB+vms5xbwAwh09qrgtPaY9rz2stP44FbwQuL+5hD3JwYfAoS8FvJG7Z7+bv0+m47v2"
    "vItBFkMBNaCuKzA1NAY+g7YKrrG7Ex5zvSI97iz9P3u8j7mVPRdA2j2iMEBBCD49NGU/ITlBP/+8eLi3vKCzSz+gtYw1ZLqluL893bT4szu0wzpWNV456D"
    "HgPFk2aTLJPDS5cbzDvIs9ob4WAHq80DwoQAUvs8MCOCA1HTiFKXFACb3QMBCsn71VQXu9aEKMJ42+Lr/TwWU5MTeMO7s1N6tyQQs8pCSVqgY/rT3hOPo6"
    "Jr0kLyU13DV7uaU9Z8CzuUK4Hrwdw2c+5TpkuiM8nbuGNEw6mrqGQDe4Rjzevhe8BzrjuIG8Hr2oPMQ9VcE="
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
