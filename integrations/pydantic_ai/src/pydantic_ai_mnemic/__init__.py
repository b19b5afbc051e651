"""Mnemic for pydantic-ai: a capability that gives an agent long-term memory, and its tools alone.

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai_mnemic.capability import MnemicCapability
    from pydantic_ai_mnemic.toolset import mnemic_toolset

_MODULE_OF = {"MnemicCapability": "pydantic_ai_mnemic.capability", "mnemic_toolset": "pydantic_ai_mnemic.toolset"}

__version__ = "0.1.0"

__all__ = ["MnemicCapability", "__version__", "mnemic_toolset"]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pydantic_ai_mnemic' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
