"""Logistic regressions with a ridge, by Newton's method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS, SETTLED = 30, 1e-7
"""Most steps, and the largest change of a coefficient in the last one."""
LARGEST = 30.0
"""Log odds beyond which a step counts them as this."""


def newton(design: Floats, answers: Floats, weights: Floats, ridge: Floats, offset: Floats | float = 0.0) -> Floats:
    """The (F,) coefficients.

    Args:
        design: (n, F) features, a column of ones for the intercept among them.
        answers: (n,) 0 or 1.
        weights: (n,) what each row weighs.
        ridge: (F,) penalty of each squared coefficient.
        offset: (n,) log odds that are given.
    """
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-np.clip(design @ found + offset, -LARGEST, LARGEST)))
        slope = design.T @ (weights * (likely - answers)) + ridge * found
        bend = (design * (weights * likely * (1 - likely))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < SETTLED:
            break
    return found


def standardised(rows: Floats, answers: Floats, weights: Floats, ridge: float) -> Floats:
    """The (F + 1,) coefficients of features as they are, the intercept last; the ridge is on standardised columns."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    design = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    found = newton(design, answers, weights, np.append(np.full(rows.shape[1], ridge), 1e-6))
    scaled = found[:-1] / spread
    return np.append(scaled, found[-1] - scaled @ mean)
