"""What comes in, without secrets: on its way in, and once more right before it is written."""

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
from mnemic.safety.trust import REPEATED, TRUST_OF_SOURCE
from mnemic.services.call_hints import explain
from mnemic.text.display import shown
from mnemic.text.markup import is_unverified
from mnemic.types import (
    AddEpisode,
    AddMemory,
    AddMessage,
    Archive,
    Change,
    Consolidate,
    Episode,
    Indexing,
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
    from mnemic.runtime.runtime import Runtime
    from mnemic.stores import Store

__all__ = [
    "Guarded",
    "RedactingStore",
    "accepted",
    "discreet",
    "incoming",
    "named",
    "policy_from",
    "redacting",
    "telling",
    "unguarded",
    "within",
]

R = TypeVar("R", bound=Message | Episode | MemoryRecord)
C = TypeVar("C", bound=type)

_WORDS = ("keywords", "tags", "related_files", "related_entities")
_ITSELF: Mapping[type, tuple[str, ...]] = {
    Message: ("content", "name", "role", "metadata"),
    Episode: ("title", "content", "metadata"),
    MemoryRecord: ("content", "speaker", "category", "summary", "context", "metadata", *_WORDS),
}
"""What a record says, in the order in which it is looked at."""


def policy_from(secrets: object) -> SecretPolicy:
    """The policy that an argument means: one, or the name of an action.

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


def named(policy: SecretPolicy, scope: Scope) -> Scope:
    """A scope whose session tells no secret.

    Raises:
        InvalidInput: the user or the project is named by one; it would stand in the record.
    """
    for what, name in (("user", scope.user), ("project", scope.project)):
        if name is not None and (kinds := policy.in_name(name)):
            raise InvalidInput(
                f"The name of the {what} is a secret ({', '.join(kinds)}), and names are stored as they are. Give another "
                "name, such as a hash of it."
            )
    return scope if scope.session is None else replace(scope, session=policy.name(scope.session))


@dataclass(frozen=True, slots=True)
class Guarded:
    """A record as it may be stored; the kinds of secrets that were in it, and why it may not be stored if it may not."""

    record: Any
    kinds: tuple[str, ...] = ()
    refusal: str = ""


def incoming(policy: SecretPolicy, fence: str, record: Message | Episode | MemoryRecord) -> Guarded:
    """A record that somebody gave, as far as it is believed, without secrets and what was recalled from this very record."""
    fresh = without_recalled(record.content, fence)
    if fresh == "":
        return Guarded(record, refusal="this was recalled from the record: it is there already")
    if record.id is not None and (kinds := policy.in_name(record.id)):
        clean = policy.name(record.id)
        why = f"its id is a secret ({', '.join(kinds)}), and ids are stored as they are: give it another"
        return Guarded(replace(record, id=clean), refusal=why)
    content = record.content if fresh is None else fresh
    clean, kinds = within(policy, replace(record, content=content, trust=_trust(record, content, fence)))
    return Guarded(clean, kinds, _refusal(policy, kinds))


def _trust(record: Message | Episode | MemoryRecord, content: str, fence: str) -> float:
    """Saying again what is not trusted gives it no trust; that of a message may be chosen all the same."""
    if isinstance(record, Message) and record.trust is not None:
        return record.trust
    trust = TRUST_OF_SOURCE[record.source or "tool_external"] if record.trust is None else record.trust
    return min(trust, REPEATED) if is_unverified(content) or is_cut_off(record.content, fence) else trust


def _refusal(policy: SecretPolicy, kinds: Sequence[str]) -> str:
    if not kinds or policy.action != "refuse":
        return ""
    return f"it holds a secret ({', '.join(kinds)}), and the policy refuses these: nothing was stored"


def accepted(policy: SecretPolicy, what: str, kinds: Sequence[str]) -> None:
    """Refuse what has no receipt to say it with.

    Raises:
        InvalidInput: it held a secret, and the policy refuses these.
    """
    if refusal := _refusal(policy, kinds):
        raise InvalidInput(f"{what} cannot be stored: {refusal}.")


def telling(receipt: Receipt, kinds: Sequence[str]) -> Receipt:
    """A receipt that says what was redacted."""
    if not kinds or receipt.outcome not in ("stored", "superseded"):
        return receipt
    return replace(receipt, reason="; ".join(filter(None, (receipt.reason, f"redacted: {', '.join(kinds)}"))))


def within(policy: SecretPolicy, record: R) -> tuple[R, tuple[str, ...]]:
    """A record without secrets, and the kinds that were in it."""
    if policy.action == "allow":
        return record, ()
    changed: dict[str, Any] = {}
    kinds: dict[str, None] = {}
    for name in _ITSELF[type(record)]:
        if held := getattr(record, name):
            clean, found = policy.within(dict(held) if name == "metadata" else held)
            if found:
                changed[name] = tuple(dict.fromkeys(clean)) if name in _WORDS else clean
                kinds |= dict.fromkeys(found)
    if record.session and (session := policy.name(record.session)) != record.session:
        changed["session"] = session
    return (replace(record, **changed), tuple(kinds)) if changed else (record, ())


class RedactingStore:
    """A store that lets no change through that holds a secret, whoever made it: rules and language models alike."""

    def __init__(self, store: Store, policy: SecretPolicy, indexer: Indexer) -> None:
        self.guarded, self._policy, self._indexer = store, policy, indexer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.guarded, name)

    def apply(self, user: str, changes: Iterable[Change], *, model: str = "") -> tuple[Receipt, ...]:
        """Apply the changes without the secrets in them."""
        return self.guarded.apply(user, [self._clean(change) for change in changes], model=model)

    def _clean(self, change: Change) -> Change:
        policy = self._policy
        match change:
            case AddMessage(message=message):
                clean, kinds = within(policy, message)
                return replace(change, message=clean, indexing=self._again(change, clean)) if kinds else change
            case AddMemory(record=record) | Revise(record=record):
                clean, kinds = within(policy, record)
                return replace(change, record=clean, indexing=self._again(change, clean)) if kinds else change
            case AddEpisode(record=episode):
                clean, kinds = within(policy, episode)
                return replace(change, record=clean, indexing=self._again(change, clean)) if kinds else change
            case PutLink(link=link):
                return replace(change, link=_link(policy, link)) if link.reason else change
            case Archive(reason=reason) | Supersede(reason=reason) if reason:
                return replace(change, reason=policy.redacted(reason)[0])
            case Consolidate(promotions=promotions, contradictions=links):
                revised = tuple(
                    p if p.revised is None else replace(p, revised=cast("Revise", self._clean(p.revised)))
                    for p in promotions
                )
                return replace(change, promotions=revised, contradictions=tuple(_link(policy, link) for link in links))
            case _:
                return change

    def _again(
        self, change: AddMessage | AddMemory | Revise | AddEpisode, record: Message | Episode | MemoryRecord
    ) -> Indexing:
        """How a record is found by its clean text; what was not to be found, such as earlier versions, stays so."""
        if not change.indexing.terms and change.indexing.vector is None:
            return change.indexing
        return self._indexer.indexing([record], self._indexer.embedder)[0]


def redacting(store: Store, policy: SecretPolicy, indexer: Indexer) -> Store:
    """The store behind its guard."""
    return cast("Store", RedactingStore(store, policy, indexer))


def unguarded(store: Store) -> Store:
    """The store itself: to copy its file."""
    return store.guarded if isinstance(store, RedactingStore) else store


def _link(policy: SecretPolicy, link: Link) -> Link:
    reason, kinds = policy.redacted(link.reason)
    return replace(link, reason=reason) if kinds else link


def discreet(face: C) -> C:
    """A class whose errors quote no secret: what a caller gave may stand in them, and errors end in logs."""
    for name, method in list(vars(face).items()):
        if isfunction(method) and not (name.startswith("_") and name not in _SPECIAL):
            setattr(face, name, _discreet(method))
    return face


_SPECIAL = frozenset({"__init__", "__getitem__", "__setitem__", "__delitem__"})
_DEFAULT = SecretPolicy()


def _discreet(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except (MnemicError, KeyError) as error:
            runtime = getattr(self, "_runtime", None)
            _hush(error, _DEFAULT if runtime is None else runtime.secrets)
            raise
        except (TypeError, ValueError, AttributeError) as error:
            if isinstance(error, TypeError) and (better := explain(error, method, kwargs)) is not error:
                raise better from None
            if damage := _damage(getattr(self, "_runtime", None), error):
                raise StoreCorrupt(
                    f"The record cannot be read: {damage}. Run mnemic doctor --deep, or restore a backup."
                ) from error
            raise

    return told


def _damage(runtime: Runtime | None, error: Exception) -> str:
    """What is damaged in the record, where an error arose in what reads it: empty when nothing is, or it is somebody else's."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    reached = len(frames) > 1  # else the arguments were wrong, and the method was never entered
    if runtime is None or not reached or not frames[-1].startswith(("mnemic.", "json", "numpy")):
        return ""
    try:
        found = runtime.store.verify(deep=True).findings
    except Exception:  # noqa: BLE001 - it is asked only whether that can be told
        return ""
    return next((finding for finding in found if finding.startswith("the file is damaged")), "")


def _hush(error: BaseException, policy: SecretPolicy) -> None:
    """Take secrets out of an error and of what caused it."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        at.args = tuple(policy.redacted(arg)[0] if isinstance(arg, str) else arg for arg in at.args)
        at = at.__cause__ or at.__context__
