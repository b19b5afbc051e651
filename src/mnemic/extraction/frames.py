"""A clause to facts: which attribute of whom its verb and its nouns tell of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from mnemic.extraction.attributes import FRAMES, PERSON_NOUNS, Cardinality, Fact, named
from mnemic.extraction.changes import (
    CHANGE,
    change_facts,
    ending_facts,
    handed_facts,
    is_leading,
    leading_facts,
    swap_facts,
)
from mnemic.extraction.clauses import Clause
from mnemic.extraction.nouns import (
    APPOSED,
    CALENDAR,
    CUT,
    GROUP,
    PERSONS,
    calendar_facts,
    joined,
    new_one,
    owned,
    told_fact,
    value_sort,
    whose_what,
    without_old,
)
from mnemic.extraction.states import OCCUPATION, PREPOSITIONS, being_facts, having_facts
from mnemic.extraction.values import canonical, has_number, kind
from mnemic.text.terms import content_terms

__all__ = ["facts_of"]

_Reader: TypeAlias = Callable[[Clause, str, str], Iterator[Fact]]


_TAKES_ON = frozenset("start begin take get accept land find".split())

_LEADS = frozenset("lead head manage oversee coordinate maintain run own".split())

_PLANNED = frozenset({"date", "time", "place"})
"""Attributes that are told in the future and yet are what holds: the launch will be on 3 May."""


def facts_of(clause: Clause) -> Iterator[Fact]:
    """The facts of one clause; a clause that tells of no attribute has none."""
    owner, noun, tense, change = whose_what(clause.subject)
    if tense != "present" and clause.tense == "present":
        clause = replace(clause, tense=tense)  # type of the noun: her former manager
    clause = replace(clause, change=clause.change or change)
    made = [
        fact
        for fact in _read(clause, owner, noun)
        if fact.subject and fact.attribute and (fact.value or not fact.polarity)
    ]
    for fact in made:
        yield _told(fact, clause)


def _told(fact: Fact, clause: Clause) -> Fact:
    """The fact with tense, polarity and cue of its clause."""
    tense = clause.tense
    if clause.future and tense == "present" and fact.attribute not in _PLANNED:
        tense = "possible"
    if tense == "present" and clause.simple_past and not _is_change(clause):
        tense = "past"
    if not fact.polarity and tense == "past":
        tense = "present"
    polarity = fact.polarity and not clause.negated
    many = fact.cardinality
    return replace(fact, tense=tense, polarity=polarity, cardinality=many, change=fact.change or clause.change)


_JOB = re.compile(r"\b(?:job|position|role|gig|internship)\b")
_GETS = frozenset("get buy adopt purchase own".split())
_EVENTS = frozenset(
    "join start leave quit buy get adopt purchase begin hire promote appoint marry settle base take hand decide "
    "launch schedule "
    "name call dye paint land accept find cancel finish grow".split()
)


def _is_change(clause: Clause) -> bool:
    return clause.verb in CHANGE or clause.verb in _EVENTS


def _read(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """The facts of the first reader that finds any."""
    if noun.rpartition(" ")[2] in PERSON_NOUNS and not _is_of_noun(clause):
        owner, noun = f"{owner}'s {noun}" if owner not in {"", "we"} else noun, ""  # Ana's sister: somebody herself
    clause = _in_plain_words(clause, noun)
    for reader in _readers(clause, noun):
        if made := list(reader(clause, owner, noun)):
            yield from made
            return


def _in_plain_words(clause: Clause, noun: str) -> Clause:
    """Get up is wake; take a job is have it."""
    if clause.verb == "get" and clause.rest[:1] in (("up",), ("to",), ("out",), ("back",)):
        return replace(clause, verb="wake" if clause.rest[0] == "up" else "go")
    if clause.verb in _TAKES_ON and not noun and _JOB.search(joined(clause.rest)):
        return replace(clause, verb="have", change=True)
    if clause.verb == "take" and "over" in clause.rest:
        return replace(clause, verb="lead", rest=tuple(word for word in clause.rest if word != "over"), change=True)
    return clause


def _readers(clause: Clause, noun: str) -> Iterator[_Reader]:
    verb = clause.verb
    if verb in {"be", "have"}:
        yield being_facts if verb == "be" else having_facts
        return
    if not noun:
        if verb in _GETS and not is_leading(clause):
            yield having_facts
            return
        yield from _of_people.get(verb, ())
    if verb in CHANGE:
        yield change_facts
    if verb in _LEADS and (is_leading(clause) or clause.change):
        yield leading_facts
    yield _of_any.get(verb, _framed)
    yield _framed


def _is_of_noun(clause: Clause) -> bool:
    """Ana's sister is Marta, my manager changed to Tom; but she is 30, a nurse, and moved to Lyon."""
    if clause.verb == "be" and clause.rest[:1]:
        return clause.rest[0][:1].isupper() or clause.rest[0].lower() in {"called", "named"}
    return clause.verb in {"change", "switch", "become"}


def _bedtime(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    if re.match(r"to (?:bed|sleep)\b", joined(clause.rest)):
        yield from calendar_facts(f"{owned(owner, noun)}'s bedtime", joined(clause.rest[2:]), at_hour=True)


def _started(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Started at Leonardo."""
    found = re.match(r"(?:(?:to work|working|work) )?(?:at|with) (?:the )?([A-Z].*)$", joined(clause.rest))
    value = CUT.sub("", re.split(r",? (?:as|on|in|for|since) ", found[1])[0]) if found and not noun else ""
    if value and kind(value) not in CALENDAR:
        yield told_fact(owner, "employer", value, "one", change=True)


def _dyed(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Dyed her hair red."""
    if len(clause.rest) > 1 and kind(clause.rest[-1]) == "colour":
        whose, what, _, _ = whose_what(clause.rest[:-1])
        thing = owned(owner if whose in PERSONS | {""} else whose, what or noun)
        yield told_fact(thing, "colour", clause.rest[-1], "one", change=True)


def _using(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Postgres for the database; on port 8080; tabs; on Fridays."""
    subject = owned(owner, noun) if noun else owner
    text, old = without_old(joined(clause.rest))
    if found := re.search(
        r"(?:^|\b)(?:on|at|with|in) (?:(?:the|a) )?(?:default )?([a-z][a-z ]*?) (?:of )?(\d\S*)", text
    ):
        yield told_fact(subject, named(found[1]), found[2], "one", old=old)
    elif found := re.match(r"(.+?) (?:for|as) (?:(?:the|our|my|its|her|his|their|a|an) )?(.+)$", text):
        attribute = kind(found[1]) or named(canonical(found[2]).removesuffix("ing"))
        yield told_fact(subject, attribute, found[1], "one", change=clause.change, old=old)
    elif clause.verb == "play" and kind(text) == "instrument":
        yield told_fact(subject, "instrument", CUT.sub("", text), "open", old=old)
    elif clause.verb == "use" and (kind(text) or not clause.negated):
        yield told_fact(
            subject, kind(text) if kind(text) != "date" and kind(text) else "use", CUT.sub("", text), old=old
        )
    else:
        yield from _framed(clause, owner, noun)


def _liking(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Prefers tea over coffee, likes blue best, hates olives, joined Google."""
    text = joined(clause.rest)
    subject = owned(owner, noun) if noun else owner
    verb = clause.verb
    if verb == "join":
        company = text[:1].isupper() and not re.search(r"\b(?:club|choir|team|band|gym|class|group|league)\b", text)
        value = re.sub(r" as .*$", "", CUT.sub("", text))
        group = GROUP.search(value)
        attribute = "employer" if company else group[1] if group else "join"
        yield told_fact(
            subject, attribute, value, "one" if company or group else "many", change=company or group is not None
        )
        if role := re.search(r" as (?:a |an |the )?(.+)$", text):
            yield told_fact(subject, "role", CUT.sub("", role[1]))
    elif (
        found := re.match(r"(.+?) (?:over|to|rather than|instead of) (.+)$", text)
        if verb.startswith(("prefer", "favo"))
        else None
    ):
        pair = "/".join(sorted((canonical(found[1]), canonical(found[2]))))
        yield told_fact(subject, f"prefers {pair}", found[1], "one", old=found[2])
    elif (
        found := re.match(r"(.+?) (?:for|as) (?:(?:a|an|the|my|her|his) )?(.+)$", text)
        if verb.startswith(("prefer", "favo"))
        else None
    ):
        yield told_fact(subject, f"favourite {named(canonical(found[2]))}", found[1], "one")
    elif best := re.match(r"(.+?) (?:the )?(?:best|most|above all|more than any\b)\b.*$", text):
        yield told_fact(subject, f"favourite {kind(best[1])}".strip(), best[1], "one")
    elif verb.startswith(("prefer", "favo")):
        yield told_fact(
            subject, f"favourite {kind(text)}" if kind(text) else "prefer", text, None if kind(text) else "open"
        )
    else:
        yield replace(told_fact(subject, "like", text, "many"), polarity=verb not in {"hate", "dislike"})


def _named(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Named her cat Misty; the cat is called Misty."""
    words = list(clause.rest)
    if words[:1] in (["off"], ["in"], ["back"], ["for"], ["on"]):
        return
    if clause.passive or len(words) < 2 or not words[-1][:1].isupper():
        yield told_fact(owned(owner, noun) if noun else owner, "name", joined(words))
        return
    whose, thing, _, _ = whose_what(tuple(words[:-1]))
    yield told_fact(owned(owner if whose in PERSONS | {""} else whose, thing), "name", words[-1])


def _framed(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Verbs of the table by their prepositions, then any verb: frequent words name the attribute, the object is its
    value.
    """
    subject = owned(owner, noun) if noun else owner
    text, old = without_old(joined(clause.rest), change=clause.verb in {"drive", "settle", "base", "marry"})
    frames = FRAMES.get(clause.verb, {})
    made: list[Fact] = []
    if found := APPOSED.match(text):  # found a new dentist, Dr. Costa
        yield new_one(subject, found[1], found[2])
        return
    if clause.verb in {"see", "visit", "have"} and text.lower().startswith("dr"):
        yield told_fact(subject, "doctor", CUT.sub("", text), "one")
        return
    if clause.verb == "work" and (
        group := re.match(r"(?:on|in|for|with) (.* (team|department|squad|division|shift))$", CUT.sub("", text))
    ):
        yield told_fact(subject, group[2], group[1], "one")
        return
    for preposition, attribute in frames.items():
        made += _frame(clause, subject, preposition, attribute, text, old)
    yield from made or _generic(clause, subject, text, old)


def _frame(clause: Clause, subject: str, preposition: str, attribute: str, text: str, old: str) -> list[Fact]:
    if preposition == "*" or attribute == "*":
        if port := re.search(r"\b(?:on|to) (?:port )?(\d{2,5})$", text):
            return [told_fact(subject, "port", port[1], "one")]
        clean = re.sub(r"^(?:to (?:start|begin|happen|be) )?(?:at|on|for|by|in|from)\s", "", text)
        at_hour = re.match(r"(?:to (?:start|begin) )?(?:at|from)\b", text) is not None
        return list(calendar_facts(subject, clean, at_hour=at_hour, prefix=attribute if attribute != "*" else ""))
    if preposition == "-":
        if (
            not text
            or text.split(" ", maxsplit=1)[0].lower() in PREPOSITIONS
            or (attribute == "role" and not _job(text))
        ):
            return []
        return [told_fact(subject, attribute, CUT.sub("", text), old=old)]
    found = re.search(rf"(?:^|\s){preposition} (.+)$", text)
    if not found or (attribute == "residence" and found.start() > 0 and len(text[: found.start()].split(" ")) > 4):
        return []
    value = CUT.sub("", found[1])
    if attribute in {"employer", "role"}:
        value = (
            re.split(r" (?:as|on|in|at|for|since) ", value)[0]
            if attribute == "employer"
            else re.split(r" (?:at|for|in) ", value)[0]
        )
        if attribute == "employer" and (
            has_number(value[:1])
            or value in {"home", "night", "nights", "least", "the moment"}
            or re.match(r"(?:the |a )?(?:past|last|next|few|whole|same|while|long)\b", value)
        ):
            return []
    if attribute == "address" and not has_number(value):
        attribute = "residence"
    if attribute == "residence" and (
        place := re.search(r"\b(?:flat|house|place|apartment|studio|room|loft|home)\b.* in (.+)$", value)
    ):
        value = place[1]
    return [
        told_fact(subject, attribute, value, change=clause.verb in {"relocate", "settle", "hire", "promote"}, old=old)
    ]


def _job(text: str) -> bool:
    head = re.split(r" (?:of|for|at|in) ", text)[0].split(" ")[-1].lower()
    return OCCUPATION.search(head) is not None


def _generic(clause: Clause, subject: str, text: str, old: str) -> Iterator[Fact]:
    words = [word.strip(",") for word in text.split(" ") if word.strip(",")]
    if not words and clause.verb and subject and clause.negated and clause.change:  # does not smoke any more
        yield replace(told_fact(subject, clause.verb, "", "open", change=True), polarity=False)
    if not words or not clause.verb or not subject:
        return
    calendar = list(calendar_facts(subject, text, at_hour=bool(re.search(r"\bat \d{1,2}$", text))))
    cut = next((i for i, word in enumerate(words) if word.lower() in PREPOSITIONS and i > 0), len(words))
    if calendar:
        told = {term for fact in calendar for term in content_terms(fact.value)} | {"am", "pm"}
        frame = [term for term in content_terms(text) if term not in told and not has_number(term)]
        many: Cardinality = "open"
        for fact in calendar:
            yield replace(
                fact,
                attribute=" ".join([clause.verb, *frame[:4], fact.attribute]),
                cardinality=many,
                old=canonical(old),
            )
        return
    if (
        clause.verb in _MAKES
        and (found := re.search(r"(?:^| )(?:in|with|on|using|by) ((?:the |an? )?\S+.*)$", text))
        and value_sort(found[1])
    ):
        yield told_fact(subject, value_sort(found[1]), CUT.sub("", found[1]), "one", old=old)
        return
    lead = [words[0].lower()] if words[0].lower() in PREPOSITIONS else []
    attribute = " ".join([clause.verb, *lead, *content_terms(" ".join(words[cut:]))[:3]])
    listed = "many" if clause.verb in _LISTED else "open"
    yield told_fact(subject, attribute, " ".join(words[len(lead) : cut]), listed, old=old)


_MAKES = frozenset("write build code host run deploy use develop edit store keep rewrite work".split())

_LISTED = frozenset(
    "play know visit see meet need want collect learn study teach make write say tell help cook attend give think".split()
)


_of_people: dict[str, tuple[_Reader, ...]] = {
    **dict.fromkeys(("leave", "ditch", "drop"), (swap_facts, ending_facts)),
    **dict.fromkeys(("quit", "stop", "sell", "lose", "give"), (ending_facts,)),
    **dict.fromkeys(("replace", "hand", "succeed"), (handed_facts,)),
    **dict.fromkeys(("dye", "paint"), (_dyed,)),
    "go": (_bedtime,),
    "start": (_started,),
}
_of_any: dict[str, _Reader] = {
    **dict.fromkeys(("use", "run", "deploy", "play"), _using),
    **dict.fromkeys(
        ("prefer", "favour", "favor", "like", "love", "enjoy", "hate", "dislike", "adore", "join"), _liking
    ),
    **dict.fromkeys(("name", "call"), _named),
}
