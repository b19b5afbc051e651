"""The arithmetic of vectors that several stages share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["dot"]


def dot(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float32]:
    """The matrix product ``left @ right``.

    Some processors' kernels for small matrices compute beyond the edge and throw that away, yet leave the floating-point
    flags of what they threw away: NumPy would then warn of a value that is not there.
    """
    with np.errstate(all="ignore"):
        return left @ right
