"""Derived views of the record that make it searchable: columns, vectors, words. All can be rebuilt from it."""
