"""A sentence to a claim: in the third person, with absolute dates and nothing left dangling, or no claim at all."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mnemic.extraction import keeping
from mnemic.extraction.answering import asked_about
from mnemic.extraction.facts import facts
from mnemic.extraction.kinds import is_technical
from mnemic.extraction.matching import turns
from mnemic.extraction.rewriting import Speaker, is_past, third_person
from mnemic.extraction.stating import is_clause, stated
from mnemic.text.absolute import absolute_dates, happened
from mnemic.text.names import names
from mnemic.types import MemoryType

__all__ = ["LONGEST", "Claim", "Turn", "ended", "foreign", "made", "quoted_answer", "ruled", "speaks_to_someone"]

LONGEST = 320
"""Characters of a statement: about 300."""
_LEAST, _LEAST_BESIDE = 0.15, 0.12
"""Weights below which a claim is not kept: alone, and beside the one it leans on."""
_STATED = 0.3
"""What a statement of a value weighs at least, however few its words."""
_TEAM_VERBS = re.compile(
    r"\bwe(?:'re|'ve)?(?: \w+ly| also| always| never| only| now| already| don't| do not| just)? (?:use|"
    r"run|deploy|store|host|have|ship|build|test|write|keep|call|need|follow|"
    r"require|support|maintain|switched|migrated|moved|decided|chose|agreed|on|using|running|keep|pin|log|"
    r"cache|serve|target|cap|limit|release|merge)",
    re.IGNORECASE,
)
_OF_SOFTWARE = re.compile(r"\b(?:deploy|migrat|merg|releas|ship|refactor)\w*", re.IGNORECASE)
_AT_HOME = re.compile(
    r"\b(?:cats?|dogs?|pets?|pupp(?:y|ies)|kittens?|chickens?|kids?|child|children|bab(?:y|ies)|sons?|daughters?|wives|wife|"
    r"husband|famil(?:y|ies)|parents?|married|wedding|honeymoon|mortgage|flat|house|apartment|home|garden|kitchen|bedrooms?|"
    r"holidays?|vacation|neighbou?rs?|dinner|breakfast|school|kindergarten|nursery)\b",
    re.IGNORECASE,
)
"""What people share who are no team."""
_TO_YOU = re.compile(
    r"\b(?:for|to|with|made|make|gave|give|told|tell|sent|send|show|showed|shown|asked|ask|bought|buy|"
    r"miss|missed|met|meet|owe|from|about|by|saw|helped|"
    r"join|joined|visit|visited|bring|brought|share|shared|sharing|invite|invited|than|like) "
    r"you(?!['\u2019 ](?:re|ve|ll|d|are|were|have|had|can|could|should|will|would|do|did|need|want|"
    r"know)\b)",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:I|my|we|We|My|our|Our)\b")
_YOU = re.compile(r"\byou(?:r|rs|'(?:re|ve|ll|d)|rself)?\b", re.IGNORECASE)
_STILL_I = re.compile(
    r"(?<![\w/&'\u2019.-])(?:I|i)(?=['\u2019 ,](?![A-Z]))|(?<!-)\b(?:we|us|our|my|mine|me|let's|myself)\b(?!-)"
)
_PREDICATE = re.compile(
    r"\b(?:is|are|was|were|isn't|aren't|has|have|had|can|can't|could|will|would|make|do|does|doesn't|"
    r"did)\b|(?<=\w)'s (?!\w+ing\b|own\b)|"
    r"\b(?:makes|helps|takes|gives|keeps|feels|means|brings|gets|builds|shows|reminds|creates|needs|"
    r"matters|teaches|works|runs|uses|allows|lets|comes|goes|looks|"
    r"seems|sounds|wants|likes|loves|lives|plays|starts|ends|costs|says|has|inspires|tastes|requires|"
    r"supports|pushes|opens|turns)\b"
)
_CLAUSE = re.compile(r"[;:]|,(?! ?\d)|\b(?:and|but|because|which|who|where)\b", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|as of|from|starting|effective)\b", re.IGNORECASE)
"""Words before the date from which something holds."""
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\b(?:ago|last|yesterday|today|this|past|since)\b", re.IGNORECASE)
"""What tells of a day that is over, or of its year."""
_PLANNED = re.compile(
    r"\b(?:will|shall|going to|(?:am|is|are) \w+ing)\b|['\u2019](?:ll|(?:m|re) \w+ing)\b", re.IGNORECASE
)
_JUST = 60
"""Days after which a date in a sentence without a past is one to come."""
_QUOTED = re.compile(r'"[^"]*"|`[^`]*`')


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence that stands alone, or, when it ``leans``, together with the claim before it.

    ``at`` is the place of its message among those it was cut from, ``cites`` the places it rests on.
    """

    at: int
    cites: tuple[int, ...]
    speaker: str
    said_at: datetime
    text: str
    type: MemoryType
    weight: float
    declared: bool = False
    leans: bool = False
    valid_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as it is cut: who speaks to whom, what was asked before, what was shared with it."""

    at: int
    speaker: Speaker
    people: tuple[str, ...]
    said_at: datetime
    dated: bool
    question: str
    asked_at: int
    image: str
    to_agent: bool
    agent: bool
    technical: bool


def made(
    turn: Turn,
    said: str,
    kept: keeping.Kept,
    companion: str,
    *,
    leans: bool = False,
    note: str = "",
    cites: tuple[int, ...] = (),
) -> Claim | None:
    """The claim of a sentence in the first person, if nothing in it is left dangling."""
    speaker = _grouped(turn, said, companion)
    if _YOU.search(_QUOTED.sub("", said)) and (speaker.listener is None or not _addressed(said)):
        return None
    written = third_person(said, speaker)
    if turn.dated:
        written = absolute_dates(written, turn.said_at)
    if _STILL_I.search(_QUOTED.sub("", written)):
        return None
    if kept.type == "episodic" and said == written and not kept.declared and not names(written):
        kept = replace(kept, persistence=kept.persistence - 0.1)
    weight = kept.persistence * keeping.specificity(said)
    declared, kept = kept.declared, replace(kept, declared=kept.declared and turn.to_agent)
    if turn.to_agent and not turn.agent and not leans and stated(said):
        weight, kept = max(weight, _STATED), replace(kept, declared=True)
    if weight < (_LEAST_BESIDE if leans else _LEAST):
        return None
    if not leans and not note and not declared and kept.type == "semantic" and not _tells_of(written, speaker):
        if not _PREDICATE.search(written) and not (turn.to_agent and is_clause(said)):
            return None  # no sentence: "Serene and calming", "Cherish those moments"
        written = f"{speaker.name} says: {written}"
    text = ended(_shortened(written, LONGEST - len(note) - 4), note)
    valid = _began(said, written, kept.type, turn.said_at) if turn.dated else None
    return Claim(
        turn.at, cites or (turn.at,), turn.speaker.name, turn.said_at, text, kept.type, round(weight, 3),
        declared=kept.declared, leans=leans, valid_at=valid if valid and valid <= turn.said_at else None,
    )  # fmt: skip


def _is_ahead(said: str, named: datetime, when: datetime) -> bool:
    """Whether a day without a year is the next one of its name: "we are moving on 1 February", said in November."""
    if named >= when or _DATED.search(said):
        return False
    if _PLANNED.search(said):
        return True
    past = any(is_past(word) for word in said.lower().split())
    return not past and when - named > timedelta(days=_JUST)


def _began(said: str, written: str, type_: str, when: datetime) -> datetime | None:
    """Since when something holds: of what lasts, only a date that says so, not one of anything else in the sentence."""
    named = happened(said, when)
    if named is None or _is_ahead(said, named, when):
        return None
    first, *others = _CLAUSE.split(said)
    if type_ != "semantic":
        present = any(fact.tense == "present" for fact in facts(_CLAUSE.split(written)[0]))
        if not present or any(is_past(word) for word in first.lower().split()):
            return named
    told = [first] if _SINCE.search(first) or turns(first) else []
    told += [clause for clause in others if _SINCE.match(clause.strip())]
    return next((found for clause in told if (found := happened(clause, when))), None)


def _tells_of(written: str, speaker: Speaker) -> bool:
    """Whether the speaker or the listener is named in it."""
    return speaker.inside.lower() in written.lower() or bool(speaker.listener and speaker.listener in written)


def _addressed(said: str) -> bool:
    """Whether "you" is only the one something is done for, or the owner of a thing."""
    if not _FIRST.search(said):
        return False  # "you" is anyone
    rest = _TO_YOU.sub("", re.sub(r"\byours?\b", "", said, flags=re.IGNORECASE))
    return not _YOU.search(rest)


def _grouped(turn: Turn, said: str, companion: str) -> Speaker:
    """The speaker with what "we" stands for in this sentence."""
    speaker = turn.speaker
    if turn.agent:
        return replace(speaker, group="The user and the assistant")
    if re.search(r"\bwe both\b|\bboth of us\b", said, re.IGNORECASE) and speaker.listener:
        return replace(speaker, group=f"{speaker.name} and {speaker.listener}")
    if companion:
        with_them = re.sub(r"^my\b", "their", companion, flags=re.IGNORECASE)
        return replace(speaker, group=f"{speaker.name} and {with_them[0].lower() + with_them[1:]}")
    if speaker.name == "The user" and _TEAM_VERBS.search(said) and _of_a_team(turn, said):
        return replace(speaker, group=f"{speaker.name}'s team", plural=False)
    return replace(speaker, group=f"{speaker.name} and others")


def _of_a_team(turn: Turn, said: str) -> bool:
    """Whether "we" are colleagues: in talk of software, but for what people share at home."""
    return is_technical(said) or _OF_SOFTWARE.search(said) is not None or (turn.technical and not _AT_HOME.search(said))


def _shortened(text: str, most: int) -> str:
    """At most so many characters, cut where a clause ends."""
    if len(text) <= most:
        return text
    cut = max(text.rfind(mark, 0, most) for mark in ("; ", ", and ", ", but ", " - ", ", ", " and "))
    return text[: cut if cut > most // 3 else max(text.rfind(" ", 0, most), most // 2)].rstrip(" ,;-")


def speaks_to_someone(text: str) -> bool:
    """Whether somebody is spoken to, or speaks of themselves."""
    return bool(_YOU.search(text) or _STILL_I.search(text))


def ended(text: str, note: str = "") -> str:
    """The text with one full stop, after a note in brackets if there is one."""
    bare = text.rstrip(" ,;:-").rstrip("!.\u2026")
    return f"{bare} ({note})." if note else f"{bare}."


def ruled(turn: Turn, rule: str) -> Claim | None:
    """The claim of a standing instruction to the agent."""
    speaker = replace(turn.speaker, listener="the assistant", group=f"{turn.speaker.name}'s team", plural=False)
    written = third_person(rule, speaker)
    if _STILL_I.search(_QUOTED.sub("", written)) or keeping.specificity(rule) < 0.25:
        return None
    text = ended(_shortened(f"{turn.speaker.name}'s rule: {written[0].lower()}{written[1:]}", LONGEST))
    weight = 0.95 * max(keeping.specificity(rule), 0.5)
    return Claim(
        turn.at, (turn.at,), turn.speaker.name, turn.said_at, text, "procedural", round(weight, 3), declared=True
    )


def quoted_answer(turn: Turn, said: str) -> Claim | None:
    """A short answer that no rule makes whole, quoted with its question."""
    asked = asked_about(turn.question)
    if not asked:
        return None
    answer = said.rstrip(".! ").replace('"', "'")
    text = f'Asked "{asked}", {turn.speaker.inside} answered "{answer}".'
    weight = 0.7 * keeping.specificity(f"{said} {asked}")
    return Claim(turn.at, (turn.asked_at, turn.at), turn.speaker.name, turn.said_at, text, "semantic", round(weight, 3))


def foreign(turn: Turn, piece: str) -> Claim | None:
    """What is not English is kept in its own words when it names or counts something."""
    bare = piece.strip().replace('"', "'")
    told = bool(names(piece)) or any(c.isdigit() for c in piece)
    if turn.agent or not told or bare.endswith(("?", "\uff1f")):
        return None
    if not 8 <= len(bare) <= LONGEST - 60 or sum(c.isalpha() for c in bare) < len(bare) / 2:
        return None
    text = f'{turn.speaker.name} said: "{bare}"'
    return Claim(turn.at, (turn.at,), turn.speaker.name, turn.said_at, text, "semantic", 0.4)
