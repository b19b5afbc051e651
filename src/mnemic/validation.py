"""Checks of arguments: numbers, texts, names, times and moods, and the names of the arguments themselves.

An error names the argument and says what it takes; nothing was changed then. The errors of public methods leave without
secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from difflib import get_close_matches
from functools import wraps
from inspect import isfunction, signature, unwrap
from itertools import islice
from math import inf, nan
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Never, TypeVar, cast, get_args

from mnemic.errors import ConfigurationError, InvalidInput, MnemicError, StoreCorrupt, UnknownArgument
from mnemic.protocols import InputKind
from mnemic.secrets.policy import SecretPolicy
from mnemic.services.telemetry import OPERATIONS, traced
from mnemic.text.terms import clean
from mnemic.text.values import aware, check_name, error_excerpt, local, shown, to_json, to_micros
from mnemic.types import Emotion, Kind, MemoryType, Scope, Source
from mnemic.types.literals import CATEGORIES

C = TypeVar("C")

MAX_CONTENT = 1_000_000
"""Characters of a record."""
MAX_KEY = 200
MAX_WORDS = 10_000
"""Most ids, tags or other words of one call."""
MAX_NESTING = 100
"""Levels of metadata; each takes a few stack frames."""


def whole(what: str, value: object, low: int, high: int, *, error: type[MnemicError] = InvalidInput) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise error(f"{what} must be a whole number from {low} to {high}, not {shown(value)}.")
    return value


def option(name: str, value: object, low: int, high: int) -> int:
    """A whole number in a range, among the options of a handle or a model."""
    return whole(name, value, low, high, error=ConfigurationError)


def number(
    what: str,
    value: object,
    low: float = 0,
    high: float = 1,
    *,
    above: bool = False,
    error: type[MnemicError] = InvalidInput,
) -> float:
    """A number in a range, whose lower end is excluded with ``above``."""
    amount = value if isinstance(value, (int, float)) and not isinstance(value, bool) else nan
    if not low <= amount <= high or amount == inf or (above and amount == low):  # NaN fails too
        upper = "" if high == inf else f" to {high:g}"
        limits = f"above {low:g}{upper and f', up{upper}'}" if above else f"from {low:g}{upper}"
        raise error(f"{what} must be a number {limits}, not {shown(value)}.")
    return float(amount)


def seconds(what: str, value: object, *, above: bool = False) -> float:
    """Seconds of an option of a handle, from 0, or above it."""
    return number(f"{what}, in seconds,", value, 0, inf, above=above, error=ConfigurationError)


def limit(value: object) -> int | None:
    """A limit of records; None for all."""
    return None if value is None else whole("limit", value, 0, 2**53)


def text(what: str, value: object, most: int | None = None) -> str:
    """A text, cleaned, of at most so many characters."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}.")
    if most is not None and len(value) > most:
        raise InvalidInput(f"{what} has {len(value):,} characters, more than {most:,}. Split it; nothing was stored.")
    return clean(value)


def name(what: str, value: object) -> str:
    """A name or an id that can be stored, cleaned."""
    cleaned = text(what, value)
    check_name(what, cleaned)
    return cleaned


def optional(what: str, value: object) -> str | None:
    """A name or None."""
    return None if value is None else name(what, value)


def identifier(value: object) -> str:
    """An id, cleaned."""
    return name("An id", value)


def _unaltered(what: str, value: str) -> str:
    """The checked name, unchanged: names that differ in one code point are different names."""
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}.")
    if not value:
        raise InvalidInput(f"{what} must not be empty.")
    check_name(what, value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} holds a lone surrogate, which cannot be stored; names are never altered."
        ) from error
    return value


def scope(user: str, project: str | None = None, session: str | None = None) -> Scope:
    """A checked scope.

    Raises:
        InvalidInput: a name is not a string, is empty, too long or cannot be encoded.
    """
    return Scope(
        user=_unaltered("user", user),
        project=None if project is None else _unaltered("project", project),
        session=None if session is None else _unaltered("session", session),
    )


def key(value: object) -> str | None:
    """The key of a statement or None."""
    cleaned = None if value is None else text("key", value, MAX_KEY)
    if cleaned is not None and not cleaned.strip():
        raise InvalidInput("key must not be empty; leave it out for a statement without one.")
    return cleaned


def words(what: str, values: object) -> tuple[str, ...]:
    """Distinct names or ids; one is a list of one."""
    if isinstance(values, (bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidInput(
            f"{what} must be a string or a list of strings, not {type(cast('object', values)).__name__}."
        )
    items = [values] if isinstance(values, str) else cast("Iterable[object]", values)
    distinct = tuple(dict.fromkeys(name(what, value) for value in islice(items, MAX_WORDS + 1)))
    if len(distinct) > MAX_WORDS:
        raise InvalidInput(f"{what} has more than {MAX_WORDS:,} entries. Split it; nothing was done.")
    return distinct


def words_or_none(what: str, values: object) -> tuple[str, ...] | None:
    """Distinct names or ids, or None."""
    return None if values is None else words(what, values)


def choice(what: str, values: object, allowed: Sequence[str]) -> tuple[str, ...] | None:
    """Known words, or None."""
    chosen = words_or_none(what, values)
    if chosen is not None and (unknown := sorted(set(chosen) - set(allowed))):
        raise InvalidInput(f"{what} must be among {list(allowed)}, not {shown(unknown[0])}.")
    return chosen


def kinds(value: object) -> tuple[Kind, ...]:
    """Kinds of records, at least one."""
    chosen = choice("kinds", value, get_args(Kind))
    if not chosen:
        raise InvalidInput(f"kinds must name at least one of {list(get_args(Kind))}.")
    return cast("tuple[Kind, ...]", chosen)


def one_of(what: str, value: Any, allowed: Sequence[str]) -> Any:
    """A known word."""
    if value not in allowed:
        raise InvalidInput(f"{what} must be one of {list(allowed)}, not {shown(value)}.")
    return value


def source(value: object) -> Source:
    """A known source."""
    return one_of("source", value, get_args(Source))


def memory_type(value: object) -> MemoryType:
    """A known type of memory."""
    return one_of("type", value, get_args(MemoryType))


def category(value: object) -> str | None:
    """A category or None; one that Mnemic gives may be written in another way: ``ArchitectureDecision``, ``preferences``."""
    cleaned = optional("category", value)
    word = re.sub(r"[\s_-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cleaned or "")).lower()
    return next((known for known in CATEGORIES if word in (known, f"{known}s", f"{known}es")), cleaned)


def json_object(what: str, value: object) -> dict[str, Any]:
    """A metadata object with storable text; it must be plain JSON."""
    if value is None:
        return {}
    items = cast("Mapping[object, object]", value if isinstance(value, Mapping) else {0: value})
    if not all(isinstance(key, str) for key in items):
        raise InvalidInput(
            f"{what} must be a mapping from strings to JSON values, not {shown(cast('object', value), 60)}."
        )
    try:
        cleaned = {clean(str(key)): _json_value(item, 1) for key, item in items.items()}
    except RecursionError as error:
        raise InvalidInput(
            f"{what} is nested deeper than {MAX_NESTING} levels, or within itself. Store a flatter value."
        ) from error
    to_json(cleaned)
    return cleaned


def _json_value(value: object, depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if depth > MAX_NESTING:
        raise RecursionError
    if isinstance(value, Mapping):
        return {clean(str(k)): _json_value(v, depth + 1) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item, depth + 1) for item in cast("Sequence[object]", value)]
    return value


def moment(what: str, value: object, zone: tzinfo) -> datetime | None:
    """A time with its zone, or None. One in UTC is told in the given zone: its day is the day there."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {type(value).__name__} ({shown(value)}).")
    to_micros(value, zone)
    moment = aware(value, zone)
    return moment if moment.utcoffset() else local(moment, zone)


def micros(what: str, value: object, zone: tzinfo) -> int | None:
    """A time in microseconds since 1970 UTC, or None."""
    aware_value = moment(what, value, zone)
    return None if aware_value is None else to_micros(aware_value)


def callback(what: str, value: C) -> C:
    """A function to call, or None."""
    if value is not None and not callable(value):
        raise InvalidInput(f"{what} must be a function or None, not {shown(value)}. Nothing was done.")
    return value


def emotion(what: str, value: object) -> Emotion:
    """A mood on the plane of valence and arousal."""
    if not isinstance(value, Emotion):
        raise InvalidInput(f"{what} must be an Emotion(valence=..., arousal=...), not {shown(value)}.")
    for part, low in (("valence", -1), ("arousal", -1), ("confidence", 0)):
        number(f"{what}.{part}", getattr(value, part), low)
    return value


def description(values: Mapping[str, object]) -> dict[str, Any]:
    """The checked fields of ``Description``; None empties one.

    Raises:
        InvalidInput: a value is not valid.
    """
    checked: dict[str, Any] = {}
    for field, value in values.items():
        match field:
            case "summary" | "context":
                checked[field] = None if value is None else text(field, value, MAX_CONTENT)
            case "confidence":
                checked[field] = 1.0 if value is None else number(field, value)
            case "emotion":
                checked[field] = None if value is None else emotion(field, value)
            case _:
                checked[field] = () if value is None else words(field, value)
    return checked


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
    "end_session": "sessions.end()", "link": "links.add()", "unlink": "links.remove()", "trust": "admin.quarantine()",
}  # fmt: skip
"""Method names of other libraries, and our equivalent."""

_PLACES = ("user", "project", "session")


def explain(error: TypeError, method: Callable[..., Any], arguments: Mapping[str, Any]) -> TypeError:
    """The error to raise for a TypeError: an UnknownArgument with a suggestion, if the call did not reach the method."""
    body = unwrap(method).__code__
    if error.__traceback__ is None or any(frame.f_code is body for frame, _ in walk_tb(error.__traceback__)):
        return error
    taken = _named(method)
    unknown = next((name for name in arguments if name not in taken), None)
    return error if unknown is None else _unknown_argument(method, unknown, taken)


def check_names(method: Callable[..., Any], arguments: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse arguments that a method takes as ``**given`` and does not know.

    Raises:
        UnknownArgument: one is unknown; with the one that was probably meant.
    """
    if unknown := next((name for name in arguments if name not in known), None):
        raise _unknown_argument(method, unknown, [*_named(method), *sorted(known)])


def _named(method: Callable[..., Any]) -> list[str]:
    parameters = signature(method).parameters
    return [name for name, p in parameters.items() if name != "self" and p.kind is not p.VAR_KEYWORD]


def _unknown_argument(method: Callable[..., Any], unknown: str, taken: Sequence[str]) -> UnknownArgument:
    """The error for an unknown argument of a method that takes others."""
    ours = _ARGUMENTS.get(unknown, unknown).split() or [unknown]
    suggestion = next((name for name in ours if name in taken), ours[0])
    if suggestion not in taken:
        nearest = get_close_matches(unknown, taken, n=1)
        suggestion = f"scoped({suggestion}=...)" if suggestion in _PLACES else nearest[0] if nearest else ""
    hint = f"Did you mean {suggestion}?" if suggestion else f"It takes {', '.join(taken)}."
    owner = method.__qualname__.removesuffix(".__init__").rsplit(".", 1)[-1]
    return UnknownArgument(f"{owner}() has no argument {unknown!r}. {hint} Nothing was done.")


_ALIKE = 0.75
"""How like a name must be to one of ours to be taken for it."""


def _calls(handle: object) -> dict[str, str]:
    """How the methods of a handle and of its parts are called, by their names."""
    parts = ("links", "sessions", "admin")
    owners: dict[str, Any] = {**{f"{part}.": type(getattr(handle, part, None)) for part in parts}, "": type(handle)}
    return {
        name: f"{prefix}{name}{'()' * callable(getattr(owner, name))}"
        for prefix, owner in owners.items()
        for name in dir(owner)
        if not name.startswith("_")
    }


class MethodHints:
    """A class whose error for an unknown attribute suggests a similar one."""

    if not TYPE_CHECKING:  # a type checker is to find a wrong name by itself

        def __getattr__(self, name: str) -> Never:
            calls = {} if name.startswith("_") else _calls(self)
            near = get_close_matches(name, calls, n=1, cutoff=_ALIKE)
            meant = _METHODS.get(name) or (calls[near[0]] if near else "")
            hint = f" Did you mean {meant}?" if meant else ""
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.{hint}", name=name, obj=self)


def with_call_hints(method: M) -> M:
    """Method decorator: an unknown argument raises UnknownArgument with a suggestion."""

    @wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except TypeError as error:
            raise explain(error, method, kwargs) from error.__cause__

    return cast("M", called)


F = TypeVar("F", bound=type)

_DECODING = ("mnemic.stores.", "mnemic.vectors", "mnemic.text.")
"""Where the values of a row are decoded."""
_SPECIAL = frozenset({"__init__", "__getitem__", "__setitem__", "__delitem__"})
_DEFAULT = SecretPolicy()


def redact_errors(face: F) -> F:
    """Class decorator: redact the errors of public methods, which may quote arguments and end in logs; trace operations."""
    for name, method in list(vars(face).items()):
        if isfunction(method) and not (name.startswith("_") and name not in _SPECIAL):
            setattr(face, name, _wrap_method(method))
    return face


def _wrap_method(method: Callable[..., Any]) -> Callable[..., Any]:
    name = method.__qualname__
    operation = traced(OPERATIONS[name], name)(method) if name in OPERATIONS else method

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return operation(self, *args, **kwargs)
        except (MnemicError, KeyError) as error:
            runtime = getattr(self, "_runtime", None)
            _redact_error(error, _DEFAULT if runtime is None else runtime.secrets)
            raise
        except (TypeError, ValueError, AttributeError) as error:
            if isinstance(error, TypeError) and (better := explain(error, method, kwargs)) is not error:
                raise better from None
            if _is_damage(error):
                raise StoreCorrupt(
                    f"A row of the record cannot be read ({type(error).__name__}): the file may be damaged. "
                    "Run mnemic doctor --deep, or restore a backup."
                ) from error
            raise

    return call


def _is_damage(error: Exception) -> bool:
    """Whether a stored value could not be decoded."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    modules = [name for name in frames if name.startswith("mnemic.")]
    return any(name.startswith("mnemic.stores.") for name in modules) and modules[-1].startswith(_DECODING)


def _redact_error(error: BaseException, policy: SecretPolicy) -> None:
    """Redact an error and its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        cause.args = tuple(
            error_excerpt(policy.redacted(arg)[0]) if isinstance(arg, str) else arg for arg in cause.args
        )
        cause = cause.__cause__ or cause.__context__


# Texts to embed

MAX_CHARACTERS = 20_000
"""Texts are cut to this length before tokenization: models read a few hundred to a few thousand tokens."""


def prepared(texts: Sequence[str], kind: InputKind, max_characters: int | None = MAX_CHARACTERS) -> list[str]:
    """Texts that every tokenizer accepts.

    Each is cut to its first `max_characters` characters (None cuts nothing); NUL is dropped; the two halves of a split
    surrogate pair are joined, and a lone half becomes U+FFFD.

    Raises:
        InvalidInput: `texts` is a single string or contains other values than strings, or `kind` is unknown.
    """
    if kind not in get_args(InputKind):
        raise InvalidInput(f"kind={kind!r} is not known. Use 'document' for texts to store, 'query' for questions.")
    if isinstance(texts, (str, bytes)):
        raise InvalidInput("embed takes a sequence of texts, but got a single one. Put it into a list: [text].")
    return [_clean(text, max_characters) for text in texts]


def _clean(text: object, max_characters: int | None) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"Only strings can be embedded, not {type(text).__name__}. Turn the value into text first.")
    text = text[:max_characters].replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
