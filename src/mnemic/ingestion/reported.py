"""Direct to reported speech: "I'm moving to Lisbon" said by Ana is "Ana is moving to Lisbon". English, by rule.

The speaker is named once in a sentence and is "they" after that: nothing tells how somebody would be called. What the rules
cannot turn is quoted as it was said.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

from mnemic.text.common import is_common
from mnemic.text.irregular import BASE_FORMS
from mnemic.text.subjects import without_introduction
from mnemic.text.terms import STOP_WORDS

__all__ = ["bare", "lacks_subject", "quoted", "quotes", "reported", "third_person", "told_in_quotes"]

_TOKENS = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w]+")
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_INTERJECTIONS = re.compile(
    r"""(?:wow|yeah|yes|yep|yup|yea|no|nope|nah|oh|ah|aw|aww|ooh|haha|hahaha|lol|hey|hi|hello|well|so|and|but|also|plus|darn
      |anyway|anyways|okay|ok|sure|hmm|right|great|awesome|cool|nice|thanks|thank\ you|btw|by\ the\ way|honestly|actually
      |of\ course|absolutely|definitely|totally|exactly|sorry|congrats|congratulations|oh\ no|oh\ man|man|gosh|omg|guess\ what
      |fine|perfect|yes\ please
      |sounds\ (?:good|great)|no\ (?:problem|worries)|unfortunately|fortunately|luckily|basically|anyhow)(?:\ so\ much)?
      \s*(?:[,!.:;-]+|\u2014|\s)\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_CALL = re.compile(r"([^\W\d_][\w'\u2019-]+)\s*[,!]+\s*")
_ANNOUNCES = re.compile(r"[^:.!?]{1,30}:\s+(?=(?:I|my|My|we|We)\b)")
_JOINED = frozenset(
    "fine perfect so no hey hi hello well thanks right great nice cool sure man oh ok okay yes yeah".split()
)
"""Interjections that need a comma after them, unless a pronoun follows: "so much", "no one", "great idea"."""
_ADVERBS = frozenset(
    """just also really never always still only even often usually already kinda kindof sometimes actually definitely
    totally probably honestly truly recently finally absolutely currently certainly especially generally mostly now then
    once ever both all too not simply literally hardly barely rarely seriously sure""".split()
)
_NOT_ADVERBS = frozenset("reply apply supply rely fly imply family only multiply comply ally bully".split())
_MODALS = frozenset(
    "can could will would should must might may shall cannot can't couldn't won't wouldn't shouldn't mustn't ought".split()
)
_UNCHANGED = frozenset(
    """was wasn't had hadn't did didn't were weren't quit cost spread read overcame underwent stuck set put cut hit let hurt
    bet""".split()
)
"""Past forms that no table holds, and verbs whose present looks the same: what is told is mostly past."""
_THIRD = {
    "am": "is", "are": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "aren't": "isn't",
    "go": "goes", "were": "was", "weren't": "wasn't", "ain't": "isn't", "own": "owns", "dont": "doesn't", "havent": "hasn't",
    "cant": "can't", "didnt": "didn't", "wont": "won't", "couldnt": "couldn't", "wouldnt": "wouldn't",
}  # fmt: skip
_PLURAL_YOU = {"am": "are", "was": "were", "wasn't": "weren't"}
_SHORT = {"'m": "is", "'re": "is", "'ve": "has", "'ll": "will"}
_SHORT_THEY = {"'m": "are", "'re": "are", "'ve": "have", "'ll": "will"}
_OWN = {"me": "them", "my": "their", "mine": "theirs", "myself": "themself"}
_SHARED = {"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"}
_ED = re.compile(r"[a-z]{2,}ed$")
_NOT_PAST = frozenset("need feed speed bleed breed exceed proceed succeed heed weed seed embed shed wed".split())
_NOUNS = frozenset("men women people kid mice feet geese children".split())
_PASTS = frozenset(form for form in BASE_FORMS if not form.endswith("s")) - _NOUNS
_DROPPED_SUBJECT = {
    word: word
    for word in """went got had took made saw did came found bought met finished started tried loved enjoyed spent decided moved
    visited watched read gave ran won ate learned signed booked painted can't can couldn't didn't
    hadn't won't wouldn't""".split()
} | {"been": "has been", "haven't": "hasn't", "gonna": "is going to", "gotta": "has to"}
"""First words of a sentence that leaves out its "I", and what they are after a name."""
_ONGOING = frozenset("looking hoping planning thinking feeling trying working heading getting going".split())
_FEELS = frozenset(
    "excited tired inspired interested worried surprised pleased thrilled stoked amazed bored scared relieved".split()
)
_PRONOUN = re.compile(r"(?:I|we|my|our|it|they|he|she|there|that|and|but)\b", re.IGNORECASE)
_CLAUSE_STARTERS = frozenset(
    "that if when because and but so what how whether as since while before after where which or than".split()
)


@lru_cache(maxsize=4096)
def _is_past(word: str) -> bool:
    return word in _PASTS or word in _UNCHANGED or (bool(_ED.match(word)) and word not in _NOT_PAST)


def _is_adverb(word: str) -> bool:
    return word in _ADVERBS or (word.endswith("ly") and word not in _NOT_ADVERBS)


@lru_cache(maxsize=4096)
def _third(verb: str) -> str:
    """The verb after a name: love is loves, have is has; past forms and modals stay."""
    if verb in _THIRD:
        return _THIRD[verb]
    if verb in _MODALS or not verb.isalpha() or _is_past(verb) or (verb in STOP_WORDS and verb != "like"):
        return verb
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def bare(sentence: str, hearers: frozenset[str] = frozenset()) -> str:
    """The sentence without what only opens it ("Wow, ", "Hey Mel! ", "And ") and without the names of hearers it is put to."""
    text = sentence.strip()
    while rest := _opened(text, hearers):
        text = rest
    for name in sorted(hearers):
        text = re.sub(rf",\s*{re.escape(name)}(?=[,.!?]|$)", "", text)
    return text.strip()


def _opened(text: str, hearers: frozenset[str]) -> str:
    """What follows the first opener; empty when there is none, or nothing else."""
    if announced := _ANNOUNCES.match(text):
        return text[announced.end() :]
    if called := _called(text, hearers):
        return text[called:]
    match = _INTERJECTIONS.match(text)
    if not match:
        return ""
    rest = text[match.end() :]
    marked = match[0].strip().lower() not in _JOINED or _called(rest, hearers)
    return rest if marked or _PRONOUN.match(rest) else ""


def _called(text: str, hearers: frozenset[str]) -> int:
    """The end of a hearer's name, or the short form of it, that begins the text and is set off."""
    match = _CALL.match(text)
    return match.end() if match and any(name.startswith(match[1]) for name in hearers) else 0


def _contracted(token: str) -> tuple[str, str]:
    """The word and its contracted ending: I'm is I and 'm."""
    straight = token.replace("\u2019", "'")
    head, mark, tail = straight.partition("'")
    return (head, mark + tail) if mark else (straight, "")


_BEFORE_A_SUBJECT = frozenset(
    """that so because and but or when if where while as since think thought hope know knew believe guess say said wish feel
    yesterday today tonight tomorrow weekend week month year day morning evening night then now once sometimes recently lately
    both only did do are were can will should""".split()
)


class _Turning:
    """One sentence on its way to the third person."""

    def __init__(self, tokens: list[str], speaker: str, hearer: str | None, *, named: bool) -> None:
        self.tokens, self.speaker, self.hearer, self.named = tokens, speaker, hearer, named
        self.out = list(tokens)

    def words_after(self, at: int) -> list[int]:
        return [n for n in range(at + 1, len(self.tokens)) if _WORD.match(self.tokens[n])]

    def agree(self, at: int) -> None:
        """Put the verb that belongs to the subject at this token into the third person singular."""
        for n in self.words_after(at)[:4]:
            if "".join(self.tokens[at + 1 : n]).strip(" ") and any(
                mark in "".join(self.tokens[at + 1 : n]) for mark in ".,;:!?"
            ):
                return
            word = self.tokens[n].lower().replace("\u2019", "'")
            if _is_adverb(word) or (word in {"no", "longer"} and self.is_no_longer(n)):
                continue
            self.out[n] = _third(word)
            return

    def is_no_longer(self, at: int) -> bool:
        """No longer, which stands before a verb as an adverb does."""
        near = "".join(self.tokens[max(at - 2, 0) : at + 3]).lower()
        return "no longer" in near

    def subject(self, at: int, name: str, ending: str) -> None:
        """A name in the place of a pronoun, with what the pronoun was contracted with."""
        if ending == "'d":
            following = [
                self.tokens[n].lower() for n in self.words_after(at)[:3] if not _is_adverb(self.tokens[n].lower())
            ]
            had = bool(following) and (_is_past(following[0]) or following[0] in {"been", "better"})
            self.out[at] = f"{name} {'had' if had else 'would'}"
        elif ending:
            self.out[at] = f"{name} {_SHORT.get(ending, '')}".strip()
        else:
            self.out[at] = name
            self.agree(at)
            self.inverted(at)

    def inverted(self, at: int) -> None:
        """Am I, do I, have I."""
        before = [n for n in range(at) if _WORD.match(self.tokens[n])]
        if before and self.tokens[before[-1]].lower() in {"am", "do", "have", "are"}:
            self.out[before[-1]] = _THIRD[self.tokens[before[-1]].lower()]
            self.out[at + 1 :] = self.tokens[at + 1 :]

    def they(self, at: int, ending: str) -> None:
        """The speaker once more, as they."""
        if ending == "'d":
            self.out[at] = "they'd"
        elif ending:
            self.out[at] = f"they {_SHORT_THEY.get(ending, '')}".strip()
        else:
            self.out[at] = "they"
            for n in self.words_after(at)[:1]:
                self.out[n] = _PLURAL_YOU.get(self.tokens[n].lower(), self.out[n])

    def beside_a_name(self, at: int) -> bool:
        """Max and I; not moved to Porto and I."""
        before = [n for n in range(at) if _WORD.match(self.tokens[n])]
        words = [self.tokens[n] for n in before]
        if len(words) < 2 or words[-1] != "and" or not words[-2][0].isupper():
            return False
        names = len(list(itertools.takewhile(lambda word: word[0].isupper() and word != "I", reversed(words[:-1]))))
        if names == len(words) - 1:
            return True
        led_by = before[-2 - names]
        return self.tokens[led_by].lower() in _BEFORE_A_SUBJECT or self.tokens[led_by + 1].strip() != ""

    def first_person(self, at: int, word: str, ending: str) -> None:
        if word == "i":
            if not ending and self.beside_a_name(at):
                self.out[at] = self.speaker
            elif self.named:
                self.they(at, ending)
            else:
                self.subject(at, self.speaker, ending)
            self.named = True
        elif self.named or word != "my":
            self.out[at] = _OWN[word]
        else:
            self.out[at] = f"{self.speaker}'s"
            self.named = True

    def second_person(self, at: int, word: str, ending: str) -> None:
        hearer = self.hearer or "the others"
        if word == "you":
            before = [n for n in range(at) if _WORD.match(self.tokens[n])]
            heads = not before or self.tokens[before[-1]].lower() in _CLAUSE_STARTERS
            if ending or (heads and self.hearer):
                self.subject(at, hearer, ending)
            else:
                self.out[at] = hearer
        else:
            self.out[at] = hearer if word in {"yourself", "yourselves"} else f"{hearer}'s"

    def turned(self) -> str:
        for at, token in enumerate(self.tokens):
            word, ending = _contracted(token)
            lowered = word.lower()
            if (
                lowered == "i" and (word == "I" or ending or at == 0 or self.tokens[at - 1].endswith(" "))
            ) or lowered in _OWN:
                self.first_person(at, lowered, ending)
            elif lowered in {"you", "your", "yours", "yourself", "yourselves"}:
                self.second_person(at, lowered, ending)
            elif lowered in _SHARED and word != "US":
                self.out[at] = _SHARED[lowered] + ending
        return "".join(self.out)


def third_person(sentence: str, speaker: str, hearer: str | None, *, named: bool = False) -> str:
    """The sentence with its first and second persons turned into names.

    Args:
        sentence: one statement.
        speaker: who said it.
        hearer: to whom; None where that is not one person.
        named: the speaker was named before, and is "they" from the start.
    """
    return _Turning(_TOKENS.findall(sentence), speaker, hearer, named=named).turned()


def reported(
    sentence: str,
    speaker: str,
    hearer: str | None,
    hearers: frozenset[str] = frozenset(),
    *,
    of_another: bool = False,
) -> str:
    """What somebody said, as a sentence of a story.

    Args:
        sentence: one statement, as it was said.
        speaker: a name, or "the user".
        hearer: to whom, if that is one person.
        hearers: names by which the speaker addresses others, left out where they are set off by commas.
        of_another: the sentence before was of somebody else, so that one without a subject is not told of the speaker.

    Returns:
        "Ana is moving to Lisbon." for "I'm moving to Lisbon!"; "Ana said that ..." where somebody else is the subject; a
        quotation where it is a question, an order or another language. Ends in a full stop or a quotation mark.
    """
    if literal := quotes(sentence, speaker, hearers, of_another=of_another):
        return told_in_quotes(literal, speaker)
    text = without_introduction(bare(sentence, hearers), speaker)
    first = _WORD.search(text)
    if first is None:
        return ""
    lowered = first[0].lower().replace("\u2019", "'")
    text = text.rstrip(" .!\u2026~")
    rest = text[first.end() :]
    if _OWN_SUBJECT.match(text) or _LED_IN.match(text):
        told = third_person(text, speaker, hearer)
    elif verb := _without_subject(text, lowered):
        told = f"{speaker} {verb}{third_person(rest, speaker, hearer, named=True)}"
    else:
        body = _decapital(third_person(text, speaker, hearer, named=True), text)
        told = f"{speaker} said {'' if body.startswith('that') else 'that '}{body}"
    return _capital(told) + ("" if told[-1:] in '"\u201d' else ".")


def told_in_quotes(text: str, speaker: str, when: str = "") -> str:
    """What somebody said or asked in their own words, with the day it was said if that must be told."""
    verb = "asked" if text.rstrip(" )").endswith("?") else "said"
    return _capital(f"{speaker} {verb}{when}: {quoted(_capital(text))}")


def quotes(sentence: str, speaker: str, hearers: frozenset[str] = frozenset(), *, of_another: bool = False) -> str:
    """The words that ``reported`` puts in quotation marks; empty where it tells the sentence in its own."""
    text = without_introduction(bare(sentence, hearers), speaker)
    first = _WORD.search(text)
    if first is None:
        return ""
    lowered = first[0].lower().replace("\u2019", "'")
    return text if _is_quoted(text, lowered) or (of_another and lacks_subject(text)) else ""


def _is_quoted(text: str, first: str) -> bool:
    return "?" in text or first in _ORDERS or not _is_statement(text, first)


def lacks_subject(text: str) -> bool:
    """Whether a sentence leaves out who does it: "Went home"."""
    first = _WORD.search(text)
    return first is not None and bool(_without_subject(text, first[0].lower().replace("\u2019", "'")))


_OWN_SUBJECT = re.compile(r"(?:I|i)(?:['\u2019](?:m|ve|ll|d))?\s|[Mm]y\s")
_LED_IN = re.compile(
    r"""(?:
      (?:[Ii]n|[Oo]n|[Aa]t|[Aa]round|[Dd]uring|[Aa]fter|[Bb]efore|[Ss]ince|[Ff]or|[Ww]hen|[Ww]hile|[Ff]rom|[Ww]ith|[Aa]s|[Oo]nce|[Ii]f)
      \b[^,.;:]{0,50}?
      | (?:[Ll]ast|[Tt]his|[Nn]ext)\ \w+(?:\ \w+)? | [Mm]aybe | [Ss]ometimes | [Nn]ow | [Tt]hen | [Tt]hese\ days | [A-Z][a-z]+ly
    ),?\s(?:I|I['\u2019](?:m|ve|ll|d))\s""",
    re.VERBOSE,
)
"""A phrase that leads in, and then the speaker: "On that day, I ...", "Hopefully, I ..."."""


def _without_subject(text: str, first: str) -> str:
    """The first word as it is after a name, in a sentence that leaves out its "I"; empty for other sentences.

    "Went home", "Twisted my knee", "Just finished it", "Looking for a flat", "Excited to go".
    """
    words = [word.lower() for word in _WORD.findall(text)]
    second = words[1] if len(words) > 1 else ""
    if first in _DROPPED_SUBJECT:
        return _DROPPED_SUBJECT[first]
    if first in _FEELS and second in STOP_WORDS:
        return f"is {first}"
    if _is_past(first) and second in STOP_WORDS and second not in _FINITE:
        return first
    if _is_adverb(first) and _is_past(second):
        return first
    ongoing = first in _ONGOING and second in STOP_WORDS | {"forward"} and not any(word in _FINITE for word in words)
    return f"is {first}" if ongoing else ""


_ORDERS = frozenset(
    """let's let check try take go come look tell give show keep remember make have please use visit send call enjoy
    imagine consider add run open see stay feel find start stop put don't get set be think hope happy glad love bet""".split()
)
_FINITE = frozenset(
    """is are was were am be been has have had can do does did don't doesn't didn't isn't aren't wasn't weren't haven't hasn't
    could will would should might must may can't couldn't won't wouldn't shouldn't it's that's there's he's she's they're
    we're what's here's you're i'm i've i'll i'd they've they'll we've we'll he'll she'll it'll that'll""".split()
)
_NOMINAL = frozenset(
    """a an the this that these those my your his her its our their he she it we they you there some any many most every
    each all both one two three several no nobody nothing everyone everybody everything someone something people who what
    when if as in on at for with since after before because while during from by here life""".split()
)
"""Words that begin a clause with a subject of its own."""


_MONTH = re.compile(r"\bMay (?=\d{4}\b)")
"""No verb: 8 May 2023."""


def _is_statement(text: str, first: str) -> bool:
    """English, and with a subject: a verb that agrees with one is seen, or the first word can only begin one."""
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(_MONTH.sub("", text))]
    if len(words) >= 4 and not any(word in STOP_WORDS or "'" in word for word in words):
        return False
    begins = (
        first in _NOMINAL
        or first in _DROPPED_SUBJECT
        or first in _ONGOING
        or first == "i"
        or first.endswith(("ing", "'s"))
    )
    return begins or any(word in _FINITE or _is_past(word) for word in words)


def quoted(text: str) -> str:
    """The text in quotation marks; those inside it become single ones."""
    inner = re.sub('["\u201c\u201d]', "'", text)
    return f'"{inner}"'


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _decapital(body: str, said: str) -> str:
    """The first letter small, unless the word is a name or stands in capitals."""
    first = _WORD.search(body)
    if first is None or first.start() > 0:
        return body
    word = first[0]
    plain = word[1:].islower() or len(word) == 1 or "'" in word or "\u2019" in word
    return (
        body[:1].lower() + body[1:]
        if plain and said.startswith(word[:1]) and (is_common(word) or word.endswith("ing"))
        else body
    )
