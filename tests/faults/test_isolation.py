"""Users are walls: pairs of names made to be mistaken for each other, every way to read, and what could leak on the side."""

import io
import random
import unicodedata
import uuid

import pytest
from tests.battery import count, note

from mnemic import Memory, MnemicError, NotFound

PAIRS = count(150, 100_000)
SEPARATORS = (
    "/",
    "\\",
    ":",
    "|",
    "\x1f",
    "\x00",
    ".",
    "-",
    "_",
    "%",
    "*",
    "?",
    "[",
    "]",
    " ",
    "\t",
    "\n",
    "#",
    "@",
    "::",
    "..",
    "%2f",
    "\u200b",
)
STEMS = (
    "ana",
    "Ana",
    "caf\u00e9",
    "\u0130stanbul",
    "\ufb01nn",
    "user",
    "default",
    "1",
    "01",
    "null",
    "None",
    "'; --",
    "a" * 900,
    "\U0001f600",
    "\u03a3\u03b1\u03c3",
)


def twisted(draw: random.Random) -> tuple[str, str]:
    """Two names that some encoding, comparison or pattern would take for one another."""
    stem, sep = draw.choice(STEMS), draw.choice(SEPARATORS)
    tail = draw.choice(STEMS)[:20]
    first = draw.choice((stem, stem + sep + tail, sep + stem, stem + sep))
    second = draw.choice((
        first + sep, sep + first, first + "a", first[:-1] or "a", first.swapcase(), first.casefold(), first.upper(),
        unicodedata.normalize("NFD", first), unicodedata.normalize("NFKC", first), first + "\n", first + " ", " " + first, first + "\x00",
        first.replace(sep, sep + sep), first.replace(sep, ""), first.replace(sep, "%"), first.replace("a", "_"), "%", "_" * len(first), "*",
        first.encode().hex(), first * 2, tail + sep + stem, f"{stem}{sep}{sep}{tail}", first[::-1],
    ))  # fmt: skip
    return first[:1_000], (second if second and second != first else first + "\u0301")[:1_000]


def pairs() -> list[tuple[str, str]]:
    draw = random.Random(20260601)
    found = [twisted(draw) for _ in range(PAIRS)]
    return [(a, b if a != b else b[:-1] + ("x" if b[-1] != "x" else "y")) for a, b in found]


def filled(handle: Memory, canary: str) -> tuple[str, str]:
    """A memory, a message and a preference that hold a word nobody else has."""
    fact = handle.remember(f"The password of the garden gate is {canary}.", tags=[canary]).id
    said = handle.add(f"Ana keeps {canary} in the shed.", name=canary)[0].id
    handle.preferences["gate"] = canary
    return fact, said


def everything(handle: Memory, other: str) -> str:
    """All that a handle shows, in one text; ``other`` is somebody else's word, asked for by name."""
    dump = io.StringIO()
    handle.admin.export(dump)
    found = [
        *handle.search(f"garden gate {other}", k=50, include_expired=True), *handle.search(other, k=50), *handle.list(limit=None),
        *handle.list(tags=[other]), *handle.messages(), *handle.episodes(), handle.get_memory_context(f"What is {other}?", max_tokens=300),
        handle.get_memory_context(max_tokens=300), handle.sessions.current(), handle.preferences.get("gate"), *handle.admin.log(), dump.getvalue(),
    ]  # fmt: skip
    return repr(found)


@pytest.fixture(scope="module")
def memory():
    with Memory(":memory:", embedder="hashing", secrets="allow") as memory:
        yield memory


def test_no_pair_of_users_meets(memory):
    leaks = 0
    for first, second in pairs():
        root = uuid.uuid4().hex[
            :12
        ]  # a world of its own for each pair, or thousands of names would share rows by right
        here, there = memory.scoped(user=(root + first)[:1_000]), memory.scoped(user=(root + second)[:1_000])
        if here.scope.user == there.scope.user:
            continue
        mine, theirs = f"kx{uuid.uuid4().hex}", f"kx{uuid.uuid4().hex}"
        filled(here, mine)
        ids = filled(there, theirs)
        shown = everything(here, theirs)
        leaks += theirs in shown
        assert mine in shown
        assert here.preferences["gate"] == mine
        assert here.stats().messages == there.stats().messages == 1
        for id_ in ids:
            for call in (here.get, here.history, here.links.graph):
                with pytest.raises(NotFound):
                    call(id_)
            with pytest.raises(NotFound):
                here.update(id_, content="x")
            assert here.forget(ids=[id_]).rejected
        assert there.get(ids[0]).content.endswith(f"{theirs}.")
        assert [m.id for m in there.messages()] == [ids[1]]
    assert leaks == 0
    assert memory.admin.verify().ok
    note("isolation", pairs=PAIRS, leaks=leaks)


@pytest.mark.parametrize("level", ["project", "session"])
def test_no_pair_of_levels_meets(memory, level):
    for first, second in pairs()[:: 10 if len(pairs()) <= 500 else 50]:
        user = uuid.uuid4().hex
        here, there = memory.scoped(user=user, **{level: first}), memory.scoped(user=user, **{level: second})
        mine, theirs = f"kx{uuid.uuid4().hex}", f"kx{uuid.uuid4().hex}"
        scope = "session" if level == "session" else None
        here.remember(f"The gate opens with {mine}.", level=scope)
        there.remember(f"The gate opens with {theirs}.", level=scope)
        for reach in (level, "project+global"):
            found = [hit.text for hit in here.search("What opens the gate?", reach=reach)]
            assert found == [f"The gate opens with {mine}."], (first, second, reach)


def test_scores_do_not_tell_of_others(memory):
    """Nobody else's words move a score, a grade or a count."""
    here, there = memory.scoped(user="score"), memory.scoped(user="score ")
    for line in ("The heron stands in the reeds.", "The harbour opens at six.", "A letter came from Turin."):
        here.remember(line)

    def asked():
        result = here.search("heron in the harbour")
        return (
            [(h.id, h.score, dict(h.scores)) for h in result],
            result.evidence,
            result.probability,
            here.stats().memories,
        )

    before = asked()
    there.add([{"role": "user", "content": f"heron heron harbour {n}"} for n in range(50)])
    assert asked() == before


def test_what_is_known_elsewhere_is_not_known_here(memory):
    """Neither duplicates nor ids tell what another user holds."""
    here, there = memory.scoped(user="dup"), memory.scoped(user="Dup")
    there.remember("The safe is behind the painting.", id="safe")
    there.add("The safe is new.", id="m1")
    assert here.remember("The safe is behind the painting.").outcome == "stored"
    assert here.add("Another text entirely.", id="m1")[0].outcome == "stored"
    assert here.remember("Something else.", id="safe").outcome == "stored"
    with pytest.raises(MnemicError):
        here.links.add("safe", "nothing", "references")


def test_a_chain_of_derived_records_stays_with_its_user(tmp_path):
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        users = [memory.scoped(user=name) for name in ("ana", "ana/", "Ana", "ana\x00", "a\u0301na")]
        for number, user in enumerate(users):
            user.add_exchange(f"I moved to town number {number}.", "How is it?")
            user.add_exchange(f"My dog number {number} is called Rex.", "Lovely.")
        for user in users:
            user.process()
            user.consolidate()
        assert memory.admin.verify().ok
        for number, user in enumerate(users):
            text = everything(user, "town")
            assert f"number {number}" in text
            assert not [other for other in range(len(users)) if other != number and f"number {other}" in text]
