"""Task: alternative wordings of a query."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import DATA_RULE, Items, Schema, distinct, fenced, numbers_supported, plain
from mnemic.llm.language_model import Task

MOST_QUERIES = 4
LONGEST_QUERY = 2_000

INSTRUCTIONS = f"""\
A memory of conversations is searched with a query. Give 1 to 4 other short queries that would find the same answer:
the words in which it may have been said, synonyms, or one part each of a question with several parts. Keep names,
numbers and dates as they are. Do not answer the query.
{DATA_RULE}"""


class Queries(Schema):
    """The other queries."""

    queries: Items[Annotated[str, StringConstraints(min_length=1, max_length=200)]] = Field(min_length=1, max_length=8)


def task(query: str) -> Task[tuple[str, ...]]:
    """Ask for one to four other wordings of a query, which is cut to 2,000 characters."""
    prompt = f"{fenced(query=plain(query)[:LONGEST_QUERY])}\n\nGive other queries for it."
    return Task("expand", INSTRUCTIONS, prompt, Queries, lambda answer: _read(answer, query))


def _read(answer: Queries, query: str) -> tuple[str, ...]:
    others = [text for text in answer.queries if numbers_supported(text, [query])]
    queries = distinct([query, *others], MOST_QUERIES + 1)[1:]
    if not queries:
        raise LanguageModelError("The language model gave no other wording of the query.")
    return queries
