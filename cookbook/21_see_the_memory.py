"""See a memory: the explorer inside an application of your own, and the same views as one file.

Install: pip install "mnemic[minilm,web]" httpx

On your machine the command is enough: ``mnemic ui --user ana`` opens a browser.
"""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from mnemic import Memory, RetentionPolicy
from mnemic.web import Access, app, report


def main() -> None:
    kept = RetentionPolicy(contexts=100)
    with tempfile.TemporaryDirectory() as folder, Memory(folder, user="ana", retention=kept) as memory:
        remember(memory)
        answered(memory)
        served(memory)
        written(memory, Path(folder) / "memory.html")
    print("All as expected.")


def remember(memory: Memory) -> None:
    """Something to see: a value that was replaced, and a conversation."""
    memory.add("I moved to Lisbon.", name="Ana", sent_at=datetime(2026, 3, 9, 20, tzinfo=UTC))
    memory.add("My sister Eva visits in May.", name="Ana", sent_at=datetime(2026, 4, 27, 9, tzinfo=UTC))
    memory.process()
    memory.remember("Meets in the morning.", key="meetings.time")
    memory.remember("Meets after lunch.", key="meetings.time")


def served(memory: Memory) -> None:
    """Mounted behind your own login; here a test client stands in for the browser."""
    explorer = app(memory, read_only=True, access=Access(hosts=["testserver"]))  # the hosts of your site
    browser = TestClient(Starlette(routes=[Mount("/memory", explorer)]))
    replay = browser.get("/memory/recall?q=Who+visits+in+May%3F").text
    assert "My sister Eva visits in May." in replay
    assert "evidence strong" in replay
    timeline = browser.get("/memory/timeline").text
    assert timeline.index("Meets in the morning.") < timeline.index("the same key, meetings.time")
    assert browser.post("/memory/forget", headers={"origin": "http://testserver"}).status_code == 404  # read-only


def answered(memory: Memory) -> None:
    """Why did the agent say that? The context that it was given is kept, and the page of the answer shows it."""
    friday = memory.scoped(session="friday")
    friday.get_memory_context("Who visits in May?", max_tokens=300)  # an adapter does this
    friday.add_exchange("Who visits in May?", "Your sister Eva visits in May.")
    (given,) = memory.admin.contexts()
    browser = TestClient(app(memory, access=Access(hosts=["testserver"])))
    page = browser.get(f"/answer?number={given.number}").text
    assert "<mark>Eva</mark> <mark>visits</mark>" in page
    print(f"{given.question} {len([hit for hit in given.hits if hit.shown])} of {len(given.hits)} hits in the prompt")


def written(memory: Memory, file: Path) -> None:
    """``mnemic report`` writes the same file: no server, no network, no script."""
    file.write_text(report(memory), "utf-8")
    print(f"{file.name}: {file.stat().st_size:,} bytes")
    assert "<script" not in file.read_text("utf-8")


if __name__ == "__main__":
    main()
