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
    "1KqHP0gsSrUIuBEv1LtgOR5ApD7TO99Cy8LWMwA91MCuOpfBZDd6vAO53TLpPN03rjq3rWS8Bb/VPTy/jTWsviXAaDRvwHQ9WD70Pc+9WDltwG9C67nSPy"
    "c667/IO/S5G6CGoYWuWDslOqg/OjdDPjhCEkEOPDHAvrIxNx7B3z8RuPM8oDsPOttAVrzHPe05GkLTPhxAEUGeNEWnwkC4vkLCFDRkuKo4EjdqtE+6sENw"
    "vXE5/7HuwiExI0Dsv/7CTy2Eun29lLmOs+ix3UKTOowy+72lQCE6+kBvwNHA+TnaPSs72UDeuiA4XTdmLs89qrKUQCK6DzmuveJAKrsAgCdAyLPtu16uF6"
    "8aQs28zDgDuzDBrj5zvWu0yMJLO3g9t7KDwMW9gL2quo680LcCRLy8vhlXQiI7bbyUP2TB3TQnQKSvgsFRLoS9RMB3wEU59z7fPJo+wz9tu084dED3taZD"
    "ZsDFMaS8C76tNsG6PK4yQFu+NcA0vLa0UD7Bsq8/V72Ut7i5yD0XPtSqgL/zuJ+5UrXQQDTAtrroQJq16zxvQFlCmUKgQGs927bDvx29b73dvbs/oDlLsF"
    "u5EbYAALu93LEKQH68B7szqaZCl0EZsVMsA0LBN/S9TTzusPa1hb5tv4A5mMA/wd48w7hXPlJAGjkTvDc5YLeEtpi8eD4ewRS+bzWIvHy+D8AqwTQ6tLzt"
    "vvNAkEKmNtq0oDB2toU+ZboSL6i6sDRMvXQ/8CvGQIy8YLSlP/E/WT0kMbdBAUAapaY+uTRpPpq8U7lRvKu4ST5Itgmxd72huUQ7tLZ0Moe8ozqTOiI7Dj"
    "oCPVAyGTNaPK+6g7/5vgU9cb4gAE23TD1kPiMue8Idr9GnBjd5tC5BML3DtnAu2rzTQSS9VENiMtG+Ib33wCktnjn7PLA4pSOlQas3yzePqms/fzwuLy47"
    "p7ttJ70y+zMyva09mb+bu5qwKr7lwnxAkDq0ub04J7q6LR88QrYYQaC9GjkSwEqwiT23sfm/l751PBI7zsA="
)
"""Added to the log odds of the words of a sentence."""
FRAME = LinearProbe(
    "KLwKQoi9hDvXPd44TUQmuPbABLiqNQa9bEFMvhajyjw2vkE+YrlsPrxCCD2muQoyR7j5s4e2DEGQMQs6L0BvKlM3pismMQ+3nridsoM+7TIKPxS8ibkyPT"
    "K+rjyVuVQ1AcT9tXTC6jdQuiE647+/Nbu7AjgFv9Ak98HiN687p0EbPKW0mDHaOTGYT785v7fArMFgsvO+nbxkPbq6Qa4cvLwzMz+8OT49RqwaOIArd70S"
    "QYBBMcBuIRFAW0A2ulc8s8EBvDk8qyFRuk052zrMwODBm75rGn+9hkHKNkZAtbxsuVK/BD+kvEi53r4GvsY9aD7rOiO4szQCvCq8xzUAgGAtuDRTuEO6Gj"
    "+ru3DCJrXyOBBCk7iRvwM8V0PSwD1A671Zurk67jZhOhQ/ar1Zw6EwuThYLlc/sTcismg2trdwPn8xP0C9PSs/Iz7VORE5nz0Fv5+28b3zv/w5UzPxNi7A"
    "Bzomu767LDgru7g1mTwCPNu8ecB/ARg/4LyXLZG0ZDYBOE+8QMHWPvy4ejwdPynAm0CevrW+/L2JQja+eb1wsBWwTMDftL45LDq4u1S/ST3BPmM4NrYewO"
    "c9GTwAAKC9hzJPwCE+VToDtUS/a7YnPCQ/OsSLuQq1lb1LvhS+18KpuXe1KkOQP5c7mD87OW42bL2iRPe8jzvss946SD/tObGzo732P9ex/jeOqE67zr27"
    "OyXBjL8ovAw0qjrPvhcz9jyir1Y6XzxMPEPDWLqWv3m0OUDEvvDAvbXmtB/D7TVUuU44rj0Bwd24GUSQvDa9x707QWbAiMLovKS6p0CnsQu9ODvqqzG73a"
    "a+u+E828IhPeVBfDmQOkLB7jsCgB/EVLzPwMA7LTymvEM4MjxXuDG2+zTWONi4pbRIPddAHMPkQNGtV8A2RJc8BT1EwIXAZUHuvtnA6L5YMbE4VT1Gwd/A"
    "MMHGOj+6HDK1uhS6qTwePg+7M6/8t4w4HbkFuSdADrDAraCtljw5sC68iMNdPA0+17WlNBdAzD5kNMk7rL8="
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
