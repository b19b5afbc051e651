"""What can be done to a record: edit, correct, end, pin, forget, erase, and their undoing, each with a look before it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Unpack, cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import Conflict, InvalidInput, StoreError
from mnemic.memory import Memory
from mnemic.text.values import now as present
from mnemic.types import Filters, MemoryRecord, Record
from mnemic.web.explorer import Explorer, Form, number
from mnemic.web.pages.records import PAGE, details, listed

PROMPT = 600
"""Tokens of the prompts before and after a change."""
_INSTANT = timedelta(microseconds=1)


def _record_path(id_: str) -> str:
    return f"/record?id={quote(id_, safe='')}"


def edit(ui: Explorer, _: Request, form: Form) -> str:
    """Write the next version of a memory."""
    record = ui.memory.get(form.get("id", ""))
    if not isinstance(record, MemoryRecord):
        raise InvalidInput("Only memories can be edited: evidence is never rewritten.")
    _check_version(record, form)
    changes: dict[str, Any] = {}
    content = _lines(form.get("content", ""))
    if content != _lines(record.content):
        changes["content"] = content
    if (category := form.get("category", "").strip() or None) != record.category:
        changes["category"] = category
    if (tags := _tags(form.get("tags", ""))) != _tags(", ".join(record.tags)):
        changes["tags"] = tags
    if (importance := number(form, "importance")) is not None and abs(importance - record.importance) > 0.005:
        changes["importance"] = importance
    if changes:
        ui.memory.update(record.id, **changes)
    return _record_path(record.id)


def _lines(text: str) -> str:
    """A text with the line ends that browsers change."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _tags(text: str) -> list[str]:
    return [tag.strip() for tag in text.split(",") if tag.strip()]


def correcting(ui: Explorer, request: Request) -> Response:
    """What a correction means, before it is done: what it replaces, and the prompt that says it today."""
    query = request.query_params
    record = ui.memory.get(query.get("id", ""))
    statement = query.get("statement", "").strip()
    if not statement:
        raise InvalidInput("There is no statement. Write what is true instead.")
    plan, question = ui.memory.correct(str(record.id), statement, dry_run=True), _question(query, record)
    return ui.render(
        request, "correcting.html", title="Correct", record=record, statement=statement, plan=plan,
        version=query.get("version", ""), question=question, prompt=_prompt(ui.memory, question),
    )  # fmt: skip


def correct(ui: Explorer, _: Request, form: Form) -> str:
    """Replace a record with what is true, and show what changed."""
    record = ui.memory.get(form.get("id", ""))  # an id that is gone would be read as a description
    _check_version(record, form)
    receipt = ui.memory.correct(str(record.id), form.get("statement", "").strip())[0]
    if receipt.outcome == "rejected":
        raise InvalidInput(receipt.reason)
    return _changed_path(receipt.id, _question(form, record))


def end(ui: Explorer, _: Request, form: Form) -> str:
    """Let a memory be true until now, and show what changed."""
    record = ui.memory.get(form.get("id", ""))
    ui.memory.update(str(record.id), invalid_at=present())
    return _changed_path(str(record.id), _question(form, record))


def changed(ui: Explorer, request: Request) -> Response:
    """The prompt before a change and now."""
    record = ui.memory.get(request.query_params.get("id", ""))
    question = _question(request.query_params, record)
    replaced = _replaced(ui.memory, str(record.id))
    if not isinstance(record, MemoryRecord):
        raise InvalidInput("Messages and episodes do not change.")
    ended = record.invalid_at
    then = Filters(at=ended - _INSTANT) if ended else Filters(known_at=record.created_at - _INSTANT)
    return ui.render(
        request, "changed.html", title="Changed", record=record, question=question, replaced=replaced, ended=ended,
        before=_prompt(ui.memory, question, **then), now=_prompt(ui.memory, question),
    )  # fmt: skip


def take_back(ui: Explorer, _: Request, form: Form) -> str:
    """Forget a correction, so that what it replaced holds again; or let a memory that was ended hold again."""
    id_ = form.get("id", "")
    record = ui.memory.get(id_)
    was_ended = isinstance(record, MemoryRecord) and record.invalid_at is not None and record.expired_at is None
    if not was_ended and (replaced := _replaced(ui.memory, id_)):
        ui.memory.forget(ids=[id_], reason="the correction was taken back")
        receipts = ui.memory.restore(replaced)
        if receipts.rejected:
            raise Conflict(receipts.rejected[0].reason)
        return _record_path(receipts[0].id)
    ui.memory.update(id_, invalid_at=None)
    return _record_path(id_)


def _replaced(memory: Memory, id_: str) -> list[str]:
    """The ids of the memories that one took the place of."""
    links = memory.links.graph(id_, depth=1).links
    return [link.target for link in links if link.type == "supersedes" and link.source == id_]


def _question(query: Mapping[str, str], record: Record) -> str:
    """The question whose prompt is looked at; the words of the record where none was asked."""
    return query.get("q", "").strip() or record.content[:500]


def _prompt(memory: Memory, question: str, **then: Unpack[Filters]) -> str:
    return memory.get_memory_context(question, max_tokens=PROMPT, **then).to_prompt()


def _changed_path(id_: str, question: str) -> str:
    return f"/changed?id={quote(id_, safe='')}&q={quote(question, safe='')}"


def _check_version(record: Record, form: Form) -> None:
    """Refuse to change a memory that was changed since the page was opened."""
    if isinstance(record, MemoryRecord) and form.get("version", "") != str(record.version):
        raise Conflict(
            f"This memory was changed meanwhile: it is version {record.version} now. Nothing was saved. Open it again, and "
            "edit what it shows then."
        )


def pin(ui: Explorer, _: Request, form: Form) -> str:
    """Pin a memory at the importance that it has, or let its importance change again."""
    record = ui.memory.get(form.get("id", ""))
    if isinstance(record, MemoryRecord):
        ui.memory.update(record.id, importance=None if record.pinned else record.importance)
    return _record_path(str(record.id))


def forgetting(ui: Explorer, request: Request) -> Response:
    """What forgetting a record means, or several, before it is done."""
    ids = request.query_params.getlist("id")
    base = request.scope.get("root_path", "")
    if len(ids) > 1:
        records = [listed(ui.memory, id_) for id_ in ids[:PAGE]]
        return ui.render(request, "forget_several.html", title="Forget", records=records, ids=json.dumps(ids[:PAGE]))
    if not ids:
        raise InvalidInput("No record is selected. Go back, and select what should be forgotten.")
    record = ui.memory.get(ids[0])
    question = _question(request.query_params, record)
    return ui.render(
        request, "forget.html", title="Forget", word=str(record.id)[-6:], question=question,
        prompt=_prompt(ui.memory, question), **details(ui.memory, record, base),
    )  # fmt: skip


def forget(ui: Explorer, _: Request, form: Form) -> str:
    """Forget a record, or several; they can be restored."""
    ids = [form["id"]] if "id" in form else _ids(form.get("ids", ""))
    ui.memory.forget(ids=ids, reason=form.get("reason", ""))
    return _record_path(ids[0]) if len(ids) == 1 else "/audit?operation=archive"


def _ids(text: str) -> list[str]:
    try:
        ids: object = json.loads(text)
    except ValueError:
        ids = None
    if not isinstance(ids, list):
        raise InvalidInput("The form names no records. Nothing was done.")
    return [str(id_) for id_ in cast("list[object]", ids)]


def erase(ui: Explorer, _: Request, form: Form) -> str:
    """Erase a record and what was derived from it, for good, once the end of its id was typed."""
    id_ = form.get("id", "")
    if not id_ or form.get("word", "").strip() != id_[-6:]:
        raise InvalidInput("Type the last six characters of the id to erase it for good. Nothing was erased.")
    erasure = ui.memory.forget(ids=[id_], hard=True)
    if not erasure.clean:
        raise StoreError(f"It is erased from the record, but bytes of it may still be on disk: {erasure.purge.pending}")
    return "/audit?operation=erase"


def restore(ui: Explorer, _: Request, form: Form) -> str:
    """Restore a forgotten record."""
    receipts = ui.memory.restore(form.get("id", ""))
    if receipts.rejected:
        raise Conflict(receipts.rejected[0].reason)
    return _record_path(form.get("id", ""))


def quarantine(ui: Explorer, _: Request, form: Form) -> str:
    """Exclude a record, and what was derived from it, from searches."""
    ui.memory.admin.quarantine([form.get("id", "")], reason=form.get("reason", ""))
    return _record_path(form.get("id", ""))


def release(ui: Explorer, _: Request, form: Form) -> str:
    """Release a record from quarantine."""
    ui.memory.admin.release([form.get("id", "")])
    return _record_path(form.get("id", ""))
