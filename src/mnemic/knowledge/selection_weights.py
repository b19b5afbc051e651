"""Weights of the choice of statements, fitted by ``benchmarks.quality.selection_fit`` to texts of this project."""

__all__ = ["BIAS", "THRESHOLD", "WEIGHTS"]

BIAS = -4.91
THRESHOLD = 0.48
WEIGHTS = {
    "size": 2.60,
    "digit": 1.74,
    "name": 1.54,
    "uncased": 0.66,
    "question": -1.88,
    "first": 0.43,
    "opens_first": 0.81,
    "second": -1.15,
    "this": -1.49,
    "opens_with_talk": -1.10,
    "hedge": -1.08,
    "always": 0.70,
    "opens_always": 0.45,
    "now": -1.00,
    "orders": -1.49,
    "code": -0.53,
    "comma": -1.02,
    "answer": -0.53,
}
