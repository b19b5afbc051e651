"""Text functions: index terms, times, token counts, sentences, names."""
