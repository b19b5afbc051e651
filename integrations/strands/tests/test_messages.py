"""What of a message is evidence."""

from __future__ import annotations

import pytest

from strands_mnemic.messages import thread_messages


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"text": "a"}, {"text": "b"}], "a\nb"),
        ([{"cachePoint": {"type": "default"}}, {"text": "a"}], "a"),
        ([{"document": {"name": "x"}}, {"video": {}}, {"audio": {}}], "[file: x]\n[video]\n[audio]"),
        ([{"citationsContent": {"content": [{"text": "As it "}, {"text": "says."}], "citations": []}}], "As it says."),
        ([{"reasoningContent": {"reasoningText": {"text": "hm"}}}], None),
        ([{"toolResult": {"toolUseId": "1", "status": "success", "content": [{"text": "x"}]}}, {"text": "y"}], None),
    ],
)
def test_the_text_of_a_message(content, text):
    said = [message.text for message in thread_messages([{"role": "user", "content": content}]) if message.stored]
    assert said == ([] if text is None else [text])
