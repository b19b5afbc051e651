"""Mnemic for the OpenAI Agents SDK: a session that remembers and recalls, and tools for agents.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from openai_agents_mnemic.session import MnemicSession
    from openai_agents_mnemic.tools import mnemic_tools

__getattr__, __dir__ = lazy_names(__name__, {"MnemicSession": ".session", "mnemic_tools": ".tools"})

__version__ = "0.1.0"

__all__ = ["MnemicSession", "__version__", "mnemic_tools"]
