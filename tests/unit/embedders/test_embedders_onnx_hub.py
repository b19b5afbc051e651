"""Models of the hub by name, and what the files beside a model say of it."""

import importlib.util
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from integrations.minilm.network import FLOAT, INT64, Graph
from tokenizers import Tokenizer, models, pre_tokenizers

from mnemic import Memory
from mnemic.cli.doctor import weights_of
from mnemic.embedders import OnnxEmbedder, embedder_from
from mnemic.embedders.resolve import MULTILINGUAL
from mnemic.errors import ConfigurationError, EmbedderUnavailable

NAME = "maker/tiny-model"
WORDS = ["[UNK]", "one", "two", "query:", "passage:", "search_query:", "search_document:", "a", "b"]

_spec = importlib.util.spec_from_file_location("hub_server", Path(__file__).with_name("hub_server.py"))
hub_server = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hub_server)


def tiny(folder, *, turn=0, below="onnx", **settings):
    """A model in which each word is a direction, the mean of its words a text; files beside it by name."""
    graph = Graph("tiny")
    ids = graph.input("input_ids", INT64, ["batch", "tokens"])
    table = np.roll(np.eye(len(WORDS), dtype=np.float32), turn, axis=1)
    vectors = graph.node("Gather", graph.constant("table", table), ids)
    graph.node("Identity", vectors, name="last_hidden_state")
    graph.output("last_hidden_state", FLOAT, ["batch", "tokens", len(WORDS)])
    (folder / below).mkdir(parents=True, exist_ok=True)
    (folder / below / "model.onnx").write_bytes(graph.content("test"))
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in settings.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.with_name(path.name + ".json").write_text(json.dumps(content))
    return folder


def words_of(vector, turn=0):
    """The words that a text was made of."""
    return {WORDS[i] for i in np.flatnonzero(np.roll(vector, -turn))}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    monkeypatch.setenv("MNEMIC_CACHE", str(tmp_path / "cache"))
    with hub_server.serving(monkeypatch, NAME) as hub:
        yield hub


def test_a_model_is_downloaded_once_and_only_what_belongs_to_it(hub, tmp_path):
    folder = tiny(tmp_path / "repository", config={"hidden_size": 9})
    (folder / "model.safetensors").write_bytes(b"the same weights again")
    (folder / "README.md").write_text("a model")
    commit = hub.push(folder)
    embedder = OnnxEmbedder(NAME, progress=False)
    assert embedder.id == f"onnx:{NAME}"
    assert hub.asked == []  # nothing before the first use
    assert words_of(embedder.embed(["one two"])[0]) == {"one", "two"}
    got = {path.rpartition("/")[2] for path in hub.asked if path.startswith("GET") and "/resolve/" in path}
    assert got == {"model.onnx", "tokenizer.json", "config.json"}
    kept = tmp_path / "cache" / "models" / "hub" / "maker--tiny-model"
    assert json.loads((kept / "revisions.json").read_text()) == {"main": commit}
    hub.asked.clear()
    OnnxEmbedder(NAME).embed(["one"])
    OnnxEmbedder(NAME, offline=True).embed(["one"])
    assert hub.asked == []


def test_the_commit_that_was_found_first_is_kept(hub, tmp_path):
    hub.push(tiny(tmp_path / "first"))
    before = OnnxEmbedder(NAME).embed(["one"])
    second = hub.push(tiny(tmp_path / "second", turn=3))
    np.testing.assert_array_equal(OnnxEmbedder(NAME).embed(["one"]), before)
    pinned = OnnxEmbedder(f"{NAME}@{second}")
    assert words_of(pinned.embed(["one"])[0], 3) == {"one"}
    assert pinned.id == f"onnx:{NAME}@{second}"
    hub.push(tiny(tmp_path / "third", turn=5), "v3")
    assert words_of(OnnxEmbedder(f"{NAME}@v3").embed(["one"])[0], 5) == {"one"}


def test_a_model_that_was_lost_from_the_cache_comes_back_at_its_commit(hub, tmp_path):
    first = hub.push(tiny(tmp_path / "first"))
    before = OnnxEmbedder(NAME).embed(["one"])
    hub.push(tiny(tmp_path / "second", turn=3))
    shutil.rmtree(tmp_path / "cache" / "models" / "hub" / "maker--tiny-model" / first)
    np.testing.assert_array_equal(OnnxEmbedder(NAME).embed(["one"]), before)


def test_what_was_interrupted_is_not_taken_for_whole(hub, tmp_path, monkeypatch):
    hub.push(tiny(tmp_path / "first"))
    files = hub.revisions[hub.branches["main"]]
    tokenizer = files.pop("tokenizer.json")
    monkeypatch.setattr("mnemic.onnx.files._has_model", lambda names: "onnx/model.onnx" in names)
    with pytest.raises(EmbedderUnavailable):
        OnnxEmbedder(NAME).load()
    monkeypatch.undo()
    monkeypatch.setenv("MNEMIC_CACHE", str(tmp_path / "cache"))
    files["tokenizer.json"] = tokenizer
    with pytest.raises(EmbedderUnavailable, match="offline"):
        OnnxEmbedder(NAME, offline=True).load()


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_offline_says_what_helps_and_asks_nobody(hub, tmp_path, monkeypatch, how):
    hub.push(tiny(tmp_path / "first"))
    if how == "environment":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbedderUnavailable) as caught:
        OnnxEmbedder(NAME, offline=how == "argument").embed(["one"])
    assert hub.asked == []
    for part in (NAME, "offline", "maker--tiny-model", "HF_HUB_OFFLINE", "a folder with model.onnx and tokenizer.json"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["maker/another", f"{NAME}@v9"])
def test_a_name_that_is_not_there(hub, tmp_path, name):
    hub.push(tiny(tmp_path / "first"))
    with pytest.raises(EmbedderUnavailable, match=r"(?s)is not available.*check the name"):
        OnnxEmbedder(name).embed(["one"])


def test_a_repository_without_an_onnx_file(hub, tmp_path):
    folder = tiny(tmp_path / "first")
    (folder / "onnx" / "model.onnx").rename(folder / "model.bin")
    hub.push(folder)
    with pytest.raises(EmbedderUnavailable, match="has no ONNX model"):
        OnnxEmbedder(NAME).embed(["one"])


def test_a_memory_keeps_what_is_said_while_the_model_cannot_be_had(hub, tmp_path):
    with Memory(tmp_path / "memory", embedder=f"onnx:{NAME}") as memory:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert memory.add("one two")[0].pending == ("embed",)
        assert "is not available" in str(told[0].message)
    hub.push(tiny(tmp_path / "first"))
    with Memory(tmp_path / "memory", embedder=f"onnx:{NAME}") as memory:
        assert memory.admin.flush(process=False) == 1
        assert memory.search("two", recipe="vector")[0].scores["dense"] == pytest.approx(0.5**0.5, abs=1e-3)
        assert memory.stats().embedding_model == f"onnx:{NAME}"


def test_the_multilingual_model_is_one_commit_with_its_prompts(monkeypatch, tmp_path):
    monkeypatch.setenv("MNEMIC_CACHE", str(tmp_path / "cache"))
    name, _, commit = MULTILINGUAL.partition("@")
    with hub_server.serving(monkeypatch, name) as hub:
        hub.revisions[commit] = hub.revisions[hub.push(tiny(tmp_path / "repository"))]
        hub.push(tiny(tmp_path / "later", turn=3))
        embedder = embedder_from("multilingual")
        assert embedder.id == f"onnx:{MULTILINGUAL}"
        assert words_of(embedder.embed(["one"], kind="query")[0]) == {"query:", "one"}
        assert words_of(embedder.embed(["one"])[0]) == {"passage:", "one"}
        hub.asked.clear()
        embedder_from("multilingual").embed(["two"])
        assert hub.asked == []


def test_the_multilingual_model_offline_says_what_helps(monkeypatch, tmp_path):
    monkeypatch.setenv("MNEMIC_CACHE", str(tmp_path / "cache"))
    assert weights_of("multilingual") == ("missing, and HF_HUB_OFFLINE forbids downloading them", True)
    with pytest.raises(EmbedderUnavailable, match=r"(?s)multilingual-e5-small.*offline.*load it once.*pass its path"):
        embedder_from("multilingual").embed(["one"])


@pytest.mark.parametrize("below", ["", "onnx"])
def test_a_folder_by_the_same_prefix(tmp_path, below):
    folder = tiny(tmp_path / "a folder", below=below)
    assert words_of(embedder_from(f"onnx:{folder}").embed(["two"])[0]) == {"two"}
    with pytest.raises(ConfigurationError, match="not a folder"):
        embedder_from("onnx:./nowhere/at/all")


# What the files beside a model say

E5 = ({"query:", "one"}, {"passage:", "one"})
NONE = ({"one"}, {"one"})


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("tiny", {}, NONE),
        ("multilingual-e5-small", {}, E5),
        ("multilingual-e5-large-instruct", {}, NONE),
        ("nomic-embed-text-v1.5", {}, ({"search_query:", "one"}, {"search_document:", "one"})),
        ("cafe5-model", {}, NONE),
        ("x", {"config": {"_name_or_path": "intfloat/e5-base-v2"}}, E5),
        ("x", {"config_sentence_transformers": {"prompts": {"query": "a ", "passage": "b "}}}, ({"a", "one"}, {"b", "one"})),
        ("e5-base", {"config_sentence_transformers": {"prompts": {"query": "a ", "document": ""}}}, ({"a", "one"}, {"one"})),
        ("e5-base", {"config_sentence_transformers": {"prompts": {"query": "", "document": ""}}}, E5),
        ("e5-base", {"config_sentence_transformers": {"prompts": None}}, E5),
    ],
)  # fmt: skip
def test_prompts(tmp_path, name, settings, expected):
    embedder = OnnxEmbedder(tiny(tmp_path / name, **settings))
    assert tuple(words_of(embedder.embed(["one"], kind=kind)[0]) for kind in ("query", "document")) == expected


def test_given_prompts_count_and_none_may_be_given(tmp_path):
    folder = tiny(tmp_path / "e5-base")
    assert words_of(OnnxEmbedder(folder, prompts={"query": "a "}).embed(["one"], kind="query")[0]) == {"a", "one"}
    assert words_of(OnnxEmbedder(folder, prompts={}).embed(["one"])[0]) == {"one"}
    with pytest.raises(ConfigurationError, match="passage"):
        OnnxEmbedder(folder, prompts={"passage": "p"})


def test_other_prompts_have_another_id(tmp_path, monkeypatch):
    folder, plain = tiny(tmp_path / "e5-base"), tiny(tmp_path / "plain")
    ids = [
        OnnxEmbedder(folder).id,
        OnnxEmbedder(plain).id,
        OnnxEmbedder(plain, prompts={"query": "a "}).id,
        OnnxEmbedder(NAME).id,
        OnnxEmbedder(NAME, prompts={}).id,
        OnnxEmbedder(NAME, prompts={"query": "a "}).id,
    ]
    assert len(set(ids)) == len(ids)
    assert OnnxEmbedder(folder, prompts={}).id == OnnxEmbedder(plain).id
    assert OnnxEmbedder(plain, prompts={"query": "query: ", "document": "passage: "}).id == OnnxEmbedder(folder).id


LONG = "one " * 600 + "two"


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({}, 256),
        ({"sentence_bert_config": {"max_seq_length": 100}, "tokenizer_config": {"model_max_length": 300}}, 100),
        ({"tokenizer_config": {"model_max_length": 300}}, 300),
        ({"tokenizer_config": {"model_max_length": 1e30}}, 512),
        ({"sentence_bert_config": {"max_seq_length": None}}, 256),
    ],
)
def test_how_much_of_a_text_is_read(tmp_path, settings, seen):
    folder = tiny(tmp_path / "tiny", **settings)
    texts = ["one " * (seen - 1) + "two", "one " * seen + "two"]
    assert [words_of(row) for row in OnnxEmbedder(folder).embed(texts)] == [{"one", "two"}, {"one"}]
    assert words_of(OnnxEmbedder(folder, max_tokens=1_000).embed([LONG])[0]) == {"one", "two"}


def test_pooling_is_where_the_modules_say(tmp_path):
    steps = [{"type": f"sentence_transformers.models.{name}", "path": path} for name, path in
             (("Transformer", ""), ("Pooling", "2_Pooling"), ("Normalize", "3_Normalize"))]  # fmt: skip
    folder = tiny(tmp_path / "tiny", modules=steps, **{"2_Pooling__config": {"pooling_mode_cls_token": True}})
    assert words_of(OnnxEmbedder(folder).embed(["two one one"])[0]) == {"two"}


def test_a_layer_that_is_not_in_the_file_is_refused(tmp_path):
    folder = tiny(tmp_path / "tiny", modules=[{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])
    with pytest.raises(ConfigurationError, match="Dense"):
        OnnxEmbedder(folder).embed(["one"])


@pytest.mark.parametrize("name", ["config", "modules", "tokenizer_config", "config_sentence_transformers"])
def test_a_damaged_file_is_named(tmp_path, name):
    folder = tiny(tmp_path / "tiny")
    (folder / f"{name}.json").write_text("{")
    with pytest.raises(ConfigurationError, match=f"{name}.json cannot be read"):
        OnnxEmbedder(folder).embed(["one"])
