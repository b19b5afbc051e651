"""Secrets, trust, fences and erasure: what keeps other people's lives safe."""
