"""Which messages of a thread are new to the record, and the ids under which they are stored once.

Pure: nothing is read or written here. Frameworks show a thread again and again: with a longer end, with edited or removed
messages, with an answer generated again, as a branch, or from a client that keeps no ids. The record must hold each message
once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from mnemic.secrets.policy import pieces
from mnemic.text.markup import is_blank
from mnemic.text.values import MAX_NAME, clipped
from mnemic.types import Message, Scope
from mnemic.types.literals import TOOLS_USED

Clean: TypeAlias = Callable[[str], str]
"""``Memory.admin.redacted``. Ids are digests of the stored text: a digest of the original would reveal a short secret."""

Words: TypeAlias = tuple[str, str]
"""The role and a digest of the text without white space around it: equal for the same words of the same speaker."""

Marks: TypeAlias = dict[str, list[str]]
"""The messages of a thread that were handled, by key: the digest of the current text, then those of earlier texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """A message of a framework, as far as memory is concerned.

    Attributes:
        role: ``user``, ``assistant``, ``tool`` or another.
        text: its text; empty when it has none.
        key: what identifies it in its thread, such as the framework's id; None when there is nothing.
        stored: whether it is evidence. What a program put into the user's role, instructions and notices are not.
        name: of the speaker.
        sent_at: None is the time of storing.
        metadata: stored with it.
        call: of a tool's result: the id of the call.
        outcome: of a tool's result: ``ok`` or ``error``; None if the framework does not say.
        calls: the tools that an answer calls: their names by the id of the call.
    """

    role: str
    text: str
    key: str | None = None
    stored: bool = True
    name: str | None = None
    sent_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    call: str | None = None
    outcome: Literal["ok", "error"] | None = None
    calls: Mapping[str, str] = field(default_factory=dict[str, str])


def with_tools(messages: Iterable[ThreadMessage]) -> list[ThreadMessage]:
    """The messages; an answer that is stored notes in its metadata the tools used since the one before it.

    A note has the tool's name, the outcome and the time where they are known, and nothing that the tool answered. Results
    that are stored themselves are not noted.
    """
    names: dict[str, str] = {}
    noted: set[str] = set()
    used: list[dict[str, str]] = []
    result: list[ThreadMessage] = []
    for message in messages:
        names |= message.calls
        if message.role == "tool" and not message.stored and message.call not in noted:
            noted |= {message.call} if message.call else set()
            used.append(_use(message, names))
        elif used and message.role == "assistant" and message.stored and message.text.strip():
            message = replace(message, metadata={**message.metadata, TOOLS_USED: used})  # noqa: PLW2901
            used = []
        result.append(message)
    return result


def _use(result: ThreadMessage, names: Mapping[str, str]) -> dict[str, str]:
    moment = result.sent_at and result.sent_at.isoformat(timespec="seconds")
    note = {"name": result.name or names.get(result.call or "", "tool"), "outcome": result.outcome, "at": moment}
    return {key: value for key, value in note.items() if value}


def sent_at(extra: Mapping[str, object]) -> datetime | None:
    """The time of a message of a framework whose messages have none: ``extra["sent_at"]`` in ISO 8601, for replayed
    conversations.
    """
    value = extra.get("sent_at")
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:  # a key of another program
        return None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def words_of(record: Message) -> Words:
    """The words of a stored message."""
    return record.role, _digest(record.content.strip())


def unanswered(records: Sequence[Message], since: datetime) -> list[Words]:
    """The words of what a user said at the end of a session, since some time, without an answer.

    Args:
        records: what the session holds, oldest first.
        since: when the time began.
    """
    first = next((i + 1 for i in range(len(records) - 1, -1, -1) if records[i].role != "user"), 0)
    return [words_of(record) for record in records[first:] if record.sent_at and record.sent_at >= since]


def evidence(messages: Iterable[ThreadMessage], clean: Clean) -> list[ThreadMessage]:
    """The messages that are stored and have text; one that is longer than a record may be as several."""
    stored = [message for message in with_tools(messages) if message.stored]
    parts = [(message, part) for message in stored for part in pieces(message.text, clean)]
    return [
        message if part == message.text else replace(message, text=part)
        for message, part in parts
        if not is_blank(part)
    ]


class Thread:
    """The messages of one conversation as a framework shows them.

    Args:
        messages: oldest first.
        scope: with the project and session of the conversation.
        clean: ``Memory.admin.redacted``.

    Attributes:
        messages: as given; see ``with_tools``.
        prefix: how the ids of this conversation begin.
        digests: of the texts as they are stored; what is not stored counts as empty, and is not read for secrets.
        words: of each message.
        keys: what identifies each message; without a key of the framework its position and text.
    """

    def __init__(self, messages: Iterable[ThreadMessage], *, scope: Scope, clean: Clean) -> None:
        self.messages = tuple(with_tools(messages))
        session = "" if scope.session is None else quote(scope.session, safe="")
        self.prefix = session if scope.project is None else f"{quote(scope.project, safe='')}/{session}"
        texts = [clean(message.text) if message.stored else "" for message in self.messages]
        self.digests = tuple(map(_digest, texts))
        self.words: list[Words] = [
            (m.role, _digest(text.strip())) for m, text in zip(self.messages, texts, strict=True)
        ]
        named = zip(self.messages, self.digests, strict=True)
        self.keys = tuple(message.key or f"{position}.{digest}" for position, (message, digest) in enumerate(named))
        self._clean = clean

    # Records

    def record_id(self, key: str, digest: str) -> str:
        """The id of a record. Edited text under the same key is another record: evidence is never rewritten."""
        whole = f"{self.prefix}:{key}:{digest}"
        if len(whole.encode(errors="replace")) > MAX_NAME:
            whole = f"thread:{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()}"
        return whole

    def records(self, positions: Iterable[int] | None = None, keys: Sequence[str] | None = None) -> list[Message]:
        """The messages to store: none for one without text, several for one that is longer than a record may be.

        Args:
            positions: of the messages; default all.
            keys: of all messages; default ``Thread.keys``.
        """
        names = self.keys if keys is None else keys
        chosen = range(len(self.messages)) if positions is None else positions
        return [record for i in chosen for record in self._pieces(self.messages[i], names[i], self.digests[i])]

    def _pieces(self, message: ThreadMessage, key: str, digest: str) -> list[Message]:
        parts = pieces(message.text, self._clean) if message.stored else []
        digests = [digest] if len(parts) == 1 else [_digest(self._clean(part)) for part in parts]
        keys = [f"{key}+{number}" if number else key for number in range(len(parts))]
        named = zip(parts, map(self.record_id, keys, digests), strict=True)
        return [self._record(message, part, id_) for part, id_ in named if not is_blank(part)]

    def _record(self, message: ThreadMessage, text: str, id: str | None) -> Message:
        name = clipped(pieces(message.name or "", self._clean, MAX_NAME)[0]) or None
        return Message(
            role=message.role, content=text, name=name, sent_at=message.sent_at, id=id, metadata=message.metadata
        )

    def entries(self) -> list[Message]:
        """The messages of a chat history: each is one record, and without a key it is stored whenever it is added."""
        ids = [m.key and self.record_id(m.key, digest) for m, digest in zip(self.messages, self.digests, strict=True)]
        return [self._record(m, m.text, id_) for m, id_ in zip(self.messages, ids, strict=True)]

    def records_after(self, stored: Sequence[Words], new: Sequence[int]) -> list[Message]:
        """The messages to store of a framework without ids.

        An id is made of the text, the text before it and how often this pair occurred, so that two processes that store
        the same turn use the same id.

        Args:
            stored: the words of the record's end, oldest first.
            new: positions; see ``unstored``.
        """
        words = self.words
        before = [None if len(new) < len(words) or not stored else stored[-1], *words[:-1]]
        pairs = Counter(zip([None, *stored], stored, strict=False))
        keys = list(self.keys)
        for i in new:
            pair = (before[i], words[i])
            keys[i] = ".".join((*(pair[0] or "-"), words[i][0], str(pairs[pair])))
            pairs[pair] += 1
        return self.records(new, keys)

    # What was handled, for frameworks that keep a state with the thread

    def marks(self, before: Marks, positions: Iterable[int] | None = None) -> Marks:
        """The marks of messages; ``before`` has those of earlier texts.

        The marks of an edited message stay when it leaves the thread: its earlier text is no longer shown in it.
        """
        marks: Marks = {key: digests for key, digests in before.items() if len(digests) > 1}
        for i in range(len(self.messages)) if positions is None else positions:
            key, digest = self.keys[i], self.digests[i]
            marks[key] = [digest, *(old for old in before.get(key, []) if old != digest)]
        return marks

    def first_marks(self, records: Sequence[Message], since: datetime) -> Marks:
        """The marks of a thread that is met for the first time: all but what is new in the last turn.

        Args:
            records: what the session holds, oldest first.
            since: see ``repeated``.
        """
        start = self.last_turn()
        stored = [record for record in records if (record.id or "").startswith(f"{self.prefix}:")]
        return self.marks({}, [*range(start), *self.repeated(start, stored, since)])

    def unmarked(self, marks: Marks) -> list[int]:
        """Positions of new messages and of those with another text than was handled."""
        named = enumerate(zip(self.keys, self.digests, strict=True))
        return [i for i, (key, digest) in named if marks.get(key, [])[:1] != [digest]]

    def last_turn(self) -> int:
        """Where the user's last turn begins: after the answer before it."""
        last = self.last_question()
        users = len(self.messages) if last is None else last
        return next((i + 1 for i in range(users - 1, -1, -1) if self.messages[i].role == "assistant"), 0)

    def turn_words(self) -> set[Words]:
        """The words of the records of the user's last turn and of what follows it."""
        records = self.records(range(self.last_turn(), len(self.messages)))
        return {(record.role, _digest(self._clean(record.content).strip())) for record in records}

    def repeated(self, start: int, records: Sequence[Message], since: datetime) -> list[int]:
        """Positions of the last turn's messages that are in the record: the request was made before.

        The same words after the same answer are the same message. Without an answer they are so only when nothing was
        answered since and little time passed: people do say a thing twice.

        Args:
            start: where the turn begins.
            records: what the session holds, oldest first.
            since: when the little time began.
        """
        recorded = [words_of(record) for record in records]
        words = self.words
        answer = next((spoken for spoken in reversed(words[:start]) if spoken in recorded), None)
        after = 0 if answer is None else len(recorded) - recorded[::-1].index(answer)
        remaining = unanswered(records, since) if answer is None else recorded[after:]
        positions: list[int] = []
        for i in range(start, len(words)):
            if words[i] in remaining:
                remaining.remove(words[i])  # repeated within a turn, it has to be there as often
                positions.append(i)
        return positions

    def resent(self, marks: Marks) -> list[int]:
        """Positions of what the user said before in the thread, in a run that failed: without an answer since, or a mark of an
        earlier turn.
        """
        positions, pending, start = list[int](), set[Words](), self.last_turn()
        for i, (message, words) in enumerate(zip(self.messages, self.words, strict=True)):
            if message.role == "assistant" and message.text.strip():
                pending.clear()
            elif message.role == "user" and message.stored:
                positions += [i] if words in pending else []
                pending |= set() if i < start and self.keys[i] in marks else {words}
        return positions

    def shown_ids(self, marks: Marks | None = None, known: Sequence[Message] = ()) -> list[str]:
        """The ids of what a prompt with this thread shows anyway, with earlier texts of edited messages.

        Args:
            marks: what was handled.
            known: messages of the session, for a thread under new ids.
        """
        marks = marks or {}
        stored = [i for i, message in enumerate(self.messages) if message.stored]
        keys, words = [self.keys[i] for i in stored], {self.words[i] for i in stored}
        ids = [record.id for record in self.records() if record.id]
        ids += [self.record_id(key, digest) for key in keys for digest in marks.get(key, [])]
        ids += [self.record_id(key, digest) for key, digests in marks.items() for digest in digests[1:]]
        prefixes = {f"{self.prefix}:{key}" for key in keys}
        return ids + [r.id for r in known if r.id and (words_of(r) in words or r.id.rpartition(":")[0] in prefixes)]

    # What is asked

    def last_question(self) -> int | None:
        """The position of the user's last message; None without one."""
        backwards = range(len(self.messages) - 1, -1, -1)
        return next((i for i in backwards if self.messages[i].role == "user" and self.messages[i].stored), None)

    def question(self) -> str:
        """The text of the user's last message."""
        last = self.last_question()
        return "" if last is None else self.messages[last].text.strip()

    def recent(self, question: str) -> list[str]:
        """The texts of the user and the assistant before a question; all of them when it is not in the thread."""
        spoken = [m for m in self.messages if m.stored and m.role in ("user", "assistant") and m.text.strip()]
        texts = [message.text.strip() for message in spoken]
        backwards = range(len(spoken) - 1, -1, -1)
        last = next((i for i in backwards if spoken[i].role == "user" and texts[i] == question), len(spoken))
        return texts[:last]


# Sequences without ids


def contains(stored: Sequence[Words], run: Sequence[Words]) -> bool:
    """Whether ``run`` is a run of ``stored``."""
    return any(s == run[0] and stored[i : i + len(run)] == run for i, s in enumerate(stored))


def unstored(stored: Sequence[Words], shown: Sequence[Words], *, complete: bool = False) -> list[int]:
    """Positions in ``shown`` of what is not in ``stored``, the same conversation as far as it is known.

    ``shown`` may begin later (its front was cut off) or earlier, go on further, or be edited. A text repeated after the known
    end is new.

    Args:
        stored: what is known of the conversation, oldest first.
        shown: the conversation as it is shown.
        complete: whether nothing of it was erased. Otherwise what ``stored`` lacks before the last text it knows counts as
            erased, unless it stands in the place of as many others.
    """
    size = len(shown)
    blocks = SequenceMatcher(None, stored, shown, autojunk=False).get_matching_blocks()
    matched = {i for _, start, length in blocks for i in range(start, start + length)}
    # Something put before or an end taken away is less likely than an end that is said again.
    spanned = 0 in matched and len(stored) - blocks[-2].a <= size - blocks[-2].b
    least = len(matched) if complete and spanned else 0
    for overlap in range(min(len(stored), size), least - 1, -1):
        if overlap and stored[-overlap:] == shown[:overlap]:
            return list(range(overlap, size))
    if complete:
        return [i for i in range(size) if i not in matched]
    new: list[int] = []
    left = right = 0
    for block in blocks:
        last = block.size == 0  # the matcher ends with one
        others, here = block.a - left, block.b - right
        edited = here == others and right > 0
        chance = others > 0 and block.size == 1  # one short text in both, such as "Thanks.", proves little
        if last or edited or chance:
            new += range(right, block.b)
        left, right = block.a + block.size, block.b + block.size
    return new


def left_out(records: Sequence[tuple[str, Words]], history: Sequence[Words], before: Sequence[str]) -> list[str]:
    """The ids of the messages that an edited history leaves out: all of them, if it is empty.

    What stands before the first message that both have was cut for its length, and is not left out, unless the history has
    something else there.

    Args:
        records: the ids and words of what was said, oldest first.
        history: the words of the edited history.
        before: the ids of what it left out until now; what it has again is no longer left out.
    """
    candidates = [record for record in records if record[0] not in before]
    blocks = SequenceMatcher(None, [words for _, words in candidates], history, autojunk=False).get_matching_blocks()
    shown = {i for start, _, size in blocks for i in range(start, start + size)}
    matched = {i for _, start, size in blocks for i in range(start, start + size)}
    again = Counter(words for i, words in enumerate(history) if i not in matched)
    words = dict(records)
    remaining: list[str] = []
    for id_ in before:
        if id_ in words and again[words[id_]]:
            again[words[id_]] -= 1
        else:
            remaining.append(id_)
    is_cut = bool(history) and (not shown or history[0] in words.values())
    first = min(shown, default=len(candidates)) if is_cut else 0
    return remaining + [id_ for i, (id_, _) in enumerate(candidates) if i >= first and i not in shown]
