"""Weights of ``contending``: three logistic regressions, fitted by ``benchmarks.quality.updates_fit``.

On the sequences of four families of the benchmark of updates (``tuned``, ``held_out``, ``third``, ``fourth``), and, as examples
of what is not to be reordered, on the questions of LoCoMo's tuning half that ask for what is so.
"""

from __future__ import annotations

__all__ = ["ALONE", "ALONE_BIAS", "PAIR", "PAIR_BIAS", "TOGETHER", "TOGETHER_BIAS"]

ALONE = (
    3.138, -1.211, 3.253, 0.700, 0.816, -0.494, -1.256, -0.530, 0.767, -0.295, 0.993, -2.783, -1.445, 1.317, -4.954,
    -5.467, 1.131, -2.438, -3.242, 2.139, -0.287, -0.496, -1.612, -1.070, -1.278, 5.402,
)  # fmt: skip
ALONE_BIAS = 0.253
PAIR = (
    13.065, -1.111, 2.282, -3.419, -1.628, -1.189, 0.951, -0.142, -0.631, -2.182, 1.355, 1.928,
)  # fmt: skip
PAIR_BIAS = -7.855
TOGETHER = (
    -0.630, -0.772, 2.349, 0.612, 0.736, -0.382, -0.315, -0.121, 0.375, -0.509, 0.771, -1.967, -1.170, 0.872, -4.423,
    -4.431, 0.687, -1.701, -2.392, 1.124, -0.313, -0.249, -1.296, -0.635, -1.363, 3.121, 1.462, -0.251, 0.460, 0.551,
    -0.455, -0.113, 0.078, 0.622, -0.309, -0.895, 1.081, 0.207, 0.227, -0.011, 1.491, 1.323, 3.815, -1.144,
)  # fmt: skip
TOGETHER_BIAS = -0.456
