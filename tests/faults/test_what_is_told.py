"""Logs, warnings and errors never say a secret, also where an embedder or a model repeats in its error what it was given."""

import asyncio
import json
import logging
import sys
import traceback
import warnings

import pytest

from mnemic import EmbedderError, EmbedderUnavailable, Memory, MnemicError, SecretPolicy
from mnemic.cli import main as command
from mnemic.embedders import HashingEmbedder

SECRET = "ghp_" + "Zk7Qw2Lr9Tx4Vb6Nm1Jd8Hs3Fg5Pc0YaXe2R"
SAID = f"The token of the build is {SECRET}, and the lighthouse is white."


class Talkative(HashingEmbedder):
    """Fails, and repeats in its error what it was given."""

    error = EmbedderUnavailable

    def embed(self, texts, *, kind="document"):
        raise self.error(f"Cannot embed {list(texts)}.") from RuntimeError(f"request body: {texts!r}")


class Refuses(Talkative):
    error = EmbedderError


class Listener:
    """Everything that is told while it listens: logs with their tracebacks, warnings, errors that were raised."""

    def __init__(self, caplog, capfd):
        self._logs, self._printed, self._rest = caplog, capfd, []
        caplog.set_level(logging.DEBUG)

    def tried(self, call):
        """Do it; an error that it raises is read as a program would print it."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                self._rest.append(repr(call()))
            except MnemicError as error:
                self._rest += ["".join(traceback.format_exception(error)), repr(error)]
        self._rest += [str(warning.message) for warning in warned]

    def told(self):
        printed = self._printed.readouterr()
        return "\n".join([self._logs.text, printed.out, printed.err, *self._rest])


@pytest.fixture
def listener(caplog, capfd):
    return Listener(caplog, capfd)


@pytest.fixture(params=[HashingEmbedder, Talkative, Refuses])
def memory(request):
    with Memory(":memory:", user="ana", embedder=request.param()) as memory:
        yield memory


def silent(listener):
    told = listener.told()
    assert SECRET not in told, told[max(0, told.index(SECRET) - 500) :]
    return told


def test_a_memory(memory, listener):
    calls = [
        lambda: memory.add(SAID, id="m", name=SECRET, metadata={"key": SAID}, session=SECRET)[0],
        lambda: memory.add("Other words.", id="m")[0],
        lambda: memory.add("x", role=SECRET, id=SECRET)[0],
        lambda: memory.add_exchange(SAID, SAID),
        lambda: memory.remember(SAID, id="r", tags=[SECRET], category=SECRET, source_ids=[SECRET]),
        lambda: memory.remember("Plain.", id="plain"),
        lambda: memory.remember("Typed.", type=SECRET),
        lambda: memory.update("plain", content=SAID, source=SECRET),
        lambda: memory.update(SECRET, content="New."),
        lambda: memory.search(SAID),
        lambda: memory.search("x", recipe=SECRET),
        lambda: memory.search("x", reach=SECRET),
        lambda: memory.get_memory_context(SAID),
        lambda: memory.get(SECRET),
        lambda: memory.history(SECRET),
        lambda: memory.links.graph(SECRET),
        lambda: memory.links.add("plain", SECRET, "extends", reason=SAID),
        lambda: memory.admin.quarantine([SECRET], reason=SAID),
        lambda: memory.preferences.__setitem__(SECRET, SAID),
        lambda: memory.preferences.__getitem__(SECRET),
        lambda: memory.forget(SAID),
        lambda: memory.forget(ids=[SECRET], reason=SAID),
        lambda: memory.process(),
        lambda: memory.consolidate(),
        lambda: memory.admin.flush(),
        lambda: memory.undo(SECRET),
        lambda: memory.scoped(user=SECRET).remember(SAID),
        lambda: memory.scoped(project=SECRET, session=SECRET).add(SAID)[0],
        lambda: memory.list(),
        lambda: memory.messages(),
        lambda: memory.admin.log(),
        lambda: memory.stats(),
        lambda: memory.admin.verify(),
        lambda: memory,
    ]
    for call in calls:
        listener.tried(call)
    assert "[redacted: " in silent(listener)


@pytest.mark.parametrize("action", ["redact", "refuse"])
def test_files(tmp_path, listener, action):
    with Memory(":memory:", user="ana", embedder=Talkative(), secrets=SecretPolicy(action=action)) as memory:
        listener.tried(lambda: memory.remember(SAID))
        with Memory(":memory:", user="ana", embedder="hashing", secrets="allow") as open_one:
            open_one.remember(SAID)
            open_one.add(SAID, id=SECRET, session=SECRET)
            open_one.admin.export(tmp_path / "out.jsonl")
        listener.tried(lambda: memory.scoped(user="new").admin.import_from(tmp_path / "out.jsonl"))
    silent(listener)


def test_the_shell(tmp_path, listener):
    base = ["--embedder=hashing", f"--dir={tmp_path / 'm'}"]
    file = tmp_path / "said.jsonl"
    rows = [{"role": "user", "content": SAID, "id": SECRET}, {"role": SECRET, "content": SAID}]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    for words in (
        ["remember", SAID], ["remember", "--id", SECRET, "--category", SECRET, "A note."], ["add", SAID], ["import", str(file)],
        ["search", SAID], ["context", SAID], ["show", SECRET], ["forget", "--id", SECRET], ["list"], ["log"], ["stats"],
        ["doctor", "--deep"], ["process"], ["consolidate"],
        ["search", "x", "--since", SECRET], ["search", "x", f"--{SECRET}"], ["list", "--type", SECRET], [SECRET], ["hook", SECRET],
        ["import", f"{SECRET}.json"], ["add-document", f"{SECRET}.md"], ["list", "--config", f"{SECRET}.toml"],
        ["list", "--dir", f"{tmp_path}/{SECRET}"],
    ):  # fmt: skip
        listener.tried(lambda given=words: command([*base, *given]))
    silent(listener)


@pytest.mark.parametrize("words", [["--http", SECRET], ["--profile", SECRET], [SECRET], ["--config", f"{SECRET}.toml"]])
def test_the_server(tmp_path, listener, words):
    from mnemic_mcp import command as server
    from mnemic_mcp.options import parsed

    def run():
        with pytest.raises(SystemExit):
            sys.exit(server.run(parsed([f"--dir={tmp_path}", "--embedder=hashing", *words]), sys.stdout))

    listener.tried(run)
    assert "[redacted: " in silent(listener)


def test_langchain(memory, listener):
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    from langchain_mnemic import MnemicChatMessageHistory, MnemicMiddleware, MnemicRetriever, mnemic_tools

    def agent():
        return create_agent(
            GenericFakeChatModel(messages=iter([AIMessage("Well.")])), middleware=[MnemicMiddleware(memory, idle=False)]
        )

    given = {"messages": [HumanMessage(SAID, id="one")]}
    inside = {"configurable": {"thread_id": SECRET}}
    for call in (
        lambda: agent().invoke(given, inside) and None,
        lambda: asyncio.run(agent().ainvoke({"messages": [HumanMessage("Other words.", id="one")]}, inside)) and None,
        lambda: MnemicChatMessageHistory(memory, SECRET).add_messages([HumanMessage(SAID)]),
        lambda: MnemicRetriever(memory=memory).invoke(SAID),
        *(lambda tool=tool: tool.invoke({next(iter(tool.args)): SAID}) for tool in mnemic_tools(memory)),
    ):
        listener.tried(call)
    silent(listener)


def test_llama_index(memory, listener):
    from llama_index.core.llms import ChatMessage

    from llama_index.memory.mnemic import MnemicChatMemory, MnemicMemoryBlock, MnemicToolSpec

    chat = MnemicChatMemory(memory=memory, session_id=SECRET, idle=False)
    block = MnemicMemoryBlock(memory=memory, idle=False)
    asked = [ChatMessage(role="user", content=SAID)]
    given = {"correct": (SAID, SAID)}
    for call in (
        lambda: chat.put(asked[0]),
        lambda: chat.get(SAID) and None,
        lambda: asyncio.run(block.aget(asked, session_id=SECRET)),
        lambda: asyncio.run(block.aput(asked)),
        *(
            lambda tool=tool: tool.call(*given.get(tool.metadata.name, (SAID,))).content
            for tool in MnemicToolSpec(memory).to_tool_list()
        ),
    ):
        listener.tried(call)
    silent(listener)


def test_pydantic_ai(memory, listener):
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from pydantic_ai_mnemic import MnemicCapability

    capability = MnemicCapability(memory, idle=False, tools=False)
    agent = Agent(TestModel(custom_output_text="Well."), capabilities=[capability])
    listener.tried(lambda: asyncio.run(agent.run(SAID, conversation_id=SECRET)) and None)
    listener.tried(lambda: asyncio.run(agent.run("x" * 10, conversation_id=SECRET)) and None)
    silent(listener)
