"""The build of the model: its graph, read by onnxruntime, and the published weights, which are verified."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import hatch_build
from network import FLOAT, INT64, WORDS_FILE, Graph, minilm, reader, words

HIDDEN, WORDS, LAYERS = 384, 30, 6


def run(content, **inputs):
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, inputs)


@pytest.fixture
def run_beside_words(tmp_path, weights):
    """Runs a model from a folder that has the file of word vectors."""
    (tmp_path / WORDS_FILE).write_bytes(words(weights))

    def run_file(content, **inputs):
        (tmp_path / "model.onnx").write_bytes(content)
        return run(tmp_path / "model.onnx", **inputs)

    return run_file


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
    (out,) = run(graph.content("test"), left=np.array([[1, 1], [-2, 0]], dtype=np.float32))
    np.testing.assert_allclose(out, [[4, 2], [-1, 0]])


def test_a_constant_is_kept_once():
    graph = Graph("constants")
    assert graph.constant("one", np.array([1], dtype=np.int64)) == graph.constant("one", np.array([2], dtype=np.int64))
    graph.node("Add", graph.input("x", INT64, [1]), "one", name="out")
    graph.output("out", INT64, [1])
    assert run(graph.content("test"), x=np.array([4], dtype=np.int64))[0].tolist() == [5]


@pytest.fixture(scope="module")
def weights():
    """Random weights in the shapes of the published ones, with few words."""
    rng = np.random.default_rng(1)

    def drawn(*shape):
        return rng.normal(0, 0.05, shape).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": drawn(WORDS, HIDDEN),
        "embeddings.position_embeddings.weight": drawn(512, HIDDEN),
        "embeddings.token_type_embeddings.weight": drawn(2, HIDDEN),
    }
    linear = {"attention.self.query": (HIDDEN, HIDDEN), "attention.self.key": (HIDDEN, HIDDEN),
              "attention.self.value": (HIDDEN, HIDDEN), "attention.output.dense": (HIDDEN, HIDDEN),
              "intermediate.dense": (4 * HIDDEN, HIDDEN), "output.dense": (HIDDEN, 4 * HIDDEN)}  # fmt: skip
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for name, shape in linear.items():
            found |= {f"{prefix}{name}.weight": drawn(*shape), f"{prefix}{name}.bias": drawn(shape[0])}
        norms += [f"{prefix}attention.output.LayerNorm", f"{prefix}output.LayerNorm"]
    return found | {f"{n}.weight": 1 + drawn(HIDDEN) for n in norms} | {f"{n}.bias": drawn(HIDDEN) for n in norms}


def encoded(weights, ids, types=0):
    """The network of the paper in float64, for one text: Devlin et al., "BERT", 2019; the last layer, (tokens, HIDDEN)."""
    from math import erf, sqrt

    w = {name: values.astype(np.float64) for name, values in weights.items()}

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][types], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        query, key, value = (
            linear(x, f"{at}attention.self.{part}").reshape(len(ids), 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / sqrt(32))
        seen = (scores / scores.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        x = norm(x + linear(seen, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
        wide = linear(x, f"{at}intermediate.dense")
        wide *= 0.5 * (1 + np.vectorize(erf)(wide / sqrt(2)))
        x = norm(x + linear(wide, f"{at}output.dense"), f"{at}output.LayerNorm")
    return x


def bert(weights, ids):
    """Mean pooling and normalization."""
    mean = encoded(weights, ids).mean(0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize(("int8", "least"), [(False, 0.99999), (True, 0.98)])
def test_the_network_is_bert_with_mean_pooling(weights, run_beside_words, int8, least):
    ids = [5, 7, 11, 3]
    batch = np.array([[*ids, 0, 0], [1, 2, 3, 4, 5, 6]], dtype=np.int64)
    mask = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=np.int64)
    (rows,) = run_beside_words(minilm(weights, int8=int8), input_ids=batch, attention_mask=mask)
    assert rows.shape == (2, HIDDEN)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ bert(weights, ids) > least
    assert rows[1] @ bert(weights, batch[1].tolist()) > least
    assert abs(float(rows[0] @ rows[1])) < 0.95  # the texts differ


@pytest.fixture(scope="module")
def learnt(weights):
    """Random low-rank changes of all linear layers, and a head."""
    rng = np.random.default_rng(2)
    changes = {"head.weight": rng.normal(0, 0.05, (1, 2 * HIDDEN)), "head.bias": rng.normal(0, 1, 1)}
    for name, values in weights.items():
        if values.ndim == 2 and name.startswith("encoder."):
            layer, (out, into) = name.removesuffix(".weight"), values.shape
            changes |= {f"{layer}.down": rng.normal(0, 0.05, (4, into)), f"{layer}.up": rng.normal(0, 0.05, (out, 4))}
    return {name: values.astype(np.float16) for name, values in changes.items()}


@pytest.mark.parametrize(("int8", "atol"), [(False, 0.01), (True, 0.2)])
def test_the_reader_is_the_same_network_with_changed_layers_and_two_segments(
    weights, learnt, run_beside_words, int8, atol
):
    ids, types = np.array([[5, 7, 11, 3, 9], [1, 2, 3, 4, 0]]), np.array([[0, 0, 0, 1, 1], [0, 1, 1, 1, 0]])
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}
    (rows,) = run_beside_words(reader(weights, learnt, int8=int8), **inputs)
    changed = {
        name: values + (np.float64(learnt[f"{layer}.up"]) @ learnt[f"{layer}.down"] if f"{layer}.up" in learnt else 0)
        for name, values in weights.items()
        for layer in [name.removesuffix(".weight")]
    }
    for row, length in zip(range(2), (5, 4), strict=True):
        last = encoded(changed, ids[row, :length], types[row, :length])
        pooled = np.concatenate([last[0], last.mean(0)])
        expected = pooled @ np.float64(learnt["head.weight"]).T + learnt["head.bias"]
        np.testing.assert_allclose(rows[row], expected, atol=atol)


def test_equal_weights_give_equal_bytes(weights, learnt):
    assert minilm(weights) == minilm(weights)
    assert reader(weights, learnt) == reader(weights, learnt)


def test_weights_with_another_hash_are_refused(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    monkeypatch.setenv("MNEMIC_MINILM_WEIGHTS", str(tmp_path))
    with pytest.raises(SystemExit, match="was refused: its SHA-256 is"):
        hatch_build.published(tmp_path)
