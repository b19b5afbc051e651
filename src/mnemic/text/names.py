"""Proper names in a text, by rule: people, places, products and quoted titles. No model, so it leans to caution."""

from __future__ import annotations

import re
from functools import lru_cache

from mnemic.text.common import is_common
from mnemic.text.dates import MONTHS
from mnemic.text.terms import SENTENCE

__all__ = ["names"]

_WORD = r"[^\W\d_](?:[\w\u2019']|[&.+#/-](?=\w))*\+*#?"
_TOKEN = re.compile(rf"\d+(?:\.\d+)*[A-Za-z]*|{_WORD}|[^\s\w]")
_QUOTED = re.compile(r"[\"\u201c\u00ab]([^\"\u201c\u201d\u00ab\u00bb\n]{2,80})[\"\u201d\u00bb]")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_CONTRACTED = re.compile(r"^(?:i|you|he|she|it|we|they|that|there|here|what|who|how|where|let)['\u2019]", re.IGNORECASE)
_JOINS = frozenset("of the de la le di da del van von der du y & and for in".split())
"""May stand inside a name of several words (Bank of America); "and", "for" and "in" only inside a quoted or known one."""
_INSIDE = frozenset("of the de la le di da del van von der du y &".split())
_CALENDAR = frozenset(
    (
        *MONTHS,
        *"monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct "
        "nov dec".split(),
    )
)
_TITLES = frozenset(
    "mr mrs ms dr prof professor sir lady saint st aunt uncle grandma grandpa captain president".split()
)
_NOT_NAMES = frozenset(
    "i ok okay tv diy asap fyi btw lol omg id vs pm am etc eta imo idk tbh ps mom dad mum god".split()
)
_BEGINS = frozenset('.!?:;\n\u2026\u2022"\u201c(-*>\u3002\uff01\uff1f')
_CAMEL, _NUMBERED = re.compile(r"[a-z][A-Z]"), re.compile(r"[A-Z].*\d")


def names(text: str) -> list[str]:
    """The distinct proper names in a text, in order of appearance.

    A name is a run of capitalised words (with "of", "de" and the like between them), a word with capitals or digits inside
    it (PostgreSQL, iPhone, GPT-4), or a quoted title. A word that begins a sentence counts only when it is uncommon,
    possessive, or written with a capital elsewhere in the text; weekdays, months and words in a shouted text do not.
    """
    return list(_names(text) if len(text) <= SENTENCE else _names.__wrapped__(text))


@lru_cache(maxsize=2_048)
def _names(text: str) -> tuple[str, ...]:
    tokens = [(match[0], match.start()) for match in _TOKEN.finditer(text)]
    shouted = _is_shouted(text)
    inside: set[str] = (
        set() if shouted else {word for word, at in tokens if word[:1].isupper() and not _begins(text, at)}
    )
    found: list[tuple[int, str]] = [(m.start(1), m[1].strip()) for m in _QUOTED.finditer(text) if _is_title(m[1])]
    quoted = [(at, at + len(title)) for at, title in found]
    run: list[tuple[str, int]] = []
    for word, at in [*tokens, ("", len(text))]:
        if not run and word.islower():  # nothing begins with it, and nothing goes on
            continue
        free = not any(start <= at < end for start, end in quoted)
        if free and _continues(run, word, at, text):
            run.append((word, at))
            continue
        found += _closed(run)
        starts = (
            free
            and not word.islower()
            and bool(word)
            and (_is_marked(word) if shouted else _is_capitalised(word, at, text, inside))
        )
        run = [(word, at)] if starts else []
    return tuple(dict.fromkeys(name for _, name in sorted(found)))


def _is_shouted(text: str) -> bool:
    capitals = sum(map(str.isupper, text))
    return capitals > 8 and capitals > 0.7 * max(sum(map(str.isalpha, text)), 13)


def _is_marked(word: str) -> bool:
    """Capitals or digits inside the word tell a name whatever stands before it: iPhone, GitHub, GPT-4, utf8 is not one."""
    if word.isalpha() and (word[1:].islower() or len(word) < 2):
        return False
    bare = _POSSESSIVE.sub("", word)
    return bool(_CAMEL.search(bare) or (_NUMBERED.search(bare) and len(bare) > 1))


def _is_capitalised(word: str, at: int, text: str, inside: set[str]) -> bool:
    """Whether a name can begin with this word."""
    bare = _POSSESSIVE.sub("", word)
    lowered = bare.lower().rstrip(".")
    if _is_marked(word):
        return True
    if (
        not bare[:1].isupper()
        or len(bare) < 2
        or lowered in _NOT_NAMES
        or lowered in _CALENDAR
        or _CONTRACTED.match(word)
    ):
        return False
    if "'" in bare or "\u2019" in bare:  # Don't, O'Brien
        return bare[2:3].isupper()
    if not _begins(text, at):
        return not (is_common(bare) and lowered in _LOWER_WHEN_SHOUTED)
    if lowered in _TITLES or word in inside or not is_common(bare):
        return True
    following = re.match(r"\s+([^\W\d_][\w'\u2019]*)", text[at + len(word) :])
    return bool(following and following[1][:1].isupper() and not is_common(following[1]) and lowered not in _STARTERS)


# Words that people write with a capital for other reasons than being names.
_LOWER_WHEN_SHOUTED = frozenset("a an the and or but so if i it is my you we they he she this that not no yes".split())
_STARTERS = frozenset(
    """a an the and or but so if when while since after before then there here what who whom whose why how where which is are
    was were do does did has have had can could would should will may might must my your his her its our their this that these
    those hey hi hello thanks thank wow yes no not oh ok okay well also plus yeah yep sure great good nice cool love with at
    in on for from by to about because although though as like let lets please sorry maybe perhaps just never always both
    all some any many most every each one two three i we you he she it they dear congrats congratulations bye use tell ask
    call meet see visit try check send give take get using meeting seeing visiting near until unless once only even still
    hope glad happy sounds looks whenever wherever during between per via than yesterday today tomorrow tonight last next
    goodbye morning evening welcome remember show let's said says amazing awesome wonderful lovely beautiful""".split()
)


def _begins(text: str, at: int) -> bool:
    """Whether this place begins a sentence, a quotation or a list item."""
    if at > 1 and text[at - 1] == " " and (text[at - 2].isalnum() or text[at - 2] == ","):
        return False
    before = text[max(at - 80, 0) : at]
    bare = before.rstrip(" \t")
    if not bare or bare[-1] == "\n":
        return True
    if bare[-1] == ".":
        last = bare.rsplit(None, 1)[-1].lower().rstrip(".")
        return last not in _TITLES and not (len(last) == 1 and last.isalpha())
    return (bare[-1] in _BEGINS and not (bare[-1] in "-(" and before[-1] not in " \t")) or (
        not bare[-1].isascii() and not bare[-1].isalnum()
    )


def _continues(run: list[tuple[str, int]], word: str, at: int, text: str) -> bool:
    """Whether the word goes on with the name that is being read."""
    if not run or not word:
        return False
    last, start = run[-1]
    gap = text[start + len(last) : at]
    if gap not in {"", " "} or (_POSSESSIVE.search(last) and last[:1].isupper() and "'" in last.replace("\u2019", "'")):
        return False
    if word == "." and gap == "":
        return last.lower() in _TITLES or (len(last) == 1 and last.isupper())
    if gap == "" and last != ".":
        return False
    lowered = word.lower()
    if word[:1].isupper():
        return not _CONTRACTED.match(word) and word != "I" and not (lowered in _CALENDAR and last not in _INSIDE)
    return lowered in _INSIDE or bool(
        re.fullmatch(r"\d+(?:\.\d+)*[A-Za-z]*", word) and _versioned(last, text, at + len(word))
    )


def _versioned(last: str, text: str, end: int) -> bool:
    """A number is part of a name when nothing is counted by it: Python 3.12, but not "Ana 2 cats"."""
    return last[:1].isupper() and not re.match(r"\s*(?:%|[a-z]{2,}s\b|[ap]\.?m\b|o'clock)", text[end:])


def _closed(run: list[tuple[str, int]]) -> list[tuple[int, str]]:
    """The name that was read, without the small words at its end."""
    while run and (run[-1][0] in _INSIDE or run[-1][0] == "."):
        run = run[:-1]
    if not run or (len(run) == 1 and run[0][0].lower().rstrip(".") in _TITLES):
        return []
    words = " ".join(word for word, _ in run).replace(" .", ".")
    return [(run[0][1], _POSSESSIVE.sub("", words))]


def _is_title(quoted: str) -> bool:
    """A quotation that is a title begins with a capital, has a second one or is one word, and ends in no full stop."""
    words = quoted.split()
    if not words or len(words) > 10 or (quoted.rstrip()[-1] in ".,!?\u2026" and len(words) > 3):
        return False
    long = [word for word in words if len(word) > 3]
    return words[0][:1].isupper() and all(word[:1].isupper() or word[:1].isdigit() for word in long)
