"""Of whom a sentence tells: of the speaker, or of somebody else. English, by rule."""

from __future__ import annotations

import re
from functools import lru_cache

from mnemic.text.common import is_common
from mnemic.text.names import names

__all__ = ["mentions_another", "tells_of_another", "without_introduction"]

_SOMEBODY = (
    "mother|mum|mom|mama|mummy|father|dad|daddy|papa|parents?|sister|brother|siblings?|son|daughter|kids?|child|children|baby|"
    "husband|wife|spouse|partner|boyfriend|girlfriend|fianc[ée]e?|ex|aunt(?:ie)?|uncle|cousins?|niece|nephew|grandm\\w+|"
    "grandf\\w+|grandpa|grandparents|granny|nana|gran|in-laws?|friends?|buddy|colleagues?|coworkers?|boss|manager|ceo|cto|"
    "neighbou?rs?|roommates?|flatmates?|landlord|landlady|tenants?|clients?|customers?|patients?|students?|teacher|tutor|"
    "coach|doctor|nurse|therapist|dentist|vet|lawyer|candidates?|applicants?|guys?|lady|woman|man|girl|boy|"
    "dogs?|cats?|puppy|pup|kitten"
)
_PERSON = re.compile(rf"\b(?:{_SOMEBODY})\b", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"""(?:[\w ]{{1,20}}:\s+)?(?:(?:he|she|they|his|her|their)(?:['\u2019]\w+)?\b
    | (?:(?!(?:with|for|to|from|at|in|of|about|by|on|and|but|like|after|before|met|saw|told)\b)[\w'\u2019-]+[ ]){{0,3}}
      (?:{_SOMEBODY})\b(?!['\u2019-]))""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMED = re.compile(
    r"([A-Z][a-z]+)(?: [A-Z][a-z]+)? (?:and [A-Z]\w+ )?(?:is|was|has|had|will|wants|[a-z]+ed|[a-z]+s|got|went)\b"
)
_SPEAKER = re.compile(r"\b(?:I|We|we)\b|(?<![\w'.-])i(?=['\u2019 ])")


def tells_of_another(sentence: str) -> bool | None:
    """Whether the subject of a sentence is somebody else than the speaker; None where it does not tell.

    "My sister visited." and "They pay late." are of another, "I'm tired." is not, "The flight was long." does not tell.
    """
    if _SPEAKER.search(sentence):
        return False
    if _SUBJECT.match(sentence):
        return True
    named = _NAMED.match(sentence)
    return True if named and not is_common(named[1].lower()) else None


def mentions_another(sentence: str) -> bool:
    """Whether somebody is named in it, or called by what they are: what "she" can stand for."""
    return bool(_PERSON.search(sentence) or names(sentence))


@lru_cache(maxsize=256)
def _introduces(name: str) -> re.Pattern[str]:
    called = "|".join(re.escape(form) for form in sorted({name, name.split(maxsplit=1)[0]}, key=len, reverse=True))
    return re.compile(
        rf"(?:(?:I['\u2019]?m|I am|this is|it['\u2019]?s)(?: called| named)?|(?:my )?name(?:['\u2019]s| is)) (?:{called})"
        rf"(?![\w'\u2019-])[\s,;:.!\u2013\u2014-]*",
        re.IGNORECASE,
    )


_CLAUSE = re.compile(
    r"(?:and )?(?=(?:I|my|we|our|this|that|it|the|there|he|she|they|from now)\b(?!-))(?!the (?:one|new|head)\b)",
    re.IGNORECASE,
)


def without_introduction(sentence: str, name: str) -> str:
    """A sentence without the speaker's own name at its head, which tells nothing of somebody who is called so.

    Args:
        sentence: in the first person.
        name: of the speaker, as it is known.

    Returns:
        "I live in Utrecht" for "I'm Marta, I live in Utrecht", "I'm a nurse" for "I'm Marta, a nurse", nothing for "I'm Marta."
        A longer name ("I'm Marta Jansen") stays as it is.
    """
    if not name:
        return sentence
    match = _introduces(name).match(sentence)
    if not match:
        return sentence
    rest = sentence[match.end() :]
    if not rest:
        return ""
    if re.match(r"[A-Z]\w", rest) and sentence[match.end() - 1] == " " and not re.search(r"[,;:.!-]", match[0][-3:]):
        return sentence  # a family name
    if clause := _CLAUSE.match(rest):
        told = rest[clause.end() :]
        return told[:1].upper() + told[1:]
    return f"I {rest[4:]}" if rest.startswith("and ") else f"I'm {rest}"
