"""Titles and excerpts of episodes without a language model: words of their own messages, in any language.

A title is the clause, an excerpt the few sentences that tell most of the episode: whose words are said in several of its
messages, in few others, and are long, as rare words are in every language.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import Message

__all__ = ["excerpt", "frequencies", "title"]

TITLE, SENTENCE, EXCERPT = 64, 200, 300
"""Characters of a title, of a sentence of an excerpt, and of an excerpt."""
LOOKED_AT, MOST_SENTENCES = 2_000, 16
"""Characters and sentences of a message that are looked at."""
CLAUSES = 12
"""Clauses of a sentence in which titles begin."""
LITTLE = 3
"""A sentence that tells less than a third of what the best one does is left out of an excerpt."""
LONG = 7
"""Letters from which a word counts whole."""
ASSISTANT, QUESTION, FIRST, OPENING, WHOLE = 0.5, 0.8, 1.3, 1.15, 1.15
"""What is said by an assistant, asked, said first, at the beginning of a sentence, and not cut, against the rest."""

_MARKUP = re.compile(r"(```|~~~).*?(?:\1|\Z)|https?://\S+|\[[^\[\]]{3,300}\]\s*$|\*\*|__|[`#]+", re.DOTALL)
_BREAK = re.compile(r"[,;:]\s+|\s[-\u2013\u2014]+\s|[\u3001\uff0c\uff1b\uff1a]")
_EDGES = " \t\r\n,;:.!?-\u2013\u2014\u3002\uff01\uff1f\u3001\uff0c"
_LEAD = re.compile(
    r"(?:(?:and|but|so|or|also|oh|ok|okay|yeah|yes|well|hi|hey|hello|thanks|btw)\b['\u2019]?[\s,!.]+)+", re.IGNORECASE
)
"""English words that lead into a clause and are no part of it."""


def frequencies(messages: Iterable[Message]) -> Counter[str]:
    """How many messages hold each term, and under the empty one how many there are."""
    found: Counter[str] = Counter()
    for message in messages:
        found.update({"", *content_terms(message.content[:LOOKED_AT])})
    return found


def title(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """The clause that tells most of an episode, as it was said; deterministic.

    Args:
        messages: of the episode, in the order of time.
        background: the ``frequencies`` of the conversation it is part of; without it, of the episode alone.

    Returns:
        At most 64 characters of one message, cut at a word and ended with an ellipsis where the clause is longer, its first
        letter a capital. Of messages without words who spoke. Empty for no messages.
    """
    weights = _weights(messages, background)
    best, chosen = 0.0, ""
    for at, message in enumerate(messages):
        first = FIRST if at == 0 else 1.0
        for sentence in _sentences(message):
            share = first * _share(message, sentence)
            for clause, opens in _clauses(sentence):
                form = (OPENING if opens else 1.0) * (1.0 if clause.endswith("\u2026") else WHOLE)
                worth = share * form * _told(clause, weights) / (4 + len(clause.split())) ** 0.5
                if worth > best:
                    best, chosen = worth, clause
    chosen = chosen or _anything(messages, TITLE)
    return chosen[:1].upper() + chosen[1:]


def excerpt(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """The sentences that tell most of an episode, each with who said it on a line of its own, in the order of time.

    Args:
        messages: of the episode, in the order of time.
        background: as for ``title``.

    Returns:
        Some 300 characters of sentences as they were said, long ones cut at a word. Empty for no messages.
    """
    weights = _weights(messages, background)
    found = [(at, s, content_terms(s)) for at, message in enumerate(messages) for s in _sentences(message)]
    chosen: dict[int, str] = {}
    told, length, least = set[str](), 0, 0.0
    while length < EXCERPT:
        worth = [
            _share(messages[at], s) * sum(weights.get(t, 0.0) for t in sorted({*terms} - told)) / (60 + len(s)) ** 0.5
            for at, s, terms in found
        ]
        place = max(range(len(found)), key=worth.__getitem__, default=-1)
        if place < 0 or worth[place] <= least:
            break
        least = least or worth[place] / LITTLE
        at, sentence, terms = found[place]
        line = f"{_speaker(messages[at])}: {_cut(sentence, SENTENCE)}"
        told.update(terms)
        if not chosen or length + len(line) <= EXCERPT:
            chosen[place] = line
        length += len(line)
    return "\n".join(line for _, line in sorted(chosen.items())) or _anything(messages, SENTENCE)


def _weights(messages: Sequence[Message], background: Mapping[str, int] | None) -> dict[str, float]:
    """How much each term tells of an episode; the name of a speaker tells nothing."""
    inside = frequencies(messages)
    around = background or inside
    speakers = {term for message in messages if message.name for term in content_terms(message.name)}
    total = max(around.get("", 0), len(messages))
    return {
        term: (1 + math.log(count))
        * math.log(1 + total / max(around.get(term, 0), count))
        * min(len(term), LONG)
        / LONG
        for term, count in inside.items()
        if term and term not in speakers
    }


def _share(message: Message, sentence: str) -> float:
    asks = sentence.endswith(("?", "\uff1f"))
    return (ASSISTANT if message.role == "assistant" and not message.name else 1.0) * (QUESTION if asks else 1.0)


def _told(text: str, weights: Mapping[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in dict.fromkeys(content_terms(text)))


def _sentences(message: Message) -> list[str]:
    """The sentences of a message in one line each, without code and markup."""
    text = _MARKUP.sub("", message.content[:LOOKED_AT])
    return [" ".join(sentence.split()) for sentence in sentences(text)[:MOST_SENTENCES]]


def _clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """Runs of clauses that fit a title, and the beginnings of those that do not; whether they open the sentence."""
    breaks = [found.end() for found in _BREAK.finditer(sentence)]
    bounds = [0, *breaks[:CLAUSES], len(sentence)]
    for at, start in enumerate(bounds[:-1]):
        for end in bounds[at + 1 :]:
            text = sentence[start:end].strip(_EDGES)
            lead = _LEAD.match(text)
            text = text[lead.end() :] if lead else text
            if len(text) <= TITLE or end == bounds[at + 1]:
                yield _cut(text, TITLE), at == 0
            if len(text) > TITLE:
                break


def _cut(text: str, most: int) -> str:
    """A text up to the last word that fits, where there are words."""
    if len(text) <= most:
        return text
    space = text.rfind(" ", most // 2, most)
    return text[: space if space > 0 else most - 1].rstrip(_EDGES) + "\u2026"


def _speaker(message: Message) -> str:
    return message.name or message.role


def _anything(messages: Sequence[Message], most: int) -> str:
    """The first text there is, else who spoke."""
    said = (" ".join(message.content[:LOOKED_AT].split()) for message in messages)
    who = ", ".join(dict.fromkeys(map(_speaker, messages)))
    return _cut(next(filter(None, said), "") or who, most)
