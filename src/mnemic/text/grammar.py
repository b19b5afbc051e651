"""Grammar of single words: English verbs in all their forms, and the first person in several languages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mnemic.text.terms import BASE_FORMS, content_terms

_NOUNS = frozenset(
    "child foot goose knife man mouse person shelf tooth wife wolf woman light spring ring wind ground".split()
)
_REGULAR = """accept add agree allow answer apply ask attend avoid bake boil book call cancel change check clean close collect
    copy create decide delete deploy disable enable end enjoy expect fix follow handle hate help hope include install invite
    join like listen live log look love merge miss move need offer open order own pack plan play prefer press push quit raise
    recommend refer reload remember remind remove replace reset resolve restart return save seem serve set share split start
    stay stir stop store store study suggest talk toast travel try turn update upgrade use validate visit wait walk want
    warn wash watch water wish work worry wrap""".split()
_BASES = (frozenset(BASE_FORMS.values()) | frozenset(_REGULAR) | frozenset("cut put hit let".split())) - _NOUNS
_PASTS = frozenset(form for form, base in BASE_FORMS.items() if base in _BASES) - _NOUNS | {"was", "were", "had", "did"}
_BEFORE = frozenset(
    "to not never always please and then i you we they who don't should must can could will would may might".split()
)
"""Words after which a base form is a verb."""


@lru_cache(maxsize=1)
def _stems() -> frozenset[str]:
    return frozenset(term for base in _BASES for term in content_terms(base))


def is_past(word: str) -> bool:
    """Whether a lower-case word is or may be a past form of a verb."""
    return word in _PASTS or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))


def is_verb(word: str, before: str = "") -> bool:
    """Whether a word is a verb, given the one before it, both in lower case; empty at a sentence start.

    A base form (call, work) is a verb only at the start or after words such as I and to. A form in -ing counts as a
    noun.
    """
    if word in _BASES:
        return not before or before in _BEFORE
    return is_past(word) or (not word.endswith(("ing", "ings")) and word not in _NOUNS and _known(word))


def _known(word: str) -> bool:
    return any(term in _stems() for term in content_terms(word))


EDGES = '.,;:!?()[]{}"“”„«»…¡¿—–-*_`~。！？、，；：（）「」『』।॥؟،؛'
"""Marks around words."""

_FIRST = frozenset(
    """i im my me we us our ich mein meine unser wir mi soy tengo je j mon mes meu sou tenho я мой меня मैं मुझे मेरी मेरे أنا لدي عندي
    ben""".split()
)
_FIRST_WIDE = "我俺僕私"
"""For Chinese and Japanese, which have no spaces."""


def bare_words(text: str) -> list[str]:
    """The words in lower case, without the marks around them and split at apostrophes."""
    parts = text.casefold().replace("’", " ").replace("'", " ").split()
    return [word for part in parts if (word := part.strip(EDGES))]


def in_first_person(text: str, words: Sequence[str]) -> bool:
    """Whether a text, given with its ``bare_words``, has a word of the first person."""
    return not _FIRST.isdisjoint(words) or any(letter in text for letter in _FIRST_WIDE)
