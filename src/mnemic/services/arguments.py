"""Validation of numeric constructor arguments."""

from __future__ import annotations

import math
from typing import TypeGuard

from mnemic.errors import ConfigurationError

__all__ = ["positive", "seconds", "whole"]


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return `value` if it is an integer from `low` to `high`; else raise a ConfigurationError that names the argument."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigurationError(f"{name}={value!r} is not a whole number from {low} to {high}.")
    return value


def positive(name: str, value: object) -> float:
    """Return `value` in seconds if it is finite and above 0; else raise a ConfigurationError that names the argument."""
    if not _finite(value) or not value > 0:
        raise ConfigurationError(f"{name}={value!r} is not a number of seconds above 0.")
    return float(value)


def seconds(name: str, value: object) -> float:
    """Return `value` in seconds if it is finite and at least 0; else raise a ConfigurationError that names the argument."""
    if not _finite(value) or not value >= 0:
        raise ConfigurationError(f"{name}={value!r} is not a number of seconds from 0.")
    return float(value)


def _finite(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
