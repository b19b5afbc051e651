"""What a question asks for: what holds, or what was and happened."""

from __future__ import annotations

import re

__all__ = ["asks_what_holds"]

_ASKED_OF_NOW = re.compile(
    r"\s*(?:and |so |then |ok(?:ay)?,? |hey,? |please |can you |could you |do you (?:know|remember) |remind me |tell me )*"
    r"(?:what|which|who|whose|where|when|how|"
    r"(?:in|on|at|to|with|from|for|of|below|above|by|under|until) (?:what|which|whom|whose)|"
    r"am|is|are|do|does|has|have|should)\b",
    re.IGNORECASE,
)
_OF_THE_PAST = re.compile(
    r"\b(?:did|was|were|had|been|used to|ever|before|previous(?:ly)?|former(?:ly)?|earlier|first|originally|(?<!how )old|"
    r"last (?:week|month|"
    r"year|time)|ago|yesterday|since|history|(?:19|20)\d\d)\b|^\s*(?:who|what|which \w+) \w+ed\b",
    re.IGNORECASE,
)
_OF_MANY = re.compile(
    r"^how will\b|\b(?:besides|apart from|other than|else|might|list|all the|any|kinds|types|some|according to|mentions?|"
    r"says?)\b",
    re.IGNORECASE,
)
"""What asks for several things, for a supposition or for what was said."""
_PERFECT = re.compile(
    r"^(?!.*\b(?:do|does|should)\b).*\b(?:has|have)\b(?!.*\b(?:got|reached|become|grown|left)\b)", re.IGNORECASE
)

_DECIDED = re.compile(
    r"\bdid (?:I|we|you|they|he|she|the team) (?=(?:finally |end up )?(?:book|reserve|choos|choose|pick|decid|agree|settle|set|"
    r"schedule|order|plan|assign|go with|sign up|switch|mov))",
    re.IGNORECASE,
)


_OF_THE_LATEST = re.compile(
    r"\b(?:latest|newest|most recent|current(?:ly)?|final|right now|these days|by now)\b", re.IGNORECASE
)
"""What asks for what holds although it asks what was: what was my latest weight?"""


_WHETHER = re.compile(r"\s*(?:and |so )*(?:did|has|have)\b", re.IGNORECASE)
"""What asks whether something came about: has she paid?"""


def asks_what_holds(question: str) -> bool:
    """Whether a question asks for what is so, not for what was or happened, and so for one value of many said over time.

    What was decided, booked or agreed is so: which hotel did we book? So is what came about by now: has she paid?
    """
    if began := _WHETHER.match(question):
        return not (_OF_MANY.search(question) or _OF_THE_PAST.search(question, began.end()))
    if not _ASKED_OF_NOW.match(question) or _OF_MANY.search(question) or _PERFECT.match(question):
        return False
    return _OF_THE_LATEST.search(question) is not None or not _OF_THE_PAST.search(_DECIDED.sub("", question))
