"""The handle that an adapter is made with."""

from __future__ import annotations

from mnemic import AsyncMemory, ConfigurationError, Memory

__all__ = ["face_of"]


def face_of(memory: object) -> AsyncMemory:
    """The asynchronous face of a handle of either kind.

    Raises:
        ConfigurationError: it is no handle.
    """
    if isinstance(memory, AsyncMemory):
        return memory
    if isinstance(memory, Memory):
        return AsyncMemory.over(memory)
    raise ConfigurationError(
        f"memory must be a Memory or an AsyncMemory, not {memory!r:.80}. "
        'Open one, such as Memory("./memory", user="ana"), and give that.'
    )
