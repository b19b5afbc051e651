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

__all__ = ["describe", "excerpt", "frequencies", "title"]

TITLE, SENTENCE, EXCERPT = 64, 200, 300
"""Characters of a title, of a sentence of an excerpt, and of an excerpt."""
LOOKED_AT, MOST_SENTENCES = 1_000, 12
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


def describe(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> tuple[str, str]:
    """The title and the excerpt of an episode; see ``title`` and ``excerpt``."""
    weights, said = _weights(messages, background), _said(messages)
    return _title(messages, weights, said), _excerpt(messages, weights, said)


def title(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """The clause that tells most of an episode, as it was said; deterministic.

    Args:
        messages: of the episode, in the order of time.
        background: the ``frequencies`` of what it stands out against; without it, of the episode alone.

    Returns:
        At most 64 characters of one message, cut at a word and ended with an ellipsis where the clause is longer, its first
        letter a capital. Of messages without words who spoke. Empty for no messages.
    """
    return _title(messages, _weights(messages, background), _said(messages))


def excerpt(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """The sentences that tell most of an episode, each with who said it on a line of its own, in the order of time.

    Args:
        messages: of the episode, in the order of time.
        background: as for ``title``.

    Returns:
        Some 300 characters of sentences as they were said, long ones cut at a word. Empty for no messages.
    """
    return _excerpt(messages, _weights(messages, background), _said(messages))


def _title(messages: Sequence[Message], weights: Mapping[str, float], said: Sequence[tuple[int, str]]) -> str:
    best, chosen = 0.0, ""
    for at, sentence in said:
        share = (FIRST if at == 0 else 1.0) * _share(messages[at], sentence)
        for clause, opens in _clauses(sentence):
            form = (OPENING if opens else 1.0) * (1.0 if clause.endswith("\u2026") else WHOLE)
            told = sum(weights.get(term, 0.0) for term in dict.fromkeys(content_terms(clause)))
            worth = share * form * told / (4 + len(clause.split())) ** 0.5
            if worth > best:
                best, chosen = worth, clause
    chosen = chosen or _anything(messages, TITLE)
    return chosen[:1].upper() + chosen[1:]


def _excerpt(messages: Sequence[Message], weights: Mapping[str, float], said: Sequence[tuple[int, str]]) -> str:
    waiting = {
        place: (_share(messages[at], sentence) / (60 + len(sentence)) ** 0.5, dict.fromkeys(content_terms(sentence)))
        for place, (at, sentence) in enumerate(said)
    }
    chosen: dict[int, str] = {}
    told, length, least = set[str](), 0, 0.0
    while waiting and length < EXCERPT:
        worth = {
            place: share * sum(weights.get(term, 0.0) for term in terms if term not in told)
            for place, (share, terms) in waiting.items()
        }
        place = max(worth, key=worth.__getitem__)  # of equals the first
        if worth[place] <= least:
            break
        least = least or worth[place] / LITTLE
        told.update(waiting.pop(place)[1])
        at, sentence = said[place]
        line = f"{_speaker(messages[at])}: {_cut(sentence, SENTENCE)}"
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


def _said(messages: Sequence[Message]) -> list[tuple[int, str]]:
    """The sentences of messages in one line each, without code and markup, with the place of their message."""
    return [
        (at, " ".join(sentence.split()))
        for at, message in enumerate(messages)
        for sentence in sentences(_MARKUP.sub("", message.content[:LOOKED_AT]))[:MOST_SENTENCES]
    ]


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
