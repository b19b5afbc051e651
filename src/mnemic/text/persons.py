"""Who a text speaks of: words of the first person, in several languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["APOSTROPHE", "EDGES", "bare_words", "in_first_person"]

EDGES = '.,;:!?()[]{}"“”„«»…¡¿—–-*_`~。！？、，；：（）「」『』।॥؟،؛'
"""Marks around words."""
APOSTROPHE = re.compile(r"['’]")

_FIRST = frozenset(
    """i im my me we us our ich mein meine unser wir mi soy tengo je j mon mes meu sou tenho я мой меня मैं मुझे मेरी मेरे أنا لدي عندي
    ben""".split()
)
_FIRST_WIDE = "我俺僕私"
"""For Chinese and Japanese, which have no spaces."""


def bare_words(text: str) -> list[str]:
    """The words in lower case, without the marks around them and split at apostrophes."""
    return [word for part in APOSTROPHE.sub(" ", text.casefold()).split() if (word := part.strip(EDGES))]


def in_first_person(text: str, words: Sequence[str]) -> bool:
    """Whether a text, given with its ``bare_words``, has a word of the first person."""
    return not _FIRST.isdisjoint(words) or any(letter in text for letter in _FIRST_WIDE)
