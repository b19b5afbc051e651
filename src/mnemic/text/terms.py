"""Index terms: one analyser for every keyword index, for queries and documents."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Any, cast

# The base form, then its irregular forms.
_FAMILIES = """
    arise/arose/arisen, awake/awoke/awoken, bear/bore/born/borne, beat/beaten, become/became, begin/began/begun,
    bend/bent, bite/bit/bitten, bleed/bled, blow/blew/blown, break/broke/broken, breed/bred, bring/brought,
    build/built, burn/burnt, buy/bought, catch/caught, child/children/kid/kids, choose/chose/chosen,
    cling/clung, come/came, creep/crept, deal/dealt, dig/dug, dive/dove, draw/drew/drawn, dream/dreamt,
    drink/drank/drunk, drive/drove/driven, eat/ate/eaten, fall/fell/fallen, feed/fed, feel/felt, fight/fought,
    find/found, flee/fled, fly/flew/flown, foot/feet, forbid/forbade/forbidden, forget/forgot/forgotten,
    forgive/forgave/forgiven, freeze/froze/frozen, give/gave/given, go/went/gone, goose/geese, grind/ground,
    grow/grew/grown, hang/hung, hear/heard, hide/hid/hidden, hold/held, keep/kept, kneel/knelt, knife/knives,
    know/knew/known, lay/laid, lead/led, lean/leant, leap/leapt, learn/learnt, leave/left,
    lend/lent, lie/lain, light/lit, lose/lost, make/made, man/men, mean/meant, meet/met, mouse/mice,
    pay/paid, person/people, prove/proven, ride/rode/ridden, ring/rang/rung, rise/rose/risen, run/ran, say/said,
    see/saw/seen, seek/sought, sell/sold, send/sent, sew/sewn, shake/shook/shaken, shelf/shelves, shine/shone,
    shoot/shot, show/shown, shrink/shrank/shrunk, sing/sang/sung, sink/sank/sunk, sit/sat, sleep/slept,
    slide/slid, speak/spoke/spoken, speed/sped, spend/spent, spin/spun, spring/sprang/sprung, stand/stood,
    steal/stole/stolen, stick/stuck, sting/stung, strike/struck, swear/swore/sworn, sweep/swept, swim/swam/swum,
    swing/swung, take/took/taken, teach/taught, tear/tore/torn, tell/told, think/thought, throw/threw/thrown,
    tooth/teeth, understand/understood, wake/woke/woken, wear/wore/worn, weave/wove/woven, wife/wives, win/won,
    wind/wound, wolf/wolves, woman/women, write/wrote/written
"""

BASE_FORMS = {
    form: family.strip().split("/")[0]
    for family in _FAMILIES.replace("\n", " ").split(",")
    for form in family.strip().split("/")[1:]
}


# Scripts written without spaces: indexed as overlapping pairs of characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a"
    "\u0900-\u0963\u0966-\u0dff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
"""Combining marks inside words, which ``\\w`` does not match."""
_LETTER = rf"(?:[^\W_{_UNSPACED}]|[{MARKS}])"
_PIECES = re.compile(rf"[{_UNSPACED}]+|\d+(?:[.,:]\d+)+|{_LETTER}+(?:['\u2019]{_LETTER}+)*[+#]*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_CONTRACTED = frozenset("s re ve ll d m t".split())
"""Ends of words after an apostrophe."""
_WHOLE = {"won't": "will", "can't": "can", "shan't": "shall"}
_SURROGATES = re.compile("[\ud800-\udfff]")
MAX_TERM, MIN_PART = 64, 3
"""Most letters of a term, and fewest of a part of a word with an apostrophe."""
WORD, SENTENCE = 16, 400
"""Longest texts in characters whose terms are cached: many words, and some sentences."""

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both
    but by can could did do does doing don down during each few for from further get got had has have having he
    her here hers herself hey him himself his how i if in into is it its itself just kind like ll lot lots many
    me might more most much my myself no nor not now of off oh ok okay on once only or other our ours ourselves
    out over own re really s same she should so some such t than that the their theirs them themselves then there
    these they this those through to too type under until up ve very was we were what when where which while who
    whom whose why will with would wow yeah you your yours yourself yourselves""".split()
)


def clean(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, which UTF-8 cannot encode."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Snowball's English stem of the base form: shots matches shot, and both match shoot."""
    if len(word) <= 2 and not word.isascii():  # character pairs of unspaced scripts have no stem
        return word
    stemmer = _stemmer()
    stem = str(stemmer.stemWord(BASE_FORMS.get(word, word)))
    return str(stemmer.stemWord(BASE_FORMS[stem])) if stem in BASE_FORMS else stem


_of_thread = threading.local()


def _stemmer() -> Any:
    """The stemmer of this thread, because a stemmer is stateful; the package is untyped."""
    if not hasattr(_of_thread, "stemmer"):
        import snowballstemmer

        _of_thread.stemmer = cast("Any", snowballstemmer).stemmer("english")
    return _of_thread.stemmer


@lru_cache(maxsize=65_536)
def without_accents(word: str) -> str:
    """Strip accents: café becomes cafe. Hangul and kana are unchanged."""
    if word.isascii():
        return word
    return unicodedata.normalize(
        "NFC", "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    )


def _around_apostrophes(piece: str) -> list[str]:
    """A word without its contraction; one with another apostrophe as a whole and in parts: delodie and elodie of d'Elodie."""
    word, _, end = piece.rpartition("'")
    whole = _WHOLE.get(piece) or (word if end in _CONTRACTED else piece)
    parts = whole.split("'")
    return [whole] if len(parts) == 1 else ["".join(parts), *(part for part in parts if len(part) >= MIN_PART)]


_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_PLAIN = str.maketrans(
    {"\u2019": "'", "\u0131": "i", "\u0142": "l", "\u00f8": "o", "\u0111": "d", "\u00e6": "ae", "\u0153": "oe"}
    | dict.fromkeys("\u00ad\u200b\u2060\ufeff", "")
)
"""What is typed in place of letters without a decomposition, and what is invisible inside a word."""


def _normalize(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_PLAIN)
    return _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)


def _words(text: str) -> list[str]:
    """Lower-case words without their contractions (don't is don), numbers, pairs of characters for unspaced scripts."""
    words: list[str] = []
    for piece in _PIECES.findall(_normalize(text)):
        if not piece.isascii() and _IS_UNSPACED.match(piece):
            words += [piece[i : i + 2] for i in range(len(piece) - 1)] or [piece]
        elif piece[0].isdigit() and piece[-1].isdigit():
            words.append(piece.replace(",", "")[:MAX_TERM])
        else:
            named = map(without_accents, _around_apostrophes(piece) if "'" in piece else [piece])
            words += [word[:MAX_TERM] for word in named if word]
    return words


def _with_characters(words: list[str]) -> tuple[str, ...]:
    """The terms of words, and single characters of unspaced scripts, so that queries can match one."""
    singles = [
        char for word in words if not word.isascii() and len(word) > 1 and _IS_UNSPACED.match(word) for char in word
    ]
    return tuple(map(_stem, words)) + tuple(dict.fromkeys(singles))


WRITTEN = re.compile(rf"[\w{MARKS}]+")


def written_words(text: str) -> frozenset[str]:
    """The words of a text that may be names, without accents: small letters count only where a text begins with one."""
    words = WRITTEN.findall(text)
    casual = words[:1] and words[0][0].islower()
    return frozenset(without_accents(word.casefold()) for word in words if casual or not word.islower())


def index_terms(text: str) -> tuple[str, ...]:
    """Every term of a document, stop words included, so that all text can be found."""
    return _with_characters(_words(text))


def analyse(text: str) -> tuple[tuple[str, ...], int]:
    """The index terms of a text and its number of content words, in one pass."""
    words = _words(text)
    return _with_characters(words), sum(word not in STOP_WORDS for word in words)


def content_terms(text: str) -> tuple[str, ...]:
    """The terms without stop words, in order and with repeats; their number is the length of a text."""
    if len(text) <= WORD:
        return _cached_word_terms(text)
    return _cached_sentence_terms(text) if len(text) <= SENTENCE else _content_terms(text)


def _content_terms(text: str) -> tuple[str, ...]:
    return tuple([_stem(word) for word in _words(text) if word not in STOP_WORDS])


_cached_word_terms = lru_cache(maxsize=32_768)(_content_terms)
_cached_sentence_terms = lru_cache(maxsize=4_096)(_content_terms)


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct content terms of a query, or all its terms if it has none."""
    return tuple(dict.fromkeys(content_terms(text))) or tuple(dict.fromkeys(_stem(word) for word in _words(text)))
