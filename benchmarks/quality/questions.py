"""One conversation in one store, and the values of every figure for each of its questions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.conversations import Conversation, Question
from benchmarks.quality import metrics
from mnemic import Hit, Memory

__all__ = ["BUDGETS", "DEPTH", "Answers", "ask"]

DEPTHS = (5, 10, 20, 50)
SESSION_DEPTHS = (5, 10)
BUDGETS = (500, 1000, 2000, 4000)
DEPTH = 50
DEEP = 200


@dataclass(slots=True)
class Answers:
    """The values of one conversation: for each figure one number per question, in the order of the questions."""

    name: str
    categories: list[int] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)

    def take(self, question: Question, values: Mapping[str, float]) -> None:
        self.categories.append(question.category)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)


def ask(
    conversation: Conversation,
    embedder: Any,
    *,
    recipe: str | None = None,
    tokenizer: str | Callable[[str], int] = "cl100k_base",
    budgets: Sequence[int] = BUDGETS,
    min_relevance: float | None = None,
    processed: bool = False,
) -> Answers:
    """Store a conversation and ask its questions.

    Args:
        conversation: what is stored and asked.
        embedder: as for ``Memory``.
        recipe: a recipe by name; without one the library's default.
        tokenizer: as for ``Memory``.
        budgets: token budgets of the contexts.
        min_relevance: of the contexts; without one the library's default.
        processed: ask after ``Memory.process``; the evidence in budget is then also looked for in ``to_prompt()``.
    """
    options = {"now": conversation.asked_at} | ({"recipe": recipe} if recipe else {})
    limits = {} if min_relevance is None else {"min_relevance": min_relevance}
    answers = Answers(conversation.name)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "memory"
        with Memory(place, embedder=embedder, tokenizer=tokenizer, durability="NORMAL") as memory:
            memory.add(conversation.messages)
            if processed:
                memory.process()
            of = _Record(memory, conversation, options, limits)
            for question in conversation.questions:
                ranking = memory.search(question.text, k=DEPTH, **options)
                answers.take(question, {**of.turns(question, ranking), **of.budgets(question, budgets)})
                if not of.steady(question, ranking):
                    answers.moved.append(question.text)
    return answers


class _Record:
    """A store that holds one conversation."""

    def __init__(
        self, memory: Memory, conversation: Conversation, options: Mapping[str, Any], limits: Mapping[str, Any]
    ) -> None:
        self.memory, self.options, self.limits = memory, dict(options), limits
        self.session = {m.id: m.session for m in conversation.messages}
        self.text = {m.id: m.content for m in conversation.messages}

    def _sessions(self, ids: Iterable[str]) -> list[str]:
        return metrics.distinct(self.session[i] for i in ids)

    def turns(self, question: Question, ranking: Sequence[Hit]) -> dict[str, float]:
        """Recall of turns and of sessions, and the reciprocal rank."""
        ranked = metrics.distinct(i for hit in ranking for i in hit.message_ids)
        values = {f"R@{k}": metrics.fraction(question.gold, ranked[:k]) for k in DEPTHS}
        values["MRR"] = metrics.reciprocal_rank(question.gold, ranked)
        gold = self._sessions(question.gold)
        in_order = self._deep(question, ranked)
        for k in SESSION_DEPTHS:
            of_hits = self._sessions(i for hit in ranking[:k] for i in hit.message_ids)
            for name, found in (("session", of_hits), ("distinct_sessions", in_order[:k])):
                values[f"{name}.fractional@{k}"] = metrics.fraction(gold, found)
                values[f"{name}.any@{k}"] = metrics.any_of(gold, found)
                values[f"{name}.all@{k}"] = metrics.all_of(gold, found)
        return values

    def _deep(self, question: Question, ranked: Sequence[str]) -> list[str]:
        """The sessions in the order in which the ranking first names them; a longer one where it names too few."""
        sessions = self._sessions(ranked)
        if len(sessions) >= max(SESSION_DEPTHS):
            return sessions
        longer = self.memory.search(question.text, k=DEEP, **self.options)
        return self._sessions(i for hit in longer for i in hit.message_ids)

    def budgets(self, question: Question, budgets: Sequence[int]) -> dict[str, float]:
        """How much of the evidence stands in the context, and how much of the budget that took."""
        passages = [self.text[i] for i in question.gold]
        values: dict[str, float] = {}
        for budget in budgets:
            context = self.memory.get_memory_context(question.text, max_tokens=budget, **self.options, **self.limits)
            values[f"budget.{budget}"] = metrics.in_text(passages, context.text)
            if context.prompt:
                values[f"prompt.{budget}"] = metrics.in_text(passages, context.prompt)
            values[f"tokens.{budget}"] = context.token_count / budget
        return values

    def steady(self, question: Question, ranking: Sequence[Hit]) -> bool:
        """Whether a search for ten gives the first ten of the longer list."""
        short = self.memory.search(question.text, k=10, **self.options)
        return [hit.id for hit in short] == [hit.id for hit in ranking[:10]]
