"""``mnemic doctor``: versions, embedder, weights, record."""

import warnings
from pathlib import Path

import apsw
import pytest

from mnemic import EmbedderUnavailable, HashingEmbedder, Memory, paths
from mnemic.cli.doctor import weights_of


def test_all_is_well(filled):
    run = filled("doctor")
    assert (run.code, run.err) == (0, "")
    lines = dict(line.split(None, 1) for line in run.out.splitlines())
    assert run.out.endswith("Nothing is wrong.\n")
    assert {"mnemic", "python", "sqlite", "packages", "embedder", "weights", "tokenizer", "memory"} <= set(lines)
    assert (lines["embedder"], lines["weights"]) == ("hashing-256", "it needs none")
    assert "messages 3" in lines["checked"]
    assert "dimension" not in lines


def test_deep_runs_the_embedder(filled):
    answer = filled("doctor", "--deep", "--json")
    assert answer.code == 0
    assert (answer.json["ok"], answer.json["dimension"], answer.json["findings"]) == (True, 256, [])
    assert answer.json["sqlite"].startswith(apsw.sqlite_lib_version())


@pytest.mark.parametrize("name", ["nosuchprovider:model", "nomodel", "openai:gpt-5-mini"])
def test_a_language_model_that_cannot_be_had(filled, monkeypatch, name):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = filled("doctor", "--llm", name)
    assert run.code == 1
    assert "WRONG: the language model cannot be used: " in run.out
    assert name.partition(":")[0] in run.out


def test_works_without_a_memory(mnemic, folder):
    run = mnemic("doctor")
    assert run.code == 0
    assert f"none yet in {folder}" in run.out
    assert not folder.exists()


def test_findings_of_the_record(filled, folder):
    db = apsw.Connection(str(folder / "mnemic.db"))
    db.execute("UPDATE records SET content = 'I never moved.' WHERE id = 'm1'")
    db.close()
    assert filled("doctor").code == 0  # only --deep reads every text
    run = filled("doctor", "--deep")
    assert run.code == 1
    assert "WRONG: the text of m1 does not match its hash" in run.out
    assert "Nothing is wrong" not in run.out
    answer = filled("doctor", "--deep", "--json")
    assert (answer.code, answer.json["ok"], len(answer.json["findings"])) == (1, False, 1)


def test_an_empty_file_is_no_record_and_stays_one(mnemic, folder, tmp_path):
    folder.mkdir()
    (folder / "mnemic.db").touch()
    for words in (("doctor", "--json"), ("doctor", "--fix", "--json")):
        answer = mnemic(*words)
        assert answer.code == 1
        assert f"no memory in {folder}: mnemic.db is empty" in answer.json["findings"][0]
    for words in (("list",), ("stats",), ("users",), ("export", "-"), ("import", folder / "mnemic.db", "--dry-run")):
        assert mnemic(*words).code == 2
    assert mnemic("restore-backup", folder, "--dir", tmp_path / "back").code == 2
    assert [(path.name, path.stat().st_size) for path in folder.iterdir()] == [("mnemic.db", 0)]
    (folder / "mnemic.db-wal").write_bytes(b"log")
    assert "its log mnemic.db-wal exists" in mnemic("doctor", "--json").json["findings"][0]
    assert "its log mnemic.db-wal exists" in mnemic("list").err


def test_a_folder_that_may_not_be_entered(filled, folder, monkeypatch):
    stat = Path.stat

    def closed(path, **options):
        if path.parent == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", closed)
    answer = filled("doctor", "--json")
    assert answer.code == 1
    assert answer.json["findings"][0].startswith(f"The folder {folder} cannot be accessed: Permission denied.")
    for words in (("list",), ("users",), ("restore-backup", folder, "--dir", folder / "new")):
        run = filled(*words)
        assert run.code == 2
        assert f"The folder {folder} cannot be accessed: Permission denied." in run.err


def test_a_file_that_is_no_record(mnemic, folder):
    folder.mkdir()
    (folder / "mnemic.db").write_bytes(b"something else" * 500)
    run = mnemic("doctor")
    assert run.code == 1
    assert "WRONG: " in run.out
    assert "python" in run.out


def test_vectors_of_another_model(filled, monkeypatch):
    monkeypatch.setattr(HashingEmbedder, "id", "hashing-other")
    run = filled("doctor")
    assert run.code == 1
    assert "the memory holds vectors of hashing-256, but the embedder is hashing-other" in run.out


def test_an_embedder_that_fails(filled, monkeypatch):
    def refuse(self, texts, *, kind="document"):
        raise EmbedderUnavailable("the server is down")

    monkeypatch.setattr(HashingEmbedder, "embed", refuse)
    run = filled("doctor", "--deep")
    assert run.code == 1
    assert "WRONG: the embedder cannot be used: the server is down" in run.out


def test_waiting_work_is_told(mnemic, write, chat, monkeypatch):
    def refuse(self, texts, *, kind="document"):
        raise EmbedderUnavailable("no weights")

    with monkeypatch.context() as patched, warnings.catch_warnings():
        warnings.simplefilter("default")
        patched.setattr(HashingEmbedder, "embed", refuse)
        mnemic("import", write(chat))
    run = mnemic("doctor", "--json")
    assert (run.code, run.json["pending"]) == (1, {"embed": 3, "process": 3})
    assert "3 records without a vector" in run.json["findings"][0]
    mnemic("process")
    run = mnemic("doctor")
    assert run.out.endswith("Nothing is wrong.\n")


class English(HashingEmbedder):
    """Stands in for the default model, whose name is all that counts here."""

    id = "all-MiniLM-L6-v2"


SAID = {
    "spanish": "Me mudé a Lisboa con mi hermana y el perro de los vecinos {}.",
    "russian": "Я переехала в Лиссабон {}.",
    "english": "I moved to Lisbon with my sister and the dog of the neighbours {}.",
}


@pytest.mark.parametrize(
    ("said", "embedder", "told"),
    [
        (("spanish",), English, True),
        (("russian",), English, True),
        (("english",), English, False),
        ((), English, False),
        (("spanish",), HashingEmbedder, False),
        (("english", "english", "spanish"), English, False),
    ],
)
def test_another_language_than_the_model_knows(mnemic, folder, said, embedder, told):
    with Memory(folder, embedder=embedder()) as memory:
        for language in said:
            memory.add([{"role": "user", "content": SAID[language].format(n)} for n in range(30)])
    facts = mnemic("doctor", "--json").json
    assert ("language" in facts) is told
    if told:
        assert "mnemic reembed --embedder multilingual once" in facts["language"]


class TestWeights:
    """Where the default model would come from, told without loading it."""

    @pytest.fixture(autouse=True)
    def nothing_here(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MNEMIC_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setattr(paths, "wheel_folder", lambda module: None)

    def test_nowhere(self, mnemic):
        assert weights_of(None) == ("missing, and HF_HUB_OFFLINE forbids downloading them", True)
        run = mnemic("doctor", "--embedder", "hashing")
        assert run.code == 0

    def test_nowhere_is_a_finding(self, folder, capsys):
        from mnemic.cli import main

        assert main(["doctor", "--dir", str(folder)]) == 1
        assert "WRONG: the embedder has no weights: missing" in capsys.readouterr().out

    def test_to_be_downloaded(self, monkeypatch):
        monkeypatch.delenv("HF_HUB_OFFLINE")
        assert weights_of(None) == ("missing: downloaded on first use", False)

    @pytest.mark.parametrize("embedder", [None, "minilm-int8"])
    def test_the_package(self, monkeypatch, tmp_path, embedder):
        monkeypatch.setattr(paths, "wheel_folder", lambda module: tmp_path)
        assert weights_of(embedder) == ("the installed package mnemic-minilm", False)

    def test_weights_of_one_byte_are_not_on_the_hub(self):
        assert weights_of("minilm-int8") == (
            'missing: pip install "mnemic[minilm]" installs the package mnemic-minilm',
            True,
        )

    def test_other_embedders(self, tmp_path):
        assert weights_of(str(tmp_path)) == (f"the folder {tmp_path}", False)
        for spec in ("hashing", "openai:text-embedding-3-small", "sentence-transformers:all-MiniLM-L6-v2"):
            where, missing = weights_of(spec)
            assert where
            assert not missing

    def test_a_model_of_the_hub(self, tmp_path, monkeypatch):
        name = "maker/tiny"
        assert weights_of(f"onnx:{name}") == ("missing, and HF_HUB_OFFLINE forbids downloading them", True)
        monkeypatch.delenv("HF_HUB_OFFLINE")
        assert weights_of(f"onnx:{name}") == ("missing: downloaded on first use", False)
        home = tmp_path / "cache" / "models" / "hub" / "maker--tiny"
        (home / "abc").mkdir(parents=True)
        (home / "revisions.json").write_text('{"main": "abc"}')
        assert weights_of(f"onnx:{name}")[0].startswith("missing: downloaded")
        for file in ("model.onnx", "tokenizer.json"):
            (home / "abc" / file).write_bytes(b"")
        assert weights_of(f"onnx:{name}") == (f"the cache folder {home / 'abc'}", False)
        assert weights_of(f"onnx:{tmp_path}") == (f"the folder {tmp_path}", False)

    def test_the_copy_of_the_hub(self, monkeypatch):
        import mnemic.onnx.files as hub

        monkeypatch.setattr(hub, "hub_files", lambda *_, **__: [Path("hub/model.onnx"), Path("hub/tokenizer.json")])
        where, missing = weights_of(None)
        assert where.startswith(
            "the copy of the model hub in hub; the networks that read requests to forget and later statements come with"
        )
        assert not missing
