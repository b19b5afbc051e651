"""export, reading it back, reembed: what goes out comes back the same."""

import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from mnemic import HashingEmbedder, InvalidInput, Memory, Message, Processing
from mnemic.errors import Conflict, StoreUnavailable
from mnemic.runtime import factory
from mnemic.runtime.indexer import unwrap_store
from mnemic.secrets.policy import policy_from
from mnemic.transfer import export
from mnemic.types import Scope

EAST = timezone(timedelta(hours=2))


def fill(memory: Memory) -> None:
    """A memory with everything a record can have: levels, episodes, versions, both clocks, links, every status."""
    began = datetime(2026, 3, 9, 18, 5, tzinfo=EAST)
    said = [
        "I moved to Lisbon and I love it.",
        "How are the trams?",
        "I work as a nurse.",
        "Rita visits on Friday.",
        "ok",
    ]
    memory.add(
        [
            Message(
                role="user", name="Zoë", content=text, id=f"m{n}", sent_at=began + timedelta(hours=n // 2), session="s1"
            )
            for n, text in enumerate(said)
        ]
    )
    memory.scoped(project="atlas", session="p1").add_exchange("We use Postgres for atlas.", "Noted, Postgres it is.")
    memory.add([Message(role="system", content="Be kind.", id="sys"), Message(role="user", content="ok", id="ok")])
    memory.process()
    for n, port in enumerate((8080, 9000, 8080, 9000)):  # two ended memories say the same
        memory.remember(
            f"The API runs on port {port}.", id=f"a{n}", key="api.port", metadata={"list": [1, {"none": None}]}
        )
    memory.remember("Deploy with make release", id="d1", type="procedural", tags=["x"], importance=0.0)
    memory.update("d1", content="Deploy with make ship")
    memory.update("d1", content="Deploy with make go", valid_at=began, invalid_at=datetime(2030, 1, 1, tzinfo=UTC))
    memory.remember("Deploy with make release", id="d2")  # what the first said before
    memory.forget(ids=["d2", "m3"])
    memory.remember("Deploy with make release", id="d3", source_ids=["a3", "m0"])
    memory.links.add("d1", "d3", "extends", strength=0.5, reason="wider")
    memory.links.add("d3", "d1", "contradicts")
    memory.links.add("d2", "d3", "references")
    memory.preferences["theme"] = "dark"
    memory.preferences["theme"] = "light"
    memory.scoped(session="s9").remember("Only said here.", level="session", id="here")
    memory.remember("The deploy target is the Lisbon cluster", id="x1", importance=0.8)
    memory.remember("The deploy target is the Lisbon cluster!", id="x2", importance=0.8)
    memory.consolidate(min_age_hours=0, importance_threshold=0.6)
    memory.add("This one waits.", id="waits")


class Record:
    """A runtime and a user, as the face would hand them over."""

    def __init__(self, folder, user="ana", embedder="hashing"):
        self.runtime = factory.open_runtime(
            folder, embedder=embedder, tokenizer=None, reranker=None, llm=None, processing=None, consolidator=None,
            idle=None, retention=None, secrets=policy_from("redact"), durability="NORMAL",
        )  # fmt: skip
        self.scope = Scope(user=user)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runtime.close()

    def out(self, **options) -> str:
        file = io.StringIO()
        export.export(self.runtime, self.scope, file, **options)
        return file.getvalue()

    def take(self, text, **options):
        return export.restore_from(self.runtime, self.scope, io.StringIO(text), **options)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    merging = Processing(merge_similarity_threshold=0.0)
    with Memory(folder, user="ana", embedder="hashing", durability="NORMAL", processing=merging) as memory:
        fill(memory)
    return folder


@pytest.fixture
def exported(source) -> str:
    with Record(source) as record:
        return record.out()


def without_use(record):
    """A record without what reading it changes."""
    return replace(record, access_count=0, last_accessed_at=None, importance=record.salience)


class TestRoundTrip:
    def test_the_source_has_everything_that_is_hard_to_take_along(self, exported):
        _, *lines = map(json.loads, exported.splitlines())
        place = {line["id"]: number for number, line in enumerate(lines) if "id" in line}
        by_kind = {kind: [line for line in lines if line["kind"] == kind] for kind in ("message", "episode", "memory")}
        assert {line["status"] for line in by_kind["message"]} == {"short_term", "archived"}
        assert [line["id"] for line in by_kind["message"] if line.get("settled")] == ["sys"]
        merged = [line for line in by_kind["episode"] if line.get("source_ids")]
        assert merged
        assert {lines[place[id_]]["status"] for line in merged for id_ in line["source_ids"]} == {"archived"}
        assert {line["status"] for line in by_kind["memory"]} == {"short_term", "long_term", "archived"}
        (kept,) = [line for line in by_kind["memory"] if {"x1", "x2"} & {*line.get("source_ids", ())}]
        assert kept["id"] in {"x1", "x2"}
        assert [line["content"] for line in by_kind["memory"] if line.get("expired_at")].count(
            "The API runs on port 8080."
        ) == 2
        assert [line["version"] for line in by_kind["memory"] if line["id"] == "d1"] == [3]
        assert {line["kind"] for line in lines if "session" in line and line.get("id") == "here"} == {"memory"}
        assert {line["kind"] for line in lines if "emotion" in line} == {"message", "memory"}
        assert {line["type"] for line in lines if line["kind"] == "link"} >= {"extends", "contradicts", "supersedes"}

    @pytest.mark.parametrize("options", [{}, {"vectors": True}])
    def test_the_second_export_is_the_first(self, source, tmp_path, options):
        with Record(source) as record:
            first = record.out(**options)
        with Record(tmp_path / "copy", "bob") as record:
            record.take(first)
            assert record.out(**options) == first
            assert record.runtime.store.verify().findings == ()
        with Record(tmp_path / "again", "ana") as record:
            record.take(first)
            assert record.out(**options) == first

    def test_a_search_finds_the_same(self, source, exported, tmp_path):
        with Record(tmp_path / "copy", "bob") as record:
            record.take(exported)
        with (
            Memory(source, user="ana", embedder="hashing") as old,
            Memory(tmp_path / "copy", user="bob", embedder="hashing") as new,
        ):
            for query in ("which port has the API?", "where does Zoë live?", "how do I deploy?"):
                for words in ({}, {"kinds": ["memory"]}, {"kinds": ["memory"], "include_expired": True}):
                    was, now = old.search(query, k=20, **words), new.search(query, k=20, **words)
                    assert [(h.id, h.status, h.via, h.superseded_by) for h in now] == [
                        (h.id, h.status, h.via, h.superseded_by) for h in was
                    ]
            assert dict(new.preferences) == {"theme": "light"}
            assert [e.content for e in new.history("d1") if e.operation in {"remember", "update"}] == [
                "Deploy with make release", "Deploy with make ship", "Deploy with make go",
            ]  # fmt: skip
            assert without_use(new.get("d1")) == without_use(old.get("d1"))
            assert new.stats().pending["process"] == old.stats().pending["process"]
            new.preferences["theme"] = "dark"  # takes the place of the one that was read in
            assert dict(new.preferences) == {"theme": "dark"}
            assert new.restore(["m3", "d2"]).rejected[0].id == "d2"  # d3 says it

    def test_what_it_goes_on_with(self, exported, tmp_path):
        with Record(tmp_path, "ana") as record:
            record.take(exported)
        with Memory(tmp_path, user="ana", embedder="hashing") as memory:
            assert memory.process().messages == 1
            receipt = memory.remember("The API runs on port 7000.", key="api.port")
            assert receipt.outcome == "superseded"
            assert "'a3'" in receipt.reason

    def test_the_file_names_nothing_of_the_machine_or_the_user(self, exported):
        header = json.loads(exported.split("\n", 1)[0])
        assert header == {"mnemic": 1, "counts": header["counts"]}
        assert '"user":' not in exported.replace('"role":"user"', "")

    def test_vectors_need_no_embedder_and_another_makes_its_own(self, source, tmp_path, monkeypatch):
        with Record(source) as record:
            carried = record.out(vectors=True)

        def refuse(self, texts, *, kind="document"):
            raise AssertionError("embedded again")

        with monkeypatch.context() as patched, Record(tmp_path / "same") as record:
            patched.setattr(HashingEmbedder, "embed", refuse)
            record.take(carried)
        steps = []
        with Record(tmp_path / "other", embedder=HashingEmbedder(64)) as record:
            record.take(carried, progress=lambda done, total: steps.append((done, total)))
            assert record.runtime.store.statistics.stats("ana").dimension == 64
            assert record.runtime.store.verify().findings == ()
        assert steps[-1][0] == steps[-1][1] > 0

    def test_nobody(self, tmp_path):
        with Record(tmp_path, "nobody") as record:
            text = record.out()
            assert text == '{"counts":{"episode":0,"link":0,"memory":0,"message":0},"mnemic":1}\n'
            assert record.take(text) == {"message": 0, "episode": 0, "memory": 0, "link": 0}

    def test_links_between_forgotten_memories_are_kept(self, tmp_path):
        with Memory(tmp_path / "old", user="ana", embedder="hashing") as memory:
            for id_ in ("x", "y"):
                memory.remember(f"The letter {id_}", id=id_)
            memory.links.add("x", "y", "extends")
            memory.forget(ids=["x", "y"])
        with Record(tmp_path / "old") as record:
            first = record.out()
        with Record(tmp_path / "new") as record:
            assert record.take(first)["link"] == 1
            assert record.out() == first
            assert record.runtime.store.verify().findings == ()


class TestRefusals:
    def test_somebody_who_has_records(self, source, exported):
        with Record(source) as record, pytest.raises(InvalidInput, match="has records already"):
            record.take(exported)

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            (lambda lines: lines[1:], "not the header"),
            (lambda lines: lines[:-1], "truncated or changed"),
            (lambda lines: ['{"mnemic":9,"counts":{}}', *lines[1:]], "Upgrade Mnemic"),
            (lambda lines: [lines[0], "{", *lines[2:]], "Line 2 is not JSON"),
            (lambda lines: [lines[0], "[]", *lines[2:]], "Line 2 is not an object"),
            (lambda lines: [lines[0], lines[1].replace('"message"', '"dream"'), *lines[2:]], "kind 'dream'"),
            (lambda lines: [lines[0], lines[1].replace('"trust":', '"thrust":'), *lines[2:]], "field 'thrust'"),
            (lambda lines: [lines[0], lines[1].replace('"trust":1.0', '"trust":7'), *lines[2:]], "trust is 7"),
            (
                lambda lines: [lines[0], lines[1].replace('"trust":1.0', '"trust":NaN'), *lines[2:]],
                "Line 2 is not JSON",
            ),
            (lambda lines: [lines[0], lines[1].replace("+02:00", ""), *lines[2:]], "sent_at has no time zone"),
            (lambda lines: [lines[0], lines[2], lines[1].replace('"m0"', '"m1"'), *lines[3:]], "empty or taken"),
            (lambda lines: [lines[0], *lines[:0:-1]], "not in the file before it"),
            (lambda lines: [line.replace('"version":3', '"version":4') for line in lines], "without those before"),
            (
                lambda lines: [line.replace("make go", "make release") for line in lines],
                "the content of a previous memory",
            ),
        ],
    )
    def test_damaged_files_change_nothing(self, exported, tmp_path, change, what):
        with Record(tmp_path) as record:
            with pytest.raises(InvalidInput, match=what):
                record.take("\n".join(change(exported.splitlines())))
            assert record.runtime.store.user("ana") is None

    @pytest.mark.parametrize(
        ("kind", "fields", "what"),
        [
            ("message", {"content": " \n"}, "Line 2 is no message: its content is empty"),
            ("message", {"role": ""}, "its role is empty"),
            ("message", {"kind": ["message"]}, "has the kind"),
            ("message", {"sent_at": "x" * 5_000}, "which is not a time"),
            ("message", {"session": "x" * 2_000}, "session has 2,000 bytes"),
            ("message", {"project": ""}, "project must not be empty"),
            ("message", {"name": "x" * 2_000}, "name has 2,000 bytes"),
            ("message", {"metadata": json.loads('{"a":' * 400 + "1" + "}" * 400)}, "nested deeper than 100 levels"),
            ("episode", {"session": "another"}, "another project or conversation than its messages"),
            ("episode", {"project": "another"}, "another project or conversation than its messages"),
            ("episode", {"message_ids": []}, "without messages"),
            ("memory", {"status": "consolidating"}, "running consolidation"),
            ("memory", {"tags": ["x" * 1_000_001]}, "tags has 1,000,001 characters"),
            ("memory", {"expired_at": None}, "replaces 'old', whose time has not ended"),
        ],
    )
    def test_what_no_call_would_have_stored(self, tmp_path, kind, fields, what):
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.scoped(session="s").add_exchange("I moved to Lisbon.", "How is it?")
            memory.process()
            for name, text in (("old", "The box is red."), ("new", "The box is blue.")):
                memory.remember(text, id=name)
            memory.links.add("new", "old", "supersedes")
            memory.admin.export(file := io.StringIO())
        lines = [json.loads(line) for line in file.getvalue().splitlines()]
        next(
            line for line in lines[1:] if line["kind"] == kind and line["id"] != "new" and "source_ids" not in line
        ).update({name: value for name, value in fields.items() if value is not None})
        for line in lines:
            for name in [name for name, value in fields.items() if value is None]:
                line.pop(name, None)
        with Record(tmp_path) as record:
            with pytest.raises(InvalidInput, match=what) as refused:
                record.take("\n".join(map(json.dumps, lines)))
            assert len(str(refused.value)) < 500
            assert record.runtime.store.user("ana") is None

    @pytest.mark.parametrize("vector", ["!", "AHw=", ""])
    def test_damaged_vectors(self, source, tmp_path, vector):
        with Record(source) as record:
            header, first, *_ = record.out(vectors=True).splitlines()
        header = json.dumps({**json.loads(header), "counts": {"message": 1, "episode": 0, "memory": 0, "link": 0}})
        line = json.dumps({**json.loads(first), "vector": vector})
        with Record(tmp_path) as record, pytest.raises(InvalidInput, match="vector"):
            record.take(f"{header}\n{line}\n")

    def test_files_that_cannot_be_read_or_written(self, source, tmp_path):
        (tmp_path / "latin").write_bytes(b"\xff\xfe")
        with Record(source) as record:
            for path in (tmp_path / "nowhere", tmp_path / "latin", str(tmp_path)):
                with pytest.raises(InvalidInput):
                    export.restore_from(record.runtime, Scope(user="new"), path)
            with pytest.raises(StoreUnavailable, match="cannot be written"):
                export.export(record.runtime, record.scope, tmp_path / "no" / "folder")
            with pytest.raises(StoreUnavailable):
                export.export(record.runtime, record.scope, tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["latin"]

    def test_a_record_that_does_not_hold_still(self, source, monkeypatch):
        with Record(source) as record:
            moving = iter(range(1000))
            monkeypatch.setattr(type(unwrap_store(record.runtime.store)), "last_event", lambda self, user: next(moving))
            with pytest.raises(Conflict, match="when it is idle"):
                record.out()


def test_what_is_in_quarantine_stays_there(tmp_path):
    files = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    with Memory(":memory:", user="ana", embedder="hashing") as memory, Memory(":memory:", embedder="hashing") as other:
        memory.add([Message(role="user", content="I live in Lisbon.", id="m1", session="s")])
        memory.process()
        memory.remember("The door code is green.", id="page", source="document")
        memory.remember("The door is locked.", id="made", source_ids=["page"])
        memory.remember("The gate is open.", id="late", source_ids=["page"])
        memory.forget(ids=["late"])
        memory.admin.quarantine(["made"], reason="its own")
        memory.admin.quarantine(["page"], reason="a poisoned page")
        memory.admin.quarantine(["m1"], reason="in doubt")
        held = [record.id for record in memory.list(status=["quarantined"], order="oldest")]
        assert {"page", "made", "late"} < set(held)
        memory.admin.export(files[0])
        other.admin.import_from(files[0])
        other.admin.export(files[1])
        assert files[0].read_bytes() == files[1].read_bytes()
        assert [record.id for record in other.list(status=["quarantined"], order="oldest")] == held
        assert [receipt.outcome for receipt in other.restore(["page", "made", "m1"])] == ["rejected"] * 3
        assert other.history("made")[-1].detail["reason"] == "its own"
        assert other.admin.verify().ok, other.admin.verify().findings
        assert {receipt.id for receipt in other.admin.release(["page", "m1"])} >= {"page", "made", "late", "m1"}
        assert {record.id for record in other.list()} == {*held} - {"late"}
        assert other.get("late").status == "archived"


def test_an_export_from_before_quarantine_was_told_is_read(tmp_path):
    path = tmp_path / "old.jsonl"
    with Memory(":memory:", embedder="hashing") as memory:
        memory.remember("The door code is green.", id="page")
        memory.admin.quarantine(["page"], reason="in doubt")
        memory.admin.export(path)
        header, line = path.read_text().splitlines()
        told = json.loads(line)
        assert told.pop("quarantine") == "in doubt"
        path.write_text(f"{header}\n{json.dumps(told)}\n")
        other = memory.scoped(user="bob")
        other.admin.import_from(path)
        assert other.restore("page")[0].outcome == "restored"


class TestCommands:
    def test_out_and_in(self, filled, folder, tmp_path):
        filled("process")
        filled("remember", "Prefers tea", "--id", "t")
        path = tmp_path / "all.jsonl"
        run = filled("export", path)
        assert (run.code, run.out) == (0, "")
        assert run.err.startswith("mnemic: 3 messages, 2 episodes, ")
        assert run.err.endswith(f" written to {path}.\n")
        assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600
        for words in (("--user", "bob"), ("--user", "eve", "--format", "mnemic")):
            run = filled("import", path, *words)
            assert (run.code, run.err) == (0, "")
            assert (run.rows["file"], run.rows["format"]) == (str(path), "mnemic")
            assert run.rows["counts"].startswith("message 3, episode 2, ")
            other = tmp_path / "other.jsonl"
            filled("export", other, *words[:2], "--force")
            assert other.read_bytes() == path.read_bytes()
        again = filled("import", path, "--user", "bob")
        assert again.code == 2
        assert "has records already" in again.err

    def test_a_file_that_exists_is_left_alone(self, filled, tmp_path):
        path = tmp_path / "all.jsonl"
        path.write_text("mine")
        run = filled("export", path)
        assert (run.code, path.read_text()) == (2, "mine")
        assert "--force" in run.err
        assert filled("export", path, "--force").code == 0
        assert '"mnemic"' in path.read_text().split("\n", 1)[0]

    def test_json(self, filled, tmp_path):
        path = tmp_path / "all.jsonl"
        counts = {"message": 3, "episode": 0, "memory": 0, "link": 0}
        answer = filled("export", path, "--vectors", "--json").json
        assert answer == {"file": str(path), "counts": counts}
        assert filled("import", path, "--user", "bob", "--json").json["counts"] == counts

    def test_into_a_new_folder(self, filled, tmp_path):
        filled("export", tmp_path / "all.jsonl")
        assert filled("import", tmp_path / "all.jsonl", "--dir", tmp_path / "new").code == 0
        assert filled("search", "Lisbon", "--dir", tmp_path / "new").code == 0

    def test_stdout(self, filled, folder, tmp_path):
        filled("export", tmp_path / "all.jsonl")
        words = [sys.executable, "-m", "mnemic", "--dir", folder, "--embedder", "hashing", "export", "-"]
        run = subprocess.run(words, capture_output=True, timeout=60, check=False)
        assert (run.returncode, run.stdout) == (0, (tmp_path / "all.jsonl").read_bytes())
        assert run.stderr.endswith(b" written to stdout.\n")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
    def test_a_pipe_stays_a_pipe(self, filled, tmp_path):
        filled("export", tmp_path / "all.jsonl")
        pipe, told = tmp_path / "pipe", []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: told.append(pipe.read_bytes()), daemon=True)
        reader.start()
        assert filled("export", pipe).code == 0
        reader.join(30)
        assert told == [(tmp_path / "all.jsonl").read_bytes()]
        assert pipe.is_fifo()
        assert sorted(path.name for path in tmp_path.glob("*.part")) == []

    @pytest.mark.skipif(os.name == "nt", reason="links need a right there")
    def test_a_link_stays_a_link(self, filled, tmp_path):
        (tmp_path / "there").mkdir()
        for name, target in (("new", "there/new.jsonl"), ("old", "there/old.jsonl")):
            (tmp_path / name).symlink_to(tmp_path / target)
        (tmp_path / "there" / "old.jsonl").write_text("before")
        for name in ("new", "old"):
            assert filled("export", tmp_path / name, "--force").code == 0
            assert (tmp_path / name).is_symlink()
            assert '"mnemic"' in (tmp_path / "there" / f"{name}.jsonl").read_text().split("\n", 1)[0]
        (tmp_path / "self").symlink_to(tmp_path / "self")
        run = filled("export", tmp_path / "self")
        assert (run.code, "cannot be written" in run.err) == (2, True)

    def test_from_stdin(self, filled, tmp_path, monkeypatch):
        filled("export", tmp_path / "all.jsonl")
        piped = io.TextIOWrapper(io.BytesIO((tmp_path / "all.jsonl").read_bytes()), encoding="ascii")
        monkeypatch.setattr(sys, "stdin", piped)
        run = filled("import", "-", "--user", "bob")
        assert (run.code, run.err) == (0, "")
        filled("export", tmp_path / "bobs.jsonl", "--user", "bob")
        assert (tmp_path / "bobs.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()

    def test_nothing_to_export(self, filled, tmp_path):
        run = filled("export", tmp_path / "none.jsonl", "--user", "nobody")
        assert run.code == 1
        assert filled("export", "-", "--json").code == 2
        assert filled("export", tmp_path / "x", "--dir", tmp_path / "nowhere").code == 2
        assert not (tmp_path / "nowhere").exists()

    def test_another_json_file_is_no_export(self, filled, write):
        run = filled("import", write('{"role": "user", "content": "hi"}\n'), "--format", "mnemic")
        assert run.code == 2
        assert "not the header" in run.err

    def test_reembed(self, filled):
        run = filled("reembed")
        assert (run.code, run.out) == (0, "3 vectors computed with hashing-256, dimension 256.\n")
        assert filled("reembed", "--json").json == {"made": 3, "embedding_model": "hashing-256", "dimension": 256}
