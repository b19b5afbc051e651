"""all-MiniLM-L6-v2 as an ONNX graph: a BERT encoder of six layers, mean pooling and normalization; and readers of pairs.

A reader is the same encoder with a low-rank change of each linear layer (Hu et al., LoRA: Low-Rank Adaptation of Large
Language Models, 2021), learnt by ``benchmarks.quality.reader_fit``.

Only standard operators of opset 20 are used. The numbers are the published weights, with two constants folded in: the token
type is added to the positions, and the attention scale 1/sqrt(head size) is multiplied into the query weights. Tables are
stored in two bytes a number, from which onnxruntime makes float32 once, when it loads the model; or in one byte. All models in
one byte share the file of the word vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
IR_VERSION, OPSET = 9, 20

OUTPUT = "embedding"
"""Name of the output: one unit vector per text."""
LOG_ODDS = "log_odds"
"""Name of a reader's output: the log odds of what it tells about two texts."""
WORDS_FILE = "words-int8.bin"
"""The word vectors as integers, beside the models that are stored in one byte."""

LAYERS = 6
HEADS = 12
WIDTH = 384
HEAD_WIDTH = WIDTH // HEADS
EPSILON = 1e-12
MASKED = 1e9  # subtracted from the score of a padded position: its softmax is exactly 0

WORD_TABLE = "embeddings.word_embeddings.weight"
WORD_LEVELS, LAYER_LEVELS = 127, 63
"""Largest integers of int8 weights. Those of layers have 7 bits: sums of two products with 8 bits overflow on processors
without VNNI, and vectors would depend on the machine."""

Weights: TypeAlias = Mapping[str, NDArray[np.float32]]


class Graph:
    """An ONNX graph under construction; values are known by their names.

    The names of nodes are counted, so the same calls always give the same file.
    """

    def __init__(self, name: str) -> None:
        self._graph = helper.make_graph([], name, [], [])
        self._constants: set[str] = set()

    def input(self, name: str, element_type: int, shape: Sequence[int | str]) -> str:
        """Declare an input; a string in its shape is a free dimension of that name."""
        self._graph.input.append(_declaration(name, element_type, shape))
        return name

    def output(self, name: str, element_type: int, shape: Sequence[int | str]) -> None:
        """Declare an output: the value that a node of that name gives."""
        self._graph.output.append(_declaration(name, element_type, shape))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant and return its name; an existing name is not added again."""
        if name not in self._constants:
            self._constants.add(name)
            self._graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node with one result and return the result's name."""
        return self.nodes(operator, *inputs, results=1, name=name, **attributes)[0]

    def nodes(self, operator: str, *inputs: str, results: int, name: str | None = None, **attributes: Any) -> list[str]:
        """Add a node with several results and return their names."""
        name = name or f"{operator}_{len(self._graph.node)}"
        outputs = [name] if results == 1 else [f"{name}_{number}" for number in range(results)]
        self._graph.node.append(helper.make_node(operator, inputs, outputs, name, **attributes))
        return outputs

    def model(self, producer: str) -> ModelProto:
        """The finished model."""
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(self._graph, producer_name=producer, ir_version=IR_VERSION, opset_imports=opsets)

    def content(self, producer: str) -> bytes:
        """The finished model as the content of a file; equal graphs give equal bytes."""
        return self.model(producer).SerializeToString(deterministic=True)


def _declaration(name: str, element_type: int, shape: Sequence[int | str]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type, shape)


class _Network(Graph):
    """A graph with lookups and linear layers whose weights are stored in two bytes."""

    def lookup(self, name: str, table: NDArray[np.float32], ids: str) -> str:
        """The rows of a table, in float32."""
        return self.node("Cast", self.node("Gather", self.constant(name, table.astype(np.float16)), ids), to=FLOAT)

    def product(self, name: str, matrix: NDArray[np.float32], values: str) -> str:
        """`values @ matrix.T`; the matrix is transposed here once instead of in every run."""
        stored = self.constant(name, matrix.T.astype(np.float16))
        return self.node("MatMul", values, self.node("Cast", stored, to=FLOAT))


class _Int8Network(_Network):
    """The same with weights of one byte, each row with a scale; values are quantised in each run, as one tensor.

    The rows that are looked up are in ``WORDS_FILE``.
    """

    def lookup(self, name: str, table: NDArray[np.float32], ids: str) -> str:
        rows, scales = _quantised(table, WORD_LEVELS)
        found = self.node("Cast", self.node("Gather", self._external(name, rows), ids), to=FLOAT)
        scale = self.node("Gather", self.constant(f"{name}.scale", scales[:, None]), ids)
        return self.node("Mul", found, scale)

    def _external(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant that is the content of ``WORDS_FILE``."""
        self.constant(name, values)
        (tensor,) = (each for each in self._graph.initializer if each.name == name)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", WORDS_FILE
        return name

    def product(self, name: str, matrix: NDArray[np.float32], values: str) -> str:
        rows, scales = _quantised(matrix, LAYER_LEVELS)
        quantised, scale, zero = self.nodes("DynamicQuantizeLinear", values, results=3)
        product = self.node("MatMulInteger", quantised, self.constant(name, rows.T), zero)
        both = self.node("Mul", scale, self.constant(f"{name}.scale", scales))
        return self.node("Mul", self.node("Cast", product, to=FLOAT), both)


def _quantised(rows: NDArray[np.float32], levels: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Rows as integers from -levels to levels, and the scale of each row."""
    scales = np.maximum(np.abs(rows).max(axis=1), np.float32(EPSILON)) / np.float32(levels)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales


def minilm(weights: Weights, *, int8: bool = False) -> bytes:
    """Build the network as the content of an ONNX file.

    Args:
        weights: the tensors of the published `model.safetensors`, by their names.
        int8: store them as integers of one byte, and multiply these.

    Returns:
        The file's content; in one byte it needs `words` beside it. Inputs `input_ids` and `attention_mask` (int64,
        [batch, tokens]), output `OUTPUT` (float32, [batch, 384]).
    """
    graph = (_Int8Network if int8 else _Network)("all-MiniLM-L6-v2")
    ids = graph.input("input_ids", INT64, ["batch", "tokens"])
    mask = graph.node("Cast", graph.input("attention_mask", INT64, ["batch", "tokens"]), to=FLOAT)
    _pooling(graph, _encoded(graph, weights, _embeddings(graph, weights, ids), mask), mask)
    return graph.content("mnemic-minilm")


def words(weights: Weights) -> bytes:
    """The content of ``WORDS_FILE``."""
    return _quantised(weights[WORD_TABLE], WORD_LEVELS)[0].tobytes()


def reader(weights: Weights, learnt: Weights, *, int8: bool = True) -> bytes:
    """Build a reader of pairs as the content of an ONNX file.

    Args:
        weights: the tensors of the published `model.safetensors`, by their names.
        learnt: of each linear layer its change, `down` ([rank, in]) and `up` ([out, rank]), and the `head`.
        int8: store them as integers of one byte, and multiply these.

    Returns:
        The file's content; in one byte it needs `words` beside it. Inputs `input_ids`, `token_type_ids` and
        `attention_mask` (int64, [batch, tokens]), output `LOG_ODDS` (float32, [batch, 1]).
    """
    graph = (_Int8Network if int8 else _Network)("all-MiniLM-L6-v2, reading pairs")
    ids = graph.input("input_ids", INT64, ["batch", "tokens"])
    second = graph.node("Cast", graph.input("token_type_ids", INT64, ["batch", "tokens"]), to=FLOAT)
    mask = graph.node("Cast", graph.input("attention_mask", INT64, ["batch", "tokens"]), to=FLOAT)
    hidden = _encoded(graph, _changed(weights, learnt), _embeddings(graph, weights, ids, second), mask)
    mean = graph.node(
        "Div", _total(graph, hidden, mask), graph.node("ReduceSum", mask, _integers(graph, 1), keepdims=1)
    )
    first = graph.node("Squeeze", graph.node("Gather", hidden, _integers(graph, 0), axis=1), _integers(graph, 1))
    pooled = graph.node("Concat", first, mean, axis=-1)
    head = graph.constant("head", np.float32(learnt["head.weight"]).T)
    bias = graph.constant("head.bias", np.float32(learnt["head.bias"]))
    graph.node("Add", graph.node("MatMul", pooled, head), bias, name=LOG_ODDS)
    graph.output(LOG_ODDS, FLOAT, ["batch", 1])
    return graph.content("mnemic-minilm")


def _changed(weights: Weights, learnt: Weights) -> Weights:
    """The weights with the changes of their layers added."""
    layers = [name.removesuffix(".down") for name in learnt if name.endswith(".down")]
    changes = {
        f"{layer}.weight": np.float32(learnt[f"{layer}.up"]) @ np.float32(learnt[f"{layer}.down"]) for layer in layers
    }
    return {**weights, **{name: weights[name] + change for name, change in changes.items()}}


def _encoded(graph: _Network, weights: Weights, hidden: str, mask: str) -> str:
    """[batch, tokens, width] -> the same shape, after all layers."""
    padding = _padding(graph, mask)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        hidden = _attention(graph, weights, prefix + "attention.", hidden, padding)
        hidden = _feed_forward(graph, weights, prefix, hidden)
    return hidden


def _embeddings(graph: _Network, weights: Weights, ids: str, second: str | None = None) -> str:
    """[batch, tokens] ids -> [batch, tokens, width]: word + position + token type, normalized.

    `second`: [batch, tokens] of 1 for the tokens of a second text, 0 for others.
    """
    words = graph.lookup("words", weights[WORD_TABLE], ids)
    types = weights["embeddings.token_type_embeddings.weight"]
    positions = weights["embeddings.position_embeddings.weight"] + types[0]
    zero = _integers(graph, 0)
    tokens = graph.node("Shape", ids, start=1, end=2)
    used = graph.node("Slice", graph.constant("positions", positions), zero, tokens, zero)
    if second is not None:
        step = graph.constant("second", types[1] - types[0])
        used = graph.node("Add", used, graph.node("Mul", graph.node("Unsqueeze", second, _integers(graph, 2)), step))
    return _layer_norm(graph, weights, "embeddings.LayerNorm", graph.node("Add", words, used))


def _padding(graph: Graph, mask: str) -> str:
    """[batch, tokens] of 1 and 0 -> [batch, 1, 1, tokens] of 0 and -MASKED, to add to attention scores."""
    wide = graph.node("Unsqueeze", mask, _integers(graph, 1, 2))
    absent = graph.node("Sub", wide, graph.constant("one", np.array(1.0, dtype=np.float32)))
    return graph.node("Mul", absent, graph.constant("masked", np.array(MASKED, dtype=np.float32)))


def _attention(graph: _Network, weights: Weights, prefix: str, hidden: str, padding: str) -> str:
    """Self-attention with its residual connection: [batch, tokens, width] -> the same shape."""
    query, key, value = _query_key_value(graph, weights, prefix + "self.", hidden)
    scores = graph.node("MatMul", _heads(graph, query), _heads(graph, key, transposed=True))
    shares = graph.node("Softmax", graph.node("Add", scores, padding), axis=-1)
    seen = graph.node("Transpose", graph.node("MatMul", shares, _heads(graph, value)), perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", seen, _integers(graph, 0, 0, WIDTH))
    mixed = _linear(graph, weights, prefix + "output.dense", joined)
    return _layer_norm(graph, weights, prefix + "output.LayerNorm", graph.node("Add", mixed, hidden))


def _query_key_value(graph: _Network, weights: Weights, prefix: str, hidden: str) -> list[str]:
    """The three projections as one multiplication, split afterwards."""
    scale = np.float32(1 / math.sqrt(HEAD_WIDTH))
    matrices = [weights[f"{prefix}{part}.weight"] for part in ("query", "key", "value")]
    biases = [weights[f"{prefix}{part}.bias"] for part in ("query", "key", "value")]
    matrix = np.concatenate([matrices[0] * scale, *matrices[1:]])
    bias = np.concatenate([biases[0] * scale, *biases[1:]])
    projected = _affine(graph, prefix + "all", matrix, bias, hidden)
    return graph.nodes("Split", projected, results=3, axis=-1, num_outputs=3)


def _heads(graph: Graph, values: str, *, transposed: bool = False) -> str:
    """[batch, tokens, width] -> [batch, heads, tokens, head width], or with the last two axes exchanged."""
    split = graph.node("Reshape", values, _integers(graph, 0, 0, HEADS, HEAD_WIDTH))
    return graph.node("Transpose", split, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])


def _feed_forward(graph: _Network, weights: Weights, prefix: str, hidden: str) -> str:
    """Two linear layers with GELU between them, and their residual connection."""
    wide = graph.node("Gelu", _linear(graph, weights, prefix + "intermediate.dense", hidden))
    narrow = _linear(graph, weights, prefix + "output.dense", wide)
    return _layer_norm(graph, weights, prefix + "output.LayerNorm", graph.node("Add", narrow, hidden))


def _pooling(graph: Graph, hidden: str, mask: str) -> None:
    """Normalized sum over the unmasked tokens; the length of the mean does not matter, so it is not divided."""
    graph.node("LpNormalization", _total(graph, hidden, mask), name=OUTPUT, axis=-1, p=2)
    graph.output(OUTPUT, FLOAT, ["batch", WIDTH])


def _total(graph: Graph, hidden: str, mask: str) -> str:
    """The sum over the unmasked tokens: [batch, tokens, width] -> [batch, width]."""
    present = graph.node("Mul", hidden, graph.node("Unsqueeze", mask, _integers(graph, 2)))
    return graph.node("ReduceSum", present, _integers(graph, 1), keepdims=0)


def _linear(graph: _Network, weights: Weights, name: str, values: str) -> str:
    return _affine(graph, name, weights[f"{name}.weight"], weights[f"{name}.bias"], values)


def _affine(graph: _Network, name: str, matrix: NDArray[np.float32], bias: NDArray[np.float32], values: str) -> str:
    """`values @ matrix.T + bias`."""
    product = graph.product(f"{name}.weight", matrix, values)
    return graph.node("Add", product, graph.constant(f"{name}.bias", bias))


def _layer_norm(graph: Graph, weights: Weights, name: str, values: str) -> str:
    scale = graph.constant(f"{name}.weight", weights[f"{name}.weight"])
    bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph.node("LayerNormalization", values, scale, bias, axis=-1, epsilon=EPSILON)


def _integers(graph: Graph, *values: int) -> str:
    """An integer constant, shared by all nodes with the same values."""
    return graph.constant("integers_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))
