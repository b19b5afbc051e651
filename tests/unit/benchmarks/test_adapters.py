"""The measure of adapters: what is compared with what."""

import asyncio

from benchmarks.speed import adapters

from mnemic import Memory


def busy(times: int):
    return lambda _: sum(range(times))


def compared(adapter, alone=None, core=None, warm=lambda _: None):
    return asyncio.run(adapters.compared(adapter, core or busy(10), alone, warm, 9))


def test_overhead_is_what_the_adapter_adds_to_the_framework():
    asked: list[int] = []
    found = compared(busy(300_000), busy(10), warm=asked.append)
    assert found["overhead_ms"] > 0
    assert found["adapter_ms"] > found["core_ms"]
    assert asked == [*range(-adapters.WARMING, 9)]
    assert compared(busy(300_000), busy(600_000))["overhead_ms"] < 0


def test_what_the_core_takes_within_the_call_of_an_adapter_is_taken_off(monkeypatch):
    monkeypatch.setattr(Memory, "search", lambda self, query, **kwargs: sum(range(600_000)))
    with Memory(":memory:", embedder="hashing") as memory:

        async def through(number: int) -> None:
            memory.search("anything")
            sum(range(60_000))

        found = compared(through)
        assert Memory.search.__name__ == "<lambda>", "the method is what it was"
    assert found["inside_ms"] > found["overhead_ms"] > 0
    assert found["adapter_ms"] > found["inside_ms"]


def test_importing_is_measured_in_fresh_processes(monkeypatch):
    monkeypatch.setattr(adapters, "REPEATS", 1)
    assert 0 < adapters.import_cost("mnemic_mcp", 1) < 10_000
