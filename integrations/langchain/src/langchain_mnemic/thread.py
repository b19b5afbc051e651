"""What of a thread was dealt with, and what is new in it. Pure: no memory is touched here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from langchain_core.messages import AIMessage, AnyMessage

from langchain_mnemic.messages import Clean, digest_of, key_of, said_by, said_in, typed_by_user
from mnemic import Message

__all__ = ["Marks", "dealt_with", "last_turn", "marked", "repeated", "unmarked"]

Marks: TypeAlias = dict[str, list[str]]
"""The messages dealt with: of each, by its key, the digest of its words, then those of the words that they replaced."""


def marked(messages: Iterable[tuple[int, AnyMessage]], before: Marks, clean: Clean) -> Marks:
    """The marks of messages, given with their positions; ``before`` knows what words they had.

    Of a message that was edited and has left the thread since, the marks stay: its earlier words are replaced for good.
    """
    marks: Marks = {key: digests for key, digests in before.items() if len(digests) > 1}
    for i, message in messages:
        key, digest = key_of(message, i, clean), digest_of(message, clean)
        marks[key] = [digest, *(old for old in before.get(key, []) if old != digest)]
    return marks


def unmarked(messages: Sequence[AnyMessage], marks: Marks, clean: Clean) -> list[tuple[int, AnyMessage]]:
    """What is not dealt with, with its positions: new messages, and those that have other words now."""
    return [(i, m) for i, m in enumerate(messages) if marks.get(key_of(m, i, clean), [])[:1] != [digest_of(m, clean)]]


def last_turn(messages: Sequence[AnyMessage]) -> int:
    """Where the last turn of the user begins: after the answer before it. Other agents may have answered since."""
    places = range(len(messages) - 1, -1, -1)
    user = next((i for i in places if typed_by_user(messages[i])), len(messages))
    return next((i + 1 for i in range(user - 1, -1, -1) if isinstance(messages[i], AIMessage)), 0)


def dealt_with(messages: Sequence[AnyMessage], held: str | Sequence[str], clean: Clean) -> Marks:
    """The marks that stand for those of earlier versions: a key, or the last keys; empty when nothing was dealt with."""
    keys = [held] if isinstance(held, str) else held
    places = range(len(messages) - 1, -1, -1)
    last = next((i + 1 for i in places if key_of(messages[i], i, clean) in keys), None)
    start = (last_turn(messages) if any(keys) else 0) if last is None else last
    return marked([*enumerate(messages)][:start], {}, clean)


def repeated(
    messages: Sequence[AnyMessage], start: int, records: Sequence[Message], since: datetime, clean: Clean
) -> list[tuple[int, AnyMessage]]:
    """What the session holds already of a turn that comes under new ids: its request was made before.

    Words that follow the same answer again are the same words. Without an answer to go by they are the same only when
    nothing was answered since, and a short time passed: people do say a thing twice.

    Args:
        messages: the thread.
        start: where the turn begins.
        records: what the session holds, oldest first.
        since: when the short time began.
        clean: ``Memory.redacted``, by which words are told in the record.
    """
    told = [said_in(record) for record in records]
    before = next((said for m in reversed(messages[:start]) if (said := said_by(m, clean)) in told), None)
    if before is not None:
        left = told[len(told) - told[::-1].index(before) :]
    else:
        users = next((i + 1 for i in range(len(told) - 1, -1, -1) if told[i][0] != "user"), 0)
        left = [said_in(record) for record in records[users:] if record.sent_at and record.sent_at >= since]
    found: list[tuple[int, AnyMessage]] = []
    for i, message in enumerate(messages[start:], start):
        if (said := said_by(message, clean)) in left:
            left.remove(said)  # said twice in one turn, it has to be there twice
            found.append((i, message))
    return found
