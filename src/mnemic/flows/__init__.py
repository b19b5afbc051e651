"""The flows: the only places that know several stages and hand each what it needs."""
