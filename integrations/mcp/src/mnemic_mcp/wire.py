"""stdout is the protocol: whatever else is printed, by whatever, goes to stderr."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

__all__ = ["protected_stdout"]


def protected_stdout() -> TextIOWrapper:
    """Move stdout to a descriptor nobody else knows and point descriptor 1 at stderr, for good.

    C libraries and child processes write to descriptor 1 as ``print`` does, so that the descriptor is moved, not only
    ``sys.stdout``. What was buffered before goes where it was meant to go.

    Returns:
        What was stdout, in UTF-8.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.set_inheritable(wire, False)  # noqa: FBT003 - the signature of the standard library
    os.dup2(2, 1)
    return TextIOWrapper(os.fdopen(wire, "wb"), encoding="utf-8", newline="\n")
