"""Settings from a TOML file."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mnemic import ConfigurationError, Consolidator, Idle, Memory, Processing, RetentionPolicy
from mnemic.runtime.config import Config, read_config

ALL = """
llm = "openai:gpt-5-mini"
embedder = "hashing"
timezone = "Europe/Lisbon"
session = "s1"
recipe = "rrf"

[processing]
time_gap = 600
batch_threshold = 20

[consolidator]
importance_threshold = 0.5

[idle]
idle_seconds = 60

[retention]
message_days = 90
"""


def test_every_table_is_read(tmp_path):
    (tmp_path / "mnemic.toml").write_text(ALL)
    found = read_config(None, tmp_path)
    assert (found.path, found.recipe) == (tmp_path / "mnemic.toml", "rrf")
    settings = found.arguments()
    assert settings == {
        "llm": "openai:gpt-5-mini", "embedder": "hashing", "timezone": "Europe/Lisbon",
        "processing": Processing(time_gap=timedelta(minutes=10), batch_threshold=20),
        "consolidator": Consolidator(importance_threshold=0.5), "idle": Idle(idle_seconds=60),
        "retention": RetentionPolicy(message_days=90), "session": "s1",
    }  # fmt: skip
    assert found.arguments(llm="openai:other", session=None) == settings | {"llm": "openai:other"}
    del settings["llm"]
    with Memory(":memory:", **settings) as memory:
        assert memory.admin.settings.consolidator.importance_threshold == 0.5
        assert (memory.scope.session, str(memory.admin.settings.timezone)) == ("s1", "Europe/Lisbon")


def test_no_file_is_no_settings(tmp_path):
    assert read_config(None, tmp_path) == read_config(None, "postgresql://here/app") == Config()
    assert {one.origin for one in Config().effective()} == {"default"}
    with pytest.raises(ConfigurationError, match=r"none\.toml cannot be read"):
        read_config(tmp_path / "none.toml", tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lllm = 'x'", "the file has no key 'lllm'. Did you mean 'llm'?"),
        ("user = 'ana'", "It takes embedder, llm"),
        ("[consolidater]", "Did you mean 'consolidator'?"),
        ("[idle]\nidle_second = 5", "[idle] has no key 'idle_second'. Did you mean 'idle_seconds'?"),
        ("[idle]\nidle_seconds = 'soon'", "idle_seconds must be a number"),
        ("[retention]\nmemory_limit = 0", "memory_limit must be a whole number from 1"),
        ("[processing]\ntime_gap = 00:30:00", "time_gap must be a number of seconds"),
        ("[processing]\ntime_gap = inf", "time_gap must be a number of seconds"),
        ("[processing]\ntime_gap = nan", "time_gap must be a number of seconds"),
        ("[processing]\ntime_gap = 1e300", "time_gap must be a number of seconds"),
        ("[processing]\nenable_episode_merging = 1", "must be true or false"),
        ("idle = 5", "idle must be a table, [idle]"),
        ("llm = 5", "llm must be a string"),
        ("llm = ", "cannot be read"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(tmp_path, text, said):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as wrong:
        read_config(file, tmp_path)
    assert said in str(wrong.value)
    assert "settings.toml" in str(wrong.value)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_bytes("\ufeffllm = 'openai:gpt-5-mini'\r\n".encode())
    assert read_config(file, tmp_path).values["llm"] == "openai:gpt-5-mini"
