"""What is done on every turn costs the same in a record of years: counted in steps of SQLite, not in time."""

import apsw
import pytest

from mnemic import Memory, Message
from mnemic.recall.context.assembly import READ

STEPS, SIZES = 100, (100, 500)
TURNS = {
    "messages of a session": lambda memory: memory.messages(reach="session"),
    "latest messages": lambda memory: memory.messages(limit=10, reach="user"),
    "list": lambda memory: memory.list(limit=5),
    "episodes of a session": lambda memory: memory.sessions.current().messages,
    "log": lambda memory: memory.admin.log(limit=5),
    "history": lambda memory: memory.history("fact-0"),
    "graph": lambda memory: memory.links.graph("fact-0"),
    "preferences": lambda memory: memory.preferences.__setitem__("theme", "dark"),
    "add": lambda memory: memory.add("One more line.")[0],
    "remember": lambda memory: memory.remember("Ana plays the violin."),
    "forget": lambda memory: memory.forget(ids=["fact-1"]),
    "forget by description": lambda memory: memory.forget("the tenant of nobody's lighthouse"),
    "process": lambda memory: (memory.add("I moved to Porto with my dog.")[0], memory.process()),
    "nothing to process": lambda memory: memory.process(),
    "episodes": lambda memory: memory.episodes(limit=5),
    "end of a session": lambda memory: memory.sessions.end(),
    "get": lambda memory: memory.get("m0"),
    "search": lambda memory: memory.search("tenant 7919"),
    "context": lambda memory: memory.get_memory_context("tenant 7919", max_tokens=200),
    "context of a new session": lambda memory: memory.get_memory_context(max_tokens=200),
}


@pytest.fixture
def steps(monkeypatch):
    """How many hundreds of steps SQLite has taken."""
    taken = []

    def counted(connection):
        connection.set_progress_handler(lambda: bool(taken.append(1)), STEPS)

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, counted])
    return taken


def filled(folder, size):
    """A record in which everything was processed long ago."""
    memory = Memory(folder, user="ana", session="now", embedder="hashing", durability="NORMAL")
    memory.add(
        Message(role="user", content=f"Line {n} of house {n}.", session=f"s{n // 10}", id=f"m{n}") for n in range(size)
    )
    for n in range(READ + size // 10):  # the start of a session looks at so many
        memory.remember(f"House {n} belongs to tenant {n * 7919 % 10_007}.", id=f"fact-{n}")
    memory.process()
    memory.add("Hello.")
    memory.search("house")  # opens the caches, which reads everything once
    return memory


def test_a_turn_costs_the_same_in_a_large_record(tmp_path, steps):
    taken = {}
    for size in SIZES:
        with filled(tmp_path / str(size), size) as memory:
            memory.preferences["theme"] = "light"
            for name, turn in TURNS.items():
                turn(memory)
                steps.clear()
                turn(memory)
                taken[size, name] = len(steps)
    grown = {name: (taken[SIZES[0], name], taken[SIZES[1], name]) for name in TURNS}
    assert {name: pair for name, pair in grown.items() if pair[1] > 2 * pair[0] + 5} == {}
    assert any(taken.values())
