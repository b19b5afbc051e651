"""The policy for secrets, and their detection and redaction in texts and in records.

Cheap tests come first, so that an ordinary text costs microseconds.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar, cast, get_args

from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.secrets.patterns import (
    ADJACENT_PATTERNS,
    ANYWHERE,
    CONTEXT_PATTERNS,
    OPAQUE,
    Pattern,
    Span,
    columns,
    is_one_word,
    spans_of,
)
from mnemic.secrets.tokens import NUMBERS, TOKENS
from mnemic.text.values import shown
from mnemic.types import Change, Link, Record, Scope

SecretAction = Literal["redact", "allow", "refuse"]

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPolicy:
    r"""How keys, tokens, passwords, and card and account numbers are treated before storage.

    Attributes:
        action: ``"redact"`` replaces them by ``[redacted: kind]``, ``"refuse"`` rejects records with one, ``"allow"``
            does nothing.
        kinds: the kinds to detect; default all of ``every_kind()``.
        extra: further kinds, as regular expressions by name. A name has lowercase
            letters, digits and hyphens. The secret is the group ``secret`` of the
            expression, else the whole match. A slow expression slows down every write.

    Raises:
        ConfigurationError: a kind is unknown, or an expression cannot be used.

    Examples:
        >>> from mnemic import SecretPolicy
        >>> policy = SecretPolicy(extra={"badge": r"BADGE-\d{6}"})
        >>> policy.redacted("I am BADGE-123456, my password is hunter2")
        ('I am [redacted: badge], my password is [redacted: password]', ('badge', 'password'))
    """

    action: SecretAction = "redact"
    kinds: Iterable[str] | None = None
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    _finder: _Finder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.action not in get_args(SecretAction):
            raise ConfigurationError(f"action must be one of {list(get_args(SecretAction))}, not {self.action!r:.40}.")
        if isinstance(self.kinds, str):
            raise ConfigurationError(f"kinds must be a list of kinds, not the string {self.kinds!r:.40}.")
        chosen = _KINDS if self.kinds is None else frozenset(self.kinds)
        if unknown := sorted(map(str, chosen - _KINDS)):
            raise ConfigurationError(
                f"There are no secrets of the kind {unknown}. SecretPolicy.every_kind() names all."
            )
        object.__setattr__(self, "kinds", chosen)
        object.__setattr__(self, "_finder", _Finder(chosen, [_pattern(*item) for item in self.extra.items()]))

    @staticmethod
    def every_kind() -> frozenset[str]:
        """The names of all known kinds: ``SecretPolicy(kinds=SecretPolicy.every_kind() - {"card-number"})``."""
        return _KINDS

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

    def _within(self, value: Any, kinds: dict[str, None], key: str = "", above: str = "") -> Any:
        """A redacted value.

        Args:
            value: the value.
            kinds: where to note the kinds found.
            key: the key it stands under.
            above: the nearest key further up that names a secret, which holds for everything below it.
        """
        if isinstance(value, (list, tuple)):
            return [self._within(item, kinds, key, above) for item in cast("Sequence[Any]", value)]
        if isinstance(value, Mapping):
            above = key if key and self._finder.kind_of_field(key) else above
            items = cast("Mapping[Any, Any]", value).items()
            return {
                self._within(name, kinds): self._within(item, kinds, name if isinstance(name, str) else "", above)
                for name, item in items
            }
        if not isinstance(value, (str, int)):
            return value
        clean, found = self._finder.redacted(value) if isinstance(value, str) else (value, ())
        kinds |= dict.fromkeys(found)
        kind = self._kind_of_field(value, clean, key, above)
        if kind is None:
            return clean
        kinds[kind] = None
        return f"[redacted: {kind}]"

    def _kind_of_field(self, value: str | int, clean: str | int, key: str, above: str) -> str | None:
        """The kind of secret that a value is by the keys it stands under."""
        if _MARK.fullmatch(str(clean)) or _MARK.search(key) or _MARK.search(above):  # already redacted
            return None
        if clean != value:  # a partly redacted value is judged by its key alone
            return self._finder.kind_of_field(key) if key else None
        kind = self._finder.kind_of_field(key, str(value)) if key else None
        if kind is None and above and isinstance(value, str) and is_one_word(value):
            kind = self._finder.kind_of_field(above, value)
        return kind

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
    return Pattern(name, (), None, expression, anywhere=True)


def pieces(text: str, clean: Callable[[str], str], size: int = 500_000) -> list[str]:
    """Split a text into pieces that fit a record. A long text is redacted first, so that no secret spans two pieces.

    Args:
        text: the text.
        clean: ``Memory.admin.redacted``.
        size: most characters of a piece, at least 100. A shorter text is returned unchanged as one piece.

    Examples:
        >>> [len(piece) for piece in pieces("word " * 120_000, str)]
        [500000, 100000]
    """
    if len(text) <= size:
        return [text]
    text, parts = clean(text), list[str]()
    while len(text) > size:
        over = [m.start() for m in _MARK.finditer(text, size - _LONGEST_MARK, size + _LONGEST_MARK) if m.end() > size]
        cut = min([size, *over])
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text]


_KINDS = frozenset(pattern.kind for pattern in (*TOKENS, *CONTEXT_PATTERNS, *ADJACENT_PATTERNS, *NUMBERS))
"""Every known kind of secret."""

_LEAST = 16
"""Least length of a word that may be a token."""
_MAX_SIZE = 65_536
"""How many searched texts are known, each secret in them counted as one more: about 10 MB at most."""
_PASSES = 20
"""Most passes over a text while there is something to redact."""

_MARK = re.compile(r"\[redacted: ([a-z0-9-]{1,40})\]")
"""The mark of a redacted secret."""
_LONGEST_MARK = 53

_MEDIA = re.compile(r"data:(?:image|audio|video)/[\w.+-]{1,60};base64,[\w+/=-]*", re.ASCII)
"""Inline media: by chance some of its characters look like a secret."""
_DIGITS = re.compile(r"\d(?:[ .\n-]{0,3}\d){8}")


class _Finder:
    """Looks for secrets of the chosen kinds.

    Args:
        kinds: the kinds to look for.
        extra: further patterns.
    """

    def __init__(self, kinds: Collection[str], extra: Sequence[Pattern] = ()) -> None:
        self._tokens = [(n, pattern) for pattern in TOKENS if pattern.kind in kinds for n in pattern.needles]
        context = [pattern for pattern in (*CONTEXT_PATTERNS, *ADJACENT_PATTERNS) if pattern.kind in kinds]
        self._context = [(frozenset(pattern.needles), pattern) for pattern in context]
        self._needles = tuple(dict.fromkeys(needle for pattern in context for needle in pattern.needles))
        self._kinds = frozenset(kinds)
        self._anywhere = [pattern for pattern in ANYWHERE if pattern.kind in kinds]
        self._numbers = [pattern for pattern in NUMBERS if pattern.kind in kinds]
        self._extra = list(extra)
        # a text without the words that contain no other has none at all
        self._words = tuple(n for n in self._needles if not any(word != n and word in n for word in self._needles))
        self._words_in_ascii = tuple(filter(str.isascii, self._words))
        self._known_texts: dict[bytes, Sequence[list[Span]]] = {}
        self._size = 0

    def redacted(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The text with each secret replaced by ``[redacted: kind]``, and the distinct kinds in order.

        A text is searched once: it is read when it comes in, before it is embedded and before it is written, and a
        framework shows it again at every turn of its thread. Known are its digest and where the secrets are, no text.
        """
        if _MEDIA.fullmatch(text):
            return text, ()
        digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        passes = self._known_texts.get(digest)
        if passes is None:
            passes = self._searched(text)
            self._remember(digest, passes)
        kinds: dict[str, None] = {}
        for spans in passes:
            kinds |= dict.fromkeys(kind for *_, kind in spans)
            text = _without(text, spans)
        return text, tuple(kinds)

    def kind_of_field(self, name: str, value: str = OPAQUE) -> str | None:
        """The kind of secret that a field holds by its name, as its assignment would show; the id of a session is none."""
        name = name[-200:]
        if not self._gives_away(_folded(name)) and not _DIGITS.search(value):
            return None
        spans = self._built_in_spans(f'{name}="{_without_marks(value)}"')
        return next((kind for start, _, kind in spans if start > len(name) and kind != "session-token"), None)

    def _gives_away(self, low: str) -> bool:
        """Whether a text in lower case has a word that may give a secret away."""
        words = self._words_in_ascii if low.isascii() else self._words
        return any([word in low for word in words])  # noqa: C419 - a list is faster than a generator here

    def _remember(self, digest: bytes, passes: Sequence[list[Span]]) -> None:
        self._size += 1 + sum(map(len, passes))
        if self._size > _MAX_SIZE:
            self._known_texts.clear()
            self._size = 1 + sum(map(len, passes))
        self._known_texts[digest] = passes

    def _searched(self, text: str) -> Sequence[list[Span]]:
        """The secrets of each pass, in the text that the pass before left."""
        passes: list[list[Span]] = []
        while len(passes) < _PASSES and (spans := self._spans(text)):
            passes.append(spans)
            text = _without(text, spans)
        return passes

    def _spans(self, text: str) -> list[Span]:
        """Spans of secrets, disjoint and in order."""
        unseen = _without_marks(text)
        spans = [span for pattern in self._extra for span in spans_of(pattern, unseen, unseen)]
        for read, starts, ends in _readings(text):
            for start, end, kind in self._built_in_spans(read):
                spans.append((starts[start], ends[end - 1], kind) if starts else (start, end, kind))
        return _merged(spans) if spans else spans

    def _built_in_spans(self, text: str) -> list[Span]:
        """Spans of secrets of built-in kinds in a normalized text."""
        whole, text = text, _without_marks(text)
        spans = [span for pattern in self._anywhere for span in spans_of(pattern, text, text)]
        if len(text) >= _LEAST and (longest := max(map(len, text.split()), default=0)) >= _LEAST:
            for pattern in dict.fromkeys([pattern for needle, pattern in self._tokens if needle in text]):
                if pattern.least <= longest:
                    spans += spans_of(pattern, text, text)
        low = _folded(text)
        if self._gives_away(low):
            found = [needle for needle in self._needles if needle in low]
            for needles, pattern in self._context:
                if not needles.isdisjoint(found):
                    spans += spans_of(pattern, text, low)
            spans += [span for span in columns(whole) if span[2] in self._kinds]
        if _DIGITS.search(text):
            for pattern in self._numbers:
                spans += spans_of(pattern, text, text)
        return spans


def _without_marks(text: str) -> str:
    """A text with each mark replaced by as many line feeds, so that marks are never matched or cut."""
    return _MARK.sub(lambda mark: "\n" * len(mark[0]), text) if "[redacted: " in text else text


_INVISIBLE = (0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF)
_COLOUR = r"\[[0-?]*+[ -/]*+[@-~]"
_HIDDEN = re.compile(
    f"\r(?=\n)|[{''.join(map(chr, _INVISIBLE))}]|\x1b{_COLOUR}"
    r"|(?P<decomposed>[^\W\d_][\u0300-\u036f\u3099\u309a]+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?)"
)
_PLAIN = {
    **{wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x3000), " "),
    **dict.fromkeys((0x2010, 0x2011, 0x2012), "-"),
}
_ESCAPE = re.compile(
    rf"{_HIDDEN.pattern}|(?<!\\)\\++(?:(?:e|033|x1[Bb]|u001[Bb]){_COLOUR}|(?P<sign>[0abefnrtv\"'])"
    r"|x(?P<byte>[0-9A-Fa-f]{2})|u(?P<code>[0-9A-Fa-f]{4}))|%(?:25)*(?P<percent>[0-9A-Fa-f]{2})"
)
"""Escapes of JSON, programs, terminals and addresses, also escaped twice."""
_SIGNS = {"n": "\n", "t": "\t", '"': '"', "'": "'"}
_MEANT = {**_PLAIN, **dict.fromkeys(_INVISIBLE, ""), ord("\r"): " "}

_Reading = tuple[str, Sequence[int], Sequence[int]]
"""A text, and where each character begins and ends in the original; both empty if no position changed."""


def _readings(text: str) -> list[_Reading]:
    r"""The ways to read a text: as it shows, and with its escapes as what they stand for.

    The first has no invisible characters, and letters and spaces of normal width. The second also has line feeds for
    ``\n`` and ``=`` for ``%3D``. Both count, since a backslash or a percent sign may be part of a password.
    """
    plain = text if text.isascii() else text.translate(_PLAIN)
    shown = text.isascii() and "\r" not in text and "\x1b" not in text
    readings: list[_Reading] = [(plain, (), ()) if shown else _rewritten(plain, _HIDDEN)]
    if ("\\" in text or "%" in text) and _ESCAPE.search(plain):
        readings.append(_rewritten(plain, _ESCAPE))
    return readings


def _rewritten(text: str, expression: re.Pattern[str]) -> _Reading:
    """A text with each match replaced by what it stands for."""
    parts, starts, ends, position = list[str](), array("L"), array("L"), 0
    for match in expression.finditer(text):
        start, end = match.span()
        meaning = _meaning(match)
        parts += text[position:start], meaning
        starts.extend(range(position, start + len(meaning)))
        ends.extend(range(position + 1, start + 1))
        ends.extend([end] * len(meaning))
        position = end
    if not parts:
        return text, (), ()
    starts.extend(range(position, len(text)))
    ends.extend(range(position + 1, len(text) + 1))
    return "".join((*parts, text[position:])), starts, ends


def _meaning(escape: re.Match[str]) -> str:
    """The character that an escape stands for; none for what is invisible."""
    group = escape.lastgroup
    if group is None:
        return ""
    if group == "decomposed":
        return unicodedata.normalize("NFC", escape[0])
    return _SIGNS.get(escape[group], " ") if group == "sign" else chr(int(escape[group], 16)).translate(_MEANT)


def _folded(text: str) -> str:
    """The text in lower case, with unchanged positions."""
    low = text.replace("\u0130", "i").lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _merged(spans: list[Span]) -> list[Span]:
    """Merge overlapping spans; the earlier pattern gives the kind."""
    merged: list[tuple[int, int, int]] = []
    for start, end, rank in sorted((start, end, rank) for rank, (start, end, _) in enumerate(spans)):
        if merged and start < merged[-1][1]:
            first, last, best = merged[-1]
            merged[-1] = first, max(last, end), min(best, rank)
        else:
            merged.append((start, end, rank))
    return [(start, end, spans[rank][2]) for start, end, rank in merged]


def _without(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    position = 0
    for start, end, kind in spans:
        parts += text[position:start], f"[redacted: {kind}]"
        position = end
    return "".join((*parts, text[position:]))


R = TypeVar("R", bound=Record | Link | Change)
_AS_STORED = frozenset({
    "id", "ids", "project", "source", "source_ids", "message_ids", "superseded_by", "target", "by", "absorbed", "judged",
    "type", "status", "operation", "indexing", "emotions",
})  # fmt: skip
"""Fields that hold no text of their own: ids, which are refused or made here, names of a scope, words of a fixed list, and the
index of a text. Every other field is text to the policy, whatever it is called, so that a new one is covered at once."""
_IDENTIFIERS = frozenset(("session", "key"))
"""Text that tells records apart, and must do so when it is redacted."""


@cache
def _text_fields(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.name not in _AS_STORED)


def policy_from(secrets: object) -> SecretPolicy:
    """The policy of an argument: a ``SecretPolicy``, or the name of an action.

    Raises:
        ConfigurationError: it is neither.
    """
    if isinstance(secrets, SecretPolicy):
        return secrets
    if not isinstance(secrets, str):
        raise ConfigurationError(
            f'secrets must be a SecretPolicy, "redact", "allow" or "refuse", not {shown(secrets)}.'
        )
    return SecretPolicy(action=cast("SecretAction", secrets))


def redact_scope(policy: SecretPolicy, scope: Scope) -> Scope:
    """A scope with its session name redacted.

    Raises:
        InvalidInput: the name of the user or the project is a secret; it would be stored as it is.
    """
    for what, name in (("user", scope.user), ("project", scope.project)):
        if name is not None and (kinds := policy.in_name(name)):
            raise InvalidInput(
                f"The name of the {what} is a secret ({', '.join(kinds)}), and names are stored as they are. Give another "
                "name, such as a hash of it."
            )
    return scope if scope.session is None else replace(scope, session=policy.name(scope.session))


def refusal_reason(policy: SecretPolicy, kinds: Sequence[str]) -> str:
    """Why a record with these kinds of secrets must not be stored; empty if it may be."""
    if not kinds or policy.action != "refuse":
        return ""
    return f"it holds a secret ({', '.join(kinds)}), and the policy refuses these: nothing was stored"


def refuse_secrets(policy: SecretPolicy, what: str, kinds: Sequence[str]) -> None:
    """Raise if the policy refuses secrets and some were found, where no receipt can report it.

    Raises:
        InvalidInput: it held a secret.
    """
    if refusal := refusal_reason(policy, kinds):
        raise InvalidInput(f"{what} cannot be stored: {refusal}.")


def redact_record(policy: SecretPolicy, record: R) -> tuple[R, tuple[str, ...]]:
    """The redacted record or change, the same object if nothing was found; and the kinds of secrets found."""
    if policy.action == "allow":
        return record, ()
    changed: dict[str, Any] = {}
    kinds: dict[str, None] = {}
    for name in _text_fields(type(record)):
        if value := getattr(record, name):
            clean, found_kinds = _redact_value(policy, name, value)
            if found_kinds:
                changed[name] = clean
                kinds |= dict.fromkeys(found_kinds)
    return (replace(record, **changed), tuple(kinds)) if changed else (record, ())


def _redact_value(policy: SecretPolicy, name: str, value: Any) -> tuple[Any, tuple[str, ...]]:
    """The redacted value of a field: a text, a JSON object, a list of texts, or a record."""
    match value:
        case str() if name in _IDENTIFIERS:
            kinds = policy.in_name(value)
            return (policy.name(value) if kinds else value), kinds
        case str() | Mapping():
            return policy.within(value)
        case tuple():
            parts = [_redact_value(policy, name, item) for item in cast("tuple[Any, ...]", value)]
            clean = tuple(part for part, _ in parts)
            kinds = tuple(dict.fromkeys(kind for _, part_kinds in parts for kind in part_kinds))
            return (tuple(dict.fromkeys(clean)) if all(isinstance(part, str) for part in clean) else clean), kinds
        case _ if is_dataclass(value) and not isinstance(value, type):
            return redact_record(policy, cast("Any", value))
        case _:
            return value, ()
