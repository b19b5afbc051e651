"""The documented calls of mem0, on a memory of Mnemic."""

from datetime import UTC, datetime

import pytest

from mnemic import InvalidInput, NotFound
from mnemic.compat.mem0 import Memory

TALK = [
    {"role": "user", "content": "I'm vegetarian and allergic to nuts."},
    {"role": "assistant", "content": "Noted, no nuts."},
]
ALICE = {"user_id": "alice"}


@pytest.fixture
def m():
    memory = Memory(":memory:", embedder="hashing")
    yield memory
    memory.close()


def test_messages_become_memories_and_are_found(m):
    (added,) = m.add(TALK, user_id="alice", run_id="monday", metadata={"channel": "web"}, timestamp=1_700_000_000)[
        "results"
    ]
    assert (added["memory"], added["event"]) == (TALK[0]["content"], "ADD")
    best = m.search("allergic to nuts", filters=ALICE)["results"][0]
    assert best["memory"] == TALK[0]["content"]
    assert (best["user_id"], best["run_id"], best["metadata"]) == ("alice", "monday", {"channel": "web"})
    assert 0 < best["score"] <= 1
    assert best["created_at"] == datetime.fromtimestamp(1_700_000_000, UTC).isoformat()
    assert m.get(best["id"]) == {key: value for key, value in best.items() if key != "score"}


def test_texts_are_stored_as_they_are_without_inference(m):
    results = m.add(
        "Likes tennis.", user_id="alice", infer=False, metadata={"kind": "hobby"}, expiration_date="2999-01-01"
    )
    (added,) = results["results"]
    assert m.add("Likes tennis.", user_id="alice", infer=False) == {"results": []}
    (listed,) = m.get_all(filters={**ALICE, "kind": "hobby"})["results"]
    assert (listed["id"], listed["memory"]) == (added["id"], "Likes tennis.")
    assert m.get_all(filters={**ALICE, "kind": "food"}) == {"results": []}


def test_a_memory_is_changed_deleted_and_remembers_its_past(m):
    (added,) = m.add("Likes tennis.", user_id="alice", infer=False)["results"]
    assert m.update(added["id"], text="Likes padel.") == {"message": "Memory updated successfully!"}
    assert m.update(added["id"], metadata={"kind": "hobby"})["message"]
    assert m.get(added["id"])["memory"] == "Likes padel."
    assert m.delete(added["id"]) == {"message": "Memory deleted successfully!"}
    assert m.get_all(user_id="alice") == {"results": []}
    assert m.get(added["id"]) is None
    for again in (m.delete, lambda id_: m.update(id_, "x")):
        with pytest.raises(NotFound):
            again(added["id"])
    changes = [(one["event"], one["old_memory"], one["new_memory"]) for one in m.history(added["id"])]
    assert changes == [
        ("ADD", None, "Likes tennis."),
        ("UPDATE", "Likes tennis.", "Likes padel."),
        ("UPDATE", "Likes padel.", "Likes padel."),
        ("DELETE", "Likes padel.", None),
    ]


def test_agents_and_sessions_narrow(m):
    m.add("The offer is due on Friday.", user_id="alice", agent_id="planner", run_id="r1")
    m.add("Suppliers answer slowly in August.", user_id="alice", agent_id="buyer", run_id="r2")
    found = m.search("offer", user_id="alice", agent_id="buyer")["results"]
    assert {one["memory"] for one in found} == {"Suppliers answer slowly in August."}
    m.delete_all(user_id="alice", agent_id="buyer")
    assert {one["memory"] for one in m.search("offer suppliers", filters=ALICE)["results"]} == {
        "The offer is due on Friday."
    }
    m.delete_all(user_id="alice")
    assert m.search("offer suppliers", filters=ALICE) == {"results": []}


def test_texts_keep_their_agent_and_their_session(m):
    (added,) = m.add("Likes tennis.", user_id="alice", agent_id="coach", run_id="s1", infer=False)["results"]
    m.update(added["id"], metadata={"kind": "hobby"})
    (found,) = m.search("tennis", user_id="alice", agent_id="coach", run_id="s1")["results"]
    assert (found["agent_id"], found["metadata"], found["run_id"]) == ("coach", {"kind": "hobby"}, "s1")
    assert m.search("tennis", user_id="alice", run_id="s2") == {"results": []}
    m.delete_all(user_id="alice", run_id="s1")
    assert m.get_all(user_id="alice", run_id="s1") == {"results": []}


@pytest.mark.parametrize("infer", [True, False])
def test_a_run_is_a_label_within_one_user_and_agent(m, infer):
    for user, agent, run in (
        ("alice", "coach", "r1"),
        ("alice", "coach", "r2"),
        ("alice", "chef", "r1"),
        ("bob", "coach", "r1"),
    ):
        m.add(f"I like the tennis of {user}, {agent} and {run}.", user_id=user, agent_id=agent, run_id=run, infer=infer)

    def told(**names):
        results = [*m.get_all(**names)["results"], *m.search("tennis", **names)["results"]]
        assert {one["user_id"] for one in results} == {names["user_id"]}
        return {one["memory"].split("of ")[1] for one in results}

    alices = {"alice, coach and r1.", "alice, coach and r2.", "alice, chef and r1."}
    assert told(user_id="alice") == alices
    assert told(user_id="alice", run_id="r1") == {one for one in alices if "r1" in one}
    assert told(user_id="alice", agent_id="coach", run_id="r1") == {"alice, coach and r1."}
    m.delete_all(user_id="alice", run_id="r1")
    assert told(user_id="alice") == {"alice, coach and r2."}
    assert told(user_id="bob") == {"bob, coach and r1."}
    m.delete_all(user_id="alice")
    assert (
        m.search("tennis", user_id="alice", run_id="r2") == m.get_all(user_id="alice", run_id="r2") == {"results": []}
    )


def test_the_same_text_of_two_runs_is_two_memories(m):
    runs = ["r1", "r2", None]
    for run in runs:
        assert m.add("Likes tennis.", user_id="alice", run_id=run, infer=False)["results"]
    assert [one.get("run_id") for one in m.get_all(user_id="alice")["results"]] == runs[::-1]
    m.delete_all(user_id="alice", run_id="r1")
    assert [one.get("run_id") for one in m.get_all(user_id="alice")["results"]] == [None, "r2"]


def test_every_new_memory_is_told(m):
    talk = [{"role": "user", "content": f"My locker number {n} is at station {n}."} for n in range(130)]
    assert len(m.add(talk, user_id="alice")["results"]) > 100


def test_a_memory_holds_on_the_day_of_its_expiration(m):
    today = datetime.now(UTC).date().isoformat()
    m.add("Likes tennis.", user_id="alice", infer=False, expiration_date=today)
    assert m.search("tennis", user_id="alice")["results"]


def test_nothing_crosses_users(m):
    (added,) = m.add("Likes tennis.", user_id="al/ice:1", infer=False)["results"]
    assert m.get(added["id"])["user_id"] == "al/ice:1"
    assert m.search("tennis", filters={"user_id": "bob"}) == {"results": []}
    assert m.get(f"bob:{added['id'].partition(':')[2]}") is None
    with pytest.raises(NotFound):
        m.delete(f"bob:{added['id'].partition(':')[2]}")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: m.add("x"), "user_id is required"),
        (lambda m: m.search("x", filters={"agent_id": "a"}), "user_id is required"),
        (lambda m: m.add(["hello"], user_id="alice"), "messages must be"),
        (lambda m: m.add("x", user_id="alice", timestamp=1.7e12), "timestamp must be"),
        (lambda m: m.search("x", filters={**ALICE, "n": {"gt": 1}}), "operator"),
        (lambda m: m.add("x", user_id="alice", infer=False, expiration_date="soon"), "YYYY-MM-DD"),
        (lambda m: m.add("x", user_id="alice", expiration_date="2030-01-01"), "infer=False"),
    ],
)
def test_what_cannot_be_is_explained(m, call, told):
    with pytest.raises(InvalidInput, match=told):
        call(m)


def test_what_is_deleted_stays_deleted_when_it_is_linked(m):
    tea, coffee = (m.add(text, infer=False, **ALICE)["results"][0]["id"] for text in ("Likes tea.", "Likes coffee."))
    m.delete(tea)
    m.handle("alice").links.add(coffee.partition(":")[2], tea.partition(":")[2], "references")
    assert m.get(tea) is None
