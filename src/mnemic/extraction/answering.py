"""Short answers made whole with the question they answer: "Where do you live?" - "In Lisbon." is "I live in Lisbon."."""

from __future__ import annotations

import re

from mnemic.extraction.rewriting import is_past

__all__ = ["answered", "asked_about", "is_fragment"]

_YES = re.compile(
    r"(?:yes|yeah|yep|yup|sure|of course|i do|i am|i have|definitely|absolutely)\b[,.!:;-]*\s*(?:(?:i "
    r"(?:do|am|have))\b[,.!]*\s*)?",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:no|nope|nah|not really|not yet)\b[,.!:;-]*\s*(?:i (?:don't|am not|haven't)\b[,.!]*)?\s*", re.IGNORECASE
)
_PLACE = re.compile(r"(?:in|at|near|on|from|by|outside|around|under|inside)\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|have|has|had|do|does|did|can|could|will|would|should|i|i'm|i've|i'll|i'd|we|"
    r"they|he|she|it's|that's|there's|"
    r"let|go|went|get|got|make|made|love|like|need|want|think|try|take|keep|sounds?|looks?|seems?|feels?|"
    r"helps?|means?|works?)\b|'(?:s|re|ve|ll|m|d)\b|\w{3,}ed\b",
    re.IGNORECASE,
)
_MOST = 12
"""Words of an answer that is taken for a fragment."""


def is_fragment(sentence: str) -> bool:
    """Whether a reply is no sentence of its own: few words, none of them a verb that a rule knows."""
    return (
        0 < len(sentence.split()) <= _MOST
        and not _VERB.search(sentence)
        and not any(is_past(word) for word in sentence.split())
    )


def _said_of_me(text: str) -> str:
    """What a question asks of "you", as the one who answers says it."""
    text = re.sub(r"\byour\b", "my", text, flags=re.IGNORECASE)
    text = re.sub(r"\byou're\b", "I'm", text, flags=re.IGNORECASE)
    return re.sub(r"\byou\b", "I", text, flags=re.IGNORECASE)


def _lower(text: str) -> str:
    word = text.split(" ", 1)[0]
    return (
        text[0].lower() + text[1:]
        if word.lower()
        in {
            *"in at near on from by outside around under inside a an the two three about since for my with every".split()
        }
        else text
    )


def answered(question: str, reply: str) -> str | None:
    """A sentence in the first person from a question and its short answer, or None when no rule fits.

    Args:
        question: one question, addressed to the one who replies.
        reply: the answer as it was given.
    """
    asked = re.sub(
        r"^(?:(?:and|so|but|by the way|hey|oh|well|wow|cool|nice)\b[ ,!]*)+", "", question.strip(), flags=re.IGNORECASE
    ).rstrip("?!. ")
    answer = reply.strip().rstrip(".!")
    if _OF_THE_ASKER.search(asked):
        return None  # "Do you want me to" asks for a task
    for pattern, rule in _RULES:
        if (match := re.fullmatch(pattern, asked, re.IGNORECASE)) and (found := rule(match, answer)):
            return found[0].upper() + found[1:] + "."
    return None


def _where(match: re.Match[str], answer: str) -> str | None:
    if not is_fragment(answer):
        return None
    place = _lower(answer) if _PLACE.match(answer) else f"in {answer}"
    return f"I {_said_of_me(match[1])} {place}" if _PLACE.match(answer) or answer[:1].isupper() else None


def _what_is(match: re.Match[str], answer: str) -> str | None:
    return f"my {_said_of_me(match[1])} is {_lower(answer)}" if is_fragment(answer) else None


def _what_do(match: re.Match[str], answer: str) -> str | None:
    verb, rest = match[1], match[2] or ""
    if verb.lower() in {"do", "think", "mean", "say", "feel"} or not is_fragment(answer):
        return None
    return f"I {verb} {_lower(answer)}{_said_of_me(rest)}"


def _which(match: re.Match[str], answer: str) -> str | None:
    return f"the {match[1]} I {_said_of_me(match[2])} is {_lower(answer)}" if is_fragment(answer) else None


def _how_many(match: re.Match[str], answer: str) -> str | None:
    return f"I have {_lower(answer)} {match[1]}" if is_fragment(answer) and len(answer.split()) <= 2 else None


def _how_old(_: re.Match[str], answer: str) -> str | None:
    return f"I am {answer} years old" if answer.isdigit() else None


def _do(match: re.Match[str], answer: str) -> str | None:
    asked = re.sub(r"\bany\b ?", "", _said_of_me(match[1]))
    return _yes_or_no(answer, f"I {asked}", f"I don't {_said_of_me(match[1])}")


def _are(match: re.Match[str], answer: str) -> str | None:
    return _yes_or_no(answer, f"I am {_said_of_me(match[1])}", f"I am not {_said_of_me(match[1])}")


def _have(match: re.Match[str], answer: str) -> str | None:
    asked = re.sub(r"\bever ", "", _said_of_me(match[1]))
    return _yes_or_no(answer, f"I have {asked}", f"I have never {asked}")


def _yes_or_no(answer: str, yes: str, no: str) -> str | None:
    if match := _YES.match(answer):
        more = answer[match.end() :].strip()
        return yes if not more else f"{yes}: {_lower(more)}" if is_fragment(more) else None
    match = _NO.fullmatch(answer)
    return no if match else None


_USED = r"use|have|like|prefer|play|speak|read|drive|run|want|need"
_RULES = (
    (r"where (?:do|did) you (live|work|study|come from|stay|store .+|keep .+|deploy .+|host .+)", _where),
    (r"(?:what(?:'s| is)|when(?:'s| is)) your ([\w' -]{2,40})", _what_is),
    (r"how many ([\w' -]{2,30}) do you have", _how_many),
    (r"how old are you", _how_old),
    (rf"(?:what|which) ([\w-]+(?: [\w-]+)?) (?:do|are) you ((?:{_USED})(?: .{{1,40}})?)", _which),
    (r"what do you (\w+)((?: (?:for|in|on|with|as|at) .{1,40})?)", _what_do),
    (r"do you ((?!think|know|mean|mind|remember|believe|feel)\w+ .{2,60})", _do),
    (r"are you ((?!sure|okay|ok|ready|serious|kidding|there)[\w-].{2,60})", _are),
    (r"have you (ever .{2,60})", _have),
)
_OF_THE_ASKER = re.compile(r"\b(?:i|me|my|we|us|our)\b", re.IGNORECASE)


def asked_about(question: str, most: int = 100) -> str:
    """A question as it is quoted beside its answer; empty when it is too long to be quoted."""
    bare = " ".join(question.replace('"', "'").split())
    return bare if len(bare) <= most else ""
