"""What a template of ``updates`` is made of."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Attribute", "words"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """What changes: its values, how it is first said, how a change is said, how it is asked, and how others say theirs.

    ``{v}`` is the value, ``{o}`` the one before it.
    """

    name: str
    values: tuple[str, ...]
    first: tuple[str, ...]
    changes: tuple[str, ...]
    questions: tuple[str, ...]
    others: tuple[str, ...] = ()


def words(text: str) -> tuple[str, ...]:
    """The parts of a text that bars divide."""
    return tuple(part.strip() for part in text.split("|"))
