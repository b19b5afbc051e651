"""Weights of ``mnemic.knowledge.selection``, written by hand until they are fitted."""

BIAS = -3.0
THRESHOLD = 0.5
WEIGHTS = {
    "size": 1.3, "short": -1.0, "long": -1.0, "digit": 1.0, "name": 0.8, "wide": 0.0, "question": -2.5, "first": 0.8,
    "second": -0.7, "third": -0.5, "talk": -2.0, "opens_with_talk": -0.3, "laugh": -0.8, "exclaim": -0.3, "hedge": -0.7,
    "always": 0.8, "letters": 0.1, "code": -1.0, "comma": 0.3, "asked": 0.3, "answer": 1.0, "first_in_message": 0.0,
    "alone": 0.0, "named": -0.2,
}  # fmt: skip
