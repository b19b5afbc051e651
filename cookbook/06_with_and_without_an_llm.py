"""The same conversation made into knowledge by rule, and with a language model.

No model is asked and nothing leaves this machine: the model is a script that answers as one might. With your own it is
``Memory(..., llm="anthropic:claude-haiku-4-5")``.

Install: pip install "mnemic[llm,minilm]" pytest
"""

import re
import warnings
from datetime import UTC, datetime, timedelta

from mnemic import LanguageModel, Memory, Message
from mnemic.testing.language_models import FaultyModel, ScriptedModel, ScriptedRequest

EVENING = datetime(2026, 3, 9, 20, tzinfo=UTC)
TALK = (
    ("Ana", "Hi! I moved to Lisbon last week, the flat is in Alfama."),
    (None, "How lovely. Do you want tips for restaurants?"),
    ("Ana", "Gladly! I am allergic to walnuts."),
    (None, "Noted: no walnuts. You may like fish as well."),
    ("Ana", "By the way, the budget for the kitchen is 4,500 euros, not a cent more."),
    (None, "I will remember it."),
)


def messages() -> list[Message]:
    return [
        Message(
            role="user" if name else "assistant",
            name=name,
            content=text,
            sent_at=EVENING + timedelta(minutes=i),
            id=f"m{i}",
        )
        for i, (name, text) in enumerate(TALK, start=1)
    ]


def found(text: str, *numbers: int) -> dict[str, object]:
    return {"statement": text, "messages": list(numbers), "confidence": 0.9}


def told(story: str) -> dict[str, object]:
    """A question may hold several episodes; here it holds one."""
    return {"episodes": [{"episode": 1, "title": "Ana settles in Lisbon", "story": story}]}


def describe(request: ScriptedRequest) -> dict[str, object]:
    """The script may look at what it is asked."""
    keywords = ["Ana", "budget", "walnuts", "Alfama"]
    return {"memories": [{"memory": number, "keywords": keywords, "tags": ["home"]} for number in request.numbers]}


def judge(request: ScriptedRequest) -> dict[str, object]:
    """Which candidates a request to forget means: each has its number and its text in the question."""
    lines = re.findall(r"^\[(\d+)\] (.*)$", request.prompt, re.MULTILINE)
    return {"candidates": [{"candidate": int(number), "meant": "budget" in text} for number, text in lines]}


SCRIPT = {
    "segment": {"episodes": [{"topic": "arrival in Lisbon", "first": 1, "last": 6}]},
    "narrate": told(
        "Ana moved to Lisbon in the first week of March 2026; her flat is in Alfama. She is allergic to walnuts. "
        "For the kitchen she has 4,500 euros."
    ),
    "extract": {
        "prediction": "Ana says hello and asks for something.",
        "statements": [
            found("Ana lives in a flat in Alfama, Lisbon, since the first week of March 2026.", 1),
            found("Ana is allergic to walnuts.", 3),
            found("Ana's budget for the kitchen is 4,500 euros.", 5),
            found("Ana's budget for the bathroom is 9,999 euros.", 5),  # invented: the number was never said
        ],
    },
    "enrich": describe,
    "link": {"links": []},
    "forget": judge,
}

ANSWERS_TO_ONE = {
    "narrate": told("Ana moved to a flat in Alfama, Lisbon."),
    "extract": {"statements": [found("Ana's flat is in Alfama, Lisbon.", 1)]},
    "enrich": describe,
    "link": {"links": []},
}


def shown(title: str, memory: Memory) -> str:
    """Print what is known, and give it as one text."""
    print(f"\n{title}\n{'-' * len(title)}")
    for episode in memory.episodes():
        print(f"[{episode.title}] {episode.content}")
    known = [record.content for record in memory.list(order="oldest")]
    print("\n".join(f"- {text}" for text in known))
    return " ".join(known)


def main() -> None:
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(messages(), session="s1")
        report = memory.process()
        known = shown("By rule", memory)
        assert (report.messages, report.waiting, report.fallbacks) == (6, 0, 0)
        assert "walnuts" in known
        assert "fish" not in known  # the assistant supposed it
        assert memory.stats().llm is None

    model = ScriptedModel(SCRIPT)
    with Memory(":memory:", user="ana", embedder="hashing", llm=model) as memory:
        memory.add(messages(), session="s1")
        assert model.calls == {}  # storing asks nothing
        memory.process()
        known = shown("With a language model", memory)
        assert [episode.title for episode in memory.episodes()] == ["Ana settles in Lisbon"]
        assert "4,500" in known
        assert "9,999" not in known  # refused: it rests on nothing
        kitchen = memory.search("kitchen", kinds=["memory"], k=1)[0]
        assert memory.get(kitchen.id).source_ids == ("m5",)  # every fact names its evidence

        usage = memory.stats().llm.stages
        calls = sum(stage.calls for stage in usage.values())
        tokens = sum(stage.input_tokens + stage.output_tokens for stage in usage.values())
        print(f"{calls} questions and {tokens} tokens for 6 messages: {', '.join(usage)}")
        assert {stage: used.calls for stage, used in usage.items()} == {
            "segment": 1,
            "narrate": 1,
            "extract": 1,
            "enrich": 1,
        }
        memory.search("Where does Ana live?")
        assert sum(model.calls.values()) == calls  # searching asks nothing
        preview = memory.forget("what I may spend", dry_run=True)  # no word of the request was said
        gone = [receipt.reason for receipt in preview if receipt.outcome == "forgotten"]
        print(f'"what I may spend" would take: {gone}')
        assert gone
        assert all("budget" in text for text in gone)

    # A service that is down costs quality, nothing else. When it is back, the episode is told again.
    broken = FaultyModel("500", ANSWERS_TO_ONE, times=None)
    with Memory(":memory:", user="ana", embedder="hashing", llm=LanguageModel(broken, retries=0)) as memory:
        memory.add(messages()[:1], session="s1")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            report = memory.process()
        assert "Without the language model for now" in str(told[0].message)  # said once
        assert memory.stats().llm.state == "unreachable"
        print(f"\nWhile it is down: told by rule: {memory.episodes()[0].title}")
        assert (report.messages, report.waiting) == (1, 0)
        assert report.fallbacks > 0
        assert memory.stats().pending["refine"] == 1
        broken.recover()
        memory.process()
        print(f"When it is back:  {memory.episodes()[0].title}")
        assert memory.episodes()[0].title == "Ana settles in Lisbon"
        assert "refine" not in memory.stats().pending
        assert memory.admin.verify().ok
    print("All as expected.")


if __name__ == "__main__":
    main()
