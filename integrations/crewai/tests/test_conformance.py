"""The shared suite for tools, called by an agent of CrewAI."""

from __future__ import annotations

from typing import Any

import pytest

from crewai_mnemic import mnemic_tools
from mnemic import Memory
from mnemic_testing import ToolAnswer, ToolConformance


class TestTools(ToolConformance):
    @pytest.fixture(autouse=True)
    def made(self, scripted: Any, agent_of: Any) -> None:
        self.scripted, self.agent_of = scripted, agent_of

    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        model = self.scripted((tool, arguments), "ok")
        await self.agent_of(model, mnemic_tools(memory)).kickoff_async("go")
        (text,) = model.results
        return ToolAnswer(text, refused=text.startswith("Error executing tool: "))


class TestToolsAlone(ToolConformance):
    """As a program awaits them."""

    async def call(self, memory: Memory, tool: str, **arguments: Any) -> ToolAnswer:
        (found,) = [one for one in mnemic_tools(memory) if one.name == tool]
        try:
            return ToolAnswer(await found.arun(**arguments))
        except ValueError as error:
            return ToolAnswer(str(error), refused=True)
