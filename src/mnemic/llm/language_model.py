"""The language model behind every task: any of pydantic-ai, behind a synchronous API, and its errors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from mnemic import paths
from mnemic.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable, MissingExtra
from mnemic.llm.keys import environment_key, keyring_key
from mnemic.services import connections
from mnemic.services.connections import Connection, Connections, ErrorTexts, Failure, RetryPolicy, retry, service_name
from mnemic.text.values import shown
from mnemic.types import LanguageModelStats, StageUsage
from mnemic.validation import number, option, seconds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator

    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings

    from mnemic.llm.answers import Schema
    from mnemic.llm.exchange import Form, FormSelector


A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Task(Generic[A]):
    """A prompt, and how to validate the answer.

    Attributes:
        stage: name of the task, for usage counts and as the name of the answer.
        instructions: the same for every prompt of a stage.
        prompt: the fenced data.
        schema: the typed answer.
        read: validates the answer, without its invalid parts; raises LanguageModelError if nothing is left of it.
    """

    stage: str
    instructions: str
    prompt: str
    schema: type[Schema]
    read: Callable[[Any], A]


_FAILED = "The language model {service} failed ({label}): {detail}"
_ERROR_TEXTS: ErrorTexts = {
    "refused": (
        "The language model {service} denied access or does not exist ({label}). Check the "
        "provider's key (environment, or: mnemic keys set PROVIDER), the account, and the model's name."
    ),
    "rejected": _FAILED,
    "transient": (
        "The language model {service} did not answer ({label}): {detail} Check the network and the "
        "service, or raise timeout and retries. It can be asked again later."
    ),
    "other": _FAILED,
}
_TASK_ERRORS = frozenset(("ModelContextWindowExceededError", "ContentFilterError"))
"""Classes of errors that no other form of the request avoids."""


@dataclass(frozen=True, slots=True)
class RequestFailure(Failure):
    """A failed request.

    ``concerns``: ``form`` if the request form is not supported, ``answer`` if the answer is unreadable, ``final`` if
    another form will not help. ``sent`` tells whether a request left this machine.
    """

    concerns: Literal["form", "answer", "final"] = "final"
    sent: bool = True


def classify(error: Exception, service: str, secrets: Collection[str] = ()) -> RequestFailure:
    """Classify an error of the language model `service`; `secrets` are removed from the message."""
    failure = connections.classify(
        error, service, _ERROR_TEXTS, (LanguageModelUnavailable, LanguageModelError), secrets
    )
    names = {base.__name__ for base in type(error).__mro__}
    unsent = "UserError" in names  # raised before anything is sent: the model's profile does not have this form
    concerns: Literal["form", "answer", "final"] = "final"
    if failure.meaning in ("rejected", "other") and not names & _TASK_ERRORS:
        if unsent or failure.meaning == "rejected":
            concerns = "form"
        elif "UnexpectedModelBehavior" in names:
            concerns = "answer"
    return RequestFailure(failure.error, failure.meaning, failure.wait, concerns, sent=not unsent)


JITTER = 0.5
SHORTEST_SECRET = 8
LONGEST_ERROR = 300
"""Most characters kept of the last error."""


class LanguageModel:
    """Any model that pydantic-ai knows. Needs ``pip install "mnemic[llm]"`` and the package of the provider.

    Keys come from the environment, then from the keyring; they are never stored or shown in an error. Calls run on a
    private event loop on a background thread, so that they work from plain code, from several threads, inside a running
    loop and after a fork. Typed answers are requested as native structured output, then as a tool call, then by
    instructions; the form that worked is remembered.

    Args:
        model: ``"provider:model"``, or a pydantic-ai `Model` for exclusive use.
        timeout: seconds for one attempt.
        retries: further attempts after transient errors: time-outs, refused or broken connections, rate limits, server
            errors. 0 to 10.
        backoff: seconds before the first retry, doubled each time, with up to half subtracted at random; a wait
            requested by the service is kept, or the task given up if it is longer than 30 seconds.
        concurrency: concurrent requests, 1 to 100.
        max_tokens: of one answer.
        max_characters: of one answer; a longer one is rejected.
        temperature: None for the model's default; not sent to models known to reject it.
        settings: further pydantic-ai model settings.
        sleep: waits between attempts; for tests.
    """

    def __init__(
        self,
        model: str | Model,
        *,
        timeout: float = 60.0,
        retries: int = 2,
        backoff: float = 0.5,
        concurrency: int = 4,
        max_tokens: int = 4096,
        max_characters: int = 100_000,
        temperature: float | None = 0.0,
        settings: Mapping[str, Any] | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        if paths.wheel_folder("pydantic_ai") is None:
            raise MissingExtra("LanguageModel", "llm")
        if settings is not None and not isinstance(settings, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"settings must be a mapping of pydantic-ai model settings, not {shown(settings)}."
            )
        service = service_name(model, "model", method="request")
        request_settings = _RequestSettings(
            service=service,
            patience=RetryPolicy(
                seconds("timeout", timeout, above=True),
                option("retries", retries, 0, 10),
                seconds("backoff", backoff),
                JITTER,
            ),
            concurrency=option("concurrency", concurrency, 1, 100),
            max_tokens=option("max_tokens", max_tokens, 1, 1_000_000),
            max_characters=option("max_characters", max_characters, 1, 100_000_000),
            temperature=None
            if temperature is None
            else number("temperature", temperature, 0, inf, error=ConfigurationError),
            settings=dict(settings or {}),
            sleep=sleep or asyncio.sleep,
        )
        self._id = service
        self._stages = stages = dict[str, StageUsage]()
        closed = f"The language model {service} was closed. Make a new one."
        self._connections = Connections(
            lambda: _Connection(model, request_settings, stages), LanguageModelUnavailable, closed
        )
        self._health = LanguageModelStats(model=service)

    def __repr__(self) -> str:
        return f"LanguageModel({self._id!r})"

    @property
    def id(self) -> str:
        """``provider:model``."""
        return self._id

    def ask(self, task: Task[A]) -> A:
        """Run one task and wait for the answer.

        At most 3 + `retries` requests are sent: an unreadable answer is requested once more, or in another form.

        Raises:
            LanguageModelUnavailable: the model cannot be reached after all attempts, or denies access.
            LanguageModelError: it rejected the task, or no answer is valid.
        """
        try:
            answer = self._connections.run(lambda connection: connection.ask(task))
        except LanguageModelError as error:
            self._note("unreachable" if isinstance(error, LanguageModelUnavailable) else "failing", str(error))
            raise
        self._note("answering")
        return answer

    def check(self) -> None:
        """Set up the model without a request.

        Raises:
            LanguageModelUnavailable: its name, its provider's package or its key is missing or wrong, as far as can be
                checked offline.
        """
        try:
            self._connections.run(lambda connection: connection.client())
        except LanguageModelUnavailable as error:
            self._note("unreachable", str(error))
            raise

    def _note(self, state: Literal["answering", "failing", "unreachable"], error: str | None = None) -> None:
        before = self._health
        since = before.since if before.state == state else datetime.now(UTC)
        line = " ".join(error.split())[:LONGEST_ERROR] if error else None
        self._health = replace(before, state=state, since=since, error=line)

    def stats(self) -> LanguageModelStats:
        """Health, and usage by stage: requests, retries, failures, tokens, cost."""
        return replace(self._health, stages=dict(self._stages))

    def close(self) -> None:
        """End running calls with an error, close connections and stop the background thread. May be called twice."""
        self._connections.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestSettings:
    """Request settings, made once from the arguments."""

    service: str
    patience: RetryPolicy
    concurrency: int
    max_tokens: int
    max_characters: int
    temperature: float | None
    settings: Mapping[str, Any]
    sleep: Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Client:
    model: Model
    settings: ModelSettings
    forms: FormSelector


class _Connection(Connection[_Client]):
    """The connection to one model."""

    def __init__(self, model: str | Model, request_settings: _RequestSettings, stages: dict[str, StageUsage]) -> None:
        super().__init__("language model", request_settings.service, LanguageModelUnavailable)
        self._model = model
        self._settings = request_settings
        self._stages = stages
        self._slots = asyncio.Semaphore(request_settings.concurrency)

    def _count(self, stage: str, **counts: float) -> None:
        """Add to the counts of a stage; the keywords are fields of StageUsage."""
        before = self._stages.get(stage, StageUsage())
        total: dict[str, Any] = {name: getattr(before, name) + count for name, count in counts.items()}
        self._stages[stage] = replace(before, **total)

    async def ask(self, task: Task[A]) -> A:
        """Run one task, in as many requests as the settings allow."""
        try:
            async with self._slots:
                return await self._ask_client(await self.client(), task)
        except LanguageModelError:
            self._count(task.stage, fallbacks=1)
            raise

    async def _ask_client(self, client: _Client, task: Task[A]) -> A:
        waits = self._waits(task.stage)
        known_form = client.forms.known_form
        problem = ""
        for form in client.forms.plan():
            outcome = await self._ask_form(client, task, form, waits)
            if not isinstance(outcome, RequestFailure):
                client.forms.record_success(form)
                return outcome
            if outcome.concerns == "final" or (outcome.concerns == "form" and known_form):
                raise outcome.error
            problem = str(outcome.error)
        client.forms.record_failure()
        raise LanguageModelError(problem)

    def _waits(self, stage: str) -> Iterator[float]:
        """The waits before the retries of one task, in whatever form; each is counted."""
        for wait in self._settings.patience.waits():
            self._count(stage, retries=1)
            yield wait

    async def _ask_form(self, client: _Client, task: Task[A], form: Form, waits: Iterator[float]) -> A | RequestFailure:
        """The answer in one form, or the last failure."""
        from mnemic.llm.exchange import price, read, request

        async def send() -> ModelResponse:
            response = await request(client.model, task, form, client.settings)
            usage = response.usage
            self._count(
                task.stage, calls=1, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens,
                cost=price(response),
            )  # fmt: skip
            return response

        def judge(error: Exception) -> RequestFailure:
            failure = classify(error, self.service, self.secrets)
            if failure.sent:
                self._count(task.stage, calls=1, failures=1)
            return failure

        response = await retry(send, self._settings.patience.timeout, waits, judge, sleep=self._settings.sleep)
        if isinstance(response, RequestFailure):
            return response
        try:
            return read(task, response, self._settings.max_characters)
        except LanguageModelError as error:
            self._count(task.stage, failures=1)
            return RequestFailure(
                LanguageModelError(f"{error} ({self.service}, {task.stage})"), "other", concerns="answer"
            )

    async def create_client(self) -> _Client:
        """The model, with its settings, and the keys and connections that it holds."""
        from pydantic_ai.models import infer_model

        from mnemic.llm.exchange import FormSelector, settings_for

        request_settings = self._settings
        model = infer_model(self._model, provider_factory=self._provider)
        api_key = getattr(getattr(model, "client", None), "api_key", None)
        if isinstance(api_key, str) and len(api_key) >= SHORTEST_SECRET:
            self.keys.append(api_key)
        if isinstance(self._model, str):
            _without_retries(model)
        await self.opened.enter_async_context(model)
        return _Client(
            model,
            settings_for(model, request_settings.max_tokens, request_settings.temperature, request_settings.settings),
            FormSelector(),
        )

    def _provider(self, name: str) -> Provider[Any]:
        """A provider with the key of the environment, else of the keyring, else the default of pydantic-ai."""
        from pydantic_ai.providers import infer_provider, infer_provider_class

        stored = None if name.startswith("gateway/") or environment_key(name) else keyring_key(name)
        if stored is None:
            return infer_provider(name)
        self.keys.append(stored)
        make: Any = infer_provider_class(name)  # every provider accepts api_key; the base class does not declare it
        return make(api_key=stored)


def _without_retries(model: Model) -> None:
    """Disable retries of the client, which are made here; older versions of pydantic-ai have no setting for it."""
    client = getattr(model, "client", None)
    if isinstance(getattr(client, "max_retries", None), int):
        client.max_retries = 0  # pyright: ignore[reportOptionalMemberAccess] - it has the attribute, so it is there
