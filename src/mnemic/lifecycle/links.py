"""Links between memories, and the graph around one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import get_args

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.lifecycle.revision import update_derived, update_superseded
from mnemic.recall import query as queries
from mnemic.runtime.runtime import Runtime
from mnemic.text.values import now
from mnemic.types import DropLink, Graph, Link, LinkType, PutLink, Receipt, Scope, Supersede
from mnemic.types.records import is_trusted
from mnemic.validation import redact_errors

MOST = 500
"""Most memories of one graph."""
MAX_REASON = 1_000


@redact_errors
class Links:
    """The links between the memories of a handle's user: ``memory.links``."""

    def __init__(self, runtime: Runtime, scope: Scope, zone: tzinfo) -> None:
        self._runtime, self._scope, self._zone = runtime, scope, zone

    def add(self, source: str, target: str, type: LinkType, *, strength: float = 1.0, reason: str = "") -> Receipt:
        """Link one memory to another; repeating a link updates its strength and reason.

        A link of the type ``supersedes`` also expires the target: it is no longer
        believed.

        Args:
            source: id of the memory the link starts from.
            target: id of the memory it points to.
            type: ``extends``, ``contradicts``, ``implements``, ``references`` or ``supersedes``.
            strength: 0 to 1.
            reason: why, in a few words.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: one of them is not a memory, both are the same, or a value is not valid.
        """
        store, user = self._runtime.store, self._scope.user
        edge = Link(
            source=validation.identifier(source), target=validation.identifier(target), type=_type(type),
            strength=validation.number("strength", strength), reason=validation.text("reason", reason, MAX_REASON),
        )  # fmt: skip
        put_link = PutLink(link=edge)
        if edge.type != "supersedes":
            return store.apply(user, [put_link])[0]
        trusts = [store.get(user, id_).value.trust for id_ in (edge.source, edge.target)]
        if is_trusted(trusts[1]) and not is_trusted(trusts[0]):
            why = "untrusted memories cannot supersede trusted ones: remember it from a trusted source"
            return Receipt(id=edge.source, outcome="rejected", reason=why)
        if self._has_superseded(edge.target, edge.source):
            why = f"{edge.target!r} superseded it: links.remove({edge.target!r}, {edge.source!r}) and restore it first"
            return Receipt(id=edge.source, outcome="rejected", reason=why)
        supersede = Supersede(id=edge.target, by=edge.source, at=now(), reason=edge.reason)
        receipt = store.apply(user, [put_link, supersede])[0]
        update_superseded(self._runtime, self._scope, edge.source, self._zone)
        return receipt

    def _has_superseded(self, new: str, old: str) -> bool:
        """Whether a memory superseded another, directly or through others."""
        seen, open_ = {new}, [new]
        while open_ and old not in seen:
            earlier = self._runtime.store.relations.predecessors(self._scope.user, open_)
            open_ = [record.id for records in earlier.values() for record in records if record.id not in seen]
            seen.update(open_)
        return new != old and old in seen

    def remove(self, source: str, target: str, type: LinkType | None = None) -> Receipt:
        """Remove the links from one memory to another, of one type or of all types.

        If there was no such link, the outcome is ``duplicate``.

        Raises:
            NotFound: one of the memories does not exist.
        """
        kind = None if type is None else _type(type)
        drop = DropLink(source=validation.identifier(source), target=validation.identifier(target), type=kind)
        receipt = self._runtime.store.apply(self._scope.user, [drop])[0]
        update_derived(self._runtime, self._scope, [drop.target], self._zone)
        return receipt

    def graph(self, id: str, *, depth: int = 2, types: Sequence[LinkType] | None = None) -> Graph:
        """The memories within ``depth`` links of one, at most 500, and the links among them.

        Args:
            id: the memory to start from.
            depth: links to follow, 0 to 10, in either direction.
            types: only links of these types.

        Raises:
            NotFound: no such memory.
        """
        if isinstance(types, str) or (types is not None and not isinstance(types, Sequence)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"types must be a list of {list(get_args(LinkType))}.")
        chosen: Sequence[LinkType] = get_args(LinkType) if types is None else [_type(value) for value in types]
        steps = validation.whole("depth", depth, 0, queries.MAX_DEPTH)
        start = validation.identifier(id)
        return self._runtime.store.relations.graph(self._scope.user, start, depth=steps, types=chosen, most=MOST)


def _type(value: object) -> LinkType:
    return validation.one_of("The type of a link", value, get_args(LinkType))
