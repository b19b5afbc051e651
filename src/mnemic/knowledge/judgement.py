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
    "iKqCP7UsObUGuAMvz7teORpAjz7VO+FCzsLeMwQ90cCdOqHBXzd7vOi4cTLpPPA3kDoFr3C8DL/APUK/UDWvvh/ASDRywHY9TT73Pca9ZjluwGRC7rnSPy"
    "Y64L/KO/G58x+JnYuuTTtHOrI/aDdGPjhCFUEfPC/AC7M8NyLB5T8wuPs8mzsPOuNAULy4Pf85JULSPh5ADEG0NAGowUC+vkPCyjNtuIg4xzZRtEy6rEN0"
    "vVc5DbL1wiMxIkDivwzDxCxwuny9hLlfs9qx3UKKOqcyHL6oQCY690BvwNTADjrhPSM72EDKug04fTcXLtM9irKPQCa6DjnDvedAQrsAgCtAbLPru/OtM6"
    "8ZQsS82zgguy/Bvj58vYW0zMIzO3I92rJ/wNK9lL2Juoi8Ebj4Q8i8fxlLQjs7eLygP2HBjTQoQI2ufsEALn69SsBowEs59D7pPKc+xT93uzk4cUAgtqdD"
    "dcD3MaW8D77fNqu66q4pQGa+PsAyvKu0Pj6YsqU/XL2yt4m5yz0MPr6pgb8Wua25i7XLQDbAnLrlQN+18jxzQFhCnkKgQGg9NLfTvxu9br3tvc0/qTlTsH"
    "m5GrYAALu9XrESQHW867prqKhCjUEcsbsr90HfN9u9PTwuscO1jr5rv3c5ksBAwek8vrhgPk1AFzkcvD05Sbewtpa8cD4YwQm+CjWJvIG+D8AqwWs6rrzq"
    "vutAk0KPNuO0lzCZtoM+bLonLpW63TRSvXc/QSvMQJu8ZLSjPwFAZD38MK9B+z80orA+2DR0Pp28WLlJvLS4Pz5Utjuxcr2LuTU7n7YhM4a8uDqgOiQ7AD"
    "oAPfQxezNpPNu6er/7vgA9ar4gAK23TT1sPvoshcKTroqoZze4tDJBPb2StgAu27zZQQ69V0N2Ms++Fr3xwBQtbjn+PL04yx+lQdw31TdFq24/iDy0Lyc7"
    "s7sjKaUy0zM/vbE9mL+Mu5uwNb7nwn1AmDrVuZQ4FrowLR48RbYgQZy9JjkawKmvjz3wsfS/mL6APAg7zMA="
)
"""Added to the log odds of the words of a sentence."""
FRAME = LinearProbe(
    "JLpqQtW8mTolPY84akRyus/At7czLki9ykEevsy3vD3mvT49WbiGPllCHD0xuG82VLnatoC3iUFiKUU7SUCjMYYdaTR2NnW3ybjJtcA+OjXMPu66uLpJPI"
    "S9qTosulouRsTZtYHChjnkujU5PL/9ORO8jK7hvfk0EMK8NU881kB5OsCpXSmPOUw0Eb89wC/A2sHfqvi+gr7cPKa6BrV4u7Ezqj/oOq89tC4nNT80KL0K"
    "QaZBSL/KNQ9ATEC/u+s75cBHvHA9cS0qucw1azuqwITBgr7ItcG8ckGYOkZAar2Uuty9/T2AvGK6673kvZM+TT4iO5e4RjCZvMq9KjgAgLwzghXMtT66BT"
    "2kvPTBYrZZOqlCLLSKv5Q8eEOXwD5AEL1ruSU8mzSfO6k/xr08wyY01DA2rAk/Ojnvs1Wrf7boP6cfrEDvPAtANj6gOtY6djwYwOu3kb7Kvgs60CwbOBDA"
    "pTiJury7ZDpZunQ2ljwfPPK8f8BXra89H70/La616zZIOqq8aMGsPga7eDs2PxXAhUCGvji/47+RQi6+XL34t9WqXcA/tX07TTriup6/ZjzMPq87Qbi5wJ"
    "c9nTwAABe9CzQfwC89PTomsdC/L7WPPKg+YMO+uqCnFr2YvdW7ksL8uea6xkImP/459T7sOSw3UL3NRDS95zu3r6k6/D8+PKWy4L1UQCEs0DfZK4u7xLwd"
    "O0TBMsDKvMwzDDm9vpg3VT7SsMo5tTkIPJ3DUbq1voC4DUBtv2LBfbh+tQ3DbDYCtH8xXj2XwHK5CER8vDe9sL1yQTnAi8KFvfW5EkDlK+S8/zmCMay7Ry"
    "0dutw628LgPEVBQzi6OJLBSzwCgFjEtLgCwUA8IjzivOo5rzmAtiayW567OPW6obiDPg5B4cIWQVmta8ChQ2M+lDs9wILAbEEFvgXBiLwkoIY4zTzDwUHB"
    "iMFbOUC7G6+IvBq7dTujPTy6AKlOuQs6/7hpuFBANDELtJMzLTl2pr66QcNXO3A9Y7NuNeI+5j4oNXQ7Rr8="
)
"""The log odds that a sentence frames those around it."""


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
