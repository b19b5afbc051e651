"""Fits the weights of ``mnemic.knowledge.selection``, and prints them.

    python -m benchmarks.quality.worth_fit [--talk FOLDER ...] [--worth FILE] [--json OUT]

Worth: ``sentences_by_worth.json`` holds 2,850 sentences to an assistant by seven authors who knew no code: notes, requests, and
what is said in passing; ``messages_by_worth.json`` 870 whole messages by four others, with the sentences to note: pasted text, plain
facts, other people's words, requests with facts, and what two developers tell a coding assistant. Fitted on both, on the texts that need no memory, and on what ``selection_fit``
reads, in English, on top of the weights of words: on the vector of a sentence, and on the words and pairs of words that at least five of
these wrote. Frame: ``openings_by_frame.json`` holds 640 first and last sentences of messages
by two more, half of which say that the others are another's words or not real. The figures are those of each author left
out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality import regression
from benchmarks.quality.chats import percent
from benchmarks.quality.need_fit import DATA as TEXTS
from benchmarks.quality.need_fit import idle_texts
from benchmarks.quality.regression import TextRegression
from benchmarks.quality.selection_fit import START, Example, examples
from benchmarks.vectors import default_embedder
from mnemic import Message
from mnemic.embedders.readers import pack
from mnemic.knowledge import selection
from mnemic.text.english import is_english

HERE = Path(__file__).parent
SENTENCES, MESSAGES = HERE / "sentences_by_worth.json", HERE / "messages_by_worth.json"
OPENINGS, PLAIN = HERE / "openings_by_frame.json", ("note", "passing")
RIDGE, PHRASES_RIDGE = 0.3, 2.0
LEAST_AUTHORS = 6
NOTES = 1.27
"""What notes weigh together, where all others weigh 1."""
DEVELOPERS, DEVELOPER = ("messages 3", "messages 4"), 0.5
"""Who writes to a coding assistant, and what a sentence of theirs weighs, where one of the others weighs 1."""
DEFINITIONS = {
    "words": "sentences chosen by their words alone, in percent",
    "both": "sentences chosen with the vector and the phrases as well, in percent",
    "certain": "openings, and messages by their first or last sentence, that are certain frames, in percent",
}


def candidates(text: str) -> Iterator[selection.Candidate]:
    """The candidates of one message."""
    return selection.candidates([Message(role="user", content=text, id="m", sent_at=START)])


def ends_of(text: str) -> list[str]:
    """What opens and what ends a message with candidates."""
    return [end for one in list(candidates(text))[:1] for end in one.ends if end]


def by_worth() -> Iterator[tuple[Example, str]]:
    """The sentences and messages of the files, each with the name of its kind."""
    for author, kinds in json.loads(SENTENCES.read_text(encoding="utf-8")).items():
        for kind, texts in kinds.items():
            yield from ((Example(author, one, kind == "note"), kind) for text in texts for one in candidates(text))
    for number, author in enumerate(json.loads(MESSAGES.read_text(encoding="utf-8")), 1):
        for message in author:
            for one in candidates(message["text"]):
                noted = any(_same(note, one.text) for note in message["notes"])
                yield Example(f"messages {number}", one, noted), "note" if noted else message["kind"]
    for text in idle_texts():
        yield from ((Example("no need", one, label=False), "no need") for one in candidates(text))


def _same(note: str, text: str) -> bool:
    note, text = (" ".join(one.casefold().split()) for one in (note, text))
    return note in text or text in note


def fitted(
    design: np.ndarray,
    odds: np.ndarray,
    notes: np.ndarray,
    ridge: np.ndarray,
    share: float = 1.0,
    rows: np.ndarray | float = 1.0,
) -> np.ndarray:
    """The (d + 1,) weights on top of the log odds of words; notes weigh ``share`` times as much as the others.

    ``rows``: what each row weighs, beside that.
    """
    weights = np.where(notes > 0, share / notes.sum(), 1 / (1 - notes).sum()) * len(notes) / 2 * rows
    design = np.hstack([design, np.ones((len(design), 1))])
    return regression.newton(design, notes, weights, np.append(ridge, 1e-6), offset=odds)


def fitted_worth(
    texts: Sequence[str], vectors: np.ndarray, odds: np.ndarray, notes: np.ndarray, authors: np.ndarray
) -> TextRegression:
    """The regression on the vectors and phrases of sentences, on top of the log odds of words."""
    phrases = regression.common_phrases(texts, authors.tolist(), LEAST_AUTHORS)
    ridge = np.repeat([RIDGE, PHRASES_RIDGE], [vectors.shape[1], len(phrases)])
    design = np.hstack([vectors, regression.spoken(texts, phrases)])
    rows = np.where(np.isin(authors, DEVELOPERS), DEVELOPER, 1.0)
    return TextRegression(phrases, fitted(design, odds, notes, ridge, NOTES, rows))


def fitted_symbols(symbols: np.ndarray, odds: np.ndarray, notes: np.ndarray) -> float:
    """The weight of the share of symbols in ``selection.WEIGHTS``, beside the other ones as they are.

    It was fitted as -20.5, before the lines that programs print were left out.
    """
    others = odds - selection.WEIGHTS["symbols"] * symbols
    return float(fitted(symbols[:, None], others, notes, np.array([0.01]))[0])


def fitted_frames(
    authors: Sequence[Mapping[str, np.ndarray]], messages: Sequence[tuple[str, np.ndarray]], plain: np.ndarray
) -> np.ndarray:
    """The (d + 1,) weights of frames against openings that are none and plain sentences.

    Of a message in another's words, the end that is more likely a frame by the openings alone counts as one.
    """
    frames, others = [author["frame"] for author in authors], [author["task"] for author in authors] + [plain]
    if messages:
        weights = fitted_frames(authors, (), plain)
        framed = (ends for kind, ends in messages if kind == "frame")
        frames += [ends[[int(np.argmax(ends @ weights[:-1]))]] for ends in framed]
        others += [ends for kind, ends in messages if kind in ("facts", "mixed")]
    vectors = np.vstack([*frames, *others])
    answers = (np.arange(len(vectors)) < sum(map(len, frames))).astype(np.float64)
    return fitted(vectors, np.zeros(len(vectors)), answers, np.full(vectors.shape[1], RIDGE))


def of_worth(
    texts: Sequence[str],
    vectors: np.ndarray,
    odds: np.ndarray,
    notes: np.ndarray,
    authors: np.ndarray,
    kinds: np.ndarray,
    most: int | None,
) -> dict[str, dict[str, float]]:
    """By author left out, of all or so many, and kind."""
    found: dict[str, dict[str, float]] = {}
    least, possible = (np.log(p / (1 - p)) for p in (selection.THRESHOLD, selection.POSSIBLE))
    plain = kinds != "frame"  # their sentences are as those of others: the frame decides
    for author in [*dict.fromkeys(authors[kinds != "talk"])][:most]:
        own = authors == author
        rest = ~own & plain
        others = fitted_worth(_those(texts, rest), vectors[rest], odds[rest], notes[rest], authors[rest])
        sums = np.full(len(odds), -np.inf)
        sums[own] = odds[own] + others.log_odds(_those(texts, own), vectors[own])
        for kind in dict.fromkeys(kinds[own]):
            part = own & (kinds == kind)
            found[f"{author}: {kind}"] = {
                "sentences": int(part.sum()),
                "words": percent(odds[part] >= least),
                "both": percent((odds[part] >= possible) & (sums[part] >= least)),
            }
    return found


def _those(texts: Sequence[str], mask: np.ndarray) -> list[str]:
    return [texts[at] for at in np.flatnonzero(mask)]


def of_frames(
    authors: Sequence[Mapping[str, np.ndarray]], messages: Sequence[Sequence[tuple[str, np.ndarray]]], plain: np.ndarray
) -> dict[str, dict[str, float]]:
    """How many openings, and messages by their ends, are certain frames, each author left out."""
    found: dict[str, dict[str, float]] = {}

    def judged(name: str, weights: np.ndarray, ends: Sequence[np.ndarray]) -> None:
        certain = [(one @ weights[:-1] + weights[-1]).max() >= selection.CERTAIN for one in ends]
        found[name] = {"number": len(ends), "certain": percent(certain)}

    for number, author in enumerate(authors, 1):
        rest = [other for other in authors if other is not author]
        weights = fitted_frames(rest, [*itertools.chain(*messages)], plain)
        for kind, vectors in author.items():
            judged(f"openings {number}: {kind}", weights, [row[None] for row in vectors])
    for number, author in enumerate(messages, 1):
        rest = [one for other in messages if other is not author for one in other]
        weights = fitted_frames(authors, rest, plain)
        for kind in dict.fromkeys(kind for kind, _ in author):
            judged(f"messages {number}: ends of {kind}", weights, [ends for own, ends in author if own == kind])
    return found


def main(given: Sequence[str]) -> dict[str, Any]:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.worth_fit", description=__doc__)
    parser.add_argument("--talk", type=Path, nargs="*", default=[], help="folders with files of talk")
    parser.add_argument("--left-out", type=int, help="leave out only so many authors of sentences, one after the other")
    parser.add_argument("--worth", type=Path, help="write the weights of sentences to this file")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    found = [*by_worth(), *((one, "talk") for one in examples(options.talk))]
    found = [(one, kind) for one, kind in found if is_english(one.candidate.asserted)]
    embedder = default_embedder()
    texts = [one.candidate.asserted for one, _ in found]
    vectors = embedder.embed(texts).astype(np.float64)
    frames = [
        {kind: embedder.embed(texts).astype(np.float64) for kind, texts in author.items()}
        for author in json.loads(OPENINGS.read_text(encoding="utf-8"))
    ]
    messages = [
        [(one["kind"], embedder.embed(ends).astype(np.float64)) for one in author if (ends := ends_of(one["text"]))]
        for author in json.loads(MESSAGES.read_text(encoding="utf-8"))
        if any(one["kind"] == "frame" for one in author)
    ]
    plain = (kinds[kind] for kinds in json.loads(SENTENCES.read_text(encoding="utf-8")).values() for kind in PLAIN)
    sentences = embedder.embed([text for texts in plain for text in texts]).astype(np.float64)
    embedder.close()
    odds = np.array([selection._log_odds(selection.features(one.candidate)) for one, _ in found])
    notes = np.array([float(one.label) for one, _ in found])
    authors, kinds = np.array([one.source for one, _ in found]), np.array([kind for _, kind in found])
    worths = of_worth(texts, vectors, odds, notes, authors, kinds, options.left_out)
    framed = of_frames(frames, messages, sentences)
    symbols = np.array([selection.features(one.candidate)["symbols"] for one, _ in found])
    print("symbols", round(fitted_symbols(symbols, odds, notes), 1))
    plain = kinds != "frame"
    if options.worth:
        worth = fitted_worth(_those(texts, plain), vectors[plain], odds[plain], notes[plain], authors[plain])
        options.worth.write_text(worth.to_json(), encoding="utf-8")
    print("frame", pack(fitted_frames(frames, [*itertools.chain(*messages)], sentences)))
    rows = [(name, *figure.values()) for name, figure in worths.items()]
    reporting.print_table("chosen, each author left out, %", ("kind", "sentences", "words", "both"), rows)
    rows = [(name, *figure.values()) for name, figure in framed.items()]
    reporting.print_table("frames, each author left out, %", ("kind", "number", "certain"), rows)
    data = {"sha256": {file.name: reporting.sha256(file) for file in (SENTENCES, MESSAGES, OPENINGS, TEXTS)}}
    result = reporting.document("quality.worth_fit", given, data=data, definitions=DEFINITIONS, figures=worths | framed)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
