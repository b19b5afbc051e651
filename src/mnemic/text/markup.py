"""Text as nothing but text: what a terminal obeys, what shows nothing, and what a model or a page would take for markup."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["is_unverified", "unlinked", "unmarked", "unverified", "unvoiced", "visible"]

_ESCAPES = re.compile(  # what a terminal would obey, as a whole: colours, titles, links
    "(?:\x1b\\[|\x9b)[0-9;:?<=>]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)?"
)
_UNSAFE = re.compile(  # control characters, and those that show nothing or turn the direction of the text
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f]{2,}")  # one says how the character before it looks; several hide a message
_NAMES = (
    r"system|user|assistant|human|developer|tools?|tool[_-]\w{1,40}|function\w{0,20}|invoke|parameters?|instructions?|"
    r"prompt|think(?:ing)?|reasoning|s|bos|eos|start_of_turn|end_of_turn|begin_of_text|end_of_text|endoftext|inst|sys|channel|"
    r"title|known|conversation|query|candidates|context"
)
_TOKENS = (  # what models were trained to take for the frame of a conversation, by the form of its name
    r"(?:\w{1,30}_id|unused|reserved)_?\d{1,4}|(?:bos|eos|pad|unk|sep|cls|mask)(?:_token)?|(?:start|begin|end)_of_\w{1,30}|"
    r"[se]o[ptdmha]|fim_\w{1,10}"
)
_ROLE = r"(?:system|user|assistant|developer|human|tool|function|model)"
_TAG = re.compile(
    rf"[<\uff1c\ufe64](?=\s{{0,8}}[/!?]?\s{{0,8}}(?:[\w.-]{{1,40}}:)?(?:memor(?:y|ies)|(?:{_NAMES})\b))|[<\uff1c\ufe64](?=[<\uff1c]?\s{{0,8}}[|\uff5c/]?\s{{0,8}}(?:[|\uff5c]|SYS))"
    rf"|[<\uff1c\ufe64](?=/?(?:{_TOKENS})[>\uff1e\ufe65]|\w{{1,20}}\s[^<>]{{0,60}}?\brole\s{{0,3}}=\s{{0,3}}[\"']?{_ROLE}\b)"
    r"|\[(?=\s?[|\uff5c]\s?/?\w{2,30}\s?[|\uff5c]\s?\]|(?-i:[gs]?MASK|CLS|SEP|PAD|UNK|[BE]OS)\])"
    r"|\[(?=/?(?:INST|SYS|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|THINK)\b)",
    re.IGNORECASE,
)
_TURN = re.compile(
    rf"^(?=[ >*_#]{{0,4}}(?:{_ROLE}|ai)[ *_]{{0,4}}[:\uff1a]|#{{2,4}} ?(?:instruction|response|input):)",
    re.IGNORECASE | re.MULTILINE,
)
_PAGE = re.compile(
    r"<(?=/?(?:a|img|image|script|iframe|object|embed|form|svg|link|meta|style|video|audio|input|button|base|https?:|mailto:)\b)",
    re.IGNORECASE,
)
_LINK = re.compile(r"!(?=\[)|\](?=[(:\[])")
_UNVERIFIED = re.compile(  # as it is written below, and as models repeat it: emphasised, escaped, in other brackets
    r"unverified\W{1,5}(?:direct\\?_user|model\\?_inference|tool\\?_(?:internal|external)|document\W{0,3}[\])])",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """The text without control characters, escapes of terminals, marks of direction and characters that show nothing.

    Line feeds and tabs stay; every other end of a line becomes a line feed.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SELECTORS.sub("", _UNSAFE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))))


def unmarked(text: str) -> str:
    """The text with what models take for the end of a turn, a role, a tool call or a fence made unlike it."""
    if text.isascii() and "<" not in text and "[" not in text:
        return text
    return _TAG.sub("\u2039", text)


def unvoiced(text: str) -> str:
    """The text with no line left that begins as a turn of a conversation does, such as ``Human:``."""
    return _TURN.sub("\u2039", text) if ":" in text or "\uff1a" in text else text


def unlinked(text: str) -> str:
    """The text with no link, image or element left that a page would follow or load."""
    return _LINK.sub(lambda match: f"{match[0]} ", _PAGE.sub("\u2039", text))


def unverified(text: str, source: str) -> str:
    """The text of a source that is not trusted: it says so first, and links to nothing."""
    return f"[unverified, {source}] {unlinked(text)}"


def is_unverified(text: str) -> bool:
    """Whether a text carries the mark of what is not trusted, also written in other characters that look like it."""
    plain = text if text.isascii() else visible(unicodedata.normalize("NFKC", text))
    return _UNVERIFIED.search(plain) is not None
