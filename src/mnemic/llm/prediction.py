"""Task: predict episodes from their titles and what is known, before they are read.

The first of the two calls of Nemori (arXiv 2508.03341): the model does not see the messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import DATA_RULE, Items, Number, Schema, Text, fenced, numbered_list, plain
from mnemic.llm.language_model import Task
from mnemic.llm.narration import MOST_EPISODES
from mnemic.types import MemoryRecord

INSTRUCTIONS = f"""\
Predict what episodes of a conversation say, from their titles and the known statements alone: for each episode, by its
number, one or two plain sentences with what you would expect to be said. What you cannot know is not part of it.
{DATA_RULE}"""


class ExpectedEpisode(Schema):
    """One prediction."""

    episode: Number
    prediction: Text


class ExpectedEpisodes(Schema):
    """The predictions of a batch."""

    predictions: Items[ExpectedEpisode] = Field(max_length=MOST_EPISODES)


def task(titles: Sequence[str], known: Sequence[MemoryRecord]) -> Task[tuple[str, ...]]:
    """Ask what is expected of 1 to 12 episodes, in order; the text is empty where the model said nothing."""
    count = len(titles)
    prompt = f"{fenced(titles=titled(titles), known=numbered_list(known) or 'nothing')}\n\nPredict each episode."
    return Task("predict", INSTRUCTIONS, prompt, ExpectedEpisodes, lambda answer: _read(answer, count))


def titled(titles: Sequence[str]) -> str:
    """Texts by the number of their episode, one line each."""
    return "\n".join(f"episode {number}: {' '.join(plain(title).split())}" for number, title in enumerate(titles, 1))


def _read(answer: ExpectedEpisodes, count: int) -> tuple[str, ...]:
    predictions: dict[int, str] = {}
    for item in answer.predictions:
        if 1 <= item.episode <= count:
            predictions.setdefault(item.episode, " ".join(item.prediction.split()))
    texts = tuple(predictions.get(number, "") for number in range(1, count + 1))
    if answer.predictions and not predictions:
        raise LanguageModelError("The language model predicted none of the episodes it was given.")
    return texts
