"""Short-term to long-term memory: what a memory is worth, which memories say the same, what fades. Pure functions."""

from mnemic.consolidation.clustering import Clustering, clusters
from mnemic.consolidation.decay import link_strength, rank_weight
from mnemic.consolidation.importance import Importance, importance, importances

__all__ = ["Clustering", "Importance", "clusters", "importance", "importances", "link_strength", "rank_weight"]
