"""Redaction of secrets: of incoming records, and once more before every write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import isfunction
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mnemic.errors import ConfigurationError, InvalidInput, MnemicError, StoreCorrupt
from mnemic.runtime.indexer import Indexer
from mnemic.safety.fences import is_cut_off, without_recalled
from mnemic.safety.secrets import SecretAction, SecretPolicy
from mnemic.safety.trust import REPEATED_TRUST, TRUST_OF_SOURCE
from mnemic.services.arguments import explain
from mnemic.text.markup import is_unverified
from mnemic.text.values import shown
from mnemic.types import (
    AddEpisode,
    AddMemory,
    AddMessage,
    Archive,
    Change,
    Consolidate,
    Episode,
    Indexing,
    KeepQuestions,
    Link,
    MemoryRecord,
    Message,
    PutLink,
    Receipt,
    Revise,
    Scope,
    Supersede,
)

if TYPE_CHECKING:
    from mnemic.stores import Store

__all__ = [
    "CheckedRecord",
    "RedactingStore",
    "check_record",
    "policy_from",
    "redact_errors",
    "redact_record",
    "redact_scope",
    "refuse_secrets",
    "unwrap_store",
    "with_redactions",
]

R = TypeVar("R", bound=Message | Episode | MemoryRecord)
C = TypeVar("C", bound=type)

_LIST_FIELDS = ("keywords", "tags", "related_files", "related_entities")
_TEXT_FIELDS: Mapping[type, tuple[str, ...]] = {
    Message: ("content", "name", "role", "metadata"),
    Episode: ("title", "content", "metadata"),
    MemoryRecord: ("content", "speaker", "category", "summary", "context", "metadata", *_LIST_FIELDS),
}
"""Text fields of each kind of record, in the order they are redacted."""


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
    fresh = without_recalled(record.content, fence)
    if fresh == "":
        return CheckedRecord(record, refusal="this was recalled from the record: it is there already")
    if record.id is not None and (kinds := policy.in_name(record.id)):
        clean = policy.name(record.id)
        why = f"its id is a secret ({', '.join(kinds)}), and ids are stored as they are: give it another"
        return CheckedRecord(replace(record, id=clean), refusal=why)
    content = record.content if fresh is None else fresh
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
    """The redacted record, and the kinds of secrets found."""
    if policy.action == "allow":
        return record, ()
    changed: dict[str, Any] = {}
    kinds: dict[str, None] = {}
    for name in _TEXT_FIELDS[type(record)]:
        if held := getattr(record, name):
            clean, found = policy.within(dict(held) if name == "metadata" else held)
            if found:
                changed[name] = tuple(dict.fromkeys(clean)) if name in _LIST_FIELDS else clean
                kinds |= dict.fromkeys(found)
    if record.session and (session := policy.name(record.session)) != record.session:
        changed["session"] = session
    return (replace(record, **changed), tuple(kinds)) if changed else (record, ())


QUESTION = 2_000
"""Characters kept of a question."""


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
        policy = self._policy
        match change:
            case AddMessage(message=message):
                clean, kinds = redact_record(policy, message)
                return replace(change, message=clean, indexing=self._reindex(change, clean)) if kinds else change
            case AddMemory(record=record) | Revise(record=record) | AddEpisode(record=record):
                clean, kinds = redact_record(policy, record)
                return replace(change, record=clean, indexing=self._reindex(change, clean)) if kinds else change
            case PutLink(link=link):
                return replace(change, link=_link(policy, link)) if link.reason else change
            case Archive(reason=reason) | Supersede(reason=reason) if reason:
                return replace(change, reason=policy.redacted(reason)[0])
            case KeepQuestions(asked=asked):
                clean = tuple(replace(one, text=policy.redacted(one.text)[0][:QUESTION]) for one in asked)
                return replace(change, asked=clean)
            case Consolidate(promotions=promotions, contradictions=links):
                revised = tuple(
                    p if p.revised is None else replace(p, revised=cast("Revise", self._clean(p.revised)))
                    for p in promotions
                )
                return replace(change, promotions=revised, contradictions=tuple(_link(policy, link) for link in links))
            case _:
                return change

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


def _link(policy: SecretPolicy, link: Link) -> Link:
    reason, kinds = policy.redacted(link.reason)
    return replace(link, reason=reason) if kinds else link


def redact_errors(face: C) -> C:
    """Class decorator: redact the errors of public methods, which may quote arguments and end in logs."""
    for name, method in list(vars(face).items()):
        if isfunction(method) and not (name.startswith("_") and name not in _SPECIAL):
            setattr(face, name, _redacting_errors(method))
    return face


_SPECIAL = frozenset({"__init__", "__getitem__", "__setitem__", "__delitem__"})
_DEFAULT = SecretPolicy()


def _redacting_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
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
    ours = [name for name in frames if name.startswith("mnemic.")]
    return bool(ours) and ours[-1].startswith("mnemic.stores.")


def _redact_error(error: BaseException, policy: SecretPolicy) -> None:
    """Redact an error and its causes."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        at.args = tuple(_excerpt(policy.redacted(arg)[0]) if isinstance(arg, str) else arg for arg in at.args)
        at = at.__cause__ or at.__context__


LONGEST_ERROR = 4_000
"""Characters of an error; a longer one keeps its two ends: what happened, and what to do."""


def _excerpt(text: str) -> str:
    half = LONGEST_ERROR // 2
    return text if len(text) <= LONGEST_ERROR else f"{text[:half]} ... {text[-half:]}"
