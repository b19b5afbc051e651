"""Messages to episodes: where a subject begins, and which episodes belong together.

Pure functions without a model: ``boundaries`` (or ``begins_episode`` while talking, or ``repaired`` for the answer of a
language model), and ``most_similar``. What an episode is called is said in ``knowledge.episodes``.
"""

from mnemic.ingestion.merging import most_similar
from mnemic.ingestion.repairing import repaired
from mnemic.ingestion.shifts import LONGEST, begins_episode, boundaries, stretches

__all__ = ["LONGEST", "begins_episode", "boundaries", "most_similar", "repaired", "stretches"]
