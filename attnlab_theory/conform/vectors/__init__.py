"""Vectors of others, asked of a target: ONNX's own, which its wheel makes. And ours, for others to ask."""
