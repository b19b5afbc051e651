"""Weights of the choice of statements, fitted by ``benchmarks.quality.selection_fit`` to texts of this project."""

__all__ = ["BIAS", "THRESHOLD", "WEIGHTS"]

BIAS = -4.98
THRESHOLD = 0.48
WEIGHTS = {
    "size": 2.61,
    "digit": 1.77,
    "name": 1.58,
    "uncased": 0.71,
    "question": -1.85,
    "first": 0.43,
    "opens_first": 0.75,
    "second": -1.20,
    "this": -1.43,
    "opens_with_talk": -1.08,
    "hedge": -1.04,
    "always": 0.60,
    "now": -0.91,
    "orders": -1.44,
    "code": -0.53,
    "comma": -1.00,
    "answer": -0.51,
}
