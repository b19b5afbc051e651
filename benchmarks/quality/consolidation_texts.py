"""Statements for the consolidation benchmark: drawn from lists, told again in other frames, or with another value."""

from __future__ import annotations

import random

__all__ = ["conflicting_pair", "restatements", "reworded", "statement"]

NAMES = """Ana Ben Carla David Elena Felix Greta Hugo Ines Jonas Katja Luis Maya Nils Olga Pedro Quinn Rosa Samir Tara Uwe
Vera Walter Xenia Yusuf Zoe Amir Bianca Cem Dora Emil Farid Gina Hanna Ivan Julia Karim Lea Mateo Nora""".split()
ACTS = (
    "keeps", "repairs", "paints", "collects", "sells", "restores", "photographs", "studies", "designs", "lends out", "rents",
    "cleans", "teaches about", "writes about", "dreams of", "saves money for", "is proud of", "inherited", "lost", "misses",
    "bought", "builds", "complains about", "is insured for", "tests",
)  # fmt: skip
QUALITIES = (
    "old small wooden blue heavy broken foreign antique cheap electric green narrow plastic silver round".split()
)
OBJECTS = """bicycle guitar kayak telescope oven tractor violin camera sofa clock tent piano ladder drone greenhouse lamp
typewriter aquarium carpet trumpet boat scooter wardrobe microscope chessboard mirror generator pottery quilt saddle
accordion projector barrel hammock sewing-machine globe canoe furnace drum bookcase""".split()
PLACES = (
    "in the cellar", "at the harbour", "behind the church", "on the roof", "near the station", "for the school", "in the attic",
    "with the neighbours", "at the market", "for the theatre", "in the garden", "by the river", "for the museum", "at the office",
    "in the village hall", "on the balcony", "for the choir", "at the campsite", "in the workshop", "near the vineyard",
)  # fmt: skip
BEFORE = ("As far as I know, {s}.", "Please note that {s}.", "I said that {s}.", "Just so you know, {s}.")
AFTER = ("{s}, by the way.", "{s}, as mentioned.", "{s}, as I said.", "{s}, you know.")
OTHERS = {
    "keeps": "stores", "repairs": "fixes", "collects": "gathers", "photographs": "takes pictures of", "bought": "purchased",
    "builds": "constructs", "lost": "mislaid", "studies": "examines", "restores": "renovates", "tests": "tries out",
    "cleans": "washes", "misses": "longs for", "rents": "hires", "designs": "drafts",
}  # fmt: skip


def statement(draw: random.Random, seen: set[str] | None) -> str:
    """A sentence without its full stop; one that was not drawn before, where ``seen`` is given."""
    while True:
        text = f"{draw.choice(NAMES)} {draw.choice(ACTS)} the {draw.choice(QUALITIES)} {draw.choice(OBJECTS)} {draw.choice(PLACES)}"
        if seen is None:
            return text
        if text not in seen:
            seen.add(text)
            return text


def restatements(draw: random.Random, said: str) -> tuple[str, ...]:
    """Three tellings of one statement: plain, with words before it, and with words after it."""
    return tuple(frame.format(s=said) for frame in ("{s}.", draw.choice(BEFORE), draw.choice(AFTER)))


def reworded(draw: random.Random, said: str) -> tuple[str, ...]:
    """Three tellings, of which one uses another word for the same, and one leaves a word out."""
    act = next((act for act in OTHERS if f" {act} " in said), None)
    second = said.replace(f" {act} ", f" {OTHERS[act]} ", 1) if act else f"it is known that {said}"
    quality = next(quality for quality in QUALITIES if f" {quality} " in said)
    third = said.replace(f" {quality} ", " ", 1)
    frames = ("{s}.", draw.choice(BEFORE), draw.choice(AFTER))
    return tuple(frame.format(s=text) for frame, text in zip(frames, (said, second, third), strict=True))


def conflicting_pair(draw: random.Random, said: str) -> tuple[str, str]:
    """A statement with two values: another number, date, name or polarity."""
    kind = draw.choice(("number", "date", "name", "polarity"))
    if kind == "number":
        first, second = draw.sample(range(2, 90), 2)
        return f"{said} since {first} years.", f"{said} since {second} years."
    if kind == "date":
        first, second = draw.sample(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), 2)
        return f"{said} every {first}.", f"{said} every {second}."
    if kind == "name":
        first, second = draw.sample([name for name in NAMES if name not in said], 2)
        return f"{said}, together with {first}.", f"{said}, together with {second}."
    return f"{said} willingly.", f"{said} but not willingly."
