"""Cues: what a question asks for, and which texts contain it. One bit each, computed when a text is stored."""

from __future__ import annotations

import re

from mnemic.text.dates import MONTHS

QUESTION = 1
"""The text ends in a question."""
ASKS = 2
"""The text contains a question."""
TIME = 4
"""It mentions a time."""
NUMBER = 8
"""It contains a number or an amount."""
REASON = 16
"""It gives a reason."""
NAME = 32
"""It contains a name: a capital inside a sentence, or a quotation."""
REPLY = 64
"""Only of a query: it asks what the assistant said or did, as in "How did you recommend ...?"."""

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|morning|evening|last|next|ago|weeks?|weekend|months?|years?|days?|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|recently|soon|since|just|now|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|"
    rf"{'|'.join(MONTHS)})\b"
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|hundred|thousand|once|twice|couple|few|several|"
    r"half)\b"
)
_REASON = re.compile(
    r"\b(?:because|since|cause|so that|to (?:help|make|get|see|be|have)|inspired|reason|wanted|hop(?:e|ing)|helps?)\b"
)
_NAME = re.compile(r'(?<=[a-z,;] )[A-Z][a-z]{2,}|\b[A-Z]{2,}\b|"[A-Z]')

_ASKED = (
    (TIME, re.compile(
        r"\s*(?:when|how long|what (?:date|day|month|year|time)|which (?:month|year|day)|in (?:which|what) (?:month|year))\b")),
    (NUMBER, re.compile(r".*\bhow (?:many|much|old|often|far|long)\b", re.DOTALL)),
    (REASON, re.compile(r"why\b|what (?:reason|made|motivat)")),
    (NAME, re.compile(r"(?:who|whom|with whom|what is the name|which|where)\b|what.{0,30}\bnames?\b")),
)  # fmt: skip
_ASKS_FOR_REPLY = re.compile(
    r"\b(?:how|what|which|when|where|why|who)\b[^.!?]{0,200}\b(?:did|had|have|were) you\b[^.!?]{0,400}\?"
)


def traits(text: str) -> int:
    """The bits of a text; a final note in brackets, such as a caption, is ignored."""
    lowered = text.lower()
    said = text.rstrip()
    if said.endswith("]"):
        said = said[: max(said.rfind("["), 0)].rstrip()
    return (
        (QUESTION if said.endswith(("?", "\uff1f")) else 0)
        | (ASKS if "?" in text or "\uff1f" in text else 0)
        | (TIME if _TIME.search(lowered) else 0)
        | (NUMBER if _NUMBER.search(lowered) else 0)
        | (REASON if _REASON.search(lowered) else 0)
        | (NAME if _NAME.search(text) else 0)
    )


def expected_traits(query: str) -> int:
    """The bits expected of an answer to a question, with ``REPLY`` where it asks for the assistant's; 0 if none."""
    lowered = query.lower().lstrip()
    reply = REPLY if _ASKS_FOR_REPLY.search(lowered) else 0
    return reply | sum(bit for bit, pattern in _ASKED if pattern.match(lowered))
