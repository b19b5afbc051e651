"""Terminal escapes, invisible characters, chat markup and links made harmless, in texts and names; fences of a record."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

from mnemic.types import Hit, MemoryRecord, Message, Source
from mnemic.types.literals import ROLES

_ESCAPES = re.compile(  # terminal escape sequences: colours, titles, links
    "(?:\x1b\\[|\x9b)[0-9;:?<=>]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)?"
)
_UNSAFE = re.compile(  # control, invisible and bidirectional characters
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufff0-\ufffb\U00013430-\U00013440\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SELECTORS = re.compile(  # one behind a symbol, or as a space of Braille, is normal; others can hide a message
    "[\ufe00-\ufe0f]{2,}|(?<![0-9#*\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe00-\ufe0f]"
    "|\u2800{2,}|(?<![\u2801-\u28ff])\u2800"
)
_SYMBOL = re.compile("[\u203c-\u2bff\ufe0f\U0001f000-\U0001faff]")
_NAMES = (
    r"system|user|assistant|human|developer|tools?|tool[_-]\w{1,40}|function\w{0,20}|invoke|parameters?|instructions?|"
    r"prompt|think(?:ing)?|reasoning|s|bos|eos|start_of_turn|end_of_turn|begin_of_text|end_of_text|endoftext|inst|sys|channel|"
    r"title|known|predictions?|conversation|query|candidates|context"
)
_SPARE = r"(?:unused|reserved)\w{0,20}\d"
_TOKENS = (  # special tokens of chat models, by the form of their names
    rf"\w{{1,30}}_id_?\d{{1,4}}|{_SPARE}|(?:bos|eos|pad|unk|sep|cls|mask)(?:_token)?|(?:start|begin|end)_\w{{1,30}}|"
    r"[se]o[ptdmha]|fim_\w{1,10}"
)
_BRACKETS = re.compile(r"[<>\[\]]")
_ROLE = r"(?:system|user|assistant|developer|human|tool|function|model)"
_UPPER = r"(?-i:[A-Z]{3,20}(?:_[A-Z]{2,20}){0,4})"
_CALLED = r"(?-i:(?:[A-Z]{2,20}_){0,3}(?:INST|SYSTEM|USER|ASSISTANT|TOOLS?|ARGS|CALL)(?:_[A-Z]{2,20}){0,3})"
_INSERTED = (
    r"\b(?:tasks?|tools?|system|user|assistant|agent|commands?|bash|reminder|notification|instructions?|messages?)\b"
)
"""Parts of the names of blocks that agents insert; other names with hyphens are elements and placeholders."""
_TAG = re.compile(
    rf"[<\uff1c\ufe64](?=\s{{0,8}}[/!?]?\s{{0,8}}(?:[\w.-]{{1,40}}:)?(?:memor(?:y|ies)|_{{0,3}}(?:{_NAMES})\b))|[<\uff1c\ufe64](?=[<\uff1c]?\s{{0,8}}[|\uff5c/]?\s{{0,8}}(?:[|\uff5c]|SYS))"
    rf"|[<\uff1c\ufe64](?=/?(?:{_TOKENS}|(?=[a-z-]*{_INSERTED})[a-z]{{3,20}}(?:-[a-z]{{3,20}}){{1,4}})[>\uff1e\ufe65]|\w{{1,20}}\s[^<>]{{0,60}}?\brole\s{{0,3}}=\s{{0,3}}[\"']?{_ROLE}\b)"
    rf"|\[(?=\s?[|\uff5c]\s?/?\w{{2,30}}\s?[|\uff5c]\s?\]|(?:(?-i:[gs]MASK)|{_SPARE}|/{_UPPER}|{_CALLED})\])"
    r"|(?<![\w\])])(?:[<\uff1c\ufe64](?=/?(?!\w{1,40}_id[>\uff1e\ufe65])"
    r"(?:\w{0,40}[_:]\w{1,40}|[a-z]{3,20}\d{1,4}|(?-i:[A-Z]{3,40}))[>\uff1e\ufe65]|\w{3,20}[>\uff1e\ufe65]\s{0,3}[:\uff1a](?:\s|\Z))"
    rf"|\[(?=/?{_UPPER}\]))"
    rf"|[<\uff1c\ufe64](?=\w{{1,20}}[>\uff1e\ufe65]\s{{0,3}}{_ROLE}\s{{0,3}}[<\uff1c\ufe64]/)"
    r"|[<\uff1c\ufe64](?=/?\w[\w.-]{0,40}\s{0,3}[|\uff5c]\s{0,3}[>\uff1e\ufe65])"
    r"|>(?=>(?-i:[A-Z]{3,40})<<)|\](?=~[!\w]{1,8}[\[\]])",
    re.IGNORECASE,
)
_SPEAKER = rf"(?:{_ROLE}|ai|(?-i:(?:[A-Z]\w{{0,20}} ){{1,2}}(?:User|Assistant|Human)))"
_TURN = re.compile(  # also as a quotation, a heading, an item or a label
    rf"^(?=(?>(?:[^\S\n]|[>*_#\[(+\u2022-])*){_SPEAKER}[ *_\])]{{0,4}}[:\uff1a]"
    r"|[^\S\n]*+#{1,6} ?(?:instruction|response|input):)",
    re.IGNORECASE | re.MULTILINE,
)
_PAGE = re.compile(  # elements that need no attribute, and addresses in angle brackets
    r"<(?=/?(?:a|img|image|script|iframe|object|embed|form|svg|link|meta|style|video|audio|input|button|base)\b"
    r"|[a-z][a-z0-9+.-]{1,31}:(?![:\s]|\Z))",
    re.IGNORECASE,
)
_ELEMENT = re.compile(r"<[a-z](?>(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')|[^>])*)", re.IGNORECASE)
_ACTIVE = re.compile(  # a handler, a style, or a value that may be an address
    r"(?<![\w-])(?:on[a-z]+|style)\s*+=|=\s*+(?:\"[^\":/\\&]*+|'[^':/\\&]*+|[^\s\"'>=:/\\&]*+)[:/\\&]", re.IGNORECASE
)
_OPENING = re.compile(r"<(?=[a-z])", re.IGNORECASE)
_LINK = re.compile(r"!(?=\[)|\](?=[(:\[])")


def _like(word: str) -> str:
    """A pattern of a word in which letters may be swapped for those of other scripts, as look-alikes are."""
    return "".join(rf"(?:{letter}|[^\x00-\x7f])" for letter in word)  # a range of all letters takes long to compile


_SOURCES = (("direct", "user"), ("model", "inference"), ("tool", "internal"), ("tool", "external"))
_NEEDED = ("unverified", "document", *(what for _, what in _SOURCES))
"""Words of which a mark in plain ASCII has one."""


def _origin(joint: str) -> str:
    """A pattern of the names of sources, with so much between their two words."""
    return "|".join(f"{_like(of)}{joint}{_like(what)}" for of, what in _SOURCES)


_ORIGIN = _origin(r"[\s_\\-]{0,3}")
_NAMED = _origin(r"\\{0,2}_")
_MARK = re.compile(  # the mark below, as models repeat it: emphasised, escaped, in other brackets, shortened
    rf"\[\W{{0,3}}(?P<mark>{_like('unverified')})(?=[\W_])"
    rf"|(?P<word>{_like('unverified')})\W{{1,5}}(?:{_ORIGIN}|document\W{{0,3}}[\])])",
    re.IGNORECASE,
)
_OTHER_BRACKETS = r"{}<>\u00ab\u00bb\u2768-\u2775\u27e6-\u27ef\u2983-\u2998\u3008-\u3011\u3014-\u301b"
_BRACKETED = re.compile(  # a call and a list of strings are no mark
    r"(?:\[|(?<![a-zA-Z0-9_])\()(?P<inside>[^\])\n\"'`]{3,60})[\])]"
    rf"|(?<![a-zA-Z0-9_])[{_OTHER_BRACKETS}](?P<within>[^\])\n\"'`]{{3,60}}?)[\]){_OTHER_BRACKETS}]"
)
_AT_EDGE = re.compile(  # as the source of a translated mark is
    rf"(?:\A|[\[(])\W{{0,3}}(?P<first>{_NAMED})\s{{0,3}}[^\w\s]\W{{0,3}}\w|\w\W{{1,4}}(?P<last>{_NAMED})\W{{0,3}}\Z"
    rf"|[^\w\s]\s{{0,3}}(?:(?P<loose>{_ORIGIN})|(?P<document>{_like('document')}))\W{{0,3}}\Z",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"(?!\s{0,3}[,\])}=.;]|\s(?:for|in)\b)(?=\W{0,8}\w)")
"""What follows a mark, but not a list in a program."""
_SUBSCRIPT = re.compile(r"[\w\[(=]$|=\s$")


def visible(text: str) -> str:
    """The text without control characters, terminal escapes, bidirectional marks and invisible characters.

    Line feeds and tabs are kept; every other line end becomes a line feed.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SELECTORS.sub("", _UNSAFE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))))


def revealed(text: str) -> str:
    """The text with every control, bidirectional and invisible character as a mark, such as ``[U+202E]``.

    Line feeds and tabs stay, and joiners and selectors of symbols, as in emoji.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SELECTORS.sub(code_points, _UNSAFE.sub(code_points, text.replace("\r\n", "\n").replace("\r", "\n")))


def code_points(unsafe: re.Match[str]) -> str:
    """The characters of a match as marks, such as ``[U+202E]``; a joiner of symbols stays."""
    joins = unsafe[0] == "\u200d" and _SYMBOL.match(unsafe.string[unsafe.start() - 1 : unsafe.start()])
    return unsafe[0] if joins else "".join(f"[U+{ord(character):04X}]" for character in unsafe[0])


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: white space, control and invisible characters only."""
    return not visible(text).strip()


def harmless(text: str) -> str:
    """A visible text, stripped, with chat markup and lines that start like a turn made harmless."""
    return unvoiced(unmarked(text).strip())


def unmarked(text: str) -> str:
    """The text with chat markup (turns, roles, tool calls, fences) made harmless."""
    if text.isascii() and not _BRACKETS.search(text):
        return text
    return _TAG.sub("\u2039", text)


def unvoiced(text: str) -> str:
    """The text with lines that start like a turn, such as ``Human:``, made harmless."""
    return _TURN.sub("\u2039", text) if ":" in text or "\uff1a" in text else text


def unlinked(text: str) -> str:
    """The text with links, images and HTML elements made harmless."""
    if "<" in text:
        text = _ELEMENT.sub(_inactive, _PAGE.sub("\u2039", text))
    return _LINK.sub(lambda match: f"{match[0]} ", text)


def _inactive(element: re.Match[str]) -> str:
    """An element that loads or runs nothing."""
    return _OPENING.sub("\u2039", element[0]) if _ACTIVE.search(element[0]) else element[0]


def unverified(text: str, source: str) -> str:
    """The text of an untrusted source, marked as such and with broken links."""
    return f"[unverified, {source}] {unlinked(text)}"


def is_unverified(text: str) -> bool:
    """Whether a text carries the mark of untrusted text, including look-alike characters."""
    plain = text if text.isascii() else visible(unicodedata.normalize("NFKC", text))
    if plain.isascii() and not any(map(plain.lower().__contains__, _NEEDED)):
        return False
    return any(2 * len(re.findall("[a-z]", word, re.IGNORECASE)) > len(word) for word in _marks(plain))


def _marks(text: str) -> Iterator[str]:
    """What may be the mark; of one in other scripts nothing says so."""
    for match in _MARK.finditer(text):
        yield match["mark"] or match["word"]
    for bracket in _BRACKETED.finditer(text):
        if name := _AT_EDGE.search(bracket["inside"] or bracket["within"]):
            start = bracket.start()
            if (name["loose"] or name["document"]) and text[start] in "({<":
                continue  # an aside: "(PDF, document)"
            if name["first"] and text[start] == "{":
                continue  # a field: {model_inference: true}
            listed = _SUBSCRIPT.search(text[max(0, start - 2) : start])
            if not name["document"] or (not listed and _GOES_ON.match(text, bracket.end())):
                yield name[name.lastgroup or 0]


_ESCAPED = r"&(?>(?:amp;)*)#?\w{1,8};|%(?>(?:25)*)[0-9a-f]{2}|\\{1,4}(?:u00|x)[0-9a-f]{2}"
_OPEN = rf"(?:{_ESCAPED}|\\{{0,4}}[<\[\uff1c\ufe64\u2039])"
_CLOSE = rf"[\"']?(?:{_ESCAPED}|\\{{0,4}}[>\]\uff1e\ufe65\u203a])"
_SLASH = r"(?:\\{0,4}[/\uff0f]|%(?>(?:25)*)2f|&(?>(?:amp;)*)(?:#0*+47|#x0*+2f|sol);|\\{1,4}(?:u00|x)2f)"
_EMPTY_LINE = re.compile(r"\n[ \t>]*+\n|\\n\\n")


@lru_cache(maxsize=64)
def _fence(word: str) -> re.Pattern[str]:
    """A fence, known by its word: as it is, quoted as in mail, escaped, or in other brackets."""
    quotation = r"(?:(?:(?<=\n)|^)[ \t]*+(?>(?:>[ \t]?)+))?"
    return re.compile(
        rf"{quotation}{_OPEN}[ \t]{{0,3}}(?P<end>{_SLASH}[ \t]{{0,3}})?memory[^\n]{{1,24}}?{re.escape(word)}(?:{_CLOSE})?",
        re.IGNORECASE,
    )


def _blocks(text: str, word: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each fenced block, and whether it is whole; one without an end goes up to the next empty line."""
    begun: re.Match[str] | None = None
    for fence in _fence(word).finditer(text):
        if begun is not None:
            yield (begun.start(), fence.end(), True) if fence["end"] else (*_loose(begun, fence.start()), False)
        elif fence["end"]:
            yield (*fence.span(), False)
        begun = None if fence["end"] else fence
    if begun is not None:
        yield (*_loose(begun, len(text)), False)


def _loose(begun: re.Match[str], most: int) -> tuple[int, int]:
    empty = _EMPTY_LINE.search(begun.string, begun.end(), most)
    return begun.start(), empty.start() if empty else most


def _has(text: str, word: str) -> bool:
    return word in text or word.upper() in text


def without_recalled(text: str, fence: str) -> str | None:
    """The text without the fenced blocks of this record; None when it has none.

    Also handles mail quotes, escapes, and blocks without an end, which are removed up to the next empty line.

    Args:
        text: incoming text.
        fence: the word of the record's fences.
    """
    blocks = [*_blocks(text, fence)] if _has(text, fence) else []
    if not blocks:
        return None
    kept = zip((0, *(end for _, end, _ in blocks)), (*(start for start, _, _ in blocks), len(text)), strict=True)
    return "".join(text[start:end] for start, end in kept).strip()


def is_cut_off(text: str, fence: str) -> bool:
    """Whether a text has an unbalanced fence of this record, so that recalled text may remain in it.

    Args:
        text: incoming text.
        fence: the word of the record's fences.
    """
    return _has(text, fence) and not all(whole for *_, whole in _blocks(text, fence))


A_NAME = " (a name)"
"""Stands behind a name that reads like a role."""

_UNSEEN = re.compile(r"[^\S ]|^ +| +$|(?<= ) +|[:\uff1a](?=\s|$)")
"""White space that one line loses, and a colon that would end the name."""
_ROLE_OF_SOURCE: Mapping[Source, str] = {"direct_user": "user", "model_inference": "assistant"}
"""Whose words a memory is: its role is not stored."""


def speaker_label(of: Message | Hit | MemoryRecord) -> str:
    """The name of who said something, else the role; empty if neither is known.

    What nobody would see in a name is shown by its code point, as in ``Ana[U+200B]``. The word of a role that is not the
    speaker's own is called a name, as in ``system (a name)``; so is a name that ends with it in parentheses.
    """
    if isinstance(of, Message):
        name, role = of.name or of.role, of.role
    else:
        name, role = of.speaker or "", getattr(of, "role", None) or _ROLE_OF_SOURCE.get(of.source, "")
    label = _UNSEEN.sub(code_points, revealed(name))
    return label if _role_in(name) in (None, _role_in(role)) else f"{label}{A_NAME}"


def _role_in(name: str) -> str | None:
    """The role that a name claims; None for none."""
    plain = visible(unicodedata.normalize("NFKC", name)).casefold()
    words = re.findall(r"[^\W_]+", plain)
    return ROLES.get("_".join(words[-1:] if re.search(r"[)\]}]\W*$", plain) else words))
