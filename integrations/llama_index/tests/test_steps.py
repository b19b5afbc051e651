"""ReActAgent puts all steps of a turn as one message, and CodeActAgent what code printed as words of the user: no evidence."""

import pytest
from llama_index.core.agent.workflow import CodeActAgent
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata

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


class Coder(CustomLLM):
    """Runs code once, and then answers."""

    answers: list[str]

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **_):
        return CompletionResponse(text=self.answers.pop(0))

    def stream_complete(self, prompt, formatted=False, **_):
        yield self.complete(prompt)


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning:inspect")  # of the workflow engine
async def test_what_code_printed_is_nobody_s_words(memory, said):
    ran = []

    def execute(code):
        ran.append(code)
        return "I live in Prague and my sister is Eva."

    llm = Coder(answers=["Let me look.\n<execute>\nprint(page)\n</execute>", "The page tells of Prague."])
    chat = MnemicChatMemory(memory=memory, session_id="now")
    agent = CodeActAgent(code_execute_fn=execute, llm=llm, streaming=False)
    answer = await agent.run("What does the page say?", memory=chat)
    assert str(answer) == "The page tells of Prague."
    assert ran == ["print(page)"]
    assert said(memory) == ["What does the page say?", "Let me look.", "The page tells of Prague."]
    memory.process()
    assert not [one for one in memory.list() if "Prague" in one.content and "sister" in one.content]
    assert "Result of executing the code given:\n\nI live in Prague" in "\n".join(filter(None, texts(chat.get_all())))
    user_s = user("<execute> is a tag, and </execute> ends it.")
    chat.put(user_s)
    assert said(memory)[-1] == user_s.content
