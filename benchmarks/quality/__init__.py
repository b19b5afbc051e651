"""How much of the evidence is found."""
