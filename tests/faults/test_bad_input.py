"""Every awkward input through every entrance: stored as it is, refused by a typed error, and never a later call the worse for it."""

import asyncio
import functools
import io
import itertools
import json
import operator
import shutil
import time
from pathlib import Path

import pytest
from tests.battery import count, long, note
from tests.faults import corpus
from tests.faults.trial import CANARY, LONGEST, QUERY, Trial, kept, loosely, plain

from mnemic import InvalidInput, Memory, MemoryRecord, Message, MnemicError, SecretPolicy, cli
from mnemic.cli import main as command
from mnemic.text.markup import is_blank

SHARE = count(3, 100) / 100
ENORMOUS = 2_000_000


def length(case) -> int:
    return len(case.value) if isinstance(case.value, str) else 0


EVERY_LENGTH = sorted(corpus.sampled(corpus.cases(), SHARE), key=length)
"""The longest last: what else is recalled takes longer after them."""
CASES = [case for case in EVERY_LENGTH if long() or length(case) < ENORMOUS]
"""In the short form without the enormous, which go only through ``Memory`` itself and take seconds each."""
TEXTS = [case for case in CASES if isinstance(case.value, str)]
JSON = [case for case in TEXTS if kept(case.value) == case.value]
"""What can be written in UTF-8."""


@pytest.fixture
def trial():
    trial = Trial()
    with trial.memory:
        yield trial


@pytest.fixture(autouse=True)
def _noted(request, trial):
    before = trial.tried
    yield
    trial.unharmed()
    slowest = round(trial.slowest, 2)
    note(f"bad input: {request.node.name}", calls=trial.tried - before, slowest=slowest, untyped=0, hangs=0, lost=0)


def test_remember(trial):
    for case in CASES:
        receipt = trial.attempt(case, lambda v=case.value: trial.memory.remember(v))
        if not isinstance(receipt, MnemicError):
            assert (receipt.outcome == "rejected") == is_blank(kept(case.value)), case
            if receipt.outcome != "rejected":
                held = trial.memory.get(receipt.id).content
                wanted = kept(case.value)
                same = loosely(held) == loosely(wanted) if receipt.outcome == "duplicate" else held == wanted
                assert same, case


def test_add(trial):
    for case in CASES:
        receipts = trial.attempt(case, lambda v=case.value: trial.memory.add([Message(role="user", content=v)]))
        if not isinstance(receipts, MnemicError) and receipts[0].outcome == "stored":
            held = trial.memory.get(receipts[0].id).content
            assert not isinstance(case.value, str) or held == kept(case.value), case


@pytest.mark.parametrize("field", ["id", "role", "name", "session", "metadata", "sent_at", "trust", "source"])
def test_every_field_of_a_message(trial, field):
    for case in CASES:
        found = trial.attempt(
            case,
            lambda v=case.value: trial.memory.add([{"role": "user", "content": "A line.", field: v}]),
            InvalidInput,
        )
        if not isinstance(found, MnemicError):
            assert found[0].outcome in ("stored", "duplicate", "rejected"), case
    whole = trial.memory.add(
        [Message(role="user", content="x", metadata={kept(c.value): c.value for c in TEXTS[:500]})]
    )
    assert trial.memory.get(whole.ids[0]).metadata == {kept(c.value): kept(c.value) for c in TEXTS[:500]}


def test_search_and_context(trial):
    trial.memory.add([Message(role="user", content=c.value) for c in TEXTS if plain(c.value, 5_000)])
    for case in EVERY_LENGTH:
        result = trial.attempt(case, lambda v=case.value: trial.memory.search(v, k=3), longest=QUERY)
        assert isinstance(result, MnemicError) or len(result) <= 3, case
        if isinstance(case.value, str):
            packed = trial.attempt(
                case, lambda v=case.value: trial.memory.get_memory_context(v, max_tokens=50), longest=QUERY
            )
            assert isinstance(packed, MnemicError) or packed.token_count <= 50, case


@pytest.mark.parametrize("argument", ["session", "role", "tags", "metadata", "exclude", "kinds", "types", "status", "recipe",
                                      "reach", "since", "k", "mood", "expand_links", "min_similarity"])  # fmt: skip
def test_every_filter(trial, argument):
    for case in CASES:
        value = [case.value] if argument in ("tags", "exclude", "kinds", "types", "status") else case.value
        found = trial.attempt(case, lambda v=value: trial.memory.search("clock", **{argument: v}), InvalidInput)
        assert isinstance(found, MnemicError) or len(found) <= 10, case


def test_update_and_forget(trial):
    victim = trial.memory.remember("A note that changes.").id
    for case in CASES:
        receipt = trial.attempt(case, lambda v=case.value: trial.memory.update(victim, content=v))
        held = trial.memory.get(victim)
        assert isinstance(held, MemoryRecord)
        if not isinstance(receipt, MnemicError) and receipt.outcome == "stored":
            assert held.content == kept(case.value), case
        trial.attempt(case, lambda v=case.value: trial.memory.forget(ids=[v], reason=v), InvalidInput)
        trial.attempt(case, lambda v=case.value: trial.memory.forget(ids=["other"], reason=v), InvalidInput)
        trial.attempt(case, lambda v=case.value: trial.memory.get(v), InvalidInput)
        if isinstance(case.value, str) and "clock" not in case.value:
            trial.attempt(case, lambda v=case.value: trial.memory.forget(v), InvalidInput)
    trial.memory.restore("canary")


def test_names_of_scopes(trial):
    for case in CASES:
        for level in ("user", "project", "session"):
            handle = trial.attempt(case, lambda v=case.value, at=level: trial.memory.scoped(**{at: v}), InvalidInput)
            if isinstance(handle, Memory) and case.value is not None:
                handle.remember(f"Of {level} {trial.tried}.", level="session" if level == "session" else None)
                assert getattr(handle.scope, level) == getattr(case.value, "id", case.value), case


def test_preferences_links_and_sessions(trial):
    memory = trial.memory
    other = memory.remember("A neighbour of the clock.").id
    for case in CASES:
        key = trial.attempt(case, lambda v=case.value: memory.preferences.__setitem__(v, "x"), InvalidInput)
        if key is None and isinstance(case.value, str) and case.value.strip():
            assert memory.preferences[case.value] == "x", case
        trial.attempt(case, lambda v=case.value: memory.preferences.__setitem__("theme", v), InvalidInput)
        trial.attempt(
            case, lambda v=case.value: memory.links.add("canary", other, "references", reason=v), InvalidInput
        )
        trial.attempt(case, lambda v=case.value: memory.admin.emotion(v), InvalidInput)


def test_processing_what_was_said(tmp_path):
    """The rules that make knowledge read all of it and lose none of it."""
    with Memory(tmp_path / "m", embedder="hashing", secrets="allow") as memory:
        said = [case.value for case in TEXTS if plain(case.value) and len(case.value) < 200_000]
        ids = memory.add([Message(role="user", content=text, session=f"s{i % 7}") for i, text in enumerate(said)]).ids
        report = memory.process()
        assert report.messages == len(ids)
        assert [memory.get(id_).content for id_ in ids] == [kept(text) for text in said]
        assert memory.admin.verify().ok
        memory.consolidate()
        assert memory.admin.verify().ok


def test_processing_what_strange_people_said(tmp_path):
    """Names stand in the knowledge that is made, and hold what would be a pattern or a template elsewhere."""
    names = [case.value for case in TEXTS if plain(case.value, 1_000)] + ["\\", "\\1", "\\g<9>", "$1", "{0}", "(", "["]
    lines = ["I moved to Lisbon with my wife, and we like it; she told me so.", "We both gave you and your friend my old car.",
             "Our team is new here and it helps us. Let us say I and my sister work on ours.", "I have two cats and my dog is old."]  # fmt: skip
    with Memory(tmp_path / "m", embedder="hashing", secrets="allow") as memory:
        said = [
            Message(role="user", content=lines[(n + i) % 4], name=name, session=f"s{n}", id=f"{n}.{i}.{name[:20]}")
            for n, pair in enumerate(itertools.pairwise(names))
            for i, name in enumerate(pair * 2)
        ]
        receipts = memory.add(said)
        assert not receipts.rejected, receipts.rejected[:3]
        assert memory.process().messages == len(said)
        assert memory.admin.verify().ok
        assert any(record.speaker == "\\g<9>" for record in memory.list(limit=None))


def test_importing_files(tmp_path, capsys):
    for number, case in enumerate(corpus.files()):
        file = tmp_path / f"{number}.jsonl"
        file.write_bytes(case.value)
        code = command(["--dir", str(tmp_path / "m"), "--embedder", "hashing", "import", str(file)])
        printed = capsys.readouterr()
        assert code in (0, 1, 2), (case, printed)
        assert "Traceback" not in printed.err, (case, printed.err)
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        assert memory.admin.verify().ok


def test_importing_texts(tmp_path, capsys):
    said = [case.value for case in TEXTS if plain(case.value) and kept(case.value) == case.value]
    plainly = [
        text for text in said if not SecretPolicy().redacted(text)[1]
    ]  # of 20,000 numbers some are those of cards
    assert len(plainly) > 0.95 * len(said)
    said = plainly
    file = tmp_path / "said.jsonl"
    rows = [json.dumps({"role": "user", "content": text, "id": f"m{i}"}) for i, text in enumerate(said)]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert command(["--dir", str(tmp_path / "m"), "--embedder", "hashing", "import", str(file)]) == 0
    capsys.readouterr()
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        held = {message.content for message in memory.messages(limit=None)}
        assert {kept(text) for text in said} <= held
        assert memory.admin.verify().ok


# Entrances that take one value, and what of them is given.

ARGUMENTS = {
    "messages": ["session", "since", "until", "role", "reach", "limit"],
    "list": ["order", "limit", "offset", "types", "tags", "metadata", "status", "since", "known_at", "min_trust"],
    "episodes": ["session", "since", "reach", "limit"],
    "history": ["id"],
    "links.graph": ["id", "depth", "types"],
    "admin.log": ["kinds", "operations", "before", "limit"],
    "undo": ["consolidation_id"],
    "admin.release": ["ids"],
    "links.remove": ["source", "target", "type"],
    "links.add": ["source", "target", "type", "strength"],
    "admin.quarantine": ["ids", "source", "session"],
    "consolidate": ["importance_threshold", "similarity_threshold", "min_age_hours"],
    "process": ["limit"],
    "get_memory_context": ["max_tokens", "kinds", "exclude", "tags", "metadata", "since", "now", "min_trust", "recipe", "min_evidence"],
    "remember": ["type", "category", "tags", "metadata", "importance", "source_ids", "valid_at", "delete_after", "source", "level", "id"],
    "update": ["id", "type", "category", "tags", "metadata", "importance", "valid_at", "invalid_at", "delete_after", "source"],
    "add": ["messages", "role", "name", "sent_at", "id", "session", "metadata"],
    "add_exchange": ["user", "assistant", "sent_at", "session"],
}  # fmt: skip
GIVEN = {
    "links.graph": {"id": "canary"},
    "links.remove": {"source": "canary", "target": "other"},
    "links.add": {"source": "canary", "target": "other", "type": "extends"},
    "consolidate": {"dry_run": True},
    "get_memory_context": {"query": "clock"},
    "remember": {"content": "A note."},
    "update": {"id": "other"},
    "add": {"messages": "A line."},
    "add_exchange": {"user": "A question.", "assistant": "An answer."},
}


@pytest.mark.parametrize("method", ARGUMENTS)
def test_every_other_argument(trial, method):
    """Values of wrong types, too, are refused by an error of ours and never by one of Python's."""
    trial.memory.remember("A neighbour of the clock.", id="other")
    for number, case in enumerate(CASES):
        for argument in ARGUMENTS[method]:
            given = {**GIVEN.get(method, {}), argument: case.value}
            for name in {"content", "messages"} - {argument}:
                if isinstance(text := given.get(name), str):
                    given[name] = f"{text} It is {number} of {argument}."
            trial.attempt(case, lambda g=given: operator.attrgetter(method)(trial.memory)(**g), InvalidInput)


def test_files_that_are_none(trial, tmp_path, monkeypatch):
    """Of paths only those are tried that lead nowhere but into a folder of the test."""
    monkeypatch.chdir(tmp_path)
    stranger = trial.memory.scoped(user="another")
    stranger.remember("Something to write out.")
    wrong = [
        corpus.Case("files", value)
        for value in (0, 2.5, None, [{}], [0], [b"{}"], bytearray(b"{}"), b"{}", io.BytesIO(b"{}"), range(2))
    ]
    empty = trial.memory.scoped(user="nobody")
    for case in (*wrong, *CASES):
        found = trial.attempt(case, lambda v=case.value: empty.admin.import_from(v), InvalidInput)
        assert isinstance(found, MnemicError), case
        if inside(case.value, tmp_path):
            for call in (stranger.admin.export, stranger.admin.backup):
                trial.attempt(case, lambda c=call, v=case.value: c(v), InvalidInput)
            for left in tmp_path.iterdir():  # or the same name once more would be an export that can be read
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    assert empty.list(limit=None) == []


def inside(value, folder: Path) -> bool:
    """Whether what is written to a path stays in a folder; what is no path is written nowhere."""
    if not isinstance(value, (str, Path)):
        return True
    try:
        return (folder / Path(value).expanduser()).resolve().is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):  # no path at all
        return True


# The entrances of the frameworks: texts they take and keep as they are; what their own schema refuses they refuse by an error of
# their own, a ValueError; what is nested without end, or cannot be shown at all, they cannot even show in it.

USES = [("remember", "content"), ("recall", "query"), ("forget", "description"), ("forget", "ids")]
tools = pytest.mark.parametrize(("tool", "argument"), USES)


def used(trial, tool, argument, call, *also, turn):
    """A tool of a framework with cases as an argument; in the short form each framework has another third of them."""
    cases = some(CASES, turn)
    for number, case in enumerate(cases):
        note_ = f"note {number}"
        if argument == "ids":
            named = trial.attempt(case, lambda v=case.value, n=note_: trial.memory.remember(n, id=v), InvalidInput)
        value = [case.value] if argument == "ids" else case.value
        longest = {"content": LONGEST, "query": QUERY}.get(argument, 0)
        answer = trial.framework(case, lambda v=value: call(tool, {argument: v}), *also, longest=longest)
        assert answer is not None, case
        if (
            argument == "ids"
            and not isinstance(named, MnemicError)
            and named.outcome == "stored"
            and named.id == case.value
        ):
            assert trial.memory.get(named.id).status == "archived", (case, answer)
    if tool == "remember":
        trial.holds(cases)


@tools
def test_tools_of_langchain(trial, tool, argument):
    from langchain_mnemic import mnemic_tools

    made = {tool.name: tool for tool in mnemic_tools(trial.memory)}
    used(trial, tool, argument, lambda name, given: made[name].invoke(given), turn=0)


@tools
def test_tools_of_llama_index(trial, tool, argument):
    from llama_index.memory.mnemic import MnemicToolSpec

    made = {tool.metadata.name: tool for tool in MnemicToolSpec(trial.memory).to_tool_list()}
    used(trial, tool, argument, lambda name, given: made[name].call(**given), turn=1)


@tools
def test_tools_of_pydantic_ai(trial, tool, argument):
    from pydantic_ai import ToolFailed
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tools import RunContext
    from pydantic_ai.usage import RunUsage

    from pydantic_ai_mnemic import mnemic_toolset

    toolset = mnemic_toolset(trial.memory)
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())

    async def use(name, given):
        made = await toolset.get_tools(context)
        validated = made[name].args_validator.validate_python(given)
        return await toolset.call_tool(name, validated, context, made[name])

    with asyncio.Runner() as loop:
        used(trial, tool, argument, lambda name, given: loop.run(use(name, given)), ToolFailed, turn=2)


MCP = {
    "default": {"remember": "content category tags", "recall": "query tags since", "forget": "description ids", "context": "query"},
    "memory-server": {"store_memory": "content type metadata", "search_memories": "query", "get_memory_context": "query"},
    "ooda": {"remember": "content", "update": "id content category tags", "list": "tags type order", "graph": "id", "delete": "description ids"},
}  # fmt: skip
"""The tools of every profile, and their arguments that are tried."""
TAKEN = {"content": "A note.", "query": "clock", "id": "other"}


@pytest.mark.parametrize("profile", MCP)
async def test_mcp(trial, profile):
    from mcp import Client

    from mnemic_mcp import memory_server

    trial.memory.remember("A neighbour of the clock.", id="other")
    asked = [(name, argument) for name, words in MCP[profile].items() for argument in words.split()]
    async with Client(memory_server(trial.memory, profile=profile)) as client:
        for turn, (name, argument) in enumerate(asked):
            cases = some(JSON, turn)
            needed = {key: given for key, given in TAKEN.items() if key in MCP[profile][name].split()}
            longest = {"content": LONGEST, "query": QUERY}.get(argument, 0) if name != "update" else 0
            for case in cases:
                value = [case.value] if argument in ("tags", "ids") else case.value
                began = time.process_time()
                result = await client.call_tool(name, {**needed, argument: value})
                trial.timed(case, time.process_time() - began)
                said = result.content[0].text if result.is_error else ""
                assert not said or not plain(case.value, longest), (case, name, argument, said)
                assert "Traceback" not in said, case
            if argument == "content" and name != "update":
                trial.holds(cases)


def some(cases, turn):
    """In the short form every third, others in each turn: what goes through a whole agent takes its time."""
    return cases if long() else cases[turn % 3 :: 3]


def heard(trial, **where) -> list[str]:
    return [message.content for message in trial.memory.messages(limit=None, **where)]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_middleware_of_langchain(trial, asynchronous):
    """A text of any length is stored whole, if need be in pieces, and the agent answers."""
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from langchain_mnemic import MnemicMiddleware

    model = GenericFakeChatModel(messages=(AIMessage("Well.") for _ in itertools.count()))
    agent = create_agent(model, middleware=[MnemicMiddleware(trial.memory, idle=False)])

    with asyncio.Runner() as loop:
        for number, case in enumerate(some(CASES, asynchronous)):
            given = (
                {"messages": [{"role": "user", "content": case.value}]},
                {"configurable": {"thread_id": f"t{number}"}},
            )
            found = trial.framework(
                case, lambda g=given: loop.run(agent.ainvoke(*g)) if asynchronous else agent.invoke(*g), longest=10**9
            )
            said = heard(trial, session=f"t{number}")
            if isinstance(found, Exception):
                assert said == [], case
            elif plain(case.value, 10**9):
                assert "".join(said) == kept(case.value) + "Well.", case
            strange = {"configurable": {"thread_id": case.value}}
            trial.framework(
                case,
                lambda s=strange: agent.invoke({"messages": [{"role": "user", "content": "Hm."}]}, s),
                longest=case in JSON and 1_000,
            )


def test_history_of_langchain(trial):
    """What is read equals what was added, in content and in all else."""
    from langchain_core.messages import AIMessage, HumanMessage

    from langchain_mnemic import MnemicChatMessageHistory

    for number, case in enumerate(CASES):
        history = MnemicChatMessageHistory(trial.memory, f"s{number}")
        whole = case in JSON  # names and fields are never altered

        def talk(value=case.value, history=history):
            said = [HumanMessage(content=value, additional_kwargs={"k": value}), AIMessage(content=value)]
            history.add_messages(said)
            return said, history.messages

        found = trial.framework(case, talk, longest=whole and LONGEST)
        if isinstance(found, Exception):
            assert history.messages == [], case
        elif isinstance(case.value, str):
            said, read = found
            assert [m.content for m in read] == [kept(m.content) for m in said], case
            assert [m.type for m in read] == ["human", "ai"], case
            assert read[0].additional_kwargs == {"k": kept(case.value)}, case
        trial.framework(
            case, lambda v=case.value: MnemicChatMessageHistory(trial.memory, v).messages, longest=whole and 1_000
        )


def test_memory_of_langchain(trial):
    from langchain_mnemic import MnemicMemory

    for number, case in enumerate(CASES):
        chain = MnemicMemory(memory=trial.memory, session=f"s{number}", return_messages=True)
        given = {"input": case.value}
        saved = trial.framework(case, lambda c=chain, g=given: c.save_context(g, {"output": g["input"]}))
        if saved is None and isinstance(case.value, str):
            read = chain.load_memory_variables({})["memory_context"][-2:]
            assert [m.content for m in read] == [kept(case.value)] * 2, case
        elif saved is not None:
            assert chain.chat_memory.messages == [], case
        trial.framework(case, lambda c=chain, g=given: c.load_memory_variables(g), longest=QUERY)


def test_retrievers(trial):
    from langchain_mnemic import MnemicRetriever
    from llama_index.memory.mnemic import MnemicRetriever as NodeRetriever

    trial.memory.add([Message(role="user", content=c.value) for c in TEXTS if plain(c.value, 5_000)])
    chain, nodes = MnemicRetriever(memory=trial.memory, k=3), NodeRetriever(trial.memory, similarity_top_k=3)
    for case, ask in itertools.product(CASES, (chain.invoke, nodes.retrieve)):
        found = trial.framework(case, lambda a=ask, v=case.value: a(v), AttributeError, longest=QUERY)
        assert isinstance(found, Exception) or len(found) <= 3, case


def test_chat_memory_of_llama_index(trial):
    from llama_index.core.llms import ChatMessage

    from llama_index.memory.mnemic import MnemicChatMemory

    for number, case in enumerate(some(CASES, 1)):
        chat = MnemicChatMemory(memory=trial.memory, session_id=f"s{number}", idle=False)

        def talk(value=case.value, chat=chat):
            chat.put(ChatMessage(role="user", content=value))
            return chat.get_all()[-1].content, chat.get()

        found = trial.framework(case, talk, longest=10**9)
        said = heard(trial, session=f"s{number}")
        if isinstance(found, Exception):
            assert said == [], case
        elif plain(case.value, 10**9):
            assert found[0] == case.value, case
            assert "".join(said) == kept(case.value), case
        trial.framework(case, lambda v=case.value, c=chat: c.get(v), AttributeError, longest=10**9)


async def test_memory_block_of_llama_index(trial):
    from llama_index.core.llms import ChatMessage

    from llama_index.memory.mnemic import MnemicMemoryBlock

    block = MnemicMemoryBlock(memory=trial.memory, idle=False)
    for number, case in enumerate(some(TEXTS, 2)):
        messages = [ChatMessage(role="user", content=case.value, additional_kwargs={"session_id": f"s{number}"})]
        began = time.process_time()
        text = await block.aget(messages, session_id=f"s{number}")
        await block.aput(messages)
        trial.timed(case, time.process_time() - began)
        assert isinstance(text, str), case
        said = "".join(heard(trial, session=f"s{number}"))
        assert said == (kept(case.value) if plain(case.value, 10**9) else ""), case


@pytest.mark.parametrize("inject", ["instructions", "user"])
def test_capability_of_pydantic_ai(trial, inject):
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from pydantic_ai_mnemic import MnemicCapability

    capability = MnemicCapability(trial.memory, inject=inject, idle=False, tools=False)
    agent = Agent(TestModel(custom_output_text="Well."), capabilities=[capability])
    asked = [
        (case, name, prompt)
        for number, case in enumerate(some(TEXTS, inject == "user"))
        for name, prompt in ((f"s{number}", case.value), (f"l{number}", [case.value, "."]))
    ]
    with asyncio.Runner() as loop:  # run_sync would leave a loop of its own open
        for case, name, prompt in asked:
            trial.framework(case, lambda p=prompt, n=name: loop.run(agent.run(p, conversation_id=n)), longest=10**9)
            said = "".join(heard(trial, session=name))
            wanted = kept(case.value) if prompt is case.value else "\n".join(filter(None, [kept(case.value), "."]))
            assert said == ("" if is_blank(wanted) else wanted) + "Well.", case


# The shell. A word of a command holds no NUL, and bytes that are no UTF-8 come as lone surrogates.

COMMANDS = [
    ["remember", "--tag={}", "--", "{}"], ["remember", "--category={}", "--id={}", "--", "A note."],
    ["add", "--role={}", "--", "{}"], ["add", "--name={}", "--id={}", "--session={}", "--", "A line."],
    ["search", "--tag={}", "--", "{}"], ["search", "--recipe={}", "clock"], ["context", "--session={}", "--", "{}"],
    ["forget", "--reason={}", "--id={}"], ["forget", "--", "{}"], ["restore", "--", "{}"], ["show", "--", "{}"],
    ["graph", "--", "{}"], ["log", "--limit={}"], ["link", "--reason={}", "--", "{}", "{}", "extends"],
    ["unlink", "--", "{}", "{}"], ["undo", "--", "{}"], ["prefer", "--", "{}", "{}"], ["prefer", "--remove", "--", "{}"],
    ["list", "--tag={}"], ["stats", "--user={}"], ["stats", "--project={}"], ["stats", "--timezone={}"],
    ["list", "--kind=episode", "--session={}"], ["end-session", "--session={}"], ["export", "--user={}", "-"], ["import", "--", "{}"],
    ["users", "--dir={}"], ["search", "-k={}", "x"], ["list", "--limit={}"], ["list", "--offset={}"],
    ["search", "--since={}", "x"], ["remember", "--importance={}", "x"], ["consolidate", "--min-age-hours={}"],
]  # fmt: skip
SHELL = [
    corpus.Case(case.group, case.value.encode(errors="surrogatepass").decode(errors="surrogateescape"))
    for case in TEXTS
    if "\0" not in case.value and len(case.value) < 100_000
]


def test_commands(tmp_path, capsys, monkeypatch):
    """Every case in some commands, and in the long form in all: an exit code, a line of error at most, and nothing lost."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "make_parser", functools.cache(cli.make_parser))  # slower than most commands
    base = ["--embedder=hashing", "--dir=m"]
    assert command([*base, "remember", CANARY]) == 0
    turns = itertools.cycle(COMMANDS)
    for case in SHELL:
        for words in COMMANDS if long() else [COMMANDS[0], *itertools.islice(turns, 3)]:
            if words[1] == "--dir={}" and case.value.startswith("postgres"):
                continue
            given = [word.replace("{}", case.value) for word in words]
            capsys.readouterr()
            code = command([*base, *given])
            printed = capsys.readouterr()
            assert code in (0, 1, 2), (given, printed)
            assert "Traceback" not in printed.err, (given, printed.err)
            lines = printed.err.removesuffix("\n").split("\n")
            usage = lines[0].startswith("usage: ")
            assert len(lines) == 1 or usage, (given, printed.err)
            assert code != 2 or lines[-1].startswith("mnemic"), (given, printed.err)
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        assert memory.admin.verify().ok
