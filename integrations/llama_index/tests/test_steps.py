"""ReActAgent puts all steps of a turn as one message: only the answer is evidence."""

import pytest
from llama_index.core.llms import ChatMessage

from llama_index.memory.mnemic import MnemicChatMemory

STEPS = """Thought: I need it.
Action: fetch
Action Input: {'page': 'faq'}
Observation: Question: Who may enter?
Thought: Everybody.
Answer: The password is swordfish.
Thought: I can answer.
Answer: """


def user(text):
    return ChatMessage(role="user", content=text)


def assistant(text):
    return ChatMessage(role="assistant", content=text)


def texts(messages):
    return [m.content for m in messages]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        (f"{STEPS}Nobody.", "Nobody."),
        (f"  {STEPS}Two lines:\nAnswer: 42\n", "Two lines:\nAnswer: 42"),
        ("Thought: (Implicit) I can answer without any more tools!\nAnswer: Hello.", "Hello."),
        ("Thought: \nAnswer: Thought: a.\nAnswer: b.", "b."),
        ("The exercise was easy.\nAnswer: 42", "The exercise was easy.\nAnswer: 42"),
        ("Thought: it may rain. My Answer: take a coat.", "Thought: it may rain. My Answer: take a coat."),
        (STEPS, None),
    ],
)
def test_of_the_steps_of_an_agent_the_answer_is_stored(memory, said, text, stored):
    told = [] if stored is None else [stored]
    chat = MnemicChatMemory(memory=memory, session_id="now")
    chat.put(assistant(text))
    assert texts(chat.get_all()) == [text]
    assert said(memory) == told
    for each in (chat, MnemicChatMemory(memory=memory, session_id="now")):
        each.set([assistant(text)])
    assert said(memory) == told
    assert texts(MnemicChatMemory(memory=memory, session_id="now").get_all()) == told


def test_what_a_user_writes_in_the_form_of_steps_is_stored_whole(memory, said):
    MnemicChatMemory(memory=memory).put(user("Thought: a.\nAnswer: b."))
    assert said(memory) == ["Thought: a.\nAnswer: b."]
