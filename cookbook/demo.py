"""A long conversation through two frameworks into one memory, asked about from a new process.

Half of the sessions are talked through with a LangChain agent (``create_agent`` with ``MnemicMiddleware``), the other half
with a LlamaIndex chat engine (``SimpleChatEngine`` with ``MnemicChatMemory``), in turn, over one memory folder. No model
is asked: the one that plays the assistant reads its lines from the file. After a session the facts of
cookbook/facts.json are remembered, each with a key, as an agent would with the tool ``remember``. Then the memory is
closed, a new process opens it and asks five questions whose answers lie sessions back.

    make demo                                   the conversation in cookbook/conversation.json
    make demo CONVERSATION=path/to/locomo.json  a file in the shape of LoCoMo

Of a LoCoMo file the first conversation takes this way; the others are imported beside it, each as a user of its own. The
exit code is 1 when fewer than four of the questions about our own conversation have their evidence in the context.

Install: pip install "mnemic[langchain,llama-index]"
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from mnemic import EmbedderUnavailable, Hit, Memory, Message, MnemicError, OnnxEmbedder
from mnemic.cli.doctor import weights_of
from mnemic.transfer import imports

HERE = Path(__file__).resolve().parent
OURS = HERE / "conversation.json"
BUDGET = 400  # tokens of each context
QUESTIONS, ENOUGH = 5, 4
WIDTH = 110

Talk = Callable[[str, Sequence[Message]], None]
"""Talks one session through: its name and its turns."""


# What is talked through


@dataclass(frozen=True)
class Question:
    """A question, what the file says is the answer, and the ids of the turns that hold it."""

    text: str
    answer: str
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Script:
    """A conversation to replay, what to ask about it, and the other conversations of the file."""

    user: str
    messages: list[Message]
    questions: list[Question]
    others: dict[str, list[Message]] = field(default_factory=dict)
    facts: list[dict[str, str]] = field(default_factory=list)
    strict: bool = False

    @property
    def sessions(self) -> list[tuple[str, list[Message]]]:
        return [(str(name), list(turns)) for name, turns in groupby(self.messages, key=lambda m: m.session)]


def load(path: Path) -> Script:
    """The script in a file: LoCoMo brings its questions along, other files have a questions.json beside them."""
    reading = imports.read(path, strict=True)
    messages = [dated(message) for message in reading.messages]
    if reading.format == "locomo":
        talks = {name: [*turns] for name, turns in groupby(messages, key=lambda m: str(m.session).partition(":")[0])}
        user, data = next(iter(talks)), json.loads(path.read_text(encoding="utf-8-sig"))
        sample = data[0] if isinstance(data, list) else data
        turns = talks.pop(user)
        return Script(user, turns, of_each_category(sample.get("qa", ()), user, turns), talks)
    ids = {m.id for m in messages}
    asked = json.loads((path.parent / "questions.json").read_text(encoding="utf-8"))
    questions = [Question(q["question"], q["answer"], tuple(q["gold"])) for q in asked]
    user = next(m.name or m.role for m in messages if m.role == "user")
    facts = json.loads((path.parent / "facts.json").read_text(encoding="utf-8")) if path == OURS else []
    return Script(user.lower(), messages, [q for q in questions if ids >= {*q.gold}], facts=facts, strict=True)


def dated(message: Message) -> Message:
    """With a time that has a zone: files that name none mean UTC here."""
    moment = message.sent_at or datetime.now(UTC)
    return replace(message, sent_at=moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def of_each_category(asked: Sequence[dict[str, Any]], name: str, messages: Sequence[Message]) -> list[Question]:
    """The first question of each of LoCoMo's categories whose evidence is in the conversation."""
    ids = {m.id for m in messages}
    found: dict[int, Question] = {}
    for item in asked:
        gold = tuple(f"{name}:{turn}" for turn in item.get("evidence", ()))
        if gold and ids >= {*gold}:
            answer = str(item.get("answer", "nothing: the question is a trap"))
            found.setdefault(item["category"], Question(item["question"], answer, gold))
    return [found[category] for category in sorted(found)][:QUESTIONS]


def exchanges(turns: Sequence[Message]) -> Iterator[tuple[list[Message], Message | None]]:
    """Turns as what the user says in a row, and what the assistant answers (None: nothing)."""
    said: list[Message] = []
    for turn in turns:
        if turn.role == "assistant":
            yield said, turn
            said = []
        else:
            said.append(turn)
    if said:
        yield said, None


def stamp(message: Message) -> dict[str, str]:
    """When a message was said, as both adapters read it from ``additional_kwargs``."""
    return {"sent_at": message.sent_at.isoformat()} if message.sent_at else {}


@dataclass
class Prompts:
    """How many prompts the assistant was given, and how many of them held something recalled."""

    seen: int = 0
    informed: int = 0

    def look(self, text: str) -> None:
        self.seen += 1
        self.informed += "<memory " in text


# The two frameworks


def langchain(memory: Memory, prompts: Prompts) -> Talk:
    """A LangChain agent; each session is a thread of its own."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.checkpoint.memory import InMemorySaver

    from langchain_mnemic import MnemicMiddleware

    class Reader(BaseChatModel):
        """A model that says its next line."""

        line: AIMessage = AIMessage("")

        @property
        def _llm_type(self) -> str:
            return "reader"

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            prompts.look("\n".join(message.text for message in messages))
            return ChatResult(generations=[ChatGeneration(message=self.line)])

    model = Reader()
    agent = create_agent(model, middleware=[MnemicMiddleware(memory)], checkpointer=InMemorySaver())

    def of(kind, message: Message):
        return kind(message.content, id=message.id, name=message.name, additional_kwargs=stamp(message))

    def talk(session: str, turns: Sequence[Message]) -> None:
        for said, answer in exchanges(turns):
            model.line = of(AIMessage, answer) if answer else AIMessage("")
            heard = [of(HumanMessage, message) for message in said]
            agent.invoke({"messages": heard}, {"configurable": {"thread_id": session}})

    return talk


def llama_index(memory: Memory, prompts: Prompts) -> Talk:
    """A LlamaIndex chat engine for each session."""
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
    from llama_index.core.chat_engine import SimpleChatEngine
    from llama_index.core.llms import CustomLLM

    from llama_index.memory.mnemic import MnemicChatMemory

    class Reader(CustomLLM):
        """A model that says its next line."""

        line: str = ""

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(model_name="reader", is_chat_model=True)

        def complete(self, prompt, formatted=False, **kwargs):
            return CompletionResponse(text=self.line)

        def stream_complete(self, prompt, formatted=False, **kwargs):
            yield CompletionResponse(text=self.line, delta=self.line)

        def chat(self, messages, **kwargs):
            prompts.look("\n".join(message.content or "" for message in messages))
            return ChatResponse(message=ChatMessage(role="assistant", content=self.line))

    class ScriptedMemory(MnemicChatMemory):
        """The engine hands over bare text; here each message gets the name and the date it has in the script."""

        script: list[dict[str, str]]

        def put(self, message: ChatMessage) -> None:
            super().put(message.model_copy(update={"additional_kwargs": self.script.pop(0)}))

    model = Reader()

    def talk(session: str, turns: Sequence[Message]) -> None:
        script = [{"name": m.name or m.role, **stamp(m)} for m in turns]
        chat = ScriptedMemory(memory=memory, session_id=session, script=script)
        engine = SimpleChatEngine.from_defaults(llm=model, memory=chat)
        for said, answer in exchanges(turns):
            model.line = answer.content if answer else ""
            asked = said.pop().content if said and answer else None
            for message in said:  # more than one in a row, or the last words of a session: nobody answers
                chat.put(ChatMessage(role="user", content=message.content))
            if asked is not None:
                engine.chat(asked)
            elif answer:  # the assistant speaks first
                chat.put(ChatMessage(role="assistant", content=model.line))

    return talk


# The show


class Clock:
    """How long each part takes, in seconds, added up under its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def __str__(self) -> str:
        return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in self.seconds.items())


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def loaded(name: str | None, clock: Clock) -> str | OnnxEmbedder:
    """The embedder, ready; says where its weights come from."""
    print(f"Weights: {weights_of(name)[0]}.")
    if name is not None:
        return name
    embedder = OnnxEmbedder()
    try:
        with clock.part("model"):
            embedder.load()
    except EmbedderUnavailable as error:
        print(f"They cannot be had: everything is found by keyword instead.\n{error}")
    else:
        print(f"         Ready in {clock.seconds['model']:.2f} s.")
    return embedder


def remember(script: Script, folder: Path, embedder: str | None) -> int:
    """Talk the conversation through in the order in which it was held; returns how many turns are not there."""
    clock, prompts = Clock(), Prompts()
    title("1. Two frameworks, one memory")
    sessions = script.sessions
    begun, ended = script.messages[0].sent_at, script.messages[-1].sent_at
    print(f"{len(script.messages)} turns in {len(sessions)} sessions, {begun:%d %B %Y} to {ended:%d %B %Y}.")
    with Memory(folder, user=script.user, embedder=loaded(embedder, clock)) as memory:
        with clock.part("loading the frameworks"):
            ways = (("LangChain", langchain(memory, prompts)), ("LlamaIndex", llama_index(memory, prompts)))
        for number, (session, turns) in enumerate(bar(sessions, "talking")):
            name, talk = ways[number % 2]
            with clock.part(name):
                talk(session, turns)
            for fact in (one for one in script.facts if one["session"] == session):
                memory.remember(fact["content"], key=fact["key"], valid_at=turns[-1].sent_at)
        for number, (name, _) in enumerate(ways):
            part = sessions[number::2]
            turns = sum(len(turns) for _, turns in part)
            print(f"Through {name}: {len(part)} sessions, {turns} turns in {clock.seconds[name]:.2f} s.")
        print(f"Earlier words were recalled into {prompts.informed} of {prompts.seen} prompts.")
        held = {(m.content.strip(), m.sent_at) for m in memory.messages()}
        kept = sum((m.content.strip(), m.sent_at) in held for m in script.messages)
        print(f"{kept} of {len(script.messages)} turns are stored with the date they had.", flush=True)
        beside(script, memory, clock)
    print(f"Closed. Times: {clock}.")
    return len(script.messages) - kept


def beside(script: Script, memory: Memory, clock: Clock) -> None:
    """Import the other conversations of the file, each as a user of its own."""
    if not script.others:
        return
    parts = [(u, turns[i : i + 64]) for u, turns in script.others.items() for i in range(0, len(turns), 64)]
    with clock.part("the other users"):
        for user, turns in bar(parts, "importing"):
            memory.scoped(user=user).add(turns)
    rest = sum(map(len, script.others.values()))
    print(f"{rest} turns of {', '.join(script.others)} were imported, each as a user of its own.")


def bar(parts: Sequence[Any], what: str) -> Iterator[Any]:
    """The parts, with a progress bar on a terminal."""
    from tqdm import tqdm

    return iter(tqdm(parts, desc=what, disable=None, leave=False))


def ask(script: Script, folder: Path, embedder: str | None) -> bool:
    """Ask the questions; returns whether enough of them have their evidence in the context."""
    clock = Clock()
    title(f"2. A new process asks {script.user}'s memory")
    print(f"Weights: {weights_of(embedder)[0]}.")
    texts = {m.id: m.content.strip() for m in script.messages}
    complete = 0
    with clock.part("opening"):
        memory = Memory(folder, user=script.user, embedder=embedder)
    with memory:
        for number, question in enumerate(script.questions, start=1):
            gold = {texts[turn] for turn in question.gold}
            part = "the first question, with loading the model" if number == 1 else "the others"
            with clock.part(part):
                found = memory.search(question.text, k=5)
                context = memory.get_memory_context(question.text, max_tokens=BUDGET)
            there = gold & {hit.text.strip() for hit in context.hits}
            complete += there == gold
            title(f"Question {number}: {question.text}")
            print(f"Expected: {question.answer}\n\nFound, best first (* is the expected evidence):")
            for hit in found:
                print(evidence_line(hit, gold))
            print(f"\nContext: {context.token_count} of {BUDGET} tokens, graded {context.evidence}", end="")
            print(f", with {len(there)} of {len(gold)} evidence turns")
            print(textwrap.indent(context.text, "    | "))
    title("3. What came of it")
    print(f"{complete} of {len(script.questions)} questions have all their evidence within {BUDGET} tokens.")
    print(f"Times: {clock}.", flush=True)
    return complete >= min(ENOUGH, len(script.questions))


def evidence_line(hit: Hit, gold: set[str]) -> str:
    mark = "*" if hit.text.strip() in gold else " "
    when = f"{hit.sent_at:%d %b %Y}" if hit.sent_at else "undated"
    return f"  {mark} {when}  {hit.speaker or 'remembered'}: {textwrap.shorten(hit.text, WIDTH, placeholder=' ...')}"


def emptied(folder: Path) -> None:
    """Remove the memory of an earlier run; anything else in the way is left alone."""
    if (folder / "mnemic.db").exists():
        shutil.rmtree(folder)
    elif folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} holds something that is no memory. Name another folder with --dir.")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conversation", nargs="?", type=Path, default=OURS, help="default: our own")
    parser.add_argument("--dir", type=Path, default=HERE.parent / ".demo", help="the memory folder; default: .demo")
    parser.add_argument("--embedder", help='as for Memory, such as "hashing"; default: all-MiniLM-L6-v2')
    parser.add_argument("--ask", action="store_true", help="only ask: the part of the second process")
    return parser.parse_args()


def main() -> int:
    given = options()
    try:
        script = load(given.conversation)
    except (OSError, MnemicError) as error:
        print(f"{given.conversation} cannot be used: {error}", file=sys.stderr)
        return 2
    if given.ask:
        return 0 if ask(script, given.dir, given.embedder) or not script.strict else 1
    began = time.perf_counter()
    emptied(given.dir)
    missing = remember(script, given.dir, given.embedder)
    sys.stdout.flush()
    again = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--ask"], check=False)
    print(f"Everything together took {time.perf_counter() - began:.1f} s.")
    command = f"{Path(sys.executable).parent / 'mnemic'} --dir {given.dir} --user {script.user}"
    print(f'Look around: {command} search "..."   or in the browser: {command} ui')
    return again.returncode or (1 if missing else 0)


if __name__ == "__main__":
    sys.exit(main())
