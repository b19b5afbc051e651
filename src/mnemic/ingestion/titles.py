"""A title for an episode: three to seven words that stand in it, put so that they read as a heading.

Candidates are cut from statements at the places where phrases begin and end: what somebody did or will do, as a gerund ("I'm
moving to Lisbon in June" gives "Moving to Lisbon in June"), and noun phrases. The one whose words tell most of the episode
wins.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from mnemic.ingestion.reported import bare
from mnemic.ingestion.turns import is_filler
from mnemic.text.common import is_common, rarity
from mnemic.text.irregular import BASE_FORMS
from mnemic.text.keyphrases import keyphrases
from mnemic.text.sentences import sentences
from mnemic.text.terms import STOP_WORDS, content_terms
from mnemic.types import Message

__all__ = ["counted", "title"]

FEWEST, MOST = 3, 7
LOOKED_AT = 2_000
"""Characters of a message from which a title is cut."""
MOST_SENTENCES = 12
LONGEST = 80
UNSPACED = 30
"""Characters of a title in a script without spaces."""
_MARKS = ".,;:!?()[]{}<>\"'*`#\u2026-\u201c\u201d"
_OF_SPEAKER, _OF_HEARER = 1.2, 0.8
"""What somebody says of himself tells more of an episode than what he says of the other."""

_NOTE = re.compile(r"\[[^\[\]]*\]\s*$")
_OWN = re.compile(r"\b(?:I|I['\u2019]\w+|[Mm]y|[Ww]e|[Oo]ur)\b")
_YOU = re.compile(r"\byou", re.IGNORECASE)
_INITIALS = re.compile(r"\b(?:[A-Z]\.){2,}")
_TITLES = re.compile(r"\b(Dr|Mr|Mrs|Ms|Prof|St|Mt|Hr|Fr|Jr|Sr|Co|Inc|Ltd)\.(?=\s|$)")
_WITH = re.compile(r"\bw/(o\b)? ?", re.IGNORECASE)
_AND = re.compile(r"(?<=\w) & (?=\w)")
_SLANG = re.compile(
    r"(?<![\w'-])(?:btw|lol|lmao|rofl|haha+|pls|plz|thx|tbh|imo|imho|omg|fyi|nah|nope|yep|yup|ugh|hmm+|asap|idk)\b(?!['-])"
    r"[,.!]*\s*",
    re.IGNORECASE,
)
_TOKENS = re.compile(r"[^\W_][\w+#&/.-]*[\w+#]|[^\W_]|['\u2019](?:s|m|re|ve|ll|d|t)\b|[^\w\s]")
_POSSESSIVES = frozenset("my your our his her their its".split())
_ARTICLES = frozenset("a an the".split())
_PREPOSITIONS = frozenset(
    """of in for to with at on from about by into near over under after before during between across through behind beside
    beneath below above along against around within without toward towards among onto off""".split()
)
_INSIDE = _ARTICLES | _PREPOSITIONS | {"and", "or"}
_PRONOUNS = frozenset(
    """i you he she it we they me him us them mine yours hers ours theirs myself yourself himself herself itself ourselves
    themselves this that these those there here what who whom whose which where when why how someone something anyone
    anything everyone everything nobody nothing one ones""".split()
)
_AUXILIARIES = frozenset(
    """am is are was were be been being have has had having do does did will would can could should may might must shall
    cannot gonna gotta not no never let lets don doesn didn isn aren wasn weren haven hasn hadn won wouldn couldn
    shouldn""".split()
)
_JOINS = frozenset(
    """but because so if while since though although as than then unless until whether yet except like please thanks thank
    hi hello hey yes yeah ok okay oh wow well""".split()
)
_ADVERBS = frozenset(
    """just really very so also too still already finally recently actually definitely always ever even only maybe probably
    again quite pretty super totally truly absolutely kind kinda sort lately usually often sometimes currently now soon
    certainly especially mostly basically simply""".split()
)
_TIMES = frozenset(
    """first yesterday today tomorrow tonight last next ago later earlier monday tuesday wednesday thursday friday saturday
    sunday mon tue tues wed thu thurs fri sat sun""".split()
)
_VAGUE = frozenset(
    """thing things stuff way lot lots bit time times day days thank good great nice cool awesome amazing wonderful glad
    happy sure know think guess mean feel feels felt seem seems look looks sound sounds want wants wanted need needs
    needed love loves loved like likes liked hope hopes wish try tries tried get gets got make makes made take takes
    took give gives gave go goes went come comes came say says said tell tells told see sees saw keep keeps kept help
    helps helped able feeling making getting going doing being having thinking saying seeing trying keeping giving
    everything something much many more most less new big pic pics photo photos picture pictures image hear heard check
    checks wait share shares shared appreciate believe find found start started starting""".split()
)
_NO_GERUNDS = frozenset(
    """something anything nothing everything thing morning evening during amazing interesting exciting inspiring king ring
    bring spring string sing wing being having going doing getting making feeling thinking saying hoping looking seeing
    trying wanting needing loving surprising challenging rewarding refreshing stunning touching calming boring including
    according relaxing motivating fulfilling overwhelming encouraging fascinating charming outstanding upcoming sibling
    ceiling wedding building happening coming keeping letting giving putting taking telling knowing wondering""".split()
)
_BEFORE_GERUND = frozenset(
    """am is are was were been be m s re of about for by like love loved enjoy enjoyed enjoying started start keep kept
    tried after before while considering finished without through stop stopped quit hate and consider""".split()
)
_BEFORE_INFINITIVE = frozenset(
    """want wanted wanna need needed plan planned planning plans going hope hoping hoped decided decide trying tried try
    started excited ready able managed learned learning learn how hopes wants like loved love agreed promised forgot
    remember chance opportunity time way""".split()
)
_STATES = frozenset(
    """want need love like hope have think know feel believe guess mean see hear seem wish agree appreciate understand
    remember get got had felt thought knew meant said told heard saw wanted needed loved liked hoped was were did been
    seen realized decided kept made gave tried started used""".split()
)
_BASES = frozenset(BASE_FORMS.values()) | frozenset(
    """relax appreciate enjoy learn work help play talk share connect support watch listen express create improve visit
    explore add ask call change check clean cook cover dance develop discover encourage end explain face focus follow
    gain handle happen hope inspire invite join laugh live look love manage move need offer open organize pack paint
    pass plan practice prepare provide push reach reduce refresh remind save serve show start stay stop stretch succeed
    surprise thank train travel try turn use volunteer wait walk want wash wish worry chat hang unwind challenge embrace
    concentrate motivate celebrate promote raise escape achieve
    is are was were has had have can could will would should""".split()
)
"""Verbs in their base form: after "and" a phrase does not go on with one."""
_IRREGULAR_GERUNDS = {
    pair.partition("/")[0]: pair.partition("/")[2]
    for pair in """be/being see/seeing die/dying lie/lying tie/tying run/running get/getting win/winning swim/swimming
    begin/beginning sit/sitting put/putting cut/cutting set/setting plan/planning stop/stopping shop/shopping quit/quitting
    forget/forgetting hit/hitting dig/digging spin/spinning chat/chatting jog/jogging""".split()
}


_DETERMINERS = _ARTICLES | _POSSESSIVES | {"some", "any", "another", "more", "both"}
_BREAKS = _PRONOUNS | _AUXILIARIES | _JOINS | _TIMES
"""No phrase goes on with one of these."""
_SMALL = _BREAKS | _ADVERBS | _INSIDE | _POSSESSIVES
"""No phrase begins or ends with one of these."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Words as they would be written; whether they say what is done, end a clause, and who they are of."""

    words: tuple[str, ...]
    action: bool
    ends: bool
    own: float = 1.0


def counted(messages: Iterable[Message]) -> Counter[str]:
    """How many messages hold each term: the background against which a title and a story stand out."""
    found: Counter[str] = Counter()
    for message in messages:
        found.update(set(content_terms(message.content[:LOOKED_AT])))
    return found


def title(messages: Sequence[Message], background: Mapping[str, int] | None = None) -> str:
    """A heading of three to seven words for an episode; deterministic.

    Args:
        messages: of one episode.
        background: how many messages of the whole conversation hold a term, as ``counted`` counts them.

    Returns:
        Words that stand in the messages, verbs as gerunds. Where nothing reads as a heading, keyphrases; of a talk of
        nothing but filler, who spoke. Text in scripts without spaces is cut at 30 characters. Empty for no messages.
    """
    if not messages:
        return ""
    said = [m for m in messages if not is_filler(m.content)]
    weights = _weights(said, background)
    found: dict[tuple[str, ...], tuple[float, tuple[str, ...]]] = {}
    for message in said:
        share = 0.75 if message.role == "assistant" and not message.name else 1.0
        for candidate in _candidates(message):
            score = share * _score(candidate, weights)
            key = tuple(word.lower() for word in candidate.words)
            if score > found.get(key, (0.0, ()))[0]:
                found[key] = score, candidate.words
    if found:
        best = max(found.values(), key=lambda item: item[0])  # of equals the first
        return _written(best[1])
    return _from_phrases(said) or _from_words(said) or _of_filler(messages)


def _weights(messages: Sequence[Message], background: Mapping[str, int] | None) -> dict[str, float]:
    """How much each term tells of this episode: said in several messages, rare in the language and in the rest of the talk."""
    inside = counted(messages)
    speakers = {term for name in {m.name for m in messages} if name for term in content_terms(name)}
    found: dict[str, float] = {}
    for term, count in inside.items():
        elsewhere = max(background.get(term, 0) - count, 0) if background else 0
        if term in speakers:
            continue
        found[term] = (rarity(term) ** 2) * (1 + math.log(count)) / (1 + elsewhere) ** 0.3
    return found


def _score(candidate: _Candidate, weights: Mapping[str, float]) -> float:
    terms = dict.fromkeys(
        term for word in candidate.words if word.lower() not in _VAGUE for term in content_terms(word)
    )
    told = sum(weights.get(term, 0.0) for term in terms)
    if len(terms) < 2:
        told *= 0.5
    size = len(candidate.words)
    if size == FEWEST:
        told *= 0.9
    form = (1.5 if candidate.action else 1.0) * (1.25 if candidate.ends else 1.0) * candidate.own
    return told * form / (2.0 + size) ** 0.5


def _plain(message: Message) -> str:
    """What was said without notes and slang, with abbreviations as words: "w/ Dr. Ito" is "with Dr Ito"."""
    text = _INITIALS.sub(lambda found: found[0].replace(".", ""), _NOTE.sub("", message.content[:LOOKED_AT]))
    text = _WITH.sub(lambda found: "without " if found[1] else "with ", _TITLES.sub(r"\1", text))
    return _SLANG.sub("", _AND.sub(" and ", text))


def _candidates(message: Message) -> Iterator[_Candidate]:
    for sentence in sentences(_plain(message))[:MOST_SENTENCES]:
        if not sentence.rstrip().endswith("?") and not sentence.startswith(("```", "~~~")):
            tokens = _TOKENS.findall(bare(sentence))
            own = _OF_SPEAKER if _OWN.search(sentence) else _OF_HEARER if _YOU.search(sentence) else 1.0
            for clause in _clauses(tokens):
                yield from (replace(candidate, own=own) for candidate in _cut(clause, message.name))


def _clauses(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Runs of words between punctuation; possessives are joined to their noun."""
    clause: list[str] = []
    for token in tokens:
        if (
            token.replace("\u2019", "'").lower() == "'s"
            and clause
            and clause[-1].lower() not in _PRONOUNS | _AUXILIARIES
        ):
            clause[-1] += "'s"
        elif token[0].isalnum() or token[0] in "'\u2019":
            clause.append(token)
        elif clause:
            yield clause
            clause = []
    if clause:
        yield clause


def _cut(clause: list[str], name: str | None) -> Iterator[_Candidate]:
    """Every candidate that begins in this clause."""
    for at, word in enumerate(clause):
        if word.lower() in _SMALL or not word[0].isalnum():
            continue
        before = clause[at - 1].lower().lstrip("'\u2019") if at else ""
        if done := _action(clause, at, before):
            yield from _grown(done, clause[at + 1 :], name, action=True)
        elif _begins_noun(word, before):
            yield from _grown(word, clause[at + 1 :], name, action=False)


def _action(clause: Sequence[str], at: int, before: str) -> str | None:
    """The gerund of what is done, if the word says that: moving, to move, I moved."""
    lowered = clause[at].lower()
    if lowered.endswith("ing") and len(lowered) > 4 and lowered not in _NO_GERUNDS:
        return clause[at] if not before or before in _BEFORE_GERUND else None
    if lowered in _STATES:
        return None
    if before == "to" and at > 1 and clause[at - 2].lower() in _BEFORE_INFINITIVE and clause[at].islower():
        return _gerund(lowered)
    subject = next((word.lower() for word in reversed(clause[:at]) if word.lower() not in _ADVERBS), "")
    return _from_past(lowered) if not subject or subject in {"i", "we", "'ve", "\u2019ve"} else None


def _begins_noun(word: str, before: str) -> bool:
    lowered = word.lower()
    if lowered in _VAGUE:
        return False
    if before in _DETERMINERS:
        return True
    named = word[0].isupper() and bool(before or not is_common(word))
    return named or (before in _PREPOSITIONS and lowered not in _BASES)


@lru_cache(maxsize=2048)
def _gerund(verb: str) -> str:
    if verb in _IRREGULAR_GERUNDS:
        return _IRREGULAR_GERUNDS[verb]
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


def _from_past(word: str) -> str | None:
    """The gerund of a past form; None for other words."""
    if (
        word in BASE_FORMS
        and word[-1] != "s"
        and word not in {"people", "children", "men", "women", "kid", "feet", "lay", "found", "left"}
    ):
        return _gerund(BASE_FORMS[word])
    if word.endswith("ied") and len(word) > 4:
        return f"{word[:-3]}ying"
    if word.endswith("ed") and len(word) > 4 and not word.endswith(("eed", "ated")):
        return f"{word[:-2]}ing"
    return f"{word[:-2]}ing" if word.endswith("ated") and len(word) > 5 else None


def _grown(first: str, following: Sequence[str], name: str | None, *, action: bool) -> Iterator[_Candidate]:
    """The candidates that begin with this word, each ending where a phrase may end."""
    words = [first]
    for word in (*following, ""):
        lowered = word.lower()
        if FEWEST <= len(words) <= MOST and _may_end(words[-1], lowered):
            yield _Candidate(tuple(words), action, not word)
        if len(words) >= MOST or not _goes_on(words, lowered, action=action):
            return
        if lowered in _ADVERBS:
            continue
        if lowered == "my" and name:
            words.append(f"{name}'s")
        else:
            words.append("the" if lowered in _POSSESSIVES else word)


def _goes_on(words: Sequence[str], following: str, *, action: bool) -> bool:
    """Whether the phrase can go on with this word."""
    last = words[-1].lower()
    if not following or following in _BREAKS or not following[0].isalnum():
        return False
    if following in _BASES | {"to"} and (last in {"and", "or"} or (last == "to" and not action)):
        return False
    if not action and following.endswith("ing") and following not in _NO_GERUNDS and last not in _INSIDE:
        return False
    return following not in _ARTICLES | _POSSESSIVES or last in _INSIDE or (action and len(words) == 1)


_OF_NAMES = frozenset("dr mr mrs ms prof hr w".split())


def _may_end(last: str, following: str) -> bool:
    """A phrase ends at a word that means something, before one that does not go on with it."""
    lowered = last.lower()
    if (
        lowered in _OF_NAMES
        or lowered in _SMALL | _VAGUE | STOP_WORDS
        or last.endswith("'s")
        or (last.endswith("ed") and len(last) > 4)
    ):
        return False
    return not following or following in _SMALL or not following[0].isalnum()


def _written(words: Sequence[str]) -> str:
    text = " ".join(words)
    return (text[:1].upper() + text[1:])[:LONGEST].rstrip()


def _from_phrases(messages: Sequence[Message]) -> str:
    """The best keyphrases, joined to three words or more; single words only where they stand as nouns do."""
    text = "\n".join(bare(sentence) for m in messages[:40] for sentence in sentences(_plain(m)))
    nouns = _nouns(text)
    words: list[str] = []
    for phrase in keyphrases(text, most=4):
        if " " not in phrase and phrase.lower() not in nouns:
            continue
        added = [*(["and"] if words else []), *phrase.split()]
        if len(words) + len(added) > MOST:
            continue
        words += added
        if len(words) >= FEWEST and _tells(words):
            return _written(words)
    return ""


def _nouns(text: str) -> set[str]:
    """Words after an article, a possessive or a preposition, and names."""
    words = _TOKENS.findall(text)
    led = {word.lower() for before, word in itertools.pairwise(words) if before.lower() in _DETERMINERS | _PREPOSITIONS}
    named = {word.lower() for word in words if word[0].isupper() and not is_common(word.lower())}
    return (led | named) - _VAGUE - _SMALL


def _tells(words: Sequence[str]) -> bool:
    """Whether there is more than numbers, units and times in it."""
    return any(len(word) > 3 and sum(c.isalpha() for c in word) > len(word) / 2 for word in words)


def _from_words(messages: Sequence[Message]) -> str:
    """The first words of the longest message."""
    if not messages:
        return ""
    said = max(messages, key=lambda m: len(m.content))
    text = bare(_plain(said))
    words = [word.strip(_MARKS) for word in text.split() if any(char.isalnum() for char in word)]
    if len(words) >= FEWEST and _tells(words):
        kept = [word[:20] for word in words[:MOST]]
        while len(kept) > FEWEST and kept[-1].lower() in _SMALL | STOP_WORDS:
            kept.pop()
        return _written(kept)
    unspaced = max(words, key=len, default="")
    return unspaced[:UNSPACED] if len(unspaced) > UNSPACED // 2 else ""


def _of_filler(messages: Sequence[Message]) -> str:
    who = list(dict.fromkeys(m.name or m.role for m in messages))[:2]
    return f"Short exchange with {who[0]}" if len(who) == 1 else f"Short exchange between {who[0]} and {who[1]}"
