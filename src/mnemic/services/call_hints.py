"""Calls of a method by the wrong name: errors that name the argument or the method that was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

from mnemic.errors import UnknownArgument

__all__ = ["explained", "explaining", "method_hint"]

C = TypeVar("C", bound=type)

_ARGUMENTS: Mapping[str, str] = {
    "top_k": "k", "n": "k", "n_results": "k", "similarity_top_k": "k", "limit": "k", "max_results": "k", "k": "limit",
    "user_id": "user", "project_id": "project", "session_id": "session", "run_id": "session", "thread_id": "session",
    "filter": "metadata", "filters": "metadata", "threshold": "min_similarity", "score_threshold": "min_similarity",
    "type": "types", "memory_type": "type", "text": "content", "path": "location", "folder": "location",
    "budget": "max_tokens", "token_limit": "max_tokens", "before": "until", "after": "since", "start": "since",
    "end": "until",
}  # fmt: skip
"""What other libraries call an argument, and what it is called here."""

_METHODS: Mapping[str, str] = {
    "delete": "forget(ids=[...])", "remove": "forget(ids=[...])", "delete_all": "erase_user()", "clear": "erase_user()",
    "reset": "erase_user()", "get_all": "list()", "query": "search()", "retrieve": "search()", "recall": "search()",
    "get_context": "get_memory_context()", "context": "get_memory_context()", "save": "remember()", "store": "remember()",
    "put": "remember()", "add_memory": "remember()",
}  # fmt: skip
"""What other libraries call a method, and the call that does it here."""

_PLACES = ("user", "project", "session")


def explained(error: TypeError, method: Callable[..., Any], given: Mapping[str, Any]) -> TypeError:
    """What to raise for a TypeError: one that names the argument that was meant, where the call never reached its method."""
    at = error.__traceback__
    if at is None or at.tb_next is not None:
        return error
    taken = [name for name in inspect.signature(method).parameters if name != "self"]
    unknown = next((name for name in given if name not in taken), None)
    if unknown is None:
        return error
    meant = _ARGUMENTS.get(unknown, unknown)
    if meant not in taken:
        nearest = get_close_matches(unknown, taken, n=1)
        meant = f"scoped({meant}=...)" if meant in _PLACES else nearest[0] if nearest else ""
    hint = f"Did you mean {meant}?" if meant else f"It takes {', '.join(taken)}."
    owner = method.__qualname__.removesuffix(".__init__").rsplit(".", 1)[-1]
    return UnknownArgument(f"{owner}() has no argument {unknown!r}. {hint} Nothing was done.")


def method_hint(face: type, name: str) -> str:
    """What to call instead of a method that a class does not have; empty when nothing is near."""
    public: dict[str, str] = {known: known for known in dir(face) if not known.startswith("_")}
    calls = {**public, **_METHODS}
    near = get_close_matches(name, calls, n=1)
    meant = calls[near[0]] if near else ""
    return f" Did you mean {meant}?" if meant else ""


def explaining(face: C) -> C:
    """A class whose public methods explain an unknown argument."""
    for name, method in list(vars(face).items()):
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(face, name, (_awaited if inspect.iscoroutinefunction(method) else _called)(method))
    return face


def _called(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except TypeError as error:
            raise explained(error, method, kwargs) from error.__cause__

    return called


def _awaited(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return await method(self, *args, **kwargs)
        except TypeError as error:
            raise explained(error, method, kwargs) from error.__cause__

    return called
