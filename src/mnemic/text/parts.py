"""Content parts of chat APIs as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from mnemic.errors import InvalidInput
from mnemic.text.values import json_type

__all__ = ["join_parts"]

_TEXTS = ("text", "input_text", "output_text")
_MEDIA = {
    "audio": "audio", "audio_url": "audio", "document": "file", "file": "file", "image": "image", "image_url": "image",
    "input_audio": "audio", "input_file": "file", "input_image": "image", "media": "file", "video": "video",
    "video_url": "video",
}  # fmt: skip
_HIDDEN_KINDS = frozenset(
    {
        "function_call",
        "reasoning",
        "redacted_thinking",
        "server_tool_use",
        "thinking",
        "tool_call",
        "tool_result",
        "tool_use",
    }
)
"""Kinds of parts without spoken text."""

_ADDRESS = ("url", "uri", "image_url", "audio_url", "video_url", "file_url")
_NAME = ("filename", "file_name", "name", "path", "file_id")
_DATA = ("data", "base64", "file_data", "image")
_TYPE = ("media_type", "mime_type", "image_mimetype", "format")
_CAPTION = ("caption", "alt", "alt_text", "description")
LONGEST = 500
"""Most characters of a reference."""


def join_parts(
    parts: Iterable[object], place: str, *, kind: str = "type", joint: str = "\n"
) -> tuple[str, tuple[str, ...]]:
    """Join content parts to text; also returns the kinds of parts that are not text.

    An image, a recording or a file becomes its reference and caption, such as ``[image: https://...]``; inline data its
    type and size, such as ``[image: image/png, 34 kB]``. Reasoning and tool calls are dropped; a part of another kind
    becomes the name of its kind.

    Args:
        parts: strings, and objects with a kind.
        place: path of the list, for errors.
        kind: the field with the kind.
        joint: separator of texts; other parts are on their own line.

    Raises:
        InvalidInput: a part is neither a string nor an object, or a text part has no text.
    """
    text_so_far = ""
    others: dict[str, None] = {}
    broken = False
    for number, item in enumerate(parts):
        part = _part(item, f"{place}[{number}]", kind)
        name = str(part.get(kind, "text" if "text" in part else "part"))
        is_text = name in _TEXTS
        if is_text:
            text = _words(part, f"{place}[{number}]")
        else:
            others[name] = None
            text = "" if name in _HIDDEN_KINDS else _placeholder(name, part)
        if text or is_text:
            between = "\n" if broken or not is_text else joint
            text_so_far, broken = (f"{text_so_far}{between}{text}" if text_so_far else text), not is_text
    return text_so_far, tuple(others)


def _part(item: object, place: str, kind: str) -> Mapping[str, object]:
    if isinstance(item, str):
        return {kind: "text", "text": item}
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{place} must be an object, not {json_type(item)}.")
    return cast("Mapping[str, object]", item)


def _words(part: Mapping[str, object], place: str) -> str:
    text = part.get("text")
    if not isinstance(text, str):
        raise InvalidInput(
            f"{place}.text is missing." if text is None else f"{place}.text must be a string, not {json_type(text)}."
        )
    return text


def _placeholder(name: str, part: Mapping[str, object]) -> str:
    """The placeholder of a part that is not text."""
    values = [part, *(cast("Mapping[str, object]", value) for value in part.values() if isinstance(value, Mapping))]
    reference, caption = _reference(values) if name in _MEDIA else "", _first(values, _CAPTION)
    placeholder = f"[{_MEDIA.get(name, name[:LONGEST])}{f': {reference}' if reference else ''}]"
    return f"{placeholder} {caption}" if caption else placeholder


def _reference(values: Sequence[Mapping[str, object]]) -> str:
    address = _first(values, _ADDRESS)
    if address.startswith("data:"):
        head, _, data = address.partition(",")
        return _data_summary(head.removeprefix("data:").partition(";")[0], data)
    data = next((value[key] for value in values for key in _DATA if isinstance(value.get(key), (str, bytes))), None)
    if not address and isinstance(data, (str, bytes)):
        return _data_summary(_first(values, _TYPE), data)
    return (address or _first(values, _NAME))[:LONGEST]


def _first(values: Sequence[Mapping[str, object]], keys: Sequence[str]) -> str:
    """The first non-empty string under one of the keys."""
    found = (value.get(key) for key in keys for value in values)
    return next((text for text in found if isinstance(text, str) and text), "")


def _data_summary(media_type: str, data: str | bytes) -> str:
    """Type and size of inline data; strings are base64."""
    size = len(data) if isinstance(data, bytes) else len(data) * 3 // 4
    return ", ".join(filter(None, (media_type[:LONGEST], f"{-(-size // 1000):,} kB")))
