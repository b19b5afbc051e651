"""A memory that is gone after the test, and a model that answers from a list and notes what it was shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from agents import set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message

from mnemic import Idle, Memory


@pytest.fixture(autouse=True)
def no_traces() -> None:
    """No test here sends a trace to a server."""
    set_tracing_disabled(True)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", user="ana", embedder="hashing", idle=Idle(idle_seconds=3600)) as opened:
        yield opened


@pytest.fixture
def scripted() -> Callable[..., ScriptedModel]:
    """A model that gives the texts, items and errors of its script, one a call."""

    def model(*answers) -> ScriptedModel:
        steps = [[assistant_message(step)] if isinstance(step, str) else step for step in answers]
        return ScriptedModel([step if isinstance(step, (Exception, list)) else [step] for step in steps])

    return model


@pytest.fixture
def said(memory: Memory) -> Callable[..., list[str]]:
    """What is stored, in the order it was said."""

    def contents(user: str = "ana", **filters: str) -> list[str]:
        return [message.content for message in memory.scoped(user=user).messages(**filters)]

    return contents
