"""Edits of a session, as later objects on it see them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.llms import ChatMessage

from llama_index.memory.mnemic import MnemicChatMemory
from mnemic import Memory


def user(text):
    return ChatMessage(role="user", content=text)


def assistant(text):
    return ChatMessage(role="assistant", content=text)


def recalled(messages):
    return "\n".join(m.content for m in messages if "From earlier conversations." in m.content)


def texts(chat):
    return [message.content for message in chat.get_all()]


def opened(memory, session="monday"):
    return MnemicChatMemory(memory=memory, session_id=session, idle=False)


def test_what_an_edit_takes_out_stays_out_and_stays_evidence(memory):
    opened(memory).put_messages(
        [user("I have a dog."), assistant("Nice."), user("I live in Porto."), assistant("A town with bridges.")]
    )
    chat = opened(memory)
    chat.set(chat.get_all()[:-2])
    assert texts(opened(memory)) == ["I have a dog.", "Nice."]
    opened(memory).put_messages([user("I live in Lisbon."), assistant("A town with hills.")])
    kept = ["I have a dog.", "Nice.", "I live in Lisbon.", "A town with hills."]
    assert texts(opened(memory)) == kept
    assert [m.content for m in opened(memory).get("Where do I live, in Porto?")] == kept
    assert "I live in Porto." in recalled(opened(memory, "tuesday").get("Where do I live, in Porto?"))
    assert [m.content for m in memory.messages()][2:4] == ["I live in Porto.", "A town with bridges."]


@pytest.mark.parametrize("session", ["4111111111111111", "378282246310005", "my password is hunter2", "a/b:c #reset1"])
def test_whatever_its_name_an_edit_of_a_session_is_kept(memory, session):
    chat = opened(memory, session)
    chat.put_messages([user("Hi."), assistant("Hello."), user("I live in Porto."), assistant("Nice.")])
    chat.set(chat.get_all()[:2])
    assert texts(opened(memory, session)) == ["Hi.", "Hello."]


def test_an_answer_that_is_generated_again_takes_the_place_of_the_first(memory):
    chat = opened(memory)
    chat.put_messages([user("Hi."), assistant("Hello."), user("Tell me a joke."), assistant("No.")])
    chat.set(chat.get_all()[:-2])
    chat.put(user("Tell me a joke."))
    chat.put(assistant("A horse walks into a bar."))
    assert texts(opened(memory)) == texts(chat)
    assert [m.content for m in memory.messages()].count("Tell me a joke.") == 1


def test_an_emptied_history_stays_empty_and_is_recalled(memory):
    chat = opened(memory)
    chat.put_messages([user("I live in Porto."), assistant("Nice.")])
    chat.set([])
    assert texts(opened(memory)) == []
    assert "I live in Porto." in recalled(opened(memory).get("Do I live in Porto?"))
    chat.put_messages([user("Hi."), assistant("Hello.")])
    assert texts(opened(memory)) == ["Hi.", "Hello."]
    assert "I live in Porto." in recalled(opened(memory).get("Do I live in Porto?"))


def test_an_older_part_that_is_cut_off_is_loaded_and_recalled(memory):
    chat = opened(memory)
    chat.put_messages([user("I live in Porto."), assistant("Nice."), user("Hi."), assistant("Hello.")])
    chat.set(chat.get_all()[2:])
    assert "I live in Porto." in recalled(chat.get("Do I live in Porto?"))
    assert texts(opened(memory))[0] == "I live in Porto."


def test_a_first_message_in_other_words_takes_its_place(memory):
    chat = opened(memory)
    chat.put_messages([user("My dog is Rex."), assistant("Cute dog!"), user("Hi."), assistant("Hello.")])
    chat.set([user("My dog is Max."), *chat.get_all()[1:]])
    assert {*texts(opened(memory))} == {*texts(chat)}
    chat.set([])
    assert texts(opened(memory)) == []


def test_an_edit_takes_out_nothing_that_it_was_not_shown(memory):
    first, second = opened(memory), opened(memory)
    first.put_messages([user("Hi."), assistant("Hello.")])
    second.put_messages([user("I live in Lisbon."), assistant("Nice.")])
    first.set(first.get_all()[:1])
    assert texts(opened(memory)) == ["Hi.", "I live in Lisbon.", "Nice."]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-4, 4), max_size=8), st.booleans())
def test_a_session_is_opened_as_it_was_left(steps, each_opened):
    """A positive number puts so many messages, a negative one takes so many off the end, and 0 puts the last ones back."""
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        chat, taken = opened(memory), []
        chat.put(user("Text 0."))
        for number, step in enumerate(steps):
            chat = opened(memory) if each_opened else chat
            shown = chat.get_all()
            if step > 0:
                chat.put_messages([user(f"Text {number}.{at}.") for at in range(step)])
                taken = []
            elif step == 0:
                chat.set([*shown, *taken])
                taken = []
            else:
                chat.set(shown[:step])
                taken = [*shown[step:], *taken]
            assert texts(opened(memory)) == texts(chat)
        said = [message.content for message in memory.messages()]
        assert len({*said}) == len(said)  # nothing was erased, and nothing stored twice
