"""Recall replay: what a question finds, why, and what of it fits into a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from mnemic.errors import InvalidInput
from mnemic.memory import Memory
from mnemic.recall.recipes import RECIPES
from mnemic.text.markup import revealed, visible
from mnemic.text.values import counted
from mnemic.types import Emotion, Hit, Question
from mnemic.types.literals import Style
from mnemic.web.drawings import shares
from mnemic.web.explorer import Explorer, day_of, next_day, number, whole

BUDGETS = (50, 4_000)
START = 60
"""Letters by which a line of a prompt is known as a hit's."""


def page(ui: Explorer, request: Request) -> Response:
    """A question with one recipe; a second one beside it is fetched by the page, as a request of its own."""
    query = request.query_params
    question, settings, replay = _replay_of(ui, query)
    beside = {**query, "recipe": settings["other"], "other": ""} if settings["other"] else None
    return ui.listing(
        request, "recall.html", [hit for hit, *_ in replay["hits"]] if replay else (), title="Recall", question=question,
        settings=settings, replay=replay, beside=beside, recipes=sorted(RECIPES), styles=get_args(Style),
        questions=[*map(_link, ui.memory.admin.questions())],
    )  # fmt: skip


def markdown(ui: Explorer, request: Request) -> Response:
    """The same in Markdown, to be pasted into an issue or a chat."""
    question, _, replay = _replay_of(ui, request.query_params)
    if replay is None:
        raise InvalidInput("There is no question.")
    result = replay["context"].found
    lines = [f"**{_inline(question)}** ({replay['recipe']}; evidence {result.evidence}, {result.probability:.2f})", ""]
    for rank, (hit, _, state) in enumerate(replay["hits"], 1):
        day = f"{hit.sent_at:%Y-%m-%d}, " if hit.sent_at else ""
        signals = ", ".join(f"{name} {value:+.2f}" for name, value in hit.contributions.items())
        facts = f"{day}relevance {hit.relevance:.3f}{state and f', {state}'}; {signals}"
        lines += [f"{rank}. {_inline(hit.text)}", f"   ({facts})"]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", replay["prompt"])), default=0))
    lines += [
        "",
        f"The prompt, {counted({'token': replay['context'].token_count})}:",
        "",
        fence,
        revealed(replay["prompt"]),
        fence,
        "",
    ]
    return PlainTextResponse("\n".join(lines), media_type="text/markdown")


def _inline(text: str) -> str:
    """A text on one line, without markup."""
    return re.sub(r"([\\`*_\[\]<>#|~!])", r"\\\1", " ".join(revealed(text).split()))


def _replay_of(ui: Explorer, query: Mapping[str, str]) -> tuple[str, Mapping[str, Any], Mapping[str, Any] | None]:
    """The question of an address, its settings, and what is found for it."""
    question = query.get("q", "").strip()
    settings: dict[str, Any] = {
        "k": whole(query, "k", 10, 1, 50), "budget": whole(query, "budget", 600, *BUDGETS),
        "recipe": query.get("recipe") or "conversation", "other": query.get("other") or "",
        "style": query.get("style") or "", "valence": number(query, "valence"), "arousal": number(query, "arousal"),
    }  # fmt: skip
    scope = {name: query[name] for name in ("project", "session") if query.get(name)}
    memory = ui.memory.scoped(**scope) if scope else ui.memory
    filters = {name: query[name] for name in ("speaker", "role") if query.get(name)}
    if tag := query.get("tag"):
        filters["tags"] = tag
    moments = {name: next_day(day) for name in ("at", "known_at") if (day := day_of(query.get(name), ui.zone))}
    return question, settings, _replay(memory, question, settings, {**filters, **moments}) if question else None


def _link(question: Question) -> tuple[Question, Mapping[str, Any]]:
    """A question that was asked, and the query that asks it again in the same scope and mood."""
    again = {"q": question.text, "project": question.project, "session": question.session}
    if question.mood:
        again |= {"valence": f"{question.mood.valence:g}", "arousal": f"{question.mood.arousal:g}"}
    return question, again


def _replay(memory: Memory, question: str, settings: Mapping[str, Any], filters: Mapping[str, Any]) -> dict[str, Any]:
    mood = None
    if settings["valence"] is not None or settings["arousal"] is not None:
        mood = Emotion(valence=settings["valence"] or 0.0, arousal=settings["arousal"] or 0.0)
    recipe = settings["recipe"]
    context = memory.get_memory_context(question, max_tokens=settings["budget"], recipe=recipe, mood=mood, **filters)
    result, k = context.found, settings["k"]
    hits: Sequence[Hit] = result[:k]
    if result.left_out and len(hits) < k:
        hits = memory.search(question, k=k, recipe=recipe, mood=mood, min_relevance=0, **filters)
    relevant = {hit.id for hit in result}
    best = max((sum(map(abs, hit.contributions.values())) for hit in hits), default=0.0)
    shown = {id_ for hit in context.hits for id_ in (hit.id, *hit.similar, *hit.via)}

    def state(hit: Hit) -> str:
        """Why a hit is not in the prompt; other forms of a prompt may show fewer than the plain one."""
        if hit.id not in relevant:
            return "not relevant enough"
        return "" if settings["style"] or hit.id in shown else "not in the prompt"

    rows = [(hit, shares(hit.contributions, best), state(hit)) for hit in hits]
    prompt = context.to_prompt(settings["style"] or None)
    return {
        "recipe": recipe, "context": context, "prompt": prompt, "hits": rows,
        "lines": [*prompt_lines(prompt, context.hits)], "left_out": sum(state == "not in the prompt" for *_, state in rows),
        "cut": next((rank for rank, (hit, *_) in reversed([*enumerate(rows, 1)]) if hit.id in relevant), 0),
    }  # fmt: skip


def prompt_lines(prompt: str, hits: Sequence[Hit]) -> Iterator[tuple[str, str]]:
    """The lines of a prompt, each with the id of the hit that it quotes, if it quotes one."""
    starts = {hit.id: start for hit in hits if (start := visible(hit.text).strip().split("\n")[0][:START])}
    for line in prompt.split("\n"):
        yield line, next((id_ for id_, start in starts.items() if start in line), "")
