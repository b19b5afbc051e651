"""Keyphrases: the runs of words a text is about, scored from the text alone.

Candidates are cut as RAKE cuts them, at stop words and punctuation (Rose, Engel, Cramer and Cowley, "Automatic keyword
extraction from individual documents", in Text Mining: Applications and Theory, 2010), and at verbs and adverbs besides, so
that what remains reads like a noun phrase. They are scored as YAKE! scores them, from the case, position, frequency,
spread and company of their words (Campos et al., "YAKE! Keyword extraction from single documents using multiple local
features", Information Sciences 509, 2020).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, median, pstdev

from mnemic.text.dates import MONTHS
from mnemic.text.irregular import BASE_FORMS
from mnemic.text.terms import STOP_WORDS

__all__ = ["keyphrases"]

LONGEST = 20_000
"""Characters that are looked at: what a text is about stands in its first pages."""
WORDS = 4
"""Words of the longest phrase; a longer run is read in windows of three."""
ENOUGH = 3
"""With so many phrases, those that only tell a time are left out."""

_URL = re.compile(r"(?:https?://|www\.)\S+")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKENS = re.compile(
    rf"[{_UNSPACED}]+"
    rf"|\.?(?:(?![{_UNSPACED}])\w)(?:(?:(?![{_UNSPACED}])[\w\u0300-\u036f\u0900-\u0dff])|[./\\@:_'\u2019-](?=\w)|[+#])*"
    r"|[^\w\s]"
)
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f\n]")
# Function characters of Chinese, and the kana that joins words in Japanese: where a run without spaces is cut.
_JOINS = re.compile(
    "[\u7684\u4e86\u662f\u5728\u548c\u6211\u4f60\u4ed6\u5979\u5b83\u4eec\u5c31\u90fd\u800c\u4e0e\u4e5f\u3041-\u309f]+"
)

_EXTRA_STOPS = frozenset(
    """always never ever every instead rather maybe perhaps still yet however because therefore without within across
    among per via us let cannot must shall may please also whether since unless although though etc eg ie anyway almost
    already else even ever far quite least less several whole toward towards upon back away around along behind beside
    besides everybody everyone everything somebody someone something anybody anyone anything nobody nothing none
    thing things stuff bit way ways sure fine good great nice better best bad new old big small own true false
    yes hi hello thanks thank haha lol dear able much next last ago later soon together apart""".split()
)
_VERB_BASES = """accept achieve add admit adopt advise afford agree allow announce appear apply appreciate argue arrange arrive
    ask assume attend avoid be become begin believe belong bring buy carry cause celebrate choose collect come complain
    compare confirm connect consider consist contain continue contribute convince cook create decide declare define delete
    deliver deny depend describe deserve destroy discover discuss dislike eat enable encourage enjoy ensure enter exist expect
    explain express fail feel find finish fit follow forget forgive get give go grow handle happen hate have hear help hold
    hope hurt ignore imagine implement improve include increase inform inherit insist install intend introduce invite involve
    join keep know lead learn leave lend let lie listen live look lose love make marry mean meet mention mind move need
    notice obtain obey occur offer open own participate pay perform persuade postpone prefer prepare present prevent produce
    promise propose protect prove provide publish put quit raise reach realise realize receive recognise recognize
    recommend reduce refer reflect refuse regard reject relate remain remember remind remove repeat replace reply
    require resolve respond result retire return say see seem select sell send separate serve shut sit sleep solve speak
    spend stand start stay stop succeed suffer suggest supply suppose survive take talk teach tell tend thank think throw
    translate travel treat try turn understand use wait walk want warn wash watch wear win wish wonder work worry
    wrap write visit prefer run call chose adopt want like marry taste say""".split()
_ALSO_NOUNS = frozenset(  # their base form may well be a noun: only their other forms are cut
    """cause cook help hold hope love mind need notice offer own present promise result return run sleep start stay stop
    supply talk travel treat turn use visit wait walk watch wish work worry call move""".split()
)
_NOUNS = frozenset(
    "building feeling finding married meeting meetings reading saying travelling wedding writing".split()
)

_BEFORE_A_VERB = frozenset("to always never i we you they please who".split())


def _forms(base: str) -> Iterator[str]:
    stem = base.removesuffix("e")
    yield from (f"{base}s", f"{base}es", f"{stem}ed", f"{stem}ing", f"{base}{base[-1]}ing", f"{base}{base[-1]}ed")
    if base.endswith("y"):
        yield from (f"{base[:-1]}ies", f"{base[:-1]}ied", f"{base}ing", f"{base}ed")
    elif base not in _ALSO_NOUNS:
        yield base


_PLURALS = frozenset("children kids feet geese knives men mice people shelves teeth wives wolves women".split())
_VERBS = (
    frozenset(form for base in _VERB_BASES for form in _forms(base)) | (frozenset(BASE_FORMS) - _PLURALS)
) - _NOUNS
_TIMES = frozenset(
    (*MONTHS, *"""monday tuesday wednesday thursday friday saturday sunday today yesterday tomorrow tonight day days week weeks
    weekend month months year years hour hours o'clock minute minutes second seconds morning afternoon evening night time times
    daily weekly monthly yearly once twice first second third""".split())
)  # fmt: skip
_SPANS = frozenset(
    "day days week weeks month months year years hour hours minute minutes second seconds time times today".split()
)


@dataclass(slots=True)
class _Word:
    """What a text shows of one word: where it stands, how it is written, what stands beside it."""

    count: int = 0
    capitals: int = 0
    sentences: list[int] = field(default_factory=list[int])
    left: Counter[str] = field(default_factory=Counter[str])
    right: Counter[str] = field(default_factory=Counter[str])


def _sentences(text: str) -> Iterator[list[list[str]]]:
    """Each sentence as runs of tokens between punctuation."""
    runs: list[list[str]] = [[]]
    for token in _TOKENS.findall(text):
        if _SENTENCE_END.fullmatch(token):
            yield runs
            runs = [[]]
        elif len(token) == 1 and not token.isalnum():
            runs.append([])
        elif re.match(rf"[{_UNSPACED}]", token):
            runs += [[piece[:8]] for piece in _JOINS.split(token) if len(piece) > 1]
            runs.append([])
        else:
            runs[-1].append(token.removesuffix("'s").removesuffix("\u2019s"))
    yield runs


def _cuts(word: str, before: str, *, english: bool) -> bool:
    """Whether a phrase ends at this word, given the one before it in its run (empty at the start)."""
    lowered = word.lower().replace("\u2019", "'")
    if lowered in STOP_WORDS or lowered in _EXTRA_STOPS or lowered.partition("'")[0] in STOP_WORDS:
        return True
    if not english:
        return len(word) <= 3 and word.islower()
    if lowered in _VERBS or (lowered in _ALSO_NOUNS and before.lower() in _BEFORE_A_VERB):
        return True
    own_capital = word[0].isupper() and before
    return not own_capital and len(word) > 4 and lowered.endswith(("ed", "ly")) and word.isalpha()


def _candidates(runs: Sequence[list[str]], *, english: bool) -> Iterator[tuple[str, ...]]:
    for run in runs:
        phrase: list[str] = []
        for before, word in pairwise(("", *run, "")):
            if word and not _cuts(word, before, english=english):
                phrase.append(word)
                continue
            phrase = _without_its_time(phrase)
            if len(phrase) <= WORDS:
                yield tuple(phrase)
            else:
                yield from (tuple(phrase[i : i + 3]) for i in range(len(phrase) - 2))
            phrase = []


def _without_its_time(phrase: list[str]) -> list[str]:
    """Design team today: the design team. A phrase of nothing but times is left whole."""
    kept = list(phrase)
    while kept and kept[-1].lower() in _TIMES:
        kept.pop()
    return kept or phrase


def _about_something(phrase: Sequence[str]) -> bool:
    """Some word that is no number and no single letter."""
    return any(len(word) > 1 and any(c.isalpha() for c in word) for word in phrase)


def _vague(phrase: Sequence[str]) -> bool:
    """Last month, a few days: they tell neither of what nor when."""
    return all(word in _SPANS or not any(c.isalpha() for c in word) for word in phrase)


def _only_a_time(phrase: Sequence[str]) -> bool:
    return all(word in _TIMES or not any(c.isalpha() for c in word) for word in phrase)


def _observed(sentences: Sequence[Sequence[list[str]]]) -> dict[str, _Word]:
    words: dict[str, _Word] = defaultdict(_Word)
    for number, runs in enumerate(sentences):
        opening = True
        for run in runs:
            for word in run:
                seen = words[word.lower()]
                seen.count += 1
                seen.capitals += (word[0].isupper() and not opening) or any(c.isupper() for c in word[1:])
                seen.sentences.append(number)
                opening = False
            for before, after in pairwise(run):
                words[before.lower()].right[after.lower()] += 1
                words[after.lower()].left[before.lower()] += 1
    return words


def _scores(words: dict[str, _Word], sentences: int, *, english: bool) -> dict[str, float]:
    """YAKE's score of every word: the lower, the more it says of the text."""
    counts = [seen.count for word, seen in words.items() if not _cuts(word, "", english=english)] or [1]
    usual, most = mean(counts) + pstdev(counts), max(counts)
    found: dict[str, float] = {}
    for word, seen in words.items():
        company = sum(len(side) / side.total() for side in (seen.left, seen.right) if side)
        related = 1 + company * seen.count / most
        case = seen.capitals / (1 + math.log(seen.count))
        position = math.log(math.log(3 + median(seen.sentences)))
        spread = len(set(seen.sentences)) / sentences
        found[word] = related * position / (case + seen.count / usual / related + spread / related)
    return found


def keyphrases(text: str, *, most: int = 5) -> list[str]:
    """The phrases a text is about, best first, as they are written in it.

    Deterministic and made from the text alone. Tuned to English; elsewhere the shortest words are taken for its function
    words, and scripts without spaces are cut at their commonest particles.

    Args:
        text: any text, in any language; its first 20,000 characters count.
        most: how many phrases at most, at least 0.

    Returns:
        Distinct phrases of one to four words, none of which lies within another, none only of verbs or numbers; times
        only where there are fewer than three others.
        Fewer than ``most``, down to none, when the text holds no more.
    """
    sentences = [runs for runs in _sentences(_URL.sub(" , ", text[:LONGEST])) if any(runs)]
    spoken = [word.lower() for runs in sentences for run in runs for word in run]
    english = len(spoken) < 6 or any(word in STOP_WORDS and len(word) > 1 for word in spoken)
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for runs in sentences:
        for phrase in _candidates(runs, english=english):
            key = tuple(word.lower() for word in phrase)
            if _about_something(key) and not _vague(key):
                counts[key] += 1
                found.setdefault(key, phrase)
    score = _scores(_observed(sentences), len(sentences), english=english)

    def weight(key: tuple[str, ...]) -> float:
        parts = [score[word] for word in key]
        return math.prod(parts) / (counts[key] * (1 + sum(parts)))

    chosen: list[tuple[str, ...]] = []
    for key in sorted(found, key=lambda key: (_only_a_time(key), weight(key))):  # stable: the first wins a tie
        if len(chosen) >= (min(most, ENOUGH) if _only_a_time(key) else most):
            break
        if not any(set(key) <= set(other) or set(other) <= set(key) for other in chosen):
            chosen.append(key)
    return [" ".join(found[key]) for key in chosen]
