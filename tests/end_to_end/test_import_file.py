"""Importing a file from Python: what comes in, what the report says, and what happens again and in a dry run."""

import json
from datetime import UTC, datetime

import pytest

from mnemic import InvalidInput, Memory, ingest

CHAT = [
    {"role": "user", "name": "Ana", "content": "I moved to Lisbon.", "sent_at": "2026-03-09T18:05:00+00:00"},
    {"role": "assistant", "content": "How do you like the trams?"},
    {"role": "assistant", "content": [{"type": "tool_use", "name": "look"}]},
]
MEM0 = [
    {"id": "a1", "memory": "Ana has a kayak.", "user_id": "ana", "created_at": "2026-01-01T00:00:00Z"},
    {"id": "b1", "memory": "Bo drinks tea.", "user_id": "bo", "created_at": "2026-01-02T00:00:00Z"},
]


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as opened:
        yield opened


@pytest.fixture
def written(tmp_path):
    def write(content, name="chat.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def test_a_chat(memory, written):
    steps = []
    path = written(CHAT)
    report = memory.admin.import_file(path, progress=lambda done, total: steps.append((done, total)))
    assert (report.file, report.format, report.counts) == (str(path), "messages", {"message": 3})
    assert (report.stored, report.without_text, report.undated, report.left_out) == (2, 1, 2, {"tool_use": 1})
    assert (report.rejected, report.damaged, report.pending, report.dry_run) == ((), (), {"process": 2}, False)
    assert steps == [(1, 3), (2, 3), (3, 3)]
    first = memory.messages()[0]
    assert (first.name, first.session, first.sent_at) == ("Ana", "chat", datetime(2026, 3, 9, 18, 5, tzinfo=UTC))
    again = memory.admin.import_file(path)
    assert (again.stored, again.duplicate) == (0, 2)


def test_a_dry_run_expects_what_then_happens(memory, written):
    memory.admin.import_file(written(CHAT[:1]))
    path = written([*CHAT, {"role": "user", "content": "x" * 1_000_001}, CHAT[0], {"role": "user"}])
    expected = memory.admin.import_file(path, dry_run=True)
    assert len(memory.messages()) == 1
    done = memory.admin.import_file(path)
    for name in ("counts", "stored", "duplicate", "without_text", "rejected", "damaged", "undated", "left_out"):
        assert getattr(expected, name) == getattr(done, name), name
    assert len(done.rejected) == len(done.damaged) == 1
    assert (expected.dry_run, done.dry_run) == (True, False)


def test_a_secret_is_redacted_and_no_second_message_in_a_dry_run(memory, written):
    path = written([{"role": "user", "content": "My token is ghp_" + "a1B2c3D4e5F6" * 3, "id": "m1"}])
    assert memory.admin.import_file(path).stored == 1
    assert "ghp_" not in memory.messages()[0].content
    assert memory.admin.import_file(path, dry_run=True).duplicate == 1


def test_strict(memory, written):
    with pytest.raises(InvalidInput, match=r"\[1\]\.content is missing"):
        memory.admin.import_file(written([CHAT[0], {"role": "user"}]), strict=True)
    assert memory.messages() == []


def test_memories_of_this_user(memory, written):
    path = written(MEM0)
    with pytest.raises(InvalidInput, match="user_from='user_id'"):
        memory.admin.import_file(path)
    assert memory.admin.import_file(path, user_from="user_id").counts == {"memory": 1}
    assert [record.content for record in memory.list()] == ["Ana has a kayak."]
    assert memory.admin.import_file(path, user_from="none").counts == {"memory": 2}
    assert len(memory.list()) == 2
    with pytest.raises(InvalidInput, match="No record of the file has a field 'user_id'"):
        memory.admin.import_file(written(CHAT, "talk.json"), user_from="user_id")


def test_an_export(memory, written, tmp_path):
    memory.admin.import_file(written(CHAT))
    memory.admin.export(tmp_path / "ana.jsonl")
    with Memory(":memory:", user="bo", embedder="hashing") as other:
        expected = other.admin.import_file(tmp_path / "ana.jsonl", dry_run=True)
        assert other.messages() == []
        report = other.admin.import_file(tmp_path / "ana.jsonl")
        assert expected.counts == report.counts
        assert (report.format, report.stored, len(other.messages())) == ("mnemic", 2, 2)
        with pytest.raises(InvalidInput, match="has records already"):
            other.admin.import_file(tmp_path / "ana.jsonl", dry_run=True)


def test_interrupted_it_goes_on(memory, written, monkeypatch):
    path, added, calls = written([{"role": "user", "content": f"line {n}"} for n in range(150)]), ingest.add, []

    def failing(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return added(*given)

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "add", failing)
        with pytest.raises(KeyboardInterrupt):
            memory.admin.import_file(path)
    report = memory.admin.import_file(path)
    assert (report.stored, report.duplicate, len(memory.messages(limit=None))) == (86, 64, 150)


@pytest.mark.parametrize("options", [{"format": "docx"}, {}])
def test_what_cannot_be_read(memory, tmp_path, options):
    with pytest.raises(InvalidInput, match=r"format must be one of \['auto'|cannot be read"):
        memory.admin.import_file(tmp_path / "nothing.json", **options)


async def test_without_waiting(written):
    from mnemic import AsyncMemory

    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        assert (await memory.admin.import_file(written(CHAT))).stored == 2


def test_a_package_adds_a_format_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "diaries.py").write_text(
        "from mnemic import Message\n"
        "def read(path):\n"
        "    return [Message(role='user', content=line) for line in path.read_text('utf-8').splitlines()]\n"
    )
    metadata = tmp_path / "diaries-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: diaries\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mnemic.importers]\ndiary = diaries:read\n")
    monkeypatch.syspath_prepend(tmp_path)
    diary = tmp_path / "diary.txt"
    diary.write_text("I moved to Lisbon.\nThe trams are loud.\n")
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        first, second = (memory.admin.import_file(diary, format="diary") for _ in range(2))
        assert (first.format, first.stored, second.duplicate) == ("diary", 2, 2)
        assert {message.session for message in memory.messages()} == {"diary"}
        for wrong in (tmp_path / "none.txt", "-"):
            with pytest.raises(InvalidInput, match="The importer 'diary'"):
                memory.admin.import_file(wrong, format="diary")
        with pytest.raises(InvalidInput, match=r"format must be one of .*'diary'.*, not 'dairy'"):
            memory.admin.import_file(diary, format="dairy")


def test_a_newer_export_under_another_name_adds_what_is_new(memory, written):
    rows = [
        "role,content,sent_at",
        "customer,My order is late.,2026-11-02 10:00",
        "agent,It is on its way.,2026-11-02 10:20",
    ]
    assert memory.admin.import_file(written("\n".join(rows), "chat-06.csv")).stored == 2
    rows.append("customer,It arrived now.,2026-11-12 09:00")
    again = memory.admin.import_file(written("\n".join(rows), "chat-13.csv"))
    assert (again.stored, again.duplicate) == (1, 2)


def test_undated_files_of_the_same_words_are_two_chats(memory, written):
    rows = "role,content\ncustomer,Hello there.\n"
    assert [memory.admin.import_file(written(rows, f"{name}.csv")).stored for name in ("a", "b", "a")] == [1, 1, 0]
