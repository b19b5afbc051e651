"""Shared code of framework adapters."""
