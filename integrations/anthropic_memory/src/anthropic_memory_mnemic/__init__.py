"""Mnemic for the Anthropic SDK: Claude's memory tool, whose files are remembered notes.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from anthropic_memory_mnemic.tool import AsyncMnemicMemoryTool, MnemicMemoryTool

__getattr__, __dir__ = lazy_names(__name__, {"AsyncMnemicMemoryTool": ".tool", "MnemicMemoryTool": ".tool"})

__version__ = "0.1.0"

__all__ = ["AsyncMnemicMemoryTool", "MnemicMemoryTool", "__version__"]
