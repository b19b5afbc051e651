"""The story of an episode, made of what was said: the sentences that tell most, in reported speech, with absolute dates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from math import fsum

from mnemic.ingestion.reported import bare, lacks_subject, quoted, quotes, reported, told_in_quotes
from mnemic.ingestion.turns import is_filler
from mnemic.text.absolute import absolute_dates
from mnemic.text.common import rarity
from mnemic.text.dates import MONTHS
from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.subjects import tells_of_another
from mnemic.text.terms import content_terms
from mnemic.types import Message

__all__ = ["narrative", "speaker"]

LONGEST_SENTENCE = 280
LOOKED_AT = 6_000
"""Characters of a message that are read."""
MOST_SENTENCES = 40
"""Of one message."""
ANSWER_WORDS = 8
"""A first sentence so short is told with the question that it answers."""
TELLS_LITTLE = 2.0
"""Sentences that weigh less are left out, unless there is nothing else."""
LENGTH, LENGTH_PER_MESSAGE, LONGEST = 500, 35, 2_000
"""Characters of a story: so many, and so many more with each message, up to the last."""

_NOTE = re.compile(r"\[([^\[\]]{3,300})\]\s*$")
_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_MARKUP = re.compile(r"\*\*|__|(?<!\w)[*_`](?=\w)|(?<=\w)[*_`](?!\w)")
_NUMBER = re.compile(r"\d")
_YOU = re.compile(r"\b(?:you|your|you're|yours)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:I|I['\u2019]\w+|my|we|our)\b")
_DECISION = re.compile(
    r"\b(?:decid\w+|going to|gonna|will|['\u2019]ll|plan\w*|book\w*|bought|agree\w*|chose|choos\w+|"
    r"sign(?:ed)? up|appl(?:y|ied)|accept\w*|"
    r"moved?|moving|quit|start(?:ed|ing)?|switch\w*|order\w*|schedul\w+|got (?:a|the|my|an)|became|joined|won|married|born)\b",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"(?:that|this|it|those|these|they|he|she)\b(?!['\u2019]?s? (?:day|week|weekend|year|month|morning))", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence of one message, with what it tells."""

    at: int
    order: int
    text: str
    terms: frozenset[str]
    marks: frozenset[str]
    bonus: float
    answered: str | None
    of_another: bool = False


def speaker(message: Message) -> str:
    """Who speaks, as a story says it: the name, else the role."""
    return message.name or f"the {message.role}"


def narrative(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """The story of an episode in the third person: who said what, in the order of time.

    It is made of sentences that were said, turned into reported speech, with relative dates made absolute; greetings and
    filler are left out, and of the rest those that tell most (names, numbers, dates, decisions, rare words) are kept.

    Args:
        messages: of one episode, in the order of time.
        background: how many messages of the whole conversation hold a term, as ``counted`` counts them: frequent terms tell
            less.

    Returns:
        At most 500 characters and 35 more with each message, never above 2,000; empty for no messages.
    """
    found = [piece for at in range(len(messages)) for piece in _sentences_of(messages, at)]
    limit = min(LENGTH + LENGTH_PER_MESSAGE * len(messages), LONGEST)
    told: list[tuple[int, int, str]] = []
    length = 0
    covered: set[str] = set()
    waiting = list(found)
    weights = {term: _weight(term, background) for piece in found for term in piece.terms}
    while waiting:
        gains = [_gain(piece, covered, weights) for piece in waiting]
        gain = max(gains)
        if told and gain <= 0:
            break
        best = waiting.pop(gains.index(gain))
        line = _told(best, messages)
        if line and length + len(line) + 1 <= limit and line not in {text for *_, text in told}:
            told.append((best.at, best.order, line))
            length += len(line) + 1
            covered |= best.terms | best.marks
    return " ".join(line for *_, line in sorted(told)) or _bare_story(messages)


def _bare_story(messages: Sequence[Message]) -> str:
    """Of a talk of nothing but filler: who spoke."""
    who = list(dict.fromkeys(speaker(m) for m in messages))
    if not who:
        return ""
    listed = who[0] if len(who) == 1 else f"{', '.join(who[:5][:-1])} and {who[:5][-1]}"
    text = f"{listed} exchanged greetings and short replies." if len(who) > 1 else f"{listed} said only a few words."
    return (text[0].upper() + text[1:])[:LONGEST]


def _sentences_of(messages: Sequence[Message], at: int) -> list[_Sentence]:
    message = messages[at]
    text = _MARKUP.sub("", _CODE.sub(" ", message.content[:LOOKED_AT]))
    note = _NOTE.search(text)
    pieces = sentences(text[: note.start()] if note else text)[:MOST_SENTENCES]
    question = _question_before(messages, at)
    others = frozenset(m.name for m in messages if m.name and m.name != message.name)
    found: list[_Sentence] = []
    of_another = False
    for order, whole in enumerate(pieces):
        piece = bare(whole, others)
        told = None if lacks_subject(piece) else tells_of_another(piece)
        of_another = of_another if told is None else told
        if is_filler(piece):
            continue
        short = len(piece.split()) <= ANSWER_WORDS and not _OWN.match(piece)
        found.append(
            _Sentence(
                at, order, piece, *_told_by(piece, message), question if short and not found else None, of_another
            )
        )
    if note:
        found.append(_Sentence(at, len(pieces), note[0], frozenset(content_terms(note[1])), frozenset(), -2.0, None))
    return found


def _question_before(messages: Sequence[Message], at: int) -> str | None:
    """The question that this message may answer."""
    if not at or speaker(messages[at - 1]) == speaker(messages[at]):
        return None
    before = _NOTE.sub("", messages[at - 1].content[-LOOKED_AT:]).rstrip()
    if not before.endswith("?"):
        return None
    asked = bare(sentences(before)[-1])
    return asked if 2 < len(asked.split()) <= 25 else None


def _told_by(text: str, message: Message) -> tuple[frozenset[str], frozenset[str], float]:
    """Terms, marks that must not be lost (names and numbers), and what speaks for the sentence beside them."""
    marks = {f"name {name}" for name in names(text)} | {
        f"number {word}" for word in text.split() if _NUMBER.search(word)
    }
    bonus = 0.8 * bool(_DECISION.search(text)) + 0.6 * bool(_DATED.search(text)) + 0.5 * bool(_OWN.search(text))
    bonus -= 1.2 * text.rstrip().endswith("?") + 0.7 * bool(_YOU.search(text)) + 0.5 * bool(_DANGLING.match(bare(text)))
    if message.role == "assistant" and not message.name:
        bonus -= 0.8
    return frozenset(content_terms(text)), frozenset(marks), bonus


def _weight(term: str, background: Mapping[str, int] | None) -> float:
    weight = rarity(term)
    return weight / (1 + background.get(term, 0)) ** 0.25 if background else weight


def _gain(piece: _Sentence, covered: set[str], weights: Mapping[str, float]) -> float:
    """What the sentence adds to what is told already, for its length; the same in every process, so summed exactly."""
    terms = fsum(weights[term] for term in piece.terms - covered)
    marks = 0.8 * len(piece.marks - covered)
    weight = terms + marks + piece.bonus
    return (weight - TELLS_LITTLE) / (30 + min(len(piece.text), LONGEST_SENTENCE)) ** 0.5


def _told(piece: _Sentence, messages: Sequence[Message]) -> str:
    """The sentence as the story tells it."""
    message = messages[piece.at]
    who = speaker(message)
    others = list(dict.fromkeys(speaker(m) for m in messages if speaker(m) != who))
    note = _NOTE.fullmatch(piece.text)
    if note:
        verb, _, what = note[1].strip().partition(" ")
        return _capital(f"{who} {'shared' if verb == 'shares' else verb} {what}.") if verb.endswith("s") else ""
    text = " ".join(_shortened(piece.text).split())
    dated, on = text, ""
    if message.sent_at:
        said = message.sent_at if message.sent_at.tzinfo else message.sent_at.replace(tzinfo=UTC)
        dated = absolute_dates(text, said)
        on = f" on {said.day} {MONTHS[said.month - 1].capitalize()} {said.year:04d}" if dated != text else ""
    if piece.answered:
        return _capital(f"asked {quoted(piece.answered)}, {who} answered{on}: {quoted(text)}")
    if quotes(dated, who, frozenset(others), of_another=piece.of_another):
        return told_in_quotes(quotes(text, who, frozenset(others), of_another=True) or text, who, on)
    return reported(dated, who, others[0] if len(others) == 1 else None, frozenset(others), of_another=piece.of_another)


def _shortened(text: str) -> str:
    """A long sentence up to the last clause or word that fits."""
    if len(text) <= LONGEST_SENTENCE:
        return text
    kept = text[:LONGEST_SENTENCE]
    cut = max(kept.rfind(mark) for mark in (", ", "; ", ": ", " - "))
    cut = cut if cut > LONGEST_SENTENCE // 2 else kept.rfind(" ")
    return (kept[:cut] if cut > 0 else kept).rstrip(" ,;:-") + "\u2026"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
