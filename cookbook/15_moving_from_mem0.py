"""Moving from mem0: its memories come over with ids, times and metadata, each user to a user of that name.

The dump is what Memory().get_all(filters={"user_id": ...}, top_k=100_000, show_expired=True) gives, for two users. One of
its items is damaged on purpose, and two contradict each other, as they do in a store that only adds.

Install: pip install "mnemic[minilm]"
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic import Memory
from mnemic.cli import main as mnemic
from mnemic.compat.mem0 import Memory as Mem0

DUMP = {
    "results": [
        {
            "id": "8f1c", "memory": "Ana's kayak is red.", "hash": "5d41", "user_id": "ana", "agent_id": "guide",
            "metadata": {"place": "Lisbon"}, "created_at": "2026-01-03T10:00:00-07:00", "updated_at": None,
        },
        {"id": "91ab", "memory": "The boathouse code is 8080.", "user_id": "ana", "created_at": "2026-02-01T09:00:00-07:00"},
        {"id": "a7d0", "memory": "The boathouse code is 9000.", "user_id": "ana", "created_at": "2026-06-01T09:00:00-07:00"},
        {"id": "b2e4", "memory": "Ben plays the cello.", "user_id": "ben", "created_at": "2026-03-05T18:30:00-07:00"},
        {"id": "c900", "memory": None, "user_id": "ben"},
    ]
}  # fmt: skip


def main() -> None:
    with TemporaryDirectory() as folder:
        dump = Path(folder, "mem0.json")
        dump.write_text(json.dumps(DUMP), encoding="utf-8")
        command = ["--dir", f"{folder}/memory", "import", str(dump), "--user-from", "user_id"]

        # $ mnemic import mem0.json --user-from user_id --dry-run     says what would come in, and begins no memory
        assert mnemic([*command, "--dry-run"]) == 1  # 1: something is damaged, and named
        assert not Path(folder, "memory").exists()
        # $ mnemic import mem0.json --user-from user_id
        assert mnemic(command) == 1
        # ... and again: what is there is not stored twice
        assert mnemic(command) == 1

        with Memory(f"{folder}/memory", user="ana") as memory:
            kayak = memory.get("mem0:8f1c")
            assert kayak.metadata == {"place": "Lisbon", "hash": "5d41", "agent_id": "guide"}
            assert kayak.created_at.isoformat() == "2026-01-03T10:00:00-07:00"
            # mem0 knows two codes; which one holds, its user says. The earlier one still held in March.
            memory.links.add("mem0:a7d0", "mem0:91ab", "supersedes")
            now, march = memory.search("boathouse code"), datetime(2026, 3, 1, tzinfo=UTC)
            print(f"\nnow: {now[0].text}\nin March: {memory.search('boathouse code', at=march)[0].text}")
            assert [hit.text for hit in now if "code" in hit.text] == ["The boathouse code is 9000."]
            assert memory.search("boathouse code", at=march)[0].text == "The boathouse code is 8080."
            assert len(memory.list(include_expired=True)) == 3
            assert [record.id for record in memory.scoped(user="ben").list()] == ["mem0:b2e4"]
            assert memory.admin.verify().ok

            # While both systems run: what changed in mem0 since then becomes the next version.
            blue = {**DUMP["results"][0], "memory": "Ana's kayak is blue.", "updated_at": "2026-07-01T10:00:00-07:00"}
            dump.write_text(json.dumps([blue]), encoding="utf-8")
            assert memory.admin.import_file(dump).stored == 1
            assert memory.get("mem0:8f1c").content == "Ana's kayak is blue."
            assert "Ana's kayak is red." in [event.content for event in memory.history("mem0:8f1c")]

        # Code written for mem0 goes on over the same folder: only its import changes.
        m = Mem0(f"{folder}/memory")
        m.add("I lend the kayak to Ben on Sundays.", user_id="ana")
        found = m.search("Who borrows the kayak?", filters={"user_id": "ana"})["results"]
        print(f"mem0's interface: {found[0]['memory']}")
        assert found[0]["memory"] == "I lend the kayak to Ben on Sundays."
        m.close()
    print("All as expected.")


if __name__ == "__main__":
    main()
