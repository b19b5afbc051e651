"""Errors for the arguments of calls: a number out of its range, and a name that does not exist, with the one that was meant."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeGuard, TypeVar, cast

from mnemic.errors import ConfigurationError, UnknownArgument


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return `value` if it is an integer from `low` to `high`; else raise a ConfigurationError that names the argument."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigurationError(f"{name}={value!r} is not a whole number from {low} to {high}.")
    return value


def positive(name: str, value: object) -> float:
    """Return `value` in seconds if it is finite and above 0; else raise a ConfigurationError that names the argument."""
    if not _finite(value) or not value > 0:
        raise ConfigurationError(f"{name}={value!r} is not a number of seconds above 0.")
    return float(value)


def seconds(name: str, value: object) -> float:
    """Return `value` in seconds if it is finite and at least 0; else raise a ConfigurationError that names the argument."""
    if not _finite(value) or not value >= 0:
        raise ConfigurationError(f"{name}={value!r} is not a number of seconds from 0.")
    return float(value)


def _finite(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


M = TypeVar("M", bound="Callable[..., Any]")

_COUNT = "k limit max_tokens"
_ARGUMENTS: Mapping[str, str] = {
    **dict.fromkeys(("k", "top_k", "n", "n_results", "num_results", "similarity_top_k", "limit", "max_results"), _COUNT),
    "user_id": "user", "project_id": "project", "session_id": "session", "run_id": "session", "thread_id": "session",
    "agent_id": "agent",
    "filter": "metadata", "filters": "metadata", "threshold": "min_relevance", "score_threshold": "min_relevance",
    "type": "types", "memory_type": "type", "text": "content", "path": "location", "folder": "location",
    "budget": "max_tokens", "token_limit": "max_tokens", "before": "until", "after": "since", "start": "since",
    "end": "until",
}  # fmt: skip
"""Argument names of other libraries, and ours, of which a method takes the first it has."""

_METHODS: Mapping[str, str] = {
    "delete": "forget(ids=[...])", "remove": "forget(ids=[...])", "delete_all": "admin.erase_user()",
    "clear": "admin.erase_user()", "reset": "admin.erase_user()", "get_all": "list()", "query": "search()",
    "retrieve": "search()", "recall": "search()", "get_context": "get_memory_context()",
    "context": "get_memory_context()", "save": "remember()", "store": "remember()", "put": "remember()",
    "add_memory": "remember()", "add_message": "add()", "add_messages": "add()", "session": "sessions.current()",
    "end_session": "sessions.end()", "link": "links.add()", "unlink": "links.remove()", "graph": "links.graph()",
    "trust": "admin.quarantine()", "quarantine": "admin.quarantine()", "verify": "admin.verify()",
    "flush": "admin.flush()", "log": "admin.log()",
    "backup": "admin.backup()", "export": "admin.export()", "reembed": "admin.reembed()", "erase_user": "admin.erase_user()",
    "emotion": "admin.emotion()", "location": "admin.location",
}  # fmt: skip
"""Method names of other libraries, and our equivalent."""

_PLACES = ("user", "project", "session")


def explain(error: TypeError, method: Callable[..., Any], given: Mapping[str, Any]) -> TypeError:
    """The error to raise for a TypeError: an UnknownArgument with a suggestion, if the call did not reach the method."""
    at = error.__traceback__
    if at is None or at.tb_next is not None:
        return error
    taken = _named(method)
    unknown = next((name for name in given if name not in taken), None)
    return error if unknown is None else _unknown_argument(method, unknown, taken)


def check_names(method: Callable[..., Any], given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse arguments that a method takes as ``**given`` and does not know.

    Raises:
        UnknownArgument: one is unknown; with the one that was probably meant.
    """
    if unknown := next((name for name in given if name not in known), None):
        raise _unknown_argument(method, unknown, [*_named(method), *sorted(known)])


def _named(method: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(method).parameters
    return [name for name, one in parameters.items() if name != "self" and one.kind is not one.VAR_KEYWORD]


def _unknown_argument(method: Callable[..., Any], unknown: str, taken: Sequence[str]) -> UnknownArgument:
    """The error for an unknown argument of a method that takes others."""
    ours = _ARGUMENTS.get(unknown, unknown).split() or [unknown]
    meant = next((name for name in ours if name in taken), ours[0])
    if meant not in taken:
        nearest = get_close_matches(unknown, taken, n=1)
        meant = f"scoped({meant}=...)" if meant in _PLACES else nearest[0] if nearest else ""
    hint = f"Did you mean {meant}?" if meant else f"It takes {', '.join(taken)}."
    owner = method.__qualname__.removesuffix(".__init__").rsplit(".", 1)[-1]
    return UnknownArgument(f"{owner}() has no argument {unknown!r}. {hint} Nothing was done.")


def method_hint(face: type, name: str) -> str:
    """A suggestion for an unknown attribute of a class; empty if no name is similar."""
    public: dict[str, str] = {known: known for known in dir(face) if not known.startswith("_")}
    calls = {**public, **_METHODS}
    near = get_close_matches(name, calls, n=1)
    meant = calls[near[0]] if near else ""
    return f" Did you mean {meant}?" if meant else ""


def with_call_hints(method: M) -> M:
    """Method decorator: an unknown argument raises UnknownArgument with a suggestion."""

    @wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except TypeError as error:
            raise explain(error, method, kwargs) from error.__cause__

    return cast("M", called)
