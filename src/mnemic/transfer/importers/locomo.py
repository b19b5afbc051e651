"""Conversations of the LoCoMo data set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial

from mnemic.text.english import MONTHS
from mnemic.transfer.importers.fields import Damage, Fields, read_each, read_one
from mnemic.types import Message

TURN_STEP = timedelta(seconds=1)
"""LoCoMo dates sessions, not turns: turns are one second apart to keep their order."""

_SESSION_TIME = re.compile(r"(\d{1,2}):(\d{2})\s*([ap]m)\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE)


def locomo(data: object, session: str | None) -> Iterator[Message | Damage]:
    """One conversation, or a list of them."""

    def read(item: Fields) -> Iterator[Message | Damage]:
        if "conversation" in item.values:
            return _conversation(item.inside("conversation"), item.word("sample_id"))
        return _conversation(item, item.text("sample_id", needed=False) or session or "locomo")

    return read_each(data, read)


def _conversation(talk: Fields, sample: str) -> Iterator[Message | Damage]:
    roles = {talk.word("speaker_a"): "user", talk.word("speaker_b"): "assistant"}
    suffixes = (key.removeprefix("session_") for key in talk.values if key.startswith("session_"))
    numbers = sorted(int(end) for end in suffixes if end.isdecimal())
    for number in numbers:
        read = partial(_session, f"session_{number}", sample=sample, roles=roles)
        yield from read_one(talk.values, read, talk.path)


def _session(field: str, talk: Fields, *, sample: str, roles: Mapping[str, str]) -> Iterator[Message | Damage]:
    began = _session_time(talk, f"{field}_date_time")
    for position, turn in enumerate(talk.listed(field)):
        sent_at = began + position * TURN_STEP
        read = partial(_turn, sample=sample, session=f"{sample}:{field}", sent_at=sent_at, roles=roles)
        yield from read_one(turn, read, f"{talk.path}.{field}[{position}]")


def _turn(turn: Fields, *, sample: str, session: str, sent_at: datetime, roles: Mapping[str, str]) -> Iterator[Message]:
    speaker = turn.word("speaker")
    if speaker not in roles:
        raise turn.fault("speaker", f"is {speaker!r:.60}, neither speaker_a nor speaker_b")
    caption = turn.text("blip_caption", needed=False)
    image = f" [shares an image: {caption}]" if caption else ""
    yield Message(
        role=roles[speaker], content=f"{turn.text('text')}{image}".lstrip(), name=speaker, sent_at=sent_at,
        id=f"{sample}:{turn.word('dia_id')}", session=session,
    )  # fmt: skip


def _session_time(talk: Fields, field: str) -> datetime:
    """A naive time such as ``1:56 pm on 8 May, 2023``, parsed independently of the locale."""
    text = talk.word(field)
    match = _SESSION_TIME.fullmatch(text.strip())
    hour, minute, half, day, month, year = match.groups() if match else ("",) * 6
    try:
        return datetime(  # noqa: DTZ001 - the file has no zone; that of the handle applies
            int(year),
            MONTHS.index(month.lower()) + 1,
            int(day),
            int(hour) % 12 + 12 * (half.lower() == "pm"),
            int(minute),
        )
    except ValueError as error:
        raise talk.fault(field, f'is {text!r:.60}, not a time such as "1:56 pm on 8 May, 2023"') from error
