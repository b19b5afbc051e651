"""Answers: each context that was given, what was found for it then, the reply, and what is different now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import NotFound
from mnemic.memory import Memory
from mnemic.text.markup import revealed
from mnemic.text.terms import content_terms
from mnemic.types import Episode, GivenContext, Hit, MemoryRecord, Message
from mnemic.web.drawings import shares
from mnemic.web.explorer import Explorer
from mnemic.web.fields import whole

_WORD = re.compile(r"\w+")
REPLY_WITHIN = timedelta(hours=1)
"""How long after its context a message of the assistant may be the reply."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A hit that a question finds only then, or only now, and why."""

    id: str
    text: str
    reason: str


def page(ui: Explorer, request: Request) -> Response:
    """The contexts that are kept, the last first."""
    return ui.render(
        request, "answers.html", title="Answers", given=ui.memory.admin.contexts(),
        kept=ui.memory.admin.settings.retention.contexts,
    )  # fmt: skip


def one(ui: Explorer, request: Request) -> Response:
    """One answer: the question, what was found then, the prompt, the reply, and what asking again would change."""
    number = whole(request.query_params, "number", 0, 0, 2**53)
    found = next((one for one in ui.memory.admin.contexts() if one.number == number), None)
    if found is None:
        raise NotFound("No context is kept under this number: it was erased, or later ones took its place.")
    memory = ui.memory.scoped(project=found.project, session=found.session)
    said = reply(memory, found)
    evidence = frozenset(term for hit in found.hits if hit.shown for term in content_terms(hit.text))
    terms = evidence.intersection(content_terms(said.content) if said else ())
    best = max((sum(map(abs, hit.contributions.values())) for hit in found.hits), default=0.0)
    exchange = [str(m.id) for m in _after(memory, found) if m == said or m.content == found.question]
    now = memory.get_memory_context(found.question, max_tokens=found.max_tokens, exclude=exchange)
    changed = [*differences(memory, found, now.hits)]
    return ui.render(
        request, "answer.html", title="Answer", given=found, reply=said, lit=partial(lit, terms=terms), differences=changed,
        hits=[(hit, shares(hit.contributions, best)) for hit in found.hits],
    )  # fmt: skip


def reply(memory: Memory, given: GivenContext) -> Message | None:
    """The first message of the assistant after a context, in its session."""
    return next((message for message in _after(memory, given) if message.role == "assistant"), None)


def _after(memory: Memory, given: GivenContext) -> list[Message]:
    """The messages after a context, in its session."""
    until = given.given_at + REPLY_WITHIN
    return memory.messages(since=given.given_at, until=until, reach="session" if given.session else "user")


def uses(memory: Memory, record: Message | Episode | MemoryRecord) -> list[GivenContext]:
    """The contexts that had a record in their prompt, or whose reply it is, the last first."""
    given = memory.admin.contexts()
    if isinstance(record, Message) and record.role == "assistant":
        asked = [
            one for one in given if one.session == record.session and record.sent_at and one.given_at <= record.sent_at
        ]
        return [
            one
            for one in asked[:1]
            if (said := reply(memory.scoped(session=one.session), one)) and said.id == record.id
        ]
    return [one for one in given if any(hit.shown and hit.id == record.id for hit in one.hits)]


def lit(text: str, terms: frozenset[str]) -> Markup:
    """A text with words of these terms marked: those that the reply has in common with what was found."""
    parts, last = list[Markup](), 0
    for word in _WORD.finditer(text):
        if terms.intersection(content_terms(word[0])):
            parts += [escape(revealed(text[last : word.start()])), Markup("<mark>{}</mark>").format(revealed(word[0]))]
            last = word.end()
    return Markup('<bdi dir="auto">{}</bdi>').format(Markup("").join([*parts, escape(revealed(text[last:]))]))


def differences(memory: Memory, given: GivenContext, now: tuple[Hit, ...]) -> Iterator[Difference]:
    """What the prompt had then and would not have now, and the other way round."""
    then = {hit.id: hit.text for hit in given.hits if hit.shown}
    present = {id_ for hit in now for id_ in (hit.id, *hit.similar, *hit.via)}
    for id_, text in then.items():
        if id_ not in present:
            yield Difference(id_, text, _gone(memory, id_, text))
    for hit in now:
        if hit.id not in then and not {*hit.similar, *hit.via} & {*then}:
            record = memory.get(hit.id)
            stored = record.sent_at if isinstance(record, Message) else record.created_at
            new = stored is not None and stored > given.given_at
            yield Difference(hit.id, hit.text, "new since" if new else "ranks higher now")


def _gone(memory: Memory, id_: str, text: str) -> str:
    try:
        record = memory.get(id_)
    except NotFound:
        return "erased"
    last: Mapping[str, Any] = {event.operation: event for event in memory.history(id_)}
    if next(reversed(last), "") in ("archive", "absorb"):
        return "forgotten"
    if isinstance(record, MemoryRecord) and record.superseded_by:
        return "replaced"
    content = record.title if isinstance(record, Episode) else record.content
    return "ranks lower now" if content.startswith(text[:50]) else "edited"
