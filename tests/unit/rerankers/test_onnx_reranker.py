"""A cross-encoder in onnxruntime: made here, small, and told what to score."""

import json

import numpy as np
import pytest
from integrations.minilm.network import FLOAT, INT64, Graph
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from mnemic import ConfigurationError, EmbedderError, EmbedderUnavailable, Memory, OnnxReranker

WORDS = ["[UNK]", "[CLS]", "[SEP]", "tea", "green", "milk", "garden", "sugar", "in", "the", "with"]


def cross_encoder(folder, *, classes=1, output="logits", value=1.0, **settings):
    """Scores a pair by how many tokens of the text (segment 1) are "green"; with two classes the first gets the words."""
    graph = Graph("cross encoder")
    ids = graph.input("input_ids", INT64, ["batch", "tokens"])
    mask = graph.node("Cast", graph.input("attention_mask", INT64, ["batch", "tokens"]), to=FLOAT)
    segments = graph.node("Cast", graph.input("token_type_ids", INT64, ["batch", "tokens"]), to=FLOAT)
    worth = np.zeros((len(WORDS), 1), np.float32)
    worth[WORDS.index("green")] = value
    found = graph.node("Squeeze", graph.node("Gather", graph.constant("worth", worth), ids), _axes(graph, -1))
    inside = graph.node("Mul", segments, mask)
    score = graph.node("ReduceSum", graph.node("Mul", found, inside), _axes(graph, 1), keepdims=1)
    if classes > 1:
        length = graph.node("ReduceSum", inside, _axes(graph, 1), keepdims=1)
        score = graph.node("Concat", *[length] * (classes - 1), score, axis=-1)
    graph.node("Identity", score, name=output)
    graph.output(output, FLOAT, ["batch", classes])
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(graph.content("test"))
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in settings.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def _axes(graph, *values):
    return graph.constant("axes_" + "_".join(map(str, values)), np.array(values, np.int64))


TEXTS = ["tea with milk", "green green tea in the garden", "green tea", "the garden"]


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_one_score_a_pair_in_the_order_given(tmp_path, batch_size):
    reranker = OnnxReranker(cross_encoder(tmp_path / "m"), batch_size=batch_size)
    scores = reranker.scores("green green green", TEXTS)  # the words of the query are segment 0: they do not count
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, [0, 2, 1, 0])
    assert reranker.scores("tea", []).shape == (0,)


def test_of_two_classes_the_difference_counts(tmp_path):
    scores = OnnxReranker(cross_encoder(tmp_path / "m", classes=2)).scores("tea", ["green tea", "tea in the garden"])
    np.testing.assert_array_equal(scores, [1 - 3, 0 - 5])  # each text has its [SEP] too


@pytest.mark.parametrize(
    ("options", "settings"), [({"max_tokens": 8}, {}), ({}, {"tokenizer_config": {"model_max_length": 8}})]
)
def test_of_a_long_text_the_beginning_is_read(tmp_path, options, settings):
    reranker = OnnxReranker(cross_encoder(tmp_path / "m", **settings), **options)
    # [CLS] tea [SEP] four words [SEP]
    np.testing.assert_array_equal(
        reranker.scores("tea", ["the " * 3 + "green", "the " * 4 + "green", "green " * 900]), [1, 0, 4]
    )


@pytest.mark.parametrize("name", ["onnx:{}", "{}"])
def test_a_memory_takes_it_by_its_folder(tmp_path, name):
    folder = cross_encoder(tmp_path / "m")
    with Memory(tmp_path / "memory", embedder="hashing", reranker=name.format(folder)) as memory:
        memory.add([{"role": "user", "content": text} for text in TEXTS])
        hits = memory.search("tea with milk")
        assert hits[0].text == "green green tea in the garden"
        assert hits[0].scores["rerank"] == 2


@pytest.mark.parametrize(("classes", "output"), [(3, "logits"), (1, "last_hidden_state")])
def test_a_model_that_is_no_cross_encoder(tmp_path, classes, output):
    with pytest.raises(EmbedderUnavailable, match="not a cross-encoder"):
        OnnxReranker(cross_encoder(tmp_path / "m", classes=classes, output=output)).load()


def test_a_model_that_gives_no_numbers(tmp_path):
    with pytest.raises(EmbedderError, match="NaN"):
        OnnxReranker(cross_encoder(tmp_path / "m", value=np.nan)).scores("tea", TEXTS)


def test_a_model_that_fails_on_an_input(tmp_path):
    folder = cross_encoder(tmp_path / "m")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["milk"] = 99  # beyond the model's table
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    reranker = OnnxReranker(folder)
    with pytest.raises(EmbedderError, match="failed on this input"):
        reranker.scores("tea", ["milk"])
    np.testing.assert_array_equal(reranker.scores("tea", ["green"]), [1])


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(EmbedderUnavailable, match="no ONNX model in"):
        OnnxReranker(tmp_path).scores("tea", TEXTS)


def test_offline_without_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("MNEMIC_CACHE", str(tmp_path))
    with pytest.raises(EmbedderUnavailable, match=r"(?s)offline.*copied from another machine"):
        OnnxReranker(offline=True).scores("tea", TEXTS)


@pytest.mark.parametrize("options", [{"threads": 0}, {"batch_size": 0}, {"max_tokens": 2}])
def test_bad_options(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        OnnxReranker(**options)


@pytest.mark.parametrize("spec", ["onnx:", "cross-encoder/of-the-hub", "onnx:./nowhere/at/all", 5, OnnxReranker])
def test_something_else_is_not_a_reranker(spec):
    with pytest.raises(ConfigurationError, match="scores"):
        Memory(":memory:", embedder="hashing", reranker=spec)
