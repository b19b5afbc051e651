"""Spans of OpenTelemetry: what a trace of an agent shows of its memory, and that no text is in it.

The exporter keeps spans in RAM; yours sends them to Logfire, Langfuse, Phoenix or any other collector.

Install: pip install "mnemic[minilm,otel]" opentelemetry-sdk
"""

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mnemic import Memory


def main() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)

    with Memory(":memory:", user="ana") as memory, trace.get_tracer("agent").start_as_current_span("turn"):
        memory.add_exchange("My boat is called Halcyon.", "A fine name.")
        memory.get_memory_context("What is my boat called?", max_tokens=200)
        memory.get_memory_context("Which colour is my bicycle?", max_tokens=200)

    spans = exporter.get_finished_spans()
    for span in spans:
        print(span.name, dict(span.attributes or {}))
    (turn,) = (span for span in spans if span.name == "turn")
    contexts = [span for span in spans if span.attributes.get("mnemic.method") == "Memory.get_memory_context"]
    assert [span.parent.span_id for span in contexts] == [turn.context.span_id] * 2
    assert [span.attributes["mnemic.evidence"] for span in contexts] == ["strong", "weak"]
    assert not any("Halcyon" in span.to_json() for span in spans)
    print("All as expected.")


if __name__ == "__main__":
    main()
