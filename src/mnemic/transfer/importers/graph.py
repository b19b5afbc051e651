"""The knowledge graph of MCP's memory server: entities with observations, and relations between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from mnemic.transfer.importers.fields import Damage, Fields, ParsedMemory, identifier, statement


def memories(item: Fields) -> Iterator[ParsedMemory | Damage]:
    """A memory for each observation of an entity, ``Ana: likes tea``, and one for a relation, ``Ana works at Acme``."""
    if item.word("type") == "relation":
        words = (item.word("from"), item.word("relationType").replace("_", " "), item.word("to"))
        yield _memory(item, " ".join(words), [], {"relation": item.word("relationType")})
        return
    name, kind = item.word("name"), item.text("entityType", needed=False)
    for number, observation in enumerate(item.listed("observations")):
        if isinstance(observation, str):
            yield _memory(item, f"{name}: {observation}", [kind] if kind else [], {"entity": name})
        else:
            field = f"observations[{number}]"
            yield Damage(f"{item.path}.{field}", str(item.fault(field, "must be a string")))


def _memory(item: Fields, text: str, tags: list[str], metadata: dict[str, str]) -> ParsedMemory:
    content = statement(item, "observations", text)
    digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()[:24]
    return ParsedMemory(
        path=item.path, id=identifier("graph", digest), content=content, names={}, tags=tuple(tags), metadata=metadata
    )
