"""Words that ask for one thing: where somebody lives and what their city is, who leads and who is in charge."""

from __future__ import annotations

from functools import lru_cache

from mnemic.text.terms import content_terms

__all__ = ["concepts"]

_GROUPS = """
live reside dwell settle residence home city town hometown flat apartment house
work job employ employer company firm profession occupation career role position title living
wage salary pay earn income
phone mobile cell number telephone
mail email address
drive car vehicle ride
boss manager supervisor report
lead leader head chair charge run manage owner own responsible maintain captain
price cost charge fee rent rate take pay ticket expensive
time clock hour start begin begins o'clock
date day when schedule due deadline
place venue room location located stay hotel situated
drink coffee tea order beverage
eat food feed meal diet
read book novel reading
doctor physician gp see treat
teacher teach tutor class lesson
married wife husband spouse partner girlfriend boyfriend date together relationship
version release upgrade
limit maximum max most cap threshold
store keep save database storage put
host cloud server hosted
team squad group department
called name title named
floor storey level
password passcode code pin
size big large
length long duration last
weight weigh heavy
colour color
sleep bed bedtime night
wake up get morning
insure insurance insured insurer
study major degree studying
play instrument
ci build pipeline
state status stage progress far
subscribe subscription subscribed plan subscriber
count many number
commute travel
editor ide
laptop computer notebook
shift rota
use using run
go attend goes
""".strip().splitlines()


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for number, group in enumerate(_GROUPS):
        for term in content_terms(group):
            found.setdefault(term, set()).add(f"~{number}")
    return {term: frozenset(groups) for term, groups in found.items()}


def concepts(term: str) -> frozenset[str]:
    """What a term of ``content_terms`` may stand for: itself, and the groups of words it belongs to."""
    return _table().get(term, frozenset()) | {term}
