"""One limit for names in every store: the longest name that is accepted can be stored, and indexed, everywhere."""

import random

import pytest

from mnemic import InvalidInput, Memory, Message
from mnemic.text.values import MAX_NAME

ALPHABETS = {"ascii": range(33, 127), "greek": range(0x3B1, 0x3C9), "chinese": range(0x4E00, 0x9F00), "emoji": range(0x1F600, 0x1F640)}  # fmt: skip


def name_of(alphabet, seed):
    """A name of the greatest length without a pattern that could be compressed."""
    width = len(chr(ALPHABETS[alphabet][0]).encode())
    return "".join(map(chr, random.Random(seed).choices(ALPHABETS[alphabet], k=MAX_NAME // width)))


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, tmp_path):
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else str(tmp_path)


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_the_longest_names_can_be_stored(location, alphabet):
    user, project, session, id_, role, speaker, tag, category, agent = (name_of(alphabet, seed) for seed in range(9))
    with Memory(location, user=user, project=project, session=session, embedder="hashing") as memory:
        memory.add(Message(role=role, content="I moved to Lisbon.", id=id_, name=speaker), agent=agent)
        held = memory.remember(
            "Ana likes tea.", level="session", key=name_of(alphabet, 9)[:200], tags=tag, category=category, agent=agent
        )
        memory.process()
        assert [message.id for message in memory.messages(session=session, speaker=speaker, role=role)] == [id_]
        assert [record.id for record in memory.list(tags=tag, category=category, agent=agent)] == [held.id]
        with pytest.raises(InvalidInput, match="bytes in UTF-8"):
            memory.scoped(user=f"{user}{user[0]}")
        with pytest.raises(InvalidInput, match="bytes in UTF-8"):
            memory.add("I moved to Porto.", id=f"{id_}{id_[0]}")
