"""The knowledge graph of MCP's memory server: entities with observations, and relations between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import cast

from mnemic.transfer.importers.fields import Fields, Found, identifier, statement


def memories(item: Fields) -> Iterator[Found]:
    """A memory for each observation of an entity, ``Ana: likes tea``, and one for a relation, ``Ana works at Acme``."""
    if item.word("type") == "relation":
        words = (item.word("from"), item.word("relationType").replace("_", " "), item.word("to"))
        yield _found(item, " ".join(words), [], {"relation": item.word("relationType")})
        return
    name, kind = item.word("name"), item.text("entityType", needed=False)
    observations = item.values.get("observations")
    if not isinstance(observations, list):
        raise item.fault("observations", "must be a list of strings")
    for observation in cast("list[object]", observations):
        if not isinstance(observation, str):
            raise item.fault("observations", "must be a list of strings")
        yield _found(item, f"{name}: {observation}", [kind] if kind else [], {"entity": name})


def _found(item: Fields, text: str, tags: list[str], metadata: dict[str, str]) -> Found:
    content = statement(item, "observations", text)
    digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()[:24]
    return Found(
        place=item.place, id=identifier("graph", digest), content=content, names={}, tags=tuple(tags), metadata=metadata
    )
