"""Whether a text can fit a budget at all: told by its beginning, so that a very long text costs no more than a long one."""

from __future__ import annotations

from mnemic.protocols import TokenCounter
from mnemic.recall.context.lines import inert

__all__ = ["hopeless", "roomy"]

ROOMY = 16
"""Characters for each token of text that is always looked at whole: several times what text in words has."""
DENSEST = 200
"""Characters for each token that no text has: so many are white space or one character again and again."""
SLACK = 100
"""Tokens by which a beginning may cost more than it does within the whole, beside as much again as the budget."""


def roomy(budget: int) -> int:
    """The characters of a budget, reckoned so that no text in words needs them all."""
    return ROOMY * budget + 1_000


def hopeless(text: str, budget: int, count: TokenCounter, fence: str) -> bool:
    """Whether a text cannot fit, because a beginning of it already costs far more than the budget.

    It is taken for granted that a text costs no less than its beginning, give or take the budget and some tokens. What has far
    more characters than any text has in so many tokens does not fit either, whatever the tokenizer says.
    """
    if len(text) > DENSEST * budget + 1_000:
        return True
    size = roomy(budget)
    while size < len(text):
        if count(inert(text[:size], fence)) > 2 * budget + SLACK:
            return True
        size *= 4
    return False
