"""Files of conversations to messages and questions: LoCoMo's shape, or JSON lines of talk with an assistant."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mnemic import Message

__all__ = ["CATEGORIES", "Conversation", "Question", "lines", "load", "sessions"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_BETWEEN_IDS = re.compile(r"[;,\s]+")


@dataclass(frozen=True, slots=True)
class Question:
    """One question; ``gold`` names the messages that hold the evidence, each once."""

    text: str
    gold: tuple[str, ...]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of several sessions, with the questions asked about it.

    ``dropped_ids`` are evidence ids that name no turn, as they stand in the file; ``dropped_questions`` counts the
    questions that had no usable id.
    """

    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]
    dropped_ids: tuple[str, ...] = ()
    dropped_questions: int = 0

    @property
    def asked_at(self) -> datetime:
        """The date of the last session: when the questions are taken to be asked."""
        return max(m.sent_at for m in self.messages if m.sent_at)


def load(path: Path) -> list[Conversation]:
    """Read LoCoMo's shape, a list of conversations or one, or JSON lines (``.jsonl``, ``.jsonl.gz``) of talk with an assistant.

    Of the latter those questions count that are asked at the end of their conversation.
    """
    if {".jsonl", ".gz"} & set(path.suffixes):
        return [_assisted(sample) for sample in lines(path)]
    data = json.loads(path.read_text(encoding="utf-8"))
    return [_conversation(sample, number) for number, sample in enumerate(data if isinstance(data, list) else [data])]


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, gzipped or not."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def sessions(talk: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, datetime, list[Message]]]:
    """The sessions of a conversation with an assistant: name, time, and messages; ``prefix`` begins ids and names."""
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for session in talk["sessions"]:
        at = datetime.fromisoformat(session["at"]).replace(tzinfo=UTC) if session["at"] else at
        name = f"{prefix}{session['id']}"
        yield (
            str(session["id"]),
            at,
            [
                Message(role=t["role"], content=t["text"], id=f"{prefix}{t['id']}", session=name, sent_at=at)
                for t in session["turns"]
            ],
        )


def _assisted(sample: Mapping[str, Any]) -> Conversation:
    name = sample["id"]
    messages = tuple(message for _, _, turns in sessions(sample, f"{name}:") for message in turns)
    asked = [q for q in sample["questions"] if q["before"] is None]
    questions = tuple(
        Question(q["question"], tuple(f"{name}:{id_}" for id_ in q["evidence"]), 0) for q in asked if q["evidence"]
    )
    return Conversation(name, messages, questions, (), len(asked) - len(questions))


def _conversation(sample: Mapping[str, Any], number: int) -> Conversation:
    name = str(sample.get("sample_id", f"conversation-{number}"))
    messages = tuple(_messages(name, sample["conversation"]))
    known = {m.id for m in messages}
    questions: list[Question] = []
    dropped: list[str] = []
    for entry in sample.get("qa", ()):
        ids = [f"{name}:{part}" for part in evidence_ids(entry.get("evidence") or ())]
        dropped += [i for i in ids if i not in known]
        gold = tuple(dict.fromkeys(i for i in ids if i in known))
        if gold:
            questions.append(Question(str(entry["question"]), gold, int(entry["category"])))
    return Conversation(name, messages, tuple(questions), tuple(dropped), len(sample.get("qa", ())) - len(questions))


def evidence_ids(entries: Iterable[str]) -> list[str]:
    """Evidence ids one by one: some entries hold several, as in ``"D8:6; D9:17"``."""
    return [part for entry in entries for part in _BETWEEN_IDS.split(entry) if part]


def _messages(name: str, talk: Mapping[str, Any]) -> Iterable[Message]:
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        sent_at = session_date(talk[f"session_{number}_date_time"])
        for turn in talk[f"session_{number}"]:
            yield Message(
                role="user" if turn["speaker"] == talk.get("speaker_a") else "assistant",
                name=turn["speaker"],
                content=turn_text(turn),
                sent_at=sent_at,
                id=f"{name}:{turn['dia_id']}",
                session=f"{name}:session_{number}",
            )


def session_date(text: str) -> datetime:
    """The date of a session, such as ``1:56 pm on 8 May, 2023``; taken as UTC."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def turn_text(turn: Mapping[str, Any]) -> str:
    """What was said, with a shared image rendered as its caption."""
    caption = turn.get("blip_caption")
    parts: Sequence[str] = (turn.get("text") or "", f"[shares an image: {caption}]" if caption else "")
    return " ".join(part for part in parts if part)
