"""A builder for ONNX graphs: constants and nodes in, an ONNX model file out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mnemic.embedders.onnx.protobuf import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FLOAT", "INT64", "Attribute", "Graph"]

FLOAT, INT64 = 1, 7  # TensorProto.DataType
ELEMENT_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64}
IR_VERSION = 9
OPSET = 20

Attribute: TypeAlias = int | float | Sequence[int]


class _ModelField:
    """Field numbers of ModelProto."""

    IR_VERSION, PRODUCER, GRAPH, OPSET_IMPORT = 1, 2, 7, 8


class _GraphField:
    """Field numbers of GraphProto."""

    NODE, NAME, INITIALIZER, INPUT, OUTPUT = 1, 2, 5, 11, 12


class _NodeField:
    """Field numbers of NodeProto."""

    INPUT, OUTPUT, NAME, OPERATOR, ATTRIBUTE = 1, 2, 3, 4, 5


class _AttributeField:
    """Field numbers of AttributeProto, and its codes for the types used here."""

    NAME, REAL, INTEGER, INTEGERS, TYPE = 1, 2, 3, 8, 20
    IS_REAL, IS_INTEGER, IS_INTEGERS = 1, 2, 7


class _TensorField:
    """Field numbers of TensorProto."""

    DIMENSION, TYPE, NAME, DATA = 1, 2, 8, 9


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
        """The finished model file."""
        graph = Message()
        for node in self._nodes:
            graph.message(_GraphField.NODE, node)
        graph.text(_GraphField.NAME, self._name)
        for constant in self._constants.values():
            graph.message(_GraphField.INITIALIZER, constant)
        for declaration in self._inputs:
            graph.message(_GraphField.INPUT, declaration)
        for declaration in self._outputs:
            graph.message(_GraphField.OUTPUT, declaration)
        opset = Message()
        opset.integer(2, OPSET)
        model = Message()
        model.integer(_ModelField.IR_VERSION, IR_VERSION)
        model.text(_ModelField.PRODUCER, producer)
        model.message(_ModelField.GRAPH, graph)
        model.message(_ModelField.OPSET_IMPORT, opset)
        return model


def _node(
    operator: str, name: str, inputs: Sequence[str], outputs: Sequence[str], attributes: dict[str, Attribute]
) -> Message:
    node = Message()
    for value in inputs:
        node.text(_NodeField.INPUT, value)
    for value in outputs:
        node.text(_NodeField.OUTPUT, value)
    node.text(_NodeField.NAME, name)
    node.text(_NodeField.OPERATOR, operator)
    for key, value in attributes.items():
        node.message(_NodeField.ATTRIBUTE, _attribute(key, value))
    return node


def _attribute(name: str, value: Attribute) -> Message:
    attribute = Message()
    attribute.text(_AttributeField.NAME, name)
    if isinstance(value, float):
        attribute.real(_AttributeField.REAL, value)
        attribute.integer(_AttributeField.TYPE, _AttributeField.IS_REAL)
    elif isinstance(value, int):
        attribute.integer(_AttributeField.INTEGER, value)
        attribute.integer(_AttributeField.TYPE, _AttributeField.IS_INTEGER)
    else:
        for item in value:
            attribute.integer(_AttributeField.INTEGERS, item)
        attribute.integer(_AttributeField.TYPE, _AttributeField.IS_INTEGERS)
    return attribute


def _tensor(name: str, values: NDArray[Any]) -> Message:
    tensor = Message()
    for size in values.shape:
        tensor.integer(_TensorField.DIMENSION, size)
    tensor.integer(_TensorField.TYPE, ELEMENT_TYPES[values.dtype])
    tensor.text(_TensorField.NAME, name)
    little_endian = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    tensor.data(_TensorField.DATA, memoryview(little_endian.reshape(-1).view(np.uint8).data))
    return tensor


def _declaration(name: str, element_type: int, shape: Sequence[int | str]) -> Message:
    """A ValueInfoProto: name = 1, type = 2 { tensor = 1 { element type = 1, shape = 2 { dimension = 1 } } }."""
    dimensions = Message()
    for size in shape:
        dimension = Message()
        if isinstance(size, int):
            dimension.integer(1, size)
        else:
            dimension.text(2, size)
        dimensions.message(1, dimension)
    tensor = Message()
    tensor.integer(1, element_type)
    tensor.message(2, dimensions)
    kind = Message()
    kind.message(1, tensor)
    declaration = Message()
    declaration.text(1, name)
    declaration.message(2, kind)
    return declaration
