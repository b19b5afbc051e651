"""Namespaces and filters of a LangGraph store. Pure: values in, values out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import InvalidNamespaceError, MatchCondition

from mnemic import InvalidInput

__all__ = ["checked_filter", "fits", "namespace_of", "passes", "path_of", "span"]

Namespace = tuple[str, ...]

_KEY = re.compile(r"[\w .-]+")
_ORDERS = ("$gt", "$gte", "$lt", "$lte")
_OPERATORS = ("$eq", "$ne", *_ORDERS)


def path_of(namespace: Iterable[object]) -> str:
    """A namespace as text: every label with a dot behind it, so that no label is the beginning of another.

    Raises:
        InvalidNamespaceError: a label is no string, is empty, or holds a dot or a NUL byte.
    """
    if not isinstance(namespace, (tuple, list)):
        raise InvalidNamespaceError(f"A namespace is a tuple of labels, not {namespace!r:.60}.")
    labels = (*namespace,)
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\x00" in label or not _is_text(label):
            raise InvalidNamespaceError(
                f"Invalid namespace label {label!r:.60} in {labels!r:.200}: a label is a string of valid characters, not "
                "empty, without '.' and NUL."
            )
    return "".join(f"{label}." for label in labels)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def namespace_of(path: str) -> Namespace:
    """The namespace of a path."""
    return tuple(path.split(".")[:-1])


def span(path: str) -> tuple[str, str]:
    """The first path of a namespace and those beneath it, and the first one behind them."""
    return (path, f"{path[:-1]}/") if path else ("", "\U0010ffff")  # "/" follows "." in every encoding of Unicode


def fits(namespace: Namespace, conditions: Sequence[MatchCondition]) -> bool:
    """Whether a namespace meets every condition; ``*`` stands for one label.

    Raises:
        InvalidInput: a condition is neither about the beginning nor about the end.
    """
    return all(_fits(namespace, condition) for condition in conditions)


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f'match_type must be "prefix" or "suffix", not {condition.match_type!r:.40}.')
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def checked_filter(given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A filter whose keys and operators are known.

    Raises:
        InvalidInput: they are not; nothing is searched then, because a filter that is not understood protects nothing.
    """
    if given is not None and not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"A filter is a mapping of keys to values, not {given!r:.40}.")
    for key, wanted in (given or {}).items():
        if not isinstance(key, str) or not _KEY.fullmatch(key):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(
                f"Invalid filter key {key!r:.80}: a key is made of letters, digits, spaces and '_', '-', '.'."
            )
        _check_operators(wanted)
    return given or {}


def _check_operators(wanted: object) -> None:
    if not isinstance(wanted, Mapping):
        return
    names = [str(name) for name in cast("Mapping[object, object]", wanted)]
    if any(name.startswith("$") for name in names) and (unknown := sorted({*names} - {*_OPERATORS})):
        raise InvalidInput(f"Unsupported operator {unknown} in a filter; these are known: {[*_OPERATORS]}.")
    for value in cast("Mapping[object, object]", wanted).values():
        _check_operators(value)


def passes(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an item's value meets a filter, as LangGraph's stores read one.

    Args:
        value: the item's value.
        wanted: for each key the value it must have, or a mapping of operators; mappings inside mappings are compared by
            the keys they name. A key with dots that the value does not have leads into it.
    """
    return all(_equal(_at(value, key), expected) for key, expected in wanted.items())


def _at(value: Mapping[str, Any], key: str) -> object:
    if key in value or "." not in key:
        return value.get(key)
    found: object = value
    for part in key.split("."):
        if not isinstance(found, Mapping):
            return None
        found = cast("Mapping[str, object]", found).get(part)
    return found


def _equal(value: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        named = cast("Mapping[str, object]", wanted)
        if any(name.startswith("$") for name in named):
            return all(_holds(value, operator, other) for operator, other in named.items())
        if not isinstance(value, Mapping):
            return False
        held = cast("Mapping[str, object]", value)
        return all(_equal(held.get(name), other) for name, other in named.items())
    if isinstance(wanted, (list, tuple)):
        left, right = value, cast("Sequence[object]", wanted)
        if not isinstance(left, (list, tuple)):
            return False
        items = cast("Sequence[object]", left)
        return len(items) == len(right) and all(map(_equal, items, right))
    return _same(value, wanted)


def _same(value: object, wanted: object) -> bool:
    """Equality as JSON has it: true is not 1."""
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def _holds(value: object, operator: str, wanted: object) -> bool:
    if operator == "$eq":
        return _equal(value, wanted)
    if operator == "$ne":
        return not _equal(value, wanted)
    left, right = _ordered(value, wanted)
    if left is None or right is None:
        return False
    return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator]


def _ordered(value: object, wanted: object) -> tuple[Any, Any]:
    """Two values that can be ordered: both as numbers if both can be, else both as text; else (None, None)."""
    try:
        return _number(value), _number(wanted)
    except (TypeError, ValueError, OverflowError):
        both = isinstance(value, str) and isinstance(wanted, str)
        return (value, wanted) if both else (None, None)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(value)
    return float(value)
