"""Spans and metrics of OpenTelemetry, for a program that has set it up. No text of a record, a query or a name is in them.

Names and attributes follow the semantic conventions for generative AI (memory operations, embeddings); what they do not
cover begins with ``mnemic.``.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import asdict, is_dataclass
from functools import lru_cache, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from mnemic.types import Erasure, MemoryContext, Receipt, Receipts, SearchResult

P = ParamSpec("P")
T = TypeVar("T")

OPERATIONS: Mapping[str, str] = {
    "Memory.search": "search_memory", "Memory.get_memory_context": "search_memory", "Memory.add": "create_memory",
    "Memory.add_exchange": "create_memory", "Memory.remember": "upsert_memory", "Memory.update": "update_memory",
    "Memory.correct": "update_memory", "Memory.restore": "update_memory", "Memory.forget": "delete_memory",
    "Admin.erase_user": "delete_memory",
}  # fmt: skip
"""The operation of a public method."""


class Decorator(Protocol):
    """Keeps the signature of a function."""

    def __call__(self, function: Callable[P, T], /) -> Callable[P, T]:
        """The function, with more around it."""
        ...


def traced(operation: str, method: str = "") -> Decorator:
    """Decorator: a span and the metrics of an operation, if the program uses OpenTelemetry.

    Without its API imported this costs a look-up. Errors are told by their type alone: messages may quote.

    Args:
        operation: the name of the span, and ``gen_ai.operation.name``.
        method: the public method, if it is one.
    """

    def decorate(function: Callable[P, T], /) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            trace = _imported("opentelemetry.trace")
            if trace is None:
                return function(*args, **kwargs)
            about: dict[str, Any] = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "mnemic"}
            if method:
                about["mnemic.method"] = method
            begun, facts = time.perf_counter(), dict[str, Any]()
            tracer = trace.get_tracer("mnemic")
            with tracer.start_as_current_span(
                operation, attributes=about, record_exception=False, set_status_on_exception=False
            ) as span:
                try:
                    result = function(*args, **kwargs)
                    facts = {"mnemic.dry_run": True} if kwargs.get("dry_run") else facts_of(result)
                    return result
                except BaseException as error:
                    facts = {"error.type": type(error).__name__}
                    span.set_status(trace.StatusCode.ERROR)
                    raise
                finally:
                    span.set_attributes(facts)
                    _measure(about | facts, time.perf_counter() - begun)

        return call

    return decorate


def _imported(name: str) -> Any:
    """A module that the program has imported; None while another thread still does."""
    module = sys.modules.get(name)
    return None if module is None or getattr(module.__spec__, "_initializing", False) else module


def facts_of(result: object) -> dict[str, Any]:
    """What may be told of a result: numbers and grades."""
    match result:
        case SearchResult():
            return {
                "gen_ai.memory.record.count": len(result), "mnemic.evidence": result.evidence,
                "mnemic.probability": result.probability, "mnemic.left_out": result.left_out,
            }  # fmt: skip
        case MemoryContext():
            return {
                "gen_ai.memory.record.count": len(result.hits), "mnemic.evidence": result.evidence,
                "mnemic.tokens": result.token_count, "mnemic.left_out": result.left_out,
            }  # fmt: skip
        case Receipt() | Receipts():
            receipts: Iterable[Receipt] = [result] if isinstance(result, Receipt) else result
            counts = Counter(receipt.outcome for receipt in receipts)
            return {
                "gen_ai.memory.record.count": counts.total(),
                **{f"mnemic.{outcome}": n for outcome, n in counts.items()},
            }
        case Erasure():
            records = (result.counts.get(table, 0) for table in ("messages", "episodes", "memories"))
            erased = len(result.ids) or sum(records)  # those of a whole user are not listed
            return {"gen_ai.memory.record.count": erased, "mnemic.erased": erased}
        case _ if is_dataclass(result) and not isinstance(result, type):
            values = cast("dict[str, object]", asdict(result))
            return {f"mnemic.{name}": n for name, n in values.items() if isinstance(n, int) and not isinstance(n, bool)}
        case Sized() if hasattr(result, "shape"):  # numpy, which not every program loads
            return {"mnemic.texts": len(result)}
        case _:
            return {}


_MEASURED = ("gen_ai.operation.name", "gen_ai.provider.name", "mnemic.method", "error.type", "mnemic.evidence")
"""The attributes of a measurement: few values each."""


def _measure(facts: Mapping[str, Any], seconds: float) -> None:
    metrics = _imported("opentelemetry.metrics")
    if metrics is None:
        return
    duration, hits, evicted, waiting = _instruments(metrics)
    labels = {name: facts[name] for name in _MEASURED if name in facts}
    duration.record(seconds, labels)
    if "mnemic.evidence" in facts:
        hits.record(facts["gen_ai.memory.record.count"], labels)
    if gone := facts.get("mnemic.memories_archived", 0):
        evicted.add(gone, labels)
    if "mnemic.waiting" in facts:
        waiting.set(facts["mnemic.waiting"], labels)


@lru_cache(maxsize=1)
def _instruments(metrics: Any) -> tuple[Any, Any, Any, Any]:
    meter = metrics.get_meter("mnemic")
    return (
        meter.create_histogram("gen_ai.client.operation.duration", "s", "How long an operation took."),
        meter.create_histogram("mnemic.hits", "{record}", "Hits of a search or a context."),
        meter.create_counter("mnemic.evicted", "{record}", "Memories that a consolidation archived."),
        meter.create_gauge("mnemic.pending", "{message}", "Messages that wait to be processed."),
    )
