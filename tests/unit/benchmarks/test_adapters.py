"""The measure of adapters: what is compared with what."""

from benchmarks.speed import adapters


def busy(times: int):
    return lambda _: sum(range(times))


def test_overhead_is_what_the_adapter_adds_to_the_core_and_to_the_framework():
    asked: list[int] = []
    found = adapters.compared(busy(300_000), busy(10), busy(10), asked.append, 9)
    assert found["overhead_ms"] > 0
    assert found["adapter_ms"] > found["core_ms"]
    assert asked == [*range(-5, 9)]
    assert adapters.compared(busy(300_000), busy(10), busy(600_000), asked.append, 9)["overhead_ms"] < 0


def test_importing_is_measured_in_fresh_processes():
    assert 0 < adapters.import_cost("mnemic_mcp") < 10_000
