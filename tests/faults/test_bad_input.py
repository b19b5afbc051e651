"""Every awkward input through every entrance: stored as it is, refused by a typed error, and never a later call the worse for it."""

import asyncio
import json
import time
import unicodedata

import pytest
from tests.battery import count, long, note
from tests.faults import corpus

from mnemic import InvalidInput, Memory, MemoryRecord, Message, MnemicError, SecretPolicy
from mnemic.cli import main as command

SHARE = count(10, 100) / 100
HANGS = 20.0
"""Seconds after which a call counts as hanging, on a machine as busy as it may be."""
LONGEST, QUERY = 1_000_000, 100_000
CANARY = "The lighthouse keeper repairs the brass clock on Sundays."
CASES = corpus.sampled(corpus.cases(), SHARE)
TEXTS = [case for case in CASES if isinstance(case.value, str)]
REFUSED = (ValueError, TypeError, RecursionError, corpus.Shout)
DOORS = CASES[:: 1 if long() else 3]
"""What goes through the doors of the frameworks, which lead to the same rooms."""


def kept(text: str) -> str:
    """A text as it is kept: lone surrogates become U+FFFD."""
    return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def plain(value: object, longest: int = LONGEST) -> bool:
    """Whether an entrance has to take it."""
    return isinstance(value, str) and len(value) <= longest and bool(kept(value).strip())


def loosely(text):
    """A text without what makes no other statement of it: how its letters are composed, and its white space."""
    return unicodedata.normalize("NFC", text).split()


class Trial:
    """A memory with something in it, and what has been tried on it."""

    def __init__(self) -> None:
        self.memory = Memory(":memory:", embedder="hashing", secrets="allow")
        self.memory.remember(CANARY, id="canary")
        self.tried = 0

    def attempt(self, case, call, *also: type[BaseException], longest=LONGEST):
        """What a call gives, or the typed error it raises."""
        began = time.monotonic()
        try:
            return call()
        except (MnemicError, *also) as error:
            return self.refused(case, error, forgiven=bool(also) or not plain(case.value, longest))
        finally:
            self.tried += 1
            assert time.monotonic() - began < HANGS, f"{case} hangs"

    @staticmethod
    def refused(case, error, *, forgiven):
        """An error that says something, about what need not be taken."""
        assert forgiven, f"{case}: refused by {error}"
        assert str(error), case
        return error

    def unharmed(self) -> None:
        """Nothing is lost, and searching works as before."""
        assert self.memory.search("Who repairs the brass clock?", k=1)[0].id == "canary"
        assert self.memory.get("canary").content == CANARY
        report = self.memory.verify()
        assert report.ok, report.findings


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
    note(f"bad input: {request.node.name}", calls=trial.tried - before, untyped=0, hangs=0, lost=0)


def test_remember(trial):
    for case in CASES:
        receipt = trial.attempt(case, lambda v=case.value: trial.memory.remember(v))
        if not isinstance(receipt, MnemicError):
            assert (receipt.outcome == "rejected") == (not kept(case.value).strip()), case
            if receipt.outcome != "rejected":
                held = trial.memory.get(receipt.id).content
                wanted = kept(case.value)
                same = loosely(held) == loosely(wanted) if receipt.outcome == "duplicate" else held == wanted
                assert same, case


def test_add(trial):
    for case in CASES:
        receipts = trial.attempt(case, lambda v=case.value: trial.memory.add([Message(role="user", content=v)]))
        if not isinstance(receipts, MnemicError) and receipts[0].outcome == "stored":
            assert trial.memory.get(receipts[0].id).content == kept(case.value), case


@pytest.mark.parametrize("field", ["id", "role", "name", "session", "metadata", "sent_at", "trust", "source"])
def test_every_field_of_a_message(trial, field):
    for case in CASES[:: 1 if long() else 3]:
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
    for case in CASES:
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
    for case in CASES[:: 3 if long() else 9]:
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
    for case in CASES[:: 1 if long() else 3]:
        key = trial.attempt(case, lambda v=case.value: memory.preferences.__setitem__(v, "x"), InvalidInput)
        if key is None and isinstance(case.value, str) and case.value.strip():
            assert memory.preferences[case.value] == "x", case
        trial.attempt(case, lambda v=case.value: memory.preferences.__setitem__("theme", v), InvalidInput)
        trial.attempt(case, lambda v=case.value: memory.link("canary", other, "references", reason=v), InvalidInput)
        trial.attempt(case, lambda v=case.value: memory.emotion(v), InvalidInput)


def test_processing_what_was_said(tmp_path):
    """The rules that make knowledge read all of it and lose none of it."""
    with Memory(tmp_path / "m", embedder="hashing", secrets="allow") as memory:
        said = [case.value for case in TEXTS if plain(case.value) and len(case.value) < 200_000]
        ids = memory.add([Message(role="user", content=text, session=f"s{i % 7}") for i, text in enumerate(said)]).ids
        report = memory.process()
        assert report.messages == len(ids)
        assert [memory.get(id_).content for id_ in ids] == [kept(text) for text in said]
        assert memory.verify().ok
        memory.consolidate()
        assert memory.verify().ok


def test_importing_files(tmp_path, capsys):
    for number, case in enumerate(corpus.files()):
        file = tmp_path / f"{number}.jsonl"
        file.write_bytes(case.value)
        code = command(["--dir", str(tmp_path / "m"), "--embedder", "hashing", "import", str(file)])
        printed = capsys.readouterr()
        assert code in (0, 1, 2), (case, printed)
        assert "Traceback" not in printed.err, (case, printed.err)
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        assert memory.verify().ok


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
        assert memory.verify().ok


# The doors of the frameworks. What their own schema refuses, they refuse by their own error, a ValueError; what is nested
# without end, or cannot be shown at all, they cannot even show in it.


def test_langchain(trial):
    from langchain_mnemic import mnemic_tools

    tools = {tool.name: tool for tool in mnemic_tools(trial.memory)}
    for case in DOORS:
        for name, argument in (("remember", "content"), ("recall", "query")):
            tool = tools[name]
            found = trial.attempt(case, lambda t=tool, a=argument, v=case.value: t.invoke({a: v}), *REFUSED)
            assert isinstance(found, Exception) or found is not None, case
    assert_stored(trial)


def test_llama_index(trial):
    from llama_index.memory.mnemic import MnemicToolSpec

    tools = {tool.metadata.name: tool for tool in MnemicToolSpec(trial.memory).to_tool_list()}
    for case in DOORS:
        for name, argument in (("remember", "content"), ("recall", "query")):
            tool = tools[name]
            trial.attempt(case, lambda t=tool, a=argument, v=case.value: t.call(**{a: v}), *REFUSED)
    assert_stored(trial)


def test_pydantic_ai(trial):
    from pydantic_ai import ToolFailed
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tools import RunContext
    from pydantic_ai.usage import RunUsage

    from pydantic_ai_mnemic import mnemic_toolset

    toolset = mnemic_toolset(trial.memory)
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())

    async def use(name, arguments):
        tools = await toolset.get_tools(context)
        validated = tools[name].args_validator.validate_python(arguments)
        return await toolset.call_tool(name, validated, context, tools[name])

    for case in DOORS:
        for name, argument in (("remember", "content"), ("recall", "query")):
            trial.attempt(
                case,
                lambda n=name, a=argument, v=case.value: asyncio.run(use(n, {a: v})),
                ToolFailed,
                *REFUSED,
            )
    assert_stored(trial)


async def test_mcp(trial):
    from mcp import Client

    from mnemic_mcp import memory_server

    said = [
        case
        for case in DOORS
        if isinstance(case.value, str) and kept(case.value) == case.value and len(case.value) <= LONGEST
    ]  # JSON has no surrogates
    async with Client(memory_server(trial.memory)) as client:
        for case in said:
            for name, argument in (("remember", "content"), ("recall", "query")):
                result = await client.call_tool(name, {argument: case.value})
                trial.tried += 1
                if result.is_error:
                    assert not plain(case.value, QUERY if name == "recall" else LONGEST), (case, result.content)
                    assert "Traceback" not in result.content[0].text
    assert_stored(trial, said)


def assert_stored(trial, said=DOORS) -> None:
    """What a door took is there, as it was said; of those that make the same statement, one."""
    held = {tuple(loosely(r.content)): r.content for r in trial.memory.list(limit=None, include_expired=True)}
    taken = [kept(case.value) for case in said if plain(case.value)]
    missing = [text for text in taken if tuple(loosely(text)) not in held]
    assert not missing, missing[:5]
    altered = {held[tuple(loosely(text))] for text in taken} - {*taken}
    assert not altered, list(altered)[:5]
