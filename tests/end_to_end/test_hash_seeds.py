"""The hash seed of a process changes nothing that is found, shown or kept."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import itertools, json, re
from datetime import UTC, datetime
from mnemic import Memory, Message
from mnemic.recall.context.packing import excerpt

quality = "benchmarks/quality/"
talk = json.load(open(quality + "talk_by_others/conversations.json"))[:6]
long = json.load(open(quality + "long_answers_by_others.json"))["beside"]
lines = [(line["who"], line["text"]) for one in talk for line in one["lines"]] + [(m["role"], m["content"]) for m in long]
questions = ["Where do I live?", "What can't I eat?", "What is my job?", *(m["content"] for m in long if m["role"] == "user")]
shown = []
with Memory(":memory:", user="ana", embedder="hashing", tokenizer=len) as memory:
    for n, (who, text) in enumerate(lines):
        at = datetime.fromtimestamp(1_790_000_000 + 600 * n, UTC)
        memory.add(Message(role="user" if who[0] == "u" else "assistant", content=text, id=str(n), sent_at=at))
    for processed in (False, True):
        for question in questions:
            shown.append([hit.text for hit in memory.search(question)])
            prompt = memory.get_memory_context(question, max_tokens=1200).to_prompt()
            shown.append(re.sub(r"<(/?memory) \\w+>", r"<\\1>", prompt))  # the fence of each record is another
        if not processed:
            memory.process()
    shown.append(sorted(record.content for record in memory.list()))
words = "otter badger heron adder stoat pike".split()
weights = {word: 0.1 * n for n, word in enumerate(words, start=1)}
for order in itertools.permutations(words, 4):  # sentences with the same words, in another order
    text = " ".join(f"Number {n} is {' '.join(order[n % 4 :] + order[: n % 4])}." for n in range(12))
    shown.append(excerpt(text, weights, 120))
print(json.dumps(shown))
"""


def test_two_hash_seeds_show_the_same():
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        )
        for seed in ("1", "2")
    ]  # fmt: skip
    assert runs[0].stdout == runs[1].stdout
    assert len(runs[0].stdout) > 5_000
