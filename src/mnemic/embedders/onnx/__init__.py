"""The default embedder: all-MiniLM-L6-v2 in onnxruntime, without torch.

`embedder` has the public class, `weights` finds the model, and `model` runs it.
"""

from mnemic.embedders.onnx.embedder import OnnxEmbedder

__all__ = ["OnnxEmbedder"]
