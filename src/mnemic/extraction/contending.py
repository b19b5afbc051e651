"""Which of the first hits of a question answer it with one value each: of these, what was said last holds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.extraction.clauses import standing
from mnemic.extraction.concepts import concepts
from mnemic.extraction.matching import contrast, frame_of, turns
from mnemic.extraction.rewriting import is_past
from mnemic.extraction.slots import Read, mentions, read, replaced_values
from mnemic.extraction.weights import ALONE, ALONE_BIAS, PAIR, PAIR_BIAS, TOGETHER, TOGETHER_BIAS
from mnemic.text import cues
from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.vectors import dot

__all__ = ["Said", "alone", "later_first", "pairs", "together"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_LIKELY = 0.5
"""Likelihood from which a hit counts as an answer."""
_BESIDE = 0.65
"""Share of the likelihood of the likeliest answer that another one has to reach."""
_PLAIN = 0.9
"""Likelihood from which an answer need not share a word with the question, or one that stands for it, apart from names ..."""
_NEAR = 0.5
"""... if its cosine with the question is at least this share of the highest."""
_TIED, _CERTAIN = 0.15, 0.95
"""Likelihood from which two hits speak of one matter, and from which two answers need no likeness."""
_TELLING = 0.2
"""Likelihood from which a hit counts as an answer that tells of a change and names what is asked for, or what it ends."""
_NO_ANSWER, _SURE = 0.3, 0.7
"""A first hit below the one makes way for answers of which one is above the other."""
_MORE = [7, 8]
"""Places of the features of a pair that are told of one hit, then of the other."""
_HOPELESS, _FAR = -2.0, -3.5
"""Log odds that one hit at least must reach, and each that is compared with the others."""
_LATER = re.compile(
    r"\b(?:again|finally|at last|in the end|after all|back (?:to|on|in)|rolled back|revert(?:ed|ing)|migrat(?:ed|ing)|"
    r"switching|(?:from|since|starting|until) "
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december))\b",
    re.IGNORECASE,
)
"""Of a change it tells only beside an earlier answer."""
_SHORT = 200
"""Characters of a message that is read as a whole; of a longer one the sentence that has most in common with the question."""


@dataclass(frozen=True, slots=True)
class Said:
    """A hit, as far as it matters here: what was said when, by whom, and its cosine with the question."""

    text: str
    at: datetime
    speaker: str
    agent: bool
    cosine: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, read: its terms, those that are names, what it is about and whose it is, and what sort of answer it wants."""

    terms: tuple[str, ...]
    names: frozenset[str]
    read: Read
    sort: int


@lru_cache(maxsize=256)
def _asked(question: str) -> _Asked:
    named = frozenset(term for name in names(question) for term in content_terms(name))
    return _Asked(tuple(dict.fromkeys(content_terms(question))), named, read(question), cues.asked_for(question))


@lru_cache(maxsize=4096)
def _spread(text: str) -> frozenset[str]:
    """The terms of a text and what they may stand for."""
    return frozenset(concept for term in content_terms(text) for concept in concepts(term))


_WORDS = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*(?:['\u2019][a-z]{0,2})?|[,;:.!?]")
_SELF = frozenset("my our mine ours".split())
_ENDS = frozenset(
    "is are was were am be been has have had do does did will would can the a an to in on at of for with from by as and or but "
    "that which now i we you they he she it".split()
)


@lru_cache(maxsize=4096)
def _holders(text: str) -> dict[str, str]:
    """For each term of a phrase that has an owner whose it is: ``self`` for my and our, else the term of the owner."""
    found: dict[str, str] = {}
    owner, left = "", 0
    words = _WORDS.findall(text.replace("\u2019", "'"))
    for at, word in enumerate(words):
        low = word.lower()
        following = words[at + 1] if at + 1 < len(words) else ""
        if low in _SELF:
            owner, left = "self", 4
            continue
        if low in _ENDS or not word[0].isalnum() or not left:
            left = 0
        for term in content_terms(low.removesuffix("'s").removesuffix("'")) if left else ():
            found.setdefault(term, owner)
            left -= 1
        if low.endswith(("'s", "s'")) and following[:1].islower() and following.lower() not in _ENDS:
            terms = content_terms(low.removesuffix("'s").removesuffix("'"))
            owner, left = (terms[-1], 4) if terms else ("", 0)
    return found


@lru_cache(maxsize=4096)
def _owners(text: str) -> frozenset[str]:
    """Of whom a sentence tells, the speaker left out: who owns something in it, or is a relative and begins it."""
    found = {owner for owner in _holders(text).values() if owner != "self"}
    kin = {term for word in text.split()[:4] for term in content_terms(word.rstrip(",'\u2019"))} & read(text).owned
    rest = " ".join(text.split()[3:]).lower()
    if not re.search(r"\b(?:my|our)\b", rest):
        found |= kin
    return frozenset(found)


def _about(text: str, asked: _Asked) -> str:
    """The part of a message that has to do with the question."""
    parts = sentences(text[:4_000])[:40]
    if len(parts) < 2:
        return text[:_SHORT]
    wanted = frozenset(concept for term in asked.terms for concept in concepts(term))
    named = frozenset(concept for term in asked.names for concept in concepts(term))
    best = max(parts, key=lambda part: (len(_spread(part) & wanted - named), len(_spread(part) & wanted)))
    return best if len(text) > _SHORT or _spread(best) & wanted else text


def _coverage(asked: _Asked, text: str) -> tuple[float, float]:
    """The share of the question's terms that are said, and of those that are said or paraphrased."""
    if not asked.terms:
        return 0.0, 0.0
    said, spread = frozenset(content_terms(text)), _spread(text)
    return (
        sum(term in said for term in asked.terms) / len(asked.terms),
        sum(bool(concepts(term) & spread) for term in asked.terms) / len(asked.terms),
    )


def _of_question(question: str, one: Said, part: str, rank: int) -> list[float]:
    """What speaks for a hit as an answer, of itself."""
    asked, said = _asked(question), read(part)
    speaker = frozenset(content_terms(one.speaker))
    own, theirs = _owners(part) - speaker, _owners(question) - speaker
    held, wanted = _holders(part), _holders(question)
    shared = [term for term in asked.terms if term in said.terms]
    clash = any(held.get(t, "self") != wanted.get(t, "self") for t in shared)
    agree = any(t in held and held[t] == wanted.get(t) for t in shared)
    topic = asked.read.topic
    plain, loose = _coverage(asked, part)
    past, possible = standing(part)
    contrasts, mine = contrast(question, part), asked.read.ours
    return [
        one.cosine,
        plain,
        loose,
        len(topic & said.terms) / len(topic) if topic else 1.0,
        float(bool(topic) and not topic & said.terms),
        min(len(said.topic - asked.read.terms), 4),
        float(bool(own - asked.read.terms)),
        float(bool(theirs - said.terms)),
        float(bool(said.leading - asked.read.terms - speaker)),
        float(bool((asked.read.named - asked.read.owned - speaker) - said.terms)),
        float(contrasts),
        float(contrasts and not mine),
        float(clash),
        float(agree),
        float(mine and bool(own - asked.read.terms)),
        float(mine and bool(said.leading) and not said.ours),
        float(mine and said.ours),
        float(one.text.rstrip().endswith("?")),
        float(one.agent),
        float(turns(part)),
        float(asked.sort == 0 or bool(cues.traits(part) & asked.sort)),
        float(past),
        float(possible),
        float(len(one.text) > _SHORT),
        math.log1p(rank),
    ]


def _of_pair(part: str, other: str, cosine: float) -> list[float]:
    """What speaks for two hits giving one thing two values."""
    a, b = read(part), read(other)
    typed = any(x - y and y - x for x, y in ((a.times, b.times), (a.dates, b.dates), (a.numbers, b.numbers)))
    named = bool(a.called - b.called and b.called - a.called)
    frame_a, frame_b = frame_of(part), frame_of(other)
    more_a, more_b = a.topic - b.topic, b.topic - a.topic
    return [
        cosine,
        float(typed),
        float(named),
        float(_owners(part) != _owners(other)),
        float(contrast(part, other)),
        len(frame_a & frame_b) / max(len(frame_a | frame_b), 1),
        float(bool(a.topic & b.topic)),
        min(len(more_a), 3) if more_b else 0,
        min(len(more_b), 3) if more_a else 0,
        float(bool(a.values & b.values)),
        float(bool(a.values & b.values) and bool(a.values ^ b.values)),
        float(turns(part) or turns(other)),
    ]


def alone(question: str, said: Sequence[Said]) -> tuple[Floats, list[str]]:
    """What tells of each hit by itself whether it answers, shape (n, features), and the part of each that was read."""
    asked = _asked(question)
    parts = [_about(one.text, asked) for one in said]
    best = max(one.cosine for one in said)
    rows = [
        [*_of_question(question, one, part, rank), one.cosine - best]
        for rank, (one, part) in enumerate(zip(said, parts, strict=True))
    ]
    return np.array(rows, np.float64), parts


def pairs(parts: Sequence[str], cosines: Floats) -> Floats:
    """What tells of two hits whether they give one thing two values, shape (n, n, features)."""
    count = len(parts)
    found = np.zeros((count, count, len(PAIR)))
    for i in range(count):
        for j in range(i):
            found[i, j] = found[j, i] = _of_pair(parts[i], parts[j], float(cosines[i, j]))
            found[j, i, _MORE] = found[i, j, _MORE[::-1]]
    return found


def together(rows: Floats, between: Floats) -> Floats:
    """What tells of each hit beside the others whether it answers, shape (n, more features).

    A hit that gives another value of what a likely answer speaks of is likely an answer too.
    """
    count = len(rows)
    first = _product(rows, np.array(ALONE)) + ALONE_BIAS
    likely = _logistic(first)
    same = _same(between)
    leader = int(np.argmax(first))
    leads = np.arange(count) == leader
    beside = same * likely[None, :]
    columns = [
        first,
        np.full(count, first[leader]),
        leads,
        beside.max(1),
        beside.sum(1) / likely.sum(),
        same[:, leader],
    ]
    return np.hstack([rows, between[:, leader] * ~leads[:, None], np.stack(columns, 1)])


def _same(between: Floats) -> Floats:
    """How likely each two hits give one thing two values, shape (n, n)."""
    count = len(between)
    same = _logistic(_product(between.reshape(count * count, -1), np.array(PAIR)) + PAIR_BIAS).reshape(count, count)
    np.fill_diagonal(same, 0.0)
    return same


def _one_matter(same: Floats, likely: Floats, shared: Mask) -> NDArray[np.intp]:
    """The hits that speak of the same matter as the likeliest answer, at once or through each other; ascending.

    That two hits answer is not enough: in a small record everything said of Ana seems to answer what is asked of her. It is
    where both name what is asked for by the same concept, and one of them tells that it changed (``shared``).
    """
    tied = (same >= _TIED) | (np.minimum.outer(likely, likely) >= _CERTAIN)
    tied |= shared
    found = np.arange(len(likely)) == np.argmax(likely)
    while (more := found | tied[found].any(0)).sum() > found.sum():
        found = more
    return np.flatnonzero(found)


def _ending(parts: Sequence[str], likely: Floats) -> NDArray[np.bool_]:
    """Whether a part says that a value of a likely answer is no more, shape (n, n): of the part, then of the answer."""
    found = np.zeros((len(parts), len(parts)), np.bool_)
    answers = np.flatnonzero(likely >= _LIKELY).tolist()
    for place, part in enumerate(parts):
        for value in replaced_values(part):
            found[place, [other for other in answers if other != place and mentions(parts[other], value)]] = True
    return found


def later_first(question: str, said: Sequence[Said], alike: Floats) -> list[int]:
    """The places of hits in a new order: of those that answer the question, what was said later before what was said earlier.

    Args:
        question: what is asked; it ``asks_what_holds``.
        said: the first hits, best first, at least one.
        alike: their cosines with each other, shape (len(said), len(said)).
    """
    order = list(range(len(said)))
    rows, parts = alone(question, said)
    first = _product(rows, np.array(ALONE)) + ALONE_BIAS
    if first.max() < _HOPELESS:
        return order
    near = np.flatnonzero(first > _FAR)
    between = pairs([parts[place] for place in near], alike[np.ix_(near, near)])
    beside = together(rows[near], between)
    likely = np.zeros(len(said))
    likely[near] = _logistic(_product(beside, np.array(TOGETHER)) + TOGETHER_BIAS)
    asked = _asked(question)
    wanted = _wanted(asked)
    said_of = [_spread(part) & wanted for part in parts]
    common = np.array([[bool(one & other) for other in said_of] for one in said_of]) | _ending(parts, likely)
    common |= common.T
    named = np.array([bool(row.any()) for row in common])
    tells = np.array([turns(part) or _LATER.search(part) is not None for part in parts])
    telling = named & tells & (likely >= _TELLING)
    naming = telling | (named & (likely >= _LIKELY))
    shared = common & np.logical_or.outer(telling, telling) & np.logical_and.outer(naming, naming)
    near_to = _NEAR * max(one.cosine for one in said)
    those: list[int] = [
        place
        for place in map(int, near[_one_matter(_same(between), likely[near], shared[np.ix_(near, near)])])
        if telling[place]
        or (
            likely[place] >= max(_LIKELY, _BESIDE * likely.max())
            and (not wanted or named[place] or (likely[place] >= _PLAIN and said[place].cosine >= near_to))
        )
    ]
    others = (
        [place for place in those if _of_another(parts[place], said[place].speaker, asked, wanted)]
        if _ONES_OWN.search(question)
        else []
    )
    own = [place for place in those if place not in others]
    again = [*sorted(own, key=lambda place: (-said[place].at.timestamp(), place)), *others] if own else those
    if own and likely[0] < _NO_ANSWER and likely.max() >= _SURE:
        return [*again, *(place for place in order if place not in those)]
    for place, other in zip(those, again, strict=True):
        order[place] = other
    return order


def _wanted(asked: _Asked) -> frozenset[str]:
    """The concepts a question asks for; a word of several, such as "pay", means the one that another word names as well."""
    own = {term: concepts(term) for term in asked.terms if term not in asked.names}
    found: set[str] = set()
    for term, meant in own.items():
        beside = frozenset(concept for other, more in own.items() if other != term for concept in more)
        found |= (meant & beside) | {term} if len(meant) > 2 and meant & beside else meant
    return frozenset(found)


_ONES_OWN = re.compile(r"\b(?:I|I'm|my|me|mine)\b")
_THEY = re.compile(r"(?:he|she|they)(?:['\u2019]\w+)?\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:my|our|his|her|their) (?:(?:new|old|former|best) )?([\w-]+)(?![\w'\u2019-])", re.IGNORECASE)


def _of_another(part: str, speaker: str, asked: _Asked, wanted: frozenset[str]) -> bool:
    """Whether a sentence is about somebody else than the speaker who asks about themselves: Lena works, my boss drives."""
    said = read(part)
    if _THEY.match(part) and not said.ours:
        return True
    words = part.split(maxsplit=2)[:2]
    acts = len(words) == 2 and words[0] in names(part) and is_past(words[1])
    leading = said.leading | frozenset(content_terms(words[0]) if acts else ())
    if leading - frozenset(content_terms(speaker)) - frozenset(asked.terms) and not said.ours:
        return True
    kin = _SUBJECT.match(part)
    terms = frozenset(content_terms(kin[1])) & said.owned if kin else frozenset[str]()
    return bool(terms) and not any(concepts(term) & wanted for term in terms)


def _logistic(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(values, -30.0, 30.0)))


def _product(left: NDArray[Any], right: NDArray[Any]) -> Floats:
    return np.asarray(dot(np.asarray(left, np.float32), np.asarray(right, np.float32)), np.float64)
