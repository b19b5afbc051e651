from pathlib import Path

import pytest
from pydantic_ai import Embedder
from pydantic_ai.embeddings import TestEmbeddingModel

from mnemic.embedders import CachedEmbedder, HashingEmbedder, OnnxEmbedder, RemoteEmbedder, embedder_from
from mnemic.errors import ConfigurationError, MissingExtra


def test_nothing_gives_the_default_model_with_a_small_cache_of_queries(cache):
    embedder = embedder_from(None)
    assert isinstance(embedder, CachedEmbedder)
    assert isinstance(embedder.inner, OnnxEmbedder)
    assert embedder.id == "all-MiniLM-L6-v2"
    for _ in range(2):
        embedder.embed(["where does she live?"], kind="query")
        embedder.embed(["She lives in Lisbon."], kind="document")
    assert (embedder.hits, embedder.misses, len(embedder)) == (1, 3, 1)


def test_the_default_model_with_weights_of_one_byte(cache):
    embedder = embedder_from("minilm-int8")
    assert isinstance(embedder, CachedEmbedder)
    assert repr(embedder.inner) == "OnnxEmbedder(int8=True)"
    assert embedder.id == "all-MiniLM-L6-v2-int8"


def test_hashing():
    assert embedder_from("hashing").id == "hashing-256"


@pytest.mark.parametrize("name", ["openai:text-embedding-3-small", "ollama:nomic-embed-text", "gateway/openai:m"])
def test_provider_and_model(name):
    embedder = embedder_from(name)
    assert isinstance(embedder, RemoteEmbedder)
    assert embedder.id == name


@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder(tmp_path, kind):
    folder = tmp_path / "c:models"
    folder.mkdir()
    embedder = embedder_from(kind(folder))
    assert isinstance(embedder, OnnxEmbedder)
    assert str(folder) in repr(embedder)


@pytest.mark.parametrize("model", [TestEmbeddingModel(), Embedder(TestEmbeddingModel())])
def test_pydantic_ais_own_objects(model):
    assert embedder_from(model).id == "test:test"


def test_an_embedder_is_itself():
    embedder = HashingEmbedder()
    assert embedder_from(embedder) is embedder


def test_an_embedder_of_the_users_is_itself_and_not_asked_for_its_id():
    class Mine:
        dimension = 3

        @property
        def id(self):
            raise AssertionError("this would load the model")

        def embed(self, texts, *, kind="document"):
            return [[1.0, 0.0, 0.0] for _ in texts]

    embedder = Mine()
    assert embedder_from(embedder) is embedder


def test_attributes_of_the_object_alone_count_too():
    class Plain:
        pass

    embedder = Plain()
    embedder.id, embedder.embed = "plain", lambda texts, *, kind="document": [[1.0]] * len(texts)
    assert embedder_from(embedder) is embedder


@pytest.mark.parametrize("spec", ["", "openai", "./no/such/folder", "c:\\no\\such", ":m", "m:", 3, object(), [], b"x"])
def test_everything_else_is_refused_with_a_list_of_what_is_accepted(spec):
    with pytest.raises(ConfigurationError, match=r'(?s)Accepted are.*folder.*"provider:model".*"hashing"'):
        embedder_from(spec)


def test_a_path_that_is_no_folder(tmp_path):
    with pytest.raises(ConfigurationError, match="not a folder"):
        embedder_from(tmp_path / "missing")


def test_a_class_is_not_an_object():
    with pytest.raises(ConfigurationError, match=r"HashingEmbedder\(\.\.\.\)"):
        embedder_from(HashingEmbedder)


def test_sentence_transformers_without_the_package(monkeypatch):
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: None)
    with pytest.raises(MissingExtra, match=r"mnemic\[sentence-transformers\]"):
        embedder_from("sentence-transformers:all-mpnet-base-v2")
