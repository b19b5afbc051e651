"""Indexes derived from the record: catalog columns, keywords, vectors. All can be rebuilt from it."""
