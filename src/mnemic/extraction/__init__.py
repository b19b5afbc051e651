"""Episodes to knowledge: statements, the facts in them, what is new, what it replaces, enrichment and links. Pure rules."""

from mnemic.extraction.enriching import Enrichment, enrich
from mnemic.extraction.facts import Fact, facts
from mnemic.extraction.linking import LinkType, Proposed, propose_links
from mnemic.extraction.novelty import Novelty, novelty, similarities
from mnemic.extraction.resolving import Resolution, Resolved, resolve, said_when
from mnemic.extraction.statements import Statement, statements

__all__ = [
    "Enrichment",
    "Fact",
    "LinkType",
    "Novelty",
    "Proposed",
    "Resolution",
    "Resolved",
    "Statement",
    "enrich",
    "facts",
    "novelty",
    "propose_links",
    "resolve",
    "said_when",
    "similarities",
    "statements",
]
