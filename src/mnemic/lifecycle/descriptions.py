"""What a description means, and what it excepts: "my mobile but keep the landline" means the mobile.

A request may also be turned round: "don't forget my landline" asks that nothing goes. In doubt a clause is an exception, as
what is kept can still be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.text.sentences import sentences

_TAKE = r"(?:forget(?:ting)?|remov(?:e|ing)|delet(?:e|ing)|eras(?:e|ing)|wip(?:e|ing)|drop|scrub|clear)\b"
_KEEP = (
    r"(?:keep|retain|preserve|remember|store|spare|(?:hold|hang) on to|leave (?=(?:the|my|our|his|her|their|its) ))\b"
)
_NOT = r"(?:(?:do|does|did|should|must|can|could|would|may)(?: ?not|n't|nt)|never|not|without|no need to)\b"
_WISH = (
    r"(?:(?:i|we) (?:do not|don't|would not|wouldn't) (?:want|need|wish|like)\b|there(?:'s| is) no need\b"
    r"|(?:i|we)(?:'d| would) (?:rather|prefer)\b(?: it if| that)?(?= you (?:did|do) ?n[o']t\b)"
    r"|you (?:do|should|must|may|can)(?: ?not|n't)\b)"
)
_ADVERBS = (
    r"(?: (?:ever|pls|kindly|really|just|you|dare|please|go and|to|want|need|have|did not|didn't|do not|don't|not))*"
)
_COURTESY = re.compile(
    r"\W*(?:(?:please|pls|kindly|and|but|so|then|while|whereas|though|yet|just|only|still|also|ok|okay|oh|no(?! need)|well|now"
    r"|instead(?! of)|(?:do|(?:you )?(?:can|could|should|must|may|would)(?: you)?)(?! ?n[o']t\b)"
    r"|i(?:'d| would) like (?:you )?to|i want (?:you )?to)\b\W*)*",
    re.IGNORECASE,
)
"""What may stand before a verb or an exception, and says nothing."""
_EXCEPT = r"(?:except(?:ing)?(?: for| that)?|apart from|aside from|other than|with the exception of|excluding|rather than|instead of)\b"
_DENIED = rf"(?:{_NOT}|{_WISH}){_ADVERBS} "
_TAKES = re.compile(rf"(?:{_DENIED}(?:forget to {_TAKE}|{_KEEP})|{_TAKE}(?! nothing\b))", re.IGNORECASE)
_KEEPS = re.compile(
    rf"(?:{_DENIED}(?:{_TAKE}|touch\b|los(?:e|ing)\b)|{_KEEP}|{_TAKE} nothing\b"
    r"|not\b(?! (?:only|just|merely|simply|any ?more|any longer|now|yet|because)\b))(?: about\b)?",
    re.IGNORECASE,
)
_EXCEPTS = re.compile(_EXCEPT, re.IGNORECASE)
_STAYS = re.compile(
    r"(?: (?:(?:must|should|can|may|ought to|has to|have to|is to|are to|needs? to) )?(?:stays?|remains?|be kept)"
    r"(?: put| in| there| please| as (?:it is|they are))?| (?:is|are)(?: still)? (?:fine|right|correct|ok|okay))\W*$",
    re.IGNORECASE,
)
"""The end of a clause that says of something that it stays."""
_BROAD = re.compile(r"\b(?:everything|anything|all|every)\b", re.IGNORECASE)
_BUT = re.compile(r"\s*but (?:for )?", re.IGNORECASE)
_DENIES = re.compile(rf"\b({_NOT}),? (ever|please|pls|kindly|really)\b,?", re.IGNORECASE)
"""A denial with a word between marks: "don't, please, delete it"."""
_BORDER = re.compile(
    rf"[,;:)](?=\s|$)\s*|\s*[(\u2014]|\s[-\u2013]+\s|\s(?=(?:and|or|nor|but|so|then|while|whereas|though|yet)\s)|\s(?={_EXCEPT})"
    r"|(?P<denial>\s(?=not (?:the|my|our|his|her|its|their|your|this|that|these|those|any|what|where|who|when|how|about)\b))",
    re.IGNORECASE,
)
"""Where a clause may end."""
_GOES_ON = re.compile(
    r"(?:\b(?:is|are|am|was|were|be|been|do|does|did|has|have|had|can|could|will|would|shall|should|must|may|might|and|but|or|if|why)"
    r"|n't|'s|'m|'re)$",
    re.IGNORECASE,
)
"""A word after which "not" begins no clause."""
_MARKS = " \n\t,.;:!?()\u2014\u2013-"
_PRONOUN = re.compile(r"\W*(?:it|that|this|them|those|these|him|her)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What a description excepts.

    Attributes:
        text: what stays: "the landline".
        clause: how that is said: "keep the landline".
    """

    text: str
    clause: str


@dataclass(frozen=True, slots=True)
class Description:
    """A description in words, divided.

    Attributes:
        text: all of it.
        meant: what it means; empty if it asks only that something stays.
        excluded: what it excepts.
    """

    text: str
    meant: str
    excluded: tuple[Exclusion, ...] = ()


def divided(text: str) -> Description:
    """A description by what it means and what it excepts."""
    description = _divided(text, stays=True)
    return description if description.meant else _divided(text, stays=False)


def _divided(text: str, *, stays: bool) -> Description:
    """``stays``: whether "my sister stays" excepts something, as it does beside what is meant, or states it."""
    meant: list[str] = []
    excluded: list[Exclusion] = []
    for sentence in sentences(text.replace("\u2019", "'")):
        mode, part, said = "takes", "", ""
        for clause in _clauses(_DENIES.sub(r"\1 \2", sentence)):
            mark, rest = _marked(clause, said, stays=stays)
            said += clause
            mode = "takes" if (mode, mark) == ("keeps", "excepts") else mark or mode
            if mode == "takes":
                part += rest if mark == "excepts" else clause
            elif _PRONOUN.fullmatch(rest):
                excluded.append(Exclusion(part.strip(_MARKS), clause.strip(_MARKS)))
                part = ""
            else:
                excluded.append(Exclusion(rest.strip(_MARKS), clause[_leading(clause) :].strip(_MARKS)))
        meant.append(part.strip(_MARKS))
    return Description(text, "\n".join(filter(None, meant)) if excluded else text, tuple(excluded))


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence, with the marks and white space after them."""
    begin = 0
    for border in _BORDER.finditer(sentence):
        if border["denial"] is None or not _GOES_ON.search(sentence[: border.start()]):
            yield sentence[begin : border.end()]
            begin = border.end()
    yield sentence[begin:]


def _marked(clause: str, said: str, *, stays: bool) -> tuple[str, str]:
    """What a clause says of the rest of it: ``takes``, ``keeps``, ``excepts``, or nothing; and the rest."""
    begin = _leading(clause)
    for mark, pattern in (("takes", _TAKES), ("keeps", _KEEPS), ("excepts", _EXCEPTS)):
        if match := pattern.match(clause, begin):
            return mark, clause[match.end() :]
    if stays and (match := _STAYS.search(clause)):
        return "keeps", clause[begin : match.start() + 1]
    if (match := _BUT.match(clause)) and _BROAD.search(said):
        return "excepts", clause[match.end() :]
    return "", clause[begin:]


def _leading(clause: str) -> int:
    """Where a clause begins to say something."""
    match = _COURTESY.match(clause)
    return match.end() if match else 0
