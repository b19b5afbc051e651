"""Weights of ``contending``: three logistic regressions, fitted by ``benchmarks.quality.updates_fit``.

On the sequences of four families of the benchmark of updates (``tuned``, ``held_out``, ``third``, ``fourth``), and, as examples
of what is not to be reordered, on the questions of LoCoMo's tuning half that ask for what is so.
"""

from __future__ import annotations

__all__ = ["ALONE", "ALONE_BIAS", "PAIR", "PAIR_BIAS", "TOGETHER", "TOGETHER_BIAS"]

ALONE = (
    2.729, -1.168, 3.300, 0.673, 0.694, -0.519, -1.185, -0.377, 0.705, -0.336, 1.099, -2.435, -1.404, 1.285,
    -4.939, -5.307, 1.210, -2.109, -3.332, 1.983, -0.313, 0.095, -1.607, -1.084, -1.223, 5.188,
)  # fmt: skip
ALONE_BIAS = 0.318
PAIR = (
    12.067, -0.864, 2.217, -3.291, -1.459, -0.967, 0.951, -0.223, -0.662, -1.792, 1.227, 1.933,
)  # fmt: skip
PAIR_BIAS = -7.553
TOGETHER = (
    -0.726, -0.812, 2.294, 0.595, 0.616, -0.385, -0.198, -0.056, 0.344, -0.480, 0.864, -1.685, -1.033, 0.853,
    -4.223, -4.298, 0.705, -1.305, -2.502, 1.004, -0.305, 0.138, -1.222, -0.572, -1.289, 3.203, 1.093, -0.179,
    0.399, 0.341, -0.439, -0.060, 0.074, 0.611, -0.254, -0.808, 1.031, 0.164, 0.237, 0.009, 1.254, 1.478, 3.181,
    -0.969,
)  # fmt: skip
TOGETHER_BIAS = -0.287
