"""Settings from ``mnemic.toml``, and ``mnemic config``, which shows them."""

import pytest

from mnemic import Memory
from mnemic.cli import main

SETTINGS = """
embedder = "hashing"
timezone = "Europe/Lisbon"
recipe = "vector"

[consolidator]
min_age_hours = 0

[retention]
message_days = 30
"""


@pytest.fixture
def settings(folder):
    folder.mkdir()
    (folder / "mnemic.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """The command on the folder that MNEMIC_DIR names, without an option."""
    monkeypatch.setenv("MNEMIC_DIR", str(folder))

    def run(*words):
        capsys.readouterr()
        return main([*words]), *capsys.readouterr()

    return run


def shown(output):
    """The lines of ``config`` by setting: value and source."""
    return {name: (value, origin) for name, value, origin in map(str.split, output.splitlines())}


def test_every_setting_with_its_source(settings, run):
    code, out, _ = run("config", "--llm", "openai:gpt-5-mini", "--user", "ana")
    found = shown(out)
    assert code == 0
    assert found["dir"] == (str(settings), "environment")
    assert found["config"] == (str(settings / "mnemic.toml"), "default")
    assert (found["user"], found["llm"]) == (("ana", "argument"), ("openai:gpt-5-mini", "argument"))
    assert (found["embedder"], found["recipe"]) == (("hashing", "file"), ("vector", "file"))
    assert (found["secrets"], found["session"]) == (("redact", "default"), ("-", "default"))
    assert (found["consolidator.min_age_hours"], found["retention.message_days"]) == (("0", "file"), ("30", "file"))
    assert found["consolidator.importance_threshold"] == ("0.6", "default")
    assert found["processing.time_gap"] == ("1800.0", "default")
    assert not (settings / "mnemic.db").exists()


def test_an_argument_comes_before_the_file(mnemic, settings, write):
    other = write('recipe = "rrf"', "other.toml")
    found = mnemic("config", "--config", other, "--timezone", "UTC", "--json").json["settings"]
    assert found["config"] == {"value": str(other), "from": "argument"}
    assert found["timezone"] == {"value": "UTC", "from": "argument"}
    assert found["recipe"] == {"value": "rrf", "from": "file"}
    assert found["consolidator.min_age_hours"] == {"value": 1.0, "from": "default"}


def test_commands_use_the_settings(settings, run):
    assert run("remember", "The lease ends in May.", "--importance", "0.9")[0] == 0
    with Memory(settings, embedder="hashing") as memory:  # as the file says
        assert len(memory.search("lease")) == 1
    code, out, _ = run("search", "lease", "--json")
    assert (code, '"recipe": "vector"' in out) == (0, True)
    assert '"recipe": "facts"' in run("search", "lease", "--recipe", "facts", "--json")[1]
    assert "memories promoted  1" in run("consolidate")[1]  # young memories too


def test_the_file_names_the_language_model_and_the_session(settings, run):
    (settings / "mnemic.toml").write_text('embedder = "hashing"\nsession = "s1"\nllm = "nobody:none"')
    run("add", "The lease ends in May.")
    with Memory(settings, embedder="hashing") as memory:
        assert [message.session for message in memory.messages()] == ["s1"]
    assert "nobody:none" in run("doctor")[1] + run("doctor")[2]


def test_retire_archives_what_the_settings_say(settings, run):
    run("add", "An old message.", "--sent-at", "2020-01-01")
    assert run("retire")[1] == "1 record archived; mnemic restore brings them back.\n"


def test_a_file_that_is_wrong_ends_the_command_but_no_hook(settings, run):
    (settings / "mnemic.toml").write_text("embeder = 'hashing'")
    code, out, err = run("list")
    assert (code, out) == (2, "")
    assert "mnemic.toml: the file has no key 'embeder'. Did you mean 'embedder'?" in err
    assert run("hook", "instructions")[0] == 0


def test_config_shows_no_password(run, monkeypatch):
    monkeypatch.setenv("MNEMIC_DIR", "postgresql://ana:hunter2@localhost/app")
    code, out, err = run("config")
    assert (code, "hunter2" in out + err, shown(out)["dir"][1]) == (0, False, "environment")


def test_a_hook_has_the_session_of_the_agent(settings, run, monkeypatch, write):
    """The file names the session of those who name none."""
    (settings / "mnemic.toml").write_text('embedder = "hashing"\nsession = "file"')
    said = write('{"role": "user", "content": "The lease ends in May."}', "said.jsonl")
    monkeypatch.setattr("mnemic.cli.hooks._payload", lambda: {"session_id": "agent", "transcript_path": str(said)})
    assert run("hook", "pre-compact")[0] == 0
    with Memory(settings, embedder="hashing") as memory:
        assert [message.session for message in memory.messages(reach="user")] == ["agent"]


def test_memory_without_a_location_is_where_the_commands_look(folder, run, monkeypatch, tmp_path):
    run("--embedder", "hashing", "remember", "The lease ends in May.")
    with Memory(embedder="hashing") as memory:
        assert (memory.admin.location, len(memory.list())) == (str(folder), 1)
    monkeypatch.delenv("MNEMIC_DIR")
    monkeypatch.chdir(tmp_path)
    with Memory(embedder="hashing") as memory:
        assert memory.admin.location == str(tmp_path / "memory")
