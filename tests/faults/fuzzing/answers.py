"""What a language model may say, and what must hold of whatever is read from it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart
from tests.faults.fuzzing.oracle import told

from mnemic import LanguageModelError, Link, MemoryRecord, Message
from mnemic.llm import decision, enrichment, expansion, extraction, forgetting, links, narration, segmentation
from mnemic.llm.answers import find_objects, plain, plain_values, validate_leniently
from mnemic.llm.exchange import read
from mnemic.types.literals import CATEGORIES

LIMIT = 100_000
SAID = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
TALK = (
    Message(role="user", name="Ana", content="I moved to Lisbon on Friday with my 2 cats.", sent_at=SAID, id="0"),
    Message(role="assistant", content="Do you want the invoice on port 8080?", sent_at=SAID, id="1"),
    Message(role="user", name="Ana", content="Yes, exactly. The rent is 1,200 euros.", sent_at=SAID, id="2"),
    Message(role="user", name="Ben", content="The API key of the garden door is lost.", sent_at=SAID, id="3"),
)
KNOWN = tuple(
    MemoryRecord(id=f"k{n}", content=text, created_at=SAID, updated_at=SAID)
    for n, text in enumerate(("Ana lives in Porto.", "The rent is 900 euros."))
)
QUERY = "Where does Ana live since 2026?"
TASKS = {
    "extract": extraction.task([("Transfer", TALK[:2]), ("The flat", TALK[2:])], KNOWN),
    "segment": segmentation.task(TALK),
    "narrate": narration.task([TALK[:2], TALK[2:]]),
    "enrich": enrichment.task(KNOWN),
    "decide": decision.task(*KNOWN),
    "link": links.task([(KNOWN[0], KNOWN)]),
    "expand": expansion.task(QUERY),
    "forget": forgetting.task("where Ana lives", KNOWN),
}
GOOD: dict[str, dict[str, Any]] = {
    "extract": {
        "prediction": "Ana speaks of a flat.",
        "statements": [
            {"statement": "Ana moved to Lisbon with 2 cats.", "change": "update", "known": 101, "messages": [1],
             "type": "semantic", "confidence": 0.9, "keywords": ["Lisbon", "cats"], "tags": ["home"], "category": "personal"},
            {"statement": "The rent is 1,200 euros.", "change": "contradiction", "known": 102, "messages": [3],
             "type": "episodic", "confidence": 1},
        ],
    },
    "segment": {"episodes": [{"topic": "moving", "first": 1, "last": 3}, {"topic": "door", "first": 4, "last": 4}]},
    "narrate": {
        "episodes": [
            {"episode": 1, "title": "Ana moves to Lisbon", "story": "Ana moved to Lisbon with her 2 cats."},
            {"episode": 2, "title": "Rent and garden door", "story": "The rent is 1,200 euros, and a key is lost."},
        ]
    },
    "enrich": {
        "memories": [
            {"memory": 1, "summary": "Ana lives in Porto.", "keywords": ["Porto"], "tags": ["home"], "type": "semantic",
             "category": "personal", "importance": 0.5, "confidence": 0.5, "files": [], "entities": ["Ana"]},
            {"memory": 2, "summary": "The rent is 900 euros.", "keywords": ["rent"], "tags": [], "files": ["a.py"]},
        ]
    },
    "decide": {"decision": "merge", "kept": None, "reason": "same",
               "content": "Ana lives in Porto. The rent is 900 euros."},
    "link": {"links": [{"memory": 1, "candidate": 101, "type": "extends", "strength": 0.5, "reason": "home"}]},
    "expand": {"queries": ["Ana's home", "the town of Ana"]},
    "forget": {"candidates": [{"candidate": 1, "meant": False}, {"candidate": 2, "meant": True}, {"candidate": 3, "meant": False}]},
}  # fmt: skip
"""An answer of each stage that keeps every rule."""


def answered(text: str) -> int:
    """Read one text as the answer to every question; how many of them it answers."""
    response = ModelResponse(parts=[TextPart(text)])
    count = 0
    for stage, task in TASKS.items():
        _form(task.schema, text)
        try:
            found = read(task, response, LIMIT)
        except LanguageModelError as error:
            told(error)
            continue
        _HOLDS[stage](found)
        count += 1
    once = plain(text)
    assert plain(once) == once
    return count


def _form(schema: Any, text: str) -> None:
    """What is kept of an object fits the schema, and is cleaned once for all."""
    for data in find_objects(text, schema.model_fields):
        clean = plain_values(data)
        assert plain_values(clean) == clean
        try:
            value = validate_leniently(schema, clean)
        except LanguageModelError as error:
            told(error)
            continue
        dumped = json.loads(value.model_dump_json())
        assert schema.model_validate(dumped) == value
        assert validate_leniently(schema, dumped) == value


def _extraction(found: extraction.Extraction) -> None:
    assert len(found.statements) <= extraction.MOST_STATEMENTS
    assert found.unread <= {0, 1}
    assert not {s.episode for s in found.statements} & found.unread
    keys = [" ".join(s.text.split()).casefold().rstrip(".") for s in found.statements]
    assert len(set(keys)) >= len(keys) - 1  # dates are worked out after they are told apart
    for statement in found.statements:
        assert statement.text
        assert statement.messages
        assert list(statement.messages) == sorted({*statement.messages})
        assert statement.episode in (0, 1)
        assert set(statement.messages) <= {0, 1}
        assert len(statement.keywords) <= enrichment.MOST_KEYWORDS
        assert len(statement.tags) <= enrichment.MOST_TAGS
        assert statement.category in (None, *CATEGORIES)
        assert (statement.known is None) == (statement.change == "new")
        assert statement.known in (None, *range(len(KNOWN)))
        assert 0 <= statement.confidence <= 1


def _segmentation(found: segmentation.Segmentation) -> None:
    assert [place for group in found.groups for place in group] == list(range(len(TALK)))
    assert all(found.groups)


def _narratives(found: tuple[narration.Narrative | None, ...]) -> None:
    assert len(found) == 2
    assert any(found)
    for item in filter(None, found):
        assert item.title or item.story
        assert item.title is None or 0 < len(item.title.split()) <= narration.LONGEST_TITLE
        assert item.story is None or 20 <= len(item.story) <= 2 * narration.LONGEST_STORY


def _enrichments(found: tuple[enrichment.Enrichment | None, ...]) -> None:
    assert len(found) == len(KNOWN)
    assert any(found)
    for item, record in zip(found, KNOWN, strict=True):
        if item is not None:
            assert item.summary or item.keywords
            assert len(item.summary or "") <= enrichment.LONGEST_SUMMARY
            assert len(item.keywords) <= 5
            assert len(item.tags) <= 3
            assert item.category in (None, *CATEGORIES)
            assert 0 <= item.importance <= 1
            assert 0 <= item.confidence <= 1
            assert all(name.casefold() in record.content.casefold() for name in item.related_entities)


def _decision(found: decision.PairDecision) -> None:
    assert found.kept in (0, 1)
    assert found.action != "merge" or ("900" in found.content and "porto" in found.content.casefold())


def _links(found: tuple[Link, ...]) -> None:
    distinct = {(link.source, link.target, link.type) for link in found}
    assert len(distinct) == len(found) <= links.MOST_LINKS
    assert all(link.target in {known.id for known in KNOWN} and 0 <= link.strength <= 1 for link in found)


def _queries(found: tuple[str, ...]) -> None:
    assert 1 <= len(found) <= expansion.MOST_QUERIES
    assert QUERY not in found
    assert len({query.casefold() for query in found}) == len(found)


def _verdicts(found: tuple[bool | None, ...]) -> None:
    assert len(found) == len(KNOWN)
    assert {*found} <= {True, False, None}


_HOLDS: dict[str, Any] = {
    "extract": _extraction, "segment": _segmentation, "narrate": _narratives, "enrich": _enrichments,
    "decide": _decision, "link": _links, "expand": _queries, "forget": _verdicts,
}  # fmt: skip
