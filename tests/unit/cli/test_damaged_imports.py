"""Every part of every format, damaged one at a time: what is lost is that part, and the report says so."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

import pytest

from mnemic import InvalidInput, Memory
from mnemic.transfer import imports
from mnemic.transfer.importers import files

AT = 1_767_225_600.0  # 2026-01-01
ISO = "2026-01-01T00:00:0{}Z"
TIMES = {
    "create_time", "created_at", "date", "date_unixtime", "ts", "timestamp", "sent_at", "reference_time",
    "updated_at", "valid_at", "session_1_date_time", "session_2_date_time",
}  # fmt: skip


@dataclass(frozen=True)
class Export:
    """A valid export.

    Attributes:
        format: its name.
        data: each of its messages says a word such as "word3".
        depth: how many steps of a path lead to a message.
        shared: fields that all messages beside or below them need.
        free: keys that a valid export may lack, or have another value for.
        lines: whether it is written as JSON lines.
    """

    format: str
    data: object
    depth: int
    shared: frozenset[str] = frozenset()
    free: frozenset[tuple[str, str]] = frozenset()
    lines: bool = False

    def text(self, data: object) -> str:
        return "\n".join(map(json.dumps, data)) if self.lines else json.dumps(data)


def word(number):
    return f"I like word{number}."


def chatgpt(name, *numbers):
    keys = [f"{name}{number}" for number in numbers]
    nodes = {"root": {"id": "root", "message": None, "parent": None, "children": keys[:1]}}
    for at, (key, number) in enumerate(zip(keys, numbers, strict=True)):
        message = {
            "id": key, "author": {"role": "user" if at % 2 else "assistant"}, "create_time": AT + number,
            "content": {"content_type": "text", "parts": [word(number)]}, "metadata": {}, "recipient": "all",
        }  # fmt: skip
        parent, children = keys[at - 1] if at else "root", keys[at + 1 : at + 2]
        nodes[key] = {"id": key, "message": message, "parent": parent, "children": children}
    return {"title": "Trip", "conversation_id": name, "current_node": keys[-1], "mapping": nodes}


def claude(name, *numbers):
    said = [
        {"uuid": f"m{n}", "sender": "human", "text": word(n), "created_at": ISO.format(n),
         "content": [{"type": "text", "text": word(n)}], "attachments": [{"file_name": "a.txt"}]}
        for n in numbers
    ]  # fmt: skip
    return {"uuid": name, "name": "Bikes", "account": {"uuid": "ana"}, "chat_messages": said}


def telegram(name, *numbers):
    said = [
        {"id": n, "type": "message", "date": "2026-01-01T00:00:10", "date_unixtime": str(int(AT) + n), "from": "Ana",
         "text": ["I like ", {"type": "bold", "text": f"word{n}"}, "."]}
        for n in numbers
    ]  # fmt: skip
    return {"name": name, "type": "personal_chat", "id": 7, "messages": said}


def turn(number, **more):
    return {"role": "user", "content": word(number), **more}


def locomo(*numbers):
    turns = [{"speaker": "Ana", "dia_id": f"D1:{n}", "text": word(n)} for n in numbers]
    second = {
        "session_2_date_time": "2:00 pm on 9 May, 2023",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": word(9)}],
    }
    talk = {"speaker_a": "Ana", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns}
    return {"sample_id": "c", "conversation": {**talk, **second}}


def llama(number):
    return {
        "role": "user",
        "blocks": [{"block_type": "text", "text": word(number)}],
        "additional_kwargs": {"sent_at": ISO.format(number)},
    }


def letta():
    said = [
        {"type": "message", "role": "user", "content": [{"type": "text", "text": word(n)}], "created_at": ISO.format(n)}
        for n in range(3)
    ]
    blocks = [{"id": f"b{n}", "label": "human", "value": word(n), "description": ""} for n in (3, 4)]
    return {"agents": [{"name": "a", "agent_type": "letta_v1_agent", "messages": said}], "blocks": blocks}


EXPORTS = {
    "chatgpt": Export("chatgpt", [chatgpt("a", 0, 1, 2, 3), chatgpt("b", 4, 5)], 3),
    "claude": Export("claude", [claude("a", 0, 1), claude("b", 2, 3)], 3),
    "claude-code": Export("claude-code", [
        {"type": "user", "uuid": str(n), "sessionId": "s", "timestamp": ISO.format(n),
         "message": {"role": "user", "content": [{"type": "text", "text": word(n)}]}} for n in range(3)
    ], 1, lines=True),
    "codex": Export("claude-code", [{"timestamp": ISO.format(0), "type": "session_meta", "payload": {"id": "s"}}, *(
        {"timestamp": ISO.format(n), "type": "response_item",
         "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": word(n)}]}}
        for n in range(3)
    )], 1, lines=True),
    "telegram": Export("telegram", telegram("Ben", 0, 1, 2), 2),
    "telegram of all": Export("telegram", {"chats": {"list": [telegram("Ben", 0, 1), telegram("Bo", 2, 3)]}}, 5),
    "slack": Export("slack", [
        {"type": "message", "user": "U1", "text": word(n), "ts": f"{AT + n}", "user_profile": {"real_name": "Ana"}} for n in range(3)
    ], 1),
    "messages": Export("messages", [turn(n, name="Ana", sent_at=ISO.format(n), id=f"m{n}", session="s") for n in range(3)], 1),
    "messages in lines": Export("messages", [turn(n, sent_at=ISO.format(n)) for n in range(3)], 1, lines=True),
    "messages in an object": Export("messages", {"messages": [turn(n) for n in range(3)]}, 2),
    "langchain": Export("langchain", [
        {"type": "human", "data": {"content": word(n), "name": "Ana", "additional_kwargs": {"sent_at": ISO.format(n)}}}
        for n in range(3)
    ], 1),
    "llama-index": Export("llama-index", [llama(n) for n in range(3)], 1),
    "llama-index store": Export("llama-index", {"store": {"a": [llama(0), llama(1)], "b": [llama(2), llama(3)]}}, 3,
                                free=frozenset({("a", "dropped"), ("b", "dropped")})),
    "locomo": Export("locomo", locomo(0, 1, 2), 3, frozenset({"sample_id", "speaker_a", "speaker_b"}),
                     frozenset({("session_1", "dropped"), ("session_2", "dropped")})),
    "letta": Export("letta", letta(), 4, frozenset({"label", "value"}), frozenset({("agents", "dropped"), ("blocks", "dropped")})),
    "zep": Export("zep", [
        {"uuid": f"m{n}", "role": "user", "content": word(n), "name": "Ana", "created_at": ISO.format(n)} for n in range(3)
    ], 1),
    "zep facts": Export("zep", [{"uuid": f"m{n}", "fact": word(n), "created_at": ISO.format(n), "valid_at": ISO.format(n)} for n in range(3)], 1),
    "mem0": Export("mem0", {"results": [
        {"id": f"m{n}", "memory": word(n), "user_id": "ana", "created_at": ISO.format(n), "metadata": {}, "categories": ["x"]}
        for n in range(3)
    ]}, 2),
    "langgraph": Export("langgraph", [
        {"namespace": ["users", "ana"], "key": f"k{n}", "value": {"content": word(n)}, "created_at": ISO.format(n)} for n in range(3)
    ], 1, free=frozenset({("content", "of a wrong type")})),
    "memory-graph": Export("memory-graph", [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": [word(0), word(1)]},
        {"type": "entity", "name": "Bo", "entityType": "person", "observations": [word(2)]},
    ], 3, frozenset({"type", "name", "entityType"}), lines=True),
}  # fmt: skip


def steps(value: object, path: tuple = ()) -> Iterator[tuple]:
    """The paths of all values below one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inside:
        yield (*path, key)
        yield from steps(held, (*path, key))


def damages(export: Export) -> Iterator[tuple[tuple, str, object]]:
    """A copy of an export for each thing that can happen to one of its values."""
    data = export.data
    for path in steps(data):
        for what in ("dropped", "null", "of a wrong type", "no time"):
            if (path[-1], what) in export.free:
                continue
            copy = deepcopy(data)
            held = copy
            for step in path[:-1]:
                held = held[step]
            at, value = path[-1], held[path[-1]]
            if what == "dropped":
                if isinstance(held, list):
                    continue  # a list without one of its values is a valid one
                del held[at]
            elif what == "no time":
                if at not in TIMES:
                    continue
                held[at] = "soon"
            elif value is None and what == "null":
                continue
            else:
                held[at] = None if what == "null" else True if isinstance(value, (int, float)) or at in TIMES else 42
            yield path, what, copy


def words(reading):
    """What is known of each message or memory, by its word."""
    said = {one.content: (one.role, one.name, one.sent_at, one.session) for one in reading.messages}
    known = said | {one.content: (one.changed, one.tags) for one in reading.memories}
    return {found[0]: told for content, told in known.items() if (found := re.search(r"word\d", content))}


def may_be_lost(export, path):
    """The texts of the messages that a damaged path holds, is in, or is needed by."""
    shared = next((at for at, step in enumerate(path) if step in export.shared), None)
    place = path[: export.depth] if shared is None else path[:shared]
    found = [(where, one) for where in steps(export.data) if isinstance(one := value_at(export.data, where), str)]
    if str(path[-1]).endswith("_date_time"):
        place = (*path[:-1], path[-1].removesuffix("_date_time"))
    return " ".join(text for where, text in found if where[: len(place)] == place)


def value_at(data, path):
    for step in path:
        data = data[step]
    return data


@pytest.mark.parametrize("name", EXPORTS)
def test_of_a_damaged_part_the_rest_is_read_and_the_part_is_named(name, tmp_path):
    export, file = EXPORTS[name], tmp_path / "export.json"
    file.write_text(export.text(export.data))
    whole = imports.read(file)
    known = words(whole)
    assert (whole.format, [*whole.damaged]) == (export.format, [])
    wrong = []
    for path, what, data in damages(export):
        file.write_text(export.text(data))
        try:
            reading = imports.read(file)
        except InvalidInput as error:
            reading = imports.Reading(str(file), export.format, damaged=[files.Damage("", str(error))])
        kept = words(reading)
        lost = known.keys() - kept.keys()
        reach = may_be_lost(export, path)
        others = [one for one in lost if one not in reach]
        without_text = any(not one.content.strip() for one in reading.messages)
        changed = any(kept[one] != known[one] for one in kept if one in known) and what in (
            "of a wrong type",
            "no time",
        )
        reasons = [one.reason for one in reading.damaged]
        told = any(step_named(export, path) in reason for reason in reasons) or without_text or not kept
        if others or not (told or not (lost or changed)) or len(reasons) > max(1, len(lost)):
            wrong.append((path, what, sorted(others), sorted(lost), reasons))
        if reasons:
            with pytest.raises(InvalidInput, match=r"export\.json: .* Nothing was imported; correct the file or"):
                imports.read(file, strict=True)
    assert not wrong, "\n".join(map(str, wrong))


def step_named(export, path):
    """How an error names the message that a path leads to, or what it leads to above one."""
    place = path[: export.depth]
    if export.format == "letta" and len(place) > 1:
        return "["  # blocks and messages are numbered together
    if export.lines and len(place) == 1:
        return f"line {place[0] + 1}"
    return f"[{place[-1]}]" if isinstance(place[-1], int) else place[-1]


def test_one_message_of_a_thousand_is_lost_and_named(tmp_path):
    chats = [chatgpt(f"c{chat}-", *range(20)) for chat in range(50)]
    chats[7]["mapping"]["c7-3"]["message"]["create_time"] = "soon"
    chats[8]["mapping"]["c8-4"] = None
    chats[9]["mapping"] = None
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(chats))
    with Memory(":memory:", embedder="hashing") as memory:
        with pytest.raises(
            InvalidInput, match=r"conversations\.json: \[7\]\.mapping\.c7-3\.message\.create_time is 'soon'"
        ):
            memory.admin.import_file(file, strict=True)
        assert memory.messages(reach="user") == []
        report = memory.admin.import_file(file)
        assert report.stored == 50 * 20 - 1 - 1 - 20
        assert [reason.partition(" ")[0] for reason in report.damaged] == [
            "[7].mapping.c7-3.message.create_time", "[8].mapping.c8-4", "[9].mapping",
        ]  # fmt: skip


def test_a_line_of_a_chat_with_no_date_or_time(tmp_path):
    file = tmp_path / "chat.txt"
    days = ["31/08/2026, 21:03", "45/99/2026, 21:04", "31/08/2026, 25:05", "01/09/2026, 09:05"]
    file.write_text("".join(f"{day} - Ana: {word(at)}\n" for at, day in enumerate(days)))
    reading = imports.read(file)
    assert [one.content for one in reading.messages] == [word(0), word(3)]
    assert [one.reason for one in reading.damaged] == [
        f"The message of {day} was not imported: there is no such day/month/year and time." for day in days[1:3]
    ]


def test_a_file_of_a_folder_that_cannot_be_read(tmp_path):
    place = tmp_path / "slack"
    (place / "general").mkdir(parents=True)
    said = [{"type": "message", "user": "U1", "text": word(0), "ts": f"{AT}"}]
    (place / "users.json").write_text(json.dumps([{"id": "U1", "name": "ana"}, {"id": 3, "name": "bo"}]))
    for name, text in (("2026-01-01", "[{"), ("2026-01-02", json.dumps(said))):
        (place / "general" / f"{name}.json").write_text(text)
    reading = imports.read(place)
    assert [(one.name, one.content) for one in reading.messages] == [("ana", word(0))]
    assert [one.reason.partition(" ")[0] for one in reading.damaged] == ["general/2026-01-01.json", "users.json[1].id"]
    with pytest.raises(InvalidInput, match=r"general/2026-01-01\.json cannot be read"):
        imports.read(place, strict=True)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["25.11.2024", "02.12.2024 10:15"], ["2024-11-25T00:00:00", "2024-12-02T10:15:00"]),
        (["11/25/2024", "12/02/2024, 1:15 pm"], ["2024-11-25T00:00:00", "2024-12-02T13:15:00"]),
        (["25/11/2024", "soon", "2024-12-02"], ["2024-11-25T00:00:00", "2024-12-02T00:00:00"]),
        (["01/02/2024", "02/02/2024"], []),  # either order
        (["25/11/2024", "11/25/2024"], []),  # both orders
    ],
)
def test_dates_of_a_table_are_read_where_the_column_shows_their_order(tmp_path, written, read):
    file = tmp_path / "table.csv"
    file.write_text("text;date\n" + "".join(f"I bake.;{date}\n" for date in written))
    if not read:
        with pytest.raises(InvalidInput, match=r"line 2\.sent_at is"):
            imports.read(file)
        return
    reading = imports.read(file)
    assert [one.sent_at.isoformat() for one in reading.messages] == read
    assert len(reading.damaged) == len(written) - len(read)
