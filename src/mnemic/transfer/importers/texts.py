"""Conversations in plain text: chats of WhatsApp, ``User:`` / ``Assistant:`` transcripts and Markdown, and CSV."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise

from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import (
    USER_FIELDS,
    Damage,
    Fields,
    derived_id,
    noted,
    read_each,
    snake_case,
)
from mnemic.types import Message


def detect_text(text: str) -> str | None:
    """``whatsapp``, ``transcript`` or ``csv``; None for any other text."""
    lines = [line for line in text.splitlines() if line.strip()]
    first = next(iter(lines), "")
    if _WHATSAPP.match(_visible(first)):
        return "whatsapp"
    below = next((line for line in lines if _TURN.match(line) or not line.startswith("#")), "")  # its headings
    if len(_TURN.findall(text)) > 1 and _TURN.match(below):
        return "transcript"
    try:
        return "csv" if columns(text) and len(_reader(text).fieldnames or ()) > 1 else None
    except InvalidInput:
        return None


# WhatsApp

_MARK = "\u200e"
"""Stands before the words of the app, in every language: notices, files, and what is added to a message."""
_AFTERNOON, _MORNING = (
    halves.split()
    for halves in (
        "pm \u0645 \u03bc\u03bc \u0905\u092a\u0930\u093e\u0939\u094d\u0928 \u4e0b\u5348 \u5348\u5f8c \uc624\ud6c4",
        "am \u0635 \u03c0\u03bc \u092a\u0942\u0930\u094d\u0935\u093e\u0939\u094d\u0928 \u4e0a\u5348 \u5348\u524d \uc624\uc804",
    )
)
"""The halves of the day in English, Arabic, Greek, Hindi, Chinese, Japanese and Korean, without full stops."""
_HALF = "|".join(
    r"\.?\s?".join(half) if half.isascii() or len(half) == 2 else half for half in (*_AFTERNOON, *_MORNING)
)
_DATE = r"\d{1,4}\s?[./\u5e74\ub144-]\s?\d{1,2}\s?[./\u6708\uc6d4-]\s?\d{1,4}\s?[.\u65e5\uc77c]?"
_TIME = rf"(?P<before>{_HALF})?\s*(?P<time>\d{{1,2}}[:.]\d{{2}}(?:[:.]\d{{2}})?)\s*(?P<after>(?:{_HALF})\.?(?!\w))?"
_WHATSAPP = re.compile(
    rf"{_MARK}?(?P<ios>\[)?(?P<date>{_DATE})[,\u060c]?\s+(?:(?:\u00e0|\u00e0s|klo|kl\.|um|alle)\s+)?{_TIME}"
    r"(?:\]|,)?(?:\s+-)?\s+(?P<rest>.*)",
    re.IGNORECASE,
)
"""The first line of a message, in the form of the language of the phone."""
_NAME = r"""(?:[^:"\u201c\u201e\u00ab]|"[^:"]*"|[\u201c\u201e][^:\u201c\u201d]*[\u201c\u201d]|\u00ab[^:\u00bb]*\u00bb){1,80}"""
"""A name leaves no quotation mark open: ``Ben created group "Trip: Rome"`` is a notice."""
_SPEAKER = re.compile(rf"(?P<name>{_NAME}): (?P<text>.*)|(?P<alone>{_NAME}):$")
_ATTACHED = re.compile(rf"(?:{_MARK}<[^<>:]+|<attached): ([^<>]+)>")
_FILE = re.compile(
    rf"(?P<file>(?P<app>{_MARK}(?=\S)|[A-Z]{{3}}-\d(?=\S*\.\w+ \())?[^\n]*\.\w{{2,5}}) \((?P<label>[^()?\n]+)\)(?m:$)"
)
"""On Android the first line, a name and a label in the language of the phone: ``IMG-20260901-WA0001.jpg (Datei angehängt)``."""
_LABEL = "file attached"
_EDITED = re.compile(
    rf"\s*(?:{_MARK}<[^<>:]+>|<(?:this message was edited|diese nachricht wurde bearbeitet|se editó este mensaje|"
    r"ce message a été modifié|mensagem editada|questo messaggio è stato modificato|dit bericht is bewerkt)\.?>)$",
    re.IGNORECASE,
)
"""What is added to a message that was edited: on Android it has no mark."""
_NOTICE = re.compile(rf"{_MARK}(?!.*://)[^\n]*$")
"""A poll has further lines, a place its address: these are the speaker's."""
_OMITTED = re.compile(
    rf"{_MARK}<[^<>:\n]+>|{_MARK}?(?:image|video|audio|sticker|document|gif|contact card) omitted"
    r"|<[^<>\n]*(?:omit(?:ted|id[oa]s?)|omi(?:s|ses|tidos)|omess[aeio]|ausgeschlossen|weggelassen|weggelaten|ocult[ao]s?|"
    r"dahil edilmedi|pomini\u0119t[aeoy]|utel\u00e4mna(?:d|t|de)|udelad[et]|"
    r"\u0431\u0435\u0437 \u043c\u0435\u0434\u0438\u0430\S*|"
    r"\u7701\u7565|\u542b\u307e\u308c\u3066\u3044\u307e\u305b\u3093|\uc0dd\ub7b5|"
    r"\ud3ec\ud568\ub418\uc9c0 \uc54a\uc74c)[^<>\n]*>",
    re.IGNORECASE,
)
"""On Android words in angle brackets that something was omitted, in the language of the phone."""
_DELETED = frozenset((
    "this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht",
    "du hast diese nachricht gelöscht", "se eliminó este mensaje", "este mensaje fue eliminado", "eliminaste este mensaje",
    "ce message a été supprimé", "vous avez supprimé ce message", "mensagem apagada", "esta mensagem foi apagada",
    "você apagou esta mensagem", "questo messaggio è stato eliminato", "hai eliminato questo messaggio",
    "dit bericht is verwijderd", "je hebt dit bericht verwijderd", "u hebt dit bericht verwijderd",
))  # fmt: skip
"""What stands in the place of a deleted message: on Android it has no mark."""


def _visible(line: str) -> str:
    return line.translate({0x200F: None, 0xFEFF: None, 0x202F: " ", 0xA0: " "})


def whatsapp(data: object, session: str | None) -> Iterator[Message | Damage]:
    """A chat that WhatsApp exported as text, on iOS or Android.

    Notices of the app are left out: they have no speaker, on iOS a mark before their text, or tell that a message was deleted.

    Raises:
        InvalidInput: no line has a time.
    """
    lines = _whatsapp_lines(str(data))
    if not lines:
        raise InvalidInput("No line begins with a date and a time, as each message of a chat of WhatsApp does.")
    order = date_order(match["date"] for match, _ in lines)
    spoken = [(match, speaker, more) for match, more in lines if (speaker := _SPEAKER.match(match["rest"]))]
    labels = _labels(speaker["text"] or "" for _, speaker, _ in spoken)
    for match, speaker, more in spoken:
        text = "\n".join([speaker["text"] or "", *more]).strip()
        media = bool(_OMITTED.fullmatch(text))
        sent_at = _moment(match, order)
        if sent_at is None:
            when = f"{match['date']}, {match['time']}"
            yield Damage(when, f"The message of {when} was not imported: there is no such {_in_words(order)} and time.")
            continue
        if (file := _FILE.match(text)) and file["label"] in labels:
            text = f"[file: {file['file']}]{text[file.end() :]}"
        text = _EDITED.sub("", _ATTACHED.sub(r"[file: \1]", text))
        if text.lower().strip(f"{_MARK}.") in _DELETED or (match["ios"] and not media and _NOTICE.match(text)):
            continue
        yield Message(
            role="user", name=(speaker["name"] or speaker["alone"]).replace(_MARK, "").strip(), session=session,
            sent_at=sent_at, content="" if media else text.replace(_MARK, ""),
            metadata=noted({}, ["media"] if media else []),
        )  # fmt: skip


def _labels(texts: Iterable[str]) -> set[str]:
    """What a phone says of files: that of English, and what it says of one with the mark or a name that the app gives.

    A document has its own name, and often no mark.
    """
    files = filter(None, map(_FILE.match, texts))
    return {_LABEL, *(file["label"] for file in files if file["app"])}


def _whatsapp_lines(text: str) -> list[tuple[re.Match[str], list[str]]]:
    """The lines that begin with a time, each with those that continue it."""
    messages: list[tuple[re.Match[str], list[str]]] = []
    for line in text.splitlines():
        plain = _visible(line)
        if match := _WHATSAPP.match(plain):
            messages.append((match, []))
        elif messages:
            messages[-1][1].append(plain)
    return messages


def date_order(dates: Iterable[str]) -> str:
    """The order of day, month and year in the dates of a chat, which phones write in the order of their country.

    Where the numbers leave it open, the order in which fewer dates go back; of equals, day before month.

    Raises:
        InvalidInput: none of the dates exists in any order.
    """
    texts = [*dates]
    counts = Counter(order for text in texts for order in _orders(text))
    if not counts:
        raise InvalidInput("The dates of the chat are in no order of day, month and year that a phone writes.")

    def steps_back(order: str) -> int:
        days = [day for text in texts if (day := _date(text, order))]
        return sum(after < before for before, after in pairwise(days))

    return min(counts, key=lambda order: (-counts[order], steps_back(order), order))


def _orders(text: str) -> list[str]:
    """The orders of day, month and year in which a date exists."""
    return [order for order in ("dmy", "mdy", "ymd") if _date(text, order)]


def written_order(text: str) -> str:
    """``date_order`` of a chat in words."""
    return _in_words(date_order(match["date"] for match, _ in _whatsapp_lines(text)))


def _in_words(order: str) -> str:
    words = {"d": "day", "m": "month", "y": "year"}
    return "/".join(words[letter] for letter in order)


BUDDHIST = 2400
"""A later year is of the Buddhist calendar of Thailand, 543 years ahead."""


def _date(text: str, order: str) -> datetime | None:
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    day, month, year = (numbers[order.index(part)] for part in "dmy")
    year += 2000 if year < 100 else -543 if year > BUDDHIST else 0
    try:
        return datetime(year, month, day)  # noqa: DTZ001 - in the zone of the handle
    except ValueError:
        return None


def _moment(match: re.Match[str], order: str) -> datetime | None:
    """The date and time of a line; None if they do not exist."""
    day = _date(match["date"], order)
    hour, minute, second = (*map(int, re.split("[:.]", match["time"] or "0:00")), 0)[:3]
    half = re.sub(r"[.\s]", "", match["before"] or match["after"] or "").lower()
    hour = hour % 12 + 12 * (half in _AFTERNOON) if half else hour
    try:
        return day and day.replace(hour=hour, minute=minute, second=second)
    except ValueError:
        return None


# Transcripts

_PARTS = ("question", "prompt", "answer", "response")
"""Words that begin a turn only where the first turn begins with one: answers have lines with them."""
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("user", "human", "you", "me", *_PARTS[:2]), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatgpt", "claude", "gemini", "copilot", *_PARTS[2:]), "assistant"),
    "system": "system",
}
_TURN = re.compile(
    rf"""^(?P<mark>[#]{{1,4}}[ ]*|[*_]{{2}})?
    (?P<role>{"|".join(_ROLES)})(?:[ ]said)?(?:[*_]{{2}}:?|:[*_]{{2}}|:|(?=[ ]*$))[ \t]*(?P<text>.*)$""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""The first line of a turn: ``User: ...``, ``**User:** ...`` or ``## User``."""


def transcript(data: object, session: str | None) -> Iterable[Message]:
    """Turns that begin with a line such as ``User: ...``, ``**Assistant:** ...`` or ``## Human``.

    Raises:
        InvalidInput: no line begins a turn.
    """
    text = str(data)
    turns = _turns(text)
    if not turns:
        raise InvalidInput("No line begins a turn: User: ..., **Assistant:** ... or ## Human.")
    ends = [turn.start() for turn in turns[1:]] + [len(text)]
    for turn, end in zip(turns, ends, strict=False):
        content = text[turn.start("text") : end].strip()
        if content:
            yield Message(role=_ROLES[turn["role"].lower()], content=content, session=session)


def _turns(text: str) -> list[re.Match[str]]:
    """The beginnings of turns: lines in the form of the first one, outside of code."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    lines = [match for match in _TURN.finditer(text) if bisect_left(fences, match.start()) % 2 == 0]
    forms = [((match["mark"] or "")[:1], match["role"].lower() in _PARTS) for match in lines]
    return [match for match, form in zip(lines, forms, strict=True) if form == forms[0]]


_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)

# CSV

_COLUMNS: Mapping[str, str] = {
    "content": "content text message body utterance",
    "role": "role sender from author_role type",
    "name": "name speaker author user_name username",
    "sent_at": "sent_at timestamp created_at date time datetime",
    "session": "session conversation conversation_id thread thread_id chat_id session_id ticket ticket_id",
    "id": "id message_id uuid",
    "user": " ".join(USER_FIELDS),
}
"""The names by which the columns of a table of messages are known, the surest first."""


def _reader(text: str) -> csv.DictReader[str]:
    """The rows of a table, whose header shows what separates its columns."""
    text = text.lstrip("\ufeff\r\n")
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # what is too long for a message is damage of its row
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    return csv.DictReader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)


def columns(text: str) -> dict[str, str]:
    """What the columns of a table are taken for: field to column.

    Raises:
        InvalidInput: the text is no table of messages.
    """
    try:
        header = _reader(text).fieldnames or ()
    except csv.Error as error:
        raise _table_error(error) from error
    by_name = {snake_case(column): column for column in header}
    by_field = {
        field: next((by_name[n] for n in names.split() if n in by_name), "") for field, names in _COLUMNS.items()
    }
    if not by_field["content"]:
        raise InvalidInput(
            f"No column of the table holds the text of messages. Name one of {', '.join(_COLUMNS['content'].split())}."
        )
    return {field: column for field, column in by_field.items() if column}


def _table_error(error: csv.Error) -> InvalidInput:
    return InvalidInput(f"The table is no CSV: {error}.")


def rows(text: str) -> list[dict[str, object]]:
    """The rows of a table of messages in CSV with a header: its fields, its line, and its user as metadata.

    Raises:
        InvalidInput: the text is no table of messages.
    """
    by_field, reader, table_rows = columns(text), _reader(text), list[dict[str, object]]()
    user = by_field.pop("user", None)
    try:
        for row in reader:
            values = {field: row.get(column) or None for field, column in by_field.items()}
            table_rows.append(
                {**values, "line": reader.line_num, "metadata": {user: row[user]} if user and row.get(user) else {}}
            )
    except csv.Error as error:
        raise _table_error(error) from error
    return _with_times(table_rows)


_WRITTEN = re.compile(rf"\s*(?P<date>\d{{1,2}}[./-]\d{{1,2}}[./-]\d{{4}})(?:,?\s+{_TIME})?\s*", re.IGNORECASE)
"""A day and a month in either order, and a time."""


def _with_times(table_rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Rows with times such as 25.11.2024 10:15 in ISO 8601, where days above 12 show one order in the whole column."""
    matches = [_WRITTEN.fullmatch(str(row.get("sent_at"))) for row in table_rows]
    unambiguous = {orders[0] for match in matches if match and len(orders := _orders(match["date"])) == 1}
    for row, match in zip(table_rows, matches, strict=True):
        if match and len(unambiguous) == 1 and (moment := _moment(match, *unambiguous)):
            row["sent_at"] = moment.isoformat()
    return table_rows


def table(data: object, session: str | None) -> Iterator[Message | Damage]:
    """The messages of ``rows``."""

    def read(item: Fields) -> Iterator[Message]:
        line = Fields(item.values, f"line {item.values['line']}")
        role, content = line.text("role", needed=False) or "user", line.text("content", needed=False) or ""
        here, id_ = line.text("session", needed=False) or session, line.text("id", needed=False)
        if id_ and id_.isdecimal():  # of another table, or another session of this one, too
            id_ = derived_id("csv", here or "", id_, content)
        yield Message(
            role=_ROLES.get(role.lower(), role), content=content, sent_at=line.moment("sent_at"), id=id_, session=here,
            name=line.text("name", needed=False), metadata=line.inside("metadata").values,
        )  # fmt: skip

    return read_each(data, read)
