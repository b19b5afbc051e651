"""Weights of the statement selection, fitted by ``benchmarks.quality.selection_fit`` on texts of this project."""

BIAS = -4.76
THRESHOLD = 0.48
WEIGHTS = {
    "size": 2.50,
    "digit": 1.72,
    "name": 1.33,
    "uncased": 0.81,
    "question": -1.27,
    "first": 0.16,
    "opens_first": 0.61,
    "second": -0.71,
    "this": -1.49,
    "opens_with_talk": -1.03,
    "hedge": -1.11,
    "always": 0.81,
    "opens_always": 0.43,
    "now": -1.27,
    "orders": -1.33,
    "only_asks": -1.19,
    "code": -0.64,
    "comma": -1.16,
    "answer": -0.42,
}
