"""Messages to episodes: where a subject begins, and which episodes belong together.

Pure functions without a model: ``boundaries`` (or ``begins_episode`` while talking, or ``repaired`` for the answer of a
language model), and ``most_similar``. What an episode is called is said in ``knowledge.episodes``.
"""

from mnemic.knowledge.segmentation.boundaries import LONGEST, begins_episode, boundaries, stretches
from mnemic.knowledge.segmentation.merges import most_similar
from mnemic.knowledge.segmentation.repairs import repaired

__all__ = ["LONGEST", "begins_episode", "boundaries", "most_similar", "repaired", "stretches"]
