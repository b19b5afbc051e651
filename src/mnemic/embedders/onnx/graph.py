"""A builder for ONNX graphs: constants and nodes in, an ONNX model file out.

The numbers of fields are those of onnx.proto; the package onnx would be one more dependency of the core install.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOAT, INT8, INT64 = 1, 3, 7  # TensorProto.DataType
ELEMENT_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int8): INT8, np.dtype(np.int64): INT64}
IR_VERSION = 9
OPSET = 20

Attribute: TypeAlias = int | float | Sequence[int]
Part: TypeAlias = bytes | memoryview


class Message:
    """A protobuf message in the wire format that an ONNX file needs: pairs of a field number and a value.

    A list of parts to be written in order: the weights are never copied into one large buffer. Equal fields give equal
    bytes. A float is written with 32 bits; a memoryview must be of single bytes.
    """

    def __init__(self, *fields: tuple[int, Value]) -> None:
        self._parts: list[Part] = [part for field, value in fields for part in _encode(field, value)]
        self.size = sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)


Value: TypeAlias = int | float | str | Part | Message


def _encode(field: int, value: Value) -> Iterator[Part]:
    """The parts of one field: its number and wire type, then the value."""
    match value:
        case int():
            yield _varint(field << 3) + _varint(value)
        case float():
            yield _varint(field << 3 | 5) + struct.pack("<f", value)
        case Message():
            yield _varint(field << 3 | 2) + _varint(value.size)
            yield from value
        case _:
            data = value.encode() if isinstance(value, str) else value
            yield _varint(field << 3 | 2) + _varint(len(data))
            yield data


def _varint(value: int) -> bytes:
    """An integer in groups of seven bits; a negative one takes ten bytes, as the format requires."""
    value &= 2**64 - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class Graph:
    """An ONNX graph under construction; values are known by their names.

    The names of nodes are counted, so the same calls always give the same file.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[Message] = []
        self._constants: dict[str, Message] = {}
        self._inputs: list[Message] = []
        self._outputs: list[Message] = []

    def input(self, name: str, element_type: int, shape: Sequence[int | str]) -> str:
        """Declare an input; a string in its shape is a free dimension of that name."""
        self._inputs.append(_declaration(name, element_type, shape))
        return name

    def output(self, name: str, element_type: int, shape: Sequence[int | str]) -> None:
        """Declare an output: the value that a node of that name gives."""
        self._outputs.append(_declaration(name, element_type, shape))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant and return its name; an existing name is not added again."""
        if name not in self._constants:
            self._constants[name] = _tensor(name, values)
        return name

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Attribute) -> str:
        """Add a node with one result and return the result's name."""
        return self.nodes(operator, *inputs, results=1, name=name, **attributes)[0]

    def nodes(
        self, operator: str, *inputs: str, results: int, name: str | None = None, **attributes: Attribute
    ) -> list[str]:
        """Add a node with several results and return their names."""
        name = name or f"{operator}_{len(self._nodes)}"
        outputs = [name] if results == 1 else [f"{name}_{i}" for i in range(results)]
        self._nodes.append(_node(operator, name, inputs, outputs, attributes))
        return outputs

    def model(self, producer: str) -> Message:
        """The finished model file, a ModelProto with a GraphProto (7)."""
        graph = Message(
            *((1, node) for node in self._nodes), (2, self._name), *((5, one) for one in self._constants.values()),
            *((11, one) for one in self._inputs), *((12, one) for one in self._outputs),
        )  # fmt: skip
        return Message((1, IR_VERSION), (2, producer), (7, graph), (8, Message((2, OPSET))))


def _node(
    operator: str, name: str, inputs: Sequence[str], outputs: Sequence[str], attributes: dict[str, Attribute]
) -> Message:
    """A NodeProto."""
    return Message(
        *((1, value) for value in inputs), *((2, value) for value in outputs), (3, name), (4, operator),
        *((5, _attribute(key, value)) for key, value in attributes.items()),
    )  # fmt: skip


def _attribute(name: str, value: Attribute) -> Message:
    """An AttributeProto: its value, and the code of the type of that."""
    if isinstance(value, float):
        return Message((1, name), (2, value), (20, 1))
    if isinstance(value, int):
        return Message((1, name), (3, value), (20, 2))
    return Message((1, name), *((8, item) for item in value), (20, 7))


def _tensor(name: str, values: NDArray[Any]) -> Message:
    """A TensorProto."""
    little_endian = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    data = memoryview(little_endian.reshape(-1).view(np.uint8).data)
    return Message(*((1, size) for size in values.shape), (2, ELEMENT_TYPES[values.dtype]), (8, name), (9, data))


def _declaration(name: str, element_type: int, shape: Sequence[int | str]) -> Message:
    """A ValueInfoProto: name = 1, type = 2 { tensor = 1 { element type = 1, shape = 2 { dimension = 1 } } }."""
    dimensions = Message(*((1, Message((1 if isinstance(size, int) else 2, size))) for size in shape))
    return Message((1, name), (2, Message((1, Message((1, element_type), (2, dimensions))))))
