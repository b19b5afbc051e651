"""Secrets, trust, fences: what keeps other people's lives safe. Plain functions; the flows hand them what they need."""
