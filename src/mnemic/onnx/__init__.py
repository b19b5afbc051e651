"""Shared by embedders and rerankers in onnxruntime: `hub` downloads a model, `folder` reads one, `session` runs it."""

from mnemic.onnx.folder import ModelFolder, model_folder
from mnemic.onnx.session import Network

__all__ = ["ModelFolder", "Network", "model_folder"]
