"""Correction: which records a new statement takes the place of, named by an id or described."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mnemic import validation
from mnemic.knowledge.candidates import sentence_about
from mnemic.lifecycle import forgetting
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import differs
from mnemic.text.sentences import sentences
from mnemic.types import MemoryRecord, Receipt, Receipts, Scope

NOTHING = "nothing is clearly about it: give the id of what is wrong, or remember() the statement"


@dataclass(frozen=True, slots=True)
class Meant:
    """What a correction concerns.

    Attributes:
        ids: the records that are wrong; empty if none clearly is.
        key: the key of a memory among them, which the new statement gets.
        near: ``rejected`` receipts of records that are near the description and stay as they are.
    """

    ids: tuple[str, ...]
    key: str | None = None
    near: tuple[Receipt, ...] = ()

    def receipts(self, statement: Receipt | None = None) -> Receipts:
        """The receipts of a correction: that of the new statement, or what it would be, and those of what stays."""
        if statement is None:
            would = f"would take the place of {', '.join(map(repr, self.ids))}"
            statement = Receipt(id="", outcome="superseded", reason=would)
        return Receipts([statement if self.ids else Receipt(id="", outcome="rejected", reason=NOTHING), *self.near])


def meant(runtime: Runtime, scope: Scope, wrong: object) -> Meant:
    """The records that ``wrong`` names: one by its id, or the first that a description fits, with those that say the same.

    Raises:
        InvalidInput: it is no string, or says nothing in particular.
    """
    text = validation.text("wrong", wrong, validation.MAX_CONTENT)
    records = runtime.store.knowledge.records(scope.user, [text])
    if records:
        return Meant((text,), _key(records[text]))
    found = forgetting.described(runtime, scope, text)
    held = runtime.store.knowledge.records(scope.user, found.bearing)
    if not held:
        return Meant((), near=found.spared)
    said = sentence_about(next(iter(held.values())).content, text)
    same = tuple(id_ for id_, record in held.items() if _says(record.content, said))
    others = tuple(
        replace(one, outcome="rejected", reason=f"says something else, and stays: {one.reason}")
        for one in (*found.clear, *found.spared)
        if one.id not in same
    )
    return Meant(same, next(filter(None, (_key(held[id_]) for id_ in same)), None), others)


def _says(text: str, sentence: str) -> bool:
    """Whether a text has a sentence that says the same."""
    return any(differs(sentence, one) is None for one in sentences(text) or [text])


def _key(record: object) -> str | None:
    return record.key if isinstance(record, MemoryRecord) else None
