"""Context: hits to prompt text within a token budget, evidence by day with notes where there is room."""
