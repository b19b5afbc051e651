"""Which sentences of a conversation a person would note: chosen as they were said, by a small linear model, in any language."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from mnemic.knowledge.selection_weights import BIAS, THRESHOLD, WEIGHTS
from mnemic.text.sentences import sentences
from mnemic.types import Message, Source

__all__ = ["SILENT", "Statement", "statements", "worth"]

LONGEST = 800
"""Characters from which a text without an end is no prose."""
JOINED = 400
"""Characters of neighbouring sentences that make one statement, and of a question with its answer."""
LINE = 60
"""A line at least so long may have been broken to a width and go on in the next; a shorter one is a sentence."""
LOOKED_AT = 20_000
"""Characters of a message that are looked at."""
WIDTH = 1.5
"""Letters that one of a script without spaces stands for, beside itself."""
WORD = 5.5
"""Letters of a word, with its space."""
FRAGMENT = 4
"""A sentence of at most so many words, none of them in the first person, does not stand alone."""
SHORTEST = 4
"""Words that what opens in the first person counts as, at least: "I'm vegan" tells as much as a longer sentence."""
ANSWER = 6
"""Words of an answer that is told with its question."""

SILENT = frozenset({"system", "developer", "tool", "function"})
"""Roles whose messages are kept and found, but are no part of a conversation's story."""
"""Roles of what nobody says."""

_SKIPPED = re.compile(r"<memory\b[^>]{0,80}>.*?(?:</memory\b[^>]{0,80}>|\Z)|\[\w{2,16}: [^\]\n]{0,2000}\]", re.DOTALL)
"""Memories that were quoted into a prompt, and what stands for an image or a file."""
_EDGES = '.,;:!?()[]{}"“”„«»…¡¿—–-*_`~。！？、，；：（）「」『』।॥؟،؛'
WIDE_ENDS = "。！？"
"""Ends of sentences that no space follows."""
_END = re.compile(r"[.!?:\u2026][\"'\u201d\u2019)]*$")
"""What a capital follows that makes no name."""
_APOSTROPHE = re.compile(r"['’]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f\uac00-\ud7af]")
"""Letters of scripts that put no space between words."""
_ASKS = re.compile(r"[?？؟][\s\"'”’»)\]*_]*$|[吗呢かね][。.]?$")
_CODE = re.compile(r"[{}<>=\\|^~`\[\]]|\w\(|://|--\w|\w_\w")

_WITHDRAWN = re.compile(
    r"\W*(?:(?:ha){2,}\W+)?(?:(?:just |only )?(?:kidding|joking)|april fools|not really)\b", re.IGNORECASE
)
"""What takes back the sentence before it."""

FIRST = frozenset(
    """i im my me we our ich mein meine unser wir mi soy tengo je j mon mes meu sou tenho я мой меня मैं मुझे मेरी मेरे أنا لدي عندي
    ben""".split()
)
"""Words of those who speak of themselves; of Chinese and Japanese the letters."""
FIRST_WIDE = "我俺僕私"
SECOND = frozenset("you your u du você ты तुम".split())
SECOND_WIDE = "你"
THIRD = frozenset("he she they his her him them er sie il elle он она वह هو".split())
THIS = frozenset("it this that das ça это".split())
"""Words of what was spoken of before: persons, and the rest; of Chinese and Japanese the letters."""
THIRD_WIDE = "他她它这那彼そ"
TALK = frozenset("hi hey hello thanks ok okay yes yeah haha lol omg good nice sure perfect".split())
"""Greetings and assent."""
HEDGE = frozenset("maybe might guess think know hope wonder sure would d agree vielleicht quizás".split())
ALWAYS = frozenset("always never remember call siempre immer toujours sempre всегда हमेशा دائما hep".split())
"""Words of standing instructions and habits."""
NOW = frozenset("now just here gonna ll tired bored done need crying today hoy heute hoje сегодня आज اليوم".split())
NOW_WIDE = ("今天", "今日")
"""Words of what passes."""
ORDERS = frozenset("make add give write show tell explain let can what how would".split())
"""Words that requests and questions begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a person said that is worth a memory.

    Attributes:
        text: as it was said, white space apart; a short answer with its question: ``Who is your dentist? - Dr. Costa``.
        message_ids: the message it is from, after that of the question it answers.
        said_at: when it was said.
        speaker: the name of who said it; None for a user without one.
        worth: 0 to 1, the probability that a person would note it.
        source: that of the least trusted of its messages.
        trust: 0 to 1, the minimum over its messages.
    """

    text: str
    message_ids: tuple[str, ...]
    said_at: datetime
    speaker: str | None
    worth: float
    source: Source
    trust: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may become a statement, with what was known when it was said.

    Attributes:
        text: one sentence, or neighbouring sentences on one matter.
        place: of its message among those at hand.
        question: what was asked just before, for a short answer.
    """

    text: str
    place: int = 0
    question: str | None = None


def statements(messages: Sequence[Message]) -> list[Statement]:
    """Choose what is worth a memory from messages; the same messages always give the same.

    Only persons state something: a user, and whoever speaks under a name. Of an assistant, a tool or a document nothing is
    taken, except the question before a short answer.

    Args:
        messages: of one or several episodes, in order. Those without an id or a time cannot be cited and are left out.

    Returns:
        Statements in the order of their messages.
    """
    known = [message for message in messages if message.id and message.sent_at]
    scored = ((one, _probability(features(one))) for one in candidates(known))
    return [_statement(one, known, worth) for one, worth in scored if worth >= THRESHOLD]


def worth(text: str) -> float:
    """How much one statement is worth that was given by itself, 0 to 1, by the model that chooses statements."""
    return round(_probability(features(Candidate(" ".join(text[:LOOKED_AT].split())))), 3)


def candidates(messages: Sequence[Message]) -> Iterator[Candidate]:
    """What persons said, cut where one matter ends, in order."""
    for place, message in enumerate(messages):
        if not _is_person(message):
            continue
        texts = _matters(_prose(message.content))
        question = _question(messages, place) if len(texts) == 1 and _is_short_answer(texts[0]) else None
        yield from (Candidate(text, place, question) for text in texts)


def _is_short_answer(text: str) -> bool:
    """Whether a text says little without its question; what opens in the first person stands alone."""
    return _size(text) <= ANSWER and not (_ASKS.search(text) or _in_first_person(text[:2], _words(text)[:2]))


def _is_person(message: Message) -> bool:
    if message.role in SILENT or message.source == "document":
        return False
    return message.name is not None or (message.role != "assistant" and message.source in (None, "direct_user"))


def _question(messages: Sequence[Message], place: int) -> str | None:
    """What somebody else asked at the end of the message before."""
    message, before = messages[place], messages[place - 1] if place else None
    if before is None or before.role in SILENT or (before.role, before.name) == (message.role, message.name):
        return None
    asked = _prose(before.content[-LOOKED_AT:])[-1:]
    return next((one for one in asked if _ASKS.search(one) and len(one) < JOINED), None)


def _prose(text: str) -> list[str]:
    """The sentences of a message without code, quoted memories and what stands for images; each short line ends one."""
    lines = _SKIPPED.sub("\n", text[:LOOKED_AT]).splitlines()
    spaced = "\n".join(f"{line}\n" if len(line.strip()) < LINE else line for line in lines)
    whole = sentences(spaced)[: -1 if len(text) > LOOKED_AT else None]
    found = (" ".join(one.split()) for one in whole if not one.startswith(("```", "~~~")))
    return [one for one in found if len(one) <= LONGEST and any(map(str.isalnum, one))]


def _matters(pieces: Sequence[str]) -> list[str]:
    """Sentences, with those that cannot stand alone beside the one before them."""
    found: list[str] = []
    for piece in pieces:
        if TALK.issuperset(_words(piece)):
            continue
        if found and _WITHDRAWN.match(piece):
            found.pop()
        elif found and len(found[-1]) + len(piece) < JOINED and _leans(piece) and not _ASKS.search(found[-1]):
            found[-1] += piece if found[-1][-1] in WIDE_ENDS else f" {piece}"
        else:
            found.append(piece)
    return found


def _leans(text: str) -> bool:
    """Whether a sentence cannot stand alone: it speaks of what was spoken of before, or is a fragment."""
    if _ASKS.search(text):
        return False
    words = _words(text)
    pointing = [word in THIRD or word in THIS for word in words]
    if _in_first_person(text, words):
        return pointing[0]
    return any(pointing) or text[0] in THIRD_WIDE or _size(text) <= FRAGMENT


def _in_first_person(text: str, words: Sequence[str]) -> bool:
    return not FIRST.isdisjoint(words) or any(letter in text for letter in FIRST_WIDE)


def _words(text: str) -> list[str]:
    return [word for part in _APOSTROPHE.sub(" ", text.casefold()).split() if (word := part.strip(_EDGES))]


def _size(text: str) -> float:
    """Words, or as many as there would be in a script with spaces."""
    return (len(text) + WIDTH * len(_WIDE.findall(text))) / WORD


def features(one: Candidate) -> dict[str, float]:
    """What the model looks at, by name."""
    text = f"{one.question} - {one.text}" if one.question else one.text
    words = _words(one.text)
    known = set(words)
    opens = words[0] if words else ""
    tokens = text.split()
    size = _size(text)
    standing = "now on" in text.casefold()
    cased = any(map(str.islower, text)) or any(map(str.isupper, text))
    first, opens_first = _in_first_person(one.text, words), _in_first_person(one.text[:2], words[:2])
    question, second, orders = (
        bool(_ASKS.search(one.text)),
        not SECOND.isdisjoint(known) or SECOND_WIDE in text,
        opens in ORDERS,
    )
    return {
        "size": math.log1p(max(size, SHORTEST) if opens_first else size),
        "digit": float(any(map(str.isdigit, text))),
        "name": float(any(_is_name(token, before) for before, token in pairwise(tokens))),
        "uncased": float(not cased),
        "question": float(question),
        "first": float(first),
        "opens_first": float(opens_first),
        "second": float(second),
        "this": float(not THIS.isdisjoint(known)),
        "opens_with_talk": float(opens in TALK),
        "hedge": float(not HEDGE.isdisjoint(known)),
        "always": float(not ALWAYS.isdisjoint(known) or standing),
        "opens_always": float(opens in ALWAYS),
        "now": float((not NOW.isdisjoint(known) and not standing) or any(one in text for one in NOW_WIDE)),
        "orders": float(orders),
        "only_asks": float((question or second or orders) and not first),
        "code": float(bool(_CODE.search(text))),
        "comma": min(text.count(",") + text.count("\u3001") + text.count("\uff0c"), 3) / 3,
        "answer": float(one.question is not None),
    }  # fmt: skip


def _is_name(token: str, before: str) -> bool:
    """Whether a capital within a sentence makes this a name."""
    word = token.strip(_EDGES)
    return word[:1].isupper() and not _END.search(before) and _APOSTROPHE.split(word)[0] != "I"


def _probability(values: Mapping[str, float]) -> float:
    return 1 / (1 + math.exp(-BIAS - sum(WEIGHTS[name] * value for name, value in values.items())))


def _statement(one: Candidate, messages: Sequence[Message], worth: float) -> Statement:
    message = messages[one.place]
    cited = [messages[one.place - 1], message] if one.question else [message]
    least = min(cited, key=_trust)
    assert message.sent_at is not None
    return Statement(
        text=f"{one.question} - {one.text}" if one.question else one.text,
        message_ids=tuple(str(each.id) for each in cited),
        said_at=message.sent_at,
        speaker=message.name,
        worth=round(worth, 3),
        source=least.source or "direct_user",
        trust=_trust(least),
    )


def _trust(message: Message) -> float:
    return 1.0 if message.trust is None else message.trust
