"""Shared by embedders and rerankers in onnxruntime: `files` finds or downloads a model, `session` runs it."""
