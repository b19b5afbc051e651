"""Messages to episodes: where a subject begins, what it is called, its story, and which episodes belong together.

Pure functions without a model. The order of work: ``boundaries`` (or ``begins_episode`` while talking, or ``repaired`` for the
answer of a language model), then ``title`` and ``narrative`` of each run, then ``most_similar``.
"""

from mnemic.ingestion.merging import most_similar
from mnemic.ingestion.narratives import narrative
from mnemic.ingestion.repairing import repaired
from mnemic.ingestion.shifts import LONGEST, begins_episode, boundaries
from mnemic.ingestion.titles import counted, title

__all__ = ["LONGEST", "begins_episode", "boundaries", "counted", "most_similar", "narrative", "repaired", "title"]
