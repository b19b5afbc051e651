"""Safety: secrets, trust and fences."""
