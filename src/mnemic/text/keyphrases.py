"""Keyphrase extraction from a text alone.

Candidates are cut as RAKE cuts them, at stop words and punctuation (Rose, Engel, Cramer and Cowley, "Automatic keyword
extraction from individual documents", in Text Mining: Applications and Theory, 2010), and also at verbs, which leaves
noun phrases. They are weighted by word frequency, length, capitals and position.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mnemic.text.dates import MONTHS
from mnemic.text.names import is_verb
from mnemic.text.terms import STOP_WORDS

LONGEST = 20_000
"""Characters read of a text."""
WORDS = 4
"""Most words of a phrase; longer runs are cut."""
ENOUGH = 3
"""With this many phrases, those that are only a time are left out."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_TOKENS = re.compile(
    rf"(?P<url>(?:https?://|www\.)\S+)|[{_UNSPACED}]+"
    rf"|\.?(?:(?![{_UNSPACED}])\w)(?:(?:(?![{_UNSPACED}])[\w\u0300-\u036f\u0900-\u0dff])|[./\\@:_'\u2019-](?=\w)|[+#])*"
    r"|[^\w\s]"
)
# Function characters of Chinese, and the kana that joins words in Japanese: where a run without spaces is cut.
_JOINS = re.compile(
    "[\u7684\u4e86\u662f\u5728\u548c\u6211\u4f60\u4ed6\u5979\u5b83\u4eec\u5c31\u90fd\u800c\u4e0e\u4e5f\u3041-\u309f]+"
)
_STOPS = STOP_WORDS | frozenset(
    """always never ever every instead rather maybe perhaps still yet because therefore without within across among per via
    us let cannot must shall may please also whether since unless although though almost already else quite least less
    several whole toward towards upon back away around along behind beside everybody everyone everything somebody someone
    something anybody anyone anything nobody nothing none thing things stuff way ways sure fine good great nice better best
    bad new old big small own true false yes hi hello thanks dear able much next last ago later soon together apart near
    honestly terribly against""".split()
)
_SPANS = frozenset("day days week weeks month months year years hour hours minute minutes second seconds times".split())
_TIMES = _SPANS | frozenset(
    (*MONTHS, *"""monday tuesday wednesday thursday friday saturday sunday today yesterday tomorrow tonight weekend o'clock
    morning afternoon evening night time once twice first third""".split())
)  # fmt: skip


def _runs(text: str) -> Iterator[list[str]]:
    """The tokens between punctuation; runs of scripts without spaces are split at particles."""
    run: list[str] = []
    for match in _TOKENS.finditer(text):
        token = match[0]
        if match["url"] or (len(token) == 1 and not token.isalnum()):
            yield run
            run = []
        elif pieces := [piece[:8] for piece in _JOINS.split(token) if len(piece) > 1] if _unspaced(token) else []:
            yield run
            yield from ([piece] for piece in pieces)
            run = []
        else:
            run.append(token.removesuffix("'s").removesuffix("\u2019s"))
    yield run


def _unspaced(token: str) -> bool:
    return not token.isascii() and bool(_IS_UNSPACED.match(token))


def _ends_phrase(word: str, before: str, *, english: bool) -> bool:
    """Whether a phrase ends at this word, given the one before it in its run (empty at the start)."""
    lowered = word.lower().replace("\u2019", "'")
    if lowered in _STOPS or lowered.partition("'")[0] in STOP_WORDS:
        return True
    if not english:
        return len(word) <= 3 and word.islower()
    if not word.isalpha() or (word[0].isupper() and before):
        return False
    return is_verb(lowered, before.lower()) or (len(word) > 4 and lowered.endswith("ly"))


def _phrases(run: Sequence[str], *, english: bool) -> Iterator[tuple[str, ...]]:
    phrase: list[str] = []
    for before, word in pairwise(("", *run, "")):
        if word and not _ends_phrase(word, before, english=english):
            phrase.append(word)
            continue
        kept = list(phrase)
        while kept and (kept[-1].lower() in _TIMES or kept[-1].lower() in _NUMBERS):
            kept.pop()  # design team today: the design team
        yield tuple((kept or phrase)[:WORDS])
        phrase = []


_NUMBERS = frozenset("one two three four five six seven eight nine ten".split())


def _about_something(phrase: Sequence[str]) -> bool:
    """Whether a word is more than a number, a single letter or a time span."""
    return any(
        len(word) > 1 and any(map(str.isalpha, word)) and word not in _SPANS and word not in _NUMBERS for word in phrase
    )


def _is_time(phrase: Sequence[str]) -> bool:
    return all(word in _TIMES or not any(map(str.isalpha, word)) for word in phrase)


def keyphrases(text: str, *, most: int = 5) -> list[str]:
    """The phrases a text is about, best first, as they are written in it.

    Deterministic and made from the text alone. Made for English; elsewhere the shortest words are taken for function words,
    and scripts without spaces are cut at their commonest particles.

    Args:
        text: any text, in any language; its first 20,000 characters count.
        most: how many phrases at most, at least 0.

    Returns:
        Distinct phrases of one to four words, none of which lies within another, none only of verbs or numbers; times
        only where there are fewer than three others. Fewer than ``most``, down to none, when the text holds no more.
    """
    runs = list(_runs(text[:LONGEST]))
    spoken = {word.lower() for run in runs for word in run}
    english = len(spoken) < 6 or any(word in STOP_WORDS and len(word) > 1 for word in spoken)
    written = [phrase for run in runs for phrase in _phrases(run, english=english)]
    counts = Counter(word.lower() for phrase in written for word in phrase)
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    weights: dict[tuple[str, ...], float] = {}
    for place, phrase in enumerate(written):
        key = tuple(word.lower() for word in phrase)
        if key not in found and _about_something(key):
            named = any(word != lowered for word, lowered in zip(phrase, key, strict=True))
            repeated = sum(counts[word] for word in key) / len(key)
            found[key] = phrase
            weights[key] = repeated * len(key) ** 0.5 * (1 + named) / (1 + place / len(written))
    chosen: list[tuple[str, ...]] = []
    for key in sorted(found, key=lambda key: (_is_time(key), -weights[key])):  # stable: the first wins a tie
        if len(chosen) >= (min(most, ENOUGH) if _is_time(key) else most):
            break
        if not any(set(key) <= set(other) or set(other) <= set(key) for other in chosen):
            chosen.append(key)
    return [" ".join(found[key]) for key in chosen]
