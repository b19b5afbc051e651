"""Who the user is: what the program decides and a model never can."""

from __future__ import annotations

from mnemic import ConfigurationError, Memory

__all__ = ["checked"]


def checked(memory: Memory) -> Memory:
    """The handle that an adapter is made with.

    Raises:
        ConfigurationError: it is not a ``Memory``.
    """
    if not isinstance(memory, Memory):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise ConfigurationError(
            f"memory must be a Memory, not {type(memory).__name__}. Hand over a Memory also where this is awaited: it is "
            "called on worker threads then. AsyncMemory.over(memory) is the same memory for code of your own."
        )
    return memory
