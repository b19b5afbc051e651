"""Episodes to knowledge: statements, the facts in them, what is new, what it replaces, enrichment and links. Pure rules."""
