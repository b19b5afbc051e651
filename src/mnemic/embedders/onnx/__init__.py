"""The default embedder: all-MiniLM-L6-v2 in onnxruntime, without torch.

`embedder` has the public class and runs the model, which `weights` finds.
"""
