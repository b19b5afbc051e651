"""The writer and the graph builder, checked against hand-encoded bytes and against onnxruntime itself."""

import hashlib

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file

from mnemic.embedders.onnx.convert import CONVERTERS, INT8_NAME, MODEL_NAME, minilm
from mnemic.embedders.onnx.graph import FLOAT, INT64, Graph, Message

CONVERTED_INT8 = {"mnemic-minilm-int8-1": "5b05cc6ade62bf668bd82ff5f989e8ce86785323541484abcd1ea7fc0717043f"}
CONVERTED = {"mnemic-minilm-1": "d4b6a17ca31c82777daaa4a68a69bb0a8befd93cf4f49fe3680c3cee8888c20b"}


def encoded(message):
    joined = b"".join(message)
    assert len(joined) == message.size
    return joined


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0800"), (1, "0801"), (127, "087f"), (128, "088001"), (300, "08ac02"), (-1, "08" + "ff" * 9 + "01")],
)
def test_whole_numbers(value, expected):
    assert encoded(Message((1, value))).hex() == expected


def test_text_floats_bytes_and_nesting():
    outer = Message((16, Message((1, "é"))), (2, 1.5), (3, memoryview(b"\1\2")))
    assert encoded(outer).hex() == "8201040a02c3a9" + "150000c03f" + "1a020102"


def run(graph, **inputs):
    session = onnxruntime.InferenceSession(encoded(graph.model("test")), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def test_onnxruntime_reads_a_graph():
    graph = Graph("sum")
    left = graph.input("left", FLOAT, ["n", 2])
    moved = graph.node(
        "Transpose", graph.constant("table", np.arange(4, dtype=np.float32).reshape(2, 2).T), perm=[1, 0]
    )
    scaled = graph.node("LeakyRelu", graph.node("MatMul", left, moved), alpha=0.5)
    first, second = graph.nodes("Split", scaled, results=2, axis=1, num_outputs=2)
    graph.node("Concat", second, first, name="out", axis=-1)
    graph.output("out", FLOAT, ["n", 2])
    (out,) = run(graph, left=np.array([[1, 1], [-2, 0]], dtype=np.float32))
    np.testing.assert_allclose(out, [[4, 2], [-1, 0]])


def test_a_constant_is_kept_once():
    graph = Graph("constants")
    assert graph.constant("one", np.array([1], dtype=np.int64)) == graph.constant("one", np.array([2], dtype=np.int64))
    graph.node("Add", graph.input("x", INT64, [1]), "one", name="out")
    graph.output("out", INT64, [1])
    assert run(graph, x=np.array([4], dtype=np.int64))[0].tolist() == [5]


@pytest.mark.parametrize("name", [MODEL_NAME, INT8_NAME])
def test_the_converted_file_changes_only_together_with_the_converters_name(wheel, name):
    digest, size = hashlib.sha256(), 0
    for part in minilm(load_file(wheel / "model.safetensors"), name):
        digest.update(part)
        size += len(part)
    int8 = name == INT8_NAME
    assert {CONVERTERS[name]: digest.hexdigest()} == (CONVERTED_INT8 if int8 else CONVERTED)
    assert size < (24e6 if int8 else 91e6)
