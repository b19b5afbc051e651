"""Benchmarks: what Mnemic finds, how fast, and what it weighs. See README.md beside this file."""
