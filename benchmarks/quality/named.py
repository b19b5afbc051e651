"""Is the named one of n like things found first? ``python -m benchmarks.quality.named [--talk FILE] [--json FILE]``.

Each family states one fact of n things that differ in what names them: a number, an identifier, a version, a name. One
of them is asked for. The statements are messages or remembered ones, alone, in threads with replies, or amid talk of
the file given (LoCoMo's shape), before and after ``process()``. First: the first hit is the statement asked for.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.vectors import default_embedder
from mnemic import Memory, Message

SIZES = (2, 8, 20, 50)
BEGAN = datetime(2026, 2, 2, 9, tzinfo=UTC)
TALK = 200
FIRST_NAMES = """Ana Ben Carla David Elena Felix Greta Hugo Ines Jonas Karin Leo Mara Nils Olga Pavel Rosa Sven Tara Ugo Vera Walter
Xenia Yusuf Zoe Anton Berta Cyril Doris Emil Frida Georg Hanna Igor Julia Kurt Lena Milan Nora Oskar Petra Ralf Sara Tomas
Ursula Viktor Wanda Xavier Yara Zeno""".split()
CITIES = """Lisbon Porto Madrid Oslo Bergen Turin Genoa Vienna Graz Prague Brno Warsaw Gdansk Riga Vilnius Tallinn Helsinki Turku
Malmo Aarhus Ghent Bruges Lille Nantes Lyon Bremen Leipzig Zurich Basel Bern Athens Patras Sofia Varna Bucharest Cluj Zagreb
Split Belgrade Nis Skopje Tirana Dublin Cork Leeds York Bath Derby Perth Dundee""".split()


class Family(NamedTuple):
    """Like things: the statement and the question about one, given its name and its value, and the names in order."""

    says: str
    asks: str
    names: Sequence[str]
    values: Sequence[str]


def _numbers(start: int, step: int = 1, form: str = "{}") -> list[str]:
    return [form.format(start + step * i) for i in range(50)]


FAMILIES = {
    "tickets": Family("Ticket {} is assigned to {}.", "Who is ticket {} assigned to?", _numbers(4700), FIRST_NAMES),
    "racks": Family("Server rack {} is in hall {}.", "Where is rack {}?", _numbers(3), _numbers(141)),
    "rooms": Family("Room {} is booked by {}.", "Who booked room {}?", _numbers(201), FIRST_NAMES),
    "flights": Family("Flight LH{} goes to {}.", "Where does flight LH{} go?", _numbers(812, 3), CITIES),
    "versions": Family("Version 2.{} was released by {}.", "Who released version 2.{}?", _numbers(1), FIRST_NAMES),
    "people": Family("{}'s birthday party is in {}.", "Where is {}'s birthday party?", FIRST_NAMES, CITIES),
    "places": Family("The office in {} is run by {}.", "Who runs the office in {}?", CITIES, FIRST_NAMES),
    "files": Family("The file report_{}.csv belongs to {}.", "Whose is report_{}.csv?", _numbers(17), FIRST_NAMES),
    "errors": Family("Error E{} means the {} server is down.", "What does error E{} mean?", _numbers(1040), CITIES),
    "flats": Family(
        "Flat {} is rented by {}.",
        "Who rents flat {}?",
        [f"{n}{letter}" for n in range(1, 26) for letter in ("", "b")],
        FIRST_NAMES,
    ),
    "invoices": Family("Invoice {} was paid by {}.", "Who paid invoice {}?", _numbers(88), FIRST_NAMES),
    "buses": Family("Bus {} stops in {}.", "Where does bus {} stop?", _numbers(11), CITIES),
    "lockers": Family(
        "Locker {} has the code {}.",
        "What is the code of locker {}?",
        [f"{letter}-{n}" for n in range(1, 26) for letter in "AB"],
        _numbers(7301, 13),
    ),
    "dogs": Family("My dog {} likes {}.", "What does {} like?", FIRST_NAMES, CITIES),
    "orders": Family("Order #{} ships to {}.", "Where does order #{} ship to?", _numbers(90310), CITIES),
    "meetings": Family("The {} team meets in room {}.", "Where does the {} team meet?", CITIES, _numbers(31)),
}
FORMS = ("messages", "statements", "threads")


def talk(path: Path | None, seed: int) -> list[Message]:
    """Two hundred turns of talk from a file of LoCoMo's shape, or none."""
    if path is None:
        return []
    conversation = json.loads(path.read_text())[seed % 5]["conversation"]
    turns = [turn for number in range(1, 40) for turn in conversation.get(f"session_{number}", ()) if turn.get("text")][
        :TALK
    ]
    return [
        Message(
            role="user",
            name=turn["speaker"],
            content=turn["text"],
            session="talk",
            sent_at=BEGAN + timedelta(minutes=i),
        )
        for i, turn in enumerate(turns)
    ]


def store(memory: Memory, said: Sequence[str], form: str, chat: Sequence[Message]) -> None:
    """Store statements in one of the forms, spread over talk."""
    every = max(1, len(chat) // max(len(said), 1))
    for number, text in enumerate(said):
        memory.add(list(chat[number * every : (number + 1) * every])) if chat else None
        at = BEGAN + timedelta(days=1 + number)
        if form == "statements":
            memory.remember(text, valid_at=at)
        else:
            turns = [Message(role="user", content=text, sent_at=at)]
            turns += [Message(role="assistant", content="Noted, thanks.", sent_at=at)] if form == "threads" else []
            memory.add(turns, session="thread" if form == "threads" else f"s{number}")


def trials(
    path: Path | None, sizes: Sequence[int], families: Sequence[str]
) -> Iterator[tuple[str, str, int, str, bool, str]]:
    """Each trial: family, form, n, whether processed, whether the right one came first, what came first."""
    embedder = default_embedder(None)
    for (seed, name), form, n in itertools.product(enumerate(families), FORMS, sizes):
        family, pick = FAMILIES[name], random.Random(f"{name} {form} {n}")
        chosen = pick.sample(range(50), n)
        values = pick.sample(list(family.values), n)
        said = [family.says.format(family.names[at], value) for at, value in zip(chosen, values, strict=True)]
        with Memory(":memory:", embedder=embedder) as memory:
            store(memory, said, form, talk(path, seed))
            asked = sorted({0, n // 2, n - 1})
            for when in ("before", "after"):
                for at in asked:
                    hits = memory.search(family.asks.format(family.names[chosen[at]]))
                    first = hits[0].text if hits else ""
                    yield (
                        name,
                        form,
                        n,
                        when,
                        first == said[at],
                        f"{family.asks.format(family.names[chosen[at]])} -> {first}",
                    )
                memory.process()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the share of trials in which the named one came first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talk", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--families", nargs="*", default=[*FAMILIES])
    parser.add_argument("--show", action="store_true", help="print what failed")
    arguments = parser.parse_args(argv)
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for family, form, n, when, first, what in trials(arguments.talk, arguments.sizes, arguments.families):
        for group in (("all", "all"), ("family", family), ("form", f"{form} {when}"), ("n", str(n))):
            right[group].append(first)
        if arguments.show and not first:
            print(f"  {family} {form} {n} {when}: {what}")
    for (kind, value), found in sorted(right.items()):
        print(f"{kind:7} {value:20} {100 * sum(found) / len(found):5.1f} %  of {len(found)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
