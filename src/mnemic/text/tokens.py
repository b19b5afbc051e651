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

# tiktoken names a cached table by the SHA-1 of its URL.
_TABLES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
_PIECES = re.compile(
    r"(?<=[0-9])[A-Za-z]+|[A-Za-z]+(?=[0-9])|(?P<word>[A-Za-z]+)"
    r"|(?P<other>[0-9]{1,3}|[ \t\r]*\n|[ \t\r]{2,}|[ \t\r](?=[0-9])|[!-/:-@\[-`{-~]|\t)|[^ ]"
)
_CASES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]")
_VOWELS, _RARE = re.compile("[aeiouy]", re.IGNORECASE), re.compile("[jkqvwxz]", re.IGNORECASE)
_CONSONANTS = re.compile("[^aeiouy]{5}", re.IGNORECASE)
_SINGLE = frozenset(map(chr, range(0x430, 0x450)))
"""Cyrillic letters, which are one token each."""
_LOCK = threading.Lock()


def approximate_tokens(text: str) -> int:
    """Approximate tokens, for ordinary text no fewer than by cl100k_base and o200k_base.

    A word counts one for each four letters, a long word one for each three, a word that cannot be pronounced almost one for
    each letter, and a character beyond ASCII as many as it has bytes in UTF-8. English comes out about 1.5 times as high as
    by the tables, Chinese about twice.
    """
    total = 0
    for match in _PIECES.finditer(text):
        piece = match.group()
        if match["word"]:
            total += _word_tokens(piece)
        elif match["other"]:
            total += 1 + len(piece) // 8
        else:  # letters beside a digit, or a character beyond ASCII
            total += 1 if piece in _SINGLE else len(piece.encode(errors="surrogatepass"))
    return total


@lru_cache(maxsize=8192)
def _word_tokens(word: str) -> int:
    cases: list[str] = _CASES.findall(word)
    return sum(_letter_tokens(part, alone=len(cases) == 1) for part in cases)


def _letter_tokens(part: str, *, alone: bool) -> int:
    """Most tokens of letters of one case, of a word of their own or of one in several cases."""
    size, vowels = len(part), len(_VOWELS.findall(part))
    if size < 4:
        return 1 if alone and (size < 3 or vowels) else min(size, 2)
    if size > 3.5 * vowels + 2 or len(_RARE.findall(part)) > 1 + size // 8 or _CONSONANTS.search(part):
        return -(-4 * size // 5)
    return -(-size // (3 if part.isupper() or size > 8 else 4))


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
    """The tokens of a text; no closure, because results are pickled with their counter."""
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
