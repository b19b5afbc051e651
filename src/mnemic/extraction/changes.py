"""What has become another: switched, moved, raised, replaced, left, taken over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from mnemic.extraction.attributes import PERSONAL, Fact, cardinality, is_attribute, named
from mnemic.extraction.clauses import Clause
from mnemic.extraction.nouns import (
    ARTICLES,
    CALENDAR,
    CUT,
    FROM_TO,
    PERSONS,
    POSSESSIVES,
    PRICED,
    STATES,
    calendar_facts,
    count_fact,
    is_plural,
    joined,
    owned,
    slot_of,
    told_fact,
    value_sort,
    whose_what,
    without_old,
)
from mnemic.extraction.states import person_is
from mnemic.extraction.values import canonical, has_number, kind

__all__ = ["CHANGE", "change_facts", "ending_facts", "handed_facts", "is_leading", "leading_facts", "swap_facts"]

_TO = frozenset("to till until at as onto into with for in".split())

_PARTICLES = frozenset("up down back out forward over ahead away off on along".split())

CHANGE = frozenset(
    """switch change migrate convert upgrade downgrade swap replace trade transition pivot shift configure adjust
    bump raise lower
    increase reduce cut update reschedule postpone push delay extend rename reset improve slip rise fall jump grow
    climb shrink bring move
    set drop go ditch make turn put double become relocate pick choose select adopt
    standardise standardize default give""".split()
)

_EXCHANGE = frozenset("swap replace trade ditch drop".split())

_TIMED = frozenset("move reschedule push postpone shift delay bring slip start begin".split())


def ending_facts(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Left Google, quit smoking, dropped French: whatever it was, it has ended."""
    text = CUT.sub("", joined([t for t in clause.rest if t not in _PARTICLES]))
    given_up = clause.verb != "give" or clause.rest[:1] == ("up",)
    if not text or clause.negated or clause.passive or noun or not given_up or "for" in clause.rest:
        return
    attribute = "employer" if clause.verb in {"leave", "quit"} and text[:1].isupper() else "*"
    yield replace(
        told_fact(
            owner, attribute, re.sub(r"^(?:her|his|my|the|their|our) (?:job|position) (?:at|with|as) ", "", text)
        ),
        polarity=False,
        change=True,
    )


def change_facts(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Switched to Postgres, moved the standup to 10, went up to 1,200, became a nurse."""
    words = [word for at, word in enumerate(clause.rest) if at > 2 or word not in _PARTICLES]
    text = " ".join(words)
    old = ""
    if found := FROM_TO.search(text):
        old, text = found["old"], f"{text[: found.start()]}to {found['new']}"
    elif found := re.search(r" (?:instead of|rather than|up from|down from|from) (.+)$", text):
        old, text = found[1], text[: found.start()]
    words = text.split(" ") if text else []
    at = next((i for i, word in enumerate(words) if word in _TO and (word != "for" or clause.verb in _EXCHANGE)), None)
    if (clause.verb == "go" and not noun and at == 0) or clause.rest[:2] == ("each", "other"):
        return
    if clause.verb in {"become", "turn", "make", "go"} and (at is None or at > 0) and not noun:
        yield from _becoming(clause, owner, words, old)
    elif at is None and clause.verb == "replace" and clause.passive and words[:1] == ["by"]:
        yield from _changed(clause, owner, noun, " ".join(words[1:]), old)
    elif at is None or at == len(words) - 1:
        return
    elif at == 0 or clause.passive:
        yield from _changed(clause, owner, noun, " ".join(words[at + 1 :]), old, preposition=words[at])
    elif clause.verb in _EXCHANGE and words[at] in {"with", "for", "to"}:
        yield from _exchanged(owner, " ".join(words[:at]), " ".join(words[at + 1 :]))
    elif words[at] != "in" or clause.verb in {"move", "set"}:
        yield from _set(clause, owner, (words[:at], words[at], " ".join(words[at + 1 :])), old)


def _becoming(clause: Clause, owner: str, words: list[str], old: str) -> Iterator[Fact]:
    text = " ".join(words)
    if not words or (clause.verb == "make" and not words[0][:1].isupper()) or (clause.verb == "go" and len(words) > 2):
        return
    if clause.verb in {"go", "turn"} and not (kind(text) or has_number(text)):
        return
    yield from (replace(fact, change=True) for fact in person_is(clause, owner, "", CUT.sub("", text), old))


def swap_facts(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Left Azure for Hetzner; dropped Flask in favour of Spring."""
    found = re.match(r"(.+?) (?:for|in favou?r of) (.+)$", joined(clause.rest))
    if found and not noun:
        yield from _exchanged(owner, found[1], found[2])


def _exchanged(owner: str, before: str, after: str) -> Iterator[Fact]:
    """Her Civic for a Tesla, MySQL with Postgres."""
    whose, noun, _, _ = whose_what(tuple(before.split(" ")))
    after = CUT.sub("", after)
    attribute = value_sort(after) or value_sort(before)
    subject = owner
    if not attribute and noun:
        subject, attribute = slot_of(owner if whose in PERSONS | {""} else whose, noun)
        subject = owner if subject == "we" else subject
    yield told_fact(subject, attribute or "use", after, "one", change=True, old=noun or before)


def _changed(clause: Clause, owner: str, noun: str, value: str, old: str, *, preposition: str = "to") -> Iterator[Fact]:
    """The launch was moved to 10 May; Ana moved to Porto; we switched to Postgres."""
    verb = clause.verb
    value = CUT.sub("", value)
    if noun:
        moved = verb in {"move", "relocate"} and preposition in {"to", "into"} and not is_attribute(noun)
        timed = verb in _TIMED or preposition == "at"
        yield from _thing_changed(owner, noun, value, old, timed=timed, moved=moved)
    elif kind(value) in CALENDAR or (
        owner not in PERSONS and not owner[:1].isupper() and verb in _TIMED and re.fullmatch(r"\d{1,2}", value)
    ):
        yield from (replace(f, change=True) for f in calendar_facts(owner, value, at_hour=True))
    elif counted := re.match(r"(\d+) ([a-z]+)$", canonical(value)):
        yield replace(count_fact(owner, counted[1], counted[2]), change=True)
    elif head := re.search(
        r"^(?:the |a |an |another )?(?:.+ )?(team|department|group|shift|division|squad|role|position|plan|job)$", value
    ):
        yield told_fact(owner, named(head[1]), value, "one", change=True, old=old)
    elif verb in {"move", "relocate"} and not kind(value) and preposition in {"to", "into", "in"}:
        place = re.search(r"\b(?:flat|house|place|apartment|studio|room|loft)\b.* in (.+)$", value)
        yield told_fact(owner, "residence", place[1] if place else value, "one", change=True, old=old)
    elif preposition == "to":
        attribute = value_sort(value) or value_sort(old) or "use"
        yield told_fact(
            owner,
            attribute,
            re.sub(r"^(?:using|taking|drinking|flying|a new|the new) ", "", value),
            "one",
            change=True,
            old=old,
        )


def _thing_changed(owner: str, noun: str, value: str, old: str, *, timed: bool, moved: bool = False) -> Iterator[Fact]:
    subject, attribute = slot_of(owner, noun)
    made = list(
        calendar_facts(
            owned(owner, noun) if attribute not in {"date", "time"} else subject,
            value,
            at_hour=timed or attribute == "time",
        )
    )
    if made and attribute not in {"birthday", "timeout", "duration", "age"}:
        yield from (replace(fact, change=True) for fact in made)
    elif PRICED.search(canonical(value)) and not is_attribute(attribute) and cardinality(attribute) == "open":
        yield told_fact(owned(owner, noun), "price", value, "one", change=True, old=old)
    elif kind(value) == "status" or value in STATES:
        yield told_fact(
            owned(owner, noun) if attribute != "status" else subject, "status", value, "one", change=True, old=old
        )
    elif value_sort(value) and not is_attribute(attribute) and cardinality(attribute) == "open":
        yield told_fact(owned(owner, noun), value_sort(value), value, "one", change=True, old=old)
    elif moved and not has_number(value[:1]):
        yield told_fact(owned(owner, noun), "place", value, "one", change=True, old=old)
    else:
        yield told_fact(subject, attribute, value, "one" if not is_plural(attribute) else "open", change=True, old=old)


def _set(clause: Clause, owner: str, parts: tuple[list[str], str, str], old: str) -> Iterator[Fact]:
    """Changed her email to ...; moved the standup to 10; set the timeout to 30s; named Sara as lead."""
    words, preposition, value = parts
    whose, noun, _, _ = whose_what(tuple(words))
    value = CUT.sub("", value)
    if preposition == "as" and whose and not noun:  # Sara as lead: the other way round
        subject, attribute = slot_of(*whose_what(tuple(value.split(" ")))[:2])
        yield told_fact(subject, attribute, whose, "one", change=True, old=old)
        return
    if preposition == "as":
        yield told_fact(owner, named(value), " ".join(words), "one", change=True, old=old)
        return
    if (whose in PERSONS and whose != "i") or (not whose and noun):
        whose = owner if whose else ""
        personal = named(noun) in PERSONAL
        whose = owner if personal else whose if whose != "we" else ""
    if noun:
        moved = clause.verb in {"move", "relocate"} and not is_attribute(noun) and not kind(value)
        timed = clause.verb in _TIMED or preposition == "at"
        yield from _thing_changed(whose, noun, value, old, timed=timed, moved=moved)
    elif whose:
        yield from _thing_changed("", whose, value, old, timed=clause.verb in _TIMED or preposition == "at")


def is_leading(clause: Clause) -> bool:
    """Whether the verb is about leading: the Atlas project, Atlas; or passive, by somebody."""
    if clause.passive:
        return clause.rest[:1] == ("by",)
    return bool(clause.rest) and (
        clause.rest[0].lower() in {"the", "our", "their", "up"} or clause.rest[0][:1].isupper()
    )


def leading_facts(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Sara leads Atlas, took over Atlas from Tom; Atlas is led by Sara."""
    text, old = without_old(joined(clause.rest))
    text = re.sub(r"^(?:up|as (?:the )?(?:lead|head|owner|manager) (?:of|on|for)) ", "", text)
    if clause.passive:
        found = re.search(r"\bby (.+)$", text)
        if found:
            yield told_fact(owned(owner, noun) if noun else owner, "lead", found[1], "one")
        return
    if clause.verb in {"own", "run", "manage"} and not re.search(
        r"project|team|service|effort|migration|module|product|component|squad", text
    ):
        return
    whose, what, _, _ = whose_what(tuple(CUT.sub("", text).split(" ")))
    yield told_fact(owned(whose, what), "lead", owner, "one", change=clause.verb == "take", old=old)


def handed_facts(clause: Clause, owner: str, _noun: str) -> Iterator[Fact]:
    """Tom replaced Sara as project lead; Sara handed Atlas over to Tom."""
    text = joined(clause.rest)
    if found := re.match(r"(.+?) as (.+)$", text):
        words = found[2].split(" ")
        words = words if words[0].lower() in ARTICLES or words[0].lower() in POSSESSIVES else ["the", *words]
        subject, attribute = slot_of(*whose_what(tuple(words))[:2])
        yield told_fact(subject, attribute, owner, "one", change=True, old=found[1])
    elif clause.verb == "hand" and (found := re.match(r"(?:over )?(.+?) (?:over )?to (.+)$", text)):
        whose, what, _, _ = whose_what(tuple(found[1].split(" ")))
        yield told_fact(owned(whose, what), "lead", CUT.sub("", found[2]), "one", change=True, old=owner)
