"""Selection of sentences that a person would note, verbatim, by a small linear model, in any language."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mnemic.embedders.readers import LinearProbe, TextProbe
from mnemic.runtime.indexer import Indexer
from mnemic.text.english import EDGES, SMALL_TALK, bare_words, in_first_person, is_base_form, is_english, is_verb
from mnemic.text.frames import (
    NOW,
    OMITTED,
    REQUEST_WORDS,
    THIRD,
    THIS,
    before_question,
    frames,
    introduces,
    is_question,
    opening,
    refers_back,
    to_remember,
    without_quotations,
)  # fmt: skip
from mnemic.text.sentences import headings, sentences, symbol_share, without_output
from mnemic.types import Message
from mnemic.types.literals import SILENT_ROLES
from mnemic.vectors import DEFAULT_MODELS

BIAS = -4.76
THRESHOLD, POSSIBLE = 0.48, 0.2
"""The probability from which a sentence is chosen, and that by its words from which it is judged."""
WEIGHTS = {
    "size": 2.50,
    "digit": 1.72,
    "name": 1.33,
    "uncased": 0.81,
    "question": -1.27,
    "first": 0.16,
    "opens_first": 0.61,
    "second": -0.71,
    "this": -1.49,
    "opens_with_talk": -1.03,
    "hedge": -1.11,
    "always": 0.81,
    "opens_always": 0.43,
    "now": -1.27,
    "orders": -1.33,
    "only_asks": -1.19,
    "symbols": -20.5,
    "comma": -1.16,
    "answer": -0.42,
}


REQUESTED = 2.0
"""Log odds for a sentence that its speaker asks to remember."""
CERTAIN = 1.0
"""Log odds from which a sentence frames the words around it, and below minus which it does not."""
LONGEST = 800
"""Longest sentence in characters; longer text is not prose."""
MAX_JOINED = 400
"""Most characters of joined sentences in one statement, and of a question with its answer."""
LINE = 60
"""A line at least this long may be wrapped and continue in the next; a shorter one ends a sentence."""
SIGNED = 200
"""Characters at the end of a message in which a signature is looked for."""
READ_CHARS = 20_000
"""Characters read of a message."""
WIDTH = 1.5
"""Extra letters that a character of a script without spaces counts for."""
WORD = 5.5
"""Letters per word, with its space."""
FRAGMENT = 4
"""A sentence of at most this many words, not in the first person, does not stand alone."""
SHORTEST = 4
"""Least size in words of a sentence that opens in the first person, such as "I'm vegan"."""
ANSWER = 6
"""Most words of an answer that is stored with its question."""

_SKIPPED = re.compile(r"<memory\b[^>]{0,80}>.*?(?:</memory\b[^>]{0,80}>|\Z)|\[\w{2,16}: [^\]\n]{0,2000}\]", re.DOTALL)
"""Recalled memories, and references to images or files."""
_CLOSING_LINES = re.compile(
    r"(?<=[.!?\u2026])\s*\n\s*(?:(?:best|kind|warm|many|all the|yours|with|much)\s+)*"
    r"(?:regards|wishes|best|thanks|thank you|thx|cheers|love|sincerely|yours|truly|xx?)\b[,.!]?"
    r"(?:\s+[A-Z][\w.'\u2019-]*){0,3}\s*\Z",
    re.IGNORECASE,
)
"""A greeting at the end, with the name of who signs."""
WIDE_ENDS = "。！？"
"""Sentence ends without a following space."""
_ENDS = (".", "!", "?", ":", "\u2026")
"""Ends of text before a capital that is no sign of a name."""
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f\uac00-\ud7af]")
"""Letters of scripts without spaces between words."""
ORDINARY_SYMBOLS, MOST_SYMBOLS = 0.02, 0.2
"""Share of characters that are symbols in nearly all prose, and the largest that counts."""

_RETRACTION = re.compile(
    r"\W*(?:(?:ha){2,}\W+)?(?:(?:just |only )?(?:kidding|joking)|april fools|not really)\b", re.IGNORECASE
)
"""Retracts the sentence before it."""

SECOND = frozenset("you your u du você ты तुम".split())
SECOND_WIDE = "你"
THIRD_WIDE = "他她它这那彼そ"
"""Anaphoric words of Chinese and Japanese."""
HEDGE = frozenset("maybe might guess think know hope wonder sure would d agree vielleicht quizás".split())
ALWAYS = frozenset("always never remember call siempre immer toujours sempre всегда हमेशा دائما hep".split())
"""Words of standing instructions and habits."""
NOW_WIDE = ("今天", "今日")
"""Words of momentary statements."""


class Statement(NamedTuple):
    """A statement worth a memory.

    Attributes:
        text: verbatim except white space; a short answer with its question: ``Who is your dentist? - Dr. Costa``. A sentence
            of a message that opens with another's words or a request comes with that opening.
        cited: its message, preceded by that of the question.
        worth: 0 to 1, the probability that a person would note it.
        framed: whether it comes with what may say that it is another's.
    """

    text: str
    cited: Sequence[Message]
    worth: float
    framed: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may become a statement.

    Attributes:
        text: one sentence, or neighbouring sentences on one subject.
        position: position of its message.
        question: the preceding question, for a short answer.
        ends: what opens and what ends its message; each empty for none.
        frame: those of them that may say whose words these are, such as "Translate this:"; the others empty.
        requested: whether its message asks to remember it.
    """

    text: str
    position: int = 0
    question: str | None = None
    ends: tuple[str, str] = ("", "")
    frame: tuple[str, str] = ("", "")
    requested: bool = False

    @property
    def asserted(self) -> str:
        """The text after what it answers."""
        return f"{self.question} - {self.text}" if self.question else self.text

    @property
    def whole(self) -> str:
        """The text after what it answers, or within its frame."""
        if self.question:
            return self.asserted
        opening, ending = self.frame
        parts = (opening * (not self.text.startswith(opening)), self.text, ending * (not self.text.endswith(ending)))
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of a sentence beyond its words.

    Attributes:
        worth: the log odds, added to those of its words, that a person would note it.
        frame: the log odds that it says of the words around it that they are another's, or not real.
    """

    worth: float
    frame: float


Judge = Callable[[Sequence[str]], Mapping[str, Judgement]]
"""Judges sentences; those that it cannot judge are missing."""


def statements(messages: Sequence[Message], judge: Judge = lambda _: {}) -> list[Statement]:
    """Select statements worth a memory; deterministic.

    Only persons make statements: users, and speakers with a name. From an assistant, a tool or a document nothing is
    taken, except the question before a short answer.

    Args:
        messages: of one or several episodes, in order. Those without an id or a time cannot be cited and are skipped.
        judge: judges the sentences that are possible by their words, and those that open or end their messages.

    Returns:
        Statements in the order of their messages.
    """
    citable = [message for message in messages if message.id and message.sent_at]
    scored = [(each, _log_odds(features(each)) + REQUESTED * each.requested) for each in candidates(citable)]
    possible = [(candidate, odds) for candidate, odds in scored if _probability(odds) >= POSSIBLE]
    texts = (text for candidate, _ in possible for text in (candidate.asserted, *candidate.ends) if text)
    judged = judge([*dict.fromkeys(texts)])
    worths = [
        (c, _probability(odds + (judged[c.asserted].worth if c.asserted in judged else 0.0))) for c, odds in possible
    ]
    chosen = [(candidate, worth) for candidate, worth in worths if worth >= THRESHOLD]
    texts_by_position: dict[int, str] = {}
    for candidate, _ in chosen:
        if candidate.asserted in judged:
            texts_by_position[candidate.position] = f"{texts_by_position.get(candidate.position, '')}\n{candidate.text}"
    framed = ((_in_frame(c, texts_by_position.get(c.position, ""), judged), worth) for c, worth in chosen)
    return [
        Statement(
            text=c.whole,
            cited=citable[c.position - (c.question is not None) : c.position + 1],
            worth=round(worth, 3),
            framed=c.whole not in (c.text, c.asserted),
        )
        for c, worth in framed
        if c
    ]


def _in_frame(candidate: Candidate, statement_text: str, judged: Mapping[str, Judgement]) -> Candidate | None:
    """The candidate with what may say whose words it is; None if that is certain.

    What certainly says so may be a statement too: "My accountant Sanjay sent me this about the third quarter." Else what is
    among the statements of its message, given as one text, frames nothing; a line with a colon is none.
    """
    frame: list[str] = []
    for end, by_words in zip(candidate.ends, candidate.frame, strict=True):
        judgement = judged.get(end)
        if judgement is None:
            frame.append(by_words)
        elif judgement.frame >= CERTAIN and (end.endswith(":") or end not in candidate.text):
            return None
        elif not end.endswith(":") and end in statement_text:
            frame.append("")
        else:
            frame.append(by_words if judgement.frame > -CERTAIN or introduces(end) else "")
    return replace(candidate, frame=(frame[0], frame[1]))


def worth(text: str) -> float:
    """The worth of a single statement by the selection model, 0 to 1."""
    return round(_probability(_log_odds(features(Candidate(" ".join(text[:READ_CHARS].split()))))), 3)


def candidates(messages: Sequence[Message]) -> Iterator[Candidate]:
    """The candidates of persons' messages, in order."""
    for position, message in enumerate(messages):
        if not _is_person(message):
            continue
        said = _prose(message.content)
        requests = [to_remember(sentence) for sentence in said]
        requested = {request for request in requests if request}
        pieces = [request or before_question(sentence) for request, sentence in zip(requests, said, strict=True)]
        titles = {line for line in headings(message.content[:READ_CHARS]) if _is_title(line)}
        texts = _merge_dependent(pieces, titles)
        question = _question(messages, position) if len(texts) == 1 and _is_short_answer(texts[0]) else None
        ends = opening(pieces), pieces[-1] if len(pieces) > 1 else ""
        frame = frames(ends[0]) * ends[0], refers_back(ends[1]) * ends[1]
        whole = (
            text for text in texts if not (is_question(text) or text.endswith(":") or OMITTED in text or text in titles)
        )
        yield from (Candidate(text, position, question, ends, frame, text in requested) for text in whole)


def _is_title(line: str) -> bool:
    """Whether a line in English says nothing of anybody: it has no word of the first person, and no verb but a base form,
    which may be a noun.
    """
    words = bare_words(line)
    finite = any(is_verb(word) and not is_base_form(word) for word in words)
    return is_english(line) and not finite and not in_first_person(line, words)


def _is_short_answer(text: str) -> bool:
    """Whether a text needs its question; one that opens in the first person does not."""
    return _size(text) <= ANSWER and not (is_question(text) or in_first_person(text[:2], bare_words(text)[:2]))


def _is_person(message: Message) -> bool:
    if message.role in SILENT_ROLES or message.source == "document":
        return False
    return message.name is not None or (message.role != "assistant" and message.source in (None, "direct_user"))


def _question(messages: Sequence[Message], position: int) -> str | None:
    """The question at the end of the previous message, by another speaker; after the name of a person."""
    message, before = messages[position], messages[position - 1] if position else None
    if before is None or before.role in SILENT_ROLES or (before.role, before.name) == (message.role, message.name):
        return None
    ending = _prose(before.content[-READ_CHARS:])[-1:]
    asker = f"{before.name}: " if before.name and _is_person(before) else ""
    return next((asker + sentence for sentence in ending if is_question(sentence) and len(sentence) < MAX_JOINED), None)


def _prose(text: str) -> list[str]:
    """The sentences of a message without code, output, recalled memories, quotations and the greeting at its end.

    A short line ends one.
    """
    written = without_output(_SKIPPED.sub("\n", text[:READ_CHARS]))
    unquoted = without_quotations(written)
    lines = (unquoted[:-SIGNED] + _CLOSING_LINES.sub("", unquoted[-SIGNED:])).splitlines()
    spaced = "\n".join(f"{line}\n" if len(line.strip()) < LINE else line for line in lines)
    whole = sentences(spaced)[: -1 if len(text) > READ_CHARS else None]
    pieces = (" ".join(sentence.split()) for sentence in whole if not sentence.startswith(("```", "~~~")))
    return [sentence for sentence in pieces if len(sentence) <= LONGEST and any(map(str.isalnum, sentence))]


def _merge_dependent(pieces: Sequence[str], headings: AbstractSet[str]) -> list[str]:
    """Join sentences that cannot stand alone to the one before them; nothing is joined to a heading, and no heading to it."""
    merged: list[str] = []
    for before, piece in pairwise(("", *pieces)):
        if SMALL_TALK.issuperset(bare_words(piece)):
            continue
        if merged and _RETRACTION.match(piece):
            merged.pop()
        elif (
            merged
            and headings.isdisjoint((before, piece))
            and len(merged[-1]) + len(piece) < MAX_JOINED
            and _is_dependent(piece)
            and not is_question(merged[-1])
        ):
            merged[-1] += piece if merged[-1][-1] in WIDE_ENDS else f" {piece}"
        else:
            merged.append(piece)
    return merged


def _is_dependent(text: str) -> bool:
    """Whether a sentence cannot stand alone: it is anaphoric or a fragment."""
    if is_question(text):
        return False
    words = bare_words(text)
    pointing = [word in THIRD or word in THIS for word in words]
    if in_first_person(text, words):
        return pointing[0]
    return any(pointing) or text[0] in THIRD_WIDE or _size(text) <= FRAGMENT


def _size(text: str) -> float:
    """The number of words, estimated from characters for any script."""
    return (len(text) + WIDTH * len(_WIDE.findall(text))) / WORD


def features(candidate: Candidate) -> dict[str, float]:
    """The features of the model, by name."""
    text = candidate.asserted
    words = bare_words(candidate.text)
    word_set = set(words)
    opens = words[0] if words else ""
    tokens = text.split()
    size = _size(text)
    standing = "now on" in text.casefold()
    cased = any(map(str.islower, text)) or any(map(str.isupper, text))
    first, opens_first = in_first_person(candidate.text, words), in_first_person(candidate.text[:2], words[:2])
    question, orders = is_question(candidate.text), opens in REQUEST_WORDS
    second = not SECOND.isdisjoint(word_set) or SECOND_WIDE in text
    return {
        "size": math.log1p(max(size, SHORTEST) if opens_first else size),
        "digit": float(any(map(str.isdigit, text))),
        "name": float(any(_is_name(token, before) for before, token in pairwise(tokens))),
        "uncased": float(not cased),
        "question": float(question),
        "first": float(first),
        "opens_first": float(opens_first),
        "second": float(second),
        "this": float(not THIS.isdisjoint(word_set)),
        "opens_with_talk": float(opens in SMALL_TALK),
        "hedge": float(not HEDGE.isdisjoint(word_set)),
        "always": float(not ALWAYS.isdisjoint(word_set) or standing),
        "opens_always": float(opens in ALWAYS),
        "now": float((not NOW.isdisjoint(word_set) and not standing) or any(phrase in text for phrase in NOW_WIDE)),
        "orders": float(orders),
        "only_asks": float((question or second or orders) and not first),
        "symbols": max(0.0, min(symbol_share(text), MOST_SYMBOLS) - ORDINARY_SYMBOLS) * 10,
        "comma": min(text.count(",") + text.count("\u3001") + text.count("\uff0c"), 3) / 3,
        "answer": float(candidate.question is not None),
    }  # fmt: skip


def _is_name(token: str, before: str) -> bool:
    """Whether a capital inside a sentence marks a name."""
    word = token.strip(EDGES)
    ended = before.rstrip("\"'\u201d\u2019)").endswith(_ENDS)
    return word[:1].isupper() and not ended and word.replace("\u2019", "'").partition("'")[0] != "I"


def _log_odds(values: Mapping[str, float]) -> float:
    return BIAS + sum(WEIGHTS[name] * value for name, value in values.items())


def _probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


WORTH = TextProbe("mnemic.knowledge", "worth.json")
"""Added to the log odds of the words of a sentence.

Fitted by ``benchmarks.quality.worth_fit`` on sentences by several authors who knew no code, with the phrases that at least
five of them wrote.
"""
FRAME = LinearProbe("mnemic.knowledge", "frames.json")
"""The log odds that a sentence frames those around it, from its vector; fitted by ``benchmarks.quality.worth_fit``."""


def judgements(indexer: Indexer, texts: Sequence[str]) -> dict[str, Judgement]:
    """Judge sentences: English ones, with the default embedder."""
    embedder = indexer.embedder
    if embedder.id not in DEFAULT_MODELS:
        return {}
    english = [text for text in texts if is_english(text)]
    vectors = zip(english, indexer.documents(english, embedder), strict=True)
    vector_by_text = {text: vector for text, vector in vectors if vector is not None}
    if not vector_by_text:
        return {}
    rows = np.stack([*vector_by_text.values()])
    worths, frames = WORTH.log_odds([*vector_by_text], rows, embedder.id), FRAME.log_odds(rows, embedder.id)
    return {
        text: Judgement(worth, frame)
        for text, worth, frame in zip(vector_by_text, worths.tolist(), frames.tolist(), strict=True)
    }
