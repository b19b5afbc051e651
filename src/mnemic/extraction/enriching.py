"""Enrichment without a model: what a statement is, what it is about and what it names, read from its text alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.extraction.kinds import category_of, is_technical, type_of
from mnemic.extraction.mentions import entities_in, files_in
from mnemic.text.keyphrases import keyphrases
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import MemoryType

__all__ = ["Enrichment", "enrich"]

SHORT = 200
"""Characters of a text that is its own summary."""
SUMMARY = 320
"""Characters of the longest summary."""
KEYWORDS, TAGS = 5, 3
READ = 20_000
"""Characters of a text that are looked at."""
READ_SENTENCES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrichment:
    """What a text yields beside itself.

    Attributes:
        summary: one or two of its sentences; None when the text is short enough to be its own.
        keywords: up to five keyphrases, best first, three or more wherever the text holds so many.
        tags: two or three lower-case topic words where the text gives so many.
        type: what kind of memory it is.
        category: one of ``kinds.CATEGORIES`` or None.
        confidence: how plainly it is stated, 0 to 1: .9, less for each hedge (maybe, I think), .3 for a question.
        related_files: paths, file names and modules it names, at most 20.
        related_entities: people, places, products, hosts and identifiers it names, at most 20.
    """

    summary: str | None
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    type: MemoryType
    category: str | None
    confidence: float
    related_files: tuple[str, ...]
    related_entities: tuple[str, ...]


# Topics, and the words that tell of them; matched by their terms, so that plurals and inflections count.
_TOPICS = {
    "schedule": "meeting meetings appointment calendar schedule morning afternoon standup deadline agenda",
    "food": "eat food restaurant dinner lunch breakfast cook recipe meal coffee tea vegan vegetarian bake snack "
    "dessert",
    "health": "allergy allergic doctor dentist hospital surgery medicine medication pill therapy diabetes illness "
    "diet blood",
    "sport": "run running gym yoga swim marathon football tennis cycling hike hiking climbing workout kilometre "
    "training",
    "travel": "trip travel flight hotel vacation holiday airport train passport visa journey abroad",
    "family": "mother father mom mum dad wife husband son daughter sister brother parent cousin grandmother "
    "grandfather aunt uncle",
    "pets": "dog cat puppy kitten pet hamster parrot rabbit vet",
    "home": "house flat apartment kitchen garden plant furniture rent landlord neighbour moved",
    "music": "music song band guitar piano concert jazz album vinyl violin singer",
    "books": "book novel author read reading library poem literature",
    "films": "film movie series cinema actor director episode",
    "work": "job manager boss colleague office salary promoted career company client hired employer",
    "education": "school university course exam degree student teacher study class lecture",
    "money": "budget price cost rent loan salary savings invoice tax mortgage",
    "database": "database sql postgres postgresql mysql sqlite mongodb redis query table schema migration index "
    "transaction",
    "api": "api endpoint rest graphql grpc request response route webhook",
    "testing": "test tests pytest unittest coverage mock fixture regression assertion",
    "deployment": "deploy deployment release docker kubernetes container rollout staging production helm ci pipeline",
    "security": "password token secret auth authentication login permission encryption oauth jwt tls vulnerability",
    "performance": "latency performance slow fast throughput benchmark profiling cache memory cpu bottleneck",
    "configuration": "config configuration setting env port timeout flag variable",
    "errors": "error exception crash bug failure leak traceback fix fixed",
    "frontend": "frontend css html react vue component button browser page ui",
    "documentation": "docs documentation readme guide wiki changelog adr",
    "logging": "log logs logging logger trace metrics alert monitoring",
}
# Topics of software; the others are everyday life's. The words of one are not looked for in a statement of the other.
_TRADE = frozenset(
    """database api testing deployment security performance configuration errors frontend documentation logging""".split()
)
_TOPIC_OF: dict[str, list[str]] = {}
_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|might|may be|could be|possibly|probably|i (?:think|guess|suppose|believe)|not sure|unsure|"
    r"seems?|apparently|presumably|supposedly|i[\u2019']m not certain|likely|if i remember|allegedly|roughly|kind of|"
    r"sort of)\b",
    re.IGNORECASE,
)


_FEELINGS = frozenset("proud anxious happy sad angry nervous excited glad tired afraid worried upset".split())


def _topics() -> dict[str, list[str]]:
    """Term to topics; made at the first use."""
    if not _TOPIC_OF:
        for topic, words in _TOPICS.items():
            for term in set(content_terms(words)):
                _TOPIC_OF.setdefault(term, []).append(topic)
    return _TOPIC_OF


def _singular(word: str) -> str:
    """A lower-case English noun without its plural; what is written otherwise is somebody's name and left alone."""
    if not word.isascii() or not word.islower() or len(word) < 5 or word.endswith(("ss", "us", "is", "ics", "news")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word.removesuffix("es") if word.endswith(("shes", "ches", "xes", "sses")) else word.removesuffix("s")


def _is_tag(word: str) -> bool:
    """A tag is a word: letters, with digits or hyphens between them, of bearable length."""
    return 1 < len(word) <= 40 and word[0].isalpha() and all(c.isalnum() or c in "-+#. " for c in word)


def _tags(text: str, phrases: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Known tags whose every word the text has or whose topic it is of, then its topics, then the heads of its keyphrases."""
    terms = Counter(content_terms(text))
    topics: Counter[str] = Counter()
    technical = is_technical(text)
    for term, count in terms.items():
        for topic in _topics().get(term, ()):
            topics[topic] += count * ((topic in _TRADE) == technical or topic == "schedule")
    topics = +topics
    fits: dict[str, int] = {}
    for tag in known:
        own = set(content_terms(tag.replace("-", " ").replace("_", " ")))
        if own and own <= terms.keys():
            fits[tag] = sum(terms[term] for term in own) + 1
        elif tag.lower() in topics:
            fits[tag] = topics[tag.lower()]
    used = sorted(fits, key=lambda tag: (-fits[tag], tag))
    general = [topic for topic, _ in topics.most_common()]
    heads = [_singular(phrase.split()[-1]).lower() for phrase in phrases]
    heads = [head for head in heads if head not in _FEELINGS]
    found = [tag.strip().lower() for tag in (*used, *general[:2], *heads)]
    return tuple(dict.fromkeys(tag for tag in found if _is_tag(tag)))[:TAGS]


def _cut(sentence: str, room: int) -> str:
    """The sentence, or as many of its first words as there is room for."""
    if len(sentence) <= room:
        return sentence
    return (sentence[: room - 1].rpartition(" ")[0] or sentence[: room - 1]).rstrip(" ,;:-") + "\u2026"


def _summary(text: str) -> str | None:
    """The one or two sentences that hold most of the words the text keeps coming back to, in their order.

    A sentence's worth is the mean weight of its distinct terms (how often the text has them) times the root of their
    number, a little more for the first; the second is chosen for the terms that the first left open.
    """
    if len(text.strip()) <= SHORT:
        return None
    pieces = [piece for piece in sentences(text[:READ])[:READ_SENTENCES] if any(c.isalnum() for c in piece)]
    if not pieces:
        return None
    held = [frozenset(content_terms(piece[:2_000])) for piece in pieces]
    weight = Counter(term for terms in held for term in terms)
    covered: frozenset[str] = frozenset()
    chosen: list[int] = []
    for _ in range(2):
        worth = [
            sum(weight[t] for t in terms - covered) / (len(terms) + 2) ** 0.5 * (1.3 if i == 0 else 1)
            for i, terms in enumerate(held)
        ]
        best = max((i for i in range(len(pieces)) if i not in chosen), key=lambda i: (worth[i], -i), default=None)
        if best is None or (chosen and (worth[best] == 0 or len(pieces[best]) + len(pieces[chosen[0]]) >= SUMMARY)):
            break
        chosen.append(best)
        covered = held[best]
    return _cut(" ".join(" ".join(pieces[i].split()) for i in sorted(chosen)), SUMMARY)


def _confidence(text: str) -> float:
    if text.rstrip().endswith(("?", "\uff1f")):
        return 0.3
    hedges = min(len(_HEDGES.findall(text[:READ])), 2)
    return (0.9, 0.65, 0.5)[hedges]


def enrich(text: str, *, type: MemoryType | None = None, known_tags: Sequence[str] = ()) -> Enrichment:
    """What a text is about, what it names and what kind of thing it is.

    Deterministic, without a model, and never raising: of a text in which nothing is found the fields are empty.

    Args:
        text: any text in any language; its first 20,000 characters count.
        type: its type where that is known already.
        known_tags: tags in use; those that fit are taken before new ones are made.

    Returns:
        The enrichment.
    """
    kind = type or type_of(text)
    phrases = keyphrases(text, most=KEYWORDS)
    return Enrichment(
        summary=_summary(text),
        keywords=tuple(phrases),
        tags=_tags(text[:READ], phrases, known_tags),
        type=kind,
        category=category_of(text, kind),
        confidence=_confidence(text),
        related_files=files_in(text),
        related_entities=entities_in(text),
    )
