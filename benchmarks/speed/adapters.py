"""What the adapters cost beyond the call of the core that they make: ``python -m benchmarks.speed.adapters [--json OUT]``.

Each case calls an adapter the way its framework does, on one record of 1,000 messages. Two things are taken off: what the
methods of ``Memory`` that the adapter calls take within that same call, and, where the framework does work of its own around an
adapter, what it takes with one that has the same hooks and does nothing. The time is the CPU's, threads included.

The core is timed within the adapter's call because it cannot be timed beside it: what a context costs depends on the
question and on what was written since, by more than the adapters take. It is also called by itself, in turns with the
adapter and in changing order: that says whether the adapter asks it for more than the task needs. Importing is measured in fresh
processes, after everything that the package imports and that is not its own.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import importlib.util
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from inspect import isawaitable
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.speed.measures import pin_threads

MESSAGES = 1_000
TOKENS = 1_000
"""Of a context: what the adapters ask for when nothing is said."""
ROUNDS = 200
WARMING = 5
"""Rounds before those that count: what is loaded or made at the first calls is no part of one."""
REPEATS = 5
BAR_MS, IMPORT_BAR_MS = 2.0, 30.0
THINGS = "bridge lantern river violin ladder garden engine harbour window mountain".split()
PLACES = "Lisbon Porto Oslo Turin Ghent Malmo Leeds Graz Brno Split".split()

PACKAGES = {
    "langchain": "langchain_mnemic", "llama_index": "llama_index.memory.mnemic", "pydantic_ai": "pydantic_ai_mnemic",
    "mcp": "mnemic_mcp",
}  # fmt: skip
VERSIONS = ("langchain", "langchain-core", "langgraph", "llama-index-core", "pydantic-ai-slim", "mcp")

DEFINITIONS = {
    "adapter": "CPU ms of one call through the adapter, median",
    "inside": "CPU ms of it within methods of Memory, median",
    "core": "CPU ms of the same calls of Memory by themselves, median, on the same record and queries",
    "alone": "CPU ms of the framework's call with an adapter that does nothing, median; 0 where the adapter is called directly",
    "overhead": "CPU ms: the median of what one call takes outside Memory, less alone; the bar is 2",
    "import": "CPU ms of importing every public name of the package after all else that it imports, median of five processes",
}

COLUMNS = ("adapter_ms", "inside_ms", "core_ms", "alone_ms", "overhead_ms")

Call = Callable[[int], object]
Case = tuple[str, Call, Call, Call | None]
"""A name, the adapter, the core, and what of the adapter's work is the framework's own."""


def question(number: int) -> str:
    return f"Where does the {THINGS[number % 10]} number {number * 7 % MESSAGES} stand, in {PLACES[number // 10 % 10]}?"


def statement(number: int, whose: str) -> str:
    return f"The {whose} {THINGS[number % 10]} number {number} stands in {PLACES[number // 10 % 10]} near house {number * 3}."


def fill(memory: Any) -> None:
    from mnemic import Message

    memory.add(
        Message(role="user", content=statement(n, "old"), id=f"m{n}", session=f"s{n // 20}") for n in range(MESSAGES)
    )


# The cases


def langchain(memory: Any) -> Iterator[Case]:
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.documents import Document
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.retrievers import BaseRetriever

    from langchain_mnemic import MnemicChatMessageHistory, MnemicMiddleware, MnemicRetriever, mnemic_tools

    class Ready(BaseRetriever):
        """What a retriever costs that has nothing to find."""

        documents: list[Document]

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return self.documents

    class Idle(AgentMiddleware):
        """What a middleware with the same hooks costs that does nothing."""

        def before_agent(self, state: Any, runtime: Any) -> None:
            return None

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

        def after_agent(self, state: Any, runtime: Any) -> None:
            return None

    retriever = MnemicRetriever(memory=memory, k=10)
    tools = {tool.name: tool for tool in mnemic_tools(memory)}
    ready = Ready(documents=retriever.invoke(question(0)))
    yield (
        "retriever.invoke", lambda n: retriever.invoke(question(n)), lambda n: memory.search(question(n), k=10),
        lambda n: ready.invoke(question(n)),
    )  # fmt: skip
    yield (
        "tool recall", lambda n: tools["recall"].invoke({"query": question(n)}),
        lambda n: memory.search(question(n), k=10), None,
    )  # fmt: skip
    yield (
        "tool remember", lambda n: tools["remember"].invoke({"content": statement(n, "brass")}),
        lambda n: memory.remember(statement(n, "wooden")), None,
    )  # fmt: skip
    history = MnemicChatMessageHistory(memory, "history")
    yield (
        "history.add_messages",
        lambda n: history.add_messages([HumanMessage(statement(n, "tin")), AIMessage(f"Noted, {n}.")]),
        lambda n: memory.add_exchange(statement(n, "iron"), f"Noted, {n}.", session="core"), None,
    )  # fmt: skip
    plain = create_agent(FakeListChatModel(responses=["Noted."]), middleware=[Idle()])
    informed = create_agent(
        FakeListChatModel(responses=["Noted."]), middleware=[MnemicMiddleware(memory, max_tokens=TOKENS)]
    )
    yield (
        "middleware, a run", lambda n: informed.invoke({"messages": [HumanMessage(question(n))]}),
        lambda n: (
            memory.get_memory_context(question(n), max_tokens=TOKENS).to_prompt(),
            memory.add_exchange(question(n), "Noted.", session="core"),
        ),
        lambda n: plain.invoke({"messages": [HumanMessage(question(n))]}),
    )  # fmt: skip


def llama_index(memory: Any) -> Iterator[Case]:
    from llama_index.core.llms import ChatMessage

    from llama_index.memory.mnemic import MnemicChatMemory, MnemicRetriever, MnemicToolSpec

    retriever, tools = MnemicRetriever(memory, similarity_top_k=10), MnemicToolSpec(memory)
    yield (
        "retriever.retrieve",
        lambda n: retriever.retrieve(question(n)),
        lambda n: memory.search(question(n), k=10),
        None,
    )
    yield "tool recall", lambda n: tools.recall(question(n)), lambda n: memory.search(question(n), k=10), None
    chat = MnemicChatMemory.from_defaults(memory=memory, session_id="chat", max_tokens=TOKENS)
    yield (
        "chat memory.get", lambda n: chat.get(question(n)),
        lambda n: memory.get_memory_context(question(n), max_tokens=TOKENS).to_prompt(), None,
    )  # fmt: skip
    yield (
        "chat memory.put", lambda n: chat.put(ChatMessage(role="user", content=statement(n, "tin"))),
        lambda n: memory.add(statement(n, "iron"), session="core")[0], None,
    )  # fmt: skip


def pydantic_ai(memory: Any) -> Iterator[Case]:
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.models.test import TestModel

    from pydantic_ai_mnemic import MnemicCapability

    text = memory.get_memory_context(question(0), max_tokens=TOKENS).to_prompt()

    class Idle(AbstractCapability[Any]):
        """What a capability with the same hooks costs that finds nothing: it has a text of the same length ready."""

        def get_instructions(self) -> Any:
            async def nothing(ctx: Any) -> str:
                return text

            return nothing

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            return request_context

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            return await handler()

        async def after_run(self, ctx: Any, *, result: Any) -> Any:
            return result

    plain = Agent(TestModel(custom_output_text="Noted."), capabilities=[Idle()])
    informed = Agent(
        TestModel(custom_output_text="Noted."), capabilities=[MnemicCapability(memory, tools=False, max_tokens=TOKENS)]
    )
    yield (
        "capability, a run", lambda n: informed.run(question(n)),
        lambda n: (
            memory.get_memory_context(question(n), max_tokens=TOKENS).to_prompt(),
            memory.add_exchange(question(n), "Noted.", session=f"core {n}"),
        ),
        lambda n: plain.run(question(n)),
    )  # fmt: skip


def mcp(memory: Any) -> Iterator[Case]:
    from mnemic_mcp import memory_server

    server = memory_server(memory)

    def call(tool: str, **arguments: object) -> object:
        return server.call_tool(tool, arguments)

    yield "recall", lambda n: call("recall", query=question(n)), lambda n: memory.search(question(n), k=8), None
    yield (
        "context", lambda n: call("context", query=question(n), max_tokens=TOKENS),
        lambda n: memory.get_memory_context(question(n), max_tokens=TOKENS).to_prompt(), None,
    )  # fmt: skip
    yield (
        "remember", lambda n: call("remember", content=statement(n, "brass")),
        lambda n: memory.remember(statement(n, "wooden")), None,
    )  # fmt: skip


CASES: Mapping[str, Callable[[Any], Iterator[Case]]] = {
    "langchain": langchain, "llama_index": llama_index, "pydantic_ai": pydantic_ai, "mcp": mcp,
}  # fmt: skip


# Measuring


async def _done(result: object) -> None:
    """Wait for a call that is asynchronous."""
    if isawaitable(result):
        await result


class Inside:
    """CPU time within the methods of ``Memory`` that adapters call, of whichever thread; a method within another counts once."""

    METHODS = ("add", "add_exchange", "remember", "search", "get_memory_context")

    def __init__(self) -> None:
        self.ms, self._depth = 0.0, 0

    def _timed(self, method: Callable[..., object]) -> Callable[..., object]:
        @wraps(method)
        def timed(*args: object, **kwargs: object) -> object:
            self._depth += 1
            began = time.process_time()
            try:
                return method(*args, **kwargs)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.ms += (time.process_time() - began) * 1000

        return timed

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Time the methods while this lasts."""
        from mnemic import Memory, MemoryContext

        watched = [(Memory, name) for name in self.METHODS] + [(MemoryContext, "to_prompt")]
        before = [(owner, name, getattr(owner, name)) for owner, name in watched]
        for owner, name, method in before:
            setattr(owner, name, self._timed(method))
        try:
            yield
        finally:
            for owner, name, method in before:
                setattr(owner, name, method)


async def compared(adapter: Call, core: Call, alone: Call | None, warm: Call, rounds: int) -> dict[str, float | int]:
    """The calls in turns, in changing order; ``warm`` fills the caches that the first of them would pay for.

    All are made from one task, as in a server: worker threads, which end with the task they began for, are made once.
    """
    inside, within = Inside(), list[float]()

    async def through(number: int) -> None:
        inside.ms = 0.0
        with inside.watching():
            await _done(adapter(number))

    named: dict[str, Call] = {"adapter": through, "core": core, **({"alone": alone} if alone else {})}
    times: dict[str, list[float]] = {name: [] for name in named}
    order = [*named]
    chance = random.Random(7)
    for number in range(-WARMING, rounds):
        chance.shuffle(order)
        warm(number)
        for name in order:
            began = time.process_time()
            await _done(named[name](number % MESSAGES))
            times[name].append((time.process_time() - began) * 1000)
        within.append(inside.ms)
    times, within = {name: taken[WARMING:] for name, taken in times.items()}, within[WARMING:]
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    outside = statistics.median(whole - part for whole, part in zip(times["adapter"], within, strict=True))
    nothing = medians.get("alone", 0.0)
    return {
        "adapter_ms": round(medians["adapter"], 3), "inside_ms": round(statistics.median(within), 3),
        "core_ms": round(medians["core"], 3), "alone_ms": round(nothing, 3), "overhead_ms": round(outside - nothing, 3),
        "calls": rounds,
    }  # fmt: skip


def _searched(memory: Any, number: int) -> object:
    return memory.search(question(number))


def overheads(names: Sequence[str], rounds: int) -> dict[str, dict[str, dict[str, float | int]]]:
    """The figures of every case, each framework on a record of its own."""
    from mnemic import Idle, Memory

    found: dict[str, dict[str, dict[str, float | int]]] = {}
    for name in names:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            memory = stack.enter_context(Memory(folder, embedder="hashing", idle=Idle(idle_seconds=3600)))
            fill(memory)
            found[name] = asyncio.run(_measured(name, memory, rounds))
    return found


async def _measured(name: str, memory: Any, rounds: int) -> dict[str, dict[str, float | int]]:
    warm = partial(_searched, memory)
    cases = CASES[name](memory)
    return {case: await compared(adapter, core, alone, warm, rounds) for case, adapter, core, alone in cases}


LISTED = """
import importlib, json, sys
package = sys.argv[1]
def load():
    module = importlib.import_module(package)
    for name in module.__all__:
        getattr(module, name)
"""
FOREIGN = (
    LISTED + "load(); print(json.dumps([m for m in sys.modules if m != package and not m.startswith(package + '.')]))"
)
TIMED = (
    LISTED
    + """
import contextlib, time
for name in json.load(sys.stdin):
    with contextlib.suppress(Exception):
        importlib.import_module(name)
began = time.process_time()
load()
print((time.process_time() - began) * 1000)
"""
)


def import_cost(package: str, repeats: int) -> float:
    """CPU ms of what is the package's own, median of ``repeats`` fresh processes, compiled as an installed package is."""
    spec = importlib.util.find_spec(package)
    (source,) = spec.submodule_search_locations
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place).joinpath(*package.split("."))
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(copy, quiet=1)
        paths = [place, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

        def run(code: str, given: str = "") -> str:
            line = [sys.executable, "-W", "ignore", "-c", code, package]
            done = subprocess.run(line, input=given, check=True, capture_output=True, text=True, env=environment)
            return done.stdout

        foreign = run(FOREIGN)
        return round(statistics.median(float(run(TIMED, foreign)) for _ in range(repeats)), 2)


def main(given: Sequence[str]) -> Mapping[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.adapters", description=__doc__)
    parser.add_argument("--only", action="append", choices=[*CASES], help="this framework; again for more")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--repeats", type=int, default=REPEATS, help="how often the import is timed")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    names = options.only or [*CASES]
    figures = {
        "overhead": overheads(names, options.rounds),
        "import_ms": {name: import_cost(PACKAGES[name], options.repeats) for name in names},
    }
    for name, cases in figures["overhead"].items():
        for case, found in cases.items():
            over = "" if found["overhead_ms"] <= BAR_MS else "  over the bar"
            columns = "".join(f"{found[part]:>9}" for part in COLUMNS)
            print(f"{name:<12} {case:<22}{columns}{over}")
        over = "" if figures["import_ms"][name] <= IMPORT_BAR_MS else "  over the bar"
        print(f"{name:<12} {'import':<22}{figures['import_ms'][name]:>45}{over}")
    if options.json:
        from importlib.metadata import version

        result = reporting.document(
            "speed.adapters", given, data={}, machine=reporting.machine(), definitions=DEFINITIONS,
            figures={**figures, "frameworks": {name: version(name) for name in VERSIONS}},
        )  # fmt: skip
        reporting.written(result, options.json)
    return figures


if __name__ == "__main__":
    pin_threads("benchmarks.speed.adapters", sys.argv[1:])
    main(sys.argv[1:])
