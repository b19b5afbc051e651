"""The life of a memory: consolidated, edited, forgotten, erased, quarantined, and what is done while nobody speaks."""
