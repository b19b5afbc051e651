import asyncio
import gc
import os
import subprocess
import sys
import threading
import traceback
from types import SimpleNamespace

import pytest
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile

from mnemic.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable, MissingExtra
from mnemic.llm import LanguageModel, expansion
from mnemic.testing.language_models import ScriptedModel

SECRET = "sk-verysecret-0123456789"
TASK = expansion.task("Where does Ana live?")
GOOD = {"queries": ["Ana moved to", "home city of Ana"]}


def scripted(*replies, **options):
    return ScriptedModel({"expand": list(replies)}, **options)


class Hanging(FunctionModel):
    """Never answers; says when it was asked."""

    def __init__(self):
        super().__init__(self._respond, model_name="hanging")
        self.asked = threading.Event()

    async def _respond(self, messages, info):
        self.asked.set()
        await asyncio.Event().wait()


def test_an_answer_and_what_it_cost(asked):
    model = scripted(GOOD)
    llm = asked(model)
    assert llm.ask(TASK) == ("Ana moved to", "home city of Ana")
    (usage,) = llm.stats().stages.values()
    assert (usage.calls, usage.retries, usage.failures, usage.fallbacks, usage.cost) == (1, 0, 0, 0, 0.0)
    assert (usage.input_tokens, usage.output_tokens) == model.tokens
    assert usage.input_tokens > 100
    model.check()


def test_what_the_model_is_sent(asked):
    model = scripted(GOOD)
    asked(model, max_tokens=77, settings={"seed": 3}).ask(TASK)
    (request,) = model.requests
    assert (request.stage, request.form) == ("expand", "native")
    assert (request.instructions, request.prompt) == (TASK.instructions, TASK.prompt)
    assert request.schema["required"] == ["queries"]


@pytest.mark.parametrize(
    ("profile", "temperature", "sent"),
    [
        ({}, 0.0, True),
        ({}, None, False),
        ({"openai_supports_reasoning": True}, 0.0, False),
        ({"anthropic_disallows_sampling_settings": True}, 0.0, False),
    ],
)
def test_settings(asked, profile, temperature, sent):
    seen = []

    class Looking(ScriptedModel):
        async def _respond(self, messages, info):
            seen.append(info.model_settings)
            return await super()._respond(messages, info)

    model = Looking({"expand": GOOD})
    model._profile = ModelProfile(supports_json_schema_output=True, **profile)
    asked(model, temperature=temperature, max_tokens=9, settings={"seed": 3}).ask(TASK)
    assert seen == [{"max_tokens": 9, "max_retries": 0, "seed": 3, **({"temperature": 0.0} if sent else {})}]


async def test_it_works_inside_a_running_loop(asked):
    assert asked(scripted(GOOD)).ask(TASK)


def test_threads_share_it_and_are_held_back(asked):
    class Counting(ScriptedModel):
        now = most = 0

        async def _respond(self, messages, info):
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0)
            self.now -= 1
            return await super()._respond(messages, info)

    model = Counting({"expand": GOOD})
    llm, answers = asked(model, concurrency=2), []
    threads = [threading.Thread(target=lambda: answers.append(llm.ask(TASK))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == llm.stats().stages["expand"].calls == 12
    assert model.most <= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_it_works_after_a_fork():
    script = """
import os
from mnemic.llm import LanguageModel, expansion
from mnemic.testing.language_models import ScriptedModel
llm = LanguageModel(ScriptedModel({"expand": {"queries": ["another"]}}))
task = expansion.task("one")
llm.ask(task)
child = os.fork()
if child == 0:
    ok = llm.ask(task) == ("another",)
    llm.close()
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert llm.ask(task) == ("another",)
llm.close()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


# errors that may pass


@pytest.mark.parametrize(
    "error", [TimeoutError(), ConnectionRefusedError(), ModelHTTPError(429, "m"), ModelHTTPError(500, "m")]
)
def test_errors_that_may_pass_are_tried_again(asked, error):
    llm = asked(scripted(error, error, GOOD))
    assert llm.ask(TASK)
    usage = llm.stats().stages["expand"]
    assert (usage.calls, usage.retries, usage.failures, usage.fallbacks) == (3, 2, 2, 0)
    assert len(asked.waits) == 2
    assert 0.25 <= asked.waits[0] <= 0.5 <= asked.waits[1] <= 1.0


def test_retries_are_bounded_and_the_failure_is_counted(asked):
    model = ScriptedModel({"expand": ModelHTTPError(503, "m")})
    llm = asked(model, retries=2)
    with pytest.raises(LanguageModelUnavailable, match="status 503"):
        llm.ask(TASK)
    assert len(model.requests) == 3
    usage = llm.stats().stages["expand"]
    assert (usage.calls, usage.retries, usage.failures, usage.fallbacks) == (3, 2, 3, 1)


def limited(seconds):
    error = ModelHTTPError(429, "m")
    error.retry_after = seconds
    return error


def test_the_wait_a_service_asks_for_is_kept(asked):
    assert asked(scripted(limited(7), GOOD)).ask(TASK)
    assert asked.waits == [7]


def test_a_service_that_asks_for_too_long_a_wait_is_given_up(asked):
    model = scripted(limited(3600))
    with pytest.raises(LanguageModelUnavailable, match="429"):
        asked(model).ask(TASK)
    assert (len(model.requests), asked.waits) == (1, [])


def test_a_model_that_hangs_is_cut_off(asked):
    with pytest.raises(LanguageModelUnavailable, match="TimeoutError"):
        asked(Hanging(), timeout=0.01, retries=0).ask(TASK)


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_closed_door_is_not_knocked_at_again(asked, status):
    model = ScriptedModel({"expand": ModelHTTPError(status, "m")})
    with pytest.raises(LanguageModelUnavailable, match="mnemic keys set"):
        asked(model).ask(TASK)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "error",
    [
        ModelContextWindowExceededError("m", "too long"),
        ContentFilterError("filtered"),
        KeyError("surprise"),
        ModelHTTPError(418, "m"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(asked, error):
    model = ScriptedModel({"expand": error})
    with pytest.raises(LanguageModelError) as caught:
        asked(model).ask(TASK)
    assert type(caught.value) is LanguageModelError
    assert len(model.requests) == 1


# the form of typed answers


@pytest.mark.parametrize(
    ("refuses", "forms"),
    [
        ([], ["native"]),
        (["native"], ["native", "tool"]),
        (["native", "tool"], ["native", "tool", "prompted"]),
    ],
)
def test_a_form_that_is_refused_costs_one_call_and_no_more(asked, refuses, forms):
    model = ScriptedModel({"expand": GOOD}, refuses=refuses)
    llm = asked(model)
    for _ in range(3):
        assert llm.ask(TASK)
    assert [request.form for request in model.requests] == [*forms, forms[-1], forms[-1]]
    assert llm.stats().stages["expand"].failures == len(refuses)


def test_a_form_the_model_does_not_have_costs_nothing(asked):
    model = ScriptedModel({"expand": GOOD})
    model._profile = ModelProfile(supports_json_schema_output=False)
    llm = asked(model)
    assert llm.ask(TASK)
    assert [request.form for request in model.requests] == ["tool"]
    assert (llm.stats().stages["expand"].calls, llm.stats().stages["expand"].failures) == (1, 0)


def test_all_forms_refused(asked):
    model = ScriptedModel({"expand": GOOD}, refuses=["native", "tool", "prompted"])
    llm = asked(model)
    with pytest.raises(LanguageModelError, match="status 400"):
        llm.ask(TASK)
    assert len(model.requests) == llm.stats().stages["expand"].failures == 3


def test_an_answer_nobody_can_read_makes_room_for_the_next_form(asked):
    model = scripted("I would rather not.", GOOD, GOOD)
    llm = asked(model)
    llm.ask(TASK)
    llm.ask(TASK)
    assert [request.form for request in model.requests] == ["native", "tool", "tool"]


def test_a_form_that_has_worked_is_asked_again(asked):
    model = scripted(GOOD, "no", GOOD, "no", "no", GOOD)
    llm = asked(model)
    llm.ask(TASK)
    llm.ask(TASK)
    with pytest.raises(LanguageModelError):
        llm.ask(TASK)
    llm.ask(TASK)
    assert {request.form for request in model.requests} == {"native"}


def test_after_two_questions_without_an_answer_the_search_begins_anew(asked):
    model = scripted("no", GOOD, *["no"] * 4, GOOD)
    llm = asked(model)
    llm.ask(TASK)
    for _ in range(2):
        with pytest.raises(LanguageModelError):
            llm.ask(TASK)
    llm.ask(TASK)
    assert [request.form for request in model.requests] == ["native", *["tool"] * 5, "native"]


def test_a_refusal_in_a_form_that_has_worked_is_about_the_question(asked):
    model = scripted(GOOD, ModelHTTPError(400, "m", "bad question"), GOOD)
    llm = asked(model)
    llm.ask(TASK)
    with pytest.raises(LanguageModelError, match="bad question"):
        llm.ask(TASK)
    llm.ask(TASK)
    assert {request.form for request in model.requests} == {"native"}


def test_retries_are_counted_over_all_forms(asked):
    model = ScriptedModel({"expand": ["no", TimeoutError(), "no", TimeoutError(), TimeoutError()]})
    with pytest.raises(LanguageModelUnavailable):
        asked(model, retries=2).ask(TASK)
    assert len(model.requests) == 5


def test_an_answer_the_client_cannot_read(asked):
    model = scripted(UnexpectedModelBehavior("not a chat completion"), GOOD)
    assert asked(model).ask(TASK)


def test_answers_beyond_the_bound_are_refused(asked):
    long = {"queries": ["x" * 150, "other words"]}
    assert asked(scripted(long), max_characters=200).ask(TASK)
    with pytest.raises(LanguageModelError, match="100 are the most"):
        asked(ScriptedModel({"expand": long}), max_characters=100).ask(TASK)


def test_pydantic_ais_own_test_model(asked):
    model = TestModel(custom_output_args=GOOD)
    assert asked(model).ask(TASK) == ("Ana moved to", "home city of Ana")


# keys


@pytest.mark.parametrize("status", [400, 401, 418, 429, 500])
def test_keys_are_shown_neither_in_the_error_nor_in_its_traceback(asked, monkeypatch, status):
    monkeypatch.setenv("SOME_SERVICE_API_KEY", "plainwordsonly")
    model = ScriptedModel({"expand": ModelHTTPError(status, "m", f"bad {SECRET}, plainwordsonly and mine-own-words")})
    model.client = SimpleNamespace(api_key="mine-own-words")
    llm = asked(model, retries=0)
    with pytest.raises(LanguageModelError) as caught:
        llm.ask(TASK)
    shown = "".join(traceback.format_exception(caught.value)) + repr(llm) + repr(caught.value)
    for secret in ("verysecret", "plainwordsonly", "mine-own-words"):
        assert secret not in shown
    assert caught.value.__context__ is None


def test_a_provider_that_cannot_be_set_up(asked, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("mnemic.llm.language_model.keyring_key", lambda provider: None)
    for name in ("nosuchprovider:model", "openai:gpt-x"):
        llm = asked(name)
        with pytest.raises(LanguageModelUnavailable, match=f"{name} cannot be set up") as caught:
            llm.ask(TASK)
        assert caught.value.__context__ is None
        assert (llm.stats().stages["expand"].calls, llm.stats().stages["expand"].fallbacks) == (0, 1)


@pytest.mark.parametrize("in_environment", [True, False])
def test_the_key_of_the_environment_comes_first(asked, monkeypatch, in_environment):
    made = []

    class Provider:
        def __init__(self, api_key=None):
            made.append(api_key)
            raise UserError(f"no service behind {api_key or os.environ['NEAR_API_KEY']}")

    monkeypatch.setattr("pydantic_ai.providers.infer_provider_class", lambda name: Provider)
    monkeypatch.setattr("pydantic_ai.providers.infer_provider", lambda name: Provider())
    monkeypatch.setattr("mnemic.llm.language_model.keyring_key", lambda provider: "of-the-keyring")
    if in_environment:
        monkeypatch.setenv("NEAR_API_KEY", "of-the-environment")
    with pytest.raises(LanguageModelUnavailable) as caught:
        asked("near:model").ask(TASK)
    assert made == ([None] if in_environment else ["of-the-keyring"])
    assert "of-the" not in str(caught.value)


@pytest.mark.parametrize(("by_name", "left"), [(True, 0), (False, 2)])
def test_the_client_does_not_try_again_beneath(asked, monkeypatch, by_name, left):
    model = scripted(GOOD)
    model.client = SimpleNamespace(max_retries=2, api_key="short")
    monkeypatch.setattr("pydantic_ai.models.infer_model", lambda given, provider_factory=None: model)
    asked("near:model" if by_name else model).ask(TASK)
    assert model.client.max_retries == left


# its life


def test_closing(asked):
    before = running()
    llm = asked(scripted(GOOD))
    llm.ask(TASK)
    llm.close()
    llm.close()
    with pytest.raises(LanguageModelUnavailable, match="closed"):
        llm.ask(TASK)
    assert not running() - before


def test_closing_ends_running_calls(asked):
    model, errors = Hanging(), []
    llm = asked(model)

    def call():
        try:
            llm.ask(TASK)
        except LanguageModelUnavailable as error:
            errors.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    assert model.asked.wait(5)
    llm.close()
    thread.join(5)
    assert len(errors) == 1
    assert "closed" in errors[0]


def running():
    """The threads of language models, those that other tests left open among them."""
    return {thread for thread in threading.enumerate() if thread.name == "mnemic-language-model"}


def test_a_forgotten_one_ends_its_thread():
    before = running()
    llm = LanguageModel(scripted(GOOD))
    llm.ask(TASK)
    del llm
    gc.collect()
    for thread in running() - before:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize("model", ["", "openai", ":model", "openai:", 3, object()])
def test_what_is_not_a_model(model):
    with pytest.raises(ConfigurationError):
        LanguageModel(model)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0}, {"retries": -1}, {"backoff": -1}, {"concurrency": 0}, {"max_tokens": 0}, {"max_characters": 0},
        {"temperature": -1},
    ],
)  # fmt: skip
def test_bad_options(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        LanguageModel("openai:m", **options)


def test_missing_package(monkeypatch):
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: None)
    with pytest.raises(MissingExtra, match=r"mnemic\[llm\]"):
        LanguageModel("openai:gpt-x")


def test_the_room_is_imported_without_pydantic():
    code = "import sys, mnemic.llm; assert not {'pydantic', 'pydantic_ai'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
