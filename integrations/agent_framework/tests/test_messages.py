"""What of a message is evidence."""

from __future__ import annotations

import pytest
from agent_framework import Content, Message

from agent_framework_mnemic.messages import thread_messages

PDF = Content.from_data(b"x", "application/pdf")


@pytest.mark.parametrize(
    ("role", "contents", "text"),
    [
        ("user", ["a", "b"], "a\nb"),
        (
            "user",
            [PDF, Content.from_data(b"x", "audio/wav")],
            "[file: application/pdf, 1 kB]\n[audio: audio/wav, 1 kB]",
        ),
        (
            "user",
            [Content.from_data(b"x", "application/pdf", name="a.pdf"), Content.from_hosted_file("f1", name="b.pdf")],
            "[file: a.pdf, application/pdf, 1 kB]\n[file: b.pdf, f1]",
        ),
        ("system", ["Be brief."], None),
        ("assistant", [Content.from_text_reasoning(text="hm")], None),
        ("assistant", [Content.from_function_call("1", "look", arguments={})], None),
        ("tool", [Content.from_function_result("1", result="seen")], None),
    ],
)
def test_the_text_of_a_message(role, contents, text):
    said = [message.text for message in thread_messages([Message(role, contents)]) if message.stored]
    assert said == ([] if text is None else [text])
