"""Weights of ``contending``: three logistic regressions, fitted by ``benchmarks.quality.updates_fit``.

On the sequences of four families of the benchmark of updates (``tuned``, ``held_out``, ``third``, ``fourth``), and, as examples
of what is not to be reordered, on the questions of LoCoMo's tuning half that ask for what is so.
"""

from __future__ import annotations

__all__ = ["ALONE", "ALONE_BIAS", "PAIR", "PAIR_BIAS", "TOGETHER", "TOGETHER_BIAS"]

ALONE = (
    3.183, -0.957, 3.344, 0.861, 0.956, -0.402, -1.184, -0.396, 0.772, -0.524, 1.113, -2.887, -1.649, 1.123, -5.110,
    -5.417, 1.286, -2.979, -3.083, 2.261, -0.242, -1.495, -1.637, -0.885, -1.207, 5.119,
)  # fmt: skip
ALONE_BIAS = -0.433
PAIR = (
    12.728, -1.044, 2.392, -3.461, -1.639, -1.312, 0.968, -0.168, -0.513, -2.107, 1.360, 1.939,
)  # fmt: skip
PAIR_BIAS = -7.661
TOGETHER = (
    -0.472, -0.464, 2.426, 0.605, 0.787, -0.275, -0.426, -0.017, 0.491, -0.647, 0.854, -2.080, -1.180, 0.803, -4.654,
    -4.777, 0.768, -1.755, -2.224, 1.329, -0.255, -1.218, -1.392, -0.610, -1.432, 3.315, 1.228, -0.062, 0.565, 0.655,
    -0.378, -0.069, 0.005, 0.518, -0.290, -0.895, 1.291, 0.032, 0.223, -0.015, 0.968, 0.860, 3.827, -0.781,
)  # fmt: skip
TOGETHER_BIAS = -0.530
