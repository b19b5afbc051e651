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
from mnemic.knowledge.remember import statement_of
from mnemic.lifecycle import forgetting
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import (
    CHANGED,
    agrees,
    has_exchanged,
    has_other_value,
    kinds,
    of_the_speaker,
    repeats,
    values,
)
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms, index_terms
from mnemic.text.values import to_micros
from mnemic.types import MemoryRecord, Message, Receipt, Receipts, RecordFilter, Scope
from mnemic.types.literals import SESSION_SUMMARY

NOTHING = "nothing is clearly about it: give the id of what is wrong, or remember() the statement"
FOLLOWING = 10
"""Messages from a moment on among which one and the reply to it are looked for."""
KNOWN = "nothing says something else: give the id of what is wrong, or remember() the statement"


@dataclass(frozen=True, slots=True)
class Meant:
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
    def held(self) -> MemoryRecord:
        """The one that has most of what its caller gave: a key, a pinned importance, tags. The new statement keeps them."""
        return max(self.wrong.values(), key=lambda one: (bool(one.key), one.pinned, bool(one.tags)))

    def receipts(self, statement: Receipt | None = None) -> Receipts:
        """The receipts of a correction: that of the new statement, or what it would be, and those of what stays."""
        first = next(iter(self.wrong.values())).content if self.wrong else ""
        if not self.wrong:
            statement = Receipt(id="", outcome="rejected", reason=self.why)
        elif statement is None:
            would = f"would replace {', '.join(map(repr, self.wrong))}: {first}"
            statement = Receipt(id="", outcome="superseded", reason=would)
        elif statement.outcome == "superseded":
            statement = replace(statement, reason=f"{statement.reason}; it said: {first}")
        return Receipts([statement, *self.near])


def meant(runtime: Runtime, scope: Scope, wrong: object, statement: object) -> Meant:
    """What a new statement takes the place of, named by an id or a description.

    A description means the first statement clearly about it that says something else, those that say the same, and those that
    say other things in the same words: of "We deploy on Thursdays" and "We deploy on Tuesdays now", neither is right.

    Raises:
        InvalidInput: one is no string, or says nothing in particular, or the id is that of an episode.
    """
    text = validation.text("wrong", wrong, validation.MAX_CONTENT)
    said = of_the_speaker(validation.text("statement", statement, validation.MAX_CONTENT), scope.user)
    if runtime.store.knowledge.records(scope.user, [text]):
        terms = frozenset(content_terms(said))
        found = _Statements(runtime, scope, terms, said)
        wrong = found.holding(text) or {text: found.own(text)}
        return Meant({**wrong, **found.echoes(wrong.values())}, terms)
    text = of_the_speaker(text, scope.user)
    # a wrong statement has the words of the matter, and other values than the right one
    terms = frozenset(content_terms(f"{text}\n{said}")) - (values(said) - {*content_terms(text)})
    return _described(_Statements(runtime, scope, terms, said), text)


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements that records make on a matter, given by its terms and the new statement in the user's own words."""

    runtime: Runtime
    scope: Scope
    terms: frozenset[str]
    said: str
    read: dict[str, MemoryRecord] = field(default_factory=dict[str, MemoryRecord])

    def own(self, id: str) -> MemoryRecord:
        """What one record says of the matter, whether it holds or not."""
        if id not in self.read:
            stored = self.runtime.store.get(self.scope.user, id)
            self.read[id] = statement_of(self.runtime, self.scope, stored, self.terms, self.said)
        return self.read[id]

    def holding(self, id: str) -> dict[str, MemoryRecord]:
        """What holds of it: this, or what took its place."""
        one = self.own(id)
        if one.expired_at is not None:
            return {later.id: later for later in self.runtime.store.relations.successors(self.scope.user, one.id)}
        is_stored = one.id == id or self.runtime.store.docs_of(self.scope.user, [one.id])
        return {one.id if is_stored else id: one}

    def spoken(self, text: str) -> str:
        """A text in the user's own words, where it calls the user by name."""
        return of_the_speaker(text, self.scope.user)

    def agrees(self, words: str, about: str) -> bool:
        """Whether the words of a record say what the new statement says of the user, who may be named in it."""
        return agrees(self.spoken(words), self.said, about)

    def echoes(self, wrong: Iterable[MemoryRecord]) -> dict[str, MemoryRecord]:
        """What an assistant repeated of wrong statements in its reply."""
        found: dict[str, MemoryRecord] = {}
        for one in wrong:
            for message in self.runtime.store.knowledge.records(self.scope.user, one.source_ids).values():
                reply = self._reply(message) if isinstance(message, Message) else None
                if reply is not None and repeats(self.own(reply).content, one.content, self.said):
                    found |= self.holding(reply)
        return found

    def _reply(self, message: Message) -> str | None:
        """The id of the assistant's message that follows one."""
        stored = self.runtime.store.get(self.scope.user, str(message.id))
        assert message.sent_at is not None
        here = RecordFilter(
            kinds=("message",),
            reach="project",
            project=stored.project,
            in_session=message.session,
            since=to_micros(message.sent_at),
        )
        said = self.runtime.store.list_messages(self.scope.user, here, limit=FOLLOWING, newest=False)
        places = [at for at, other in enumerate(said[:-1]) if other.id == message.id]
        reply = said[places[0] + 1] if places else None
        return reply.id if reply and reply.role == "assistant" and reply.session == message.session else None

    def of(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """What holds of several, without questions and summaries of sessions, which are written again."""
        found = {name: one for id_ in ids for name, one in self.holding(id_).items()}
        return {
            name: one
            for name, one in found.items()
            if not one.content.rstrip().endswith("?") and one.category != SESSION_SUMMARY
        }


def _described(held: _Statements, text: str) -> Meant:
    said = held.said
    found = forgetting.described(held.runtime, held.scope, text)
    about = _on_the_matter(held, held.of(found.bearing), text, said)
    told = _words(held, about)
    right = {name: told[name] for name in about if held.agrees(told[name], text)}
    wrong = {name: one for name, one in about.items() if name not in right}
    if right and values(said):  # what is right has a value, and so has what is wrong
        wrong = {name: one for name, one in wrong.items() if values(held.spoken(one.content))}
    wrong = _of_one_matter(held, wrong, text, said)
    wanted, known = values(said) - {*content_terms(text)}, {*content_terms(f"{text}\n{said}")}
    frames = [known.intersection(content_terms(held.spoken(one.content))) for one in wrong.values()] or [
        known.intersection(content_terms(one)) - wanted for one in right.values() or [said]
    ]
    beside = {id_: content for id_, content in _words(held, found.beside).items() if not held.agrees(content, text)}
    wrong |= held.of(_with_other_values(held, beside, frames, said, known, wanted))
    wrong |= held.echoes(wrong.values())
    near = tuple(_staying(held, (*found.clear, *found.spared), wrong, said, text))
    return Meant(wrong, held.terms, near, KNOWN if right else NOTHING)


def _on_the_matter(
    held: _Statements, found: Mapping[str, MemoryRecord], text: str, said: str
) -> dict[str, MemoryRecord]:
    """Of statements about what a description names, those that have another of its words, or of the new statement's.

    Else the only one that differs from the new one in a word, and those that differ in values alone.
    """
    # a name alone in a description does not show as one
    named = values(text) | values(said).intersection(content_terms(text))
    other = {*content_terms(f"{text}\n{said}")} - named - values(said)
    if not (named and other):
        return dict(found)
    sharing = {name: one for name, one in found.items() if not other.isdisjoint(content_terms(one.content))}
    if sharing:
        return sharing
    contents = {name: held.spoken(one.content) for name, one in found.items()}
    alike = {content for content in contents.values() if has_exchanged(content, said)}
    frame, known, wanted = other & {*content_terms(said)} | named, other | named, values(said) - named
    return {
        name: found[name]
        for name, content in contents.items()
        if (alike == {content})
        or (has_other_value(content, said, named) and _has_another_value(content, frame, known, wanted))
    }


def _of_one_matter(
    held: _Statements, wrong: Mapping[str, MemoryRecord], text: str, said: str
) -> dict[str, MemoryRecord]:
    """Of what is wrong, the first, what says the same, and what says another thing in the words of the matter.

    The first in the words of the new statement, if there is one, is clearly meant, or else the first with another value. One
    without any has the words of the description, or half of those of the new statement.
    """
    about, contents = {*content_terms(text)}, {name: held.spoken(one.content) for name, one in wrong.items()}
    known, wanted = about.union(content_terms(said)), values(said) - about
    valued = [content for content in contents.values() if has_other_value(content, said, about)]
    first = next(
        chain(
            (content for content in contents.values() if has_exchanged(content, said)),
            sorted(valued, key=lambda one: _nearness(one, known, wanted), reverse=True),
            (content for content in contents.values() if _is_told(content, about, said)),
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
        or agrees(content, first, text)
        or (frame <= {*content_terms(content)} and has_exchanged(content, said))
        or (frame and kinds(content, about) <= kinds(said, about) and _has_another_value(content, frame, known, wanted))
    }


def _nearness(content: str, known: set[str], wanted: frozenset[str]) -> tuple[int, bool]:
    """How many words of a matter a text has, and whether it has no others but for the value."""
    shared = known.intersection(content_terms(content))
    return len(shared), _has_another_value(content, shared, known, wanted)


def _is_told(content: str, about: set[str], said: str) -> bool:
    """Whether a text has all the words of a description, or at least half of those of a statement that are no values."""
    terms, own = {*content_terms(content)}, {*content_terms(said)} - values(said)
    return about <= terms or 2 * len(own & terms) >= len(own)


def _words(held: _Statements, ids: Iterable[str]) -> dict[str, str]:
    """All that records say, by id."""
    records = held.runtime.store.knowledge.records(held.scope.user, [*ids])
    return {id_: record.content for id_, record in records.items()}


def _with_other_values(
    held: _Statements,
    records: Mapping[str, str],
    frames: Sequence[set[str]],
    said: str,
    known: set[str],
    wanted: frozenset[str],
) -> list[str]:
    """Records that say what is told in the words of a frame, but for the value: "I'm on 50 mg" beside "I'm on 100 mg now".

    They may leave out fewer than half of the words, and neither a value nor what a statement begins with.
    """
    own = values(said).union(content_terms(said)[:1])
    found: list[str] = []
    for id_, content in records.items():
        for one in sentences(held.spoken(content)):
            terms = {*content_terms(one)}
            told = [
                f & terms for f in filter(None, frames) if 2 * len(f - terms) < len(f) and own.isdisjoint(f - terms)
            ]
            if kinds(one, known - wanted) <= kinds(said, known - wanted) and any(
                _has_another_value(one, f, known, wanted)
                or (has_exchanged(one, said) and has_other_value(one, said, known - wanted))
                for f in told
            ):
                found.append(id_)
                break
    return found


def _has_another_value(text: str, frame: set[str], known: set[str], wanted: frozenset[str]) -> bool:
    """Whether a text has the words of a matter and, of its own, no more than other values, with which it does not begin."""
    terms = content_terms(text)
    other = {*terms} - known - CHANGED
    begins = index_terms(text)[:1]
    return bool(wanted and other) and frame.issubset(terms) and other <= values(text) and other.isdisjoint(begins)


def _staying(
    held: _Statements, receipts: Sequence[Receipt], wrong: Mapping[str, MemoryRecord], said: str, text: str
) -> Iterator[Receipt]:
    """Receipts of what is near and stays: of nothing that has ended, or ends, or becomes the new statement, or is rewritten."""
    told = _words(held, [one.id for one in receipts])
    for one in receipts:
        own = held.own(one.id)
        if own.category == SESSION_SUMMARY:
            continue
        if (
            own.expired_at is None
            and not (wrong and held.spoken(own.content) == said)
            and wrong.keys().isdisjoint((one.id, own.id))
        ):
            how = "says the same" if held.agrees(told[one.id], text) else "says something else"
            yield replace(one, outcome="rejected", reason=f"{how}, and stays: {one.reason}")
