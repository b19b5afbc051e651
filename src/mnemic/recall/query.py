"""The checked values of a query and of filters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, cast, get_args

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.recall.recipes import Recipe, recipe_named
from mnemic.text.terms import clean
from mnemic.text.values import now as present
from mnemic.text.values import shown, to_micros
from mnemic.types import Emotion, Evidence, Filters, Kind, MemoryType, Query, Reach, RecordFilter, Scope, Status
from mnemic.types.literals import AGENT, CATEGORIES, SESSION_SUMMARY
from mnemic.types.records import UNTRUSTED_SHARE

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime

MAX_QUERY = 100_000
MAX_TOKENS = 10_000_000
"""The largest budget of a context."""
MAX_HITS = 10_000
MAX_DEPTH = 10
"""Most links in a path."""


def _turns(values: object) -> tuple[str, ...]:
    """The last turns before a query."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidInput(f"recent must be a list of strings, not {type(cast('object', values)).__name__}.")
    return tuple(validation.text("Each of recent", turn) for turn in cast("Iterable[object]", values))


def _mood(value: object) -> Emotion | str | None:
    """A mood, asked for now where it is given as a function."""
    if callable(value):
        value = value()
    if isinstance(value, str) and value.strip():
        return validation.text("mood", value)
    if value is not None and not isinstance(value, Emotion):
        raise InvalidInput(
            'mood must be an Emotion(valence=..., arousal=...), words that show one, "session", or a function that gives '
            f"one of these, not {shown(value)}."
        )
    return None if value is None else validation.emotion("mood", value)


def categories(value: object, existing: Callable[[], Collection[str]]) -> tuple[str, ...] | None:
    """The categories to filter by.

    Args:
        value: one category, or several.
        existing: gives the categories of the user's memories; called only if one is none of Mnemic's.

    Raises:
        InvalidInput: no memory has one of them.
    """
    chosen = tuple(filter(None, map(validation.category, validation.words_or_none("category", value) or ())))
    others = [word for word in chosen if word not in (*CATEGORIES, SESSION_SUMMARY)]
    if others and (missing := sorted({*others} - {*(known := existing())})):
        names = ", ".join(sorted({*CATEGORIES, *known}))
        raise InvalidInput(f"No memory has the category {shown(missing[0])}; known are {names}.")
    return None if value is None else chosen


def _number(filters: Mapping[str, Any], name: str, low: float = 0) -> float | None:
    value = filters.get(name)
    return None if value is None else validation.number(name, value, low)


def as_stored(runtime: Runtime, scope: Scope, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Filters with the session and the categories as they are stored.

    Raises:
        InvalidInput: no memory has the category.
    """
    stored = {**filters}
    if isinstance(session := filters.get("session"), str):
        stored["session"] = runtime.secrets.name(session)
    if (category := filters.get("category")) is not None:
        stored["category"] = categories(category, lambda: runtime.store.statistics.stats(scope.user).categories)
    return stored


def filters_of(scope: Scope, zone: tzinfo, filters: Mapping[str, Any], *, kinds: Sequence[Kind]) -> RecordFilter:
    """Checked filters; the user is not among them, because no argument can change it.

    Args:
        scope: of the handle.
        zone: of naive times.
        filters: the fields of ``SearchFilters``.
        kinds: of the records to read, unless ``filters`` names some.

    Raises:
        InvalidInput: a value is of the wrong type or not a known word.
    """
    reach = validation.one_of("reach", filters.get("reach", "project+global"), get_args(Reach))
    for needed, name in (("session", scope.session), ("project", scope.project)):
        if reach == needed and name is None:
            raise InvalidInput(f"reach={reach!r} needs a {needed}: memory.scoped({needed}=...).")
    metadata = filters.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(metadata).__name__}.")
    items = cast("Mapping[object, object]", metadata or {}).items()
    stored = {clean(str(key)): clean(value) if isinstance(value, str) else value for key, value in items}
    stored |= {AGENT: agent} if (agent := validation.optional("agent", filters.get("agent"))) is not None else {}
    return RecordFilter(
        kinds=cast("tuple[Kind, ...]", validation.choice("kinds", filters.get("kinds", kinds), get_args(Kind)) or ()),
        reach=reach,
        project=scope.project,
        session=scope.session,
        in_session=validation.optional("session", filters.get("session")),
        types=validation.choice("types", filters.get("types"), get_args(MemoryType)),
        category=validation.words_or_none("category", filters.get("category")),
        tags=validation.words_or_none("tags", filters.get("tags")),
        metadata=stored or None,
        status=validation.choice("status", filters.get("status"), get_args(Status)),
        role=validation.optional("role", filters.get("role")),
        speaker=validation.optional("speaker", filters.get("speaker")),
        exclude=validation.words_or_none("exclude", filters.get("exclude")) or (),
        expired=bool(filters.get("include_expired")),
        since=validation.micros("since", filters.get("since"), zone),
        until=validation.micros("until", filters.get("until"), zone),
        at=validation.micros("at", filters.get("at"), zone),
        known_at=validation.micros("known_at", filters.get("known_at"), zone),
        min_trust=_number(filters, "min_trust"),
        min_importance=_number(filters, "min_importance"),
    )


def listing(
    runtime: Runtime, scope: Scope, zone: tzinfo, method: Callable[..., Any], given: Filters, kind: Kind
) -> RecordFilter:
    """The checked filters of a method that lists or counts records of a kind."""
    validation.check_names(method, given, Filters.__annotations__)
    return filters_of(scope, zone, as_stored(runtime, scope, given), kinds=(kind,))


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
    if "quarantined" in (validation.words_or_none("status", filters.get("status")) or ()):
        raise InvalidInput('Quarantined records are listed, not searched: list(status=["quarantined"]).')
    limit = _number(filters, "min_relevance")
    least, best = relevance_limits if limit is None else (limit, 0.0)
    moment = validation.micros("now", now, zone)
    return Query(
        text=text,
        k=validation.whole("k", k, 1, MAX_HITS),
        filters=filters_of(scope, zone, filters, kinds=("message", "memory")),
        recipe=recipe_named(recipe),
        now=to_micros(present()) if moment is None else moment,
        zone=zone,
        min_evidence=validation.one_of("min_evidence", min_evidence, get_args(Evidence)),
        expand_query=bool(expand_query),
        recent=() if recent is None else _turns(recent),
        mood=_mood(mood),
        emotion_weight=validation.number("emotion_weight", emotion_weight),
        untrusted_share=validation.number("untrusted_share", filters.get("untrusted_share", UNTRUSTED_SHARE)),
        expand_links=validation.whole("expand_links", expand_links, 0, MAX_DEPTH),
        min_relevance=least,
        min_best=best,
        min_similarity=_number(filters, "min_similarity", -1),
    )
