"""Procedures: what agents did for requests like a given one, and how that went.

A view over evidence, without a record of its own: requests are found as any message is, and what was done for one is noted
on the answers to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from mnemic.indexes.catalog import DAY, KINDS
from mnemic.recall.recipes import Recipe
from mnemic.recall.search import allowed_rows, search
from mnemic.runtime.runtime import Runtime, uncounted
from mnemic.runtime.views import View
from mnemic.text.values import to_micros
from mnemic.types import Hit, Message, Procedure, Query, RecordFilter, Scope
from mnemic.types.literals import TOOLS_USED
from mnemic.types.records import is_trusted
from mnemic.vectors import Mask

REQUESTS = 50
"""The most similar requests whose answers are read."""
LIKE = 0.5
"""Least likeness of a request, as a share of that of the most alike one that was answered."""
HALF_LIFE_DAYS = 30.0
"""Days after which an outcome counts half: tools change."""
PRIOR = 0.5
"""Successes, and failures, before any are known: Jeffreys' prior."""
RECIPE = Recipe(weights={"dense": 0.9, "said": 0.1})
"""How requests are ranked: by meaning, and without vectors by words. The recipe of conversations ranks a repeated request
last, because it is no answer.
"""

LONGEST_NAME = 64
"""Characters of the name of a tool."""
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")

Outcome = Literal["ok", "error"]
Steps = tuple[str, ...]


class ToolUse(NamedTuple):
    """A tool that was used; the outcome is None where nobody noted it."""

    name: str
    outcome: Outcome | None


def is_tool_name(name: str) -> bool:
    """Whether a name is one as tools have it, a word or several joined by dots, and not a text that somebody wrote there."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def tools_used(metadata: Mapping[str, Any]) -> Iterator[ToolUse]:
    """The tools that an answer notes, in order; what is no note is left out, because anyone may have written it."""
    notes = metadata.get(TOOLS_USED)
    for note in cast("list[object]", notes) if isinstance(notes, list) else ():
        fields = cast("Mapping[str, object]", note) if isinstance(note, Mapping) else dict[str, object]()
        name, outcome = fields.get("name"), fields.get("outcome")
        if isinstance(name, str) and is_tool_name(name):
            yield ToolUse(name, outcome if outcome in ("ok", "error") else None)


def outcome_of(uses: Sequence[ToolUse]) -> Outcome | None:
    """The last known outcome: a run that got over an error worked."""
    return next((use.outcome for use in reversed(uses) if use.outcome), None)


def steps_of(uses: Sequence[ToolUse]) -> Steps:
    """The names of the tools, without errors that were got over; a step that follows itself counts once."""
    last = max((index for index, use in enumerate(uses) if use.outcome == "ok"), default=-1)
    names = [use.name for index, use in enumerate(uses) if use.outcome != "error" or index > last]
    return tuple(name for name, _ in groupby(names))


@dataclass(frozen=True, slots=True)
class Run:
    """What was done once for a request, and when it was answered."""

    request: Hit
    uses: Sequence[ToolUse]
    answered_at: datetime


def procedures_for(runtime: Runtime, scope: Scope, query: Query) -> list[Procedure]:
    """The first ``query.k`` procedures for a request: those that ever worked before the others, each by score.

    Args:
        runtime: the runtime.
        scope: whose.
        query: the request; its recipe and its mood are left out, because they rank answers.
    """
    filters = replace(query.filters, kinds=("message",), role=query.filters.role or "user")
    with uncounted():
        hits = search(runtime, scope, replace(query, k=REQUESTS, filters=filters, recipe=RECIPE, mood=None))
    by_steps: dict[Steps, list[Run]] = {}
    for run in _runs(runtime, scope, filters, sorted(hits, key=likeness, reverse=True)):
        by_steps.setdefault(steps_of(run.uses), []).append(run)
    now = query.now if filters.at is None else min(query.now, filters.at)
    ranked = [_procedure(steps, by_steps, now) for steps in by_steps]
    ranked.sort(key=lambda procedure: (procedure.successes > 0, procedure.score, procedure.last_used), reverse=True)
    return ranked[: query.k]


def likeness(request: Hit) -> float:
    """How alike a request is, 0 to 1: its cosine; without vectors the share of the words."""
    return max(0.0, request.scores["dense"] or request.relevance)


def _procedure(steps: Steps, by_steps: Mapping[Steps, Sequence[Run]], now: int) -> Procedure:
    """The procedure of some steps, from all runs by their steps, each with the most alike request first.

    A run that failed counts against every procedure that begins with its steps: the step that failed is one of theirs.
    """
    runs = by_steps[steps]
    worked = [run for run in runs if outcome_of(run.uses) == "ok"]
    begun = [by_steps.get(steps[:length], ()) for length in range(1, len(steps) + 1)]
    failed = [run for tried in begun for run in tried if outcome_of(run.uses) == "error"]
    successes, failures = _decayed(worked, now), _decayed(failed, now)
    return Procedure(
        steps=steps,
        requests=tuple({run.request.id: run.request for run in runs}.values()),
        successes=len(worked),
        failures=len(failed),
        last_used=max(run.answered_at for run in runs),
        score=likeness(runs[0].request) * (successes + PRIOR) / (successes + failures + 2 * PRIOR),
    )


def _decayed(runs: Iterable[Run], now: int) -> float:
    """The number of runs, each of which counts half after the half-life."""
    return sum(0.5 ** (max(now - to_micros(run.answered_at), 0) / DAY / HALF_LIFE_DAYS) for run in runs)


def _runs(runtime: Runtime, scope: Scope, filters: RecordFilter, requests: Sequence[Hit]) -> Iterator[Run]:
    """What was done for each request, the most alike first, however often it was said; for several of one turn, once.

    A request that nobody answered yet, such as the one that is asked about, sets no measure of what is alike.
    """
    view = runtime.views.of(scope.user)
    if view is None:
        return
    hits = {id_: hit for hit in requests for id_ in (hit.id, *hit.similar)}
    docs = runtime.store.docs_of(scope.user, [*hits])
    visible = allowed_rows(runtime, scope, replace(filters, role="assistant", speaker=None), view)
    answers = _answers(view, docs.values(), visible)
    message_docs = sorted({*answers, *(doc for answer_docs in answers.values() for doc in answer_docs)})
    values = {doc: stored.value for doc, stored in runtime.store.fetch(view.user, message_docs).items()}
    trusted = {doc: m for doc, m in values.items() if isinstance(m, Message) and is_trusted(m.trust)}
    answered = [
        (hit, answers[docs[id_]]) for id_, hit in hits.items() if docs.get(id_) in trusted and answers[docs[id_]]
    ]
    least = LIKE * likeness(answered[0][0]) if answered else 0.0
    taken: set[int] = set()
    for hit, answer_docs in answered:
        alike = likeness(hit) >= least
        usable = [trusted[doc] for doc in answer_docs if alike and doc in trusted and doc not in taken]
        taken.update(answer_docs)
        if uses := [use for message in usable for use in tools_used(message.metadata)]:
            yield Run(hit, uses, max(message.sent_at for message in usable if message.sent_at))


def _answers(view: View, docs: Iterable[int], visible: Mask) -> dict[int, list[int]]:
    """The docs of the visible answers to each request: what the assistant said after it, until somebody asks again.

    Forgotten messages count as turns, so that the answer to a forgotten request is not taken for one to the request before.
    """
    c = view.columns
    rows = c.rows_of(sorted(docs))
    turns = np.flatnonzero((c.kind == KINDS["message"]) & np.isin(c.group, c.group[rows]))
    turns = turns[np.lexsort((turns, c.time[turns], c.group[turns]))]
    answer, asker = c.names.label.get("assistant"), c.label[rows[0]] if len(rows) else -1
    answers: dict[int, list[int]] = {}
    for index in np.flatnonzero(np.isin(turns, rows)).tolist():
        visible_docs = answers[int(c.doc[turns[index]])] = list[int]()
        answered = False
        for row in turns[index + 1 :]:
            if c.group[row] != c.group[turns[index]] or (answered and c.label[row] == asker):
                break
            answered |= bool(c.label[row] == answer)
            if visible[row]:
                visible_docs.append(int(c.doc[row]))
    return answers
