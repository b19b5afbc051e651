"""A record full of things that can be recognised, in every state a record can be in: what erasing is tried on."""

import base64
import re
import secrets
import subprocess
import sys
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from tests.internals import runtime_of, store_of

from mnemic import Memory, Message
from mnemic.errors import EmbedderUnavailable
from mnemic.llm import LanguageModel
from mnemic.testing.language_models import ScriptedModel
from mnemic.text.terms import index_terms
from mnemic.types import Consolidate, Promotion, Revise

SCANNER = Path(__file__).with_name("scanner.py")
CANARY = re.compile(r"\b[A-F0-9]{24}\b")
STATES = (
    "message", "processed", "memory", "member", "successor", "session", "pending", "untrusted", "versions", "forgotten",
    "ended", "linked",
)  # fmt: skip


class Dense:
    """Vectors that tell every text from every other, and can be switched off."""

    id, dimension = "dense", 32

    def __init__(self):
        self.down = False

    def embed(self, texts, *, kind="document"):
        if self.down:
            raise EmbedderUnavailable("Switched off by the test.")
        return np.stack([self._one(text) for text in texts]).astype(np.float32)

    def _one(self, text):
        own = np.random.default_rng(_seed(text)).standard_normal(self.dimension)
        return own / np.linalg.norm(own)


def _seed(text):
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def _story(request):
    found = " ".join(dict.fromkeys(CANARY.findall(request.prompt))) or "nothing"
    numbers = re.findall(r"^episode (\d+): messages", request.prompt, re.MULTILINE)
    told = {"title": f"About {found}"[:100], "story": f"They spoke of {found}."}
    return {"episodes": [{"episode": int(number), **told} for number in numbers]}


def _facts(request):
    """The model copies every canary into a statement of its own."""
    facts = []
    for number, line in re.findall(r"^\[(\d+)\](.*)$", request.prompt, re.MULTILINE):
        for canary in CANARY.findall(line):
            fact = {"statement": f"The code word is {canary}.", "messages": [int(number)], "type": "semantic"}
            facts.append(fact | {"confidence": 0.9})
    return {"prediction": "", "statements": facts[:20]}


def _descriptions(request):
    """And every canary into the summary, the keywords and the entities of a memory."""
    described = []
    for number, line in re.findall(r"^\[(\d+)\](.*)$", request.prompt, re.MULTILINE):
        found = CANARY.findall(line)
        described.append(
            {"memory": int(number), "summary": " ".join(found), "keywords": found[:3], "tags": [], "importance": 0.6,
             "related_entities": found[:3]}
        )  # fmt: skip
    return {"memories": described}


def _segments(request):
    numbers = request.numbers
    cut = [numbers[start : start + 4] for start in range(0, len(numbers), 4)]
    return {"episodes": [{"topic": "words", "first": part[0], "last": part[-1]} for part in cut]}


SCRIPT = {"segment": _segments, "narrate": _story, "extract": _facts, "enrich": _descriptions, "link": {"links": []}}


async def no_sleep(_):
    return


def opened(folder, embedder, *, user="ana", llm=True):
    model = LanguageModel(ScriptedModel(SCRIPT), sleep=no_sleep) if llm else None
    return Memory(folder, user=user, embedder=embedder, llm=model, durability="NORMAL")


@dataclass
class Item:
    """One thing that was told, with its canaries: text, metadata, tag, entity and path."""

    id: str
    state: str
    canaries: list[str] = field(default_factory=lambda: [secrets.token_hex(12).upper() for _ in range(5)])

    @property
    def content(self):
        text, _, _, entity, path = self.canaries
        return f"{text} is what {entity} wrote into src/{path}.py"

    @property
    def metadata(self):
        return {"deep": [{"key": self.canaries[1]}]}


def fill(memory, embedder, count):
    """Tell so many things, one after the other in every state there is."""
    items = [Item(secrets.token_hex(12).upper(), STATES[n % len(STATES)]) for n in range(count)]
    for item in items:
        if item.state == "processed":
            _tell(memory.scoped(session="talk"), item)
            memory.scoped(session="talk").add(f"And then? {item.id[-6:]}", role="assistant")
    memory.process()
    memory.scoped(session="talk").sessions.end()
    for n, item in enumerate(items):
        if item.state in ("member", "successor"):
            _group(memory, item, n)
        elif item.state not in ("message", "processed", "untrusted"):
            _remember(memory, item)
    for item in items:
        if item.state in ("message", "untrusted"):
            _tell(memory, item, role="tool" if item.state == "untrusted" else "user")
    for item in items:
        if item.state == "pending":
            embedder.down = True
            _tell(memory, Item(item.id + "-said", item.state, item.canaries))
    embedder.down = False
    return items


def _tell(memory, item, role="user"):
    said = Message(role=role, name=item.canaries[2], content=item.content, id=item.id, metadata=item.metadata)
    assert memory.add([said])[0].outcome == "stored"


def _remember(memory, item, **more):
    place = memory.scoped(session="own") if item.state == "session" else memory
    level = {"level": "session"} if item.state == "session" else {}
    told = place.remember(item.content, id=item.id, tags=[item.canaries[2]], metadata=item.metadata, **level, **more)
    assert told.outcome == "stored", told
    if item.state == "versions":
        memory.update(item.id, content=f"Again: {item.content}")
    elif item.state == "forgotten":
        memory.forget(ids=[item.id], reason=f"because of {item.canaries[0]}")
    elif item.state == "ended":
        after = memory.remember(f"Something took the place of {item.id}", source_ids=[item.id]).id
        memory.links.add(after, item.id, "supersedes", reason=f"not {item.canaries[0]}")
    elif item.state == "linked":
        beside = memory.remember(f"Something that stays, number {secrets.token_hex(8)}").id
        memory.links.add(beside, item.id, "references", reason=f"says {item.canaries[0]}")


def _group(memory, item, n):
    """Two memories of which one stands for the other; every second time with a text that a model made of both."""
    memory.remember(item.content, id=item.id, tags=[item.canaries[2]], metadata=item.metadata)
    memory.remember(f"It is the {n}-th that stays", id=f"twin-{n}")
    head, member = (item.id, f"twin-{n}") if item.state == "successor" else (f"twin-{n}", item.id)
    revised = None
    if n // len(STATES) % 4 >= 2:
        record = memory.get(head)
        record = replace(record, content=f"{record.content}; {memory.get(member).content}", version=record.version + 1)
        ((_, index),) = runtime_of(memory).indexer.indexed([record])
        revised = Revise(record=record, indexing=index)
    promotion = Promotion(id=head, absorbed=(member,), revised=revised)
    change = Consolidate(id=f"con-{n}", promotions=(promotion,), contradictions=(), judged=())
    store_of(memory).apply(memory.scope.user, [change])


def forms(canary):
    """A canary as it may stand in a file."""
    text = canary.encode()
    found = {text, text.lower(), canary.encode("utf-16-le"), canary.encode("utf-16-be"), text[:12], text[12:]}
    found |= {text[:12].lower(), text[12:].lower(), b"".join(b"\\u%04x" % value for value in text)}
    for shift in range(3):  # within longer text, base64 begins at any of three places
        found.add(base64.b64encode(b"\0" * shift + text)[4 if shift else 0 : -4])
    found |= {term.encode() for term in index_terms(canary)}
    return {form for form in found if len(form) >= 12}


def vectors_of(memory, items):
    """The bytes of the vectors of items, as they are stored and as they are in memory; whole and both halves."""
    held = store_of(memory).knowledge.vectors("ana", [item.id for item in items])
    found = {}
    for id_, vectors in held.items():
        rows = (vectors.text, *vectors.passages)
        blobs = [row.astype(form).tobytes() for row in rows for form in ("<f2", "<f4")]
        found[id_] = {part for blob in blobs for part in (blob, blob[: len(blob) // 2], blob[len(blob) // 2 :])}
    return found


def scan(folder, side, needles):
    """The needles that stand in the files of a folder."""
    side.write_text("\n".join(needle.hex() for needle in needles))
    command = [sys.executable, str(SCANNER), str(folder), str(side)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return {bytes.fromhex(line.split()[0]): line.split()[1] for line in done.stdout.splitlines()}
