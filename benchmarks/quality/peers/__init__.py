"""Other memory systems on the same text and the same vectors, each in an environment of its own."""
