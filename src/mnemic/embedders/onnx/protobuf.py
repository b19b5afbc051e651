"""The parts of the protobuf wire format that an ONNX file needs, without a dependency."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Message", "Part"]

Part: TypeAlias = bytes | memoryview

VARINT, BYTES, FLOAT = 0, 2, 5  # wire types


class Message:
    """A protobuf message under construction.

    A list of parts to be written in order: the weights are never copied into one large buffer. Fields are written in the
    order of the calls, so equal calls give equal bytes.
    """

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self.size = 0

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def integer(self, field: int, value: int) -> None:
        """Add an integer; negative ones take ten bytes, as the format requires."""
        self._add(_key(field, VARINT) + _varint(value))

    def real(self, field: int, value: float) -> None:
        """Add a 32-bit float."""
        self._add(_key(field, FLOAT) + struct.pack("<f", value))

    def text(self, field: int, value: str) -> None:
        """Add a string."""
        self.data(field, value.encode())

    def data(self, field: int, value: Part) -> None:
        """Add bytes; a memoryview must be of single bytes."""
        self._add(_key(field, BYTES) + _varint(len(value)))
        self._add(value)

    def message(self, field: int, inner: Message) -> None:
        """Add a message; later changes to it have no effect."""
        self._add(_key(field, BYTES) + _varint(inner.size))
        self._parts += inner
        self.size += inner.size

    def _add(self, part: Part) -> None:
        self._parts.append(part)
        self.size += len(part)


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
