"""Sentences to clauses: subject, verb, what follows, and whether it is so, was so, may be so, is no longer so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from mnemic.extraction.attributes import AUXILIARIES, lemma
from mnemic.text.sentences import sentences

__all__ = ["Clause", "Tense", "clauses", "is_short", "standing", "tells_of_change"]

Tense = Literal["present", "past", "possible"]

_LONGEST_TEXT, _MOST_SENTENCES, _LONGEST_CLAUSE = 4_000, 20, 300
"""Of what is longer only the beginning is read, and a clause that is longer is passed over: time stays linear."""

_ONE_THING = 160
"""A sentence that is longer says several things."""

_TOKEN = re.compile(r"\S*\d,\d{3}\b[^\s,;!?]*|[^\s,;!?()\"\u201c\u201d]+|,")
_PARENTHESIS = re.compile(r"\s*\([^()]{0,120}\)")
_OPENER = re.compile(
    r"^(?:(?:oh|hey|hi|hello|well|so|ok|okay|btw|fyi|by the way|update|quick update|small update|heads up|heads-up|"
    r"news|"
    r"good news|bad news|big news|just so you know|just a heads up|actually|anyway|also|and|but|then|plus|remember|"
    r"note|"
    r"reminder|correction|for the record|guess what|it turns out|turns out|in the end|finally|lastly|meanwhile|"
    r"basically|"
    r"honestly|sadly|unfortunately|luckily|yes|yeah|yep|no|sorry|please note|fun fact|change of plans?|small change|"
    r"one more thing|nothing fancy|great news|last thing)(?:\s+that)?(?:\s*[,:!.\u2014-]+\s*|\s+(?=[A-Z]|my|we|the|"
    r"our|it\b)))+",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^((?:(?:my|our|the|his|her|new|updated|current) )*[a-z][\w' -]{2,60}): (?=\S)([^:]|[\d:])", re.IGNORECASE
)
_REPORTED = re.compile(
    r"^(?P<who>[A-Z][\w'\u2019.-]*(?: [A-Z][\w'\u2019.-]*)?|I|the user|he|she|they|we)\s+(?:just\s+|also\s+)?"
    r"(?P<verb>said|says|mentioned|mentions|told \w+(?: \w+)?|announced|confirmed|confirms|shared|noted|notes|"
    r"explained|stated|"
    r"states|reported|decided|wanted to let you know|should mention|think|thinks|guess|believe|believes|heard|"
    r"hopes?|wish(?:es)?|"
    r"suspects?)"
    r"(?:\s+that|:)?\s+(?=(?:he|she|they|it|i|we|his|her|their|its|the|my|our|[A-Z][\w'\u2019-]+|there|this|that)\s)",
    re.IGNORECASE,
)
_SUPPOSED = frozenset("think thinks guess believe believes heard hope hopes wish wishes suspect suspects".split())
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATED = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}\b(?:,? \d{{4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?:,? \d{{4}})?|"
    rf"{_MONTH},? \d{{4}}|\d{{4}}-\d\d-\d\d|(?:19|20)\d\d|(?:last|this|next|early|late|mid)[ -](?:week|month|year|"
    rf"spring|summer|"
    rf"autumn|fall|winter|{_MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|today|yesterday|week of [^,]{{3,20}}|"
    rf"(?:morning|evening|afternoon) of [^,]{{3,20}})"
)
_LEADING_TIME = re.compile(
    rf"^(?:(?:as of|since|starting|from|effective|in|on|by|around|at|during)\s+{_DATED}(?:\s+on)?\s*,?\s+|"
    r"(?:as of|since|starting|from|effective|after|until|in|on|for|at|during|with|given|due to|over|despite|"
    r"thanks to)\b"
    r"[^,]{0,60},\s+|(?:last|this) \w+,?\s+|yesterday,?\s+|today,?\s+|earlier(?: today)?,?\s+|"
    r"(?:a|one|two|three|\d+) \w+ ago,?\s+|after [^,]{0,80},\s+|when [^,]{0,80},\s+|because [^,]{0,80},\s+|"
    r"since [^,]{0,80},\s+)",
    re.IGNORECASE,
)
_TRAILING_TIME = re.compile(
    rf"(?:,?\s+(?:(?:on|in|since|as of|from|starting|effective|around|by|during|at)\s+{_DATED}(?: on(?:wards?)?)?|"
    rf"last \w+|"
    rf"this (?:week|month|year|morning|weekend|spring|summer|autumn|fall|winter)|yesterday|today|recently|lately|"
    rf"(?:a|an|one|two|three|few|a few|\d+) \w+ ago|(?:starting|effective|as of) [^,]{{1,30}}|since [^,]{{1,30}}|"
    rf"for (?:the time being|good|a while|\w+ (?:years?|months?|weeks?)(?: now)?)))+$",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\b(?:now|nowadays|currently|these days|at the moment|at present|as of (?:now|today|this \w+)|from now on|"
    r"from here on|"
    r"going forward|instead|henceforth|presently|anymore|any more|any longer|no longer|no more|not any)\b"
)
_CHANGED = re.compile(
    r"\b(?:new|changed|switched|moved|updated|became|replaced|swapped|upgraded|downgraded|renamed|rescheduled|"
    r"postponed|"
    r"turned|raised|lowered|increased|decreased|reduced|dropped|grew|grown|delayed|pushed|extended|improved|"
    r"reassigned|reset|rewrote|rewritten|cancelled|"
    r"canceled|migrated|relocated|promoted|bumped|ditched|traded|slipped|shortened|took over|taken over|(?:up|"
    r"down) to|converted|"
    r"transitioned|shifted|adjusted|revised|went (?:up|down|from|vegan|to (?=\d))|gone (?:up|down|from|vegan|to)|no longer)\b"
)
_FILLER = re.compile(
    r"(?<![\w-])(?:now|nowadays|currently|these days|at the moment|at present|as of (?:now|today|this \w+)|from now on|"
    r"from here on|going forward|instead(?! of)|henceforth|officially|presently|again|anymore|any more|any longer|"
    r"just|only "
    r"just|recently|lately|also|already|actually|finally|really|still|usually|always|generally|typically|mostly|"
    r"permanently|"
    r"both|then|eventually|successfully|simply|once again|all|for now|right|today|basically|apparently|definitely|"
    r"since then|"
    r"ended up|please|ultimately|exclusively|happily|temporarily)(?![\w-])(?!'s)"
)
_IN_YOUTH = re.compile(
    r"\b(?:back )?when (?:I|we|he|she|they|the user|[A-Z]\w+) (?:was|were) (?:still )?(?:an? |\d|"
    r"in (?:high )?(?:school|college|university|kindergarten)|(?:about |just |only )?(?:four|five|six|seven|eight|"
    r"nine|ten|eleven|twelve|\w+teen|twenty|thirty)\b|little|young|small)"
)
_AFTER_ALL = re.compile(r"\bafter all$|\bafter all(?=[,;])")
_LEADING_CUE = re.compile(r"^(These days|Nowadays|Currently|At the moment|At present|Presently),?\s+")
_POSSIBLE = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|probably|likely|could|would|should|hop(?:es?|ing) (?:to|for)|wants? to|"
    r"wanted to|"
    r"(?:i|we|they|he|she) plan(?:s)? (?:to|on)|plan(?:s|ning) (?:to|on)|planned to|think(?:s|ing) (?:of|about)|"
    r"thought about|consider(?:s|ing|ed)?|wish(?:es)?|"
    r"dream(?:s|ing)? (?:of|about)|if|whether|wonder(?:s|ing)|intend(?:s|ing)?|expects? to|(?:would|'d) (?:like|"
    r"love|prefer)|"
    r"supposed to|trying to|looking (?:to|into|at|for)|about to|almost|nearly|seems?|apparently|rumou?r|suggest(?:s|"
    r"ed)|"
    r"recommend(?:s|ed)|propos(?:es|ed|ing)|need(?:s|ed)? to|must|ought to|in talks|debat(?:es|ing)|toy(?:s|ing) with|"
    r"tempted|not sure|unsure|imagin\w+|pretend\w*|joked)\b|\bmay (?=[a-z])(?!be\b \d)"
)
_FUTURE = re.compile(
    r"\b(?:will|going to (?!the\b|an?\b|my\b|our\b|his\b|her\b|their\b)(?=[a-z])|gonna|is moving|are moving|am moving|"
    r"is relocating|are relocating|am relocating|"
    r"'ll|won't|soon|next (?:week|month|year))\b"
)
_PAST = re.compile(
    r"(?<!is )(?<!are )(?<!get )(?<!am )\bused to\b|\b(?:formerly|previously|once (?=[a-z]+ed\b)|back (?:then|when|"
    r"in)|originally|in the past|"
    r"at the time|as a (?:child|kid|student|teenager)|before (?:that|then)|until (?:recently|last|then)|had been|"
    r"years ago)\b"
)
_NOT_NOW = re.compile(
    r"\b(?:no longer|not .{1,60} (?:anymore|any more|any longer)|n't .{1,80} (?:anymore|any more|any longer)|no more)\b"
)
_SPLIT = re.compile(
    r"\s*;\s*|\s+[\u2013\u2014-]+\s+|\u2014|,?\s+(?:but|although|though|while|whereas|because|so that|so|which|when|"
    r"after|where|"
    r"as (?=(?:i|he|she|they|we|it|the user) )|since (?=(?:i|he|she|they|we|it|the|my|his|her|their|our) )|even though)\s+|"
    r",\s+(?=(?:and\s+)?(?:i|he|she|we|they|it|that|that's|it's|i'm|we're|she's|he's|they're|my|our|her|his|their|"
    r"the user|now)\b)|,\s+(?=(?-i:[A-Z])\w+ (?:is|was|has|took|became|replaced)\b)|"
    r"\s+and\s+(?=(?:i|he|she|we|they|it|my|our|her|his|their|the user)\s+(?!team\b|\w+ and\b)\w)",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"(?:because|so that|which|when|after|where|since|although|though|even though|while|whereas|as)\b", re.IGNORECASE
)
_AND_VERB = re.compile(r",?\s+and\s+(?:(?:now|then|just|also)\s+)?(?=(\w+))")
_IS = re.compile(
    r"(?i:(?<=\bit)|(?<=\bhe)|(?<=\bshe)|(?<=\bthat)|(?<=\bthere)|(?<=\bhere)|(?<=\bwhat))'s\b|'s(?=\s+(?:now|at|on|"
    r"in|a|an|the|not|no|been|due|"
    r"got|moved|called|named|working|living|moving|running|using|based|currently|\d|to be|changed|switched|gone|"
    r"become|joined|"
    r"left|started|still|just|taken|scheduled|set|set to|pushed|slipped|dropped|gone|married|engaged|single|vegan)\b)"
)
_BASE_BEFORE = frozenset("i we you they to not and who that do does did longer more never both people others".split())
_NOUN_BEFORE = frozenset(
    "the a an my her his our their your this that its new old current weekly daily monthly first next last of in for".split()
)
_IMPERATIVE = frozenset(
    "set use change switch move update bump raise lower increase reduce rename reschedule make".split()
)
_WAITS = frozenset("due scheduled set planned for to on at by booked slated".split())
_NOTHING = frozenset(
    "it this that which what who these those everything something nothing everyone someone one".split()
)
_PRONOUNS = frozenset("it he she they this that which who".split())
_CHAINED = {"start": "", "begin": "", "stop": "not", "quit": "not", "keep": "", "continue": "", "decide": "", "choose": "",
            "use": "past", "finish": "not"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause. ``change`` says that its wording tells of a change; ``verb`` is a base form."""

    subject: tuple[str, ...]
    verb: str
    rest: tuple[str, ...]
    negated: bool = False
    tense: Tense = "present"
    change: bool = False
    future: bool = False
    passive: bool = False
    simple_past: bool = False
    dated: str = ""


@lru_cache(maxsize=4096)
def standing(text: str) -> tuple[bool, bool]:
    """Whether a text speaks of the past (used to), and whether of what only may be: two texts that differ here
    differ.
    """
    text = text[:1].lower() + text[1:_LONGEST_TEXT]
    return _PAST.search(text) is not None, _POSSIBLE.search(text) is not None


@lru_cache(maxsize=4096)
def is_short(text: str) -> bool:
    """Whether it is one sentence of a length that says one thing."""
    return len(text) <= _ONE_THING and len(sentences(text)) == 1


@lru_cache(maxsize=4096)
def tells_of_change(text: str) -> bool:
    """Whether its words say that something is new: now, no longer, instead, changed."""
    lowered = text[:_LONGEST_TEXT].lower()
    return _CUE.search(lowered) is not None or _CHANGED.search(lowered) is not None


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text that state something; questions state nothing.

    Args:
        text: any text; of a long one the beginning.
    """
    for sentence in sentences(text[:_LONGEST_TEXT])[:_MOST_SENTENCES]:
        if not sentence.rstrip(" )\"'\u201d").endswith(("?", "\uff1f")):
            yield from _of_sentence(sentence)


def _of_sentence(sentence: str) -> Iterator[Clause]:
    text = _PARENTHESIS.sub("", sentence.replace("\u2019", "'")).strip(" .!\"'*_")
    text = _AFTER_ALL.sub("now", text)
    text = re.sub(r"^please ", "", _OPENER.sub("", text), flags=re.IGNORECASE)
    supposed, young = False, _IN_YOUTH.search(text) is not None
    if reported := _REPORTED.match(text):
        supposed = reported["verb"].lower() in _SUPPOSED
        text = text[reported.end() :]
    text = _LABEL.sub(r"\1 is \2", text)
    before: tuple[str, ...] = (reported["who"],) if reported else ()
    for piece in _pieces(text):
        found = _clause(piece, before)
        if found is None:
            continue
        found = replace(found, tense="past") if young and found.tense == "present" else found
        before = found.rest if _is_someones(found) else found.subject
        yield replace(found, tense="possible") if supposed and found.tense == "present" else found


def _is_someones(found: Clause) -> bool:
    """Lima is no longer my dentist: what comes next (it's Costa) is about my dentist."""
    return (
        found.verb == "be"
        and found.negated
        and bool(found.rest)
        and found.rest[0].lower() in {"my", "our", "her", "his", "the"}
    )


def _pieces(text: str) -> Iterator[str]:
    """Main clauses; what follows because, which or after is left out."""
    if re.match(r"(?i)if\b", text):
        return
    text = _LEADING_TIME.sub("", text, count=1)
    start, dropped = 0, False
    for match in [*_SPLIT.finditer(text), None]:
        piece = text[start : match.start() if match else len(text)].strip(" ,")
        if piece and not dropped:
            yield from _by_verb(piece)
        if match:
            dropped = _SUBORDINATE.match(match[0].strip(" ,")) is not None
            start = match.end()


def _by_verb(piece: str) -> Iterator[str]:
    """Left Google and joined Meta: a clause for each verb."""
    start = 0
    for match in _AND_VERB.finditer(piece):
        word = match[1].lower()
        if (
            lemma(word) and not word.endswith("ing") and (lemma(word) != word or word in {"set", "quit"})
        ) or word in AUXILIARIES - {"'s"}:
            yield piece[start : match.start()]
            start = match.end()
    yield piece[start:]


def _clause(piece: str, before: tuple[str, ...]) -> Clause | None:
    if not 3 <= len(piece) <= _LONGEST_CLAUSE:
        return None
    text = _LEADING_TIME.sub("", _OPENER.sub("", piece), count=1)
    text = _LEADING_CUE.sub(lambda cue: cue[1].lower() + " ", _expanded(text))
    plain = _FILLER.sub(" ", text)
    timeless = _TRAILING_TIME.sub("", plain)
    tokens = [token.rstrip(".:") or token for token in _TOKEN.findall(timeless)]
    dated = plain[len(timeless) :].strip(" ,")
    found = _parsed([t for t in tokens if t], before)
    if dated and (found is None or not found.rest or found.rest[-1].lower() in _WAITS):  # the time was the value
        found = _parsed([t for t in (token.rstrip(".:") for token in _TOKEN.findall(plain)) if t], before) or found
        dated = ""
    if found is None:
        return None
    cue = _CUE.search(text) is not None
    past, possible = standing(text)
    tense: Tense = "past" if past else "possible" if possible else found.tense
    negated = found.negated != (re.search(r"\bno longer\b|\bno more\b", text) is not None)
    return replace(
        found,
        tense=tense,
        negated=negated,
        change=found.change or cue,
        future=_FUTURE.search(text) is not None,
        dated=dated,
    )


def _expanded(text: str) -> str:
    """Contractions in full; 's is told from a possessive by what stands around it."""
    text = re.sub(r"\b(I)'m\b", r"\1 am", text, flags=re.IGNORECASE)
    text = re.sub(r"'re\b", " are", text)
    text = re.sub(r"'ve\b", " have", text)
    text = re.sub(r"'ll\b", " will", text)
    text = re.sub(r"'d\b", " would", text)
    text = re.sub(r"\b(ca|wo|sha)n't\b", "will not", text, flags=re.IGNORECASE)
    text = re.sub(r"n't\b", " not", text)
    return _IS.sub(" is", text)


def _verb_at(tokens: list[str], *, goes_on: bool) -> int | None:
    """The first token that can only be a verb where it stands."""
    for at, told in enumerate(tokens[:14]):
        word = told.lower() if told != "May" else told
        if word in AUXILIARIES:
            return at
        base = lemma(word)
        if not base:
            continue
        previous = tokens[at - 1].lower() if at else ""
        if previous in _NOUN_BEFORE or previous.endswith(("'s", "s'")):
            continue
        if at == 0 and (word == base or not goes_on) and base not in _IMPERATIVE:
            continue
        if word != base or previous in _BASE_BEFORE or at == 0 or base in {"set", "cut", "quit", "cost"}:
            return at
    return None


def _parsed(tokens: list[str], before: tuple[str, ...]) -> Clause | None:
    at = _verb_at(tokens, goes_on=bool(before))
    if at is None:
        at = _after_name(tokens)
        if at is None:
            return None
    subject = tuple(t for t in tokens[:at] if t != "," and t.lower() not in {"no", "longer", "not", "never"})
    if not subject or (len(subject) == 1 and subject[0].lower() in _PRONOUNS and before):
        subject = before
    if len(subject) == 1 and subject[0].lower() in _NOTHING:
        return None
    if not subject and at:
        return None
    if not subject:
        subject = ("we",)  # set the timeout to 30 s: whoever is spoken to
    return _verb_group(subject, tokens, at)


def _after_name(tokens: list[str]) -> int | None:
    """Ana Silva cycles: an unknown verb after a name or a pronoun."""
    at = 0
    while at < min(len(tokens), 4) and (
        tokens[at][:1].isupper() or tokens[at].lower() in {"he", "she", "they", "we", "it"}
    ):
        at += 1
    if at == 0 or at >= len(tokens) - 1 or not re.fullmatch(r"[a-z]+(?:s|ed)", tokens[at]):
        return None
    return at


def _verb_group(subject: tuple[str, ...], tokens: list[str], at: int) -> Clause:
    """Auxiliaries, negation and chains (started working, used to live) up to the verb that tells."""
    found = Clause(subject=subject, verb="", rest=())
    past = bool({t.lower() for t in tokens[max(at - 2, 0) : at]} & {"no", "never"})
    negated, auxiliary, change = "never" in [t.lower() for t in tokens[:at]] and past, "", False
    tense: Tense = "present"
    verb, form = "", ""
    while at < len(tokens):
        word = tokens[at].lower() if tokens[at] != "May" else tokens[at]
        base = lemma(word)
        if word in {"not", "never"} or (word == "no" and tokens[at + 1 : at + 2] not in (["longer"], ["more"])):
            negated = not negated
        elif word in AUXILIARIES:
            auxiliary = word
        elif word in {"no", "longer", "more"} and auxiliary and not verb:
            pass
        elif (
            verb == "get"
            and base
            and word != base
            and not word.endswith("ing")
            and base not in {"marry", "engage", "divorce"}
        ):
            change, auxiliary, verb, form = True, "been", base, word
        elif verb in _CHAINED and base and (word.endswith("ing") or (at and tokens[at - 1].lower() == "to")):
            effect = _CHAINED[verb]
            change, negated = change or effect == "not", negated != (effect == "not")
            tense = "past" if effect == "past" else tense
            verb, form = base, word
        elif verb in _CHAINED and word == "to" and at + 1 < len(tokens) and lemma(tokens[at + 1].lower()):
            pass
        elif base and not verb and (not auxiliary or _is_participle(word, base, auxiliary)):
            verb, form = base, word
        else:
            break
        at += 1
    being = auxiliary in {"is", "are", "am", "was", "were", "be", "been", "being", "'s"}
    if not verb:
        verb = "be" if being else "have" if auxiliary in {"has", "have", "had"} else ""
        simple_past = auxiliary in {"was", "were", "had"}
    else:
        simple_past = (not auxiliary or auxiliary == "had") and form != verb and not form.endswith(("s", "ing"))
    passive = being and bool(form) and not form.endswith("ing")
    return replace(found, verb=verb, rest=tuple(tokens[at:]), negated=negated, tense=tense, change=change,
                   passive=passive, simple_past=simple_past)  # fmt: skip


def _is_participle(word: str, base: str, auxiliary: str) -> bool:
    """Whether a verb form belongs to its auxiliary: has moved, is living, does eat; but is open, is home."""
    if auxiliary in {"do", "does", "did", "will", "would", "can", "could", "may", "might", "must", "shall", "should"}:
        return True
    if base in {"marry", "engage", "divorce", "separate", "finish"} and auxiliary not in {"has", "have", "had"}:
        return False  # states, not events
    return word != base or word in {"set", "become", "cut", "quit", "come", "put", "run"}
