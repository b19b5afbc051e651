"""Corrections: which statements a new one takes the place of.

Only what holds can be wrong: what has ended stands for what took its place, and a message for what it says of the matter.
What agrees with the new statement is not wrong, however near the description is to it: adapters store what a user says before
the model corrects what was said earlier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mnemic import validation
from mnemic.knowledge.remember import statement_of
from mnemic.lifecycle import forgetting
from mnemic.recall.context import quoted
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import agrees, has_exchanged, kinds, values
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms, index_terms
from mnemic.types import MemoryRecord, Receipt, Receipts, Scope
from mnemic.types.literals import SESSION_SUMMARY

NOTHING = "nothing is clearly about it: give the id of what is wrong, or remember() the statement"
KNOWN = "nothing says something else: give the id of what is wrong, or remember() the statement"


@dataclass(frozen=True, slots=True)
class Correction:
    """What a correction concerns.

    Attributes:
        wrong: the statements that end, by the id of the memory, or of the message that alone says it.
        matter: the terms that tell which sentence of a message is wrong.
        near: ``rejected`` receipts of records that are near the description and stay as they are.
        why: the reason if nothing is wrong.
    """

    wrong: Mapping[str, MemoryRecord]
    matter: frozenset[str]
    near: tuple[Receipt, ...] = ()
    why: str = NOTHING

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of what is wrong."""
        return tuple(self.wrong)

    @property
    def principal(self) -> MemoryRecord:
        """The one that has most of what its caller gave: a key, a pinned importance, tags. The new statement keeps them."""
        return max(self.wrong.values(), key=lambda memory: (bool(memory.key), memory.pinned, bool(memory.tags)))

    def receipts(self, statement: Receipt | None = None) -> Receipts:
        """The receipts of a correction: that of the new statement, or what it would be, and those of what stays."""
        first = quoted(next(iter(self.wrong.values())), forgetting.QUOTED) if self.wrong else ""
        if not self.wrong:
            statement = Receipt(id="", outcome="rejected", reason=self.why)
        elif statement is None:
            would = f"would replace {', '.join(map(repr, self.wrong))}: {first}"
            statement = Receipt(id="", outcome="superseded", reason=would)
        elif statement.outcome == "superseded":
            statement = replace(statement, reason=f"{statement.reason}; it said: {first}")
        return Receipts([statement, *self.near])


def correction(runtime: Runtime, scope: Scope, wrong: object, statement: object) -> Correction:
    """What a new statement takes the place of, named by an id or a description.

    A description means the first statement clearly about it that says something else, those that say the same, and those that
    say other things in the same words: of "We deploy on Thursdays" and "We deploy on Tuesdays now", neither is right.

    Raises:
        InvalidInput: one is no string, or says nothing in particular, or the id is that of an episode.
    """
    text = validation.text("wrong", wrong, validation.MAX_CONTENT)
    new = validation.text("statement", statement, validation.MAX_CONTENT)
    if runtime.store.knowledge.records(scope.user, [text]):
        terms = frozenset(content_terms(new))
        statements = _Statements(runtime, scope, terms, new)
        return Correction(statements.current(text) or {text: statements.of_record(text)}, terms)
    # a wrong statement has the words of the matter, and other values than the right one
    terms = frozenset(content_terms(f"{text}\n{new}")) - (values(new) - {*content_terms(text)})
    return _described(_Statements(runtime, scope, terms, new), text)


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements that records make on a matter, given by its terms and the new statement."""

    runtime: Runtime
    scope: Scope
    terms: frozenset[str]
    said: str
    cache: dict[str, MemoryRecord] = field(default_factory=dict[str, MemoryRecord])

    def of_record(self, id: str) -> MemoryRecord:
        """What one record says of the matter, whether it holds or not."""
        if id not in self.cache:
            stored = self.runtime.store.get(self.scope.user, id)
            self.cache[id] = statement_of(self.runtime, self.scope, stored, self.terms, self.said)
        return self.cache[id]

    def current(self, id: str) -> dict[str, MemoryRecord]:
        """What holds of it: this, or what took its place."""
        record = self.of_record(id)
        if record.expired_at is not None:
            return {later.id: later for later in self.runtime.store.relations.successors(self.scope.user, record.id)}
        is_stored = record.id == id or self.runtime.store.docs_of(self.scope.user, [record.id])
        return {record.id if is_stored else id: record}

    def agrees(self, words: str, about: str) -> bool:
        """Whether the words of a record say what the new statement says of the user, who may be named in it."""
        return agrees(words, self.said, about, speaker=self.scope.user)

    def all_current(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """What holds of several, without questions and summaries of sessions, which are written again."""
        return {
            name: record
            for id_ in ids
            for name, record in self.current(id_).items()
            if not record.content.rstrip().endswith("?") and record.category != SESSION_SUMMARY
        }


def _described(statements: _Statements, text: str) -> Correction:
    new = statements.said
    selection = forgetting.described(statements.runtime, statements.scope, text)
    about = _about_matter(statements.all_current(selection.bearing), text, new)
    contents = _contents(statements, about)
    right = {name: contents[name] for name in about if statements.agrees(contents[name], text)}
    wrong = {name: record for name, record in about.items() if name not in right}
    if right and values(new):  # what is right has a value, and so has what is wrong
        wrong = {name: record for name, record in wrong.items() if values(record.content)}
        wrong = wrong or statements.all_current(_with_other_values(statements, selection.beside, right.values(), new))
    if wrong:
        wrong = _of_one_matter(wrong, text, new)
    near = tuple(_unchanged_receipts(statements, (*selection.clear, *selection.spared), wrong, new, text))
    return Correction(wrong, statements.terms, near, KNOWN if right else NOTHING)


def _about_matter(records: Mapping[str, MemoryRecord], text: str, new: str) -> dict[str, MemoryRecord]:
    """Of statements about what a description names, those that have another of its words, or of the new statement's.

    Else the only one that differs from the new one in a word.
    """
    # a name alone in a description does not show as one
    named = values(text) | values(new).intersection(content_terms(text))
    other = {*content_terms(f"{text}\n{new}")} - named - values(new)
    if not (named and other):
        return dict(records)
    sharing = {name: record for name, record in records.items() if not other.isdisjoint(content_terms(record.content))}
    alike = {name: record for name, record in records.items() if has_exchanged(record.content, new)}
    return sharing or (alike if len({record.content for record in alike.values()}) == 1 else {})


def _of_one_matter(wrong: Mapping[str, MemoryRecord], text: str, new: str) -> dict[str, MemoryRecord]:
    """Of what is wrong, the first, what says the same, and what says another thing in the words of the matter.

    The first in the words of the new statement, if there is one, is clearly meant.
    """
    contents = [record.content for record in wrong.values()]
    first = next((content for content in contents if has_exchanged(content, new)), contents[0])
    about, matter = {*content_terms(text)}, {*content_terms(f"{text}\n{new}")}
    frame, new_values = about.intersection(content_terms(first)), values(new) - about
    return {
        name: record
        for name, record in wrong.items()
        for content in [record.content]
        if content == first
        or agrees(content, first, text)
        or (frame <= {*content_terms(content)} and has_exchanged(content, new))
        or (frame and kinds(content) == kinds(new) and _differs_in_value(content, frame, matter, new_values))
    }


def _contents(statements: _Statements, ids: Iterable[str]) -> dict[str, str]:
    """All that records say, by id."""
    records = statements.runtime.store.knowledge.records(statements.scope.user, [*ids])
    return {id_: record.content for id_, record in records.items()}


def _with_other_values(statements: _Statements, ids: Sequence[str], right: Iterable[str], new: str) -> list[str]:
    """Records that say what one that agrees says, but for the value: "I'm on 50 mg" beside "I'm on 100 mg now"."""
    new_values = values(new)
    terms = {*content_terms(new)}
    frames = [frame for text in right if (frame := terms.intersection(content_terms(text)) - new_values)]
    records = statements.runtime.store.knowledge.records(statements.scope.user, ids)
    return [
        id_
        for id_, record in records.items()
        if any(_differs_in_value(s, frame, terms, new_values) for frame in frames for s in sentences(record.content))
    ]


def _differs_in_value(text: str, frame: set[str], matter: set[str], new_values: frozenset[str]) -> bool:
    """Whether a text has the words of a matter and, of its own, no more than another value, with which it does not begin."""
    terms = content_terms(text)
    other = {*terms} - matter
    begins = index_terms(text)[:1]
    is_value = other <= values(text) and 0 < len(other) <= len(new_values)
    return frame.issubset(terms) and is_value and other.isdisjoint(begins)


def _unchanged_receipts(
    statements: _Statements, receipts: Sequence[Receipt], wrong: Mapping[str, MemoryRecord], new: str, text: str
) -> Iterator[Receipt]:
    """Receipts of what is near and stays: of nothing that has ended, or ends, or becomes the new statement."""
    contents = _contents(statements, [receipt.id for receipt in receipts])
    for receipt in receipts:
        record = statements.of_record(receipt.id)
        ends = record.expired_at is not None or not wrong.keys().isdisjoint((receipt.id, record.id))
        if not ends and not (wrong and record.content == new):
            how = "says the same" if statements.agrees(contents[receipt.id], text) else "says something else"
            yield replace(receipt, outcome="rejected", reason=f"{how}, and stays: {receipt.reason}")
