"""How likely a statement gives what an earlier one told another value, where no rule can read both."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from mnemic.extraction.attributes import PERSONAL, cardinality, light_terms
from mnemic.extraction.clauses import is_short, standing, tells_of_change
from mnemic.extraction.facts import Fact, facts
from mnemic.extraction.rewriting import is_past
from mnemic.extraction.slots import gives_up, read
from mnemic.text.terms import content_terms

__all__ = ["comparable", "contrast", "features", "frame_of", "replacing", "turns"]

_WEIGHTS = (
    4.86, 4.42, -0.60, 0.21, -0.97, -1.07, 1.89, 0.37, -0.95, -0.87, -1.74, -2.37, -1.22, 2.22, 0.82, -1.31,
)  # fmt: skip
"""Of ``features``: a logistic regression on the tuned sequences of the benchmark of updates, with the sentences of LoCoMo's
tuning half as examples of what replaces nothing."""
_NEAREST, _BIAS = 4.16, -8.83

_TURN = re.compile(
    r"\b(?:as of|starting|effective|from (?:this|next|here|today|tomorrow|monday)|since (?:last|this|yesterday|today|monday)|"
    r"(?:has|have|had) become|became|ended up|stopped|quit|gave up|given up|is gone|are gone|no more|left|joined|adopted|"
    r"appointed|elected|succeeded|retired|transferred|hired|named|promoted|assigned|chosen|picked|settled on|decided on|"
    r"agreed on|(?:fell|fallen|rose|risen|climbed|jumped|went|gone|came|come|grown|grew|shrunk|cut|put|brought|taken) (?:up |"
    r"down |back |over )?(?:to|on|from)|stepped (?:in|down|up)|handed over|took up|taken up|substituted|exchanged|"
    r"lately|by now|turned out|instead|signed (?:up |on )?with|swapped|shifted|"
    r"this (?:week|month|term|season|semester|quarter) (?:on|it))\b"
)
"""Weaker signs of a change than those of ``tells_of_change``."""
_MORE = re.compile(r"\b(?:also|too|as well|another|besides|in addition|additionally|on top of|both)\b", re.IGNORECASE)
_SAYS = re.compile(r"^[^:]{1,60} says: ")
"""Before the words of a speaker that could not be told in the third person."""
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_LABEL = frozenset({"say"})
_NOTHING = frozenset(
    "the a an my our their his her its your this that now new is are was in on at for of to with".split()
)


@dataclass(frozen=True, slots=True)
class _Order:
    """For each term of a sentence the term right before it in one phrase."""

    before: dict[str, str]
    frame: frozenset[str]


@lru_cache(maxsize=4096)
def _order(text: str) -> _Order:
    known = read(text)
    values = known.times | known.dates | known.numbers
    before: dict[str, str] = {}
    last = ""
    for word in _WORD.findall(text[:400]):
        low = word.lower()
        terms = () if low in _NOTHING else content_terms(word)
        term = terms[-1] if terms else ""
        if term and last:
            before[term] = last
        last = term if term not in values and not low.endswith(("'s", "ed")) else ""
    return _Order(before, known.terms - values - known.named - known.owned)


def frame_of(text: str) -> frozenset[str]:
    """The terms of a sentence that are neither values nor names."""
    return _order(text).frame


@lru_cache(maxsize=4096)
def turns(text: str) -> bool:
    """Whether its words tell of a change, strongly or weakly."""
    return tells_of_change(text) or _TURN.search(text.lower()) is not None


def contrast(first: str, second: str) -> bool:
    """Whether one noun has another word before it: travel budget, marketing budget."""
    a, b = _order(first), _order(second)
    light = light_terms()
    shared = a.frame & b.frame
    for term in shared:
        x, y = a.before.get(term, ""), b.before.get(term, "")
        if x and y and x != y and (x not in light or y not in light):
            return True
    return False


def comparable(last: str, first: str) -> bool:
    """Whether the later one can be of the same matter at all: about the same people, with a word for the matter in both,
    and a value exchanged.

    What is told as one more thing (also, too) or as only possible takes nobody's place.
    """
    if not (is_short(last) and is_short(first)) or any(standing(last)) or any(standing(first)):
        return False
    if _apart(last, first):
        return False
    a, b = read(last), read(first)
    if a.owned != b.owned or _MORE.search(last) or _MORE.search(first):
        return False
    if bool(a.leading) != bool(b.leading) and (b.ours if a.leading else a.ours):
        return False
    shared = a.topic & b.topic or (frame_of(last) & frame_of(first)) - _LABEL
    if not shared and not _gives_old(last, first):
        return False
    exchanged = a.values - b.values and b.values - a.values
    more_a, more_b = a.topic - b.topic, b.topic - a.topic
    return bool(exchanged) or _gives_old(last, first) or (0 < len(more_a) <= 2 and 0 < len(more_b) <= 2)


def _apart(last: str, first: str) -> bool:
    """Whether facts say that the two are of different matters: a laptop and a phone, two things that are no more."""
    mine, theirs = facts(last), facts(first)
    if not mine or not theirs or _gives_old(last, first):
        return False
    if all(f.tense == "past" for f in mine):
        return True  # what happened once ends nothing
    if not any(f.polarity for f in (*mine, *theirs)):
        return True
    return all(_of_two(f, g, last, first) for f in mine for g in theirs)


def _of_two(f: Fact, g: Fact, last: str, first: str) -> bool:
    """Whether two facts are of two things: each statement names its own by a word that the other has not."""
    if f.subject != g.subject and (f.attribute in PERSONAL or g.attribute in PERSONAL):
        return True
    return f.attribute != g.attribute and _named_alone(f, last, first) and _named_alone(g, first, last)


def _named_alone(fact: Fact, own: str, other: str) -> bool:
    terms = frozenset(content_terms(fact.attribute))
    return fact.cardinality == "one" and terms <= read(own).terms and bool(terms - read(other).terms)


def _is_event(text: str) -> bool:
    """Whether it tells of what was done once, in the past."""
    if turns(text):
        return False
    return any(is_past(word.strip(".,;!")) for word in text.lower().split()[1:10])


def _gives_old(last: str, first: str) -> bool:
    told = _SAYS.sub("", first)
    return bool(gives_up(last, told))


def features(last: str, first: str, cosine: float) -> list[float]:
    """What the likelihood is read from, of the later statement and the earlier one."""
    a, b = read(last), read(first)
    mine = [f for f in facts(last) if f.tense == "present"]
    theirs = [g for g in facts(first) if g.tense == "present"]
    pairs = [(f, g) for f in mine for g in theirs]
    one = [(f, g) for f, g in pairs if cardinality(f.attribute) == "one" and cardinality(g.attribute) == "one"]
    counted = any(x - y and y - x for x, y in ((a.times, b.times), (a.dates, b.dates), (a.numbers, b.numbers)))
    named = bool(a.called - b.called and b.called - a.called)
    frame_a, frame_b = _order(last).frame, _order(first).frame
    topic, more_a, more_b = a.topic & b.topic, a.topic - b.topic, b.topic - a.topic
    contrasts = contrast(last, first)
    return [
        cosine,
        turns(last),
        counted,
        named,
        contrasts and (counted or named),
        contrasts,
        len(frame_a & frame_b) / max(len(frame_a | frame_b), 1),
        bool(topic),
        min(len(more_a), 3) if more_b else 0,
        min(len(more_b), 3) if more_a else 0,
        bool(a.values & b.values),
        any(f.cardinality == "many" for f in [*mine, *theirs]),
        bool(one) and all(f.attribute != g.attribute for f, g in one),
        _gives_old(last, first),
        _is_event(last),
        _is_event(first),
    ]


def replacing(last: str, first: str, cosine: float, *, nearest: bool) -> float:
    """How likely the later statement takes the place of the earlier one, 0 to 1.

    Args:
        last: the later statement.
        first: the earlier one; the two are ``comparable``.
        cosine: of their embeddings.
        nearest: whether no other that is comparable is nearer.
    """
    read_from = zip(_WEIGHTS, features(last, first, cosine), strict=True)
    return 1 / (1 + math.exp(-(_BIAS + _NEAREST * nearest + sum(weight * value for weight, value in read_from))))
