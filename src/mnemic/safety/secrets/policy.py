"""The policy for secrets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from mnemic.errors import ConfigurationError
from mnemic.safety.secrets.detection import KINDS, MARK, Finder, without_marks
from mnemic.safety.secrets.pattern import Expression, Pattern
from mnemic.safety.secrets.surroundings import named_secret

__all__ = ["SecretAction", "SecretPolicy"]

SecretAction = Literal["redact", "allow", "refuse"]

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_OPAQUE = "k7Q2xV9mZ4tR8wB1nY5c"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPolicy:
    r"""How keys, tokens, passwords, and card and account numbers are treated before storage.

    Attributes:
        action: ``"redact"`` replaces them by ``[redacted: kind]``, ``"refuse"`` rejects records with one, ``"allow"``
            does nothing.
        kinds: the kinds to detect; default all of ``every_kind()``.
        extra: further kinds: a name of lower-case letters, digits and hyphens, and a regular expression. The secret is
            its group ``secret``, or the whole match. A slow expression slows down every write.

    Raises:
        ConfigurationError: a kind is unknown, or an expression cannot be used.

    Example:
        >>> from mnemic import SecretPolicy
        >>> policy = SecretPolicy(extra={"badge": r"BADGE-\d{6}"})
        >>> policy.redacted("I am BADGE-123456, my password is hunter2")
        ('I am [redacted: badge], my password is [redacted: password]', ('badge', 'password'))
    """

    action: SecretAction = "redact"
    kinds: Iterable[str] | None = None
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    _finder: Finder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.action not in get_args(SecretAction):
            raise ConfigurationError(f"action must be one of {list(get_args(SecretAction))}, not {self.action!r:.40}.")
        if isinstance(self.kinds, str):
            raise ConfigurationError(f"kinds must be a list of kinds, not the string {self.kinds!r:.40}.")
        chosen = KINDS if self.kinds is None else frozenset(self.kinds)
        if unknown := sorted(map(str, chosen - KINDS)):
            raise ConfigurationError(
                f"There are no secrets of the kind {unknown}. SecretPolicy.every_kind() names all."
            )
        object.__setattr__(self, "kinds", chosen)
        object.__setattr__(self, "_finder", Finder(chosen, [_pattern(*item) for item in self.extra.items()]))

    @staticmethod
    def every_kind() -> frozenset[str]:
        """The names of all known kinds: ``SecretPolicy(kinds=SecretPolicy.every_kind() - {"card-number"})``."""
        return KINDS

    def redacted(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The redacted text and the kinds found; unchanged with ``"allow"``."""
        if self.action == "allow":
            return text, ()
        return self._finder.redacted(text)

    def within(self, value: Any) -> tuple[Any, tuple[str, ...]]:
        """The same for a JSON value: every string, and values whose key names a secret."""
        if self.action == "allow":
            return value, ()
        kinds: dict[str, None] = {}
        return self._within(value, kinds), tuple(kinds)

    def _within(self, value: Any, kinds: dict[str, None]) -> Any:
        if isinstance(value, str):
            text, found = self._finder.redacted(value)
            kinds |= dict.fromkeys(found)
            return text
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return {self._within(key, kinds): self._field(key, item, kinds) for key, item in items}
        if isinstance(value, (list, tuple)):
            return [self._within(item, kinds) for item in cast("Sequence[Any]", value)]
        return value

    def _field(self, key: Any, value: Any, kinds: dict[str, None]) -> Any:
        """A redacted field value, also checked by its key."""
        clean = self._within(value, kinds)
        if not isinstance(key, str) or not isinstance(value, (str, int)):
            return clean
        if MARK.fullmatch(str(clean)) or MARK.search(key):  # already redacted
            return clean
        # a partly redacted value is judged by its key alone
        assignment = without_marks(str(value)) if clean == value else _OPAQUE
        kind = named_secret(key, assignment)
        if kind is None or kind not in cast("frozenset[str]", self.kinds):
            return clean
        kinds[kind] = None
        return f"[redacted: {kind}]"

    def in_name(self, value: str) -> tuple[str, ...]:
        """The kinds of secrets in a name. Numeric parts may pass the checksum of card numbers by chance and are
        ignored.

        Names are composed: the id of a message contains those of its project and thread, as ``project/thread:...``.
        """
        kinds = self.redacted(value)[1]
        if "card-number" not in kinds or "card-number" in self.redacted(_NUMBERED.sub("0", value))[1]:
            return kinds
        return tuple(kind for kind in kinds if kind != "card-number")

    def name(self, value: str) -> str:
        """A redacted identifier, such as a session: a digest beside the mark keeps it unique."""
        kinds = self.in_name(value)
        if not kinds:
            return value
        clean = self.redacted(value)[0]
        return f"{clean} #{hashlib.blake2b(value.encode(errors='surrogatepass'), digest_size=6).hexdigest()}"


_NUMBERED = re.compile(r"(?<![^:/#])\d+(?![^:/#])")
"""A numeric name or part of a name."""


def _pattern(name: object, expression: object) -> Pattern:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(f"A kind is named by lower-case letters, digits and hyphens, not {name!r:.60}.")
    if not isinstance(expression, str):
        raise ConfigurationError(f"extra[{name!r}] must be a regular expression as a string.")
    try:
        regex = re.compile(expression)
    except re.error as error:
        raise ConfigurationError(f"extra[{name!r}] is not a regular expression: {error}.") from error
    if regex.match(""):
        raise ConfigurationError(f"extra[{name!r}] matches the empty text. Write one that needs characters.")
    return Pattern(kind=name, needles=(), expression=Expression(expression), anywhere=True)
