"""Shared infrastructure: background loop, retries, locks, atomic files, and errors without secrets."""
