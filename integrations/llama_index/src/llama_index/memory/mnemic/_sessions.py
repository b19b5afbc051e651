"""The sessions of a named conversation: a reset ends one, and whoever opens the conversation later finds the next.

A conversation was reset as often as it has marks: archived messages whose ids can be computed, and which no search finds.
"""

from __future__ import annotations

import hashlib
import json
import re

from mnemic import Memory, Message, NotFound

__all__ = ["begin_next", "current", "session_of"]

_SUFFIX = re.compile(r"#reset\d+$")


def current(memory: Memory, name: str) -> str:
    """The session a conversation is in: its name until it is reset, then ``"<name>#reset1"``, ``#reset2`` and so on.

    A name that itself ends like that begins with ``#reset0`` behind it.
    """
    return session_of(name, _resets(memory, name))


def begin_next(memory: Memory, name: str) -> Memory:
    """End the session a conversation is in, in every process and for good; returns a handle on the next one."""
    number = _resets(memory, name) + 1
    following = memory.scoped(session=session_of(name, number))
    mark = _mark(memory, name, number)
    memory.add([Message(role="system", content="The conversation was reset.", id=mark, session=session_of(name, 0))])
    memory.forget(ids=[mark], reason="marks the reset of a conversation")
    return following


def session_of(name: str, resets: int) -> str:
    """The session of a conversation that was reset so often. No two have one, whatever they are called."""
    return f"{name}#reset{resets}" if resets or _SUFFIX.search(name) else name


def _mark(memory: Memory, name: str, number: int) -> str:
    """The id of a mark; a name in two projects is two conversations."""
    seed = json.dumps([memory.scope.project, name, number])
    return "li_reset_" + hashlib.sha256(seed.encode()).hexdigest()[:32]


def _resets(memory: Memory, name: str) -> int:
    """The number of the last mark; they have no gaps, so doubling and halving finds it in a few reads."""
    high = 1
    while _marked(memory, name, high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _marked(memory, name, middle) else (low, middle)
    return low


def _marked(memory: Memory, name: str, number: int) -> bool:
    try:
        memory.get(_mark(memory, name, number))
    except NotFound:
        return False
    return True
