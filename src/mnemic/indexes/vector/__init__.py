"""Vector search: exact, and by Chroma."""
