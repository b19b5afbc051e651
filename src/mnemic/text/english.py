"""English: whether a text is, and what is read of it by rule: traits of texts and questions, verbs, the first person, names.

Traits are one bit each, computed when a text is stored. Names are people, places, products and quoted titles; precision
comes first.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from mnemic.text.terms import BASE_FORMS, STOP_WORDS, content_terms

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
NUMBERS = {
    word: number
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty""".split()
    )
}

_VALUES = NUMBERS | {
    word: 10 * ten for ten, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), start=3)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_SPELLED = re.compile(r"\b(?:{0})(?:(?:[ -]| and )(?:{0}))*\b".format("|".join((*_VALUES, *_SCALES))))

_NOUNS = frozenset(
    "child foot goose knife man mouse person shelf tooth wife wolf woman light spring ring wind ground".split()
)
_REGULAR = """accept add agree allow answer apply ask attend avoid bake boil book call cancel change check clean
    close collect copy create decide delete deploy disable enable end enjoy expect fix follow handle happen hate help
    hope include install invite join like list listen live log look love mend mention merge miss move need offer open order
    own pack paint plan play prefer press push quit raise recap recommend refer reload remember remind remove repair replace
    reset resolve restart return save seem serve set share split start stay stir stop store study suggest summarise
    summarize talk toast travel try turn update upgrade use validate visit wait walk want warn wash watch water wish
    work worry wrap""".split()
_BASES = (frozenset(BASE_FORMS.values()) | frozenset(_REGULAR) | frozenset("cut put hit let".split())) - _NOUNS
_PASTS = frozenset(form for form, base in BASE_FORMS.items() if base in _BASES) - _NOUNS | {"was", "were", "had", "did"}
BEFORE_A_VERB = frozenset(
    "to not never always please and then i you we they who don't should must can could will would may might".split()
)
"""Words after which a base form is a verb."""


@cache
def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(term for word in words for term in content_terms(word))


def is_past(word: str) -> bool:
    """Whether a lower-case word is or may be a past form of a verb."""
    return word in _PASTS or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))


def is_verb(word: str, before: str = "") -> bool:
    """Whether a word is a verb, given the one before it, both in lower case; empty at a sentence start.

    A base form (call, work) is a verb only at the start or after words such as I and to. A form in -ing counts as a
    noun.
    """
    if word in _BASES:
        return not before or before in BEFORE_A_VERB
    return is_past(word) or (not word.endswith(("ing", "ings")) and word not in _NOUNS and _has_verb_stem(word))


def is_base_form(word: str) -> bool:
    """Whether a lower-case word is the base form of a verb, as a request begins with one."""
    return word in _BASES


def may_be_a_verb(word: str) -> bool:
    """Whether a lower-case word is or may be a form of a verb, one in -ing among them."""
    return is_past(word) or _has_verb_stem(word)


_RECORDS = frozenset(
    """account chat comment conversation detail discussion email entry inquiry issue log mail message note overview post record
    request summary thing thread ticket topic""".split()
)
_PRONOUN = re.compile("(?:any|every|no|some)(?:body|one|thing)")


def is_particular(word: str) -> bool:
    """Whether a lower-case word names something in particular.

    Verbs, words of time, pronouns, and nouns for what is recorded, such as messages, name whatever there is.
    """
    if may_be_a_verb(word) or _PRONOUN.fullmatch(word) or traits(word) & TIME:
        return False
    return _stems(_RECORDS).isdisjoint(content_terms(word))


def _has_verb_stem(word: str) -> bool:
    return not _stems(_BASES).isdisjoint(content_terms(word))


EDGES = '.,;:!?()[]{}"“”„«»…¡¿—–-*_`~。！？、，；：（）「」『』।॥؟،؛'
"""Marks around words."""

_FIRST = frozenset(
    """i im my me we us our ich mein meine unser wir mi soy tengo je j mon mes meu sou tenho я мой меня मैं मुझे मेरी मेरे أنا لدي عندي
    ben""".split()
)
_FIRST_WIDE = "我俺僕私"
"""For Chinese and Japanese, which have no spaces."""


def bare_words(text: str) -> list[str]:
    """The words in lower case, without the marks around them and split at apostrophes."""
    parts = text.casefold().replace("’", " ").replace("'", " ").split()
    return [word for part in parts if (word := part.strip(EDGES))]


_LINKS, _ARTICLES = frozenset(("for", "of")), frozenset("the a an my our your his her their".split())
_STATES = frozenset("new old current latest previous right correct actual final".split())


def qualified(text: str) -> frozenset[tuple[str, str]]:
    """The pairs of terms of which the first tells a thing from others of its sort.

    ("garage", "pin") is one of "garage PIN", "garage's PIN" and "PIN for the garage". Verbs are left out, and words such as
    "new" and "right", which say how the same thing is.
    """
    pairs = set[tuple[str, str]]()
    before = qualifier = thing = ""
    for word in text.casefold().replace("-", " ").replace("\u2019", "'").replace("'s", "").split():
        bare = word.strip(EDGES)
        if bare in _LINKS:
            qualifier, thing = "", qualifier
        elif bare in _ARTICLES:
            qualifier = ""
        else:
            term = "" if bare in _STATES or is_verb(bare, before) else next(iter(content_terms(bare)), "")
            pairs |= {(first, second) for first, second in ((qualifier, term), (term, thing)) if first and second}
            qualifier = term if word.endswith(bare) else ""
            thing = thing if qualifier else ""
        before = bare
    return frozenset(pairs)


SMALL_TALK = frozenset("hi hey hello thanks ok okay yes yeah haha lol omg good nice sure perfect".split())
"""Greetings and assent."""
_COURTESIES = (
    SMALL_TALK
    | STOP_WORDS
    | frozenset("thank thx cheers great cool wow bye welcome please sorry right lot noted understood".split())
)


def is_small_talk(text: str) -> bool:
    """Whether a text is only a greeting, thanks or assent, in English."""
    return _COURTESIES.issuperset(bare_words(text))


def in_first_person(text: str, words: Sequence[str]) -> bool:
    """Whether a text, given with its ``bare_words``, has a word of the first person."""
    return not _FIRST.isdisjoint(words) or any(letter in text for letter in _FIRST_WIDE)


_TOKEN = re.compile(r"[^\W\d_](?:[\w\u2019']|[&.+#/-](?=\w))*\+*#?|\d+(?:\.\d+)*[A-Za-z]*|[^\s\w]")
_QUOTED = re.compile(r"[\"\u201c\u00ab]([^\"\u201c\u201d\u00ab\u00bb\n]{2,80})[\"\u201d\u00bb]")
_MARKED = re.compile(r"[a-z][A-Z]|\A[^A-Z]*[A-Z].*\d")
"""Capitals or digits inside a word mark a name anywhere: iPhone, GitHub, GPT-4."""
_COUNTED = re.compile(r"\s*(?:%|[a-z]{2,}s\b|[ap]\.?m\b|o'clock)")
_INSIDE = frozenset("of the de la le di da del van von der du y &".split())
TITLES = frozenset("mr mrs ms dr prof professor sir lady saint st aunt uncle grandma grandpa captain president".split())
_CALENDAR = frozenset((*MONTHS, *WEEKDAYS))
_NEVER = frozenset(
    "i ok tv diy asap fyi btw lol omg id vs pm am etc eta imo idk tbh ps mom dad mum god mb gb kb tb eur usd".split()
)
_AUXILIARY = frozenset("is was has had will would can could does did might must should and or".split())
# Words that start a sentence without an article and are no names.
_ORDINARY = frozenset(
    """always never maybe perhaps please thanks yes hi hello bye congrats sorry
    every everyone everything someone something nobody nothing
    another one two three today yesterday tomorrow tonight last next breakfast lunch dinner coffee tea food money music work
    school home traffic weather sleep rain summer winter life time family mama papa code data access staging production
    support lesson anyone people let without note deploy release""".split()
)
_NOUN_ENDINGS = ("ing", "tion", "sion", "ment", "ness", "ity", "ly", "ance", "ence")


_POSSESSION = re.compile(
    r"\b(?:([^\W\d_]+)(?:['\u2019]s|(?<=s)['\u2019])|(his|her|their|my|our))\s+((?:[\w-]+\s+){0,2}[\w-]+)",
    re.IGNORECASE,
)
_SHORTENED = frozenset("it that there here what who how where let he she one".split())
"""Words after which an apostrophe and an s stand for a verb."""


class Possession(NamedTuple):
    """Who has something, in lower case, the terms of what, and where a text says so: ("petra", {"locker", "number"}, 0)."""

    owner: str
    things: frozenset[str]
    begin: int


def possessions(text: str) -> list[Possession]:
    """What somebody has, by a text. A number after it is no part of it: "I give my cat 20 mg"."""
    found: list[Possession] = []
    place = 0
    while match := _POSSESSION.search(text, place):
        place = match.start(3)
        owner = (match[1] or match[2]).lower()
        first, *rest = match[3].split()
        words = [first, *itertools.takewhile(lambda word: not (word[0].isdigit() or may_be_a_verb(word.lower())), rest)]
        words = list(itertools.takewhile(lambda word: word.lower() not in STOP_WORDS, words))
        if words and owner not in _SHORTENED and not words[0].endswith("ing") and not traits(owner) & TIME:
            found.append(Possession(owner, frozenset(content_terms(" ".join(words))), match.start()))
    return found


def names(text: str) -> list[str]:
    """The distinct proper names in a text, in order of appearance.

    A name is a run of capitalised words (with "of", "de" and the like between them), a word with capitals or digits
    inside it (PostgreSQL, iPhone, GPT-4), or a quoted title. A word at a sentence start counts only if it is
    possessive, capitalised elsewhere in the text, or before a verb or another capital; weekdays, months and words in
    all-capitals text do not.
    """
    return [*_names(text)]


@lru_cache(maxsize=32)  # a correction reads the same texts again and again
def _names(text: str) -> tuple[str, ...]:
    tokens = [(match[0], match.start()) for match in _TOKEN.finditer(text)]
    matches = [(match.start(1), match[1].strip()) for match in _QUOTED.finditer(text) if _is_title(match[1])]
    quotations = [(offset, offset + len(title)) for offset, title in matches]
    shouted = _is_shouted(text)
    capitalised = {word for word, offset in tokens if word[:1].isupper() and not _is_sentence_start(text, offset)}
    index = 0
    while index < len(tokens):
        word, offset = tokens[index]
        free = not any(start <= offset < end for start, end in quotations)
        if free and (_is_marked(word) if shouted else _starts_name(tokens, index, text, capitalised)):
            end = _end(tokens, index, text)
            last, start = tokens[end - 1]
            name = _without_possessive(text[offset : start + len(last)])
            if end - index > 1 or name.lower() not in TITLES:
                matches.append((offset, name))
            index = end
        else:
            index += 1
    return tuple(dict.fromkeys(name for _, name in sorted(matches)))


def _is_shouted(text: str) -> bool:
    capitals = sum(map(str.isupper, text))
    return capitals > 8 and capitals > 0.7 * max(sum(map(str.isalpha, text)), 13)


def _without_possessive(word: str) -> str:
    """The word without the mark of a possessive: Ana's, Carlos'."""
    return word.removesuffix("'s").removesuffix("\u2019s").rstrip("'\u2019")


def _is_marked(word: str) -> bool:
    return bool(_MARKED.search(_without_possessive(word)))


def _is_capital(word: str) -> bool:
    """Whether a word can be part of a name: Ana, O'Brien, but not I'm or Monday."""
    bare = _without_possessive(word)
    if len(bare) < 2 or not bare[0].isupper() or bare.lower() in _NEVER or bare.lower() in _CALENDAR:
        return False
    contracted = bare != word and bare.lower() in STOP_WORDS  # that's, it's
    return not contracted and (bare.isalnum() or "'" not in bare.replace("\u2019", "'") or bare[2:3].isupper())


def _starts_name(tokens: Sequence[tuple[str, int]], index: int, text: str, capitalised: set[str]) -> bool:
    """Whether a name starts at this token."""
    word, offset = tokens[index]
    if _is_marked(word):
        return True
    if not _is_capital(word):
        return False
    bare = _without_possessive(word).lower()
    if bare in STOP_WORDS and not word.isupper():
        return False
    if not _is_sentence_start(text, offset):
        return True
    if bare in STOP_WORDS or bare in _ORDINARY:
        return False
    if bare in TITLES or word in capitalised or bare != word.lower():
        return True
    if bare.endswith(_NOUN_ENDINGS) or is_verb(bare) or index + 1 == len(tokens):
        return False
    following, start = tokens[index + 1]
    if text[offset + len(word) : start] != " ":
        return False
    if _is_capital(following):
        return True
    return following in _AUXILIARY or (following.islower() and following != "are" and is_verb(following, bare))


def _is_sentence_start(text: str, offset: int) -> bool:
    """Whether this position starts a sentence, a quotation or a list item."""
    before = text[max(offset - 80, 0) : offset]
    bare = before.rstrip(" \t")
    if not bare or bare[-1] in '\n!?:;"*>(' or not (bare[-1].isascii() or bare[-1].isalnum()):
        return True
    if bare[-1] == ".":
        last = bare.rsplit(None, 1)[-1].lower().rstrip(".")
        return last not in TITLES and len(last) != 1
    return bare[-1] == "-" and before[-1] in " \t"


def _end(tokens: Sequence[tuple[str, int]], index: int, text: str) -> int:
    """The index after the last token of a name."""
    end, ahead = index + 1, index + 1
    while ahead < len(tokens):
        (last, offset), (word, start) = tokens[ahead - 1], tokens[ahead]
        gap = text[offset + len(last) : start]
        if word == "." and not gap and (last.lower() in TITLES or (len(last) == 1 and last.isupper())):
            end = ahead + 1
        elif gap != " " or (ahead == end and _without_possessive(last) != last):
            break
        elif _is_capital(word) or (ahead == end and word[0].isdigit() and not _COUNTED.match(text, start + len(word))):
            end = ahead + 1
        elif word not in _INSIDE:
            break
        ahead += 1
    return end


def _is_title(quoted: str) -> bool:
    """Whether a quotation is a title: capitalised as titles are, without a full stop."""
    words = quoted.split()
    if not words or len(words) > 10 or (quoted.rstrip()[-1] in ".,!?\u2026" and len(words) > 3):
        return False
    return words[0][:1].isupper() and all(not word[0].islower() for word in words if len(word) > 3)


# Traits

QUESTION = 1
"""The text ends in a question."""
ASKS = 2
"""The text contains a question."""
TIME = 4
"""It mentions a time."""
NUMBER = 8
"""It contains a number or an amount."""
REASON = 16
"""It gives a reason."""
NAME = 32
"""It contains a name: a capital inside a sentence, or a quotation."""
REPLY = 64
"""Only of a query: it asks what the assistant said or did, as in "How did you recommend ...?"."""

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|morning|evening|last|next|ago|weeks?|weekend|months?|years?|days?|recently|soon|since|just|"
    rf"now|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th)|{'|'.join((*MONTHS, *WEEKDAYS))})\b"
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|hundred|thousand|once|twice|couple|few|several|"
    r"half)\b"
)
_REASON = re.compile(
    r"\b(?:because|since|cause|so that|to (?:help|make|get|see|be|have)|inspired|reason|wanted|hop(?:e|ing)|helps?)\b"
)
_NAMED = re.compile(r'(?<=[a-z,;] )[A-Z][a-z]{2,}|\b[A-Z]{2,}\b|"[A-Z]')

_ASKED = (
    (TIME, re.compile(
        r"\s*(?:when|how long|what (?:date|day|month|year|time)|which (?:month|year|day)|in (?:which|what) (?:month|year))\b")),
    (NUMBER, re.compile(r".*\bhow (?:many|much|old|often|far|long)\b", re.DOTALL)),
    (REASON, re.compile(r"why\b|what (?:reason|made|motivat)")),
    (NAME, re.compile(r"(?:who|whom|with whom|what is the name|which|where)\b|what.{0,30}\bnames?\b")),
)  # fmt: skip
_ASKING, _OF_REPLY = r"\b(?:how|what|which|when|where|why|who)\b", r"\b(?:did|had|have|were) you\b"
_ASKS_FOR_REPLY = re.compile(
    rf"(?:^(?:and |but |so )?{_ASKING}[^.!?]{{0,200}}{_OF_REPLY}|{_ASKING}[^.!?]{{0,200}}{_OF_REPLY}[^.!?]{{0,400}}\?"
    rf"|\b(?:tell|remind) me\b[^.!?]{{0,40}}{_ASKING}[^.!?]{{0,100}}\byou (?:\w+ed|said|told|gave|wrote)\b)"
)
ASKED_OF_REPLY = re.compile(rf"{_OF_REPLY} ([a-z]+)", re.IGNORECASE)
"""The verb of such a question."""


_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e", "\u304b\u3002")
"""Those of Latin, Chinese, Arabic and Greek script, and how a Japanese question ends."""


def traits(text: str) -> int:
    """The bits of a text; a final note in brackets, such as a caption, is ignored."""
    lowered = text.lower()
    body = text.rstrip()
    if body.endswith("]"):
        body = body[: max(body.rfind("["), 0)].rstrip()
    return (
        (QUESTION if body.endswith(_QUESTION_MARKS) else 0)
        | (ASKS if any(mark in text for mark in _QUESTION_MARKS) else 0)
        | (TIME if _TIME.search(lowered) else 0)
        | (NUMBER if _NUMBER.search(lowered) else 0)
        | (REASON if _REASON.search(lowered) else 0)
        | (NAME if _NAMED.search(text) else 0)
    )


def expected_traits(query: str) -> int:
    """The bits expected of an answer to a question, with ``REPLY`` where it asks for the assistant's; 0 if none."""
    lowered = query.lower().lstrip()
    reply = REPLY if _ASKS_FOR_REPLY.search(lowered) else 0
    return reply | sum(bit for bit, pattern in _ASKED if pattern.match(lowered))


# Language

READ = 1_000
"""Characters read of a text."""
_LETTERS = re.compile(r"[^\W\d_]+")
_NO_LANGUAGE = re.compile(r"[\d_]+")  # of no language
_FEWEST, _SHARE, _SHORT, _MOST = 2, 0.15, 3, 0.5
"""Least number of English function words of three letters or more, and their least share, that show English. With those of
two letters, which occur in other languages, it takes half of the words."""
_LEAST = 0.005
"""Least probability of English; a text that could be of any of the model's 139 languages has .007."""
_TOGETHER = 10
"""Messages that are joined, because a single one is often too short."""


def is_english(text: str) -> bool:
    """Whether a text is English, or too short to tell."""
    return language_of(text) is None


def language_of(text: str) -> str | None:
    """The code of the likeliest language by ISO 639; None for a text that is English or too short to tell."""
    words = _NO_LANGUAGE.sub("", text[:READ])
    if _shows_english(words):
        return None
    try:
        ranked = _identifier().rank(words)
    except OSError:  # no room for the file into which the library unpacks its model
        return None
    return None if dict(ranked)["en"] >= _LEAST else ranked[0][0]


_TEXTS = 10
"""Fewest texts that show another language."""


def mostly_english(texts: Sequence[str]) -> bool:
    """Whether at least half of the texts are English, or there are too few to tell."""
    if len(texts) < _TEXTS:
        return True
    groups = [" ".join(texts[start : start + _TOGETHER]) for start in range(0, len(texts), _TOGETHER)]
    return 2 * sum(map(is_english, groups)) >= len(groups)


def _shows_english(text: str) -> bool:
    """Whether a text has English function words.

    It spares most English texts the library, whose model takes half a second and 84 MB once.
    """
    words = {*_LETTERS.findall(text.lower())}
    function_words = words & STOP_WORDS
    longer = [word for word in function_words if len(word) >= _SHORT]
    return len(longer) >= max(_FEWEST, _SHARE * len(words)) or len(function_words) >= max(_FEWEST, _MOST * len(words))


@cache
def _identifier() -> Any:  # the package is untyped
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return cast("Any", LanguageIdentifier).from_model_file(MODEL_FILE, norm_probs=True)


def spelled_numbers(text: str) -> list[int]:
    """The numbers that a text has in words: 890 of "eight hundred and ninety"; "one" may be a pronoun."""
    return [_value(match[0]) for match in _SPELLED.finditer(text.lower()) if match[0] != "one"]


def _value(words: str) -> int:
    total = part = 0
    for word in re.findall("[a-z]+", words):
        part += _VALUES.get(word, 0)
        if scale := _SCALES.get(word):
            total, part = (total, max(part, 1) * scale) if scale == 100 else (total + max(part, 1) * scale, 0)
    return total + part
