"""What attributes are called, how many values each can have at a time, and which verbs tell of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mnemic.text.irregular import BASE_FORMS
from mnemic.text.terms import content_terms

__all__ = [
    "AUXILIARIES",
    "FRAMES",
    "PERSONAL",
    "PERSON_NOUNS",
    "Cardinality",
    "Fact",
    "cardinality",
    "is_attribute",
    "lemma",
    "light_terms",
    "named",
]

Cardinality = Literal["one", "many", "open"]
"""One value at a time; any number of them; or not known, when only the wording can tell."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a statement says of one attribute of one subject, in a spelling in which different wordings meet.

    Attributes:
        subject: a person or a thing in lower case: ``ana``, ``ana's sister``, ``api``; ``i`` for an unnamed speaker.
        attribute: ``residence``, ``port``, ``favourite colour``, or the noun or verb that was said.
        value: as ``values.canonical`` spells it; empty when it is only said that the old one has ended.
        polarity: False when it is denied: no longer lives in Lisbon.
        cardinality: how many values the attribute has at a time.
        tense: ``past`` (used to) and ``possible`` (might, hopes to) say nothing of the present.
        change: the wording tells of a change: now, switched to, instead.
        old: the value that it replaces, when that is said.
    """

    subject: str
    attribute: str
    value: str
    polarity: bool = True
    cardinality: Cardinality = "open"
    tense: Literal["present", "past", "possible"] = "present"
    change: bool = False
    old: str = ""

    @property
    def single(self) -> bool:
        """Whether its value takes the place of another one."""
        return self.cardinality == "one" or (self.cardinality == "open" and self.change)


# The words for an attribute of a person or a thing, and the name they share.
_NAMES = {
    "residence": "home, city, town, home city, place of residence, residence, current city, home base, "
    "location of residence",
    "employer": "employer, company, workplace, firm, place of work",
    "role": "job, job title, role, position, profession, occupation, title, career, day job",
    "phone number": "phone number, number, cell number, mobile number, telephone number, telephone, cell phone number, "
                    "contact number, digits",
    "email": "email, e-mail, email address, e-mail address, mail address",
    "address": "address, home address, street address, postal address, mailing address",
    "relationship": "relationship status, marital status, relationship",
    "partner": "wife, husband, spouse, partner, girlfriend, boyfriend, fianc\u00e9, fianc\u00e9e, fiance, fiancee",
    "manager": "manager, boss, supervisor, line manager, direct manager",
    "car": "car, vehicle, ride, wheels",
    "laptop": "laptop, computer, work laptop, notebook computer",
    "phone": "phone, smartphone, cell phone, mobile phone, mobile, cell, handset",
    "salary": "salary, pay, wage, income, wages",
    "diet": "diet, way of eating",
    "birthday": "birthday, birth date, date of birth, birthdate",
    "lead": "lead, leader, team lead, project lead, tech lead, person in charge, head, owner, maintainer, "
    "point person, assignee",
    "status": "status, state, stage, phase",
    "date": "date, day, deadline, due date, target date",
    "time": "time, start time, starting time, hour, start",
    "place": "venue, location, place, room, spot",
    "price": "price, cost, fee, charge, rate",
    "version": "version, release version",
    "language": "programming language",
    "operating system": "os, operating system",
    "indentation": "indentation, indent style, indentation style",
    "database": "database, db, database engine, data store, datastore, main database, primary database",
    "cloud": "cloud, cloud provider, hosting, hosting provider, host, cloud host",
    "editor": "editor, code editor, text editor, ide",
    "colour": "color, colour",
}  # fmt: skip
_ONE = frozenset(
    word.strip()
    for word in """residence, employer, role, phone number, email, address, age, relationship, partner, manager, diet, salary,
    birthday,
    lead, status, date, time, place, price, version, port, timeout, budget, rent, weight, height, name, nickname,
    deadline, count, database, editor, operating system, indentation, password, username, gender, nationality, location,
    surname, last name, duration, limit, capacity, rating, score, balance, colour, frequency, car, laptop, phone,
    level, mode, theme, branch, format, policy, provider, bank, insurer, insurance, supplier, strategy, tier,
    currency, timezone,
    time zone, dentist, doctor, therapist, trainer, paediatrician, pediatrician, vet, gym, school, seat, desk,
    interval, threshold,
    quota, url, domain, region, channel, license, brand, ceo, cto, president, captain, coach, sponsor,
    order,
    breakfast, on-call engineer, on-call, headquarters, landlord, major, bedtime, weather, temperature, framework, cloud,
    browser, package manager, test framework, ci""".split(",")
)
_MANY = frozenset(
    word.strip()
    for word in """hobby, friend, pet, cat, dog, parrot, hamster, rabbit, sibling, sister, brother, child, kid, son, daughter,
    aunt, uncle,
    cousin, niece, nephew, grandchild, neighbour, neighbor, colleague, coworker, teammate, roommate, flatmate, skill,
    interest, allergy, spoken language, goal, dream, wish, plan, achievement, book, plant, problem, idea, tip, advice,
    fact, rule, memory, question, issue, bug, reason, classmate, student, client, customer, member, friends, kids,
    child,
    grandson, granddaughter, guest, friend's name, example, challenge, task, requirement, feature, concern, fear""".split(
        ","
    )
)
PERSONAL = frozenset(
    """residence, employer, role, phone number, email, address, age, relationship, partner, manager, diet, salary,
    birthday,
    car, laptop, phone, rent, weight, height, name, mother, father, doctor, dentist""".replace("\n    ", " ").split(
        ", "
    )
)
"""Attributes that are somebody's: the city of nobody in particular is not Ana's."""

PERSON_NOUNS = frozenset(
    """brother sister wife husband partner girlfriend boyfriend son daughter mother father mum mom dad parents parent
    child kid
    kids children cousin aunt uncle neighbour neighbor colleague coworker friend boss manager grandmother grandfather
    grandma
    grandpa nephew niece roommate flatmate landlord client customer classmate guest teammate fiancee fiance
    sister-in-law
    brother-in-law mother-in-law father-in-law stepfather stepmother twin""".split()
)

# Verbs by what they do. A frame is "preposition: attribute"; "-" is a direct object, "*" whatever follows.
FRAMES: dict[str, dict[str, str]] = {
    "live": {"in": "residence", "at": "address", "near": "residence"},
    "reside": {"in": "residence", "at": "address"},
    "dwell": {"in": "residence"},
    "settle": {"in": "residence", "down in": "residence", "into": "residence"},
    "base": {"in": "residence", "out of": "residence"},
    "relocate": {"to": "residence", "into": "residence"},
    "work": {"at": "employer", "for": "employer", "with": "employer", "as": "role"},
    "employ": {"at": "employer", "by": "employer", "with": "employer", "as": "role"},
    "hire": {"by": "employer", "at": "employer", "as": "role"},
    "promote": {"to": "role"},
    "appoint": {"-": "role", "as": "role"},
    "drive": {"-": "car"},
    "weigh": {"-": "weight"},
    "earn": {"-": "salary"},
    "cost": {"-": "price"},
    "speak": {"-": "spoken language"},
    "marry": {"to": "partner", "-": "partner"},
    "date": {"-": "partner"},
    "call": {"-": "name"},
    "name": {"-": "name"},
    "report": {"to": "manager"},
    "assign": {"to": "lead"},
    "reassign": {"to": "lead"},
    "host": {"on": "cloud", "in": "cloud", "at": "cloud"},
    "listen": {"on": "*", "to": "*"},
    "expire": {"*": "expiry"},
    "open": {"*": "opening"},
    "close": {"*": "closing"},
    "end": {"*": "end"},
    "finish": {"*": "end"},
    **{verb: {"*": ""} for verb in ("start", "begin", "happen", "launch", "ship", "land", "schedule", "plan", "slate", "book",
                                    "set", "occur")},
}  # fmt: skip
_VERBS = """
    live reside dwell settle base relocate work employ hire promote appoint drive weigh earn cost speak marry date
    call name report host listen
    expire open close end finish start begin happen launch ship schedule slate book set occur move join leave quit stop
    turn become go get have own buy adopt purchase use run deploy serve bind prefer favour favor like love enjoy hate
    dislike adore
    switch change migrate convert upgrade downgrade swap replace trade ditch drop transition pivot shift configure
    adjust bump raise lower
    increase reduce cut update reschedule postpone push delay extend rename reset slip rise fall jump grow climb
    shrink bring
    lead head manage maintain coordinate own take hand oversee read watch play eat drink study learn teach
    need want know think say tell mention visit travel wear ride cook follow attend meet pay rent keep store write make
    plan hope consider give pick choose select adopt standardise standardize belong contain hold see come sleep wake
    practise practice train
    collect volunteer support help commute cycle walk swim land stay remain try volunteer sing paint draw code build
    test
    track depend rely point require return connect send receive charge sit sell win lose turn exist double triple halve
    smoke separate divorce retire graduate celebrate improve grow assign reassign dye paint insure rewrite order handle
    cancel subscribe find require wish miss listen default log subscribe sync invest save spend treat
""".split()
AUXILIARIES = frozenset(
    "is are am was were be been being has have had do does did will would can could may might must shall should 's".split()
)


def _forms(verb: str) -> list[str]:
    """The regular forms of a verb, its doubled consonant included whether or not it has one."""
    stem = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb
    last = verb[-1]
    if verb.endswith("y") and verb[-2] not in "aeou":
        return [verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"]
    third = f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"
    return [verb, third, f"{stem}ed", f"{stem}ing", f"{verb}{last}ed", f"{verb}{last}ing"]


@lru_cache(maxsize=1)
def _lemmas() -> dict[str, str]:
    known = {form: verb for verb in _VERBS for form in _forms(verb)}
    return (
        known
        | {"got": "get", "gotten": "get"}
        | {form: base for form, base in BASE_FORMS.items() if base in known and base not in {"child", "man"}}
    )


def lemma(word: str) -> str:
    """The base form of a known verb in any of its forms, or nothing."""
    return _lemmas().get(word, "")


@lru_cache(maxsize=1)
def _attributes() -> dict[str, str]:
    return {word.strip(): name for name, words in _NAMES.items() for word in words.split(",")}


@lru_cache(maxsize=1)
def light_terms() -> frozenset[str]:
    """Terms that say how a thing is told, not which thing it is: verbs, names of attributes, words of change."""
    words = [
        *_VERBS,
        *_lemmas(),
        *(word for names in _NAMES.values() for word in names.replace(",", " ").split()),
        *_WORN.split(),
    ]
    return frozenset(content_terms(" ".join(words))) - _HEAVY


_WORN = """
    now currently instead new different another day time every each usually currently finally officially update
    happen occur
    today week month year anymore longer nowadays onwards please current usual regular total right there own both
    already
    go-to favourite favorite preferred choice grow rewrite build built up down order sign account used
"""
_HEAVY = frozenset(content_terms("deploy report test rent pay launch account order call"))


def named(noun: str) -> str:
    """The one name of an attribute: place of residence is residence; a noun that is not known stays."""
    return _attributes().get(noun, noun)


def is_attribute(noun: str) -> bool:
    """Whether a noun is the name of a known attribute of one value, in full."""
    return noun in _attributes() or noun in _ONE


def cardinality(attribute: str) -> Cardinality:
    """How many values an attribute has at a time."""
    if attribute in _ONE or attribute.startswith(("favourite", "number of", "prefers")):
        return "one"
    head = attribute.rpartition(" ")[2]
    if attribute in _MANY or head in _MANY or head.removesuffix("s") in _MANY:
        return "many"
    return "one" if head in _ONE else "open"
