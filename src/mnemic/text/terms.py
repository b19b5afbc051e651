"""Text to index terms: one analysis for every keyword index, query and document alike."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, cast

__all__ = ["STOP_WORDS", "clean", "content_terms", "index_terms", "query_terms"]

# Scripts written without spaces: indexed as overlapping pairs of characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECES = re.compile(
    rf"[{_UNSPACED}]+|\d+(?:[.,:]\d+)+|[^\W_{_UNSPACED}]+(?:['\u2019][^\W_{_UNSPACED}]+)*[+#]*", re.UNICODE
)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
MAX_TERM = 64

STOP_WORDS = frozenset(
    """a about above after again against all am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't d did didn't do does doesn't doing don't down during each
    few for from further had hadn't has hasn't have haven't having he her here here's hers herself him himself
    his how i i'd i'll i'm i've if in into is isn't it it's its itself just ll m me mightn't more most mustn't my
    myself needn't no nor not now o of off on once only or other our ours ourselves out over own re s same shan't
    she she'd she's should should've shouldn't so some such t than that that's that'll the their theirs them
    themselves then there there's these they they'd they're they've this those through to too under until up ve
    very was wasn't we we're we've were weren't what what's when where which while who who's whom why will with
    won't would wouldn't y you you'd you'll you're you've your yours yourself yourselves""".split()  # noqa: SIM905
)


def clean(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD: what cannot be written as UTF-8 cannot be kept."""
    return _SURROGATES.sub("\ufffd", text)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:  # the package has no types
    import snowballstemmer

    return cast("Any", snowballstemmer).stemmer("english")


@lru_cache(maxsize=65_536)
def _fold(word: str) -> str:
    """Without accents: café is found as cafe. Hangul and kana are left whole."""
    if word.isascii():
        return word
    return unicodedata.normalize(
        "NFC", "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    )


def _words(text: str) -> list[str]:
    """Lower-case words, numbers, and pairs of characters for scripts without spaces."""
    words: list[str] = []
    for piece in _PIECES.findall(unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")):
        if _IS_UNSPACED.match(piece):
            words += [piece[i : i + 2] for i in range(len(piece) - 1)] or [piece]
        elif piece[0].isdigit() and piece[-1].isdigit():
            words.append(piece.replace(",", ""))
        else:
            words.append(_fold(piece)[:MAX_TERM])
    return words


def _term(word: str) -> str:
    return _stem(word.removesuffix("'s"))


def index_terms(text: str) -> tuple[str, ...]:
    """Every term of a document in order, stop words included: nothing that was said is impossible to find."""
    return tuple(_term(word) for word in _words(text))


def content_terms(text: str) -> tuple[str, ...]:
    """The terms that carry meaning, in order and with repeats: stop words left out. Their number is a text's length."""
    return tuple(_term(word) for word in _words(text) if word not in STOP_WORDS)


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct terms to look for: content terms, or all of them when there is nothing else."""
    return tuple(dict.fromkeys(content_terms(text))) or tuple(dict.fromkeys(index_terms(text)))
