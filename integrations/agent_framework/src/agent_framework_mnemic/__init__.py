"""Mnemic for the Microsoft Agent Framework: a context provider that gives an agent long-term memory, and its tools alone.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from agent_framework_mnemic.provider import MnemicContextProvider
    from agent_framework_mnemic.tools import mnemic_tools

__getattr__, __dir__ = lazy_names(__name__, {"MnemicContextProvider": ".provider", "mnemic_tools": ".tools"})

__version__ = "0.1.0"

__all__ = ["MnemicContextProvider", "__version__", "mnemic_tools"]
