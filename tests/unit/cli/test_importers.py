"""From the JSON of others to messages."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import LEFT_OUT
from mnemic.transfer.importers.files import Parsed, detect, messages_of, parse_lines


def read_messages(data, *, format=None, session=None):
    messages, damaged = messages_of(Parsed(data), format or detect(data), session)
    if damaged:
        raise InvalidInput(damaged[0].reason)
    return messages


def locomo(**changes):
    conversation = {
        "speaker_a": "Caroline",
        "speaker_b": "Melanie",
        "session_2_date_time": "12:09 am on 13 September, 2023",
        "session_2": [{"speaker": "Melanie", "dia_id": "D2:1", "text": "Second session."}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Caroline", "dia_id": "D1:1", "text": "Hi Mel!"},
            {
                "speaker": "Melanie",
                "dia_id": "D1:2",
                "text": "Look.",
                "blip_caption": "a photo of a lake",
                "img_url": [],
            },
            {"speaker": "Caroline", "dia_id": "D1:3", "text": "", "blip_caption": "a cat"},
        ],
        "session_3_date_time": "4:10 pm on 26 October, 2023",
    }
    return {"sample_id": "conv-1", "qa": [], "conversation": conversation | changes}


class TestLocomo:
    def test_every_field(self):
        messages = read_messages(locomo())
        assert [(m.id, m.role, m.name, m.session) for m in messages] == [
            ("conv-1:D1:1", "user", "Caroline", "conv-1:session_1"),
            ("conv-1:D1:2", "assistant", "Melanie", "conv-1:session_1"),
            ("conv-1:D1:3", "user", "Caroline", "conv-1:session_1"),
            ("conv-1:D2:1", "assistant", "Melanie", "conv-1:session_2"),
        ]

    def test_images_are_told(self):
        messages = read_messages(locomo())
        assert messages[1].content == "Look. [shares an image: a photo of a lake]"
        assert messages[2].content == "[shares an image: a cat]"

    def test_turns_follow_the_time_of_their_session(self):
        messages = read_messages(locomo())
        began = datetime(2023, 5, 8, 13, 56)
        assert [m.sent_at for m in messages[:3]] == [began + timedelta(seconds=i) for i in range(3)]
        assert messages[3].sent_at == datetime(2023, 9, 13, 0, 9)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("12:00 pm on 1 January, 2024", datetime(2024, 1, 1, 12)),
            ("12:30 am on 29 February, 2024", datetime(2024, 2, 29, 0, 30)),
            ("9:05 PM on 31 december 2022", datetime(2022, 12, 31, 21, 5)),
        ],
    )
    def test_session_times(self, text, expected):
        assert read_messages(locomo(session_1_date_time=text))[0].sent_at == expected

    @pytest.mark.parametrize(
        "text", ["", "tomorrow", "13:56 on 8 May, 2023", "1:56 pm on 31 June, 2023", "1:56 pm on 8 Mai, 2023"]
    )
    def test_a_time_that_is_none(self, text):
        with pytest.raises(InvalidInput, match=r"conversation\.session_1_date_time"):
            read_messages(locomo(session_1_date_time=text))

    def test_a_list_of_conversations(self):
        second = locomo() | {"sample_id": "conv-2"}
        messages = read_messages([locomo(), second])
        assert len(messages) == 8
        assert len({m.id for m in messages}) == 8

    def test_a_bare_conversation_is_named_by_the_session(self):
        messages = read_messages(locomo()["conversation"], session="file")
        assert (messages[0].id, messages[0].session) == ("file:D1:1", "file:session_1")

    def test_sessions_count_as_numbers(self):
        many = {f"session_{n}": [{"speaker": "Melanie", "dia_id": f"D{n}:1", "text": "x"}] for n in (10, 2)}
        times = {f"session_{n}_date_time": "1:56 pm on 8 May, 2023" for n in (10, 2)}
        ids = [m.id for m in read_messages(locomo(**many, **times))]
        assert ids[-2:] == ["conv-1:D2:1", "conv-1:D10:1"]

    @pytest.mark.parametrize(
        ("changes", "place"),
        [
            ({"session_1": [{"speaker": "Caroline", "dia_id": "D1:1"}]}, r"session_1\[0\]\.text is missing"),
            ({"session_1": [{"speaker": "Caroline", "text": "x"}]}, r"session_1\[0\]\.dia_id is missing"),
            ({"session_1": [{"speaker": "Zoe", "dia_id": "D1:1", "text": "x"}]}, r"session_1\[0\]\.speaker is 'Zoe'"),
            ({"session_1": ["x"]}, r"session_1\[0\] must be an object, not a string"),
            ({"session_4": []}, r"session_4_date_time is missing"),
            ({"speaker_b": 7}, r"speaker_b must be a string, not a number"),
        ],
    )
    def test_malformed(self, changes, place):
        with pytest.raises(InvalidInput, match=place):
            read_messages(locomo(**changes))

    def test_no_sample_id(self):
        with pytest.raises(InvalidInput, match=r"\[0\]\.sample_id is missing"):
            read_messages({"conversation": locomo()["conversation"]})


class TestMessages:
    def test_every_field(self):
        (message,) = read_messages(
            [
                {
                    "role": "user", "content": "Olá", "name": "Ana", "sent_at": "2026-03-09T18:05:00+01:00", "id": "m1",
                    "session": "s1", "metadata": {"channel": "phone"},
                }
            ],
            session="file",
        )  # fmt: skip
        assert (message.role, message.content, message.name, message.id) == ("user", "Olá", "Ana", "m1")
        assert message.sent_at == datetime(2026, 3, 9, 18, 5, tzinfo=timezone(timedelta(hours=1)))
        assert (message.session, message.metadata) == ("s1", {"channel": "phone"})

    def test_little_is_enough(self):
        (message,) = read_messages({"role": "user", "content": "Hi"}, session="file")
        assert (message.session, message.sent_at, message.name) == ("file", None, None)

    def test_an_object_around_the_list(self):
        assert len(read_messages({"messages": [{"role": "user", "content": "Hi"}]})) == 1

    def test_null_is_absent(self):
        values = dict.fromkeys(("name", "sent_at", "id", "session", "metadata"))
        (message,) = read_messages([{"role": "user", "content": "Hi", **values}])
        assert message.name is None
        assert message.metadata == {}

    def test_parts_that_are_not_text_are_told(self):
        parts = ["See", {"type": "text", "text": "this"}, {"type": "image_url", "image_url": {"url": "x"}}]
        (message,) = read_messages([{"role": "user", "content": parts}])
        assert message.content == "See\nthis\n[image: x]"
        assert message.metadata[LEFT_OUT] == ["image_url"]

    def test_a_call_of_a_tool_is_told(self):
        (message,) = read_messages([{"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}])
        assert message.content == ""
        assert message.metadata[LEFT_OUT] == ["tool_calls"]

    def test_a_call_of_tools_may_have_no_content_at_all(self):
        said = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "tool_calls": [{"id": "c"}]}]
        _, message = read_messages(said)
        assert (message.role, message.content, message.metadata[LEFT_OUT]) == ("assistant", "", ["tool_calls"])
        with pytest.raises(InvalidInput, match=r"\[0\]\.content is missing"):
            read_messages([{"role": "assistant", "tool_calls": []}])

    @pytest.mark.parametrize(
        ("second", "place"),
        [
            ({"content": "x"}, r"\[1\]\.role is missing"),
            ({"role": "", "content": "x"}, r"\[1\]\.role is empty"),
            ({"role": "user"}, r"\[1\]\.content is missing"),
            ({"role": "user", "content": 5}, r"\[1\]\.content must be a string or a list of parts, not a number"),
            ({"role": "user", "content": [5]}, r"\[1\]\.content\[0\] must be an object, not a number"),
            ({"role": "user", "content": [{"type": "text"}]}, r"\[1\]\.content\[0\]\.text is missing"),
            ({"role": "user", "content": "x", "sent_at": "yesterday"}, r"\[1\]\.sent_at is 'yesterday'"),
            (
                {"role": "user", "content": "x", "sent_at": True},
                r"\[1\]\.sent_at must be a datetime or a string, not a truth value",
            ),
            ({"role": "user", "content": "x", "id": 5}, r"\[1\]\.id must be a string"),
            ({"role": "user", "content": "x", "metadata": ["a"]}, r"\[1\]\.metadata must be an object, not a list"),
            ({"role": "user", "content": "x", "timestamp": "now"}, r"\[1\]\.timestamp is not known"),
            ("text", r"\[1\] must be an object, not a string"),
            (None, r"\[1\] must be an object, not null"),
            (True, r"\[1\] must be an object, not a truth value"),
        ],
    )
    def test_malformed(self, second, place):
        with pytest.raises(InvalidInput, match=place):
            read_messages([{"role": "user", "content": "fine"}, second])


class TestTimes:
    @pytest.mark.parametrize("field", ["sent_at", "created_at", "created"])
    @pytest.mark.parametrize(
        "written",
        [
            1714550400, 1714550400.0, 1714550400000, "1714550400", "1714550400000", "1714550400.000", "2024-05-01T08:00Z",
            "2024-05-01 08:00:00 UTC", "20240501T080000+0000", " 2024-05-01 09:00:00+01:00 ", "2024-05-01 08:00 gmt",
        ],
    )  # fmt: skip
    def test_as_products_write_them(self, field, written):
        (message,) = read_messages([{"role": "user", "content": "Hi", field: written}])
        assert message.sent_at == datetime(2024, 5, 1, 8, tzinfo=UTC)
        (row,) = (
            read_messages(f"text;{field};role\nHi;{written};user\n", format="csv") if field != "created" else [message]
        )
        assert row.sent_at == message.sent_at

    def test_a_date_in_digits_is_no_number_of_seconds(self):
        (message,) = read_messages([{"role": "user", "content": "Hi", "sent_at": "20240501"}])
        assert message.sent_at == datetime(2024, 5, 1)


class TestIds:
    def test_made_of_what_is_said(self):
        chat = [{"role": "user", "content": "ok"}, {"role": "user", "content": "ok"}, {"role": "user", "content": "no"}]
        first = [m.id for m in read_messages(chat, session="a")]
        assert len(set(first)) == 3
        assert [m.id for m in read_messages(chat, session="a")] == first
        assert not {m.id for m in read_messages(chat, session="b")} & set(first)

    def test_more_at_the_end_changes_none(self):
        chat = [{"role": "user", "content": "ok"}]
        longer = [*chat, {"role": "user", "content": "ok"}]
        assert read_messages(longer)[0].id == read_messages(chat)[0].id


HUMAN = {
    "type": "human",
    "data": {"content": "Hi", "type": "human", "name": "Ana", "id": "h1", "additional_kwargs": {}},
}
LC_AI = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "AIMessageChunk"],
    "kwargs": {
        "content": [{"type": "reasoning", "reasoning": "..."}, {"type": "text", "text": "Hel"}, "lo"],
        "type": "ai",
    },
}


class TestLangChain:
    def test_messages_to_dict(self):
        (message,) = read_messages([HUMAN], session="file")
        assert (message.role, message.content, message.name, message.id) == ("user", "Hi", "Ana", "h1")
        assert message.session == "file"

    def test_constructors(self):
        (message,) = read_messages([LC_AI])
        assert (message.role, message.content) == ("assistant", "Hello")
        assert message.metadata == {LEFT_OUT: ["reasoning"]}

    def test_time_and_tools(self):
        data = {
            "content": "",
            "additional_kwargs": {"sent_at": "2026-03-09T18:05:00+00:00"},
            "tool_calls": [{"name": "x"}],
        }
        (message,) = read_messages([{"type": "ai", "data": data}])
        assert message.sent_at == datetime(2026, 3, 9, 18, 5, tzinfo=UTC)
        assert message.metadata == {LEFT_OUT: ["tool_calls"]}

    @pytest.mark.parametrize(
        ("kind", "role"),
        [("human", "user"), ("ai", "assistant"), ("system", "system"), ("tool", "tool"), ("HumanMessageChunk", "user")],
    )
    def test_roles(self, kind, role):
        assert read_messages([{"type": kind, "data": {"content": "x"}}])[0].role == role

    def test_a_role_of_its_own(self):
        assert read_messages([{"type": "chat", "data": {"content": "x", "role": "critic"}}])[0].role == "critic"

    @pytest.mark.parametrize(
        ("item", "place"),
        [
            ({"type": "remove", "data": {"content": ""}}, r"\[0\]\.type is 'remove'"),
            ({"type": "human", "data": {}}, r"\[0\]\.data\.content is missing"),
            ({"type": "human", "data": None}, r"\[0\]\.data is missing"),
            ({"type": "human", "data": "x"}, r"\[0\]\.data must be an object"),
            ({"type": None, "data": {"content": "x"}}, r"\[0\]\.type is missing"),
            ({"lc": 1, "id": ["a", "PromptTemplate"], "kwargs": {"content": "x"}}, r"\[0\]\.id is 'PromptTemplate'"),
            ({"lc": 1, "id": ["a", "HumanMessage"]}, r"\[0\]\.kwargs is missing"),
            ({"type": "chat", "data": {"content": "x"}}, r"\[0\]\.data\.role is missing"),
        ],
    )
    def test_malformed(self, item, place):
        with pytest.raises(InvalidInput, match=place):
            read_messages([item])

    def test_what_the_library_writes(self):
        messages = pytest.importorskip("langchain_core.messages")
        dumpd = pytest.importorskip("langchain_core.load").dumpd
        talk = [
            messages.SystemMessage("Be kind."),
            messages.HumanMessage("Hi", id="h1", name="Ana", additional_kwargs={"sent_at": "2026-03-09T18:05:00"}),
            messages.AIMessage([{"type": "text", "text": "Hello"}], id="a1"),
            messages.ToolMessage("42", tool_call_id="c1"),
        ]
        for dump in (messages.messages_to_dict(talk), [dumpd(m) for m in talk]):
            read = read_messages(json.loads(json.dumps(dump)))
            assert [m.role for m in read] == ["system", "user", "assistant", "tool"]
            assert [m.content for m in read] == ["Be kind.", "Hi", "Hello", "42"]
            assert (read[1].id, read[1].name, read[1].sent_at) == ("h1", "Ana", datetime(2026, 3, 9, 18, 5))


class TestLlamaIndex:
    def test_blocks(self):
        blocks = [
            {"block_type": "text", "text": "Look"},
            {"block_type": "image", "url": "x"},
            {"block_type": "text", "text": "here"},
        ]
        (message,) = read_messages([{"role": "user", "blocks": blocks, "additional_kwargs": {}}], session="file")
        assert (message.role, message.content, message.session) == ("user", "Look\n[image: x]\nhere", "file")
        assert message.metadata == {LEFT_OUT: ["image"]}

    def test_what_stands_beside_a_message(self):
        extra = {"sent_at": "2026-03-09T18:05:00+00:00", "name": "Ana", "id": "x1", "tool_calls": [1]}
        (message,) = read_messages([{"role": "chatbot", "content": "Hi", "additional_kwargs": extra}])
        assert (message.role, message.name, message.id) == ("assistant", "Ana", "x1")
        assert message.sent_at == datetime(2026, 3, 9, 18, 5, tzinfo=UTC)
        assert message.metadata == {LEFT_OUT: ["tool_calls"]}

    def test_a_store_has_a_session_for_each_key(self):
        one = [{"role": "user", "blocks": [{"block_type": "text", "text": "Hi"}]}]
        messages = read_messages({"store": {"ana": one, "bea": one}, "class_name": "SimpleChatStore"})
        assert [m.session for m in messages] == ["ana", "bea"]
        assert messages[0].id != messages[1].id

    @pytest.mark.parametrize(
        ("data", "place"),
        [
            ([{"role": "user", "blocks": "x", "additional_kwargs": 5}], r"\[0\]\.additional_kwargs must be an object"),
            ([{"role": "user", "blocks": [{"block_type": "text"}]}], r"\[0\]\.blocks\[0\]\.text is missing"),
            ([{"role": "user", "additional_kwargs": {}}], r"\[0\]\.content is missing"),
            ({"store": {"ana": [{"role": 5, "blocks": []}]}}, r"store\['ana'\]\[0\]\.role must be a string"),
            ({"store": [1]}, r"store must be an object, not a list"),
        ],
    )
    def test_malformed(self, data, place):
        with pytest.raises(InvalidInput, match=place):
            read_messages(data)

    def test_what_the_library_writes(self):
        llms = pytest.importorskip("llama_index.core.llms")
        talk = [llms.ChatMessage("Hi", role="user"), llms.ChatMessage("Hello", role="assistant")]
        dumps = [m.model_dump(mode="json") for m in talk]
        for data in (dumps, {"store": {"s9": dumps}}):
            read = read_messages(data, session="s9")
            assert [(m.role, m.content, m.session) for m in read] == [
                ("user", "Hi", "s9"),
                ("assistant", "Hello", "s9"),
            ]


class TestDetection:
    @pytest.mark.parametrize(
        ("data", "name"),
        [
            (locomo(), "locomo"),
            ([locomo()], "locomo"),
            (locomo()["conversation"], "locomo"),
            ([{"role": "user", "content": "x"}], "messages"),
            ([{"role": "user"}], "messages"),
            ([], "messages"),
            ([HUMAN], "langchain"),
            ([LC_AI], "langchain"),
            ({"messages": [LC_AI]}, "langchain"),
            ([{"role": "user", "blocks": []}], "llama-index"),
            ([{"role": "user", "content": "x", "additional_kwargs": {}}], "llama-index"),
            ({"store": {}}, "llama-index"),
        ],
    )
    def test_by_shape(self, data, name):
        assert detect(data) == name

    @pytest.mark.parametrize("data", [{}, {"a": 1}, [[]], ["x"], "x", 5, None, [None]])
    def test_unknown_shapes(self, data):
        with pytest.raises(InvalidInput, match="format of the file is unknown"):
            detect(data)

    def test_nothing_is_nothing(self):
        assert read_messages([]) == []


class TestParse:
    def test_json_and_lines(self):
        assert parse_lines('[{"a": 1}]').data == [{"a": 1}]
        assert parse_lines('{"a": 1}\n\n{"a": 2}\r\n').data == [{"a": 1}, {"a": 2}]

    def test_separators_inside_strings_are_no_lines(self):
        assert parse_lines('{"a": "x\u2028y"}\n{"a": 2}').data == [{"a": "x\u2028y"}, {"a": 2}]

    @pytest.mark.parametrize("text", ["", "hello", "{", '{\n"a": 1,\n', "[" * 200_000])
    def test_neither(self, text):
        with pytest.raises(InvalidInput, match="not JSON"):
            parse_lines(text)

    def test_a_bad_line_is_named(self):
        (damage,) = parse_lines('{"a": 1}\n{"a": 2}\n{"a": \n').damaged
        assert (damage.path, damage.reason[:20]) == ("line 3", "Line 3 is not JSON: ")


class TestTurns:
    @pytest.mark.parametrize(
        ("user", "assistant"),
        [("**User:** ", "**Assistant:** "), ("## User\n", "## Assistant\n"), ("User: ", "Assistant: ")],
    )
    def test_begin_with_lines_in_the_form_of_the_first(self, user, assistant):
        other = "## System" if not user.startswith("#") else "System: note"
        answer = f"Use this form:\n\nQuestion: What is my dog called?\nAnswer: Rex\n\n{other}\nKeep it simple.\n```\n{user}inside code\n```"
        text = f"{user}How should I write it?\n\n{assistant}{answer}\n\n{user}Thanks, I live in Faro."
        messages = read_messages(text, format="transcript")
        assert [message.role for message in messages] == ["user", "assistant", "user"]
        assert messages[1].content == answer

    def test_questions_and_answers_are_turns_where_they_begin(self):
        messages = read_messages("Question: What is it?\nAnswer: A dog.\nQuestion: Whose?", format="transcript")
        assert [message.role for message in messages] == ["user", "assistant", "user"]


class TestNumberedRows:
    def test_of_two_tables_and_of_two_sessions_are_different_messages(self):
        first, second = (
            read_messages(f"id,role,content\n1,user,{text}\n2,assistant,ok", format="csv")
            for text in ("My boat is X", "My cat is Y")
        )
        assert first[0].id != second[0].id
        rows = read_messages("conversation_id,message_id,role,content\nA,1,user,hi\nB,1,user,hi", format="csv")
        assert len({row.id for row in rows}) == 2
        again = read_messages("id,role,content\n1,user,My boat is X\n2,assistant,ok", format="csv")
        assert [row.id for row in again] == [row.id for row in first]
