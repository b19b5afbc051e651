"""Claude's memory tool with its files in Mnemic: an assistant keeps notes, and the program searches them.

A travel assistant writes a file in one conversation and reads it in the next. Claude is played by a transport without a
network, so that this runs offline; with a key, Anthropic() and the same tool talk to the real one.

Install: pip install "anthropic-memory-mnemic[minilm]"
"""

import json
from tempfile import TemporaryDirectory

import httpx2
from anthropic import Anthropic

from anthropic_memory_mnemic import MnemicMemoryTool
from mnemic import Memory

TRIP = "/memories/trips/lisbon.md"


def calls(**command) -> dict:
    return {"type": "tool_use", "id": f"call_{command['command']}", "name": "memory", "input": command}


def says(text: str) -> dict:
    return {"type": "text", "text": text}


def scripted(*script: dict) -> tuple[Anthropic, list[str]]:
    """A client whose Claude answers from a script, and the results of the tool that it is shown."""
    blocks, results = iter(script), list[str]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        last = json.loads(request.content)["messages"][-1]["content"]
        results.extend(block["content"] for block in last if isinstance(block, dict) and block["type"] == "tool_result")
        block = next(blocks)
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        message = {
            "id": "msg", "type": "message", "role": "assistant", "model": "claude", "content": [block],
            "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=message)

    transport = httpx2.Client(transport=httpx2.MockTransport(answer))
    return Anthropic(api_key="none", http_client=transport), results


def talk(client: Anthropic, tool: MnemicMemoryTool, text: str) -> str:
    runner = client.beta.messages.tool_runner(
        model="claude-haiku-4-5",
        max_tokens=1000,
        tools=[tool],
        messages=[{"role": "user", "content": text}],
        betas=["context-management-2025-06-27"],
    )
    return runner.until_done().content[0].text


def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        ana = MnemicMemoryTool(memory, scope={"user": "ana"})

        # In the first conversation Claude looks at its files, finds none, and writes one.
        plan = "# Lisbon\n- leaves on 3 March\n- wants a hotel near the river\n"
        client, results = scripted(
            calls(command="view", path="/memories"),
            calls(command="create", path=TRIP, file_text=plan),
            says("I have noted it."),
        )
        assert talk(client, ana, "I fly to Lisbon on 3 March. Find a hotel near the river.") == "I have noted it."
        assert results[0].endswith("0B\t/memories")

        # In the next one it reads the file and changes a line. Its history keeps what it said before.
        client, results = scripted(
            calls(command="view", path=TRIP),
            calls(command="str_replace", path=TRIP, old_str="3 March", new_str="4 March"),
            says("Changed to 4 March."),
        )
        talk(client, ana, "I leave a day later.")
        print(results[0])
        assert "     2\t- leaves on 3 March" in results[0]
        notes = memory.scoped(user="ana")
        (note,) = notes.list()
        assert note.version == 2
        assert [event.content.count("3 March") for event in notes.history(note.id)] == [1, 0]

        # What Claude wrote is a memory like any other: the program finds it, and for nobody else.
        question = "When does the flight leave?"
        assert "leaves on 4 March" in notes.search(question)[0].text
        assert not memory.scoped(user="ben").search(question)

        # A deleted file is forgotten, and can be restored.
        client, _ = scripted(calls(command="delete", path="/memories/trips"), says("Deleted."))
        talk(client, ana, "Forget my trips.")
        assert not notes.search(question)
        notes.restore(note.id)
        assert "4 March" in ana.call({"command": "view", "path": TRIP})
    print("All as expected.")


if __name__ == "__main__":
    main()
