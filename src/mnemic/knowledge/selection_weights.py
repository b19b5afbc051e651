"""Weights of the statement selection, fitted by ``benchmarks.quality.selection_fit`` on texts of this project."""

__all__ = ["BIAS", "THRESHOLD", "WEIGHTS"]

BIAS = -5.30
THRESHOLD = 0.48
WEIGHTS = {
    "size": 2.85,
    "digit": 1.70,
    "name": 1.61,
    "uncased": 0.65,
    "question": -1.37,
    "first": 0.23,
    "opens_first": 0.66,
    "second": -0.76,
    "this": -1.47,
    "opens_with_talk": -1.09,
    "hedge": -1.06,
    "always": 0.73,
    "opens_always": 0.46,
    "now": -1.11,
    "orders": -1.32,
    "only_asks": -1.16,
    "code": -0.54,
    "comma": -1.04,
    "answer": -0.50,
}
