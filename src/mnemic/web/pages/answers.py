"""Answers: each context that was given, what was found for it then, the reply, and what is different now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import NotFound
from mnemic.memory import Memory
from mnemic.runtime.indexer import HIT
from mnemic.text.markup import revealed
from mnemic.text.terms import content_terms
from mnemic.types import GivenContext, MemoryRecord, Message, Record
from mnemic.types.records import last_transition
from mnemic.web.drawings import shares
from mnemic.web.explorer import Explorer, isolated, whole

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
    contexts, retained = ui.memory.admin.contexts(), ui.memory.admin.settings.retention.contexts
    return ui.listing(request, "answers.html", contexts, title="Answers", contexts=contexts, retained=retained)


def detail(ui: Explorer, request: Request) -> Response:
    """One answer: the question, what was found then, the prompt, the reply, and what asking again would change."""
    number = whole(request.query_params, "number", 0, 0, 2**53)
    contexts = ui.memory.admin.contexts()
    context = next((context for context in contexts if context.number == number), None)
    if context is None:
        raise NotFound("No context is kept under this number: it was erased, or later ones took its place.")
    memory = ui.memory.scoped(project=context.project, session=context.session)
    after = _after(memory, context, contexts)
    reply = next(iter(memory.admin.without_forgotten(filter(None, [_reply(after)]))), None)
    evidence = frozenset(term for hit in context.hits if hit.shown for term in content_terms(hit.text))
    terms = evidence.intersection(content_terms(reply.content) if reply else ())
    best = max((sum(map(abs, hit.contributions.values())) for hit in context.hits), default=0.0)
    exchange = [str(m.id) for m in after if (reply and m.id == reply.id) or m.content == context.question]
    return ui.listing(
        request, "answer.html", context.hits, title="Answer", context=context, reply=reply, marked=partial(marked, terms=terms),
        differences=[*differences(memory, context, exchange)] if context.plain else None,
        hits=[(hit, shares(hit.contributions, best)) for hit in context.hits],
    )  # fmt: skip


def _after(memory: Memory, context: GivenContext, contexts: Sequence[GivenContext]) -> list[Message]:
    """The messages after a context in its session, before the next context there."""
    until = context.given_at + REPLY_WITHIN
    for other in contexts:
        if (other.project, other.session) == (context.project, context.session) and other.given_at > context.given_at:
            until = min(until, other.given_at)
    reach = "session" if context.session else "project+global"
    messages = memory.messages(since=context.given_at, until=until, reach=reach)
    return [message for message in messages if message.session == context.session]


def _reply(after: Sequence[Message]) -> Message | None:
    return next((message for message in after if message.role == "assistant"), None)


def contexts_of(memory: Memory, record: Record) -> list[GivenContext]:
    """The contexts that had a record in their prompt, and the one whose reply it is, the last first."""
    contexts = memory.admin.contexts()
    return [
        context
        for context in contexts
        if any(hit.shown and hit.id == record.id for hit in context.hits)
        or (isinstance(record, Message) and record.role == "assistant" and _is_reply(memory, context, record, contexts))
    ]


def _is_reply(memory: Memory, context: GivenContext, message: Message, contexts: Sequence[GivenContext]) -> bool:
    if context.session != message.session or message.sent_at is None or message.sent_at < context.given_at:
        return False
    reply = _reply(_after(memory.scoped(project=context.project, session=context.session), context, contexts))
    return reply is not None and reply.id == message.id


def marked(text: str, terms: frozenset[str]) -> Markup:
    """A text with words of these terms marked: those that the reply has in common with what was found."""
    parts, last = list[Markup](), 0
    for word in _WORD.finditer(text):
        if terms.intersection(content_terms(word[0])):
            parts += [escape(revealed(text[last : word.start()])), Markup("<mark>{}</mark>").format(revealed(word[0]))]
            last = word.end()
    return isolated(Markup("").join([*parts, escape(revealed(text[last:]))]))


def differences(memory: Memory, context: GivenContext, exchange: Sequence[str]) -> Iterator[Difference]:
    """What a prompt would have now and had not then, or had then and would not now; without the exchange itself."""
    now = memory.get_memory_context(
        context.question, max_tokens=context.max_tokens, min_evidence=context.min_evidence, exclude=exchange
    )
    then = {hit.id: hit.text for hit in context.hits if hit.shown}
    present = {id_: hit for hit in now.hits for id_ in (hit.id, *hit.similar, *hit.via)}
    for id_, text in then.items():
        if id_ not in present:
            yield Difference(id_, text, _absence(memory, id_))
        elif not (hit := present[id_]).current:
            yield Difference(id_, text, "replaced")
        elif hit.id == id_ and not hit.text.startswith(text[:HIT]):
            yield Difference(id_, text, "edited")
    for hit in now.hits:
        if hit.id not in then and not {*hit.similar, *hit.via} & {*then}:
            stored = next((event.at for event in memory.history(hit.id)), None)
            yield Difference(
                hit.id, hit.text, "new since" if stored and stored > context.given_at else "ranks higher now"
            )


def _absence(memory: Memory, id_: str) -> str:
    """Why a record that a prompt had is not in it now."""
    try:
        record = memory.get(id_)
    except NotFound:
        return "erased"
    last = last_transition(memory.history(id_))
    if last is not None and last.operation in ("archive", "absorb"):
        return "in quarantine" if last.detail.get("quarantine") else "forgotten"
    if isinstance(record, MemoryRecord) and (record.superseded_by or record.invalid_at or record.expired_at):
        return "replaced" if record.superseded_by else "ended"
    return "ranks lower now"
