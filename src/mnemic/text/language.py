"""Detection of English by function words."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ENGLISH = frozenset(
    """the a an i i'm i've my me we is are was were be been to of and in on at for with it that this have has had do does did
    not you he she they his her their our from by as or but so what can will would just use never always him them your no
    all""".split()
)
_FOREIGN = frozenset(
    """el la los las de del que y en un una es por con para mi su no se lo al le les des et je il elle est dans pour pas une sur
    mon ma der die das und ist ich nicht ein eine mit auf zu den von im mein wir sie di che il lo gli per non sono ho mio mia um
    uma os as em eu meu minha com n\u00e3o na mas moi vivo werk het een van ik en op te dat jag och att det som p\u00e5
    \u00e4r
    meine meinen meiner meinem einen einem einer dem f\u00fcr bei nach vom zum zur bin hat habe haben wird auch aber noch
    hei\u00dft wohnt uns unser unsere""".split()
)
_SHARED = frozenset("in an as no so me he do was all".split())
"""English words that also occur in other languages."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_I_AM = re.compile(r"(?<![\w'])[Ii]m (?=[a-z])")
"""I'm without an apostrophe, before a small letter; not the German "im"."""


def is_english(text: str) -> bool:
    """Whether a text is English: Latin letters, and not more function words of other languages."""
    words = _words(text)
    if sum(word.isascii() for word in words) < 0.7 * len(words):
        return False
    foreign = sum(word in _FOREIGN for word in words)
    return foreign < 2 or foreign <= sum(word in _ENGLISH for word in words)


def which_are_english(sentences: Sequence[str]) -> list[bool]:
    """For each sentence of one message whether it is English.

    If one sentence or the whole is foreign, the others need more English than foreign function words.
    """
    together = " ".join(sentences)
    if together.isascii() and not any(word in _FOREIGN for word in _words(together)):
        return [True] * len(sentences)
    found = [is_english(sentence) for sentence in sentences]
    if all(found) and is_english(together):
        return found
    return [english and _shows_english(sentence) for english, sentence in zip(found, sentences, strict=True)]


def _shows_english(sentence: str) -> bool:
    words = _words(sentence)
    return sum(word in _ENGLISH - _SHARED for word in words) > sum(word in _FOREIGN - _SHARED for word in words)


def _words(text: str) -> list[str]:
    spelled = _I_AM.sub("I'm ", text)
    return [word.lower().replace("\u2019", "'") for word in _WORD.findall(spelled)]
