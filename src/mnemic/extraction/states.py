"""What somebody or something is or has, to facts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.extraction.attributes import Cardinality, Fact, cardinality, is_attribute, named
from mnemic.extraction.clauses import Clause
from mnemic.extraction.nouns import (
    APPOSED,
    ARTICLES,
    CALENDAR,
    CUT,
    GROUP,
    PERSONS,
    POSSESSIVES,
    PRICED,
    STATES,
    THINGS,
    calendar_facts,
    cleaned,
    count_fact,
    is_plural,
    joined,
    new_one,
    owned,
    slot_of,
    told_fact,
    value_sort,
    whose_what,
    without_old,
)
from mnemic.extraction.values import canonical, date_in, has_number, kind
from mnemic.text.common import is_common
from mnemic.text.terms import content_terms

__all__ = ["OCCUPATION", "PREPOSITIONS", "being_facts", "having_facts", "person_is"]

PREPOSITIONS = frozenset(
    "in at on to for from with by as of about into onto near over under via through between during until till after "
    "before since "
    "per than around within without along using towards toward against because instead".split()
)

OCCUPATION = re.compile(
    r"(?:er|or|ist|ian|eer|ant|ent|nurse|chef|cook|clerk|pilot|lawyer|ceo|cto|cfo|intern|lead|head|chief|director|"
    r"analyst|coach|"
    r"architect|midwife|judge|vet|barista|freelance\w*|founder|partner|associate|assistant|fellow|scientist|"
    r"president|vp|dean|"
    r"mechanic|critic|surgeon|guard|student|boss|researcher|guide|model|host|agent|sales\w*man|tutor)s?$"
)

_NOT_JOBS = frozenset(
    """member lover owner person fan teenager parent mother father sister brother daughter winner believer
    morning-person
    beginner stranger foreigner smoker drinker sleeper swimmer runner monster supporter vegetarian pescatarian other
    better
    number letter dinner summer winter water matter whatever order paper player customer user consumer center server
    container
    computer folder printer router monitor counter different important excellent present recent talent event client
    moment
    document component statement element environment requirement agreement plant giant restaurant apartment neighbor
    error color
    leader model
    factor motor vector editor mirror door floor hamster""".split()
)


def being_facts(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """What somebody or something is: a date, a price, a nurse, in Porto."""
    text, old = without_old(joined(clause.rest), change=False)
    if owner in {"there", "here"}:
        counted = re.match(r"(\d+) ([a-z]+)", canonical(text))
        if counted:
            yield count_fact("we", counted[1], counted[2])
        return
    words = text.split(" ") if text else []
    if not words:
        return
    preposition = words[0].lower() if words[0].lower() in PREPOSITIONS | {"due", "scheduled"} else ""
    bare = text[len(preposition) :].strip() if preposition else text
    subject, attribute = slot_of(owner, noun) if noun else (owner, "")
    thing = owned(owner, noun) if noun else owner
    if attribute.startswith("number of"):
        yield told_fact(subject, attribute, bare)
    elif noun and attribute in {"date", "time", "deadline", "birthday"} and not preposition.startswith("in "):
        made = list(calendar_facts(subject, text, at_hour=preposition == "at" or attribute == "time"))
        yield from (
            made
            if attribute != "birthday" and made
            else [told_fact(subject, attribute, bare, change=clause.change, old=old)]
        )
    elif (kind(bare) in CALENDAR and (noun or _is_when(bare))) or (
        preposition in {"due", "at"} and re.match(r"\d{1,2}$", bare)
    ):
        yield from calendar_facts(thing, bare.removeprefix("on ").removeprefix("at "), at_hour=preposition == "at")
    elif noun:
        yield from _noun_is(clause, (subject, attribute, thing), preposition, bare, old)
    else:
        yield from person_is(clause, owner, preposition, bare, old)


def _is_when(text: str) -> bool:
    """A date or a time and no more: not off to Canada in May."""
    value = re.sub(r"^(?:on|at|every|due|for|by) ", "", canonical(text))
    return date_in(value) == value or re.match(r"\d{1,2}:\d\d", value) is not None


def _noun_is(clause: Clause, slot: tuple[str, str, str], preposition: str, bare: str, old: str) -> Iterator[Fact]:
    """Ana's bank is Monzo; the plan is 12 euros; the ticket is in review."""
    subject, attribute, thing = slot
    if cardinality(attribute) == "open" and clause.passive:
        return
    facet = _facet(attribute, preposition, bare)
    if facet == "status":
        bare = f"{preposition} {bare}".strip()
    if facet:
        subject, attribute = (subject if facet in {"phone number", "employer"} else thing), facet
    elif attribute in THINGS and _is_adjective(bare):
        attribute = f"{attribute} condition"
    many: Cardinality | None = "many" if is_plural(attribute) and not has_number(bare[:1]) else None
    if many is None and cardinality(attribute) == "open":
        many = "one" if _is_definite(clause.subject) and _is_value(bare) else "open"
    value = bare if attribute.startswith(("favourite", "name")) else CUT.sub("", bare)
    if (group := GROUP.search(value)) and cardinality(attribute) == "open":
        attribute, many = group[1], "one"
    yield told_fact(subject, attribute, value or bare, many, old=old)


def _facet(attribute: str, preposition: str, bare: str) -> str:
    """What is told of a thing whose noun names no attribute: its status, price, colour or place; or nothing."""
    found = kind(bare)
    if attribute.startswith("favourite"):
        return ""
    if cardinality(attribute) == "open":
        if (found == "status" and " " not in bare) or f"{preposition} {bare}".strip() in STATES:
            return "status"
        if PRICED.search(canonical(bare)) and not is_attribute(attribute):
            return "price"
    if attribute == "phone" and found == "phone number":
        return "phone number"
    if attribute == "role" and preposition in {"at", "with"}:
        return "employer"
    if found == "colour" and "colour" not in attribute and not preposition:
        return "colour"
    return (
        "place"
        if preposition in {"in", "at", "on"} and cardinality(attribute) != "one" and not has_number(bare)
        else ""
    )


def _is_adjective(text: str) -> bool:
    """Red or dirty, of a car; but not a Tesla."""
    first = text.split(" ", maxsplit=1)[0]
    return not kind(text) and first.islower() and first not in ARTICLES and " " not in text


def _is_definite(subject: tuple[str, ...]) -> bool:
    """Ana's bank, the bank; but family is important."""
    first = subject[0].lower() if subject else ""
    return first in {"the", *POSSESSIVES} or any(word.lower().endswith(("'s", "s'")) for word in subject)


def _is_value(text: str) -> bool:
    """A name, a number, a thing; but not how something is: important, fun."""
    words = text.split(" ")
    return (
        text[:1].isupper()
        or has_number(text)
        or kind(text) != ""
        or words[0].lower() in {"a", "an", "the", *POSSESSIVES}
        or len(words) > 3
    )


def person_is(clause: Clause, owner: str, preposition: str, bare: str, old: str) -> Iterator[Fact]:
    """Ana is 35, vegan, married to Bo, at Meta, on the search team, a nurse."""
    words = bare.split(" ")
    low = [word.lower() for word in words]
    found = kind(words[0]) or kind(bare)
    if measured := _measured(owner, preposition, bare):
        yield measured
    elif found == "relationship" or "relationship" in low:
        yield told_fact(owner, "relationship", "in a relationship" if "relationship" in low else words[0])
        if low[1:2] in (["to"], ["with"]):
            yield told_fact(owner, "partner", " ".join(words[2:]))
    elif (found or kind(words[-1])) == "diet":
        yield told_fact(owner, "diet", next(word for word in low if kind(word) == "diet"))
    elif f"{preposition} {bare}" in STATES or (found == "status" and len(words) <= 2):
        yield told_fact(owner, "status", f"{preposition} {bare}", "one")
    elif preposition:
        yield _where(owner, preposition, bare)
    else:
        yield from _is_a(clause, owner, words, low, old)


_AMOUNT = re.compile(r"(?:up|down|back)(?: to)? (\d\S* (?:euro|dollar|pound)s?) (?:in|of) (?:my |our |the )?([a-z]+)$")


def _measured(owner: str, preposition: str, bare: str) -> Fact | None:
    """An age, a weight, an amount, a count."""
    value = canonical(bare)
    told = f"{preposition} {value}".strip()
    if found := re.match(r"(\d[\d.]*) (kilo|pound)$", value):
        return count_fact(owner, found[1], found[2])
    if re.match(r"\d+(?: years? old)?$", value) and not preposition:
        return told_fact(
            owner, "age" if owner in PERSONS or not is_common(owner) else owner, value.split(" ")[0], "one"
        )
    if found := _AMOUNT.match(told):
        return told_fact(owner, named(found[2]), found[1], "one")
    if found := re.match(r"(?:up|down|back)(?: to)? (\d+) ([a-z]+)$", told):
        return count_fact(owner, found[1], found[2])
    return None


def _where(owner: str, preposition: str, bare: str) -> Fact:
    """On the search team, at Meta, in Porto, on Postgres."""
    group = GROUP.search(bare) if preposition in {"on", "in", "at"} else None
    if group:
        return told_fact(owner, group[1], bare, "one")
    if preposition == "on" or (preposition in {"in", "at", "with"} and _place(preposition, bare)):
        name = kind(bare) if kind(bare) not in CALENDAR else ""
        name = name or {"at": "employer", "with": "employer", "in": "location"}.get(preposition, "is on")
        return told_fact(owner, name, CUT.sub("", bare))
    return told_fact(owner, f"is {preposition}", bare, "open")


def _place(preposition: str, bare: str) -> bool:
    return bare[:1].isupper() or (preposition == "at" and bare.startswith("the ") and bare[4:5].isupper())


def _is_a(clause: Clause, owner: str, words: list[str], low: list[str], old: str) -> Iterator[Fact]:
    """A nurse; the lead of Atlas; Ana's manager; allergic to nuts."""
    inner_owner, inner, tense, change = whose_what(tuple(words))
    definite = low[0] == "the" or low[0] in POSSESSIVES or any(word.endswith("'s") for word in low[:-1])
    if definite and inner and tense == "present" and inner_owner not in {"", owner}:
        subject, attribute = slot_of(inner_owner, inner)
        yield told_fact(
            subject, attribute, owner, "one" if cardinality(attribute) == "open" else None, change=change, old=old
        )
        return
    if definite and inner and " " in inner and cardinality(named(inner.rpartition(" ")[2])) == "one":
        subject, attribute = slot_of("", inner)
        yield told_fact(subject, attribute, owner, change=change, old=old)
        return
    text = re.split(r" (?:at|for|with|in|on|from|by|who) ", " ".join(words), maxsplit=1)
    head = text[0].split(" ")[-1].lower()
    if (
        (low[0] in {"a", "an", "the"} or clause.verb in {"become", "turn"})
        and OCCUPATION.search(head)
        and head not in _NOT_JOBS
    ):
        yield told_fact(owner, "role", text[0])
        found = re.search(r" (?:at|for|with) (?:the )?([A-Z].*)$", " ".join(words))
        if found:
            yield told_fact(owner, "employer", CUT.sub("", found[1]))
    elif len(low) > 2 and low[1] in PREPOSITIONS:
        yield told_fact(owner, f"is {low[0]} {low[1]}", " ".join(words[2:]), "many")
    else:
        yield told_fact(owner, kind(words[0]) or "is", " ".join(words), None if kind(words[0]) else "many")


def having_facts(clause: Clause, owner: str, noun: str) -> Iterator[Fact]:
    """Three cats, a Tesla, a budget of 500, a new job at Google, hired, married."""
    subject = owned(owner, noun) if noun else owner
    text, old = without_old(joined(clause.rest), change=False)
    job = None if noun else _JOB.match(text)
    if new := APPOSED.match(text):  # a new teacher, Mr. Duval
        yield new_one(subject, new[1], new[2])
    elif job:
        yield from _employed(subject, job)
    elif kind(text) == "relationship" and clause.verb == "get":
        yield told_fact(subject, "relationship", text.split(" ")[0])
    elif made := list(_amounts(subject, text)):
        yield from made
    else:
        yield _thing(clause, subject, text, old)


_JOB = re.compile(
    r"(?:(?:an?|the|my|her|his|their|our|new|first|full-time|part-time|dream|great|permanent|\w+ing|\w+er) )*"
    r"(?:job|position|role|offer accepted|gig|internship) (?:(?:as (.+?) )?(?:at|with|for) (.+)|as (.+))$"
)


def _employed(subject: str, job: re.Match[str]) -> Iterator[Fact]:
    role, employer = job[1] or job[3], job[2]
    if employer:
        named_role = re.search(r" as (.*)$", employer)
        yield told_fact(subject, "employer", CUT.sub("", re.sub(r" as .*$", "", employer)))
        role = role or (named_role[1] if named_role else "")
    if role:
        yield told_fact(subject, "role", CUT.sub("", role))


def _amounts(subject: str, text: str) -> Iterator[Fact]:
    """Red hair, a budget of 500, a class every Tuesday, 500 euros in savings, three cats."""
    value = canonical(text)
    if kind(text.split(" ", maxsplit=1)[0]) == "colour" and (found := re.match(r"(\w+) ([a-z]+)$", text)):
        yield told_fact(f"{subject}'s {found[2]}", "colour", found[1], "one")
    elif found := re.match(r"(?:an?|the) ([\w ]{2,30}?) of (.+)$", text):
        name, attribute = slot_of(subject, found[1])
        yield told_fact(name, attribute, found[2], "one" if has_number(found[2]) else None)
    elif planned := re.match(r"(?:an? |the )?([a-z][\w ]{2,30}?) ((?:every|each|on|at) .+)$", text):
        when = re.sub(r"^(?:every|each|on|at) ", "", planned[2])
        yield from calendar_facts(owned(subject, planned[1]), when, at_hour=planned[2].startswith("at"))
    elif amount := re.match(r"(\d\S* (?:euro|dollar|pound)s?) (?:in|of) (?:my |our |the )?([a-z]+)$", value):
        yield told_fact(subject, named(amount[2]), amount[1], "one")
    elif counted := re.match(r"(\d+) ([a-z][a-z ]+?)(?: (?:in|at|on|now|that|who|with|named|called)\b.*)?$", value):
        yield told_fact(subject, f"number of {' '.join(content_terms(counted[2]))}", counted[1], "one")


def _thing(clause: Clause, subject: str, text: str, old: str) -> Fact:
    """A Tesla; a laptop, a ThinkPad: one of its kind when it is a new one, else one of any number."""
    name, apposed = _apposed(text)
    attribute = named(name) if apposed else value_sort(text)
    change = clause.verb not in {"have", "own"} and " new " in f" {text} "
    without_article = re.compile(r"^(?:(?:a|an|the|my|her|his|their) )?(?:new |brand new |used |second-hand )*")
    many: Cardinality = "one" if apposed or (change and attribute in THINGS) else "many"
    value = without_article.sub("", apposed or CUT.sub("", text))
    return told_fact(subject, attribute or "has", value, many, change=change, old=old)


def _apposed(text: str) -> tuple[str, str]:
    """A new laptop, a ThinkPad: the noun and what it is."""
    noun, _, value = re.sub(r"(?:,| named| called) ", "|", text, count=1).partition("|")
    words = cleaned("", noun.split(" "))[1]
    return (words, value) if value and is_attribute(words) else (words, "")
