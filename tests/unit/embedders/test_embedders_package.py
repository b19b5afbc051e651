import subprocess
import sys

import pytest

import mnemic.embedders
from mnemic.protocols import Embedder


def test_names_are_sorted_and_all_of_them_exist():
    assert mnemic.embedders.__all__ == sorted(mnemic.embedders.__all__)
    for name in mnemic.embedders.__all__:
        assert getattr(mnemic.embedders, name).__module__.startswith(("mnemic.embedders.", "mnemic.vectors"))
    assert set(mnemic.embedders.__all__) <= set(dir(mnemic.embedders))


def test_unknown_name():
    with pytest.raises(AttributeError, match="NoSuchEmbedder"):
        _ = mnemic.embedders.NoSuchEmbedder


def test_importing_the_package_loads_nothing_heavy():
    script = (
        "import sys, mnemic.embedders; from mnemic.embedders import embedder_from; "
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'huggingface_hub', 'pydantic_ai', 'safetensors', 'torch'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_making_embedders_loads_no_model_runtime():
    script = (
        "import sys; from mnemic.embedders import embedder_from; e = embedder_from(None); "
        "assert (e.id, e.dimension) == ('all-MiniLM-L6-v2', 384); "
        "embedder_from('openai:text-embedding-3-small'); "
        "sys.exit(', '.join({'onnxruntime', 'tokenizers', 'pydantic_ai'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_embedders_fit_the_protocol():
    made = [
        mnemic.embedders.HashingEmbedder(),
        mnemic.embedders.OnnxEmbedder(),
        mnemic.embedders.CachedEmbedder(mnemic.embedders.HashingEmbedder()),
        mnemic.embedders.RemoteEmbedder("ollama:nomic-embed-text"),
    ]
    assert all(isinstance(embedder, Embedder) for embedder in made)
