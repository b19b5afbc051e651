"""all-MiniLM-L6-v2 in the ONNX format: model.onnx, model-int8.onnx, reader.onnx and tokenizer.json beside this file."""
