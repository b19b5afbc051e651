"""Mnemic for the Agent Development Kit: a plugin that gives an app long-term memory, a memory service, and tools.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from adk_mnemic.plugin import MnemicPlugin
    from adk_mnemic.scopes import Caller
    from adk_mnemic.service import MnemicMemoryService
    from adk_mnemic.tools import mnemic_tools

__getattr__, __dir__ = lazy_names(
    __name__,
    {"Caller": ".scopes", "MnemicMemoryService": ".service", "MnemicPlugin": ".plugin", "mnemic_tools": ".tools"},
)

__version__ = "0.1.0"

__all__ = ["Caller", "MnemicMemoryService", "MnemicPlugin", "__version__", "mnemic_tools"]
