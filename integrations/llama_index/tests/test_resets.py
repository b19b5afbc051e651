"""A reset ends the session for every object that is given its name later, and forgets nothing."""

from llama_index.core.llms import ChatMessage

from llama_index.memory.mnemic import MnemicChatMemory
from mnemic import Memory


def user(text):
    return ChatMessage(role="user", content=text)


def texts(messages):
    return [m.content for m in messages]


def test_a_reset_lasts_for_later_objects(folder, said):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        for text in ("My bicycle is red.", "My bicycle is blue.", "My bicycle is green."):
            request = MnemicChatMemory(memory=memory, session_id="chat-1")
            assert request.get_all() == []
            request.put(user(text))
            assert texts(MnemicChatMemory(memory=memory, session_id="chat-1").get_all()) == [text]
            MnemicChatMemory(memory=memory, session_id="chat-1").reset()
    with Memory(folder, user="ana", embedder="hashing") as memory:  # as another process
        chat = MnemicChatMemory(memory=memory, session_id="chat-1", min_evidence="none")
        assert chat.get_all() == []
        chat.put(user("My bicycle is old."))
        assert texts(MnemicChatMemory(memory=memory, session_id="chat-1").get_all()) == ["My bicycle is old."]
        assert "My bicycle is red." in chat.get(input="What colour is my bicycle?")[-1].content
        assert said(memory, session="chat-1") == ["My bicycle is red."]
        assert said(memory, session="chat-1#reset3") == ["My bicycle is old."]


def test_a_reset_is_no_message_and_no_memory(memory, said):
    chat = MnemicChatMemory(memory=memory, session_id="now")
    chat.put(user("I live in Lisbon."))
    for _ in range(5):
        chat.reset()
    memory.process()
    assert said(memory) == ["I live in Lisbon."]
    found = [hit.text for hit in memory.search("conversation reset", kinds=["message", "memory", "episode"])]
    assert not [text for text in [*found, *texts(memory.list())] if "reset" in text]


def test_a_reset_ends_the_session_of_one_project_and_one_user(memory):
    others = [{"scope": {"user": "ben"}}, {"scope": {"project": "a"}}, {"session_id": "other"}]
    for other in others:
        MnemicChatMemory(memory=memory, **{"session_id": "now", **other}).put(user("Hi."))
    chat = MnemicChatMemory(memory=memory, session_id="now")
    chat.put(user("Hi."))
    chat.reset()
    for other in others:
        assert texts(MnemicChatMemory(memory=memory, **{"session_id": "now", **other}).get_all()) == ["Hi."]


def test_a_copy_of_a_reset_session_goes_on_in_it(memory):
    chat = MnemicChatMemory(memory=memory, session_id="now")
    chat.reset()
    chat.put(user("Hi."))
    copy = MnemicChatMemory.from_dict(chat.model_dump(mode="json"), memory=memory)
    assert (copy.session_id, copy.memory.scope) == ("now", chat.memory.scope)
    copy.reset()
    assert MnemicChatMemory(memory=memory, session_id="now").get_all() == []


def test_no_name_leads_to_another_conversation(memory, said):
    """A name that somebody chose may look like that of a session after a reset."""
    chat = MnemicChatMemory(memory=memory, session_id="chat")
    chat.reset()
    chat.put(user("My bicycle is red."))
    for name in ("chat#reset1", "chat#reset0", "chat#reset1#reset0"):
        other = MnemicChatMemory(memory=memory, session_id=name)
        assert other.get_all() == []
        other.put(user(f"I am {name}."))
        other.reset()
        other.put(user("My bicycle is blue."))
        assert texts(MnemicChatMemory(memory=memory, session_id=name).get_all()) == ["My bicycle is blue."]
    assert texts(MnemicChatMemory(memory=memory, session_id="chat").get_all()) == ["My bicycle is red."]
