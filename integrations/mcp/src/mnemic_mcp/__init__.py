"""Mnemic over the Model Context Protocol: the command ``mnemic-mcp``, and ``memory_server`` for programs of your own.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from mnemic_mcp.server import memory_server

__version__ = "0.1.0"

__all__ = ["__version__", "memory_server"]
__getattr__, __dir__ = lazy_names(__name__, {"memory_server": ".server"})
