"""Memories of mem0 and of LangGraph stores: what they become, whose they are, and that nothing is lost in silence."""

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from mnemic import InvalidInput, Memory
from mnemic.knowledge import remember
from mnemic.transfer import imports

KAYAK = {
    "id": "a1", "memory": "Ana owns a red kayak.", "hash": "h1", "user_id": "ana", "agent_id": "guide", "run_id": None,
    "metadata": {"place": "Lisbon"}, "categories": ["sports"], "created_at": "2026-01-01T10:00:00-07:00",
    "updated_at": "2026-01-03T10:00:00-07:00",
}  # fmt: skip
TEA = {"id": "b1", "memory": "Bo likes green tea.", "user_id": "bo", "created_at": "2026-02-01T08:00:00Z"}


def item(key="k1", value=None, namespace=("users", "ana"), **more):
    held = {"content": "Ana owns a red kayak."} if value is None else value
    return {
        "namespace": [*namespace], "key": key, "value": held, "created_at": "2026-01-01T10:00:00+00:00",
        "updated_at": "2026-01-03T10:00:00+00:00", **more,
    }  # fmt: skip


def listed(folder, user="default", **options):
    with Memory(folder, user=user, embedder="hashing") as memory:
        assert memory.admin.verify().ok
        return {record.id: record for record in memory.list(include_expired=True, limit=None, reach="user", **options)}


class TestMem0:
    def test_every_field(self, mnemic, write, folder):
        run = mnemic("import", write({"results": [{**KAYAK, "score": 0.3, "expiration_date": "2026-12-31"}]}))
        assert (run.code, run.err) == (0, "")
        assert (run.rows["format"], run.rows["counts"], run.rows["stored"]) == ("mem0", "memory 1", "1")
        (record,) = listed(folder).values()
        assert (record.id, record.content, record.tags) == ("mem0:a1", "Ana owns a red kayak.", ("sports",))
        assert record.metadata == {"place": "Lisbon", "hash": "h1", "user_id": "ana", "agent_id": "guide"}
        assert record.created_at.isoformat() == "2026-01-01T10:00:00-07:00"
        times = (record.updated_at, record.said_at, record.valid_at)
        assert [time.isoformat() for time in times] == ["2026-01-03T10:00:00-07:00"] * 3
        assert record.delete_after == datetime(2027, 1, 1, tzinfo=UTC)
        assert (record.source, record.trust) == ("model_inference", 0.7)

    @pytest.mark.parametrize(
        "shape",
        [
            lambda some: some, lambda some: {"results": some}, lambda some: {"memories": some, "count": 2, "next": None},
            lambda some: "\n".join(map(json.dumps, some)),
            lambda some: [{"id": s["id"], "payload": {**s, "id": None, "data": s["memory"], "memory": None}} for s in some],
            lambda some: {"result": {"points": [{"id": s["id"], "payload": {"data": s["memory"], "user_id": s["user_id"]}} for s in some]}},
        ],
        ids=["list", "get_all", "page", "lines", "points", "scroll"],
    )  # fmt: skip
    def test_every_shape(self, mnemic, write, folder, shape):
        run = mnemic("import", write(shape([KAYAK, TEA])), "--user-from", "user_id")
        assert (run.code, run.err) == (0, "")
        assert "  ana: 1 memory\n  bo: 1 memory\n" in run.out
        assert [record.content for record in listed(folder, "ana").values()] == ["Ana owns a red kayak."]
        assert [*listed(folder, "bo")] == ["mem0:b1"]
        assert "user_id" not in listed(folder, "bo")["mem0:b1"].metadata
        assert listed(folder) == {}

    def test_twice_is_once(self, mnemic, write, folder):
        path = write([KAYAK, TEA])
        mnemic("import", path, "--user-from", "user_id")
        before = listed(folder, "ana")
        again = mnemic("import", path, "--user-from", "user_id", "--json").json
        assert (again["stored"], again["duplicate"]) == (0, 2)
        assert listed(folder, "ana") == before

    def test_one_said_again_is_kept_once_and_ends_no_other(self, mnemic, write, folder):
        ports = [
            {"id": id_, "memory": f"The API runs on port {port}.", "created_at": f"2026-0{month}-01T00:00:00Z"}
            for id_, port, month in (("p4", 8080, 6), ("p3", 9000, 5), ("p2", 8080, 2), ("p1", 8080, 1))
        ]
        first = mnemic("import", write(ports), "--json").json
        assert (first["stored"], first["duplicate"]) == (2, 2)
        held = listed(folder)
        assert {id_: (record.expired_at, record.invalid_at) for id_, record in held.items()} == {
            "mem0:p1": (None, None), "mem0:p3": (None, None),
        }  # fmt: skip
        again = mnemic("import", write(ports), "--json").json
        assert (again["stored"], again["duplicate"]) == (0, 4)
        assert listed(folder).keys() == held.keys()

    def test_what_was_forgotten_stays_forgotten(self, mnemic, write, folder):
        mnemic("import", write([KAYAK]))
        mnemic("forget", "--id", "mem0:a1")
        for again in ([KAYAK], [{**KAYAK, "id": "other"}]):
            assert mnemic("import", write(again), "--json").json["stored"] == 0
        assert listed(folder) == {}

    def test_whose_they_are_must_be_said(self, mnemic, write, folder):
        run = mnemic("import", write([KAYAK, TEA]))
        assert run.code == 2
        assert "2 users (ana, bo)" in run.err
        assert "--user-from user_id" in run.err
        assert not folder.exists()
        assert mnemic("import", write([KAYAK, TEA]), "--user-from", "none", "--user", "eve").code == 0
        assert len(listed(folder, "eve")) == 2

    def test_only_one_of_them(self, mnemic, write, folder):
        run = mnemic("import", write([KAYAK, TEA]), "--user-from", "user_id", "--only", "bo")
        assert run.code == 0
        assert "1 of other users left out" in run.out
        assert [*listed(folder, "bo")] == ["mem0:b1"]
        assert listed(folder, "ana") == {}
        assert mnemic("import", write([KAYAK]), "--only", "ana").code == 2

    def test_by_another_field_and_in_a_project(self, mnemic, write, folder):
        run = mnemic("import", write([KAYAK, TEA]), "--user-from", "agent_id", "--project", "atlas")
        assert run.code == 1
        assert "[1] has no agent_id: its user is unknown." in run.out
        (record,) = listed(folder, "guide").values()
        assert (record.project, record.metadata["user_id"]) == ("atlas", "ana")

    @pytest.mark.parametrize(
        ("changes", "what"),
        [
            ({"memory": 5}, "[1].memory must be a string, not a number."),
            ({"memory": " "}, "[1].memory is empty"),
            ({"memory": None}, "[1].memory is missing."),
            ({"memory": "x" * 1_000_001}, "1,000,001 characters"),
            ({"id": None}, "[1].id is missing."),
            ({"created_at": "never"}, "[1].created_at is 'never'"),
            ({"created_at": 1e99}, "[1].created_at is 1e+99"),
            ({"categories": "sports"}, "[1].categories must be a list of strings."),
            ({"metadata": []}, "[1].metadata must be an object"),
            ({"metadata": {"n": float("nan")}}, "its metadata cannot be kept"),
            ({"user_id": "x" * 2000}, "[1].user_id 'xxx"),
        ],
    )
    def test_damaged_items_are_named_and_the_others_stored(self, mnemic, write, folder, changes, what):
        run = mnemic("import", write([TEA, {**KAYAK, **changes}]), "--user-from", "user_id")
        assert run.code == 1
        assert what in run.out
        assert (run.rows["counts"], run.rows["stored"], run.out.count("not imported: ")) == ("memory 1", "1", 1)
        assert [*listed(folder, "bo")] == ["mem0:b1"]

    def test_damaged_lines_are_named_by_their_number(self, mnemic, write, folder):
        lines = [json.dumps(KAYAK), '{"id": "cut', "", json.dumps({**TEA, "memory": None}), json.dumps(TEA)]
        run = mnemic("import", write("\n".join(lines)), "--user-from", "user_id", "--json")
        assert run.code == 1
        assert run.json["damaged"][0].startswith("Line 2 is not JSON")
        assert run.json["damaged"][1] == "line 4.memory is missing."
        assert run.json["stored"] == 2

    def test_pages_relations_and_histories_are_told(self, mnemic, write):
        page = {"results": [TEA], "count": 300, "next": "page 2", "relations": [{"source": "bo"}]}
        run = mnemic("import", write(page))
        assert run.code == 1
        assert "one page of 300 memories" in run.out
        assert "1 relations of mem0's graph are not imported" in run.out
        row = {"id": 1, "memory_id": "a1", "old_memory": None, "new_memory": "x", "event": "ADD"}
        assert "a row of mem0's history" in mnemic("import", write([row])).out

    def test_what_was_imported_goes_out_and_in_unchanged(self, mnemic, write, tmp_path):
        until = {**KAYAK, "id": "a2", "memory": "Ana sells her red kayak.", "expiration_date": "2026-12-31"}
        mnemic("import", write([KAYAK, until]), "--user", "ana")
        mnemic("export", tmp_path / "one.jsonl", "--user", "ana")
        assert mnemic("import", tmp_path / "one.jsonl", "--user", "eve").code == 0
        mnemic("export", tmp_path / "two.jsonl", "--user", "eve")
        assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
        assert mnemic("import", write([KAYAK, until]), "--user", "eve", "--json").json["stored"] == 0

    def test_secrets_do_not_come_in(self, mnemic, write, folder):
        key = "sk-" + "ant-api03-" + "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lz" * 3
        some = [{"id": "k", "memory": f"The key is {key} for now.", "metadata": {"key": key}}]
        run = mnemic("import", write(some))
        assert (run.code, run.rows["stored"]) == (0, "1")
        (record,) = listed(folder).values()
        assert key not in record.content + str(record.metadata)
        assert all(key.encode() not in path.read_bytes() for path in folder.iterdir() if path.is_file())
        assert mnemic("import", write(some), "--json").json["duplicate"] == 1

    def test_a_name_of_both_is_kept_twice(self, mnemic, write, folder):
        mnemic("import", write([{**KAYAK, "id": 7, "metadata": {"hash": "mine", "text": "lone \ud800"}}]))
        record = listed(folder)["mem0:7"]
        assert record.metadata["hash"] == "mine"
        assert record.metadata["mem0_hash"] == "h1"
        assert record.metadata["text"] == "lone \ufffd"

    def test_no_time_and_numbers_for_times(self, mnemic, write, folder):
        some = [{"id": "x", "memory": "No time."}, {"id": "y", "memory": "Seconds.", "created_at": 1_767_225_600},
                {"id": "z", "memory": "Milliseconds.", "created_at": 1_767_225_600_000}]  # fmt: skip
        assert mnemic("import", write(some)).rows["undated"] == "1"
        held = listed(folder)
        assert held["mem0:y"].created_at == held["mem0:z"].created_at == datetime(2026, 1, 1, tzinfo=UTC)

    def test_times_without_a_zone(self, mnemic, write, folder):
        naive = {**TEA, "created_at": "2026-03-01 18:00:00"}
        mnemic("import", write([naive]), "--timezone", "Asia/Tokyo")
        assert listed(folder)["mem0:b1"].created_at.isoformat() == "2026-03-01T18:00:00+09:00"


class TestLangGraph:
    def test_every_field(self, mnemic, write, folder):
        value = {"kind": "Memory", "content": {"content": "Ana owns a red kayak.", "context": "holidays"}}
        run = mnemic("import", write([item("k1", value, score=None, expires_at="2026-12-31T00:00:00+00:00")]))
        assert (run.code, run.err) == (0, "")
        record = listed(folder)["langgraph:users.ana.k1"]
        assert (record.content, record.type, record.category) == ("Ana owns a red kayak.", "semantic", None)
        assert record.metadata == {"context": "holidays", "namespace": ["users", "ana"]}
        assert [t.isoformat() for t in (record.created_at, record.updated_at)] == [
            "2026-01-01T10:00:00+00:00", "2026-01-03T10:00:00+00:00",
        ]  # fmt: skip
        assert record.delete_after == datetime(2026, 12, 31, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("value", "text", "more"),
        [
            ({"content": "plain"}, "plain", {}),
            ({"text": "of a program", "rank": 2}, "of a program", {"rank": 2}),
            ({"kind": "Memory", "content": "bare"}, "bare", {}),
            ({"kind": "Memory", "content": ["a", 1]}, '["a", 1]', {}),
            (
                {"kind": "UserProfile", "content": {"name": "Ana", "tongues": ["pt", "en"], "age": 41, "nick": None}},
                "name: Ana\ntongues: pt, en\nage: 41",
                {"value": {"name": "Ana", "tongues": ["pt", "en"], "age": 41, "nick": None}},
            ),
            (
                {"kind": "Triple", "content": {"subject": "Ana", "predicate": "lives in", "object": "Lisbon", "context": None}},
                "Ana lives in Lisbon",
                {"subject": "Ana", "predicate": "lives in", "object": "Lisbon"},
            ),
        ],
    )  # fmt: skip
    def test_what_values_say(self, mnemic, write, folder, value, text, more):
        assert mnemic("import", write([item("k", value)])).code == 0
        (record,) = listed(folder).values()
        assert record.content == text
        assert record.metadata == {**more, "namespace": ["users", "ana"]}

    def test_kinds(self, mnemic, write, folder):
        episode = {"kind": "Episode", "content": {"observation": "It rained.", "action": "Took the tram."}}
        mnemic("import", write([item("k", episode)]))
        (record,) = listed(folder).values()
        assert (record.type, record.category) == ("episodic", "Episode")

    def test_rows_of_its_tables(self, mnemic, write, folder):
        row = {
            "prefix": "users.ana",
            "key": "k",
            "value": '{"text": "Ana owns a kayak."}',
            "created_at": "2026-01-01 10:00:00",
        }
        assert mnemic("import", write([row])).code == 0
        assert listed(folder)["langgraph:users.ana.k"].content == "Ana owns a kayak."

    def test_users_are_labels_of_the_namespace(self, mnemic, write, folder):
        some = [item(namespace=("memories", name), value={"text": f"{name} sings"}) for name in ("ana", "bo")]
        run = mnemic("import", write({"items": some}))
        assert run.code == 2
        assert "2 namespaces (memories.ana, memories.bo)" in run.err
        assert "--user-from namespace.1" in run.err
        assert mnemic("import", write(some), "--user-from", "namespace.1").code == 0
        assert [record.content for record in listed(folder, "bo").values()] == ["bo sings"]
        again = mnemic("import", write(some), "--user-from", "namespace.1", "--json").json
        assert (again["stored"], again["duplicate"], again["damaged"]) == (0, 2, [])

    @pytest.mark.parametrize(
        ("changes", "what"),
        [
            ({"namespace": "users"}, None),
            ({"namespace": 5}, "[0].namespace must be a list of strings, not a number."),
            ({"namespace": [5]}, "[0].namespace must be a list of strings, not a list."),
            ({"key": ""}, "[0].key is empty."),
            ({"value": "{"}, "[0].value is not JSON"),
            ({"value": 5}, "[0].value must be an object, not a number."),
            ({"value": {}}, "[0].value is empty"),
            ({"created_at": "x"}, "[0].created_at is 'x'"),
        ],
    )
    def test_damaged_items(self, mnemic, write, changes, what):
        run = mnemic("import", write([{**item(), **changes}]), "--format", "langgraph")
        assert run.code == (0 if what is None else 1)
        assert what is None or what in run.out

    def test_a_very_long_key(self, mnemic, write, folder):
        assert mnemic("import", write([item("k" * 2000)])).code == 0
        (id_,) = listed(folder)
        assert len(id_) < 100
        assert mnemic("import", write([item("k" * 2000)]), "--json").json["stored"] == 0

    async def test_what_a_store_gives(self, mnemic, write, folder):
        memory = pytest.importorskip("langgraph.store.memory")
        store = memory.InMemoryStore()
        store.put(("users", "ana"), "k1", {"kind": "Memory", "content": {"content": "Ana owns a red kayak."}})
        dump = [found.dict() for found in store.search((), limit=1000)]
        assert mnemic("import", write(dump)).code == 0
        assert [record.content for record in listed(folder).values()] == ["Ana owns a red kayak."]


class TestRehearsal:
    def test_memories(self, mnemic, write, folder):
        path = write([KAYAK, TEA, {**KAYAK, "id": "a2"}])
        run = mnemic("import", path, "--user-from", "user_id", "--dry-run")
        assert run.code == 0
        assert (run.rows["counts"], run.rows["stored"], run.rows["duplicate"]) == ("memory 3", "2", "1")
        assert (run.rows["dry run"], run.err) == ("yes", "")
        assert run.out.endswith("nothing was stored: this is what would be.\n")
        assert not folder.exists()
        mnemic("import", path, "--user-from", "user_id", "--only", "bo")
        answer = mnemic("import", path, "--user-from", "user_id", "--dry-run", "--json").json
        assert (answer["stored"], answer["duplicate"], answer["dry_run"]) == (1, 2, True)
        assert listed(folder, "ana") == {}

    def test_messages(self, chat, mnemic, write, folder):
        run = mnemic("import", write(chat), "--dry-run")
        assert (run.code, folder.exists()) == (0, False)
        assert (run.rows["counts"], run.rows["stored"]) == ("message 3", "3")
        assert run.rows["dry run"] == "yes"
        mnemic("import", write(chat[:2]))
        more = [*chat, {**chat[0], "content": "Something else."}, {**chat[1], "id": "m9", "content": " "}]
        run = mnemic("import", write(more), "--dry-run", "--json")
        counts = {name: run.json[name] for name in ("stored", "duplicate", "without_text")}
        assert counts == {"stored": 1, "duplicate": 2, "without_text": 1}
        assert [rejected["id"] for rejected in run.json["rejected"]] == ["m1"]
        assert run.code == 1
        done = mnemic("import", write(more), "--json")
        assert {name: done.json[name] for name in counts} == counts

    def test_an_export(self, filled, tmp_path):
        filled("export", tmp_path / "all.jsonl")
        run = filled("import", tmp_path / "all.jsonl", "--user", "bob", "--dry-run")
        assert run.code == 0
        assert "\n  bob: 3 messages, 0 episodes, 0 memories, 0 links\n" in run.out
        assert (run.err, run.out.splitlines()[-1]) == ("", "nothing was stored: this is what would be.")
        answer = filled("import", tmp_path / "all.jsonl", "--user", "bob", "--dry-run", "--json").json
        assert (answer["counts"]["message"], answer["dry_run"]) == (3, True)
        assert filled("stats", "--user", "bob", "--json").json["messages"] == 0
        cut = (tmp_path / "all.jsonl").read_text("utf-8").splitlines()[:-1]
        (tmp_path / "cut.jsonl").write_text("\n".join(cut), encoding="utf-8")
        assert "truncated or changed" in filled("import", tmp_path / "cut.jsonl", "--user", "bob", "--dry-run").err


TURNS = {"ana": "I bake.", "bo": "I sail."}
LINES = [{"role": "user", "content": text} for text in TURNS.values()]
CLAUDE = [
    {"uuid": name, "account": {"uuid": name}, "chat_messages": [{"uuid": name, "sender": "human", "text": text}]}
    for name, text in TURNS.items()
]
OF_SEVERAL = {
    "user_id": [{**line, "user_id": name} for name, line in zip(TURNS, LINES, strict=True)],
    "userId": "userId;role;text\n" + "\n".join(f"{name};user;{text}" for name, text in TURNS.items()),
    "User": "User,role,text\n" + "\n".join(f"{name},user,{text}" for name, text in TURNS.items()),
    "customer_id": [{**line, "metadata": {"customer_id": n}} for n, line in zip(TURNS, LINES, strict=True)],
    "userid": [{"type": "human", "data": {"content": t, "additional_kwargs": {"userid": n}}} for n, t in TURNS.items()],
    "user": [{**line, "additional_kwargs": {"user": n}} for n, line in zip(TURNS, LINES, strict=True)],
    "chat_store_key": {"store": {name: [line] for name, line in zip(TURNS, LINES, strict=True)}},
    "account_uuid": CLAUDE,
    "group_id": [{"uuid": name, "fact": text, "group_id": name} for name, text in TURNS.items()],
}


class TestWhose:
    @pytest.mark.parametrize("field", OF_SEVERAL)
    def test_records_of_several_users_never_become_those_of_one_unasked(self, mnemic, write, folder, field):
        path = write(OF_SEVERAL[field])
        run = mnemic("import", path)
        assert (run.code, folder.exists()) == (2, False)
        assert "(ana, bo)" in run.err
        assert f"--user-from {field}, or --user-from none" in run.err
        assert mnemic("import", path, "--user-from", field, "--only", "bo").code == 0
        assert mnemic("import", path, "--user-from", field).code == 0
        for name, text in TURNS.items():
            with Memory(folder, user=name, embedder="hashing") as memory:
                held = [*memory.messages(reach="user"), *memory.list()]
                assert [(one.content, field in one.metadata) for one in held] == [(text, False)]
        assert mnemic("import", path, "--user-from", "none", "--user", "eve", "--json").json["stored"] == 2
        again = mnemic("import", path, "--user-from", field, "--json").json
        assert (again["stored"], again["duplicate"]) == (0, 2)

    @pytest.mark.parametrize("field", OF_SEVERAL)
    def test_of_this_user_in_python(self, write, field):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            with pytest.raises(InvalidInput, match=f"user_from='{field}'"):
                memory.admin.import_file(write(OF_SEVERAL[field]))
            report = memory.admin.import_file(write(OF_SEVERAL[field]), user_from=field)
            assert (report.stored, report.remarks[-1]) == (1, "1 of other users left out")

    def test_the_keys_of_a_chat_store_may_be_sessions(self, mnemic, write, folder):
        run = mnemic("import", write(OF_SEVERAL["chat_store_key"]))
        assert "2 keys of a chat store, which may be users or sessions" in run.err
        mnemic("import", write(OF_SEVERAL["chat_store_key"]), "--user-from", "none")
        with Memory(folder, embedder="hashing") as memory:
            assert {m.session for m in memory.messages(reach="user")} == {"ana", "bo"}
        assert mnemic("import", write({"store": {"ana": LINES}}), "--user", "eve").code == 0

    def test_the_same_words_of_two_users_are_two_messages(self, mnemic, write):
        same = [{"role": "user", "content": "ok", "user_id": name} for name in ("ana", "bo", "ana")]
        path = write(same)
        assert mnemic("import", path, "--user-from", "none", "--json").json["stored"] == 3
        mnemic("import", write(same[1:2], "bo.json"), "--user-from", "user_id", "--session", "chat")
        assert mnemic("import", path, "--user-from", "user_id", "--json").json["duplicate"] == 1

    def test_a_user_may_be_named_in_several_ways(self, mnemic, write):
        path = write([{**LINES[0], "user_id": "ana"}, {**LINES[1], "userId": "bo"}])
        assert "2 users (ana, bo)" in mnemic("import", path).err
        assert "message 2 has no user_id" in mnemic("import", path, "--user-from", "user_id").out

    def test_a_message_without_its_user_is_named(self, mnemic, write):
        run = mnemic("import", write([*OF_SEVERAL["user_id"], LINES[0]]), "--user-from", "user_id")
        assert run.code == 1
        assert "message 3 has no user_id: its user is unknown." in run.out
        run = mnemic("import", write(LINES), "--only", "ana")
        assert (run.code, "Give both" in run.err) == (2, True)


def braga(before, text="Ana lives in Braga.", at="2026-05-01T00:00:00Z"):
    """The memory of a product after its text was changed there."""
    if "memory" in before:
        return {**before, "memory": text, "updated_at": at}
    if "namespace" in before:
        return {**before, "value": {"content": text}, "updated_at": at}
    return {**before, "fact": text, "valid_at": at}


PORTO = {
    "mem0": {"id": "1", "memory": "Ana lives in Porto.", "created_at": "2026-01-01T00:00:00Z"},
    "langgraph": item(value={"content": "Ana lives in Porto."}),
    "zep": {"uuid": "1", "fact": "Ana lives in Porto.", "created_at": "2026-01-01T00:00:00Z"},
}


class TestChangedSince:
    """What was changed in the old system between two imports."""

    @pytest.mark.parametrize("product", PORTO)
    def test_a_changed_text_is_the_next_version(self, mnemic, write, folder, product):
        before = PORTO[product]
        mnemic("import", write([before]))
        mnemic("process")
        after = write([braga(before)])
        for run in (mnemic("import", after, "--dry-run", "--json"), mnemic("import", after, "--json")):
            assert (run.code, run.json["stored"], run.json["duplicate"]) == (0, 1, 0)
        assert [record.content for record in listed(folder).values()] == ["Ana lives in Braga."]
        for older in (after, write([before], "before.json")):
            assert mnemic("import", older, "--json").json["duplicate"] == 1
        (record,) = listed(folder).values()
        assert record.valid_at == record.said_at == datetime(2026, 5, 1, tzinfo=UTC)
        with Memory(folder, embedder="hashing") as memory:
            assert "Ana lives in Porto." in [event.content for event in memory.history(record.id)]

    @pytest.mark.parametrize("product", PORTO)
    @pytest.mark.parametrize("at", [None, "2025-01-01T00:00:00Z"])
    def test_a_text_that_is_not_later_is_rejected_with_the_reason(self, mnemic, write, folder, product, at):
        mnemic("import", write([PORTO[product]]))
        after = {**braga(PORTO[product], at=at), "created_at": at}
        for options in (["--dry-run"], []):
            run = mnemic("import", write([after]), *options, "--json")
            assert (run.code, run.json["duplicate"]) == (1, 0)
            assert "does not say that its own is later" in run.json["rejected"][0]["reason"]
        assert [record.content for record in listed(folder).values()] == ["Ana lives in Porto."]

    def test_an_edit_here_stands_until_a_later_one_there(self, mnemic, write, folder):
        before = write([PORTO["mem0"]])
        mnemic("import", before)
        with Memory(folder, embedder="hashing") as memory:
            memory.update("mem0:1", content="Ana lives in Faro.")
        assert mnemic("import", before, "--json").json["duplicate"] == 1
        assert mnemic("import", write([braga(PORTO["mem0"])]), "--json").code == 1
        assert [record.content for record in listed(folder).values()] == ["Ana lives in Faro."]
        later = braga(PORTO["mem0"], at="2999-01-01T00:00:00Z")
        assert mnemic("import", write([later]), "--json").json["stored"] == 1
        assert listed(folder)["mem0:1"].content == "Ana lives in Braga."

    def test_in_one_file_and_back_again(self, mnemic, write, folder):
        before = PORTO["mem0"]
        path = write([before, braga(before), braga(before, "Ana lives in Porto.", "2026-06-01T00:00:00Z")])
        for options in (["--dry-run"], []):
            run = mnemic("import", path, *options, "--json")
            assert (run.code, run.json["stored"]) == (0, 3)
        assert [record.content for record in listed(folder).values()] == ["Ana lives in Porto."]

    def test_a_fact_that_ended_meanwhile_ends(self, mnemic, write, folder):
        fact = {**PORTO["zep"], "valid_at": "2026-01-01T00:00:00Z"}
        mnemic("import", write([fact]))
        ended = write([{**fact, "invalid_at": "2026-02-01T00:00:00Z"}])
        assert mnemic("import", ended, "--json").json["stored"] == 1
        assert mnemic("import", ended, "--json").json["duplicate"] == 1
        assert mnemic("import", write([fact]), "--json").json["duplicate"] == 1
        with Memory(folder, embedder="hashing") as memory:
            assert memory.get("zep:1").invalid_at == datetime(2026, 2, 1, tzinfo=UTC)
            assert not memory.search("Where does Ana live?")
            assert memory.search("Where does Ana live?", at=datetime(2026, 1, 15, tzinfo=UTC))

    def test_what_has_been_replaced_or_forgotten_here_stays_so(self, mnemic, write, folder):
        mnemic("import", write([PORTO["mem0"], {**PORTO["mem0"], "id": "2", "memory": "Ana bakes."}]))
        with Memory(folder, embedder="hashing") as memory:
            memory.remember("Ana moved to Faro.", replaces=["mem0:1"])
            memory.forget(ids=["mem0:2"])
        changed = [braga(PORTO["mem0"]), braga({**PORTO["mem0"], "id": "2"}, "Ana bakes bread.")]
        run = mnemic("import", write(changed), "--json")
        assert (run.json["stored"], run.json["duplicate"]) == (0, 1)
        assert "another memory has taken its place" in run.json["rejected"][0]["reason"]


class TestCommand:
    def test_nothing(self, mnemic, write, folder):
        run = mnemic("import", write([]), "--format", "mem0")
        assert (run.code, folder.exists()) == (1, False)
        assert "contains nothing to import" in run.err

    def test_a_field_that_names_no_user(self, chat, mnemic, write):
        run = mnemic("import", write(chat), "--user-from", "name")
        assert run.code == 2
        assert "No record of the file has a field 'name' that names its user; its records name none." in run.err

    def test_stopped_half_way_says_so_and_goes_on(self, mnemic, write, monkeypatch):
        path = write([{"id": str(n), "memory": f"Drawer {n} is empty."} for n in range(150)])
        real, calls = remember.store_all, []

        def failing(*given):
            calls.append(given)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return real(*given)

        with monkeypatch.context() as patched:
            patched.setattr(remember, "store_all", failing)
            run = mnemic("import", path)
        assert run.code == 130
        assert "stopped early" in run.err
        assert "128 stored" in run.err
        answer = mnemic("import", path, "--json").json
        assert (answer["stored"], answer["duplicate"]) == (22, 128)

    def test_what_becomes_of_each_does_not_depend_on_how_many_are_written_at_once(self, write, tmp_path, monkeypatch):
        """Texts and ids come again, before and after their time."""
        rows = [
            {
                "id": str(n % 7),
                "memory": f"Ana lives on floor {n % 3}.",
                "updated_at": f"2026-01-{1 + n % 5:02d}T10:00:00Z",
            }
            for n in range(40)
        ]
        outcomes = []
        for size in (1, 2, 64):
            monkeypatch.setattr(imports, "BATCH", size)
            with Memory(tmp_path / str(size), user="ana", embedder="hashing") as memory:
                report = memory.admin.import_file(write(rows), format="mem0")
                listed = {(m.id, m.content, m.said_at, m.valid_at, m.invalid_at) for m in memory.list(limit=None)}
                outcomes.append((report.stored, report.duplicate, [r.reason for r in report.rejected], listed))
        assert outcomes[0] == outcomes[1] == outcomes[2]

    def test_many_damaged_are_cut_short(self, mnemic, write):
        run = mnemic("import", write([{"id": str(n), "memory": None} for n in range(30)]), "--format", "mem0")
        assert "... and 10 more; --json lists all" in run.out


FACTS = {
    "edges": [
        {"uuid": "e1", "name": "WORKS_AT", "fact": "Ana works at Acme.", "source_node_uuid": "n1", "target_node_uuid": "n2",
         "created_at": "2026-02-01T10:00:00Z", "valid_at": "2025-05-01T00:00:00Z", "invalid_at": "2026-03-01T00:00:00Z",
         "expired_at": "2026-03-02T10:00:00Z", "episodes": ["p1"], "attributes": {"role": "baker"}},
        {"uuid": "e2", "name": "LIVES_IN", "fact": "Ana lives in Lisbon.", "created_at": "2026-03-02T10:00:00Z",
         "valid_at": None, "invalid_at": None, "expired_at": None},
    ]
}  # fmt: skip
THREAD = {
    "messages": [
        {"uuid": "m1", "role": "user", "name": "Ana", "content": "I moved to Lisbon.", "created_at": "2026-03-02T10:00:00Z",
         "metadata": None, "processed": True},
        {"uuid": "m2", "role": "assistant", "name": None, "content": "How is it?", "created_at": "2026-03-02T10:01:00Z"},
    ],
    "total_count": 2,
}  # fmt: skip


def camel_cased(value):
    """As Zep's TypeScript client names the same fields."""
    if isinstance(value, list):
        return [camel_cased(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("_([a-z])", lambda found: found[1].upper(), name): camel_cased(item) for name, item in value.items()}


class TestZep:
    @pytest.mark.parametrize("data", [FACTS, THREAD], ids=["facts", "thread"])
    def test_any_client_names_the_fields(self, mnemic, write, tmp_path, data):
        held = []
        for number, one in enumerate((data, camel_cased(data))):
            folder = tmp_path / f"memory-{number}"
            assert mnemic("--dir", folder, "import", write(one)).code == 0
            with Memory(folder, embedder="hashing") as memory:
                held.append(
                    [
                        {**asdict(one), "metadata": None, "created_at": None, "updated_at": None}
                        for one in (*memory.messages(reach="user"), *memory.list(include_expired=True))
                    ]
                )
        assert held[0] == held[1]
        assert len(held[0]) == 2

    def test_facts_with_the_time_when_they_were_true(self, mnemic, write, folder):
        run = mnemic("import", write(FACTS), "--json")
        assert (run.json["format"], run.json["stored"], run.json["damaged"]) == ("zep", 2, [])
        with Memory(folder, embedder="hashing") as memory:
            past, now = memory.get("zep:e1"), memory.get("zep:e2")
            assert (past.valid_at.isoformat(), past.invalid_at.isoformat()) == (
                "2025-05-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00",
            )  # fmt: skip
            assert (past.metadata["name"], past.metadata["attributes"]) == ("WORKS_AT", {"role": "baker"})
            assert (now.content, now.valid_at, now.invalid_at) == ("Ana lives in Lisbon.", now.created_at, None)
            then = memory.search("Where does Ana work?", at=datetime(2025, 7, 1, tzinfo=UTC))
            assert "Ana works at Acme." in [hit.text for hit in then]
            assert "Ana works at Acme." not in [hit.text for hit in memory.search("Where does Ana work?")]

    def test_a_thread(self, mnemic, write, folder):
        for _ in range(2):
            assert mnemic("import", write(THREAD)).code == 0
        with Memory(folder, embedder="hashing") as memory:
            first, second = memory.messages(reach="user")
            assert (first.id, first.name, first.role, first.content) == ("zep:m1", "Ana", "user", "I moved to Lisbon.")
            assert first.sent_at == datetime(2026, 3, 2, 10, tzinfo=UTC)
            assert second.role == "assistant"


def letta_turn(number, role, text, **more):
    at = f"2026-03-02T10:0{number}:00+00:00"
    return {
        "id": f"message-{number}",
        "role": role,
        "content": [{"type": "text", "text": text}],
        "created_at": at,
        **more,
    }


def event(kind, message):
    return json.dumps({"type": kind, "message": message, "time": "2026-03-02 10:00:00 AM UTC+0000"})


SPOKEN = {
    "id": "c1",
    "type": "function",
    "function": {"name": "send_message", "arguments": json.dumps({"message": "How is it?"})},
}
MEMGPT = [
    letta_turn(0, "system", "You are Letta."),
    letta_turn(1, "user", event("login", "Ana logged in")),
    letta_turn(2, "user", event("user_message", "I moved to Lisbon.")),
    letta_turn(3, "assistant", "She moved. I should ask.", tool_calls=[SPOKEN]),
    letta_turn(4, "tool", "OK", tool_call_id="c1"),
    letta_turn(5, "assistant", "Nothing to do."),
]
BLOCKS = [
    {"id": "block-0", "label": "human", "value": "Name: Ana. She bakes."},
    {"id": "block-1", "label": "persona", "value": "I am Letta."},
    {"id": "block-2", "label": "plans", "value": ""},
]


class TestLetta:
    @pytest.mark.parametrize("version", [1, 2])
    def test_an_agent_file_gives_blocks_and_what_was_said(self, mnemic, write, folder, version):
        agent = {"name": "support", "agent_type": "memgpt_v2_agent", "messages": MEMGPT}
        file = {**agent, "core_memory": BLOCKS} if version == 1 else {"agents": [agent], "blocks": BLOCKS, "tools": []}
        for again in range(2):
            run = mnemic("import", write(file), "--json")
            assert (run.json["format"], run.json["damaged"]) == ("letta", [])
            assert (run.json["stored"], run.json["duplicate"]) == ((3, 0), (0, 3))[again]
            assert "left out: 6 items" in run.json["remarks"][0]
        with Memory(folder, embedder="hashing") as memory:
            assert [(record.content, record.tags) for record in memory.list()] == [
                ("Name: Ana. She bakes.", ("human",))
            ]
            said = memory.messages(reach="user")
            assert [(m.role, m.content, m.session) for m in said] == [
                ("user", "I moved to Lisbon.", "support"), ("assistant", "How is it?", "support"),
            ]  # fmt: skip
            assert said[0].sent_at == datetime(2026, 3, 2, 10, 2, tzinfo=UTC)

    def test_an_agent_that_answers_in_its_content(self, mnemic, write, folder):
        turns = [letta_turn(1, "user", "I moved to Lisbon."), letta_turn(2, "assistant", "How is it?")]
        mnemic(
            "import",
            write({"agents": [{"name": "a", "agent_type": "letta_v1_agent", "messages": turns}], "blocks": []}),
        )
        with Memory(folder, embedder="hashing") as memory:
            assert [m.content for m in memory.messages(reach="user")] == ["I moved to Lisbon.", "How is it?"]

    def test_listed_messages_and_passages(self, mnemic, write, folder):
        listed_messages = [
            {"id": "message-a", "message_type": "user_message", "date": "2026-03-02T10:00:00Z", "content": "I bake."},
            {
                "id": "message-a",
                "message_type": "reasoning_message",
                "date": "2026-03-02T10:00:01Z",
                "reasoning": "Hm.",
            },
            {
                "id": "message-b",
                "message_type": "assistant_message",
                "date": "2026-03-02T10:00:02Z",
                "content": "Bread?",
            },
        ]
        passage = {"id": "passage-1", "text": "Ana has an oven.", "archive_id": "r", "embedding": [0.1], "tags": ["home"],
                   "embedding_config": {}, "created_at": "2026-01-01T00:00:00Z", "metadata": {"page": 3}}  # fmt: skip
        assert mnemic("import", write(listed_messages)).code == 0
        assert mnemic("import", write([passage, {**passage, "id": "passage-2", "text": 3}])).code == 1
        assert mnemic("import", write(passage), "--json").json["duplicate"] == 1  # a file of one line
        with Memory(folder, embedder="hashing") as memory:
            assert [m.content for m in memory.messages(reach="user")] == ["I bake.", "Bread?"]
            (record,) = memory.list()
            assert (record.id, record.content, record.tags) == ("letta:passage-1", "Ana has an oven.", ("home",))
            assert record.metadata == {"page": 3, "archive_id": "r"}


COLLECTION = {
    "ids": ["a", "b", "c"], "documents": ["Ana owns a kayak.", None, "Ana bakes."], "embeddings": None, "included": [],
    "metadatas": [{"place": "Lisbon", "created_at": "2026-01-01T00:00:00Z"}, {}, None],
}  # fmt: skip


class TestChroma:
    def test_a_collection(self, mnemic, write, folder):
        run = mnemic("import", write(COLLECTION), "--json")
        assert (run.code, run.json["format"], run.json["stored"]) == (1, "chroma", 2)
        assert run.json["damaged"] == ["[1].document is empty: there is nothing to remember."]
        with Memory(folder, embedder="hashing") as memory:
            kayak = memory.get("chroma:a")
            assert (kayak.content, kayak.metadata["place"]) == ("Ana owns a kayak.", "Lisbon")
            assert kayak.said_at == datetime(2026, 1, 1, tzinfo=UTC)

    def test_as_chroma_itself_writes_it(self, mnemic, write, folder, tmp_path):
        chromadb = pytest.importorskip("chromadb")
        collection = chromadb.EphemeralClient().create_collection("notes")
        collection.add(ids=["a"], documents=["Ana bakes."], embeddings=[[1.0, 0.0]], metadatas=[{"user_id": "ana"}])
        assert mnemic("import", write(collection.get()), "--user-from", "user_id").code == 0
        assert [record.content for record in listed(folder, "ana").values()] == ["Ana bakes."]

    @pytest.mark.parametrize(
        "data",
        [{"ids": [["a"]], "documents": [["x"]]}, {"ids": ["a", "b"], "documents": ["x"]}],
        ids=["query", "lengths"],
    )
    def test_what_is_no_export_of_a_collection(self, mnemic, write, data):
        run = mnemic("import", write(data))
        assert run.code == 2
        assert "collection.get(" in run.err


NOTE = """---
title: Ana's bakery
type: note
tags: [work, bread]
permalink: bakery
created: 2026-01-01
modified: 2026-02-01T10:00:00Z
---
# Ana's bakery

It opened in spring.

## Observations
- [decision] Rye only #menu (after a vote)
- [ ] order flour

## Relations
- supplied_by [[Mill of Évora]] (since 2024)
"""


class TestNotes:
    @pytest.fixture
    def notes(self, tmp_path):
        place = tmp_path / "notes"
        (place / "work").mkdir(parents=True)
        (place / "work" / "bakery.md").write_text(NOTE)
        (place / "plain.md").write_text("Tea at four.\n")
        (place / ".trash").mkdir()
        (place / ".trash" / "old.md").write_text("Gone.")
        return place

    def test_observations_relations_and_prose(self, mnemic, folder, notes):
        for again in range(2):
            run = mnemic("import", str(notes), "--json")
            assert (run.json["format"], run.json["damaged"], run.json["undated"]) == ("basic-memory", [], 1)
            assert (run.json["stored"], run.json["duplicate"]) == ((5, 0), (0, 5))[again]
        found = {record.content: record for record in listed(folder).values()}
        assert {content: set(record.tags) for content, record in found.items()} == {
            "Ana's bakery: It opened in spring.": {"work", "bread"},
            "Ana's bakery: Rye only (after a vote)": {"decision", "menu", "work", "bread"},
            "Ana's bakery, Observations: - [ ] order flour": {"work", "bread"},
            "Ana's bakery supplied by Mill of Évora (since 2024)": {"relation", "work", "bread"},
            "plain: Tea at four.": set(),
        }
        rye = found["Ana's bakery: Rye only (after a vote)"]
        assert rye.metadata == {"note": "work/bakery.md"}
        assert (rye.created_at.date().isoformat(), rye.said_at.isoformat()) == (
            "2026-01-01",
            "2026-02-01T10:00:00+00:00",
        )

    def test_one_note_is_read_as_those_of_a_folder(self, mnemic, folder, notes):
        run = mnemic("import", str(notes / "work/bakery.md"), "--json")
        assert run.json["format"] == "basic-memory"
        with Memory(folder, embedder="hashing") as memory:
            assert {record.metadata["note"] for record in memory.list()} == {"bakery.md"}

    @pytest.mark.parametrize(
        "text", ["Tea at four.\n", "# Tea\n\n- [time] at four\n", "User: tea?\nAssistant: At four.\n"]
    )
    def test_a_note_without_markup_is_one_if_its_format_is_named(self, mnemic, folder, notes, text):
        (notes / "plain.md").write_text(text)
        run = mnemic("import", str(notes / "plain.md"), "--format", "basic-memory", "--json")
        assert (run.code, run.json["format"], run.json["stored"]) == (0, "basic-memory", 1)
        (record,) = listed(folder).values()
        assert record.content.startswith("plain")
        assert record.metadata == {"note": "plain.md"}

    def test_front_matter_that_is_not_yaml_is_named_and_stops_nothing(self, mnemic, folder, notes):
        (notes / "bad.md").write_text("---\ntitle: [\n---\nLost.")
        run = mnemic("import", str(notes))
        assert run.code == 1
        assert "front matter that is not YAML" in run.out
        assert len(listed(folder)) == 5
