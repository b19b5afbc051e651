"""The adapter alone, over a stand-in for the library; test_embedders_torch.py uses the real one."""

import sys

import numpy as np
import pytest

from mnemic.embedders import SentenceTransformerEmbedder, embedder_from
from mnemic.errors import ConfigurationError, EmbedderError, EmbedderUnavailable, InvalidInput, MissingExtra

LIBRARY = """
class SentenceTransformer:
    made = []

    def __init__(self, name=None, **options):
        if name == "broken/model":
            raise OSError("no such model")
        self.name, self.options, self.calls, self.prompts = name, options, [], {}
        self.model_card_data = type("Card", (), {"model_id": name, "base_model": None})()
        type(self).made.append(self)

    def encode(self, sentences, **options):
        self.calls.append(("encode", sentences, options))
        if "fail" in sentences:
            raise RuntimeError("out of memory")
        return [[float(len(text)), 1.0, 0.0] for text in sentences]


class Newer(SentenceTransformer):
    def encode_query(self, sentences, **options):
        return self.encode(["query: " + text for text in sentences], **options)

    def encode_document(self, sentences, **options):
        return self.encode(sentences, **options)
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A package called sentence_transformers, made for this test."""
    package = tmp_path / "site" / "sentence_transformers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delenv("HF_HUB_OFFLINE")
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("sentence_transformers")}
    import sentence_transformers

    yield sentence_transformers
    del sys.modules["sentence_transformers"]
    sys.modules.update(hidden)


def test_it_loads_at_first_use_and_once(library):
    embedder = SentenceTransformerEmbedder("some/model", device="cpu", revision="v1")
    assert (embedder.dimension, library.SentenceTransformer.made) == (None, [])
    rows = embedder.embed(["a", "abc"])
    embedder.embed(["b"])
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [1, 3], rtol=1e-6)
    (made,) = library.SentenceTransformer.made
    assert (made.name, made.options) == ("some/model", {"device": "cpu", "revision": "v1"})
    assert (embedder.id, embedder.dimension) == ("sentence-transformers:some/model@v1", 3)
    assert made.calls[0] == (
        "encode",
        ["a", "abc"],
        {"batch_size": 32, "show_progress_bar": False, "prompt_name": None},
    )


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_offline(library, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    SentenceTransformerEmbedder("some/model", offline=how == "argument").embed(["a"])
    assert library.SentenceTransformer.made[0].options["local_files_only"] is True


def test_the_models_own_prompts_before_version_5(library):
    model = library.SentenceTransformer("some/model")
    model.prompts = {"query": "query: "}
    embedder = SentenceTransformerEmbedder(model)
    embedder.embed(["a"], kind="query")
    embedder.embed(["a"], kind="document")
    assert [options["prompt_name"] for _, _, options in model.calls] == ["query", None]


def test_the_models_own_prompts_since_version_5(library):
    model = library.Newer("some/model")
    embedder = SentenceTransformerEmbedder(model)
    embedder.embed(["a"], kind="query")
    embedder.embed(["a"])
    assert [sentences for _, sentences, _ in model.calls] == [["query: a"], ["a"]]


def test_prompts_of_ones_own(library):
    model = library.Newer("some/model")
    embedder = SentenceTransformerEmbedder(model, prompts={"query": "q: "}, truncate_dim=2)
    embedder.embed(["a"], kind="query")
    assert model.calls[0][2] == {"batch_size": 32, "show_progress_bar": False, "truncate_dim": 2, "prompt": "q: "}
    assert embedder.id.startswith("sentence-transformers:some/model/2#")


def test_prompts_that_are_known_by_the_name_of_the_model(library):
    embedder = SentenceTransformerEmbedder("intfloat/multilingual-e5-small")
    embedder.embed(["a"], kind="query")
    embedder.embed(["a"])
    (made,) = library.SentenceTransformer.made
    assert [options["prompt"] for _, _, options in made.calls] == ["query: ", "passage: "]
    made.prompts = {"query": "ask: ", "passage": ""}  # its own come first
    embedder.embed(["a"], kind="query")
    assert made.calls[-1][2]["prompt_name"] == "query"
    none = SentenceTransformerEmbedder("intfloat/multilingual-e5-small", prompts={})
    none.embed(["a"], kind="query")
    assert library.SentenceTransformer.made[-1].calls[0][2]["prompt_name"] is None
    given = SentenceTransformerEmbedder("intfloat/multilingual-e5-small", prompts={"query": "q: "})
    assert len({embedder.id, none.id, given.id}) == 3


def test_max_tokens(library):
    SentenceTransformerEmbedder("some/model", max_tokens=64).embed(["a"])
    assert library.SentenceTransformer.made[0].max_seq_length == 64


@pytest.mark.parametrize("name", ["sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"])
def test_minilm_shares_its_id_with_the_onnx_embedder(library, name):
    assert SentenceTransformerEmbedder(name).id == "all-MiniLM-L6-v2"
    assert SentenceTransformerEmbedder(name, truncate_dim=128).id == "all-MiniLM-L6-v2/128"


def test_a_folder_is_named_by_its_weights(library, tmp_path):
    for name, content in (("a", b"weights"), ("b", b"weights"), ("c", b"others")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(content)
    first, moved, other = (SentenceTransformerEmbedder(tmp_path / name).id for name in "abc")
    assert first == moved != other


def test_a_folder_with_minilm_is_recognised(library, published):
    assert SentenceTransformerEmbedder(published).id == "all-MiniLM-L6-v2"


def test_a_folder_without_a_model(library, tmp_path):
    with pytest.raises(EmbedderUnavailable, match="no model in"):
        _ = SentenceTransformerEmbedder(tmp_path).id


def test_a_ready_model_that_does_not_say_what_it_is(library):
    model = library.SentenceTransformer(None)
    with pytest.raises(ConfigurationError, match="name="):
        _ = SentenceTransformerEmbedder(model).id
    assert SentenceTransformerEmbedder(model, name="mine").id == "mine"


def test_the_resolver_knows_names_and_objects(library):
    assert embedder_from("sentence-transformers:some/model").id == "sentence-transformers:some/model"
    assert embedder_from(library.SentenceTransformer("other/model")).id == "sentence-transformers:other/model"


def test_a_model_that_cannot_be_loaded(library):
    embedder = SentenceTransformerEmbedder("broken/model")
    with pytest.raises(EmbedderUnavailable, match="'broken/model' cannot be loaded: no such model"):
        embedder.embed(["a"])


def test_a_model_that_fails(library):
    with pytest.raises(EmbedderError, match="out of memory"):
        SentenceTransformerEmbedder("some/model").embed(["fail"])


def test_texts_are_made_fit(library):
    SentenceTransformerEmbedder("some/model").embed(["a\0\ud800", "x" * 30_000])
    assert [len(text) for text in library.SentenceTransformer.made[0].calls[0][1]] == [2, 20_000]
    with pytest.raises(InvalidInput):
        SentenceTransformerEmbedder("some/model").embed("text")
    assert SentenceTransformerEmbedder("some/model").embed([]).shape == (0, 0)


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"truncate_dim": 0}, {"max_tokens": 1}, {"prompts": {"q": ""}}])
def test_bad_options(library, options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        SentenceTransformerEmbedder("some/model", **options)


def test_missing_package(monkeypatch):
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: None)
    with pytest.raises(MissingExtra, match=r"mnemic\[sentence-transformers\]"):
        SentenceTransformerEmbedder()
