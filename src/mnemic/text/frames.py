"""Frames: what in a message says whose words the others are, such as "Translate this:", and what stands in quotation marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mnemic.text.english import SMALL_TALK, bare_words, in_first_person, is_base_form
from mnemic.text.sentences import is_prose, sentences
from mnemic.text.terms import STOP_WORDS

QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
QUOTATION = re.compile(
    '["\u201c\u201e\u00ab]([^"\u201c\u201d\u201e\u00ab\u00bb]{8,4000})["\u201c\u201d\u00bb]'
    "|(?<![^\\s:,(])['\u2018](?=[^\\W\\d_])([^\n]{8,1000}?[.!?\u2026,])['\u2019](?!\\w)"
)
"""Words in quotation marks; between single ones, which are apostrophes too, only with a mark at their end."""
OMITTED = '"\u2026"'
"""Stands for a quotation that is left out."""
_GOES_ON = re.compile(r"[.!?\u2026]\s+\S")
_INSIDE = re.compile(r"[.!?\u2026](?=[)\]*_'\u2019]{0,3}\s)|\n")
"""Ends of sentences and lines inside of a quotation."""
_HIDDEN = {ord(mark): chr(0xFFFF0 + number) for number, mark in enumerate(".!?\u2026")} | {ord("\n"): " "}
_SHOWN = {ord(hidden): chr(mark) for mark, hidden in _HIDDEN.items() if hidden != " "}
_CALLS = ("?", "!", "\uff1f", "\uff01")
_INTRODUCED = re.compile(r":(?=\s|\Z)")
_CLOSING = " \t\r\n\"'”’»)]*_"
"""What may follow the mark of a question."""

THIRD = frozenset("he she they his her him them er sie il elle он она वह هو".split())
THIS = frozenset("it this that das ça это".split())
"""Anaphoric words: persons and things."""
THESE = frozenset("these those following below above".split())
NOW = frozenset("now just here gonna ll tired bored done need crying today hoy heute hoje сегодня आज اليوم".split())
"""Words of momentary statements."""
REQUEST_WORDS = frozenset("make add give write show tell explain let can what how would".split())
"""First words of requests and questions."""

_REMEMBERED = re.compile(
    r"""\W*(?:(?:please|pls|and|also|oh|btw)\b,?\s+)*
    (?: (?P<asks>(?:can|could|would|will)[ ](?:you|u)[ ](?:please[ ]|also[ ])?)?
        (?: (?:remember|note|(?:keep|bear)[ ]in[ ]mind|(?:don['\u2019]?t|do[ ]not|never)[ ]forget)(?:[ ]that\b|:|[ ]this:)
        | note[ ]to[ ]self:?)
    | (?:just[ ]so[ ](?:you|u)[ ]know|jsyk|fyi|for[ ](?:your[ ]information|future[ ]reference|the[ ]record))\b
      [,:]?(?:[ ]that\b)?
    )\s*(?=\w)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What opens a request to remember the rest of its sentence, in English."""
_TO_REMEMBER = re.compile(
    r"[,;]?\s+(?:please\s+)?(?:remember|note|keep in mind|don['\u2019]?t forget) (?:that|this|it)(?:,? please)?\W*\Z",
    re.IGNORECASE,
)
"""What ends one."""
_STANDING = re.compile(
    r"\W*(?:(?:please|pls|and|also|oh|btw)\b,?\s+)*(?:can|could|would|will) (?:you|u) (?:please )?"
    r"(?=(?:please )?(?:always|never)\b|.*\b(?:from now on|in (?:the )?future|every time|each time)\b)",
    re.IGNORECASE,
)
"""How a person asks politely for what is to hold from then on, in English."""
_THEN_ASKS = re.compile(
    r"(?:[,;]|\s[-\u2013\u2014]+|\s+so)\s+(?:so |and |but )?"
    r"(?:what|which|who|where|when|why|how|can|could|should|would|will|is|are|do|does|did|any|may)\b",
    re.IGNORECASE,
)
"""Where a question begins within a sentence."""


def whole_sentences(text: str) -> list[str]:
    """The sentences of a text, in order; none ends inside of a quotation."""
    hidden = QUOTATION.sub(lambda quotation: _INSIDE.sub(lambda mark: mark[0].translate(_HIDDEN), quotation[0]), text)
    return [sentence.translate(_SHOWN) for sentence in sentences(hidden)]


def without_quotations(text: str) -> str:
    """A text without quoted lines, and without the quotations that stand alone or have several sentences.

    Within a sentence, ``OMITTED`` stands where such a quotation was.
    """
    return QUOTATION.sub(_omitted, QUOTED_LINE.sub("", text))


def _omitted(quotation: re.Match[str]) -> str:
    before, rest = quotation.string[: quotation.start()].rstrip(" \t")[-1:], quotation.string[quotation.end() :][:9]
    alone = before in ("", "\n", ":") and not rest[:1].strip() and not rest.lstrip()[:1].islower()
    if alone:
        return "\n"
    return OMITTED if _GOES_ON.search(quotation[1] or quotation[2]) else quotation[0]


def opening(pieces: Sequence[str]) -> str:
    """The first sentence of prose that is no small talk; its part up to a colon before words in the first person.

    Args:
        pieces: the sentences of a message.
    """
    for piece in pieces:
        introduced = _INTRODUCED.search(piece)
        if introduced and is_own(piece[introduced.end() :]):
            return piece[: introduced.end()]
        if is_prose(piece) and not SMALL_TALK.issuperset(bare_words(piece)):
            return piece
    return ""


def handed_over_by(text: str) -> str:
    """What opens a text and may say whose words the rest are; empty for none."""
    begin = opening(sentences(text))
    return begin * frames(begin)


def framed(pieces: Sequence[str]) -> list[str]:
    """The sentences of a message, each in the first person with what opens or ends it and may say whose words they are."""
    begin, end = opening(pieces), pieces[-1] if len(pieces) > 1 else ""
    begin, end = begin * frames(begin), end * refers_back(end)
    return [_within(piece, begin, end) if speaks_for_someone(piece) else piece for piece in pieces]


def _within(piece: str, begin: str, end: str) -> str:
    parts = (begin * (not piece.startswith(begin)), piece, end * (piece != end))
    return " ".join(part for part in parts if part)


def speaks_for_someone(text: str) -> bool:
    """Whether a text has a word of the first person, which is another's if the text is."""
    return in_first_person(text, bare_words(text))


def frames(opening: str) -> bool:
    """Whether an opening may say whose words those after it are.

    A line with a colon introduces what follows. Any other sentence that does not open in the first person may hand over a
    text ("Translate into German."), a question or an exclamation only with a word that points at it.
    """
    calls = opening.rstrip(_CLOSING)[-1:] in _CALLS and not _points(opening)
    return bool(_INTRODUCED.search(opening)) or not (is_own(opening) or calls)


def introduces(opening: str) -> bool:
    """Whether an opening ends in a colon and is nothing that a person says of themselves."""
    return opening.endswith(":") and not is_own(opening)


def refers_back(ending: str) -> bool:
    """Whether an ending is a question or request that points at the words before it: "Can you translate this?"."""
    words = bare_words(ending)
    asks = bool(words) and (
        is_question(ending) or "please" in words or words[0] in REQUEST_WORDS or is_base_form(words[0])
    )
    return asks and _points(ending) and not is_own(ending)


def is_own(text: str) -> bool:
    """Whether a text opens in the first person, also after a word such as "now" or "so"."""
    words = bare_words(text)[:2]
    leads = bool(words) and (words[0] in STOP_WORDS or words[0] in NOW or words[0] in SMALL_TALK)
    return in_first_person(text.lstrip()[:1], words[: 1 + leads])


def _points(text: str) -> bool:
    """Whether a text points at other words: this, them, the following."""
    words = bare_words(text)
    return not (THIS.isdisjoint(words) and THIRD.isdisjoint(words) and THESE.isdisjoint(words))


def is_question(text: str) -> bool:
    """Whether a text ends in a question: by its mark, or by a particle of Chinese or Japanese."""
    if text.rstrip(_CLOSING).endswith(("?", "？", "؟")):
        return True
    return text.removesuffix("。").removesuffix(".").endswith(("吗", "呢", "か", "ね"))


def to_remember(sentence: str) -> str | None:
    """What a sentence asks to remember, verbatim; None if it asks for nothing of that."""
    asks = is_question(sentence)
    if (match := _REMEMBERED.match(sentence)) and (not asks or match["asks"]):
        return sentence[match.end() :].rstrip("? " if asks else None)
    if (match := _TO_REMEMBER.search(sentence)) and match.start():
        return sentence[: match.start()]
    return None


def before_question(sentence: str) -> str:
    """What a person says of themselves before a question in the same sentence; any other sentence as it is.

    Of a polite instruction that stands ("Could you always answer in metric?"), the instruction.
    """
    if (standing := _STANDING.match(sentence)) and is_question(sentence):
        return sentence[standing.end() :].rstrip("? ")
    own = in_first_person(sentence[:1], bare_words(sentence)[:1])
    asks = _THEN_ASKS.search(sentence) if own and is_question(sentence) else None
    return sentence[: asks.start()] if asks else sentence
