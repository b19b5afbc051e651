"""Whether two statements differ in content, for recall, extraction and consolidation.

In doubt they differ: a duplicate kept costs a line, two facts merged lose one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Literal

from mnemic.text.english import (
    BEFORE_A_VERB,
    MONTHS,
    NUMBERS,
    TITLES,
    WEEKDAYS,
    bare_words,
    is_small_talk,
    is_verb,
    may_be_a_verb,
)
from mnemic.text.english import names as names_in
from mnemic.text.sentences import code_lines, sentences
from mnemic.text.terms import MARKS, SENTENCE, STOP_WORDS, content_terms, index_terms

Difference = Literal["number", "date", "name", "polarity", "role", "value"]

WORDS = re.compile(rf"[\w{MARKS}]+(?:['\u2019][\w{MARKS}]+)*")
"""The words of a text, with the apostrophes in them."""
_NUMERALS = re.compile(r"\d+(?:[.,:/-]\d+)*(?: ?[ap]m\b)?")
_SUFFIXES = re.compile(r"(?<=[^\W\d_])\d+")
"""Digits that end a word: "P1" is a name, not the number 1."""
_DIGITS = {word: str(number) for word, number in NUMBERS.items() if number > 1}
_NUMBER_WORDS = frozenset(
    """zero thirty forty fifty sixty seventy eighty ninety hundred thousand million billion first second third fourth fifth
    half quarter once twice double triple dozen couple both single""".split()
).union(_DIGITS)
_DATE_WORDS = frozenset(
    (
        *MONTHS, *WEEKDAYS,
        *"""yesterday today tomorrow tonight morning afternoon evening night noon midnight weekend week month spring summer
        autumn fall winter last next ago daily weekly monthly yearly annually before after""".split(),
    )
)  # fmt: skip
_SHORT_MONTHS = {month[:3]: month for month in MONTHS}
NEGATIONS = frozenset(
    """no not never none nobody nothing nowhere neither nor cannot without hardly barely rarely seldom stop stopped stops quit
    quits dislike dislikes disliked hate hates hated refuse refuses refused deny denies denied fail fails failed avoid avoids
    avoided lack lacks lacked unable former formerly ex""".split()
)
_DENYING = frozenset((("used", "to"), ("instead", "of"), ("rather", "than")))
_CASES = (("i we", "me us"), ("he", "him"), ("they", "them"))
"""Pronouns as subject and as object."""
_OWNER = ("i we", "my our")
"""Pronouns as subject and as owner: "I'm Pedro's boss", "Pedro is my boss"."""
_PLACES = frozenset("above below over under up down out off".split())
"""Opposite prepositions, which are stop words in search."""
_ALIKE = ("work employed", "likes prefer love enjoy", "called named", "use runs", "hate stand dislike")
_SYNONYMS = {term: terms[0] for terms in map(content_terms, _ALIKE) for term in terms} | {
    term: other
    for pair in (_DIGITS | _SHORT_MONTHS).items()
    for term, other in zip(*map(content_terms, pair), strict=True)
}
_FILLERS = frozenset("really very just so quite well oh please actually indeed truly also too the a an".split())
_EMPTY = frozenset(content_terms(" ".join(_FILLERS)))
_JOINED = frozenset(("and", "or"))
_BETWEEN = frozenset(("before", "after", "than"))
"""Stop words that relate what stands on either side of them."""
_ITEM = rf"[\w{MARKS}-]{{1,40}}"
_LISTED = re.compile(
    rf"\b(?=({_ITEM})(?:,? (?:and|or) (?:(?:an?|the|my|our) )?({_ITEM})|, ({_ITEM})(?:, {_ITEM}){{0,20}},? (?:and|or) ))",
    re.IGNORECASE,
)
"""Two neighbours of an enumeration."""
_QUALIFIERS = frozenset(
    """all some most many several few fewer less least more only except almost nearly partly may might could
    should would must plan plans planned planning want wants wanted hope hopes hoped intend intends intended try tries tried
    trying consider considers considering was were had always usually often sometimes""".split()
)
"""Words of how much, how surely or when: two statements that say the same have the same ones."""
_ONE = re.compile(r"\bone (?=(?:minute|hour|day|night|week|weekend|month|year)\b)")
_OPENING = re.compile(r"(?:my|our|his|her|their|your|[\w-]+'s) ([\w-]+)")
CHANGED = frozenset(
    content_terms(
        """moved changed switched raised lowered increased reduced cut became turned went started set updated meant corrected"""
    )
)
"""Words that tell of a change, not of what holds since."""
_NO = re.compile(r"^\W*(?:no|nope)\s*[,.;:!\u2013-]")
_MAX_ALIGNED = 300
"""Most terms aligned word by word; longer statements differ unless they are equal."""
_MAX_REPLACED = 2
"""Up to 2 replaced words in an equal frame are another value; so are more if replaced by at most twice as many: else
one side only adds detail.
"""
_PERSONS = frozenset(word for cases in _CASES for case in cases for word in case.split())
_MAX_ORDERED = 40
"""Most shared terms compared in order."""
_OWNED = r"(['\u2019]s)?(?!\w)"
_USER = re.compile(rf"\bthe user{_OWNED}(?=\s+([\w\u2019']+)|)", re.IGNORECASE)
"""How a language model calls the speaker, and the word that follows."""
_CLAUSE = re.compile(r"[,;:]\s+|(?<!\s)\s+(?:(?:and|but|while)\s+|(?=(?:not|instead of|rather than)\s))", re.IGNORECASE)
"""Where another clause may begin, or what is denied."""


def _numbers(words: list[str], text: str) -> frozenset[str]:
    """Numbers in digits, those up to twenty also where they are words, with the half of the day of a time."""
    numerals = {numeral.replace(" ", "") for numeral in _NUMERALS.findall(text.lower())}
    one = {"1"} if _ONE.search(text.lower()) else set[str]()
    return frozenset(numerals) | one | {_DIGITS.get(word, word) for word in words if word in _NUMBER_WORDS}


def _names(text: str, lowered: set[str], known_names: frozenset[str] = frozenset()) -> frozenset[str]:
    """Capitalised words; at a sentence start only those that are no stop word and nowhere in lower case.

    The first word of a text counts only if it is in ``known_names``.
    """
    names: set[str] = set()
    for match in WORDS.finditer(text):
        word = match[0].removesuffix("'s").removesuffix("\u2019s")
        if not word[:1].isupper() or _times({word.lower()}) or word.replace("\u2019", "'").partition("'")[0] == "I":
            continue
        before = text[: match.start()].rstrip()
        begins = not before or before[-1] in ".!?:\n\"'\u201c-\u2022"
        unsure = word.lower() in STOP_WORDS or word.lower() in lowered or len(before) == 0
        if begins and unsure and word.casefold() not in known_names:
            continue
        names.add(word.casefold())
    return frozenset(names)


def _negations(words: list[str]) -> int:
    denied = sum(word in NEGATIONS or word.endswith(("n't", "n\u2019t")) for word in words)
    return denied + sum(pair in _DENYING for pair in pairwise(words))


def _times(words: set[str]) -> set[str]:
    named = (_SHORT_MONTHS.get(word, word) for word in words)
    return {word.removesuffix("s") for word in named if word in _DATE_WORDS or word.removesuffix("s") in _DATE_WORDS}


def _subjects_differ(texts: Sequence[str], terms: Sequence[Sequence[str]], names: frozenset[str]) -> bool:
    """Whether the subjects differ: "my sister" in one only, or two different names."""
    openings = [(match[0].casefold() if (match := WORDS.match(text)) else "").partition("'")[0] for text in texts]
    if len(set(openings) & names) == 2 and not all(_JOINED & set(text.split()[1:3]) for text in texts):
        return True
    texts = [text.lower().replace("\u2019", "'") for text in texts]
    for text, other, other_terms in ((*texts, terms[1]), (*reversed(texts), terms[0])):
        if opening := _OPENING.match(text):
            nouns, owner = content_terms(opening[1]), opening[0].partition("'")
            if owner[1] and owner[0] not in STOP_WORDS and other.startswith(f"{owner[0]} "):  # "Ana's son" and "Ana"
                return True
            if (nouns and nouns[0] not in other_terms) or ("-" in opening[1] and opening[1] not in other):
                return True
    return False


def _is_reordered(terms: Sequence[Sequence[str]], texts: Sequence[str]) -> bool:
    """Whether two terms swap places around a third: A calls B, B calls A.

    A part that moves as a whole ("at 6 the office closes") and an enumeration ("Polish and German") do not count.
    """
    counts = [Counter(side) for side in terms]
    first, second = (
        {term: index for index, term in enumerate(side) if count[term] == 1}
        for side, count in zip(terms, counts, strict=True)
    )
    shared = [term for term in first if term in second][:_MAX_ORDERED]
    for a, b in combinations(shared, 2):
        if (first[a] < first[b]) == (second[a] < second[b]):
            continue
        for c in shared:
            ranks = [sum(positions[c] > positions[term] for term in (a, b)) for positions in (first, second)]
            if c not in (a, b) and ranks[0] == ranks[1] and not any(_is_enumerated(a, b, text) for text in texts):
                return True
    return False


def _is_enumerated(first: str, second: str, text: str) -> bool:
    """Whether two terms are in one enumeration, or adjacent: my daughter Noor."""
    words = [(content_terms(word) or (word,))[0] for word in WORDS.findall(text.lower())]
    if first not in words or second not in words:
        return False
    start, end = sorted((words.index(first), words.index(second)))
    return end - start == 1 or not _JOINED.isdisjoint(words[start:end])


def _swaps_roles(first: set[str], second: set[str], cases: Sequence[tuple[str, str]]) -> bool:
    """Whether a pronoun has the first of two cases in one statement and the second in the other."""
    bare = [{word.partition("'")[0] for word in words} for words in (first, second)]
    for subject, object_ in cases:
        is_subject = [not words.isdisjoint(subject.split()) for words in bare]
        is_object = [not words.isdisjoint(object_.split()) for words in bare]
        if is_subject[0] != is_subject[1] and any(is_object[side] and not is_subject[side] for side in (0, 1)):
            return True
    return False


def _replaces_words(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether words are replaced by others within a common frame."""
    if a == b:
        return False
    if max(len(a), len(b)) > _MAX_ALIGNED:
        return True
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < 0.5:  # half of the words in common: an equal frame
        return False
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        removed, added = (sum(term not in other for term in part) for part, other in ((a[i1:i2], b), (b[j1:j2], a)))
        shorter, longer = sorted((removed, added))
        if kind == "replace" and shorter and longer <= max(_MAX_REPLACED, 2 * shorter):
            return True
    return False


def differs(first: str, second: str) -> Difference | None:
    """The kind of difference between two statements, or None for a restatement.

    Args:
        first: a statement.
        second: another about what seems the same thing.

    Returns:
        ``number``, ``date``, ``name``, ``polarity`` (one denies what the other asserts), ``role`` (other persons, or
        another order: who owes whom), ``value`` (words replaced in an equal sentence: purple for cyan), or None. The
        answer is the same in both directions.
    """
    first, second = sorted((first, second))
    words = [WORDS.findall(text.lower().replace("\u2019", "'")) for text in (first, second)]
    sets = [set(side) for side in words]
    if _numbers(words[0], first) != _numbers(words[1], second):
        return "number"
    if _times(sets[0]) != _times(sets[1]):
        return "date"
    if _negations(words[0]) % 2 != _negations(words[1]) % 2:
        return "polarity"
    lower = {w for text in (first, second) for w in WORDS.findall(text) if w.islower()}
    known_names = _names(first, lower) | _names(second, lower)
    names = _names(first, lower, known_names)
    if names != _names(second, lower, known_names):
        return "name"
    terms = [[_SYNONYMS.get(term, term) for term in content_terms(text)] for text in (first, second)]
    if _subjects_differ((first, second), terms, names):
        return "role"
    same_terms = set(terms[0]) - _PERSONS == set(terms[1]) - _PERSONS
    cases = (*_CASES, _OWNER) if same_terms else _CASES
    if (names or same_terms) and _swaps_roles(sets[0], sets[1], cases):
        return "role"
    ordered = [
        [term for word in side for term in ((word,) if word in _BETWEEN else content_terms(word))] for side in words
    ]
    if _is_reordered(ordered, (first, second)):
        return "role"
    if sets[0] & _QUALIFIERS != sets[1] & _QUALIFIERS or lists_differ(first, second):
        return "value"
    directions = [("from" in words) - ("to" in words) for words in sets]
    if sets[0] & _PLACES != sets[1] & _PLACES or directions[0] * directions[1] < 0:
        return "value"
    return "value" if _replaces_words(*terms) else None


def lists_differ(first: str, second: str) -> bool:
    """Whether one of two statements has an item beside one that both have: "penicillin" and "penicillin and latex"."""
    terms = [{*content_terms(text)} for text in (first, second)]
    for text, other in zip((first, second), reversed(terms), strict=True):
        for first_item, *others in _LISTED.findall(text):
            items = (first_item, "".join(others))
            sides = [{*content_terms(item)} for item in items]
            verbs = any(item.islower() and may_be_a_verb(item) for item in items)
            if all(sides) and not verbs and (sides[0] <= other) != (sides[1] <= other):
                return True
    return False


def values(text: str) -> frozenset[str]:
    """What tells a statement from a like one: the terms of its names, its numbers, days and months."""
    return frozenset[str]().union(*_values(text).values())


def kinds(text: str, about: AbstractSet[str] = frozenset()) -> frozenset[str]:
    """The kinds of values that a text has, beside the words of what it is about: ``name``, ``number``, ``date``."""
    return frozenset(kind for kind, terms in _values(text).items() if terms - about)


def _values(text: str) -> dict[Difference, AbstractSet[str]]:
    return _cached_values(text) if len(text) <= SENTENCE else _read_values(text)


def _read_values(text: str) -> dict[Difference, AbstractSet[str]]:
    words = WORDS.findall(text.lower().replace("\u2019", "'"))
    named, times = {term for name in names_in(text) for term in content_terms(name)}, _times(set(words))
    named -= TITLES.union(*map(content_terms, times))  # "Mondays"
    return {"name": named, "number": _numbers(words, _SUFFIXES.sub("", text)), "date": times}


_cached_values = lru_cache(maxsize=4_096)(_read_values)


def agrees(text: str, statement: str, matter: str = "", *, speaker: str = "") -> bool:
    """Whether a text says what a statement says, in other words, and with more beside it.

    Its values are in one clause that tells of the same, with no other word in place of one of its words: "I've moved, I live
    in York now, not in Leeds" agrees with "The user lives in York", and "Ben is a manager at Acme" neither with "Ben is a
    developer at Acme" nor with what it denies.
    Of a statement without values, half of its other words count as well.

    Args:
        text: of one or several sentences.
        statement: what may be in it.
        matter: what both are about; its words distinguish nothing, unless they are all that the statement has.
        speaker: the name of whoever says the text, which a statement has in place of "I".
    """
    statement = of_the_speaker(statement, speaker)
    if lists_differ(text, statement):
        return False
    matter_terms, statement_terms = values(matter) | {*content_terms(matter)}, {*content_terms(statement)}
    matter_terms = frozenset[str]() if statement_terms <= matter_terms else matter_terms
    statement_values = values(statement) - matter_terms
    required = statement_values or statement_terms - matter_terms
    units = _units(text, statement_values | matter_terms)
    return any(
        is_denied(unit) == is_denied(statement)
        and (
            len(units) == 1
            or not (terms := {*content_terms(unit)} - required - _EMPTY)
            or not terms.isdisjoint(statement_terms | matter_terms)
        )
        and _has_terms(unit, required, statement if not statement_values else None)
        and not _exchanges_words(unit, statement, matter_terms)
        for unit in units
    )


def has_exchanged(first: str, second: str) -> bool:
    """Whether two statements say different things of one subject in the same words: "Rita is vegan" and "Rita is vegetarian".

    Stop words are of the frame: "Globex pays by card" is not about the same as "Globex pays in euros". Three words that do not
    begin with a value are another predicate: "Globex still owes 200" is not about the same as "Globex has paid 100 back".
    """
    texts = [of_the_speaker(text) for text in (first, second)]
    sides = [index_terms(text) for text in texts]
    if max(map(len, sides)) > _MAX_ALIGNED or sides[0][:1] != sides[1][:1] or differs(first, second) == "role":
        return False
    parts, content = _differing_parts(*sides), [{*content_terms(text)} for text in texts]
    replaced = [part for part in parts if all(part)]
    others = {word for part in parts if not all(part) for side in part for word in side}
    return (
        len(replaced) == 1
        and others.isdisjoint(set[str]().union(*content))
        and all(
            side[0] in words and (side[0] in values(text) or len(words.intersection(side)) <= _MAX_REPLACED)
            for text, words, side in zip(texts, content, replaced[0], strict=True)
        )
    )


def has_other_value(first: str, second: str, about: AbstractSet[str] = frozenset()) -> bool:
    """Whether each of two statements has a name, a number or a date that the other lacks, both of one kind.

    ``about``: the words of what both are about, which are no values.
    """
    sides = _values(first), _values(second)
    return any(sides[0][kind] - sides[1][kind] - about and sides[1][kind] - sides[0][kind] - about for kind in sides[0])


def repeats(text: str, statement: str, other: str) -> bool:
    """Whether a text repeats of a statement what another one says differently: "Great, 18 December it is." of a date.

    It gives the value that the other statement has not as that of the same thing: "A rent of 890 euros is fair for Leipzig".
    If it names another thing, or none, it has no value that the first statement has not, and more of its words than others.
    "Room 12 has a beamer" repeats nothing of "The talk is in room 12", nor does a number of something else.
    """
    terms, statement_terms = {*content_terms(text)}, {*content_terms(statement)}
    first, second = _values(statement), _values(other)
    wanted = frozenset[str]().union(*(first[kind] - second[kind] for kind in first if second[kind] - first[kind]))
    has_value = not wanted.isdisjoint(terms | values(text))
    if not has_value or text.rstrip().endswith("?") or is_denied(text) != is_denied(statement):
        return False
    (things, label, unit), (_, *labels, statement_unit) = _words_beside(text, wanted), _words_beside(statement, wanted)
    if unit and statement_unit and unit not in statement_terms and statement_unit not in terms:
        return False
    of_value = {label}.intersection(labels)
    if next((term for term in things if term not in of_value), None) in statement_terms:
        return True
    added = {*content_terms(" ".join(word for word in bare_words(text) if not is_small_talk(word)))} - statement_terms
    shared = terms.intersection(statement_terms | values(statement)) - of_value
    return values(text) <= values(statement) and len(added) < len(shared)


def _words_beside(text: str, wanted: AbstractSet[str]) -> tuple[list[str], str | None, str | None]:
    """The words before a value of a text, the last first, without other values; that right before it if no verb; that after.

    None of a text that is longer than a sentence.
    """
    words = text.split() if len(text) <= SENTENCE else []
    begins = [" ".join(words[:end]) for end in range(len(words) + 1)]
    end = next((end for end, begin in enumerate(begins) if not wanted.isdisjoint(values(begin))), None)
    if end is None:
        return [], None, None
    before, previous = begins[end - 1], "".join(words[:end][-2:-1])
    things = [term for term in reversed(content_terms(before)) if term not in wanted | values(before)]
    label = None if may_be_a_verb(previous.lower()) else next(iter(content_terms(previous)), None)
    following = content_terms("".join(words[end : end + 1]))
    return things, label, next(iter(following), None)


def of_the_speaker(statement: str, speaker: str = "") -> str:
    """A statement with the words of the speaker in place of those of a language model, or of the speaker's name.

    A word in lower case names nobody, unless it owns something, and neither does one before a surname.
    """
    if speaker:
        name = rf"\b{re.escape(speaker)}{_OWNED}"
        statement = re.sub(name, _speaker_in_first_person, statement, flags=re.IGNORECASE)
    return _USER.sub(_user_in_first_person, statement)


def _first_person(match: re.Match[str]) -> str:
    return "my" if match[1] else "I"


def _speaker_in_first_person(match: re.Match[str]) -> str:
    surname = not match[1] and re.match(" [A-Z][a-z]", match.string[match.end() :])
    return match[0] if surname or (match[0].isalpha() and match[0].islower()) else _first_person(match)


def _user_in_first_person(match: re.Match[str]) -> str:
    """The first person for the user; "the user account" is somebody's account."""
    following = (match[2] or "").lower()
    verb_follows = (
        following in STOP_WORDS | BEFORE_A_VERB or following.endswith(("s", "ed", "ly")) or is_verb(following, "user")
    )
    return _first_person(match) if match[1] or verb_follows or not following else match[0]


def _differing_parts(a: Sequence[str], b: Sequence[str]) -> list[tuple[Sequence[str], Sequence[str]]]:
    """The parts of two sequences between those that they share, in order."""
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(a[i1:i2], b[j1:j2]) for kind, i1, i2, j1, j2 in codes if kind != "equal"]


def _exchanges_words(unit: str, statement: str, matter_terms: AbstractSet[str]) -> bool:
    """Whether a clause has another word where a statement has one of its own.

    Words for a change, and values that the clause has beside those of the statement, stand for none: "raised from 50 to 100".
    """
    ignored = matter_terms | CHANGED | (values(unit) - values(statement))
    unit_terms, statement_terms = (
        [_SYNONYMS.get(term, term) for term in content_terms(text) if term not in ignored] for text in (unit, statement)
    )
    if max(len(unit_terms), len(statement_terms)) > _MAX_ALIGNED:
        return True
    pairs = _differing_parts(unit_terms, statement_terms)
    return any({*part} - {*statement_terms} and {*other} - {*unit_terms} for part, other in pairs)


def _units(text: str, ignored: AbstractSet[str]) -> list[str]:
    """The clauses of a text, and its sentences that have values in one clause only, or none but those known."""
    units: dict[str, None] = {}
    for sentence in sentences(text) or [text]:
        clauses = _CLAUSE.split(sentence)
        whole = sum(map(bool, map(values, clauses))) <= 1 or values(sentence) <= ignored
        units |= dict.fromkeys([*clauses, *([sentence] if whole else [])])
    return list(units)


def is_denied(text: str) -> bool:
    """Whether a text denies what it says: an odd number of negations, but for a "No," at its beginning."""
    said = _NO.sub("", text.lower().replace("\u2019", "'"))
    return _negations(WORDS.findall(said)) % 2 == 1


def _has_terms(unit: str, required: AbstractSet[str], statement: str | None) -> bool:
    """Whether a clause has all words of its own that a statement has, or half of them and no other in place of the rest."""
    shared = required & (values(unit) | {*content_terms(unit)})
    if shared == required or statement is None:
        return shared == required
    return 2 * len(shared) >= len(required) and differs(unit, statement) is None


def restates(first: str, second: str) -> bool:
    """Whether two texts say the same and neither adds anything: no difference, and the same words but for fillers."""
    return _terms_without_fillers(first) == _terms_without_fillers(second) and differs(first, second) is None


def says(text: str, statement: str) -> bool:
    """Whether a text says a statement: no sentence of it differs from one of the text, or has a word that this one has not."""
    text_sentences = [part for sentence in sentences(text) for part in (sentence, *code_lines(sentence))]
    indexes_by_term: dict[str, set[int]] = {}
    for index, sentence in enumerate(text_sentences):
        for word in _terms_without_fillers(sentence):
            indexes_by_term.setdefault(word, set()).add(index)
    required = [(sentence, words) for sentence in sentences(statement) if (words := _terms_without_fillers(sentence))]
    return bool(required) and all(
        any(
            differs(sentence, text_sentences[index]) is None
            for index in set[int].intersection(*(indexes_by_term.get(word, set()) for word in words))
        )
        for sentence, words in required
    )


CUT = "[...]"
"""Stands for sentences that are left out of a text."""


def says_something(text: str) -> bool:
    """Whether a sentence of a text says something: it has a content word and is no small talk."""
    return any(
        any(map(str.isalpha, sentence)) and content_terms(sentence) and not is_small_talk(sentence)
        for sentence in sentences(text.replace(CUT, "\n\n"))
    )


def without_sentences(text: str, statements: Sequence[str]) -> str:
    """The text without the sentences that restate one of ``statements``; empty if the rest says nothing."""
    # alone, "1. one" is an item of a list
    excluded = [*statements, *(sentence for statement in statements for sentence in sentences(statement))]
    parts: list[str] = []
    start = end = 0
    for sentence in _divided(text, excluded) or [text]:
        match = re.compile(r"\s+".join(map(re.escape, sentence.split()))).search(text, end)
        assert match is not None, "a sentence stands in its text"
        end = match.end()
        if any(restates(sentence, other) for other in excluded):
            parts += [text[start : match.start()], CUT]
            start = end
    if not start:
        return text
    rest = "".join((*parts, text[start:]))
    return rest if says_something(rest) else ""


def _divided(text: str, statements: Sequence[str]) -> list[str]:
    """The sentences of a text, and in place of a code block its lines, unless a statement restates all of it."""
    parts: list[str] = []
    for sentence in sentences(text):
        lines = code_lines(sentence)
        parts += [sentence] if not lines or any(restates(sentence, other) for other in statements) else lines
    return parts


def _terms_without_fillers(text: str) -> list[str]:
    """The words of a text that count, by their term, in any order: what swaps roles differs."""
    words = (word for word in WORDS.findall(text.lower()) if word not in _FILLERS)
    return sorted(_SYNONYMS.get(term, term) for word in words for term in content_terms(word) or (word,))
