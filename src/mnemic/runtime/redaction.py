"""Redaction of secrets: of incoming records, and once more before every write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, wraps
from inspect import isfunction
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mnemic.errors import ConfigurationError, InvalidInput, MnemicError, StoreCorrupt
from mnemic.runtime.indexer import Indexer
from mnemic.safety.secrets import SecretAction, SecretPolicy
from mnemic.safety.trust import REPEATED_TRUST, TRUST_OF_SOURCE, is_cut_off, without_recalled
from mnemic.services.telemetry import OPERATIONS, traced
from mnemic.text.markup import is_unverified
from mnemic.text.values import error_excerpt, shown
from mnemic.types import (
    AddEpisode,
    AddMemory,
    AddMessage,
    Change,
    Consolidate,
    Episode,
    GivenContext,
    Indexing,
    KeepContexts,
    KeepQuestions,
    Link,
    MemoryRecord,
    Message,
    Receipt,
    Revise,
    Scope,
)
from mnemic.validation import explain

if TYPE_CHECKING:
    from mnemic.stores import Store

R = TypeVar("R", bound=Message | Episode | MemoryRecord | Link | Change)
A = TypeVar("A", bound=AddMessage | AddMemory | Revise | AddEpisode)
C = TypeVar("C", bound=type)

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


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """A redacted record, the kinds of secrets found in it, and the reason if it must not be stored."""

    record: Any
    kinds: tuple[str, ...] = ()
    refusal: str = ""


def check_record(policy: SecretPolicy, fence: str, record: Message | Episode | MemoryRecord) -> CheckedRecord:
    """Prepare an incoming record: set its trust, redact secrets, remove text recalled from this memory."""
    own_text = without_recalled(record.content, fence)
    if own_text == "":
        return CheckedRecord(record, refusal="this was recalled from the record: it is there already")
    if record.id is not None and (kinds := policy.in_name(record.id)):
        clean = policy.name(record.id)
        reason = f"its id is a secret ({', '.join(kinds)}), and ids are stored as they are: give it another"
        return CheckedRecord(replace(record, id=clean), refusal=reason)
    content = record.content if own_text is None else own_text
    clean, kinds = redact_record(policy, replace(record, content=content, trust=_trust(record, content, fence)))
    return CheckedRecord(clean, kinds, _refusal_reason(policy, kinds))


def _trust(record: Message | Episode | MemoryRecord, content: str, fence: str) -> float:
    """Trust of a record. Repeating untrusted text gives it no trust, unless the caller set that of a message."""
    if isinstance(record, Message) and record.trust is not None:
        return record.trust
    trust = TRUST_OF_SOURCE[record.source or "tool_external"] if record.trust is None else record.trust
    return min(trust, REPEATED_TRUST) if is_unverified(content) or is_cut_off(record.content, fence) else trust


def _refusal_reason(policy: SecretPolicy, kinds: Sequence[str]) -> str:
    if not kinds or policy.action != "refuse":
        return ""
    return f"it holds a secret ({', '.join(kinds)}), and the policy refuses these: nothing was stored"


def refuse_secrets(policy: SecretPolicy, what: str, kinds: Sequence[str]) -> None:
    """Raise if the policy refuses secrets and some were found, where no receipt can report it.

    Raises:
        InvalidInput: it held a secret.
    """
    if refusal := _refusal_reason(policy, kinds):
        raise InvalidInput(f"{what} cannot be stored: {refusal}.")


def with_redactions(receipt: Receipt, kinds: Sequence[str]) -> Receipt:
    """Add the redacted kinds to the reason of a receipt."""
    if not kinds or receipt.outcome not in ("stored", "superseded"):
        return receipt
    return replace(receipt, reason="; ".join(filter(None, (receipt.reason, f"redacted: {', '.join(kinds)}"))))


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


QUESTION, HIT = 2_000, 300
"""Characters kept of a question, and of a hit of a context. Text is cut after it was redacted, or half a secret would stay."""


def _cut(context: GivenContext) -> GivenContext:
    hits = tuple(replace(hit, text=hit.text[:HIT]) for hit in context.hits)
    return replace(context, question=context.question[:QUESTION], hits=hits)


class RedactingStore:
    """A store wrapper that redacts every change, whether it comes from rules or from a language model."""

    def __init__(self, store: Store, policy: SecretPolicy, indexer: Indexer) -> None:
        self.inner, self._policy, self._indexer = store, policy, indexer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def apply(self, user: str, changes: Iterable[Change], *, model: str = "") -> tuple[Receipt, ...]:
        """Redact the changes and apply them."""
        return self.inner.apply(user, [self._clean(change) for change in changes], model=model)

    def _clean(self, change: Change) -> Change:
        match change:
            case AddMessage() | AddMemory() | Revise() | AddEpisode():
                return self._clean_record(change)
            case Consolidate(promotions=promotions):
                revised = tuple(
                    p if p.revised is None else replace(p, revised=self._clean_record(p.revised)) for p in promotions
                )
                change = replace(change, promotions=revised)
            case _:
                pass
        clean, _ = redact_record(self._policy, change)
        if isinstance(clean, KeepQuestions):
            return replace(clean, asked=tuple(replace(q, text=q.text[:QUESTION]) for q in clean.asked))
        if isinstance(clean, KeepContexts):
            return replace(clean, given=tuple(map(_cut, clean.given)))
        return clean

    def _clean_record(self, change: A) -> A:
        """The change with a redacted record, indexed again if there was anything to redact."""
        clean, kinds = redact_record(self._policy, change)
        if not kinds:
            return change
        record = clean.message if isinstance(clean, AddMessage) else clean.record
        return replace(clean, indexing=self._reindex(change, record))

    def _reindex(
        self, change: AddMessage | AddMemory | Revise | AddEpisode, record: Message | Episode | MemoryRecord
    ) -> Indexing:
        """Index the redacted text; records without an index entry, such as earlier versions, keep none."""
        if not change.indexing.terms and change.indexing.vector is None:
            return change.indexing
        return self._indexer.indexing([record], self._indexer.embedder)[0]


def unwrap_store(store: Store) -> Store:
    """The store behind the wrapper, to copy its file."""
    return store.inner if isinstance(store, RedactingStore) else store


def redact_errors(face: C) -> C:
    """Class decorator: redact the errors of public methods, which may quote arguments and end in logs; trace operations."""
    for name, method in list(vars(face).items()):
        if isfunction(method) and not (name.startswith("_") and name not in _SPECIAL):
            setattr(face, name, _wrap_method(method))
    return face


_DECODING = ("mnemic.stores.", "mnemic.vectors", "mnemic.text.")
"""Where the values of a row are decoded."""
_SPECIAL = frozenset({"__init__", "__getitem__", "__setitem__", "__delitem__"})
_DEFAULT = SecretPolicy()


def _wrap_method(method: Callable[..., Any]) -> Callable[..., Any]:
    name = method.__qualname__
    operation = traced(OPERATIONS[name], name)(method) if name in OPERATIONS else method

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return operation(self, *args, **kwargs)
        except (MnemicError, KeyError) as error:
            runtime = getattr(self, "_runtime", None)
            _redact_error(error, _DEFAULT if runtime is None else runtime.secrets)
            raise
        except (TypeError, ValueError, AttributeError) as error:
            if isinstance(error, TypeError) and (better := explain(error, method, kwargs)) is not error:
                raise better from None
            if _is_damage(error):
                raise StoreCorrupt(
                    f"A row of the record cannot be read ({type(error).__name__}): the file may be damaged. "
                    "Run mnemic doctor --deep, or restore a backup."
                ) from error
            raise

    return call


def _is_damage(error: Exception) -> bool:
    """Whether a stored value could not be decoded."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    modules = [name for name in frames if name.startswith("mnemic.")]
    return any(name.startswith("mnemic.stores.") for name in modules) and modules[-1].startswith(_DECODING)


def _redact_error(error: BaseException, policy: SecretPolicy) -> None:
    """Redact an error and its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        cause.args = tuple(
            error_excerpt(policy.redacted(arg)[0]) if isinstance(arg, str) else arg for arg in cause.args
        )
        cause = cause.__cause__ or cause.__context__
