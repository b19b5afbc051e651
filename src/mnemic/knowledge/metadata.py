"""Metadata of a memory by rule, from its text alone: type, category, keywords, tags, files and entities.

The rules are for English. In other languages the type is ``semantic`` without a category, unless a word or an
identifier indicates one; keywords, files, names and confidence work in every language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mnemic.text.english import MONTHS, WEEKDAYS, is_past, is_verb, names
from mnemic.text.sentences import sentences
from mnemic.text.terms import STOP_WORDS, content_terms
from mnemic.types import MemoryType

READ_CHARS = 20_000
"""Characters read of a text."""
WORDS = 4
"""Most words of a phrase; longer runs are cut."""
ENOUGH = 3
"""With this many phrases, those that are only a time are left out."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_TOKENS = re.compile(
    rf"(?P<url>(?:https?://|www\.)\S+)|[{_UNSPACED}]+"
    rf"|\.?(?:(?![{_UNSPACED}])\w)(?:(?:(?![{_UNSPACED}])[\w\u0300-\u036f\u0900-\u0dff])|[./\\@:_'\u2019-](?=\w)|[+#])*"
    r"|[^\w\s]"
)
# Function characters of Chinese, and the kana that joins words in Japanese: where a run without spaces is cut.
_JOINS = re.compile(
    "[\u7684\u4e86\u662f\u5728\u548c\u6211\u4f60\u4ed6\u5979\u5b83\u4eec\u5c31\u90fd\u800c\u4e0e\u4e5f\u3041-\u309f]+"
)
_STOPS = STOP_WORDS | frozenset(
    """always never ever every instead rather maybe perhaps still yet therefore without within across among per via
    us let cannot must shall may please whether since unless although though almost already else quite least less
    several whole toward towards upon back away around along behind beside everybody everyone everything somebody someone
    something anybody anyone anything nobody nothing none thing things stuff way ways sure fine good great nice better best
    bad new old big small true false yes hi hello thanks dear able next last ago later soon together apart near
    honestly terribly against""".split()
)
_SPANS = frozenset("day days week weeks month months year years hour hours minute minutes second seconds times".split())
_TIMES = _SPANS | frozenset(
    (*MONTHS, *WEEKDAYS, *"""today yesterday tomorrow tonight weekend o'clock morning afternoon evening night time once twice
    first third""".split())
)  # fmt: skip


def _runs(text: str) -> Iterator[list[str]]:
    """The tokens between punctuation; runs of scripts without spaces are split at particles."""
    run: list[str] = []
    for match in _TOKENS.finditer(text):
        token = match[0]
        if match["url"] or (len(token) == 1 and not token.isalnum()):
            yield run
            run = []
        elif (
            pieces := [piece[:8] for piece in _JOINS.split(token) if len(piece) > 1]
            if _IS_UNSPACED.match(token)
            else []
        ):
            yield run
            yield from ([piece] for piece in pieces)
            run = []
        else:
            run.append(token.removesuffix("'s").removesuffix("\u2019s"))
    yield run


def _ends_phrase(word: str, before: str, *, english: bool) -> bool:
    """Whether a phrase ends at this word, given the one before it in its run (empty at the start)."""
    lowered = word.lower().replace("\u2019", "'")
    if lowered in _STOPS or lowered.partition("'")[0] in STOP_WORDS:
        return True
    if not english:
        return len(word) <= 3 and word.islower()
    if not word.isalpha() or (word[0].isupper() and before):
        return False
    return is_verb(lowered, before.lower()) or (len(word) > 4 and lowered.endswith("ly"))


def _phrases(run: Sequence[str], *, english: bool) -> Iterator[tuple[str, ...]]:
    phrase: list[str] = []
    for before, word in pairwise(("", *run, "")):
        if word and not _ends_phrase(word, before, english=english):
            phrase.append(word)
            continue
        trimmed = list(phrase)
        while trimmed and (trimmed[-1].lower() in _TIMES or trimmed[-1].lower() in _NUMBERS):
            trimmed.pop()  # design team today: the design team
        yield tuple((trimmed or phrase)[:WORDS])
        phrase = []


_NUMBERS = frozenset("one two three four five six seven eight nine ten".split())


def _about_something(phrase: Sequence[str]) -> bool:
    """Whether a word is more than a number, a single letter or a time span."""
    return any(
        len(word) > 1 and any(map(str.isalpha, word)) and word not in _SPANS and word not in _NUMBERS for word in phrase
    )


def _is_time(phrase: Sequence[str]) -> bool:
    return all(word in _TIMES or not any(map(str.isalpha, word)) for word in phrase)


def keyphrases(text: str, *, most: int = 5) -> list[str]:
    """The phrases a text is about, best first, as they are written in it.

    Deterministic and made from the text alone. Made for English; elsewhere the shortest words are taken for function words,
    and scripts without spaces are cut at their commonest particles.

    Args:
        text: any text, in any language; its first 20,000 characters count.
        most: how many phrases at most, at least 0.

    Returns:
        Distinct phrases of one to four words, none of which lies within another, none only of verbs or numbers; times
        only where there are fewer than three others. Fewer than ``most``, down to none, when the text holds no more.
    """
    runs = list(_runs(text[:READ_CHARS]))
    spoken = {word.lower() for run in runs for word in run}
    english = len(spoken) < 6 or any(word in STOP_WORDS and len(word) > 1 for word in spoken)
    written = [phrase for run in runs for phrase in _phrases(run, english=english)]
    counts = Counter(word.lower() for phrase in written for word in phrase)
    spellings: dict[tuple[str, ...], tuple[str, ...]] = {}
    weights: dict[tuple[str, ...], float] = {}
    for position, phrase in enumerate(written):
        key = tuple(word.lower() for word in phrase)
        if key not in spellings and _about_something(key):
            named = any(word != lowered for word, lowered in zip(phrase, key, strict=True))
            repeated = sum(counts[word] for word in key) / len(key)
            spellings[key] = phrase
            weights[key] = repeated * len(key) ** 0.5 * (1 + named) / (1 + position / len(written))
    chosen: list[tuple[str, ...]] = []
    for key in sorted(spellings, key=lambda key: (_is_time(key), -weights[key])):  # stable: the first wins a tie
        if len(chosen) >= (min(most, ENOUGH) if _is_time(key) else most):
            break
        if not any(set(key) <= set(other) or set(other) <= set(key) for other in chosen):
            chosen.append(key)
    return [" ".join(spellings[key]) for key in chosen]


SHORT = 200
"""Texts up to this length need no summary."""
SUMMARY = 320
"""Characters of the longest summary."""
KEYWORDS, TAGS, NAMED = 5, 3, 20
HEAD_CHARS = 4_000
"""Characters that decide type and category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The metadata of a text.

    Attributes:
        summary: one or two of its sentences; None for a short text.
        keywords: up to five keyphrases, best first.
        tags: up to three lower-case topics, general ones first.
        type: the kind of memory.
        category: one of ``literals.CATEGORIES`` or None.
        confidence: certainty of the wording, 0 to 1: .9, less for each hedge (maybe, I think), .3 for a question.
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


def describe(text: str, *, type: MemoryType | None = None) -> Description:
    """Describe a text by rule.

    Deterministic and never raises; fields without a finding are empty.

    Args:
        text: any text in any language; its first 20,000 characters count.
        type: its type, if known.

    Returns:
        The description.
    """
    head = text[:HEAD_CHARS].strip()
    topics = _topics(head)
    kind = type or _type(head)
    phrases = keyphrases(text, most=KEYWORDS)
    files = _files(text[:READ_CHARS])
    return Description(
        summary=_summary(text),
        keywords=tuple(phrases),
        tags=_tags(topics, phrases),
        type=kind,
        category=_category(head, kind, topics),
        confidence=_confidence(text[:READ_CHARS]),
        related_files=files,
        related_entities=_entities(text[:READ_CHARS], files),
    )


def category_of(text: str) -> str | None:
    """The category of a text by rule: that of its description, without the rest of it."""
    head = text[:HEAD_CHARS].strip()
    return _category(head, _type(head), _topics(head))


# Topics of everyday life, work and software. Software terms behind the bar are also everyday words; one alone proves
# nothing.
_LIFE = {
    "family": "mother father mom mum dad parent wife husband partner son daughter sister brother cousin grandmother grandpa "
    "aunt uncle child baby friend married wedding birthday",
    "health": "allergy allergic doctor dentist hospital surgery pill therapy diabetes diet blood illness",
    "food": "restaurant dinner lunch breakfast cook recipe coffee tea vegetarian food",
    "home": "house flat apartment garden kitchen neighbour rent",
    "pets": "dog cat puppy rabbit pet vet",
    "travel": "trip flight hotel vacation holiday airport train passport",
    "sport": "gym yoga swim marathon football tennis cycle hike climbing",
    "culture": "music song guitar piano concert book novel film movie",
    "education": "school university exam degree kindergarten",
}
_WORK = {
    "work": "job work manager boss colleague office salary promote client customer hire resign interview employer team "
    "freelance company career budget",
    "schedule": "meeting appointment deadline standup",
}
_SOFTWARE = {
    "database": "database sql postgresql sqlite mongodb redis kafka schema migration | query index",
    "api": "api endpoint graphql grpc http backend microservice json | request route",
    "testing": "pytest unittest mock ci flaky | test fixture regression",
    "deployment": "deploy docker kubernetes staging rollout nginx build | release pipeline container image",
    "security": "oauth jwt tls encrypt authentication auth | token password login",
    "performance": "latency cpu cache throughput profiling traffic mb | memory",
    "configuration": "config env timeout ttl | port flag",
    "errors": "bug exception traceback deadlock | crash error",
    "frontend": "frontend css html react browser ui | component page",
    "code": "code codebase repository refactor commit decorator python numpy parser payload handler | module class function "
    "library script branch service server worker client hook upload job thread",
}
_Topics = Counter[str]


def _stems(*tables: dict[str, str], part: int | None = None) -> dict[str, str]:
    """Map terms to topics; words before the bar (0), behind it (1), or all."""
    return {
        term: topic
        for table in tables
        for topic, words in table.items()
        for term in content_terms(words if part is None else (*words.split("|"), "")[part])
    }


_EVERYDAY_TERMS = _stems(_LIFE, _WORK)
_SOFTWARE_TERMS, _AMBIGUOUS_TERMS = (_stems(_SOFTWARE, part=part) for part in (0, 1))
_CODE = re.compile(r"\b[A-Za-z]\w*_\w+\b|`[^`\n]+`|\w\(\)|(?<!\S)--[a-z]|\w\.(?:py|js|ts|go|rs|md|toml|ya?ml|json)\b|"
    r"\bv?\d+\.\d+\.\d+\b|\b\d+ ?(?:ms|[MG]i?B)\b|\b(?!Mc|Mac|De|Le)[A-Z][a-z]+[A-Z]\w+")  # fmt: skip


def _topics(text: str) -> _Topics:
    """Counts of topics in a text: software topics if it is about software, else the others."""
    terms = content_terms(text)
    weight = 2 * bool(_CODE.search(text)) + sum(
        2 * (term in _SOFTWARE_TERMS) + (term in _AMBIGUOUS_TERMS) for term in terms
    )
    table = {**_SOFTWARE_TERMS, **_AMBIGUOUS_TERMS} if weight > 1 else _EVERYDAY_TERMS
    counts = Counter(table[term] for term in terms if term in table)
    counts["software"] = weight > 1
    return counts


def _singular(word: str) -> str:
    """The singular of a lower-case English noun; other words are names and unchanged."""
    if (
        not word.isascii()
        or not word.islower()
        or len(word) < 5
        or word.endswith(("ss", "us", "is", "os", "ics", "news"))
    ):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word.removesuffix("es") if word.endswith(("shes", "ches", "xes", "sses")) else word.removesuffix("s")


def _tags(topics: _Topics, phrases: Sequence[str]) -> tuple[str, ...]:
    """Up to two topics, then the heads of the keyphrases."""
    general = [topic for topic, _ in topics.most_common() if topic != "software"]
    heads = [_singular(phrase.split()[-1]).lower() for phrase in phrases]
    tags = (
        tag for tag in (*general[:2], *heads) if 1 < len(tag) <= 40 and all(c.isalnum() or c in "-+#." for c in tag)
    )
    return tuple(dict.fromkeys(tags))[:TAGS]


# The type.

_FEELINGS = (
    "afraid amazed angry annoyed anxious ashamed bored calm crushed delighted depressed devastated disappointed "
    "embarrassed excited exhausted frustrated furious glad grateful guilty happy heartbroken homesick hopeful hurt jealous "
    "lonely lost miserable nervous overjoyed overwhelmed proud relieved sad scared shocked stressed terrified thankful "
    "thrilled torn unhappy upset worried"
)
_EMOTIONAL = re.compile(
    rf"\b(?:am|is|are|was|were|be|been|feels?|felt|feeling|gets?|got|became|makes? me|made me|\w['\u2019](?:m|re|s)) "
    rf"(?:(?!not\b)\w+ ){{0,2}}?(?:{_FEELINGS.replace(' ', '|')})\b"
    r"|\b(?:i|he|she|we|they) (?:\w+ )?(?:feels?|felt) (?!like\b|that\b)"
    r"|\b(?:in tears|cr(?:ied|ying)|panic attack|miss(?:es|ed)? (?:my|his|her|him|their|you|home)|dread|regret)\b",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"(?:please )?(?:always|never|do not|don['\u2019]t|make sure|be sure|how to)\b"
    r"|(?:to|when(?:ever)?|if|before|after|for) [^.!?]{3,90}?, (?:please |first,? |always |never |then )?(?P<then>\w+)"
    r"|(?:please |first,? |then,? )?(?P<first>\w+) (?!(?:is|are|was|were|has|have|had|must|should|will|of|by|times?)\b)",
    re.IGNORECASE,
)
_DAY = f"(?:{'|'.join(WEEKDAYS)})"
_MONTH = "|".join(month for month in MONTHS if month != "may")
_HABIT = re.compile(
    rf"\b(?:every|each|usually|often|always|never|daily|weekly|monthly|weekdays|{_DAY}s|(?:once|twice|times) a|"
    rf"most (?:\w+ings|days|weekends)|since (?:\d{{4}}|last|\w+ \d{{4}})|used to)\b",
    re.IGNORECASE,
)
_DATED = re.compile(
    rf"\b(?:yesterday|tonight|tomorrow|today|recently|(?:last|next|this) (?:night|week|weekend|month|year|spring|summer|"
    rf"autumn|winter|morning|afternoon|evening)|{_DAY}|\w+ ago|(?:in|on|by|until|since|\d{{1,2}}|of) (?:{_MONTH}|may \d)|"
    rf"\d{{1,2}} may|(?:{_MONTH}) \d{{1,4}}|in (?:19|20)\d\d|(?:19|20)\d\d-\d\d-\d\d)\b",
    re.IGNORECASE,
)
_NON_EVENT_VERBS = frozenset(
    "decided chose chosen agreed settled turns turned lesson learned realised realized born named called grew studied won "
    "moved set based limited allowed".split()
)
_PARTICIPLE_CONTEXT = frozenset(
    "is are am be been being get may can must should a an the my your his her its our their no".split()
)
"""Words after which a past form is a participle."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019]t)?")


def _words(text: str) -> list[str]:
    return [word.lower().replace("\u2019", "'") for word in _WORD.findall(text)]


def _type(text: str) -> MemoryType:
    """The type of a statement, by the first rule that fits.

    ``emotional``: it reports a feeling. ``procedural``: an instruction or a rule. ``episodic``: one event, in the past
    tense or on a date, and no habit. ``semantic``: everything else.
    """
    if _EMOTIONAL.search(text):
        return "emotional"
    if _is_instruction(text):
        return "procedural"
    if _HABIT.search(text):
        return "semantic"
    if _DATED.search(text):
        return "episodic"
    words = _words(text)
    past = any(is_past(word) and before not in _PARTICIPLE_CONTEXT for before, word in pairwise(("", *words)))
    return "episodic" if past and _NON_EVENT_VERBS.isdisjoint(words) else "semantic"


def _is_instruction(text: str) -> bool:
    """Whether it starts with always or never, a command, or a condition and a command."""
    rule = _RULE.match(text)
    if not rule:
        return False
    command = rule["then"] or rule["first"]
    return command is None or (command.lower() != "see" and not is_past(command.lower()) and is_verb(command.lower()))


# The category.

_CUES = {
    "bug_fix": "bug, bugs, crash, crashed, crashes, error, errors, exception, issue, fails, failed, failure, leak, race, "
    "deadlock, flaky, wrong, twice, typo, off by",
    "insight": "turns out, turned out, lesson learned, we learned, realised, realized, surprised, surprising, insight, "
    "bottleneck, showed, shows, revealed, faster, slower, better, worse, cheaper, halved, doubled",
    "preference": "prefer, prefers",
    "reference": "documented, described in, listed in, explained in, kept in, guide, wiki, runbook",
    "entity": "component owns, is responsible for",
    "constraint": "must, must not, cannot, can't, forbidden, never, don't, do not, limited to, required, nobody, at least, "
    "at most, have to, has to, no more than",
    "architecture_decision": "decided, decision, chose, chosen, picked, opted, settled, adopted, architecture, monolith, "
    "microservices, separate, split, instead of, replaced, moved from, moved to, migrated, talk over, talks to, goes through, "
    "going with, won over, we will",
    "configuration": "port, timeout, pool, env, config, configuration, configured, setting, settings, flag, default, defaults, "
    "set to, is set, enabled, disabled, maxmemory, replicas, caches, bucket, reachable, seconds",
    "code_pattern": "pattern, convention, inherits, subclass, decorator, wrap, named, naming, prefix, suffix, return, "
    "returned, every, each, all our, next to, functions that",
}
"""Cues of each category of software statements, tried in this order."""
_FIX_WORDS = frozenset("fix fixed fixes fixing patched resolved solved corrected removed gone caused came".split())
_ADVERBS = r"(?:\w+ly |also |always |still )*"
_PREFERS = re.compile(
    r"\b(?:prefer|favou?rite|dislike|(?:fan|fond) of|keen on|any day|can(?:['\u2019]|no)t stand)|"
    r"(?:['\u2019]d|\bwould|\bhad) (?:\w+ )?rather\b|"
    rf"\b(?:i|we|they) {_ADVERBS}(?:like|love|enjoy|hate)\b|"
    rf"\bdo(?:es)?(?:n['\u2019]t| not) {_ADVERBS}(?:like|love|enjoy|hate)\b|"
    rf"\b(?!(?:the|an?|my|your|his|her|its|our|their|of|and|no|\d+) )\w+ {_ADVERBS}(?:like|love|enjoy|hate)s\b",
    re.IGNORECASE,
)
"""Without a subject that settles it, "like" is a verb only in a form that a preposition has not: "Felt like flying"."""
_IS_A = re.compile(
    r"\b(?:is|are) (?:an?|the) (?:\w+[- ]){0,2}(?:class|module|function|service|component|library|package|table|tool|script|"
    r"worker|job|database|plugin|queue)\b|^(?:The )?`?[A-Z][a-z]+[A-Z]\w+`? \w+s (?:an?|the|all|every|each)\b"
)
_PERSONS = frozenset("i me my we our us he she his her him they their".split())


def _category(text: str, type: MemoryType, topics: _Topics) -> str | None:
    """The category of a statement, or None when no rule fits.

    A software statement has the first matching category. Others are a preference, work, or personal: with a person, a
    topic of private life, a feeling or an instruction.
    """
    words = _words(text)
    if topics["software"] and words:
        return next((category for category in _CUES if _matches_category(category, text, words)), None)
    if _PREFERS.search(text):
        return "preference"
    if topics.keys() & _WORK.keys():
        return "work"
    personal = topics.keys() & _LIFE.keys() or type in {"emotional", "procedural"} or not _PERSONS.isdisjoint(words)
    return "personal" if personal or (type == "episodic" and names(text)) else None


def _matches_category(category: str, text: str, words: Sequence[str]) -> bool:
    """Whether a software statement matches a category."""
    padded = f" {' '.join(words)} "
    cued = any(f" {cue} " in padded for cue in _CUES[category].split(", "))
    match category:
        case "bug_fix":
            return (cued and not _FIX_WORDS.isdisjoint(words)) or words[0] in {"fixed", "resolved", "solved", "patched"}
        case "preference":
            return bool(_PREFERS.search(text))
        case "reference":
            return cued or words[0] == "see" or bool(_URL.search(text))
        case "entity":
            return cued or bool(_IS_A.search(text))
        case "configuration":
            return cued or "=" in text or bool(re.search(r"\b[A-Z]+_[A-Z_]+\b", text))
        case _:
            return cued


# Summary and confidence.


def _summary(text: str) -> str | None:
    """The one or two sentences with most of the recurring words of a text, in their order.

    A sentence's worth is the mean frequency of its distinct terms times the root of their number, a little more for the
    first sentence; the second is chosen for terms that the first does not cover.
    """
    if len(text.strip()) <= SHORT:
        return None
    pieces = [piece for piece in sentences(text[:READ_CHARS])[:SHORT] if any(map(str.isalnum, piece))]
    piece_terms = [frozenset(content_terms(piece[:2_000])) for piece in pieces]
    weight = Counter(term for terms in piece_terms for term in terms)
    covered: frozenset[str] = frozenset()
    chosen: list[int] = []
    for _ in range(min(2, len(pieces))):
        worth = [
            sum(weight[t] for t in terms - covered) / (len(terms) + 2) ** 0.5 * (1.3 if i == 0 else 1)
            for i, terms in enumerate(piece_terms)
        ]
        best = max((i for i in range(len(pieces)) if i not in chosen), key=lambda i: (worth[i], -i))
        if chosen and (worth[best] == 0 or len(pieces[best]) + len(pieces[chosen[0]]) >= SUMMARY):
            break
        chosen.append(best)
        covered = piece_terms[best]
    return _truncate(" ".join(" ".join(pieces[i].split()) for i in sorted(chosen)), SUMMARY) or None


def _truncate(sentence: str, room: int) -> str:
    """Cut a sentence at a word to ``room`` characters."""
    if len(sentence) <= room:
        return sentence
    return (sentence[: room - 1].rpartition(" ")[0] or sentence[: room - 1]).rstrip(" ,;:-") + "\u2026"


_HEDGES = frozenset(
    """maybe perhaps might possibly probably think guess suppose believe unsure seem seems apparently presumably likely
    allegedly roughly""".split()
)


def _confidence(text: str) -> float:
    if text.rstrip().endswith(("?", "\uff1f")):
        return 0.3
    return (0.9, 0.65, 0.5)[min(sum(word in _HEDGES for word in _words(text)), 2)]


# Files and entities.

_EXTENSIONS = frozenset(
    """bash bat c cfg cjs conf cpp cs css csv db doc docx env go gz h hpp html ini ipynb java jpg js json jsonl jsx key kt lock
    log lua md mjs mp3 mp4 pdf pem php pkl png proto ps1 py pyi r rb rs rst sass scss sh so sql sqlite svg swift tar tex tf toml
    ts tsv tsx txt vue xls xlsx xml yaml yml zip""".split()
)
_ROOTS = frozenset("src lib app tests test docs scripts etc usr var home tmp".split())
_DOMAINS = frozenset("com org net io dev ai app edu gov co uk de fr".split())
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,15}://|www\.)(?:[^\s/@]*@)?([a-z0-9.-]*)[^\s<>\"'`)\]}]*", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s`\"'()\[\]{}<>,;!?*|=]+")
_BACKTICKS = re.compile(r"`([^`\n]{2,60})`")
_IDENTIFIER = re.compile(
    r"(?<![\w./-])(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[A-Z]\w*|[A-Za-z]\w*_\w+|[A-Za-z_]\w*(?=\(\)))(?![\w/-]|\.\w)"
)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Distinct texts by case-folded spelling, in order."""
    by_spelling: dict[str, str] = {}
    for text in texts:
        by_spelling.setdefault(text.casefold(), text)
    return tuple(by_spelling.values())[:NAMED]


def _is_part(name: str) -> bool:
    """Whether it is a name of a folder or file, or a drive (C:)."""
    return len(name) <= 100 and all(c.isalnum() or c in "_.@+~-" for c in name.removesuffix(":"))


def _is_file(token: str) -> bool:
    """Whether it is a file name: a stem with a known extension, a hidden file, or a Makefile; Node.js is a product."""
    stem, dot, extension = token.rpartition(".")
    if not dot:
        return token in {"README", "CHANGELOG", "LICENSE"} or (
            token[:1].isupper() and len(token) > 5 and token.endswith("file")
        )
    if not stem or stem == ".env":
        return len(token) > 3 and extension.islower()
    product = extension == "js" and (stem.lower() in {"node", "next", "nuxt"} or stem.lower() in _SOFTWARE_TERMS)
    is_named = extension.lower() in _EXTENSIONS and _is_part(stem) and len(stem) > (len(extension) == 1)
    return is_named and not product and any(map(str.isalpha, stem))


def _is_path(token: str) -> bool:
    """Whether it is a path of a file or folder; and/or, km/h and 24/7 are not."""
    parts = re.split(r"[\\/]", token)
    named = [part for part in parts if part]
    if not named or not all(map(_is_part, named)) or not any(map(str.isalpha, token)):
        return False
    rooted = parts[0] in {"~", ".", "..", ""} or named[0] in _ROOTS or named[0].endswith(":")
    return _is_file(named[-1]) or (rooted and (len(named) > 1 or not parts[-1]))


def _is_module(token: str, *, quoted: bool) -> bool:
    """Whether it is a dotted name of three parts, or of two in backticks, and not a host."""
    parts = token.split(".")
    dotted = all(part.isidentifier() and part.islower() and len(part) > 1 for part in parts)
    return dotted and parts[-1] not in _DOMAINS and len(parts) > (1 if quoted else 2)


def _files(text: str) -> tuple[str, ...]:
    """Paths, file names and module paths, in order; no URL, host, address, version number or abbreviation."""
    bare = _URL.sub(" ", text)
    quoted = {word for span in _BACKTICKS.findall(bare) for word in span.split()}
    files: list[str] = []
    for each in _TOKEN.findall(bare):
        token = re.sub(r"(?::\d+)+$", "", each.rstrip(".:"))
        if not token or "@" in token.split("/")[0]:
            continue
        slashed = "/" in token or "\\" in token
        if _is_path(token) if slashed else _is_file(token) or _is_module(token, quoted=token in quoted):
            files.append(token)
    return _distinct(files)


def _entities(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """Proper names, identifiers, text in backticks, and hosts, without files."""
    bare = re.sub(r"\S{300,}", " ", _URL.sub(" ", text))
    file_parts = {part.casefold() for file in files for part in (file, *re.split(r"[\\/]", file))}
    hosts = [host.strip(".").lower().removeprefix("www.") for host in _URL.findall(text)]
    hosts += [
        t.lower() for t in _TOKEN.findall(bare) if t.count(".") and t.rpartition(".")[2] in _DOMAINS and t[0].isalpha()
    ]
    quoted = [span.removesuffix("()") for span in _BACKTICKS.findall(bare) if span.count(" ") < 2]
    entities = (*(name for name in names(bare) if len(name) > 1), *quoted, *_IDENTIFIER.findall(bare), *hosts)
    return _distinct(each for each in entities if each and each.casefold() not in file_parts and "@" not in each)
