"""Counting tokens, and the part of a chat history that fits a budget: whole turns, the newest ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

from llama_index.memory.mnemic._messages import is_call
from mnemic import TokenCounter

OTHER_BLOCK = 256
"""What an image or another block without text is taken to cost, as in llama_index.core.memory.Memory."""

Tokenizer = Callable[[str], list[Any]]

COUNTED = 4_096
"""How many texts a counter remembers: a history is counted again at every turn."""


def default_tokenizer() -> Tokenizer:
    """The tokenizer LlamaIndex counts with."""
    from llama_index.core import utils

    return cast("Tokenizer", utils.get_tokenizer())  # pyright: ignore[reportUnknownMemberType] - its List is bare


def counter(tokenizer: Tokenizer) -> TokenCounter:
    """Text in, number of tokens out; each text is counted once."""

    def count(text: str) -> int:
        return len(tokenizer(text))

    return lru_cache(maxsize=COUNTED)(count)


def message_tokens(message: ChatMessage, count: TokenCounter) -> int:
    """What a message costs in a prompt."""
    tokens = count(str(message.additional_kwargs)) if message.additional_kwargs else 0
    for block in message.blocks:
        if isinstance(block, TextBlock):
            tokens += count(block.text)
        elif is_call(block):
            tokens += count(str(block))
        else:
            tokens += OTHER_BLOCK
    return tokens


def _turns(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Runs that begin with a user message, so that a tool's answer never loses the call it belongs to."""
    turns: list[list[ChatMessage]] = []
    for message in messages:
        if message.role == MessageRole.USER or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def fit(messages: Sequence[ChatMessage], budget: int, count: TokenCounter) -> list[ChatMessage]:
    """The system messages it begins with, and as many of the newest turns as fit; the last turn is always kept whole.

    Args:
        messages: the history, oldest first.
        budget: tokens.
        count: text in, number of tokens out.
    """
    system = list(takewhile(lambda m: m.role in (MessageRole.SYSTEM, MessageRole.DEVELOPER), messages))
    left = budget - sum(message_tokens(m, count) for m in system)
    kept: list[list[ChatMessage]] = []
    for turn in reversed(_turns(messages[len(system) :])):
        left -= sum(message_tokens(m, count) for m in turn)
        if kept and left < 0:
            break
        kept.append(turn)
    return [*system, *(message for turn in reversed(kept) for message in turn)]
