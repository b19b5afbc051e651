"""Detection of English, by function words and by the library py3langid."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from mnemic.text.terms import STOP_WORDS

_READ = 1_000
"""Characters read of a text."""
_WORD = re.compile(r"[^\W\d_]+")
_OTHER = re.compile(r"[\d_]+")  # of no language
_FEWEST, _SHARE, _SHORT, _MOST = 2, 0.15, 3, 0.5
"""Least number of English function words of three letters or more, and their least share, that show English. With those of
two letters, which occur in other languages, it takes half of the words."""
_LEAST = 0.005
"""Least probability of English; a text that could be of any of the model's 139 languages has .007."""
_TOGETHER = 10
"""Messages that are joined, because a single one is often too short."""


def is_english(text: str) -> bool:
    """Whether a text is English, or too short to tell."""
    return language_of(text) is None


def language_of(text: str) -> str | None:
    """The code of the likeliest language by ISO 639; None for a text that is English or too short to tell."""
    words = _OTHER.sub("", text[:_READ])
    if _shows_english(words):
        return None
    ranked = _identifier().rank(words)
    return None if dict(ranked)["en"] >= _LEAST else ranked[0][0]


def mostly_english(texts: Sequence[str]) -> bool:
    """Whether at least half of the texts are English; none are."""
    groups = [" ".join(texts[start : start + _TOGETHER]) for start in range(0, len(texts), _TOGETHER)]
    return 2 * sum(map(is_english, groups)) >= len(groups)


def _shows_english(text: str) -> bool:
    """Whether a text has English function words.

    It spares most English texts the library, whose model takes half a second and 84 MB once.
    """
    words = {*_WORD.findall(text.lower())}
    known = words & STOP_WORDS
    longer = [word for word in known if len(word) >= _SHORT]
    return len(longer) >= max(_FEWEST, _SHARE * len(words)) or len(known) >= max(_FEWEST, _MOST * len(words))


@cache
def _identifier() -> Any:  # the package is untyped
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return cast("Any", LanguageIdentifier).from_model_file(MODEL_FILE, norm_probs=True)
