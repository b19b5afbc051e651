"""Descriptions in words: what they mean, and what they except. "My mobile but keep the landline" means the mobile.

A request may also be turned round: "don't forget my landline" asks that nothing goes. In doubt a clause is an exception, as
what is kept can still be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from mnemic.text.differences import of_the_speaker
from mnemic.text.english import MONTHS, TITLES, language_of, names
from mnemic.text.sentences import sentences
from mnemic.text.terms import MARKS, WRITTEN, content_terms, without_accents, written_words

ACTIONS = frozenset(content_terms("forget remove delete erase wipe drop scrub clear"))
SUBSTITUTES = frozenset(("one",))
"""Words that stand for a thing named before: "the new one"."""
GENERIC = ACTIONS | frozenset(
    content_terms(
        """keep memory know remember record note store save say tell mention
        mind thing stuff information info data detail everything anything bit whole fact please pls kindly todo alles
        \u00fcber tout"""
    )
)
"""Words of a request for the action, and empty ones."""
_THINGS = frozenset("savings notes records".split())
"""Nouns with the stem of such a word."""
_ABOUT = frozenset(("sobre", "sur"))
"""Words that say nothing right after an empty one: "tout sur Léa", not "ce que j'ai dit sur Léa"."""
_BROAD = frozenset("everything anything all whole stuff things todo alles tout".split())
_FIRST = frozenset(
    """i me my mine myself we us our ours mein meine meinem meinen meiner meines unser unsere unserem unseren unserer
    unseres mi mis nuestro nuestra mon ma mes notre nos meu minha meus minhas nosso nossa mio mia miei mie nostro nostra mijn
    onze""".split()
)
"""Words for the speaker, some in other languages: whose it is says nothing of the matter."""
_ARTICLES = _FIRST | frozenset("the a an this that these those his her its their your".split())
_WORD = re.compile(rf"[\w{MARKS}'\u2019+#-]+(?:(?<=\d)[.,:]\d+)*|[.,;:!?]")
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
_EXCEPT = (
    r"(?:except(?:ing)?(?: for| that)?|apart from|aside from|other than|with the exception of"
    r"|excluding|rather than|instead of)\b"
)
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
_ALL = re.compile(r"\b(?:everything|anything|all|every)\b", re.IGNORECASE)
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
        meant += [part.strip(_MARKS)] if content_terms(part[_leading(part) :]) else []
    return Description(text, "\n".join(meant) if excluded else text, tuple(excluded))


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
    if (match := _BUT.match(clause)) and _ALL.search(said):
        return "excepts", clause[match.end() :]
    return "", clause[begin:]


def _leading(clause: str) -> int:
    """Where a clause begins to say something."""
    match = _COURTESY.match(clause)
    return match.end() if match else 0


@dataclass(frozen=True, slots=True)
class Request:
    """A parsed description.

    Attributes:
        text: its words without those around them: "my salary" of "please forget what I said about my salary".
        topic: from the first word that says what is meant: "salary".
        english: whether it is English, as far as can be told.
        terms: of the words that say what is meant.
        names: the terms of the names among them; ``written``: their words, as ``written_words`` has them.
        of_speaker: whether it is the speaker's own.
        broad: whether all that bears on it is meant.
        bare: whether it is a word alone, as a name is.
        speaker: the name for which the speaker's own words stand.
        asked: the terms of all that is asked, exceptions and what is said around it included.
    """

    text: str
    topic: str
    english: bool
    terms: tuple[str, ...]
    names: frozenset[str]
    of_speaker: bool
    broad: bool
    bare: bool
    speaker: str
    asked: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()

    def names_in(self, text: str) -> frozenset[str]:
        """Those of its names that a text has: Ann is not Anne, and who asks for Mark does not mean a good mark."""
        return self.written & written_words(text) if self.written else frozenset()

    def is_named_in(self, text: str) -> bool:
        """Whether a text has all of its names."""
        return len(self.names_in(text)) == len(self.written)


def requested(description: str, speaker: str = "") -> Request:
    """Read what a description means, without its exceptions; ``speaker`` names the person who asks."""
    language, words, sentence = language_of(description), list[str](), ""
    english = language is None
    if english:
        description = of_the_speaker(description, speaker)
    for sentence in sentences(description):
        runs = _runs(sentence)
        words = max(reversed(runs), key=lambda run: sum(map(_names_topic, run)))
        if any(map(_names_topic, words)):
            break
    while words and not _names_topic(words[0]) and not _is_first(words[0]):
        words = words[1:]
    begin = next((index for index, word in enumerate(words) if _names_topic(word)), 0)
    text, topic = " ".join(words), " ".join(words[begin:])
    terms = tuple(dict.fromkeys(content_terms(" ".join(word for word in words if not _is_first(word)))))
    capitalised = names(sentence) if language != "de" else ()  # in German a capital is no sign of a name
    if topic.istitle() and topic.lower() in MONTHS:
        capitalised = (*capitalised, topic)  # "everything about May" may mean a person
    named = frozenset(chain.from_iterable(map(content_terms, capitalised))).intersection(terms)
    name_words = (word for name in capitalised for word in WRITTEN.findall(name))
    return Request(
        text=text if english else topic,
        topic=topic,
        english=english,
        terms=terms,
        names=named,
        written=frozenset(
            without_accents(word.casefold()) for word in name_words if not named.isdisjoint(content_terms(word))
        ),
        of_speaker=english and any(map(_is_first, words)),
        broad=not _BROAD.isdisjoint(description.lower().split()),
        bare=english and words[-1:] == words[begin:] and _ARTICLES.isdisjoint(map(str.lower, words[:begin])),
        speaker=speaker,
    )


def _runs(sentence: str) -> list[list[str]]:
    """The words of a sentence between those that say nothing and its marks."""
    runs: list[list[str]] = [[]]
    for word in _WORD.findall(sentence):
        terms = content_terms(word)
        begins = len(runs) > 1 and not runs[-1]
        if word == "." and runs[-1] and runs[-1][-1].lower() in TITLES:  # Dr. Klein
            continue
        if not word[0].isalnum() or (terms and _is_generic(word, terms)) or (begins and word.lower() in _ABOUT):
            runs.append([])
        else:
            runs[-1].append(word)
    return runs


def _names_topic(word: str) -> bool:
    return not _is_first(word) and not _is_generic(word, content_terms(word))


def _is_generic(word: str, terms: Sequence[str]) -> bool:
    return GENERIC.issuperset(terms) and word.lower() not in _THINGS


def _is_first(word: str) -> bool:
    return re.split("['\u2019]", word.lower(), maxsplit=1)[0] in _FIRST
