"""Every text of every record and change passes the policy for secrets, whatever its field is called."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic import HashingEmbedder, InvalidInput, Memory
from mnemic.runtime.indexer import Indexer, RedactingStore
from mnemic.runtime.notices import Notices
from mnemic.secrets.policy import SecretPolicy, redact_record
from mnemic.types import Change, Episode, Indexing, Link, MemoryRecord, Message, Question

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
MOMENT = datetime(2024, 1, 1, tzinfo=UTC)
RECORDS = (Message, Episode, MemoryRecord, Link, Question)
CHANGES = get_args(Change)
NAMES = {"Mapping": Mapping, "np": np, "NDArray": NDArray, "TypeAlias": TypeAlias, "datetime": datetime}

AS_STORED = {
    "id", "ids", "source_ids", "message_ids", "superseded_by", "by", "absorbed", "judged", "Message.project",
    "Episode.project", "MemoryRecord.project", "Question.project", "GivenContext.project", "AddMessage.project", "Link.source", "Link.target",
    "DropLink.source", "DropLink.target", "SetEmotions.emotions",
}  # fmt: skip
"""Ids, which are refused when they hold a secret, and the name of the project, which is refused with the handle."""


def filled(hint: Any) -> Any:
    """A value of a type with the token wherever text can stand."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is str:
        return TOKEN
    if origin in (Union, UnionType):
        return filled(next(one for one in arguments if one is not NoneType))
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        return tuple(map(filled, arguments[:1] if Ellipsis in arguments else arguments))
    if origin is Mapping:
        return {filled(arguments[0]): TOKEN if arguments[1] is Any else filled(arguments[1])}
    if hint is Indexing:
        return Indexing(terms=("old",), length=1, traits=0)
    if is_dataclass(hint):
        return instance(hint)
    plain = {datetime: MOMENT, float: 0.5, int: 1, bool: False}
    assert hint in plain, f"a field of the type {hint} is not covered by this test: say how it is filled"
    return plain[hint]


def instance(kind: Any) -> Any:
    hints = get_type_hints(kind, {**vars(sys.modules[kind.__module__]), **NAMES})
    return kind(**{f.name: filled(hints[f.name]) for f in fields(kind)})


def left(value: Any) -> list[str]:
    """The fields that hold the token still."""
    found = []
    for f in fields(value):
        held, name = getattr(value, f.name), f"{type(value).__name__}.{f.name}"
        if f.name in AS_STORED or name in AS_STORED:
            continue
        for one in held if isinstance(held, tuple) else (held,):
            found += left(one) if is_dataclass(one) else [name] if TOKEN in str(one) else []
    return found


class Kept:
    """A store that keeps what it is given."""

    def apply(self, user, changes):
        self.changes = changes
        return ()


@pytest.mark.parametrize("kind", RECORDS)
def test_every_text_of_a_record_is_redacted(kind):
    clean, kinds = redact_record(SecretPolicy(), instance(kind))
    assert left(clean) == []
    assert kinds == ("github-token",)


@pytest.mark.parametrize("kind", CHANGES)
def test_every_text_of_a_change_is_redacted_before_it_is_written(kind):
    inner, policy = Kept(), SecretPolicy()
    store = RedactingStore(inner, policy, Indexer(HashingEmbedder(), policy, Notices(policy)))
    store.apply("ana", [instance(kind)])
    (change,) = inner.changes
    assert left(change) == []
    if hasattr(change, "indexing"):
        assert "old" not in change.indexing.terms


def test_a_secret_in_the_session_alone_is_redacted_before_it_is_written():
    inner, policy = Kept(), SecretPolicy()
    store = RedactingStore(inner, policy, Indexer(HashingEmbedder(), policy, Notices(policy)))
    change = next(instance(kind) for kind in CHANGES if kind.__name__ == "AddMessage")
    message = Message(role="user", content="hello", session=TOKEN, sent_at=MOMENT)
    store.apply("ana", [replace(change, message=message)])
    assert left(inner.changes[0]) == []


def test_keys_that_are_secrets_stay_apart(tmp_path):
    other = TOKEN[:-1] + "9"
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        receipts = [
            memory.remember(text, key=key)
            for text, key in (("The first", TOKEN), ("The second", other), ("Now", TOKEN))
        ]
        assert [receipt.outcome for receipt in receipts] == ["stored", "stored", "superseded"]
        assert all("redacted: github-token" in receipt.reason for receipt in receipts)
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert TOKEN.encode() not in stored
    assert other.encode() not in stored


def test_the_reason_of_a_link_in_an_export_is_redacted(tmp_path):
    with Memory(":memory:", user="ana", embedder="hashing", secrets="allow") as memory:
        memory.remember("I live in Lisbon", id="a")
        memory.remember("The harbour opens at nine", id="b")
        memory.links.add("a", "b", "references", reason=TOKEN)
        memory.admin.export(tmp_path / "export.jsonl")
    with Memory(tmp_path / "memory", user="ben", embedder="hashing") as memory:
        memory.admin.import_from(tmp_path / "export.jsonl")
        assert [link.reason for link in memory.links.graph("a").links] == ["[redacted: github-token]"]
    with (
        Memory(":memory:", embedder="hashing", secrets="refuse") as strict,
        pytest.raises(InvalidInput, match="secret"),
    ):
        strict.admin.import_from(tmp_path / "export.jsonl")
