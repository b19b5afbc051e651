"""What a message does in a talk: opens a subject, asks, replies, closes, or only fills. Cue phrases, English only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mnemic.text.terms import content_terms

__all__ = ["Turn", "is_filler", "is_greeting", "turn"]

LOOKED_AT = 2_000
"""Characters at the beginning of a message, and as many at its end, in which cues are looked for."""

LONGEST_FILLER = 300
_DIGIT = re.compile(r"\d")
_GREETING = r"(?:hi|hello|hey|heya|hiya|howdy|greetings|yo|good (?:morning|afternoon|evening))"
_LEAD = r"(?:oh|well|so|and|hey|ok|okay|right|yeah|yes|hmm|but)"
_GREETS = re.compile(rf"\W*{_GREETING}\b", re.IGNORECASE)
_OPENS = re.compile(
    rf"""(?:^|[.!?]\W{{1,5}})(?:{_LEAD},?\ +)*(?:
      by\ the\ way | btw | anyways?\b(?!\ (?:you|it|that|to)) | anyhow | (?:speaking|talking)\ of
      | that\ reminds\ me | guess\ what | before\ i\ forget
      | on\ (?:another|a\ (?:different|separate|side|related|lighter|happier))\ (?:note|topic|subject)
      | (?:another|one\ (?:more|other|last)|a\ different|the\ other|next|new)\ (?:thing|question|topic|subject|matter|issue)\b
      | (?:(?:to|let'?s|let\ me|can\ we|could\ we)\ )?(?:chang|switch)(?:e|ing)?\ (?:the\ )?(?:subjects?|topics?|gears)
      | moving\ on\b | let'?s\ (?:talk\ about|discuss|turn\ to|move\ on) | (?:can|could)\ we\ (?:talk\ about|discuss)
      | unrelated(?:ly)?\b | off[- ]topic | totally\ (?:different|unrelated)
      | i(?:\ also|'ve\ also|'ve|\ have)?\ (?:wanted|meant|been\ meaning)\ to\ (?:ask|tell|mention|talk)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS = re.compile(
    r"""\b(?:
      i(?:\ am|['\u2019]m|m)?\ (?:(?:also|really|just)\ )?(?:need|want|looking|wanna|seeking|interested)
      | i\ would\ (?:also\ |really\ )?like
      | i['\u2019]d\ (?:also\ |really\ )?like | (?:can|could)\ you
      | please\ (?:find|help|book|give|tell|show|schedule|set|make|send|write|check|look|explain)
      | find\ (?:me|a|the) | (?:give|get|tell|show|help|remind)\ me | set\ (?:up\ )?(?:a|an|the) | schedule
      | what(?:['\u2019]s|\ is|\ are|\ will|\ was|\ time|\ do\ you|\ kind) | where(?:['\u2019]s|\ is|\ are|\ can|\ do)
      | when(?:['\u2019]s|\ is|\ does)
      | how\ (?:do|can|should|would)\ (?:i|we|you) | (?:is|are)\ there | (?:do|have|are|did)\ you | (?:will|is)\ it
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_REPLIES = re.compile(
    r"""\W*(?:yes|yeah|yea|yep|yup|no|nope|nah|not|sure|ok|okay|great|good|cool|nice|thanks|thank|that|it|they|this|those|these|ha
      |haha|lol|ah|oh|wow|awesome|amazing|perfect|sounds|i\ do|i\ did|i\ am|i['\u2019]m|me\ too|same|really|absolutely
      |definitely|totally|exactly|of\ course|actually|maybe|well|right|true|he|she|and|but|because|or|alright
      |you['\u2019]re|there|just|sorry|glad|congrat\w*|no\ problem|my\ pleasure|how\ about|what\ about)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CLOSES = re.compile(
    r"""\b(?:anything\ else | any\ other | you(?:['\u2019]re|r|\ are)?\ (?:(?:very|most|so|always|quite)\ )?welcome
      | thank(?:s|\ you) | (?:good\ ?)?bye | good\ ?night
      | have\ an?\ (?:\w+\ )?(?:day|night|evening|weekend|time|trip|one|stay|meal)
      | see\ (?:you|ya) | catch\ you\ later | talk\ (?:to\ you\ )?(?:later|soon) | ttyl | take\ care | enjoy | glad\ i\ could
      | happy\ to\ help | that(?:['\u2019]s|\ is|\ will\ be|\ should\ be|['\u2019]ll\ be)?\ all)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_FILLER_TERMS = frozenset(
    term
    for term in content_terms(
        """hi heya hiya yo hello howdy greetings morning afternoon evening night bye goodbye thanks thank welcome please
        sorry yes yep yup nope nah sure great good nice cool fine well awesome amazing wonderful lovely perfect
        excellent fantastic haha hahaha lol right true indeed exactly absolutely definitely totally course alright glad
        happy today day sounds see talk later soon care take anything else help helpful problem worries pleasure back
        hear know understand interesting agree hmm hm ah aha uh um hope enjoy weekend chat dear friend guys everyone
        there going tell buddy mate always actually maybe guess think done bit got ha yay bro dude man anytime
        appreciate ttyl cya assist questions question let"""
    )
)
_MOST_FILLER_WORDS = 25


@dataclass(frozen=True, slots=True)
class Turn:
    """What one message does.

    Attributes:
        greets: it begins with a greeting.
        opens: it announces another subject ("by the way", "another thing").
        asks: it asks for or wants something.
        replies: it begins like an answer or a comment.
        closes: it thanks, wishes or takes leave, or asks whether there is anything else.
        waits: it ends in a question, so that an answer follows; one that closes does not.
    """

    greets: bool
    opens: bool
    asks: bool
    replies: bool
    closes: bool
    waits: bool


def turn(text: str) -> Turn:
    """What a message does, told from its words."""
    head, tail = text[:LOOKED_AT], text[-LOOKED_AT:].rstrip()
    if tail.endswith("]"):  # a note such as the caption of an image
        tail = tail[: max(tail.rfind("["), 0)].rstrip()
    closes = bool(_CLOSES.search(tail))
    return Turn(
        greets=bool(_GREETS.match(head)),
        opens=bool(_OPENS.search(head)),
        asks=bool(_ASKS.search(head)),
        replies=bool(_REPLIES.match(head)),
        closes=closes,
        waits=tail.endswith(("?", "\uff1f")) and not closes,
    )


def is_filler(text: str) -> bool:
    """Whether a message is nothing but greeting, thanks, agreement or leave-taking: no episode of its own."""
    if len(text) > LONGEST_FILLER or _DIGIT.search(text):
        return False
    terms = content_terms(text)
    return len(terms) <= _MOST_FILLER_WORDS and all(term in _FILLER_TERMS for term in terms)


def is_greeting(text: str) -> bool:
    """Whether a message is filler that begins a talk: what follows belongs to it."""
    return bool(_GREETS.match(text[:LOOKED_AT])) and is_filler(text)
