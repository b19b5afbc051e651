"""``mnemic users``, and what is said of a user of whom there is nothing."""

import pytest

from mnemic import Memory
from mnemic.cli import main


@pytest.fixture
def known(mnemic, folder):
    """A record of two users, and of one whose memory was erased."""
    with Memory(folder, user="ana", embedder="hashing") as memory:
        memory.add("I moved to Lisbon.", id="m1")
        memory.add("I like the trams.", id="m2")
        memory.forget(ids=["m2"])
        bob = memory.scoped(user="bob\x1b[31m")
        bob.remember("Prefers tea.", id="tea")
        eve = memory.scoped(user="eve")
        eve.add("Nothing of this may stay.")
        eve.admin.erase_user()
    return mnemic


class TestUsers:
    def test_everybody_with_counts_and_the_last_write(self, known, folder):
        run = known("users")
        with Memory(folder, user="ana", embedder="hashing") as memory:
            last = memory.admin.log(kinds=("message",), limit=1)[0].at
        ana, bob = (line for line in run.out.splitlines() if "eve" not in line)
        assert (run.code, run.err) == (0, "")
        assert ana.split("  ")[0] == "ana"
        assert ana.endswith(f"1 message, 0 memories, last write {last:%Y-%m-%d %H:%M} UTC")
        assert bob.startswith("bob[31m  0 messages, 1 memory, last write ")  # nothing a terminal would obey

    def test_json(self, known):
        users = {user["user"]: user for user in known("users", "--json").json["users"]}
        assert {"ana", "bob\x1b[31m"} <= set(users)
        assert (users["ana"]["messages"], users["ana"]["memories"], users["ana"]["waiting"]) == (1, 0, 1)
        assert users["ana"]["last_write"].endswith("+00:00")

    def test_nobody(self, mnemic, folder):
        assert mnemic("users").code == 2
        assert not folder.exists()
        Memory(folder, embedder="hashing").close()
        run = mnemic("users")
        assert (run.code, run.out, run.err) == (1, "", "mnemic: the record has no users.\n")

    @pytest.mark.engine
    def test_of_a_server(self, postgres_url, capsys):
        pytest.importorskip("psycopg")
        with Memory(postgres_url, user="ana", embedder="hashing") as memory:
            memory.add("I moved to Lisbon.")
            memory.scoped(user="bob").remember("Prefers tea.")
        assert main(["--dir", postgres_url, "--embedder", "hashing", "users"]) == 0
        ana, bob = capsys.readouterr().out.splitlines()
        assert ana.startswith("ana  1 message, 0 memories, last write 20")
        assert bob.startswith("bob  0 messages, 1 memory, last write 20")
        assert main(["--dir", postgres_url, "--embedder", "hashing", "stats", "--user", "nobody"]) == 0
        assert "2 other users have some" in capsys.readouterr().err


class TestStatsOfAnUnknownUser:
    def test_the_others_are_told(self, filled):
        run = filled("stats", "--user", "nobody")
        assert run.code == 0
        assert run.err == "mnemic: the user nobody has no records; 1 other user has some: mnemic users.\n"
        assert filled("stats").err == ""

    def test_what_was_forgotten_is_something(self, filled):
        assert filled("forget", "--id", "m1", "--id", "m2", "--id", "m3").code == 0
        assert filled("stats").err == ""

    def test_an_empty_record_has_no_others(self, mnemic, folder):
        Memory(folder, embedder="hashing").close()
        assert mnemic("stats").err == ""


class TestWhyAListIsEmpty:
    def test_messages_wait(self, filled):
        wait = "yet. 3 messages wait to be processed: run mnemic process. mnemic list --kind message lists what was said.\n"
        memories, episodes = filled("list"), filled("list", "--kind", "episode")
        assert (memories.code, memories.err) == (1, f"mnemic: no memories {wait}")
        assert (episodes.code, episodes.err) == (1, f"mnemic: no episodes {wait}")
        assert filled("list", "--json").json == {"memories": []}

    def test_nothing_fits(self, filled):
        assert filled("list", "--kind", "message", "--since", "2030-01-01").err == "mnemic: nothing found.\n"
        assert filled("process").code == 0
        assert filled("list", "--tag", "nosuchtag").err == "mnemic: nothing found.\n"
