"""Adapters for values sent to and received from the server.

PostgreSQL's text type cannot store NUL. To keep messages byte for byte, NUL is escaped as DLE 0, and DLE (U+0010) as DLE 1.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import psycopg
from psycopg import adapt, pq
from psycopg.types.numeric import Int8Dumper

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg.abc import Buffer

__all__ = ["Half", "Numbers", "adapters", "escaped", "unescaped"]

_ESCAPES = {0x00: "\x100", 0x10: "\x101"}
_HEAD = struct.Struct(">HH")
_ARRAY = struct.Struct(">iiIii")
_BIGINT = 20
_ELEMENT = np.dtype([("length", ">i4"), ("value", ">i8")])


def escaped(text: str) -> str:
    """Text without NUL; distinct texts stay distinct."""
    return text.translate(_ESCAPES) if "\x00" in text or "\x10" in text else text


def unescaped(text: str) -> str:
    """The original of an escaped text."""
    return text.replace("\x100", "\x00").replace("\x101", "\x10") if "\x10" in text else text


@dataclass(frozen=True, slots=True)
class Half:
    """A vector in the binary format of halfvec."""

    data: bytes

    @classmethod
    def of(cls, vector: NDArray[np.float32]) -> Half:
        """The dimension, then the numbers as big-endian float16."""
        return cls(_HEAD.pack(len(vector), 0) + vector.astype(">f2").tobytes())


@dataclass(frozen=True, slots=True)
class Numbers:
    """Integers in the binary format of bigint[]; thousands are sent at a time."""

    data: bytes

    @classmethod
    def of(cls, values: Sequence[int]) -> Numbers:
        """A one-dimensional array without nulls, each number preceded by its length."""
        body = np.empty(len(values), _ELEMENT)
        body["length"], body["value"] = 8, values
        head = _ARRAY.pack(1, 0, _BIGINT, len(values), 1) if values else _ARRAY.pack(0, 0, _BIGINT, 0, 0)[:12]
        return cls(head + body.tobytes())


class _NumbersDumper(adapt.Dumper):
    format = pq.Format.BINARY
    oid = 1016  # bigint[]

    def dump(self, obj: Numbers) -> bytes:
        return obj.data


class _TextDumper(adapt.Dumper):
    """Text as unknown type, which the server infers."""

    def dump(self, obj: str) -> bytes:
        return escaped(obj).encode()


class _TextLoader(adapt.Loader):
    def load(self, data: Buffer) -> str:
        text = str(data, "utf-8")
        return unescaped(text) if "\x10" in text else text


class _BinaryTextLoader(_TextLoader):
    format = pq.Format.BINARY


class _HalfLoader(adapt.Loader):
    """Little-endian float16 bytes, the format of the caches."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        numbers = array("H", bytes(data)[_HEAD.size :])  # faster than numpy for so few
        if sys.byteorder == "little":
            numbers.byteswap()
            return numbers.tobytes()
        return np.frombuffer(data, ">f2", offset=_HEAD.size).astype("<f2").tobytes()


def adapters(halfvec: int) -> adapt.AdaptersMap:
    """The adapters for a database in which ``halfvec`` is the oid of that type."""

    class HalfDumper(adapt.Dumper):
        format = pq.Format.BINARY
        oid = halfvec

        def dump(self, obj: Half) -> bytes:
            return obj.data

    found = adapt.AdaptersMap(psycopg.adapters)
    found.register_dumper(str, _TextDumper)
    found.register_dumper(int, Int8Dumper)  # one type, so that a statement is prepared once
    found.register_dumper(Half, HalfDumper)
    found.register_dumper(Numbers, _NumbersDumper)
    found.register_loader("text", _TextLoader)
    found.register_loader("text", _BinaryTextLoader)
    found.register_loader(halfvec, _HalfLoader)
    return found
