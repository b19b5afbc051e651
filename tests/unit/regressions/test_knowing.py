"""What people say in plain words, and what must not become of it."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic import Memory, Message, Processing

DAY = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


def told(memory, *texts, at=DAY):
    """What is known once the texts were said, a day apart."""
    for day, text in enumerate(texts):
        memory.add(text, sent_at=at + timedelta(days=day))
        memory.process()
    return [record.content for record in memory.list(order="oldest")]


def test_a_session_starts_with_what_a_fact_leaves_out(memory):
    told(memory, "Default port is 8000.", "Port 8000 collides with Django. Let's use 8080 instead.")
    assert "8080" in memory.get_memory_context(max_tokens=800).text


class TestForgotten:
    @pytest.fixture
    def named(self, memory):
        """The id of what is forgotten, in an episode that tells of something else too."""
        talk = memory.scoped(session="talk")
        talk.add_exchange("I was diagnosed with diabetes last spring.", "I am sorry to hear that.")
        talk.add_exchange("My cat is called Miso.", "Nice.")
        memory.process()
        talk.sessions.end()
        return next(message.id for message in memory.messages() if "diabetes" in message.content)

    def everything(self, memory):
        said = [memory.get_memory_context(query, max_tokens=900) for query in ("What is my cat called?", None)]
        texts = [text for context in said for text in (context.text, context.to_prompt())]
        texts += [hit.text for hit in memory.search("diabetes", kinds=["message", "memory", "episode"], k=20)]
        return "\n".join([*texts, *(f"{e.title} {e.content}" for e in memory.episodes())])

    def test_no_story_and_no_summary_tells_it(self, memory, named):
        assert "diabetes" in self.everything(memory)
        memory.forget(ids=[named])
        assert "diabetes" not in self.everything(memory)
        assert "Miso" in self.everything(memory)
        assert memory.admin.verify().ok

    def test_it_is_told_again_when_it_comes_back(self, memory, named):
        before = [(e.title, e.content, e.message_ids) for e in memory.episodes()]
        memory.forget(ids=[named])
        memory.restore(named)
        assert [(e.title, e.content, e.message_ids) for e in memory.episodes()] == before
        assert memory.admin.verify().ok

    def test_an_episode_of_which_nothing_is_left_goes_and_comes_back(self, memory, named):
        (episode,) = memory.episodes()
        memory.forget(ids=episode.message_ids)
        assert memory.episodes() == []
        memory.restore(named)
        (again,) = memory.episodes()
        assert (again.id, again.message_ids) == (episode.id, episode.message_ids)
        assert "Miso" not in again.content
        assert memory.admin.verify().ok

    def test_a_summary_of_a_session_of_which_nothing_is_left_goes_and_comes_back(self, memory, named):
        (summary,) = (one for one in memory.list() if one.category == "session_summary")
        memory.forget(ids=[message.id for message in memory.messages()])
        assert memory.get(summary.id).status == "archived"
        memory.restore(named)
        again = memory.get(summary.id)
        assert again.status == "short_term"
        assert again.content != summary.content
        memory.forget(ids=[summary.id])
        memory.forget(ids=[named])
        memory.restore(named)
        assert memory.get(summary.id).status == "archived"

    @pytest.fixture
    def merged(self):
        """Two episodes in one, of which the first was restored beside it."""
        memory = Memory(":memory:", embedder="hashing", processing=Processing(merge_similarity_threshold=0.0))
        for name, said in (("pears", "I have grown pears in Oslo."), ("cat", "My cat is called Miso.")):
            memory.add([Message(role="user", content=said, id=name)], session=name)
            memory.process()
        (merged,) = memory.episodes()
        (part,) = (id_ for id_ in merged.source_ids if memory.get(id_).message_ids == ("pears",))
        memory.restore(part)
        with memory:
            yield memory, merged, part

    def test_a_part_of_a_merged_episode_that_was_restored_is_told_again_too(self, merged):
        memory, whole, part = merged
        memory.forget(ids=["pears"])
        (left,) = memory.episodes()
        assert (left.id, left.source_ids) == (whole.id, whole.source_ids)
        assert "Oslo" not in left.content
        memory.restore("pears")
        assert {episode.id for episode in memory.episodes()} == {whole.id, part}
        assert all("Oslo" in episode.content for episode in memory.episodes())
        assert memory.admin.verify().ok

    def test_a_part_of_a_merged_episode_that_was_restored_goes_on(self, merged):
        memory, whole, part = merged
        memory.add([Message(role="user", content="And plums in Oslo.", id="plums")], session="pears")
        report = memory.process()
        assert report.waiting == 0
        assert {episode.id: episode.message_ids for episode in memory.episodes()} == {
            whole.id: whole.message_ids,
            part: ("pears", "plums"),
        }
        memory.forget(ids=["pears"], hard=True)
        assert {episode.id: episode.message_ids for episode in memory.episodes()} == {
            whole.id: ("cat",),
            part: ("plums",),
        }
        assert memory.admin.verify().ok

    def test_one_of_its_messages_is_erased_while_another_is_forgotten(self, memory):
        said = (
            ("user", "My cat is called Miso."),
            ("assistant", "The cat door is open."),
            ("user", "I feed the cat at eight."),
        )
        memory.add([Message(role=role, content=text, id=f"m{at}") for at, (role, text) in enumerate(said)])
        memory.process()
        memory.forget(ids=["m1"])
        memory.forget(ids=["m0"], hard=True)
        (episode,) = memory.episodes()
        assert (episode.message_ids, episode.trust) == (("m1", "m2"), memory.get("m1").trust)
        assert "door" not in episode.content
        assert memory.admin.verify().ok
        memory.restore("m1")
        assert memory.episodes()[0].message_ids == ("m1", "m2")
        assert memory.admin.verify().ok

    def test_an_episode_that_was_forgotten_itself_stays_so(self, memory, named):
        memory.forget(ids=[memory.episodes()[0].id])
        memory.forget(ids=[named])
        memory.restore(named)
        assert memory.episodes() == []


def test_erasing_beside_what_was_forgotten_and_then_doubted(memory):
    doubted, other = (memory.remember(text).id for text in ("The bank has moved.", "The cat is called Miso."))
    memory.forget(ids=[doubted])
    memory.admin.quarantine(ids=[doubted], reason="a strange page")
    assert memory.forget(ids=[other], hard=True).ids == (other,)
    assert memory.admin.verify().ok


def test_what_was_made_of_a_restatement_is_named_by_the_hit_that_carries_it(memory):
    first = memory.remember("The kitchen of the flat is painted green.").id
    beside = memory.scoped(project="p")
    again = beside.remember("The kitchen of the flat is painted green!").id
    made = beside.remember("The flat has a green kitchen.", source_ids=[again]).id
    hits = memory.search("The kitchen of the flat is painted green", reach="user", kinds=["memory"])
    assert {id_ for hit in hits for id_ in (hit.id, *hit.similar, *hit.via)} == {first, again, made}


def test_what_the_prompt_shows_is_named(memory):
    told(
        memory,
        *(
            f"The port of server {name} is {8000 + n}."
            for n, name in enumerate(("Apollo", "Borneo", "Cyprus", "Dover", "Etna"))
        ),
    )
    context = memory.get_memory_context("What is the port of server Dover?", max_tokens=90)
    assert context.hits
    assert all(hit.text.split()[-1].rstrip(".") in context.to_prompt() for hit in context.hits)
    lines = [line for line in context.to_prompt().split("\n") if line.startswith("- ")]
    assert len(lines) == len({hit.text for hit in context.hits})


@pytest.mark.parametrize("processed", [False, True])
def test_a_context_says_what_it_is_worth(memory, processed):
    memory.add_exchange("I moved to Lisbon in March.", "How do you like it?")
    if processed:
        memory.process()
    for query in ("When did I move to Lisbon?", "hi"):
        context = memory.get_memory_context(query, max_tokens=300)
        assert context.hits
        for text in (context.text, context.to_prompt()):
            assert f"Evidence: {context.evidence}" in text.split("\n")[1]
    assert context.evidence == "none"
    assert "Evidence:" not in memory.get_memory_context().to_prompt()  # nothing was asked
