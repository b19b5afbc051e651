"""Messages of Strands as messages of a thread. Pure: no memory is read or written here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from strands.types.content import ContentBlock, Message

from mnemic.adapters import ThreadMessage, text_of_parts


def _part(block: ContentBlock) -> Mapping[str, object]:
    """A block as a content part: of an answer with citations its words."""
    if "citationsContent" in block:
        return {
            "text": "".join(part["text"] for part in block["citationsContent"].get("content", ()) if "text" in part)
        }
    return block


def text_of(message: Message) -> str:
    """What a message says, media by reference."""
    return text_of_parts(map(_part, message["content"]))


def has_results(message: Message) -> bool:
    """Whether it gives the model the results of its tools."""
    return any("toolResult" in block for block in message["content"])


def _uses(message: Message) -> Iterator[ThreadMessage]:
    """The tools that ran, without what they answered."""
    for block in message["content"]:
        if "toolResult" in block:
            result = block["toolResult"]
            outcome = "ok" if result["status"] == "success" else "error"
            yield ThreadMessage(role="tool", text="", stored=False, call=result["toolUseId"], outcome=outcome)


def thread_messages(messages: Sequence[Message]) -> list[ThreadMessage]:
    """The evidence of messages: what the user and the agent said; and which tools ran."""
    found: list[ThreadMessage] = []
    for message in messages:
        found += _uses(message)
        text = "" if has_results(message) else text_of(message)
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        if text.strip() or uses:
            found.append(
                ThreadMessage(
                    role=message["role"], text=text, key=message.get("tracking_id"), stored=bool(text.strip()),
                    calls={use["toolUseId"]: use["name"] for use in uses},
                )
            )  # fmt: skip
    return found
