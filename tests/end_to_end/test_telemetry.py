"""Spans and metrics: what they tell, and that no text of a record is in them."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from mnemic import EmbedderUnavailable, HashingEmbedder, InvalidInput, Memory
from mnemic.services import telemetry

trace = pytest.importorskip("opentelemetry.trace")
metrics = pytest.importorskip("opentelemetry.metrics")
sdk = pytest.importorskip("opentelemetry.sdk.trace")


class Exported:
    """What a collector would get."""

    def __init__(self):
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self._exporter, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = sdk.TracerProvider(), MeterProvider([self._reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self):
        return self._exporter.get_finished_spans()

    def named(self, method):
        return next(span for span in reversed(self.spans) if span.attributes.get("mnemic.method") == method)

    def measured(self):
        found = {}
        for resource in self._reader.get_metrics_data().resource_metrics:
            for scope in resource.scope_metrics:
                found |= {metric.name: [*metric.data.data_points] for metric in scope.metrics}
        return found


@pytest.fixture
def exported(monkeypatch):
    found = Exported()
    monkeypatch.setattr(trace, "get_tracer", found.tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", found.meters.get_meter)
    telemetry._instruments.cache_clear()
    yield found
    telemetry._instruments.cache_clear()


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as opened:
        yield opened


def test_operations_after_the_conventions(exported, memory):
    memory.add("I moved to Lisbon.")
    memory.search("Who moved to Lisbon?")
    memory.get_memory_context("Where does Ana live?", max_tokens=200)
    memory.remember("Ana lives in Lisbon.", id="home")
    memory.update("home", category="personal")
    memory.forget(ids=["home"])
    memory.process()
    memory.consolidate(min_age_hours=0)
    memory.forget(ids=["home"], hard=True)
    names = {
        span.attributes["mnemic.method"]: span.name for span in exported.spans if "mnemic.method" in span.attributes
    }
    assert names == {
        "Memory.add": "create_memory", "Memory.search": "search_memory", "Memory.get_memory_context": "search_memory",
        "Memory.remember": "upsert_memory", "Memory.update": "update_memory", "Memory.forget": "delete_memory",
    }  # fmt: skip
    assert {span.name for span in exported.spans} >= {
        "embeddings",
        "mnemic.process",
        "mnemic.consolidate",
        "mnemic.erase",
    }
    for span in exported.spans:
        assert span.attributes["gen_ai.operation.name"] == span.name
        assert span.attributes["gen_ai.provider.name"] == "mnemic"
    found = exported.named("Memory.search").attributes
    assert (found["gen_ai.memory.record.count"], found["mnemic.evidence"]) == (1, "strong")
    assert exported.named("Memory.add").attributes["mnemic.stored"] == 1
    assert exported.named("Memory.get_memory_context").attributes["mnemic.tokens"] > 10


def test_the_records_of_an_erased_user_are_counted(exported, memory):
    memory.add_exchange("I moved to Faro.", "How is it there?")
    memory.remember("Ana rows.")
    records = len(memory.messages(limit=None)) + len(memory.list(limit=None))
    memory.admin.erase_user()
    assert exported.named("Admin.erase_user").attributes["mnemic.erased"] == records


CALLS = {
    "Memory.add": lambda memory: memory.add("I moved to Porto."),
    "Memory.add_exchange": lambda memory: memory.add_exchange("I moved to Faro.", "How is it there?"),
    "Memory.remember": lambda memory: memory.remember("Ana rows."),
    "Memory.update": lambda memory: memory.update("home", content="Ana lives in Faro."),
    "Memory.correct": lambda memory: memory.correct("home", "Ana lives in Faro."),
    "Memory.search": lambda memory: memory.search("Lisbon"),
    "Memory.get_memory_context": lambda memory: memory.get_memory_context("Lisbon", max_tokens=200),
    "Memory.forget": lambda memory: memory.forget(ids=["home"], hard=True),
    "Memory.restore": lambda memory: memory.restore("home"),
    "Admin.erase_user": lambda memory: memory.admin.erase_user(),
}


@pytest.mark.parametrize("method", telemetry.OPERATIONS)
def test_a_call_is_one_operation(exported, memory, method):
    memory.remember("Ana lives in Lisbon.", id="home")
    before = len(exported.spans)
    CALLS[method](memory)
    methods = [span.attributes.get("mnemic.method") for span in exported.spans[before:]]
    assert [name for name in methods if name] == [method]


def test_a_call_of_the_embedder_is_one_span_with_its_texts(exported, memory, monkeypatch):
    embed, embedded = HashingEmbedder.embed, []

    def counting(self, texts, **options):
        embedded.append(len(texts))
        return embed(self, texts, **options)

    monkeypatch.setattr(HashingEmbedder, "embed", counting)
    memory.add_exchange("My dentist is Dr. Costa. I row on Fridays.", "Noted.")
    memory.process()
    memory.remember("My boat is called Halcyon.")
    memory.correct("my dentist", "My dentist is Dr. Bianchi.")
    memory.get_memory_context("Who is my dentist?", max_tokens=300)
    texts = [span.attributes["mnemic.texts"] for span in exported.spans if span.name == "embeddings"]
    assert texts == embedded
    assert 0 not in texts


def test_an_embedder_that_fails_is_told(exported, memory, monkeypatch):
    def failing(*_, **__):
        raise EmbedderUnavailable("The model is not there.")

    monkeypatch.setattr(HashingEmbedder, "embed", failing)
    with pytest.warns(RuntimeWarning, match="by keyword only"):
        memory.add("I moved to Lisbon.")
    (embedding,) = [span for span in exported.spans if span.name == "embeddings"]
    assert embedding.attributes["error.type"] == "EmbedderUnavailable"
    assert exported.named("Memory.add").attributes["mnemic.stored"] == 1


def test_spans_are_nested(exported, memory):
    memory.add("I moved to Lisbon.")
    tracer = exported.tracers.get_tracer("program")
    with tracer.start_as_current_span("turn") as turn:
        memory.search("Lisbon")
    search = exported.named("Memory.search")
    assert search.parent.span_id == turn.get_span_context().span_id
    embedding = next(
        s
        for s in exported.spans
        if s.name == "embeddings"
        and s.parent
        and s.end_time <= search.end_time
        and s.parent.span_id == search.context.span_id
    )
    assert embedding.attributes["gen_ai.operation.name"] == "embeddings"


def test_an_error_is_told_by_its_type_alone(exported, memory):
    with pytest.raises(InvalidInput):
        memory.search("the secret of the tower " * 10_000)
    span = exported.named("Memory.search")
    assert (span.attributes["error.type"], span.status.status_code) == ("InvalidInput", trace.StatusCode.ERROR)
    assert span.events == ()
    assert span.status.description is None


def test_metrics(exported, memory):
    memory.add("I moved to Lisbon.")
    memory.search("Lisbon")
    memory.process()
    found = exported.measured()
    assert {"gen_ai.client.operation.duration", "mnemic.hits", "mnemic.pending"} <= {*found}
    operations = {point.attributes["gen_ai.operation.name"] for point in found["gen_ai.client.operation.duration"]}
    assert operations >= {"create_memory", "search_memory", "mnemic.process", "embeddings"}
    (hits,) = found["mnemic.hits"]
    assert (hits.sum, hits.attributes["mnemic.evidence"]) == (1, "strong")
    assert found["mnemic.pending"][0].value == 0


def test_no_text_gets_out(exported):
    """Five hundred words that stand nowhere else, in every field that a caller fills."""
    words = [f"zq{n:03}x" for n in range(500)]
    left = iter(words)

    def some(count=1):
        return " ".join(next(left) for _ in range(count))

    with Memory(":memory:", user=some(), project=some(), session=some(), embedder="hashing") as memory:
        for n in range(60):
            memory.add(f"{some(3)} is what I say.", name=some(), metadata={some(): some()}, id=f"m{n}" if n else some())
        memory.process()
        for _ in range(8):
            memory.remember(
                f"{some()} is remembered.", key=some(), category=some(), tags=[some()], metadata={some(): some()}, id=some(),
            )  # fmt: skip
        memory.search(some(), speaker=some())
        memory.get_memory_context(some(2), max_tokens=300, recent=[some()])
        memory.correct(memory.list()[0].id, f"{some()} is right.")
        memory.forget(some(3), reason=some())
        memory.forget(ids=[memory.list()[0].id], reason=some())
        memory.consolidate(min_age_hours=0, importance_threshold=0)
        with pytest.raises(InvalidInput):
            memory.search(some(), style=some())
        memory.forget(ids=["m3"], hard=True)
        memory.admin.erase_user()
    used = len(words) - len([*left])
    assert used > 430
    told = "\n".join([*(span.to_json() for span in exported.spans), repr(exported.measured())])
    assert [word for word in words if word in told] == []


def test_threads_keep_their_parents(exported, memory):
    memory.add("I moved to Lisbon.")
    with ThreadPoolExecutor(4) as pool:
        assert all(len(found) == 1 for found in pool.map(memory.search, ["Lisbon"] * 8))
    spans = [span for span in exported.spans if span.attributes.get("mnemic.method") == "Memory.search"]
    assert len(spans) == 8
    assert all(span.parent is None for span in spans)


@pytest.mark.parametrize("name", ["opentelemetry.trace", "opentelemetry.metrics"])
def test_an_api_that_another_thread_imports_is_not_there_yet(monkeypatch, memory, name):
    half = ModuleType(name)
    half.__spec__ = ModuleSpec(name, None)
    half.__spec__._initializing = True
    monkeypatch.setitem(sys.modules, name, half)
    memory.add("I moved to Lisbon.")
    assert len(memory.search("Lisbon")) == 1


def test_a_program_without_it_never_loads_it():
    code = (
        "import sys, mnemic; m = mnemic.Memory(':memory:', embedder='hashing'); m.add('x'); m.search('x'); m.process();"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def test_a_preview_counts_nothing(exported, memory):
    memory.remember("My dentist is Dr. Rossi.", id="dentist")
    memory.forget("my dentist", dry_run=True)
    attributes = exported.named("Memory.forget").attributes
    assert attributes["mnemic.dry_run"] is True
    assert "mnemic.forgotten" not in attributes
