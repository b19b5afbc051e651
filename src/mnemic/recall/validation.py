"""Validation of query arguments and filters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, cast, get_args

from mnemic.errors import InvalidInput
from mnemic.ingest import fields
from mnemic.recall import Recipe, recipe_named
from mnemic.safety.trust import UNTRUSTED_SHARE
from mnemic.text.clock import now as present
from mnemic.text.clock import to_micros
from mnemic.text.terms import clean
from mnemic.text.values import shown
from mnemic.types import Emotion, Evidence, Kind, MemoryType, Query, Reach, RecordFilter, Scope, Status
from mnemic.types.literals import AGENT, CATEGORIES, SESSION_SUMMARY

MAX_QUERY = 100_000
MAX_TOKENS = 10_000_000
"""The largest budget of a context."""
MAX_DEPTH = 10
"""Most links in a path."""


def whole(what: str, value: object, low: int, high: int) -> int:
    """A whole number in a range.

    Raises:
        InvalidInput: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(f"{what} must be a whole number from {low} to {high}, not {shown(value)}.")
    return value


def most(limit: object) -> int | None:
    """A limit of records; None for all.

    Raises:
        InvalidInput: it is no number from 0.
    """
    return None if limit is None else whole("limit", limit, 0, 2**53)


def identifier(value: object) -> str:
    """An id, cleaned.

    Raises:
        InvalidInput: it is not a string, or longer than an id can be.
    """
    return fields.name("An id", value)


def string(what: str, value: object) -> str:
    """A text, cleaned.

    Raises:
        InvalidInput: it is not a string.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}.")
    return clean(value)


def kinds(value: object) -> tuple[Kind, ...]:
    """Kinds of records, at least one.

    Raises:
        InvalidInput: one is unknown, or there are none.
    """
    found = _choice("kinds", value, get_args(Kind))
    if not found:
        raise InvalidInput(f"kinds must name at least one of {list(get_args(Kind))}.")
    return cast("tuple[Kind, ...]", found)


def _choice(what: str, values: object, allowed: Sequence[str]) -> tuple[str, ...] | None:
    """A tuple of known words."""
    found = _words(what, values)
    if found is not None and (unknown := sorted(set(found) - set(allowed))):
        raise InvalidInput(f"{what} must be among {list(allowed)}, not {shown(unknown[0])}.")
    return found


def _words(what: str, values: object) -> tuple[str, ...] | None:
    return None if values is None else fields.words(what, values)


def _turns(values: object) -> tuple[str, ...]:
    """The last turns before a query."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidInput(f"recent must be a list of strings, not {type(cast('object', values)).__name__}.")
    return tuple(string("Each of recent", turn) for turn in cast("Iterable[object]", values))


def _micros(what: str, value: object, zone: tzinfo) -> int | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {type(value).__name__} ({shown(value)}).")
    return to_micros(value, zone)


def _number(what: str, value: object, low: int = 0) -> float:
    """A number from 0, or another lowest one, to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= 1:  # NaN fails too
        raise InvalidInput(f"{what} must be a number from {low} to 1, not {shown(value)}.")
    return float(value)


def _share_or_none(what: str, value: object) -> float | None:
    return None if value is None else _number(what, value)


def _mood(value: object) -> Emotion | str | None:
    """A mood, asked for now where it is given as a function."""
    if callable(value):
        value = value()
    if isinstance(value, str) and value.strip():
        return string("mood", value)
    if value is not None and not isinstance(value, Emotion):
        raise InvalidInput(
            'mood must be an Emotion(valence=..., arousal=...), words that show one, "session", or a function that gives '
            f"one of these, not {shown(value)}."
        )
    return None if value is None else fields.emotion("mood", value)


def _word(what: str, value: object) -> str | None:
    return None if value is None else fields.name(what, value)


def _stored_value(value: object) -> object:
    """A metadata value as it is stored."""
    return clean(value) if isinstance(value, str) else value


def categories(value: object, held: Callable[[], Collection[str]]) -> tuple[str, ...] | None:
    """The categories to filter by.

    Args:
        value: one category, or several.
        held: gives the categories of the user's memories; called only if one is none of Mnemic's.

    Raises:
        InvalidInput: no memory has one of them.
    """
    found = tuple(filter(None, map(fields.category, _words("category", value) or ())))
    others = [word for word in found if word not in (*CATEGORIES, SESSION_SUMMARY)]
    if others and (missing := sorted({*others} - {*(known := held())})):
        names = ", ".join(sorted({*CATEGORIES, *known}))
        raise InvalidInput(f"No memory has the category {shown(missing[0])}; known are {names}.")
    return None if value is None else found


def filters_of(scope: Scope, zone: tzinfo, given: Mapping[str, Any], *, kinds: Sequence[Kind]) -> RecordFilter:
    """Checked filters; the user is not among them, because no argument can change it.

    Args:
        scope: of the handle.
        zone: of naive times.
        given: the fields of ``SearchFilters``.
        kinds: of the records to read, unless ``given`` names some.

    Raises:
        InvalidInput: a value is of the wrong type or not a known word.
    """
    reach = given.get("reach", "project+global")
    if reach not in get_args(Reach):
        raise InvalidInput(f"reach must be one of {list(get_args(Reach))}, not {shown(reach)}.")
    for needed, name in (("session", scope.session), ("project", scope.project)):
        if reach == needed and name is None:
            raise InvalidInput(f"reach={reach!r} needs a handle with a {needed}: memory.scoped({needed}=...).")
    metadata = given.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(metadata).__name__}.")
    wanted = {clean(str(key)): _stored_value(v) for key, v in cast("Mapping[object, object]", metadata or {}).items()}
    wanted |= {AGENT: agent} if (agent := _word("agent", given.get("agent"))) is not None else {}
    return RecordFilter(
        kinds=cast("tuple[Kind, ...]", _choice("kinds", given.get("kinds", kinds), get_args(Kind)) or ()),
        reach=reach,
        project=scope.project,
        session=scope.session,
        in_session=_word("session", given.get("session")),
        types=_choice("types", given.get("types"), get_args(MemoryType)),
        category=_words("category", given.get("category")),
        tags=_words("tags", given.get("tags")),
        metadata=wanted or None,
        status=_choice("status", given.get("status"), get_args(Status)),
        role=_word("role", given.get("role")),
        speaker=_word("speaker", given.get("speaker")),
        exclude=_words("exclude", given.get("exclude")) or (),
        expired=bool(given.get("include_expired")),
        since=_micros("since", given.get("since"), zone),
        until=_micros("until", given.get("until"), zone),
        at=_micros("at", given.get("at"), zone),
        known_at=_micros("known_at", given.get("known_at"), zone),
        min_trust=_share_or_none("min_trust", given.get("min_trust")),
        min_importance=_share_or_none("min_importance", given.get("min_importance")),
    )


def query(
    text: object,
    *,
    k: object,
    scope: Scope,
    zone: tzinfo,
    filters: Mapping[str, Any],
    recipe: str | Recipe,
    now: datetime | None = None,
    min_evidence: Evidence = "none",
    expand_links: object = 0,
    expand_query: bool = False,
    recent: object = (),
    mood: object = None,
    emotion_weight: object = 0.3,
    relevance_limits: tuple[float, float] = (0.0, 0.0),
) -> Query:
    """A checked query.

    ``filters`` are those of ``SearchFilters``; without a ``min_relevance`` among them, ``relevance_limits`` are those of
    each hit and of the best one.

    Raises:
        InvalidInput: the text is not a string or too long, k is not a positive number, the recipe is unknown, a filter
            cannot be used.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"The query must be a string, not {type(text).__name__}.")
    if len(text) > MAX_QUERY:
        raise InvalidInput(f"The query has {len(text):,} characters, more than {MAX_QUERY:,}. Shorten it.")
    if min_evidence not in get_args(Evidence):
        raise InvalidInput(f"min_evidence must be one of {list(get_args(Evidence))}, not {shown(min_evidence)}.")
    if "quarantined" in (_words("status", filters.get("status")) or ()):
        raise InvalidInput('Quarantined records are listed, not searched: list(status=["quarantined"]).')
    given = filters.get("min_relevance")
    least, best = relevance_limits if given is None else (_number("min_relevance", given), 0.0)
    moment, lowest = _micros("now", now, zone), filters.get("min_similarity")
    return Query(
        text=text,
        k=whole("k", k, 1, 10_000),
        filters=filters_of(scope, zone, filters, kinds=("message", "memory")),
        recipe=recipe_named(recipe),
        now=to_micros(present()) if moment is None else moment,
        zone=zone,
        min_evidence=min_evidence,
        expand_query=bool(expand_query),
        recent=() if recent is None else _turns(recent),
        mood=_mood(mood),
        emotion_weight=_number("emotion_weight", emotion_weight),
        untrusted_share=_number("untrusted_share", filters.get("untrusted_share", UNTRUSTED_SHARE)),
        expand_links=whole("expand_links", expand_links, 0, MAX_DEPTH),
        min_relevance=least,
        min_best=best,
        min_similarity=None if lowest is None else _number("min_similarity", lowest, -1),
    )
