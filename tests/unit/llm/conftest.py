"""Messages, memories and good answers that the tests of the tasks share."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.llm import (
    LanguageModel,
    decision,
    enrichment,
    expansion,
    extraction,
    forgetting,
    links,
    narration,
    prediction,
    segmentation,
)
from mnemic.llm.language_model import Task
from mnemic.testing import memory_record
from mnemic.types import Message

MONDAY = datetime(2024, 5, 6, 14, 0, tzinfo=UTC)

TALK = (
    ("user", "Ana", "I moved to Lisbon yesterday, the flat costs 1,250 euros."),
    ("assistant", None, "Congratulations! Will you keep the job at Acme?"),
    ("user", "Ana", "Yes, I work remotely from now on."),
    ("assistant", None, "You could try a coworking space."),
    ("user", "Ana", "By the way, my sister Rita visits on Friday."),
    ("assistant", None, "Lovely. What will you show her?"),
)


def messages(count: int = len(TALK)) -> list[Message]:
    """The first messages of the talk, a minute apart."""
    return [
        Message(role=role, name=name, content=text, id=f"m{n}", sent_at=MONDAY + timedelta(minutes=n))
        for n, (role, name, text) in enumerate(TALK[:count], 1)
    ]


KNOWN = [memory_record("Ana lives in Porto."), memory_record("Ana works at Acme.")]
MEMORIES = [
    memory_record("Ana moved to Lisbon on 5 May 2024; the flat costs 1250 euros."),
    memory_record("The fix for the crash is in src/app.py: check for None."),
]


@dataclass(frozen=True)
class Case:
    """A task, an answer that keeps every rule, and the numbers in it that stand for something in the prompt."""

    stage: str
    task: Task[Any]
    good: dict[str, Any]
    has_ids: bool = True


CASES = (
    Case(
        "segment",
        segmentation.task(messages()),
        {"episodes": [{"topic": "move to Lisbon", "first": 1, "last": 4}, {"topic": "visit", "first": 5, "last": 6}]},
    ),
    Case(
        "narrate",
        narration.task([messages()]),
        {
            "episodes": [
                {
                    "episode": 1, "title": "Ana moves to Lisbon",
                    "story": "Ana said that she moved to Lisbon on 5 May 2024, where her flat costs 1,250 euros. She keeps "
                    "her job.",
                }
            ]
        },
    ),
    Case(
        "extract",
        extraction.task([("Ana moves to Lisbon", messages())], KNOWN),
        {
            "prediction": "Ana tells how she arrived in Lisbon.",
            "statements": [
                {
                    "statement": "Ana lives in Lisbon since 5 May 2024.", "change": "update", "known": 101,
                    "messages": [1], "type": "semantic", "confidence": 0.9, "keywords": ["home", "Lisbon"], "tags": ["home"],
                    "category": "personal",
                },
                {
                    "statement": "Ana works remotely.", "change": "new", "known": None,
                    "messages": [2, 3], "type": "semantic", "confidence": 0.8, "keywords": ["remote work"], "tags": ["work"],
                    "category": "work",
                },
            ],
        },
    ),
    Case(
        "predict",
        prediction.task(["Ana moves to Lisbon", "A visit"], KNOWN),
        {"predictions": [{"episode": n, "prediction": f"Ana tells of {what}."} for n, what in ((1, "a flat"), (2, "Bo"))]},
    ),
    Case(
        "enrich",
        enrichment.task(MEMORIES),
        {
            "memories": [
                {
                    "memory": 1, "summary": "Ana moved to Lisbon.", "keywords": ["Lisbon", "move", "flat"],
                    "tags": ["home", "travel"], "type": "episodic", "category": "personal", "importance": 0.7,
                    "confidence": 0.9, "files": [], "entities": ["Ana", "Lisbon"],
                },
                {
                    "memory": 2, "summary": "The crash is fixed by a check for None.", "keywords": ["crash", "None check"],
                    "tags": ["bugs"], "type": "procedural", "category": "bug_fix", "importance": 0.6,
                    "confidence": 0.8, "files": ["src/app.py"], "entities": [],
                },
            ]
        },
    ),
    Case(
        "link",
        links.task([(MEMORIES[0], KNOWN)]),
        {"links": [{"memory": 1, "candidate": 101, "type": "supersedes", "strength": 0.9, "reason": "a new home"}]},
    ),
    Case(
        "expand",
        expansion.task("Where does Ana live?"),
        {"queries": ["Ana moved to", "home city of Ana"]},
        has_ids=False,
    ),
    Case(
        "forget",
        forgetting.task("where I live", KNOWN),
        {"candidates": [{"candidate": n, "meant": n == 2} for n in (1, 2, 3)]},
    ),
    Case(
        "decide",
        decision.task(memory_record("Ana drinks green tea."), memory_record("Ana drinks black tea now.")),
        {"decision": "supersede", "kept": 2, "content": None, "reason": "another kind"},
    ),
)  # fmt: skip


@pytest.fixture
def case():
    """The case of a stage, by its name."""
    return {one.stage: one for one in CASES}.__getitem__


@pytest.fixture
def talk():
    """The first messages of the talk, by their number."""
    return messages


@pytest.fixture
def asked():
    """Make language models that never wait, and close them."""
    made: list[LanguageModel] = []
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    def make(model: Any, **options: Any) -> LanguageModel:
        made.append(LanguageModel(model, **{"sleep": sleep, **options}))
        return made[-1]

    make.waits = waits
    yield make
    for llm in made:
        llm.close()
