"""Ingestion: incoming messages are validated, redacted, embedded and written."""
