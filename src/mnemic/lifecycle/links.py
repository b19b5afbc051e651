"""Manual links between memories, and the graph around one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from mnemic.errors import InvalidInput
from mnemic.recall import validation
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted
from mnemic.text.clock import now
from mnemic.text.display import shown
from mnemic.types import DropLink, Graph, Link, LinkType, PutLink, Receipt, Scope, Supersede

__all__ = ["graph", "link", "unlink"]

MOST = 500
"""Most memories of one graph."""
MAX_REASON = 1_000


def _type(value: object) -> LinkType:
    if value not in get_args(LinkType):
        raise InvalidInput(f"The type of a link must be one of {list(get_args(LinkType))}, not {shown(value)}.")
    return cast("LinkType", value)


def link(
    runtime: Runtime, scope: Scope, source: object, target: object, type: object, strength: object, reason: object
) -> Receipt:
    """Link two memories; ``supersedes`` expires the target."""
    if isinstance(strength, bool) or not isinstance(strength, (int, float)) or not 0 <= strength <= 1:
        raise InvalidInput(f"strength must be a number from 0 to 1, not {shown(strength)}.")
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        raise InvalidInput(f"reason must be a string of at most {MAX_REASON} characters.")
    edge = Link(
        source=validation.identifier(source), target=validation.identifier(target), type=_type(type), strength=float(strength),
        reason=validation.identifier(reason),
    )  # fmt: skip
    put = PutLink(link=edge)
    if edge.type != "supersedes":
        return runtime.store.apply(scope.user, [put])[0]
    trusts = [runtime.store.get(scope.user, id_).value.trust for id_ in (edge.source, edge.target)]
    if is_trusted(trusts[1]) and not is_trusted(trusts[0]):
        why = "untrusted memories cannot supersede trusted ones: remember it from a trusted source"
        return Receipt(id=edge.source, outcome="rejected", reason=why)
    if _has_superseded(runtime, scope, edge.target, edge.source):
        why = f"{edge.target!r} superseded it: unlink({edge.target!r}, {edge.source!r}) and restore it first"
        return Receipt(id=edge.source, outcome="rejected", reason=why)
    ended = Supersede(id=edge.target, by=edge.source, at=now(), reason=edge.reason)
    return runtime.store.apply(scope.user, [put, ended])[0]


def _has_superseded(runtime: Runtime, scope: Scope, new: str, old: str) -> bool:
    """Whether a memory superseded another, directly or through others."""
    seen, open_ = {new}, [new]
    while open_ and old not in seen:
        earlier = runtime.store.relations.predecessors(scope.user, open_)
        open_ = [record.id for records in earlier.values() for record in records if record.id not in seen]
        seen.update(open_)
    return new != old and old in seen


def unlink(runtime: Runtime, scope: Scope, source: object, target: object, type: object) -> Receipt:
    """Remove links from one memory to another."""
    kind = None if type is None else _type(type)
    drop = DropLink(source=validation.identifier(source), target=validation.identifier(target), type=kind)
    return runtime.store.apply(scope.user, [drop])[0]


def graph(runtime: Runtime, scope: Scope, id: str, depth: object, types: Sequence[object] | None) -> Graph:
    """The memories around one."""
    if isinstance(types, str) or (types is not None and not isinstance(types, Sequence)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"types must be a list of {list(get_args(LinkType))}.")
    chosen: Sequence[LinkType] = get_args(LinkType) if types is None else [_type(value) for value in types]
    steps = validation.whole("depth", depth, 0, validation.MAX_DEPTH)
    return runtime.store.relations.graph(scope.user, id, depth=steps, types=chosen, most=MOST)
