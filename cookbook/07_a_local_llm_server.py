"""A language model on your own machine: any server that speaks OpenAI's protocol, such as Ollama, llama.cpp or vLLM.

Without settings it starts a stand-in for such a server, with four prepared answers; nothing leaves this machine. To ask a
real one, say where it is and what its model is called:

    MNEMIC_LLM_SERVER=http://localhost:11434/v1 MNEMIC_LLM_MODEL=qwen3:4b python cookbook/07_a_local_llm_server.py

Install: pip install "mnemic[llm,minilm]" httpx
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from mnemic import LanguageModel, Memory


def model_at(address: str, name: str) -> Model:
    """The model behind an address. With the package ``openai`` it is pydantic-ai's own, else twenty lines of HTTP."""
    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError:
        return by_hand(address, name)
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=address, api_key="none-needed"))


def by_hand(address: str, name: str) -> Model:
    """Any function that turns messages into a response is a model."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked = messages[-1]
        wanted = info.model_request_parameters.output_object
        body = {
            "model": name,
            "messages": [
                {"role": "system", "content": asked.instructions},
                {"role": "user", "content": "\n".join(str(part.content) for part in asked.parts)},
            ],
            "temperature": 0,
        }
        if wanted:
            schema = {"name": wanted.name, "schema": wanted.json_schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        async with httpx.AsyncClient(timeout=300, trust_env=False) as client:
            response = await client.post(f"{address}/chat/completions", json=body)
        found = response.raise_for_status().json()
        used = found.get("usage", {})
        usage = RequestUsage(input_tokens=used.get("prompt_tokens", 0), output_tokens=used.get("completion_tokens", 0))
        return ModelResponse(parts=[TextPart(found["choices"][0]["message"]["content"] or "")], usage=usage)

    return FunctionModel(answer, model_name=name)


# The stand-in

ANSWERS = {
    "segment": {"episodes": [{"topic": "a new flat", "first": 1, "last": 4}]},
    "narrate": {
        "episodes": [
            {"episode": 1, "title": "Ana settles in Lisbon", "story": "Ana moved to Lisbon, to Alfama. She has a cat, Pixel."}
        ]
    },
    "extract": {
        "prediction": "Ana tells how she is.",
        "statements": [
            {"statement": "Ana lives in a flat in Alfama, Lisbon.", "messages": [1], "confidence": 0.9},
            {"statement": "Ana has a cat called Pixel.", "messages": [3], "confidence": 0.9},
        ],
    },
    "enrich": {
        "memories": [
            {"memory": 1, "keywords": ["flat in Alfama", "Lisbon"], "tags": ["home"], "importance": 0.8},
            {"memory": 2, "keywords": ["cat Pixel"], "tags": ["pets"], "importance": 0.6},
        ]
    },
    "link": {"links": []},
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """``POST /v1/chat/completions``: the form of the answer that is asked for says which question it is."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stage = asked["response_format"]["json_schema"]["name"]
        message = {"role": "assistant", "content": json.dumps(ANSWERS[stage])}
        body = json.dumps(
            {
                "id": "1", "object": "chat.completion", "created": 0, "model": asked["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output belongs to the example."""


@contextmanager
def server() -> Iterator[tuple[str, str]]:
    """Address and model of the server to ask: yours, or the stand-in while it runs."""
    if yours := os.environ.get("MNEMIC_LLM_SERVER"):
        yield yours.rstrip("/"), os.environ.get("MNEMIC_LLM_MODEL", "default")
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as stand_in:
        threading.Thread(target=stand_in.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{stand_in.server_port}/v1", "stand-in"
        stand_in.shutdown()


def main() -> None:
    with server() as (address, name):
        print(f"Asking {name} at {address}")
        # A model on your own processor answers one question at a time, and takes its time.
        llm = LanguageModel(model_at(address, name), concurrency=1, timeout=300, retries=1)
        with Memory(":memory:", user="ana", embedder="hashing", llm=llm) as memory:
            memory.add(
                [
                    {"role": "user", "name": "Ana", "content": "I moved to Lisbon, the flat is in Alfama."},
                    {"role": "assistant", "content": "How do you like it?"},
                    {"role": "user", "name": "Ana", "content": "My cat Pixel hates the trams, I love them."},
                    {"role": "assistant", "content": "Give Pixel some time."},
                ],
                session="s1",
            )
            report = memory.process()
            for episode in memory.episodes():
                print(f"{episode.title}: {episode.content}")
            for known in memory.list(order="oldest"):
                print(f"- {known.content}  {', '.join(known.keywords)}")
            used = memory.stats().llm.stages
            for stage, usage in used.items():
                print(f"{stage}: calls {usage.calls}, tokens {usage.input_tokens} + {usage.output_tokens}")

            # Whatever a model answers, every message is processed and stays as it was said.
            assert (report.messages, report.waiting) == (4, 0)
            assert {*used} >= {"segment", "narrate", "extract"}
            assert len(memory.messages()) == 4
            assert memory.admin.verify().ok
            if name == "stand-in":
                assert memory.episodes()[0].title == "Ana settles in Lisbon"
                assert {known.content for known in memory.list()} >= {"Ana has a cat called Pixel."}
                assert report.fallbacks == 0
    print("All as expected.")


if __name__ == "__main__":
    main()
