"""Texts on their way into a prompt, out of one, and past the secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tests.contexts import parsed

from mnemic import Episode, Hit, Message, SecretPolicy
from mnemic.llm import answers
from mnemic.llm.answers import plain
from mnemic.recall.context import packing
from mnemic.text.markup import unlinked, unmarked, unvoiced, visible, without_recalled

FENCE = "5f0c1a9e77b2"
SAID = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
POLICY = SecretPolicy()
KINDS = SecretPolicy.every_kind()
_HIDDEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e0fff]"
)


def rendered(title: str, texts: Sequence[str], speaker: str, *, trust: float = 1.0) -> str:
    """A context of these texts: one fence, one item for each, and nothing of it comes back as something new."""
    hits = [
        Hit(id=str(n), kind="message", text=text, score=1.0, speaker=speaker, trust=trust)
        for n, text in enumerate(texts)
    ]
    episode = Episode(
        id="e",
        title=title,
        content=title,
        message_ids=("0",),
        started_at=SAID,
        ended_at=SAID,
        created_at=SAID,
        trust=trust,
    )
    shown = [f"{packing.heading_of(episode, FENCE)}:", *(packing.line_of(hit, FENCE) for hit in hits)]
    context = packing.Frame(1_000_000, len, FENCE).render(shown)
    assert context.count(FENCE) == 2
    assert not _HIDDEN.search(context)
    items = parsed(context, FENCE)
    assert items is not None
    assert len(items) == len(texts)
    assert {item.heading for item in items} <= {shown[0][:-1]}
    assert [f"- {item.text}" for item in items] == [_outdented(line) for line in shown[1:]]
    assert without_recalled(context, FENCE) == ""
    around = without_recalled(f"before\n{context}\nafter", FENCE)
    assert around is not None
    assert around.split() == ["before", "after"]
    return context


def _outdented(line: str) -> str:
    return line.replace("\n  ", "\n")


def prompted(texts: Sequence[str], names: Sequence[str]) -> None:
    """A prompt of messages: numbered by us alone, between tags that stand nowhere inside."""
    messages = [
        Message(role="user", content=text, name=name, sent_at=SAID) for text, name in zip(texts, names, strict=False)
    ]
    told, title = answers.transcript(messages), plain(texts[0]) if texts else ""
    assert [int(n) for n in re.findall(r"^\[(\d+)\]", told, re.MULTILINE)] == list(range(1, len(messages) + 1))
    prompt = answers.fenced(conversation=told, title=title)
    first, *_, last = prompt.split("\n")
    code = first.split()[-1][:-1]
    assert prompt.count(code) == 4
    assert first == f"<conversation {code}>"
    assert last == f"</title {code}>"
    assert answers.fenced(conversation=told, title=title) == prompt


def plain_once(text: str) -> None:
    """What makes a text harmless has nothing left to do the second time."""
    for change in (visible, unmarked, unvoiced, unlinked, lambda t: unmarked(visible(t))):
        once = change(text)
        assert change(once) == once, ascii(text)
        assert len(once) <= 2 * len(text)


def unfenced(text: str) -> None:
    """A text with pieces of fences in it."""
    rest = without_recalled(text, FENCE)
    if FENCE not in text:
        assert rest is None
    if rest is not None:
        assert len(rest) <= len(text)
        assert rest == rest.strip()


def redacted(text: str) -> tuple[str, ...]:
    """Nothing is left to redact the second time; the kinds that were found."""
    once, kinds = POLICY.redacted(text)
    again, more = POLICY.redacted(once)
    assert (again, more) == (once, ()), ascii(text)
    assert set(kinds) <= KINDS
    assert (once != text) == bool(kinds)
    assert len(once) <= 40 * len(text) + 40
    return kinds


def redacted_within(value: Any) -> None:
    """The same for JSON."""
    once, _ = POLICY.within(value)
    assert POLICY.within(once) == (once, ()), ascii(value)
