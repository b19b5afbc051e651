"""Mnemic for pydantic-ai: a capability that gives an agent long-term memory, and its tools alone.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from pydantic_ai_mnemic.capability import MnemicCapability
    from pydantic_ai_mnemic.toolset import mnemic_toolset

__getattr__, __dir__ = lazy_names(__name__, {"MnemicCapability": ".capability", "mnemic_toolset": ".toolset"})

__version__ = "0.1.0"

__all__ = ["MnemicCapability", "__version__", "mnemic_toolset"]
