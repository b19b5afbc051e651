"""The default embedder: all-MiniLM-L6-v2 in onnxruntime, without torch.

`embedder` is the face, `weights` finds the model, `cache` keeps the converted one, `convert` describes the network,
`graph` and `protobuf` write it down, and `model` runs it.
"""

from mnemic.embedders.onnx.embedder import OnnxEmbedder

__all__ = ["OnnxEmbedder"]
