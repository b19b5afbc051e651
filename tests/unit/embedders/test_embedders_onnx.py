"""What the default embedder gives back, and which other ONNX models it runs."""

import json
import subprocess
import sys
from threading import Barrier, Thread

import numpy as np
import pytest
from integrations.minilm.network import FLOAT, INT64, Graph
from tokenizers import Tokenizer, models, pre_tokenizers

from mnemic.embedders import OnnxEmbedder
from mnemic.embedders import onnx as runtime
from mnemic.errors import ConfigurationError, EmbedderError, EmbedderUnavailable, InvalidInput
from mnemic.onnx import session
from mnemic.services.processes import PerProcess

# First eight numbers of the unit vectors that sentence-transformers 6.2.0 with torch 2.13.0 gives.
REFERENCE = {
    "I moved to Lisbon in March.": [0.116376, -0.008803, 0.075938, 0.034802, 0.016719, 0.048712, -0.079167, -0.020118],
    "": [-0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292, 0.115433, 0.000701],
    "日本語のテキスト 😀": [0.004558, 0.147122, 0.086283, -0.019017, -0.040877, 0.049518, 0.130745, 0.050132],
    "The quick brown fox jumps over the lazy dog.": [
        0.043934, 0.058934, 0.048178, 0.077548, 0.026744, -0.03763, -0.002605, -0.059943,
    ],
}  # fmt: skip

VARIED = [
    *REFERENCE,
    "a",
    " \n\t",
    "x" * 300,
    "word " * 400,
    "." * 700,
    "naïve café, Zürich; Москва! שלום",
    "http://example.org/a?b=1 don't well-known 1984-06-03",
    *[f"Message {i}: " + "we talked about the garden " * (i % 9) for i in range(20)],
]


def cosines(left, right):
    return (left.astype(np.float64) * right).sum(axis=1)


def test_the_vectors_are_those_of_sentence_transformers(minilm):
    rows = minilm.embed(list(REFERENCE))
    assert rows.shape == (4, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows[:, :8], list(REFERENCE.values()), atol=2e-4)  # two bytes a weight
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_a_text_has_the_same_vector_alone_and_in_a_batch(minilm):
    together = minilm.embed(VARIED)
    alone = np.concatenate([minilm.embed([text], kind="query") for text in VARIED])
    assert cosines(together, alone).min() > 0.999999
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_weights_of_one_byte_give_nearly_the_same_and_do_not_depend_on_the_batch(minilm):
    small = OnnxEmbedder(int8=True, offline=True)
    assert (small.id, small.dimension) == ("all-MiniLM-L6-v2-int8", 384)
    rows, alone = small.embed(VARIED), np.concatenate([small.embed([text]) for text in VARIED])
    np.testing.assert_array_equal(rows, alone)
    near = cosines(rows, minilm.embed(VARIED))
    assert near.min() > 0.95
    assert near.mean() > 0.985
    assert near.max() < 0.9999  # it is another model
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    with pytest.raises(ConfigurationError, match="int8"):
        OnnxEmbedder("owner/name", int8=True)


def test_order_is_kept_and_batch_size_does_not_matter(minilm):
    texts = [text[:200] for text in VARIED]
    np.testing.assert_allclose(OnnxEmbedder(batch_size=3).embed(texts), minilm.embed(texts), atol=1e-5)


def test_more_threads_give_the_same(minilm):
    np.testing.assert_allclose(OnnxEmbedder(threads=2).embed(VARIED[:8]), minilm.embed(VARIED[:8]), atol=1e-5)


def test_only_the_first_256_word_pieces_count(minilm):
    begin = "one two three four five six seven eight nine ten " * 25 + "one two three four"
    same, other = minilm.embed([begin + " and the rest", begin + " something else"]), minilm.embed([begin[:-40]])
    np.testing.assert_allclose(same[0], same[1], atol=1e-6)
    assert cosines(same[:1], other)[0] < 0.99999


def test_max_tokens(package):
    short = OnnxEmbedder(max_tokens=8)
    rows = short.embed(["one two three four five six seven", "one two three four five six eight"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)


def test_odd_texts(minilm):
    rows = minilm.embed(["\0", "", "\ud800", "a\0b", "ab", "x " * 5_000_000])
    np.testing.assert_allclose(rows[:3], rows[[1, 1, 1]], atol=1e-6)
    np.testing.assert_allclose(rows[3], rows[4], atol=1e-6)
    assert minilm.embed([]).shape == (0, 384)


def test_bad_texts(minilm):
    with pytest.raises(InvalidInput):
        minilm.embed("one text")
    with pytest.raises(InvalidInput):
        minilm.embed([None])


def test_nothing_is_loaded_before_the_first_use(monkeypatch):
    monkeypatch.setattr(runtime, "LoadedModel", None)
    embedder = OnnxEmbedder()
    assert (embedder.id, embedder.dimension, repr(embedder)) == ("all-MiniLM-L6-v2", 384, "OnnxEmbedder()")


def test_threads_load_the_model_once(package, monkeypatch):
    made, barrier, results = [], Barrier(4), []

    class Counted(runtime.LoadedModel):
        def __init__(self, *args, **options):
            made.append(self)
            super().__init__(*args, **options)

    monkeypatch.setattr(runtime, "LoadedModel", Counted)
    embedder = OnnxEmbedder()

    def work():
        barrier.wait(10)
        results.append(embedder.embed(["together"]))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert all(np.array_equal(rows, results[0]) for rows in results)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
def test_it_works_after_a_fork_and_prints_nothing(package):
    script = """
import os
import numpy as np
from mnemic.embedders import OnnxEmbedder
embedder = OnnxEmbedder(threads=2, offline=True)
before = embedder.embed(["a text"] * 3)
child = os.fork()
if child == 0:
    others = [one.embed(["a text"] * 3) for one in (embedder, OnnxEmbedder(threads=2, offline=True))]
    os._exit(0 if np.allclose(others, before, atol=1e-6) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# What is loaded


@pytest.fixture
def loads(monkeypatch):
    """The files that were loaded; nothing is loaded before the test."""
    files = []
    monkeypatch.setattr(session, "Network", lambda *given, **_: files.append(given) or object())
    monkeypatch.setattr(session, "_networks", PerProcess(dict))
    return files


def test_embedders_share_the_model_that_is_loaded_until_its_file_is_another(tmp_path, loads):
    model, tokenizer = (tmp_path / name for name in ("model.onnx", "tokenizer.json"))
    for file in (model, tokenizer):
        file.write_text("a")
    first = session.loaded(model, tokenizer, threads=1, max_tokens=8)
    assert session.loaded(model, tokenizer, threads=1, max_tokens=8) is first
    assert session.loaded(model, tokenizer, threads=2, max_tokens=8) is not first
    model.write_text("another")
    assert session.loaded(model, tokenizer, threads=1, max_tokens=8) is not first
    assert len(loads) == 3


def test_few_models_stay_loaded(tmp_path, loads):
    for threads in (1, 2, 1, 3, 4, 1, 2):
        session.loaded(tmp_path / "model.onnx", tmp_path / "tokenizer.json", threads=threads, max_tokens=8)
    assert len(loads) == 5  # the one that was used last but one is dropped, and loaded again


# Other models


def write_tokenizer(folder):
    vocabulary = {word: number for number, word in enumerate(["[UNK]", "one", "two", "three", "."])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model(folder, graph):
    (folder / "model.onnx").write_bytes(graph.content("test"))
    write_tokenizer(folder)
    return folder


def token_model(folder, output="last_hidden_state", *, width=2, rank=3, segments=False):
    """Each token's vector is a row of a table; with `segments` token_type_ids are an input that is added."""
    graph = Graph("tokens")
    ids = graph.input("input_ids", INT64, ["batch", "tokens"])
    if segments:
        ids = graph.node("Add", ids, graph.input("token_type_ids", INT64, ["batch", "tokens"]))
    table = np.array([[1, 1], [1, 0], [0, 1], [-1, 0], [1, 2]], dtype=np.float32)
    vectors = graph.node("Gather", graph.constant("table", table), ids)
    if rank == 2:
        vectors = graph.node("ReduceMean", vectors, graph.constant("axis", np.array([1], dtype=np.int64)), keepdims=0)
    graph.node("Identity", vectors, name=output)
    graph.output(output, FLOAT, ["batch", "tokens", width][-rank:] if rank == 3 else ["batch", width])
    return write_model(folder, graph)


def test_token_vectors_are_averaged_over_the_tokens_that_are_there(tmp_path):
    embedder = OnnxEmbedder(token_model(tmp_path))
    rows = embedder.embed(["one", "one two", "one two two two"])
    expected = np.array([[1, 0], [1, 1], [1, 3]]) / np.sqrt([[1], [2], [10]])
    np.testing.assert_allclose(rows, expected, atol=1e-6)


@pytest.mark.parametrize("config", [{"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}])
def test_the_first_token_stands_for_the_text_if_the_folder_says_so(tmp_path, config):
    token_model(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(config))
    np.testing.assert_allclose(OnnxEmbedder(tmp_path).embed(["two one one"]), [[0, 1]], atol=1e-6)


@pytest.mark.parametrize("content", ['{"pooling_mode_max_tokens": true}', "{"])
def test_other_poolings_are_refused(tmp_path, content):
    token_model(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(content)
    with pytest.raises(ConfigurationError, match="1_Pooling"):
        OnnxEmbedder(tmp_path).embed(["one"])


def test_a_model_that_gives_vectors_itself(tmp_path):
    rows = OnnxEmbedder(token_model(tmp_path, "sentence_embedding", rank=2)).embed(["one two"])
    np.testing.assert_allclose(rows, [[0.5**0.5, 0.5**0.5]], atol=1e-6)


def test_a_model_that_asks_for_segments(tmp_path):
    np.testing.assert_allclose(OnnxEmbedder(token_model(tmp_path, segments=True)).embed(["two"]), [[0, 1]], atol=1e-6)


@pytest.mark.parametrize("width", [2, "free"])
def test_the_dimension_of_a_given_model_is_known_once_it_is_loaded(tmp_path, width):
    embedder = OnnxEmbedder(token_model(tmp_path, width=width))
    assert embedder.dimension is None
    embedder.load()
    assert embedder.dimension == 2
    assert embedder.embed([]).shape == (0, 2)


def test_a_given_model_is_named_by_its_content(tmp_path):
    folders = []
    for name in ("first", "moved", "other"):
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        token_model(folders[-1], segments=name == "other")
    first, moved, other = (OnnxEmbedder(folder).id for folder in folders)
    assert first.startswith("onnx:")
    assert first == moved
    assert first != other
    assert OnnxEmbedder(folders[0], name="mine").id == "mine"


def test_a_folder_with_minilm_is_recognised(package):
    assert OnnxEmbedder(package).id == "all-MiniLM-L6-v2"


def test_a_model_with_unknown_outputs(tmp_path):
    with pytest.raises(EmbedderUnavailable, match="outputs are logits; one of"):
        OnnxEmbedder(token_model(tmp_path, "logits")).embed(["one"])


def test_files_that_are_no_model(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    write_tokenizer(tmp_path)
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        OnnxEmbedder(tmp_path).embed(["one"])


def test_a_model_that_fails_on_an_input(tmp_path):
    token_model(tmp_path)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["three"] = 99  # beyond the model's table
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    embedder = OnnxEmbedder(tmp_path)
    with pytest.raises(EmbedderError, match="failed on this input"):
        embedder.embed(["three"])
    assert embedder.embed(["one"]).shape == (1, 2)


def test_a_zero_vector_is_an_error(tmp_path):
    with pytest.raises(EmbedderError, match="zero vector"):
        OnnxEmbedder(token_model(tmp_path)).embed(["one three"])


@pytest.mark.parametrize(
    "options", [{"threads": 0}, {"threads": 1.5}, {"batch_size": 0}, {"max_tokens": 2}, {"max_tokens": 513}]
)
def test_bad_options(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        OnnxEmbedder(**options)
