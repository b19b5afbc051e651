"""Sentence splitting by rule, for chat, notes and agent replies in any script; and what a person wrote, apart from
what a program printed: stack traces, logs, code outside of a fence.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from mnemic.text.terms import STOP_WORDS

Span = tuple[int, int]
"""Begin and end of a part of a text."""
READ = 100_000
"""Characters of a text whose passages are told apart."""
LONG, PASSAGE, PASSAGES = 1_000, 300, 64
"""Longest text without passages, characters of a passage, and the share of a very long text that one may have."""

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_BULLET = re.compile(
    r"[ \t]*(?:[-*+\u2022\u2023\u25e6\u2043]|\(?\d{1,3}[.)]|\(?[a-z]\)|#{1,6}|>)[ \t]+(?:\[[ xX]\][ \t]+)?"
)
_WRAPPED = 60
"""A line at least this long without an end mark continues in the next one: wrapped text."""

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\U0001f000-\U0001faff\ufe0f\u200d\U000e0020-\U000e007f"
)
_CLOSING = "\"'\u201d\u2019\u00bb\u203a)\\]}*_\u300d\u300f\uff09\u3011"
_OPENING = "\"'\u201c\u2018\u00ab\u2039(\\[{*_\u300c\u300e\uff08\u3010\u00bf\u00a1"
_END = re.compile(
    rf"""
    (?P<cjk>[\u3002\uff01\uff1f\uff61]+[{_CLOSING}]*)\s*        # full stops of scripts without spaces
    | (?P<mark>[.!?\u2026\u061f\u06d4\u0964\u0965]+)            # and of those with spaces
      (?P<closed>[{_CLOSING}]*)(?P<emoji>(?:[ ]?[{_EMOJI}])*)(?:\s+|\Z)
    | (?P<only>(?:[ ]?[{_EMOJI}])+)(?:\s+|\Z)                    # an emoji can end one by itself
    """,
    re.VERBOSE,
)
_FINISHED = re.compile(rf"[.!?\u2026:;\u3002\uff01\uff1f][{_CLOSING}]*$")
"""The end of a line after which no sentence goes on."""
_LAST_WORD = re.compile(r"([^\s\"'\u201c\u2018(\[]+)$")
_MAY_END = frozenset(
    "etc inc ltd co corp jr sr a.m p.m am pm u.s u.k u.n e.u ph.d m.d b.a m.a b.sc m.sc d.c al".split()
)
"""Abbreviations that can end a sentence: a capital after them starts the next one."""
_ABBREVIATIONS = _MAY_END | frozenset(
    """mr mrs ms dr prof st mt ft rev hon gen col capt lt sgt gov sen rep pres vs eg ie e.g i.e cf approx dept est ed eds ca
    tel ext min max avg jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    sra srta avda mme mlle sig dott dra ing inkl bzw ul \u0433 \u0443\u043b""".split()
)
_NUMBERED = frozenset("no nos fig figs vol vols p pp op ch sec eq nr ave apt bldg ste rm".split())
"""Abbreviations only before a number, as in No. 5."""
_VOWELS = frozenset("aeiouy")
_UTTERED = frozenset(
    "hm hmm mm mmm mhm thx pls plz psst pfft shh brr grr btw tbh tsk tmr nvm np kk lmk rn bc wtf".split()
)
_DAY_OF = re.compile(
    r"(?:januar|februar|m\u00e4rz|mai|juni|juli|oktober|dezember|(?:april|august|september|november)(?= \d{4}\b))\b",
    re.IGNORECASE,
)
"""Months after an ordinal with a full stop: 3. Mai."""
_ORDINAL = re.compile(r"(?:\b(?:vom|zum|dem|den|der|seit|bis|ab|im)|(?<![iI] )\bam) \d{1,2}$")
"""A German ordinal, before its full stop: am 24. August, im 3. Stock."""
_IN_CODE = re.compile(r"[A-Z]{2,}\b")


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, without the white space around them.

    A code block is one sentence; list items, headings and separate lines each start a sentence, without their bullet.
    Abbreviations, initials, decimals, versions and ellipses do not end a sentence; emoji belong to the sentence before
    them.
    """
    parts: list[str] = []
    start = 0
    for block in _FENCE.finditer(text):
        parts += _prose_sentences(text[start : block.start()])
        parts.append(block[0].strip())
        start = block.end()
    return parts + _prose_sentences(text[start:])


def code_lines(sentence: str) -> list[str]:
    """The lines of a code block, each of which may be corrected; none of another sentence."""
    if not (block := _FENCE.fullmatch(sentence)):
        return []
    return [bare for line in sentence.splitlines()[1:] if (bare := line.strip()) and bare != block[1]]


def spans(text: str, most: int) -> Iterator[Span]:
    """Spans of the sentences of a text; those longer than ``most`` are split."""
    begin = 0
    for line in text.splitlines(keepends=True):
        for part in sentences(line):
            position = text.find(part, begin)
            if position < 0:  # joined from several lines
                continue
            begin, end = position, position + len(part)
            while end - begin > most:
                space = text.rfind(" ", begin + 1, begin + most)
                cut = space + 1 if space > 0 else begin + most
                yield begin, cut
                begin = cut
            yield begin, end
            begin = end


def passages(text: str) -> list[Span]:
    """The passages of a long text, in order: runs of its paragraphs, or of the sentences and lines of a long paragraph.

    Returns:
        Begin and end of each, at most 300 characters apart, more in a very long text; none of a text of up to 1,000
        characters, whose vector says all of it.
    """
    if len(text) <= LONG:
        return []
    head = text[:READ]
    most, merged = max(PASSAGE, len(head) // PASSAGES), list[Span]()
    for begin, end in _blocks(head):
        whole = end - begin <= most
        parts = [(0, end - begin)] if whole else spans(head[begin:end], most)
        for start, stop in parts:
            if merged and begin + stop - merged[-1][0] <= most:
                merged[-1] = (merged[-1][0], begin + stop)
            else:
                merged.append((begin + start, begin + stop))
    return merged


def _blocks(text: str) -> Iterator[Span]:
    """The runs of lines between blank ones."""
    begin, end, offset = -1, 0, 0
    for line in text.splitlines(keepends=True):
        if bare := line.rstrip():
            begin, end = offset if begin < 0 else begin, offset + len(bare)
        elif begin >= 0:
            yield begin, end
            begin = -1
        offset += len(line)
    if begin >= 0:
        yield begin, end


def _prose_sentences(text: str) -> list[str]:
    return [sentence for paragraph in _paragraphs(text) for sentence in _split(paragraph)]


def _paragraphs(text: str) -> list[str]:
    """Paragraphs: lines with wrapped ones joined."""
    paragraphs: list[list[str]] = []
    goes_on = False
    for line in text.splitlines():
        bare = line.strip()
        if not bare:
            goes_on = False
            continue
        bullet = _BULLET.match(line)
        if goes_on and not bullet and (_is_wrapped(paragraphs[-1][-1]) or bare[0].islower()):
            paragraphs[-1].append(bare)
        else:
            paragraphs.append([line[bullet.end() :].strip() if bullet else bare])
        goes_on = not _FINISHED.search(bare)
    return [joined for lines in paragraphs if (joined := " ".join(part for part in lines if part))]


def headings(text: str) -> set[str]:
    """The headings of a text, as ``sentences`` has them: short lines without an end mark that stand over others.

    A heading follows a blank line or a finished sentence. Items of a list, and lines after a colon, are none.
    """
    titles: set[str] = set()
    lines = [line.strip() for line in text.splitlines()]
    indexes = [index for index, line in enumerate(lines) if line]
    for previous, index, following in zip([None, *indexes], indexes, indexes[1:], strict=False):
        line, above = lines[index], "" if previous is None else lines[previous]
        if len(line) >= _WRAPPED or _FINISHED.search(line) or above.endswith((":", "\uff1a")):
            continue
        bullet, apart = _BULLET.match(line), previous is None or index - previous > 1
        if line.startswith("#"):
            is_heading = bullet is not None
        elif bullet:
            is_heading = apart and not (_BULLET.match(above) or _BULLET.match(lines[following]))
        else:
            is_heading = not line[0].islower() and (apart or bool(_FINISHED.search(above)))
        if is_heading:
            titles.add(" ".join(line[bullet.end() if bullet else 0 :].split()))
    return titles


def _is_wrapped(line: str) -> bool:
    """Whether a line without an end mark continues in the next one: long prose does, the line of a log does not."""
    return len(line) >= _WRAPPED and is_prose(line)


def _split(line: str) -> list[str]:
    pieces: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(line):
        if match.end() == len(line) or _ends(line, start, match):
            _append(pieces, line, start, match.end())
            start = match.end()
    _append(pieces, line, start, len(line))
    return [line[start:end].strip() for start, end in pieces]


def _append(pieces: list[tuple[int, int]], line: str, start: int, end: int) -> None:
    """Add a sentence; what has neither a letter nor a digit, such as an emoji, belongs to the one before it."""
    piece = line[start:end]
    if pieces and not any(c.isalnum() for c in piece):
        pieces[-1] = (pieces[-1][0], end)
    elif piece.strip():
        pieces.append((start, end))


def _ends(line: str, start: int, match: re.Match[str]) -> bool:
    """Whether a sentence ends at this mark, by the text before it and the character after it."""
    if match["cjk"]:
        return True
    following = line[match.end() :].lstrip(_OPENING.replace("\\", ""))[:1]
    if match["only"]:
        return not following.islower() and not following.isdigit()
    mark = match["mark"]
    if mark != "." or match["closed"]:
        if "." in mark or mark == "\u2026":
            if line[match.start() - 1 : match.start()] == " " and _IN_CODE.match(line, match.end()):
                return False  # SELECT ... FOR UPDATE
            return not following.islower()
        return not (match["closed"] and following.islower())  # "Stop!" he said.
    casual = line[start].islower()  # text without capitals has sentences too
    if _DAY_OF.match(line, match.end()) and line[match.start() - 1].isdigit():
        return False
    if _ORDINAL.search(line[start : match.start()]) and following.isupper():
        return False
    return not _is_abbreviation(line[start : match.start()], following) and (casual or not following.islower())


def _is_abbreviation(before: str, following: str) -> bool:
    match = _LAST_WORD.search(before[-20:])
    if not match:
        return False
    word = match[1].lower()
    if word in _NUMBERED or _is_street(word):
        return following.isdigit()
    if _is_shortened(match[1]) and word not in _UTTERED | _MAY_END:
        return following.isupper()
    if word in _ABBREVIATIONS:
        return word not in _MAY_END or not following.isupper()
    if all(len(part) == 1 and part.isalpha() for part in word.split(".")) and word != "i":
        earlier = (before[: -len(match[1])].split() or [""])[-1]
        return match[1].isupper() and (
            not earlier.islower() or earlier in STOP_WORDS
        )  # by J. Smith, but "vitamin D. Then"
    return word.isdigit() and match.start() == 0 and len(before.strip()) <= 3  # 1. of a list within a line


def _is_street(word: str) -> bool:
    """Whether it is the abbreviated name of a street, as in Hauptstr. and Lindenstra."""
    return word.isalpha() and len(word) >= 6 and word.endswith(("str", "stra"))


def _is_shortened(word: str) -> bool:
    """Whether it has a capital and no vowel, as in Hr. and Bldg."""
    titled = word.isascii() and word.isalpha() and word.istitle()
    return titled and 2 <= len(word) <= 4 and _VOWELS.isdisjoint(word.lower())


_PRINTED = re.compile(
    r"""\s*(?:
    Traceback[ ]\(most[ ]recent | File[ ]"[^"]+",[ ]line[ ]\d | at[ ]\S+[ ]?\(\S+:\d+\) | (?:Caused[ ]by|panic):[ ]
    | (?:Exception[ ]in[ ].*)?\w\S*(?:Error|Exception|Warning):(?:\s|\Z) | Error:[ ]
    | (?:\w:[ ])?(?:file:)?[^\s:]+\.\w+:\d+(?:(?::\d+)?:|:\d+)[ ]  # a place in a file, as compilers and linters begin a message
    | \w+[ ](?:WARN|ERR!|INFO|DEBUG)[ ] | (?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,40}[ ]\S  # a level, a commit
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d | \[?\d\d:\d\d:\d\d\b
    | [-bcdlps](?:[r-][w-][-xsStT]){3}[.+@]?[ ]  # of a file, with its permissions
    )""",
    re.VERBOSE,
)
"""Beginnings of lines of stack traces, logs and listings, which may go on in words."""
_ALIGNED = re.compile(r"(?<=\S)[ ]{2,}(?=\S)")
_LONGEST_ROW = 2_000
"""Characters of a line that may be a row of a table."""
_NUMBER = re.compile(r"(?=\D*\d)[\W\d]+")
_CODE = re.compile(r"\w(?:[\\/_()\[\]$^~`]|::)+\w|\w\.?\(|[{}<>|\\=]|\A[\"'(]*(?:[/~$]\w?|--\w)", re.ASCII)
_SYMBOL = re.compile(r"[=<>{}\[\]|\\/_#$%^&*~`@+;()]|(?<!\d):")
_MOST_SYMBOLS = 0.04
GAP = 2
"""Most lines between two printed ones that belong to the same output."""


def symbol_share(text: str) -> float:
    """The share of characters that are symbols."""
    return len(_SYMBOL.findall(text)) / max(len(text), 1)


def is_prose(line: str) -> bool:
    """Whether a line has few symbols, at most one in a short line: most lines of code, logs and tables have more."""
    return symbol_share(line) <= max(_MOST_SYMBOLS, 1 / max(len(line), 1))


def without_output(text: str) -> str:
    """A text without the lines that a program printed.

    A line was printed if it begins as one of a stack trace, a log or a listing, if at least half of its words are code, if it
    is a row of a table, or if it stands, without a blank line, between two such lines or indented below one. In a paragraph
    after the first, of which most lines are neither items nor end a sentence, these were printed as well if one was.
    """
    lines = text.splitlines()
    printed = [_is_printed(line) or is_row for line, is_row in zip(lines, _table_rows(lines), strict=True)]
    last: int | None = None
    for index, line in enumerate(lines):
        if not line.strip():
            last = None
        elif printed[index]:
            if last is not None and index - last <= GAP + 1:
                printed[last:index] = [True] * (index - last)
            last = index
        elif last == index - 1 and line[0].isspace():
            printed[index], last = True, index
    for begin, end in [*_paragraph_spans(lines)][1:]:
        written = [bool(_BULLET.match(line) or _FINISHED.search(line.rstrip())) for line in lines[begin:end]]
        if any(printed[begin:end]) and 2 * sum(written) < end - begin:
            printed[begin:end] = [out or not own for out, own in zip(printed[begin:end], written, strict=True)]
    return "\n".join("" if out else line for line, out in zip(lines, printed, strict=True))


def _paragraph_spans(lines: Sequence[str]) -> Iterator[Span]:
    """The runs of lines between blank ones."""
    position = 0
    for filled, run in groupby(lines, key=lambda line: bool(line.strip())):
        count = len([*run])
        if filled:
            yield position, position + count
        position += count


def _table_rows(lines: Sequence[str]) -> Iterator[bool]:
    """Whether each line is one of several with as many fields, between commas, semicolons, bars, tabs or wide gaps."""
    for columns, group in groupby(lines, key=_columns):
        rows = len([*group])
        least = 2 if columns and columns[1] > 2 and columns[0] != " " else 3
        yield from [columns is not None and rows >= least] * rows


def _columns(line: str) -> tuple[str, int] | None:
    """What separates the fields of a row, and their number; None for a line that is none."""
    bare = line.strip()
    if not bare or len(bare) > _LONGEST_ROW:
        return None
    if tabs := bare.count("\t"):
        return "\t", tabs + 1
    for separator in ",;|":
        if bare.count(separator) > 1:
            fields = next(csv.reader([bare], delimiter=separator))
            if len(fields) > 2 and not any(field.startswith(" ") for field in fields):  # else it is prose
                return separator, len(fields)
    gaps = len(_ALIGNED.findall(bare))
    return (" ", gaps + 1) if gaps > 1 else None


def _is_printed(line: str) -> bool:
    if _PRINTED.match(line) or (line.isupper() and len(_ALIGNED.findall(line.strip())) > 1):
        return True
    words = [word for word in line.split() if not _NUMBER.fullmatch(word)]
    return bool(words) and 2 * sum(_CODE.search(word) is not None for word in words) >= len(words)
