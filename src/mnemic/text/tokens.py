"""Offline token counting: tiktoken if its tables are on this machine, else an approximation."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from mnemic import paths
from mnemic.errors import ConfigurationError
from mnemic.protocols import TokenCounter

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = ["approximate_tokens", "count_tokens", "token_counter"]

# tiktoken names a cached table by the SHA-1 of its URL.
_TABLES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
_PIECES = re.compile(r"\s*[^\W\d_]+|\s*\d{1,3}|\s*[^\w\s]|\s+|_")
_LOCK = threading.Lock()


def approximate_tokens(text: str) -> int:
    """Approximate tokens: one per six letters of a word, per mark and per three digits.

    On English chat this is about a tenth above cl100k_base, so a budget is usually kept by the real tokenizer too; in
    other scripts each character counts, which is higher still.
    """
    total = 0
    for piece in _PIECES.findall(text):
        word = piece.strip()
        total += (len(word) + 5) // 6 if word.isascii() else len(word)
    return total


@lru_cache(maxsize=4)
def _tiktoken(name: str) -> Callable[[str], int] | None:
    """A counter of a tiktoken table, or None when it would have to be downloaded."""
    folder = paths.tiktoken_cache(_TABLES[name])
    if folder is None:
        return None
    import tiktoken

    with _LOCK, paths.environment_set("TIKTOKEN_CACHE_DIR", str(folder)):  # its only way to set the folder
        encoding = tiktoken.get_encoding(name)
    return partial(_count, encoding)


def _count(encoding: Encoding, text: str) -> int:
    return len(encoding.encode(text, disallowed_special=()))


def token_counter(tokenizer: str | TokenCounter | None) -> TokenCounter:
    """The counter for a handle's ``tokenizer`` argument.

    Args:
        tokenizer: ``None`` for cl100k_base if its table is on this machine, else the approximation; ``"approximate"``;
            the name of a tiktoken table on this machine; or any function from text to a number of tokens.

    Raises:
        ConfigurationError: an unknown name, or a table that is not on this machine.
    """
    if callable(tokenizer):
        return tokenizer
    if tokenizer == "approximate":
        return approximate_tokens
    if tokenizer is None:
        return _tiktoken("cl100k_base") or approximate_tokens
    counter = _tiktoken(tokenizer) if tokenizer in _TABLES else None
    if counter is None:
        raise ConfigurationError(
            f"The tokenizer {tokenizer!r} is not available. Use one of {sorted(_TABLES)} with its table in "
            'TIKTOKEN_CACHE_DIR (llama-index-core brings both), "approximate", or a function from text to a number.'
        )
    return counter


def count_tokens(tokenizer: str | TokenCounter | None, text: str) -> int:
    """The tokens of a text by a handle's ``tokenizer`` argument."""
    return token_counter(tokenizer)(text)
