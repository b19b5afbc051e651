"""Recall: query to ranked hits, by signals over a pool of candidates that a recipe fuses."""
