"""One request to a model in one of three forms, and the parsing of its answer.

pydantic-ai makes the request in its output modes. Its own parsing reads an answer whole or not at all: of twelve readable
answers of small models (prose around JSON, one bad item, an endless list, ...) it read four, this reads all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import find_objects, json_schema, plain_values, validate_leniently
from mnemic.llm.language_model import A, Task

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

Form = Literal["native", "tool", "prompted"]
"""How a typed answer is requested: as structured output, as a tool call, or by instructions."""
FORMS: tuple[Form, ...] = ("native", "tool", "prompted")


class FormSelector:
    """Selects the request form and remembers the one that worked.

    A known form is retried once after an unreadable answer; after two failed tasks in a row all forms are tried again.
    """

    def __init__(self) -> None:
        self.known_form: Form | None = None
        self._failures = 0

    def plan(self) -> tuple[Form, ...]:
        """The forms to try for one task, in order."""
        return (self.known_form, self.known_form) if self.known_form else FORMS

    def record_success(self, form: Form) -> None:
        """Note that this form gave a readable answer."""
        self.known_form, self._failures = form, 0

    def record_failure(self) -> None:
        """Note that no form gave a readable answer."""
        self._failures += 1
        if self._failures >= 2:
            self.known_form, self._failures = None, 0


async def request(model: Model, task: Task[Any], form: Form, settings: ModelSettings) -> ModelResponse:
    """Send a task to a model in one form."""
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    message = ModelRequest(parts=[UserPromptPart(task.prompt)], instructions=task.instructions)
    return await model_request(
        model, [message], model_settings=settings, model_request_parameters=_parameters(task, form)
    )


def _parameters(task: Task[Any], form: Form) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    schema = json_schema(task.schema)
    if form == "tool":
        tool = ToolDefinition(
            name=task.stage, parameters_json_schema=schema, description="Give the answer.", kind="output"
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    return ModelRequestParameters(
        output_mode=form, output_object=OutputObjectDefinition(json_schema=schema, name=task.stage)
    )


def settings_for(model: Model, max_tokens: int, temperature: float | None, extra: Mapping[str, Any]) -> ModelSettings:
    """The settings of every request, without those the model does not support."""
    chosen: dict[str, Any] = {"max_tokens": max_tokens}
    if temperature is not None and _takes_temperature(model):
        chosen["temperature"] = temperature
    if "max_retries" not in getattr(model, "unsupported_settings", ()):
        chosen["max_retries"] = 0  # retries are made and counted here, not in the client
    return cast("ModelSettings", chosen | dict(extra))


def _takes_temperature(model: Model) -> bool:
    """Whether the model accepts a temperature; reasoning models and routers to them may not."""
    try:
        profile = model.profile
    except NotImplementedError:
        return False
    return not any(map(profile.get, ("anthropic_disallows_sampling_settings", "openai_supports_reasoning")))


def read(task: Task[A], response: ModelResponse, limit: int) -> A:
    """Parse the answer of a response.

    Raises:
        LanguageModelError: it is longer than `limit` characters, empty, or invalid.
    """
    written = "".join(map(_written, response.parts))
    if len(written) > limit:
        raise LanguageModelError(f"The language model answered {len(written)} characters; {limit} are the most it may.")
    problem = _failure_reason(written, response)
    for data in find_objects(written, task.schema.model_fields):
        try:
            return task.read(validate_leniently(task.schema, plain_values(data)))
        except LanguageModelError as error:
            problem = str(error)
    raise LanguageModelError(problem)


def _failure_reason(written: str, response: ModelResponse) -> str:
    if response.finish_reason == "length":
        return "The language model's answer was cut off: it needs more than max_tokens."
    if not written:
        return "The language model gave no answer."
    return "The language model's answer holds no object of the form that was asked for."


def _written(part: Any) -> str:
    """The text of a response part, or the arguments of a tool call; thoughts and files are ignored."""
    kind = getattr(part, "part_kind", "")
    if kind == "text":
        return part.content
    return part.args_as_json_str() if kind == "tool-call" and part.args else ""


def price(response: ModelResponse) -> float:
    """The cost of a response in US dollars; 0 if pydantic-ai does not know the price."""
    try:
        return float(response.cost().total_price)
    except Exception:  # noqa: BLE001 - unknown model or provider, no usage, no price table: best effort only
        return 0.0
