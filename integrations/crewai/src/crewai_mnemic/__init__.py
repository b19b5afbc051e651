"""Mnemic for CrewAI: tools with which agents remember, and recall before they answer.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from crewai_mnemic.recall import MnemicRecall
    from crewai_mnemic.tools import mnemic_tools

__getattr__, __dir__ = lazy_names(__name__, {"MnemicRecall": ".recall", "mnemic_tools": ".tools"})

__version__ = "0.1.0"

__all__ = ["MnemicRecall", "__version__", "mnemic_tools"]
