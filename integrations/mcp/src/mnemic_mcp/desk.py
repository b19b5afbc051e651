"""What every call of a tool goes through."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import wraps
from typing import Annotated, Any, ParamSpec

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from mnemic import AsyncMemory, MnemicError

__all__ = ["Desk"]

P = ParamSpec("P")


def _result(answer: BaseModel) -> CallToolResult:
    """An answer for programs and, compact, for models: what there is nothing to say about is left out."""
    return CallToolResult(
        content=[TextContent(type="text", text=answer.model_dump_json(exclude_defaults=True))],
        structured_content=answer.model_dump(mode="json", exclude_defaults=True),
    )


class Desk:
    """The memory that is served, and how its calls are answered.

    Args:
        memory: bound to its user and project; nothing a client sends changes that.
        consolidate: use quiet moments: each call begins the quiet time anew.
    """

    def __init__(self, memory: AsyncMemory, *, consolidate: bool) -> None:
        self.memory, self._consolidate = memory, consolidate

    def answering(self, call: Callable[P, Awaitable[BaseModel]]) -> Callable[P, Awaitable[CallToolResult]]:
        """The call with its answer as the protocol has it, and its errors as answers that a model can act on."""

        @wraps(call)
        async def answered(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
            with self.memory.idle.run() if self._consolidate else nullcontext():
                try:
                    return _result(await call(*args, **kwargs))
                except MnemicError as error:
                    raise ToolError(str(error)) from error

        return _publishing(answered, call)


def _publishing(answered: Callable[P, Any], call: Callable[P, Any]) -> Callable[P, Any]:
    """Tell the SDK the schema of the answer: it reads it from the signature."""
    signature = inspect.signature(call, eval_str=True)
    schema = Annotated[CallToolResult, signature.return_annotation]
    answered.__signature__ = signature.replace(return_annotation=schema)  # pyright: ignore[reportFunctionMemberAccess]
    return answered
