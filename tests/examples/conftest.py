"""What examples leave behind in the process."""

from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def no_tracer_provider(monkeypatch):
    """A program sets its tracer provider once; here several do, each as the first, and none for the tests after it."""
    if find_spec("opentelemetry.sdk") if find_spec("opentelemetry") else None:
        from opentelemetry import trace
        from opentelemetry.util._once import Once

        monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
        monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
