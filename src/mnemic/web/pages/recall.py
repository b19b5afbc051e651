"""Recall replay: what a question finds, why, and what of it fits into a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from mnemic.memory import Memory
from mnemic.recall.recipes import RECIPES
from mnemic.types import Emotion, Question
from mnemic.types.literals import Style
from mnemic.web.drawings import shares
from mnemic.web.explorer import Explorer
from mnemic.web.fields import day_of, next_day, number, whole

BUDGETS = (50, 4_000)


def page(ui: Explorer, request: Request) -> Response:
    """A question with one recipe; a second one beside it is fetched by the page, as a request of its own."""
    given = request.query_params
    question = given.get("q", "").strip()
    settings: dict[str, Any] = {
        "k": whole(given, "k", 10, 1, 50), "budget": whole(given, "budget", 600, *BUDGETS),
        "recipe": given.get("recipe") or "conversation", "other": given.get("other") or "",
        "style": given.get("style") or "", "valence": number(given, "valence"), "arousal": number(given, "arousal"),
    }  # fmt: skip
    scope = {name: given[name] for name in ("project", "session") if given.get(name)}
    memory = ui.memory.scoped(**scope) if scope else ui.memory
    filters = {name: given[name] for name in ("speaker", "role") if given.get(name)}
    moments = {name: next_day(day) for name in ("at", "known_at") if (day := day_of(given.get(name), ui.zone))}
    found = _found(memory, question, settings, {**filters, **moments}) if question else None
    beside = {**given, "recipe": settings["other"], "other": ""} if settings["other"] else None
    return ui.listing(
        request, "recall.html", found["context"].found if found else (), title="Recall", question=question,
        settings=settings, found=found, beside=beside, recipes=sorted(RECIPES), styles=get_args(Style),
        asked=[*map(_link, ui.memory.admin.questions())],
    )  # fmt: skip


def _link(question: Question) -> tuple[Question, Mapping[str, Any]]:
    """A question that was asked, and the query that asks it again in the same scope and mood."""
    again = {"q": question.text, "project": question.project, "session": question.session}
    if question.mood:
        again |= {"valence": f"{question.mood.valence:g}", "arousal": f"{question.mood.arousal:g}"}
    return question, again


def _found(memory: Memory, question: str, settings: Mapping[str, Any], filters: Mapping[str, Any]) -> Mapping[str, Any]:
    mood = None
    if settings["valence"] is not None or settings["arousal"] is not None:
        mood = Emotion(valence=settings["valence"] or 0.0, arousal=settings["arousal"] or 0.0)
    recipe = settings["recipe"]
    context = memory.get_memory_context(question, max_tokens=settings["budget"], recipe=recipe, mood=mood, **filters)
    hits = context.found[: settings["k"]]
    best = max((sum(map(abs, hit.contributions.values())) for hit in hits), default=0.0)
    shown = {id_ for hit in context.hits for id_ in (hit.id, *hit.similar, *hit.via)}
    left_out = set[str]() if settings["style"] else {hit.id for hit in hits} - shown  # other forms may show fewer
    return {
        "recipe": recipe, "context": context, "prompt": context.to_prompt(settings["style"] or None),
        "hits": [(hit, shares(hit.contributions, best), hit.id in left_out) for hit in hits],
        "left_out": len(left_out),
    }  # fmt: skip
