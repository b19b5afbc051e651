import gc
import os
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
from pydantic_ai import Embedder
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, TestEmbeddingModel
from pydantic_ai.exceptions import ModelHTTPError

from mnemic.embedders import RemoteEmbedder
from mnemic.errors import ConfigurationError, EmbedderError, EmbedderUnavailable, InvalidInput, MissingExtra

SECRET = "sk-verysecret-0123456789"


class Scripted(EmbeddingModel):
    """Answers each request with the next item: an error to raise, a result, or a function of the texts."""

    def __init__(self, *script):
        super().__init__()
        self.script = list(script)
        self.requests = []
        self.settings_seen = []
        self.threads = set()

    @property
    def model_name(self):
        return "scripted-1"

    @property
    def system(self):
        return "fake"

    async def embed(self, inputs, *, input_type, settings=None):
        self.requests.append((input_type, list(inputs)))
        self.settings_seen.append(settings)
        self.threads.add(threading.current_thread().name)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, BaseException):
            raise step
        vectors = [[float(len(text)), 1.0] for text in inputs] if step is None else step
        return EmbeddingResult(
            embeddings=vectors, inputs=inputs, input_type=input_type, model_name="scripted-1", provider_name="fake"
        )


@pytest.fixture
def remote():
    made = []

    def make(model, **options):
        made.append(RemoteEmbedder(model, **{"backoff": 0, **options}))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def test_pydantic_ais_own_test_model(remote):
    embedder = remote(Embedder(TestEmbeddingModel(dimensions=5)))
    assert (embedder.id, embedder.dimension) == ("test:test", None)
    rows = embedder.embed(["a", "b", "c"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, np.full((3, 5), 5**-0.5), atol=1e-6)
    assert embedder.dimension == 5


async def test_it_works_inside_a_running_loop(remote):
    assert remote(TestEmbeddingModel()).embed(["a"], kind="query").shape == (1, 8)


def test_a_model_string_with_an_override_in_the_callers_context(remote):
    inner = Embedder("openai:text-embedding-3-small")
    model = Scripted()
    embedder = remote(inner)
    with inner.override(model=model):
        embedder.embed(["abc"])
    assert embedder.id == "openai:text-embedding-3-small"
    assert model.requests == [("document", ["abc"])]


def test_kind_batches_order_and_thread(remote):
    model = Scripted()
    embedder = remote(model, batch_size=2)
    rows = embedder.embed(["a", "bb", "ccc"], kind="query")
    assert model.requests == [("query", ["a", "bb"]), ("query", ["ccc"])]
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [1, 2, 3], rtol=1e-6)
    embedder.embed(["a"])
    assert model.threads == {"mnemic-embedding-service"}


def test_texts_are_made_fit_for_a_service(remote):
    model = Scripted()
    remote(model, max_characters=5).embed(["", " \n", "a\0\ud800", "long text"])
    assert model.requests[0][1] == [".", ".", "a\ufffd", "long "]


def test_no_texts_ask_nobody(remote):
    model = Scripted()
    assert remote(model, dimensions=2).embed([]).shape == (0, 2)
    assert model.requests == []


def test_dimensions_are_asked_for_and_part_of_the_id(remote):
    model = TestEmbeddingModel()
    embedder = remote(model, dimensions=3)
    assert embedder.embed(["a"]).shape == (1, 3)
    assert (embedder.id, embedder.dimension) == ("test:test@3", 3)
    assert model.last_settings == {"dimensions": 3}


def test_a_name_of_ones_own(remote):
    assert remote(TestEmbeddingModel(), name="mine").id == "mine"


def test_errors_that_may_pass_are_tried_again(remote):
    model = Scripted(ModelHTTPError(503, "m"), ConnectionError("reset"), TimeoutError())
    assert remote(model, retries=3).embed(["a"]).shape == (1, 2)
    assert len(model.requests) == 4


def test_retries_are_bounded(remote):
    model = Scripted(*[ModelHTTPError(503, "m")] * 9)
    with pytest.raises(EmbedderUnavailable, match="status 503"):
        remote(model, retries=2).embed(["a"])
    assert len(model.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_errors_that_will_not_pass_are_not_tried_again(remote, status):
    model = Scripted(ModelHTTPError(status, "m"))
    with pytest.raises(EmbedderError):
        remote(model).embed(["a"])
    assert len(model.requests) == 1


def test_a_service_that_asks_for_too_long_a_wait_is_given_up(remote):
    model = Scripted(ModelHTTPError(429, "m", headers={"Retry-After": "3600"}))
    with pytest.raises(EmbedderUnavailable, match="429"):
        remote(model).embed(["a"])
    assert len(model.requests) == 1


def test_a_service_that_hangs_is_cut_off(remote):
    class Hanging(Scripted):
        async def embed(self, inputs, *, input_type, settings=None):
            import asyncio

            await asyncio.Event().wait()

    with pytest.raises(EmbedderUnavailable, match="TimeoutError"):
        remote(Hanging(), timeout=0.01, retries=0).embed(["a"])


@pytest.mark.parametrize(
    "answer",
    [[[0.0, 0.0]], [[float("nan"), 1.0]], [], [[1.0, 2.0], [1.0, 2.0]], [[]]],
    ids=["zero", "nan", "too few", "too many", "empty"],
)
def test_unusable_answers(remote, answer):
    with pytest.raises(EmbedderError):
        remote(Scripted(answer)).embed(["a"])


def test_a_changing_dimension_is_an_error(remote):
    embedder = remote(Scripted(None, [[1.0, 2.0, 3.0]]))
    embedder.embed(["a"])
    with pytest.raises(EmbedderError, match="dimension 3 instead of 2"):
        embedder.embed(["b"])


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_keys_are_shown_neither_in_the_error_nor_in_its_traceback(remote, monkeypatch, status):
    monkeypatch.setenv("SOME_SERVICE_API_KEY", "plainwordsonly")
    model = Scripted(ModelHTTPError(status, "m", f"bad key {SECRET} or plainwordsonly"))
    with pytest.raises(EmbedderError) as caught:
        remote(model, retries=0).embed(["a"])
    shown = "".join(traceback.format_exception(caught.value))
    assert "verysecret" not in shown
    assert "plainwordsonly" not in shown
    assert caught.value.__context__ is None


def test_a_provider_that_cannot_be_set_up(remote, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderUnavailable, match="nosuchprovider:model cannot be set up"):
        remote("nosuchprovider:model").embed(["a"])
    with pytest.raises(
        EmbedderUnavailable, match=r"openai:text-embedding-3-small cannot be set up: .*(key|KEY|openai)"
    ):
        remote("openai:text-embedding-3-small").embed(["a"])


def test_closing(remote):
    embedder = remote(Scripted())
    embedder.embed(["a"])
    embedder.close()
    embedder.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        embedder.embed(["a"])
    assert not [thread for thread in threading.enumerate() if thread.name == "mnemic-embedding-service"]


def test_closing_ends_running_calls(remote):
    running = threading.Event()

    class Hanging(Scripted):
        async def embed(self, inputs, *, input_type, settings=None):
            import asyncio

            running.set()
            await asyncio.Event().wait()

    embedder, errors = remote(Hanging()), []

    def call():
        try:
            embedder.embed(["a"])
        except EmbedderUnavailable as error:
            errors.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    assert running.wait(5)
    embedder.close()
    thread.join(5)
    assert len(errors) == 1
    assert "closed" in errors[0]


def test_a_forgotten_embedder_ends_its_thread():
    embedder = RemoteEmbedder(Scripted())
    embedder.embed(["a"])
    del embedder
    gc.collect()
    assert not [thread for thread in threading.enumerate() if thread.name == "mnemic-embedding-service"]


def test_threads_share_it(remote):
    embedder, wrong = remote(Scripted(), batch_size=3), []

    def work(length):
        rows = embedder.embed(["x" * length] * 5)
        if not np.allclose(rows[:, 0] / rows[:, 1], length):
            wrong.append(length)

    threads = [threading.Thread(target=work, args=(length,)) for length in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_it_works_after_a_fork():
    script = """
import os
from pydantic_ai.embeddings import TestEmbeddingModel
from mnemic.embedders import RemoteEmbedder
embedder = RemoteEmbedder(TestEmbeddingModel())
embedder.embed(["parent"])
child = os.fork()
if child == 0:
    ok = embedder.embed(["child"]).shape == (1, 8)
    embedder.close()
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert embedder.embed(["parent again"]).shape == (1, 8)
embedder.close()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("model", ["", "openai", ":model", "openai:", 3, object()])
def test_what_is_not_a_model(model):
    with pytest.raises(ConfigurationError):
        RemoteEmbedder(model)


@pytest.mark.parametrize(
    "options",
    [{"timeout": 0}, {"batch_size": 0}, {"retries": -1}, {"backoff": -1}, {"dimensions": 0}, {"max_characters": 0}],
)
def test_bad_options(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        RemoteEmbedder("openai:m", **options)


def test_a_single_text_is_refused(remote):
    with pytest.raises(InvalidInput):
        remote(TestEmbeddingModel()).embed("text")


def test_missing_package(monkeypatch):
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: None)
    with pytest.raises(MissingExtra, match=r"mnemic\[remote\]"):
        RemoteEmbedder("openai:text-embedding-3-small")
