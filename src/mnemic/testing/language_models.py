"""Language models that answer from a script, or fail in a stated way. Needs the extra ``llm``.

Both are pydantic-ai models for every ``model`` argument: ``LanguageModel(ScriptedModel({...}))``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from mnemic.text.tokens import token_counter

Fault = Literal[
    "timeout", "refused connection", "429", "500", "empty", "refusal", "prose", "fences", "cut", "wrong schema",
    "invented ids", "other ids", "repeated ids", "repeats", "control characters", "10 MB",
]  # fmt: skip
"""Faults: the first four are errors, the rest are answers."""
FAULTS: tuple[Fault, ...] = get_args(Fault)

_FORMS = {"native", "tool", "prompted"}
_NUMBERED = re.compile(r"^\[(\d+)\]", re.MULTILINE)


class UndeclaredCall(BaseException):
    """A request that the script does not declare.

    Not an `Exception`, so that code which handles every failure of a model does not swallow it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedRequest:
    """One request to a scripted model."""

    stage: str
    form: str
    instructions: str
    prompt: str
    schema: Mapping[str, Any]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of messages, memories and statements in the prompt, in its order."""
        return tuple(int(number) for number in _NUMBERED.findall(self.prompt))


Reply: TypeAlias = Mapping[str, Any] | str | Exception
"""An object or verbatim text to answer with, or an error to raise."""
Script: TypeAlias = Mapping[str, Reply | Sequence[Reply] | Callable[[ScriptedRequest], Reply]]


class ScriptedModel(FunctionModel):
    """A model with scripted answers.

    Args:
        script: the answers by stage: one reply for every request, a list of replies for one request each, or a function
            of the request. A request of a missing stage, or beyond the end of its list, raises `UndeclaredCall`.
        refuses: forms of typed answers to reject: ``"native"``, ``"tool"``, ``"prompted"``.

    Attributes:
        requests: every request in order, including rejected and failed ones.
        undeclared: stages of requests that the script does not declare.
    """

    def __init__(self, script: Script, *, refuses: Collection[str] = ()) -> None:
        if unknown := set(refuses) - _FORMS:
            raise ValueError(f"{sorted(unknown)} are no forms of answers; there are {sorted(_FORMS)}.")
        super().__init__(self._respond, model_name="scripted")
        self.requests: list[ScriptedRequest] = []
        self.undeclared: list[str] = []
        self._input_tokens = 0
        self._output_tokens = 0
        self._lists: dict[str, list[Reply]] = {
            stage: list(cast("Sequence[Reply]", replies))
            for stage, replies in script.items()
            if isinstance(replies, (list, tuple))
        }
        self._always = {stage: replies for stage, replies in script.items() if stage not in self._lists}
        self._refuses = frozenset(refuses)
        self._count = token_counter(None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted([*self._lists, *self._always])})"

    @property
    def calls(self) -> Mapping[str, int]:
        """Requests by stage."""
        return Counter(request.stage for request in self.requests)

    @property
    def tokens(self) -> tuple[int, int]:
        """Input tokens (instructions, prompt and schema) and output tokens of all answered requests."""
        return self._input_tokens, self._output_tokens

    def check(self) -> None:
        """Raise AssertionError on undeclared requests or unused replies of a list."""
        left = {stage: len(replies) for stage, replies in self._lists.items() if replies}
        if self.undeclared or left:
            raise AssertionError(f"Asked without a script: {self.undeclared}. Replies never asked for: {left}.")

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        request = _request(messages, info)
        self.requests.append(request)
        if request.form in self._refuses:
            raise ModelHTTPError(400, "scripted", {"message": f"{request.form} output is not supported"})
        return self._responding(request)

    def _responding(self, request: ScriptedRequest) -> ModelResponse:
        reply = self._reply(request)
        if isinstance(reply, Exception):
            raise reply
        return self._response(request, reply)

    def _reply(self, request: ScriptedRequest) -> Reply:
        if left := self._lists.get(request.stage):
            return left.pop(0)
        declared = self._always.get(request.stage)
        if declared is None:
            self.undeclared.append(request.stage)
            raise UndeclaredCall(f"The model was asked to {request.stage!r}, which its script does not foresee.")
        return declared(request) if callable(declared) else cast("Reply", declared)

    def _response(self, request: ScriptedRequest, reply: Mapping[str, Any] | str) -> ModelResponse:
        text = reply if isinstance(reply, str) else json.dumps(reply)
        asked = f"{request.instructions}\n{request.prompt}\n{json.dumps(request.schema)}"
        # A long text of one word takes a tokenizer minutes, and a rejected answer needs no exact count.
        usage = RequestUsage(
            input_tokens=self._count(asked), output_tokens=self._count(text) if len(text) < 100_000 else len(text) // 4
        )
        self._input_tokens += usage.input_tokens
        self._output_tokens += usage.output_tokens
        called = request.form == "tool" and not isinstance(reply, str)
        part = ToolCallPart(request.stage, text) if called else TextPart(text)
        return ModelResponse(parts=[part], usage=usage)


class FaultyModel(ScriptedModel):
    """A scripted model with faults.

    Args:
        kind: the fault, one of `FAULTS`.
        script: the correct answers, from which wrong ones are made. Numbers of messages and memories must be integers,
            shares must not be.
        times: number of faulty requests; None for all.
        stages: stages with faults; None for all.
    """

    def __init__(
        self, kind: Fault, script: Script, *, times: int | None = 1, stages: Collection[str] | None = None
    ) -> None:
        super().__init__(script)
        self._kind: Fault = kind
        self._left = times
        self._stages = None if stages is None else frozenset(stages)

    def recover(self) -> None:
        """Stop producing faults."""
        self._left = 0

    def _responding(self, request: ScriptedRequest) -> ModelResponse:
        concerned = self._stages is None or request.stage in self._stages
        if not concerned or self._left == 0:
            return super()._responding(request)
        if self._left is not None:
            self._left -= 1
        if (error := _ERRORS.get(self._kind)) is not None:
            raise error()
        reply = self._reply(request)
        if isinstance(reply, Exception):
            raise reply
        if self._kind == "empty":
            return ModelResponse(parts=[], usage=RequestUsage(input_tokens=1))
        good: Any = json.loads(reply) if isinstance(reply, str) else reply
        return self._response(request, _WRONG[self._kind](good))


def _request(messages: list[ModelMessage], info: AgentInfo) -> ScriptedRequest:
    asked = info.model_request_parameters
    named = info.output_tools[0] if info.output_tools else None
    target = asked.output_object
    last = messages[-1]
    if not isinstance(last, ModelRequest):
        raise TypeError(f"A scripted model answers requests, not {type(last).__name__}.")
    return ScriptedRequest(
        stage=(named.name if named else target.name if target else None) or "",
        form=asked.output_mode,
        instructions=last.instructions or "",
        prompt="\n".join(str(part.content) for part in last.parts if isinstance(part, UserPromptPart)),
        schema=named.parameters_json_schema if named else target.json_schema if target else {},
    )


def _limited() -> ModelHTTPError:
    error = ModelHTTPError(429, "scripted", {"message": "too many requests"})
    error.retry_after = 0.01  # also where pydantic-ai's error does not know the attribute
    return error


_ERRORS: Mapping[Fault, Callable[[], Exception]] = {
    "timeout": TimeoutError,
    "refused connection": lambda: ConnectionRefusedError("connection refused"),
    "429": _limited,
    "500": lambda: ModelHTTPError(500, "scripted", {"message": "internal error"}),
}


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """A JSON value with `change` applied to each leaf."""
    if isinstance(value, dict):
        return {key: _each(item, change) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_each(item, change) for item in cast("list[Any]", value)]
    return change(value)


def _numbers(value: Any, change: Callable[[int], Any]) -> Any:
    return _each(value, lambda leaf: change(leaf) if isinstance(leaf, int) and not isinstance(leaf, bool) else leaf)


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    return _each(value, lambda leaf: change(leaf) if isinstance(leaf, str) else leaf)


def _multiplied(value: Any, times: int) -> Any:
    """The value with every list `times` as long."""
    if isinstance(value, dict):
        return {key: _multiplied(item, times) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_multiplied(item, times) for item in cast("list[Any]", value)] * times
    return value


def _looping(value: Any) -> Any:
    """The value as a model gives it that cannot stop: texts that end in thousands of words, lists that begin again."""
    if isinstance(value, dict):
        return {key: _looping(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if items and isinstance(items[0], int):
            return items * 500
        return [*(_looping(item) for item in items[:1]), *items * 10]
    return value + " and so on" * 700 if isinstance(value, str) and " " in value else value


_WRONG: Mapping[Fault, Callable[[Any], Any]] = {
    "refusal": lambda _: "I'm sorry, but I can't help with that request.",
    "prose": lambda good: f"Sure! {{As you wish}}, here it is:\n{json.dumps(good)}\nI hope {{this}} helps.",
    "fences": lambda good: f"```json\n{json.dumps(good, indent=1)}\n```",
    "cut": lambda good: json.dumps(good)[: len(json.dumps(good)) * 2 // 3],
    "wrong schema": lambda _: {"result": {"status": "ok", "items": [1, 2, 3]}, "error": None},
    "invented ids": lambda good: _numbers(good, lambda number: number + 5_000),
    "other ids": lambda good: _numbers(good, lambda number: f"memory-{number}-of-bob"),
    "repeated ids": lambda good: _multiplied(good, 3),
    "repeats": _looping,
    "control characters": lambda good: json.dumps(_texts(good, lambda text: f"\x1b[31m{text}\x00\u202e\ud800")),
    "10 MB": lambda good: {**good, "padding": "x" * 10_000_000},
}
