"""Chroma as the vector index, on a server or embedded. It is derived from the record, never the only copy."""
