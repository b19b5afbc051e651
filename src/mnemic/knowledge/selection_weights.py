"""Weights of the choice of statements, fitted by ``benchmarks.quality.selection_fit`` to texts of this project."""

__all__ = ["BIAS", "THRESHOLD", "WEIGHTS"]

BIAS = -5.23
THRESHOLD = 0.48
WEIGHTS = {
    "size": 2.81,
    "digit": 1.73,
    "name": 1.60,
    "uncased": 0.66,
    "question": -1.33,
    "first": 0.25,
    "opens_first": 0.62,
    "second": -0.85,
    "this": -1.42,
    "opens_with_talk": -1.06,
    "hedge": -1.06,
    "always": 0.61,
    "now": -1.03,
    "orders": -1.29,
    "only_asks": -1.16,
    "code": -0.54,
    "comma": -1.03,
    "answer": -0.57,
}
