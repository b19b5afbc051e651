"""Mnemic over the Model Context Protocol: the command ``mnemic-mcp``, and ``memory_server`` for programs of your own.

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic_mcp.server import memory_server

__version__ = "0.1.0"

__all__ = ["__version__", "memory_server"]


def __getattr__(name: str) -> object:
    if name != "memory_server":
        raise AttributeError(f"module 'mnemic_mcp' has no attribute {name!r}")
    value = getattr(import_module("mnemic_mcp.server"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
