import json
from datetime import UTC, datetime

import pytest
from benchmarks import conversations

TALK = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_10_date_time": "12:05 am on 1 March, 2024",
        "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "Back from the fair."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ana", "dia_id": "D2:1", "text": "Look at him!", "blip_caption": "a dog on a beach"},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "", "blip_caption": "a cat"},
        ],
        "session_11_date_time": "1:00 pm on 2 March, 2024",
    },
    "qa": [
        {"question": "Whose dog?", "evidence": ["D2:1; D10:1", "D2:1"], "category": 1},
        {"question": "When?", "evidence": ["D10:1", "D:2:2", "D99:1"], "category": 2},
        {"question": "Nothing?", "evidence": ["D99:1"], "category": 3},
        {"question": "Nothing at all?", "evidence": [], "category": 5},
    ],
}


@pytest.fixture
def talk(tmp_path):
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([TALK]), encoding="utf-8")
    (found,) = conversations.load(file)
    return found


def test_turns_come_in_the_order_of_the_sessions_numbers(talk):
    assert [m.id for m in talk.messages] == ["talk-1:D2:1", "talk-1:D2:2", "talk-1:D10:1"]
    assert [m.session for m in talk.messages] == ["talk-1:session_2", "talk-1:session_2", "talk-1:session_10"]
    assert [(m.name, m.role) for m in talk.messages] == [("Ana", "user"), ("Ben", "assistant"), ("Ben", "assistant")]


def test_images_are_rendered_and_dates_are_utc(talk):
    assert [m.content for m in talk.messages[:2]] == [
        "Look at him! [shares an image: a dog on a beach]",
        "[shares an image: a cat]",
    ]
    assert talk.messages[0].sent_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert talk.asked_at == datetime(2024, 3, 1, 0, 5, tzinfo=UTC)


def test_evidence_is_split_checked_and_counted(talk):
    assert [(q.text, q.gold, q.category) for q in talk.questions] == [
        ("Whose dog?", ("talk-1:D2:1", "talk-1:D10:1"), 1),
        ("When?", ("talk-1:D10:1",), 2),
    ]
    assert talk.dropped_ids == ("talk-1:D:2:2", "talk-1:D99:1", "talk-1:D99:1")
    assert talk.dropped_questions == 2


def test_a_file_with_one_conversation_is_read_too(tmp_path):
    file = tmp_path / "one.json"
    file.write_text(json.dumps(TALK), encoding="utf-8")
    assert [c.name for c in conversations.load(file)] == ["talk-1"]


def test_ids_that_stand_together_are_told_apart():
    assert conversations.evidence_ids(["D8:6; D9:17", "D9:1 D4:4 D4:6", "D1:2"]) == [
        "D8:6", "D9:17", "D9:1", "D4:4", "D4:6", "D1:2",
    ]  # fmt: skip
