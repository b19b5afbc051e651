"""What a question asks for: what holds, or what was and happened."""

from __future__ import annotations

import re

__all__ = ["asks_what_holds"]

_ASKED_OF_NOW = re.compile(
    r"\s*(?:and |so |then |ok(?:ay)?,? |hey,? |please |can you |could you |do you (?:know|remember) |remind me |tell me )*"
    r"(?:what|which|who|whose|where|when|how|"
    r"(?:in|on|at|to|with|from|for|of|below|above|by|under|until) (?:what|which|whom|whose)|"
    r"am|is|are|do|does|has|have)\b",
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
    r"^(?!.*\b(?:do|does)\b).*\b(?:has|have)\b(?!.*\b(?:got|reached|become|grown|left)\b)", re.IGNORECASE
)

_DECIDED = re.compile(
    r"\bdid (?:I|we|you|they|he|she|the team) (?=(?:finally |end up )?(?:book|reserve|choos|choose|pick|decid|agree|settle|set|"
    r"schedule|order|plan|assign|go with|sign up|switch|mov))",
    re.IGNORECASE,
)


def asks_what_holds(question: str) -> bool:
    """Whether a question asks for what is so, not for what was or happened, and so for one value of many said over time.

    What was decided, booked or agreed is so: which hotel did we book?
    """
    if not _ASKED_OF_NOW.match(question) or _OF_MANY.search(question) or _PERFECT.match(question):
        return False
    return not _OF_THE_PAST.search(_DECIDED.sub("", question))
