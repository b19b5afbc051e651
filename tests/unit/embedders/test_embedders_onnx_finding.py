"""Where the model comes from, in which order, and what is said when it cannot be had."""

import shutil

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from mnemic.embedders import OnnxEmbedder
from mnemic.errors import EmbedderUnavailable
from mnemic.onnx import files

TEXT = ["I moved to Lisbon in March."]


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: None)


class Hub:
    """Stands in for the hub client: what is on this machine, what is online, and what was asked."""

    def __init__(self, monkeypatch, files, *, online=False, cached=False):
        self.files, self.online, self.cached, self.asked = files, online, cached, []
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setattr(huggingface_hub, "hf_hub_download", self.download)
        monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", self.metadata)

    def metadata(self, url, *, timeout):
        self.asked.append("metadata")
        assert 0 < timeout <= 10
        if not self.online:
            raise ConnectionError("no route")

    def download(self, repository, name, *, local_files_only=False, tqdm_class=None, **options):
        self.asked.append(("local" if local_files_only else "network", name, tqdm_class))
        assert repository == "sentence-transformers/all-MiniLM-L6-v2"
        if self.cached or (self.online and not local_files_only):
            return str(self.files[name])
        raise LocalEntryNotFoundError("not here")


@pytest.fixture
def hub_files(package):
    return {"onnx/model.onnx": package / "model.onnx", "tokenizer.json": package / "tokenizer.json"}


@pytest.mark.parametrize("int8", [False, True])
def test_the_package_is_enough(package, int8):
    assert OnnxEmbedder(offline=True, int8=int8).embed(TEXT).shape == (1, 384)


@pytest.mark.parametrize("content", [None, b"", b"half"])
def test_a_package_that_is_damaged(package, tmp_path, monkeypatch, content):
    """No other source is asked: the package is to be installed again."""
    if content is not None:
        (tmp_path / "model.onnx").write_bytes(content or (package / "model.onnx").read_bytes()[:1000])
    shutil.copyfile(package / "tokenizer.json", tmp_path / "tokenizer.json")
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: tmp_path)
    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx"):
        OnnxEmbedder(offline=True).load()


def test_weights_of_one_byte_come_with_the_package_alone(no_package, monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files, online=True)
    with pytest.raises(EmbedderUnavailable, match=r'int8 is not available.*\n.*mnemic-minilm(?s:.*)"mnemic\[minilm\]"'):
        OnnxEmbedder(int8=True).load()
    assert fake.asked == []


def test_a_given_folder_comes_first(tmp_path):
    with pytest.raises(EmbedderUnavailable, match="no ONNX model in"):
        OnnxEmbedder(tmp_path).embed(TEXT)


@pytest.mark.parametrize("below", ["", "onnx"])
def test_a_given_folder_may_hold_the_model_below_onnx(hub_files, tmp_path, below, minilm):
    (tmp_path / below).mkdir(exist_ok=True)
    (tmp_path / below / "model.onnx").symlink_to(hub_files["onnx/model.onnx"])
    (tmp_path / "tokenizer.json").symlink_to(hub_files["tokenizer.json"])
    np.testing.assert_array_equal(OnnxEmbedder(tmp_path).embed(TEXT), minilm.embed(TEXT))


def test_the_hub_is_the_last_source(no_package, monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files, online=True)
    assert OnnxEmbedder().embed(TEXT).shape == (1, 384)
    assert fake.asked == [
        ("local", "onnx/model.onnx", None),
        "metadata",
        ("network", "onnx/model.onnx", None),
        ("network", "tokenizer.json", None),
    ]


def test_the_hub_is_not_asked_while_there_is_another_source(monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files, online=True)
    OnnxEmbedder().load()
    assert fake.asked == []


def test_an_earlier_download_is_used_without_the_network(no_package, monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files, cached=True)
    OnnxEmbedder(offline=True).load()
    assert {ask[0] for ask in fake.asked} == {"local"}


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_offline_never_touches_the_network(no_package, monkeypatch, hub_files, how):
    fake = Hub(monkeypatch, hub_files, online=True)
    if how == "environment":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbedderUnavailable, match="offline"):
        OnnxEmbedder(offline=how == "argument").load()
    assert [ask[0] for ask in fake.asked] == ["local"]


def test_without_a_network_the_error_names_every_reason_and_every_way_out(no_package, monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files)
    with pytest.raises(EmbedderUnavailable) as caught:
        OnnxEmbedder().load()
    assert fake.asked == [("local", "onnx/model.onnx", None), "metadata"]
    for part in (
        "the package mnemic-minilm is not installed",
        "hub cannot be reached (ConnectionError: no route)",
        'pip install "mnemic[minilm]"',
        'OnnxEmbedder("path/to/folder")',
        "network connection",
        "HF_HUB_OFFLINE",
        '"openai:text-embedding-3-small"',
        '"hashing"',
    ):
        assert part in str(caught.value)


def test_a_model_that_is_not_to_be_had_is_not_looked_for_at_every_call(no_package, monkeypatch, hub_files):
    fake, now = Hub(monkeypatch, hub_files), [100.0]
    monkeypatch.setattr("mnemic.embedders.onnx.time.monotonic", lambda: now[0])
    embedder = OnnxEmbedder()
    for now[0] in (100.0, 101.0, 129.0):
        with pytest.raises(EmbedderUnavailable, match="pip install"):
            embedder.embed(TEXT)
    assert fake.asked.count("metadata") == 1
    fake.online = True
    now[0] = 131.0
    assert embedder.embed(TEXT).shape == (1, 384)


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (False, False)])
def test_the_progress_bar(monkeypatch, capsys, progress, shown):
    bars = []

    def download(repository, name, *, tqdm_class, **options):
        with tqdm_class(total=3, desc=name, name="of the hub") as bar:
            bar.update(3)
            bars.append(bar.disable)
        return name

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert len(files.hub_files(offline=False, progress=progress)) == 2
    assert bars == [not shown] * 2
    assert ("tokenizer.json" in capsys.readouterr().err) is shown


def test_a_client_that_knows_no_bar_class(monkeypatch):
    def download(repository, name, local_files_only=False, etag_timeout=10):
        return name

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert len(files.hub_files(offline=True, progress=True)) == 2
