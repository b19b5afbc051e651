"""Corrections: which statements a new one takes the place of.

Only what holds can be wrong: what has ended stands for what took its place, and a message for what it says of the matter.
What agrees with the new statement is not wrong, however near the description is to it: adapters store what a user says before
the model corrects what was said earlier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.knowledge.remember import statement_of
from mnemic.lifecycle import forgetting
from mnemic.lifecycle.descriptions import Description, divided
from mnemic.lifecycle.revision import counterpart
from mnemic.recall.context.packing import quoted
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import (
    CHANGED,
    agrees,
    has_exchanged,
    has_other_value,
    is_denied,
    kinds,
    lists_differ,
    of_the_speaker,
    repeats,
    values,
)
from mnemic.text.english import possessions
from mnemic.text.markup import is_blank
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms, index_terms
from mnemic.types import MemoryRecord, Message, Receipt, Receipts, Scope
from mnemic.types.literals import KEPT, SESSION_SUMMARY

NOTHING = "nothing is clearly about it: give the id of what is wrong, or remember() the statement"
BRIEF = 400
"""Characters of a statement within which what it says of the matter stands before what somebody has."""
KNOWN = "nothing says otherwise: give the id of what is wrong, or remember() the statement"


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
            statement = replace(statement, reason=f"{statement.reason}. It said: {first}")
        return Receipts([statement, *self.near])


def correction(runtime: Runtime, scope: Scope, wrong: object, statement: object) -> Correction:
    """What a new statement takes the place of, named by an id or a description.

    A description means the statement that fits it best and says something else, those that say the same, and those that give
    another value for the same thing: of "We deploy on Thursdays" and "We deploy on Tuesdays now", neither is right.

    Raises:
        InvalidInput: one is no string, or says nothing in particular, or the id is that of an episode.
    """
    text = validation.text("wrong", wrong, validation.MAX_CONTENT)
    said = validation.text("statement", statement, validation.MAX_CONTENT)
    if is_blank(said) or is_blank(text):
        raise InvalidInput(f"The {'statement' if is_blank(said) else 'description'} is empty. Nothing was corrected.")
    new = of_the_speaker(said, scope.user)
    if runtime.store.knowledge.records(scope.user, [text]):
        terms = frozenset(content_terms(new))
        statements = _Statements(runtime, scope, terms, new)
        wrong = statements.current(text) or {text: statements.of_record(text)}
        return Correction({**wrong, **statements.echoes(wrong.values())}, terms)
    description = divided(text)
    if not description.meant:
        description = Description(text, text)
    text = of_the_speaker(description.meant, scope.user)
    # a wrong statement has the words of the matter, and other values than the right one
    terms = frozenset(content_terms(f"{text}\n{new}")) - (values(new) - {*content_terms(text)})
    return _described(_Statements(runtime, scope, terms, new), description)


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements that records make on a matter, given by its terms and the new statement in the user's own words."""

    runtime: Runtime
    scope: Scope
    terms: frozenset[str]
    new: str
    cache: dict[str, MemoryRecord] = field(default_factory=dict[str, MemoryRecord])

    def of_record(self, id: str) -> MemoryRecord:
        """What one record says of the matter, whether it holds or not."""
        if id not in self.cache:
            stored = self.runtime.store.get(self.scope.user, id)
            self.cache[id] = statement_of(self.runtime, self.scope, stored, self.terms, self.new)
        return self.cache[id]

    def current(self, id: str) -> dict[str, MemoryRecord]:
        """What holds of it: this, or what took its place."""
        record = self.of_record(id)
        if record.expired_at is not None:
            return {later.id: later for later in self.runtime.store.relations.successors(self.scope.user, record.id)}
        is_stored = record.id == id or self.runtime.store.docs_of(self.scope.user, [record.id])
        return {record.id if is_stored else id: record}

    def in_first_person(self, text: str) -> str:
        """A text in the user's own words, where it calls the user by name."""
        return of_the_speaker(text, self.scope.user)

    def agrees(self, words: str, about: str) -> bool:
        """Whether the words of a record say what the new statement says of the user, who may be named in it.

        "I no longer work at Acme, I joined Globex" has the value of "Ana works at Globex", beside another.
        """
        words = self.in_first_person(words)
        new, said = (values(text) - {*content_terms(about)} for text in (self.new, words))
        return agrees(words, self.new, about) or (bool(new) and new < said and not lists_differ(words, self.new))

    def replies(self, records: Mapping[str, MemoryRecord]) -> set[str]:
        """Those among some records that only an assistant said."""
        ids = {id_ for record in records.values() for id_ in record.source_ids}
        sources = self.runtime.store.knowledge.records(self.scope.user, [*ids])
        said = {id_ for id_, source in sources.items() if isinstance(source, Message) and source.role == "assistant"}
        return {name for name, record in records.items() if record.source_ids and said.issuperset(record.source_ids)}

    def echoes(self, wrong: Iterable[MemoryRecord]) -> dict[str, MemoryRecord]:
        """What an assistant repeated of wrong statements in its reply."""
        replies = self._counterparts(wrong, "assistant")
        return self.all_current(
            id_ for record, id_ in replies if repeats(self.of_record(id_).content, record.content, self.new)
        )

    def echoed(self, wrong: Iterable[MemoryRecord]) -> dict[str, MemoryRecord]:
        """What a user had said where an assistant's reply that is wrong repeats it."""
        said = self._counterparts(wrong, "user")
        return self.all_current(
            id_ for record, id_ in said if repeats(record.content, self.of_record(id_).content, self.new)
        )

    def answered(self, replies: Iterable[MemoryRecord]) -> dict[str, MemoryRecord]:
        """What a user had said with another value than the new statement, where an assistant's reply to it is on the matter."""
        said = self._counterparts(replies, "user")
        return self.all_current(id_ for _, id_ in said if has_other_value(self.of_record(id_).content, self.new))

    def _counterparts(self, records: Iterable[MemoryRecord], role: str) -> Iterator[tuple[MemoryRecord, str]]:
        """Records with the id of the message of a role that replies to theirs, or that theirs replies to."""
        for record in records:
            for message in self.runtime.store.knowledge.records(self.scope.user, record.source_ids).values():
                other = counterpart(self.runtime, self.scope, message) if isinstance(message, Message) else None
                if other is not None and other.role == role:
                    yield record, str(other.id)

    def all_current(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """What holds of several, without questions and summaries of sessions, which are written again."""
        return {
            name: record
            for id_ in ids
            for name, record in self.current(id_).items()
            if not record.content.rstrip().endswith("?") and record.category != SESSION_SUMMARY
        }


def _described(statements: _Statements, description: Description) -> Correction:
    new, text = statements.new, of_the_speaker(description.meant, statements.scope.user)
    selection = forgetting.described(statements.runtime, statements.scope, description, forgets=False)
    bearing = _without_owned(statements, statements.all_current(selection.bearing), text)
    about = _about_matter(statements, bearing, text)
    contents = _contents(statements, about)
    right = {name: contents[name] for name in about if statements.agrees(contents[name], text)}
    wrong = {name: record for name, record in about.items() if name not in right}
    if right and values(new):  # what is right has a value, and so has what is wrong
        wrong = {name: record for name, record in wrong.items() if values(statements.in_first_person(record.content))}
    wrong = _of_one_matter(statements, wrong | statements.answered(wrong.values()), text)
    wrong |= statements.echoed(wrong.values())
    matter, new_values = {*content_terms(f"{text}\n{new}")}, values(new) - {*content_terms(text)}
    frames = [
        matter.intersection(content_terms(statements.in_first_person(record.content))) for record in wrong.values()
    ] or [matter.intersection(content_terms(content)) - new_values for content in right.values() or [new]]
    beside = _contents(statements, _without_owned(statements, statements.all_current(selection.beside), text))
    others = {id_: content for id_, content in beside.items() if not statements.agrees(content, text)}
    wrong |= statements.all_current(_with_other_values(statements, others, frames, matter, new_values))
    wrong |= statements.echoes(wrong.values())
    near = tuple(_unchanged_receipts(statements, (*selection.clear, *selection.spared), wrong, text))
    return Correction(wrong, statements.terms, near, KNOWN if right else NOTHING)


def _without_owned(statements: _Statements, records: Mapping[str, MemoryRecord], text: str) -> dict[str, MemoryRecord]:
    """The records without those that tell only of what is somebody else's: "Priya's doctor", "Eva's parents".

    What somebody has does not count where the words before it say all: "I take 20 mg of it every day" of "for my heart".
    """
    matter = {*content_terms(f"{text}\n{statements.new}")}
    remaining: dict[str, MemoryRecord] = {}
    for name, record in records.items():
        content = statements.in_first_person(record.content)
        owned = [
            not matter.isdisjoint(things) and (owner in ("my", "our") or not matter.isdisjoint(content_terms(owner)))
            for owner, things, begin in possessions(content)
            if owner not in ("his", "her", "their")
            and not (
                begin <= BRIEF
                and matter.isdisjoint(things)
                and _gives_other_value(content[:begin], statements.new, matter)
            )
        ]
        if any(owned) or not owned:
            remaining[name] = record
    return remaining


def _gives_other_value(text: str, new: str, matter: set[str]) -> bool:
    """Whether a text has a word of a matter and another value than the new statement, or exchanges a word of it."""
    words = matter - values(new)
    return has_exchanged(text, new) or (not words.isdisjoint(content_terms(text)) and has_other_value(text, new, words))


def _about_matter(statements: _Statements, records: Mapping[str, MemoryRecord], text: str) -> dict[str, MemoryRecord]:
    """Of statements about what a description names, those that have another of its words, or of the new statement's.

    Else the only one that differs from the new one in a word, and those that differ in values alone.
    """
    new = statements.new
    # a name alone in a description does not show as one
    named = values(text) | values(new).intersection(content_terms(text))
    other = {*content_terms(f"{text}\n{new}")} - named - values(new)
    if not (named and other):
        return dict(records)
    sharing = {name: record for name, record in records.items() if not other.isdisjoint(content_terms(record.content))}
    if sharing:
        return sharing
    contents = {name: statements.in_first_person(record.content) for name, record in records.items()}
    alike = {content for content in contents.values() if has_exchanged(content, new)}
    frame, matter, new_values = other & {*content_terms(new)} | named, other | named, values(new) - named
    return {
        name: records[name]
        for name, content in contents.items()
        if (alike == {content})
        or (has_other_value(content, new, named) and _differs_in_value(content, frame, matter, new_values))
    }


def _of_one_matter(statements: _Statements, wrong: Mapping[str, MemoryRecord], text: str) -> dict[str, MemoryRecord]:
    """Of what is wrong, the first, what says the same, and what says another thing in the words of the matter.

    The first in the words of the new statement, if there is one, is clearly meant, or else the nearest with another value, the
    assistant's after the user's. One without any has the words of the description, or half of those of the new statement.
    """
    new, about = statements.new, {*content_terms(text)}
    contents = {name: statements.in_first_person(record.content) for name, record in wrong.items()}
    matter, new_values = about.union(content_terms(new)), values(new) - about
    replies = statements.replies(wrong)
    own = {contents[name] for name in wrong if name not in replies}
    alike = [content for content in contents.values() if is_denied(content) == is_denied(new)] or [*contents.values()]
    valued = [content for content in alike if has_other_value(content, new, about)]
    first = next(
        chain(
            (content for content in alike if has_exchanged(content, new)),
            sorted(valued, key=lambda content: (content in own, _nearness(content, matter, new_values)), reverse=True),
            (content for content in alike if content in own and _is_on_matter(content, about, new)),
        ),
        None,
    )
    if first is None:
        return {}
    frame = about.intersection(content_terms(first))
    return {
        name: wrong[name]
        for name, content in contents.items()
        if content == first
        or (
            is_denied(content) == is_denied(first)
            and (
                (
                    agrees(content, first, text)
                    and (name not in replies or repeats(content, first, new) or not has_other_value(content, new))
                )
                or (frame <= {*content_terms(content)} and has_exchanged(content, new))
                or (
                    frame
                    and kinds(content, about) <= kinds(new, about)
                    and _differs_in_value(content, frame, matter, new_values)
                )
            )
        )
    }


def _nearness(content: str, matter: set[str], new_values: frozenset[str]) -> tuple[int, bool]:
    """How many words of a matter a text has, and whether it has no others but for the value."""
    shared = matter.intersection(content_terms(content))
    return len(shared), _differs_in_value(content, shared, matter, new_values)


def _is_on_matter(content: str, about: set[str], new: str) -> bool:
    """Whether a text has all the words of a description, or at least half of those of a statement that are no values."""
    terms, words = {*content_terms(content)}, {*content_terms(new)} - values(new)
    return about <= terms or 2 * len(words & terms) >= len(words)


def _contents(statements: _Statements, ids: Iterable[str]) -> dict[str, str]:
    """All that records say, by id."""
    records = statements.runtime.store.knowledge.records(statements.scope.user, [*ids])
    return {id_: record.content for id_, record in records.items()}


def _with_other_values(
    statements: _Statements,
    contents: Mapping[str, str],
    frames: Sequence[set[str]],
    matter: set[str],
    new_values: frozenset[str],
) -> list[str]:
    """Records that say what a statement says, but for the value: "I'm on 50 mg" beside "I'm on 100 mg now".

    They may leave out fewer than half of the words of a frame, and neither a value nor what a statement begins with.
    """
    new = statements.new
    required, about = values(new).union(content_terms(new)[:1]), matter - new_values

    def differs(sentence: str) -> bool:
        terms = {*content_terms(sentence)}
        missing = [(frame, frame - terms) for frame in frames if frame]
        shared = [frame & terms for frame, out in missing if 2 * len(out) < len(frame) and required.isdisjoint(out)]
        if is_denied(sentence) != is_denied(new):
            return False
        return kinds(sentence, about) <= kinds(new, about) and any(
            _differs_in_value(sentence, frame, matter, new_values)
            or (has_exchanged(sentence, new) and has_other_value(sentence, new, about))
            for frame in shared
        )

    return [
        id_ for id_, content in contents.items() if any(map(differs, sentences(statements.in_first_person(content))))
    ]


def _differs_in_value(text: str, frame: set[str], matter: set[str], new_values: frozenset[str]) -> bool:
    """Whether a text has the words of a frame and, beside the matter, only other values, with which it does not begin."""
    terms = content_terms(text)
    other = {*terms} - matter - CHANGED
    begins = index_terms(text)[:1]
    return bool(new_values and other) and frame.issubset(terms) and other <= values(text) and other.isdisjoint(begins)


def _unchanged_receipts(
    statements: _Statements, receipts: Sequence[Receipt], wrong: Mapping[str, MemoryRecord], text: str
) -> Iterator[Receipt]:
    """Receipts of what is near and stays: of nothing that has ended, or ends, or becomes the new statement, or is rewritten."""
    contents = _contents(statements, [receipt.id for receipt in receipts])
    for receipt in receipts:
        record = statements.of_record(receipt.id)
        ends = record.expired_at is not None or not wrong.keys().isdisjoint((receipt.id, record.id))
        becomes = bool(wrong) and statements.in_first_person(record.content) == statements.new
        if not (ends or becomes or record.category == SESSION_SUMMARY):
            agrees = statements.agrees(contents[receipt.id], text)
            why = "says the same" if agrees else "similar, but about something else"
            quotation = receipt.reason.split(": ", 2)[-1] if receipt.reason.startswith(KEPT) else receipt.reason
            yield replace(receipt, outcome="rejected", reason=f"{KEPT}{why}: {quotation}")
