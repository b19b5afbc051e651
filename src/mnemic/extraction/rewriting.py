"""First person to third: "I keep my bees on the roof" said by Ana is "Ana keeps their bees on the roof"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mnemic.text.irregular import BASE_FORMS

__all__ = ["Speaker", "is_past", "third_person", "third_person_verb"]

_MODALS = frozenset(
    """can could will would shall should may might must can't couldn't won't wouldn't shouldn't mustn't cannot ought did didn't
    had hadn't was wasn't better gotta used""".split()
)
_CHANGED = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "ain't": "isn't", "aren't": "isn't",
    "were": "was", "dont": "doesn't", "gonna": "is going to", "go": "goes",
}  # fmt: skip
_BOTH = frozenset(
    "cut put set read hit quit let cost hurt shut split spread beat bet cast upset knit shed fit bid".split()
)
"""Verbs whose past looks like their present: left as they are, which reads as past."""
_ED = frozenset("need feed speed bleed breed seed exceed proceed succeed heed weed embed shed wed shred".split())
_NOT_VERBS = frozenset(
    """and or but in on to for with at the a an of from as by if so than that who which when while because my me i we you he
    she it they his her their this these those there not no yes all both""".split()
)
_ADVERBS = (
    "always|never|no longer|really|also|just|still|often|usually|recently|currently|only|even|sometimes|rarely|"
    "ever|kinda|sorta|already|now|"
    r"then|both|first|once|soon|almost|mostly|seldom|not|too|sure do|do|(?!reply|apply|rely|fly|supply|"
    r"multiply|comply|imply)\w{2,}ly"
)
_SUBJECT = re.compile(
    rf"\bI(?P<short>['\u2019](?:m|ve|ll|d|s))?(?![\w/'\u2019.])(?P<adverbs>(?: (?:{_ADVERBS})\b)*)(?: "
    rf"(?P<verb>[A-Za-z]+(?:['\u2019]t)?))?"
)
_INVERTED = re.compile(r"\b(am|have|do|was|did|can|could|will|would|should) I\b(?=[.,;!]|$| (?!am|have|do|was))")
_TOGETHER = re.compile(r"(?:\b(?:[Mm]y|[Oo]ur)(?: [\w-]+){1,3}|\b[A-Z][\w-]+) and $")
_OPENS_A_CLAUSE = re.compile(
    r"(?:^|[.,;:!?]|\b(?:that|so|because|and|but|or|when|if|where|while|as|since|think|thought|hope|know|knew|believe|guess|say|"
    r"said|wish|feel|yesterday|today|tonight|tomorrow|weekend|week|month|year|day|morning|evening|night|then|now|once|"
    r"sometimes|recently|lately|both|only|did|do|are|were|can|will|should))"
    r"(?:\s*[Mm]y(?: [\w-]+){1,3}|(?:\s*[A-Z][\w-]+)+) and $"
)
"""What stands before the subject: to Porto and I is none."""
_AGAIN = re.compile(r"(?<![\w'])(and|but|or) $")
_QUOTED = re.compile(r"(\"[^\"]*\"|\u201c[^\u201d]*\u201d|`[^`]*`)")
_POSSESSIVE = re.compile(r"\b(?:my own|our own|my|our|mine(?!')|ours)\b", re.IGNORECASE)
_SHARED_BY_ALL = re.compile(
    r"\bour(?= (?:(?:local|own|whole|great|beautiful) )?(?:country|nation|military|community|world|planet|"
    r"society|environment|area|town|city|neighbou?rhood|future|lives|"
    r"veterans|troops|generation|ocean|democracy)\b)"
)
_ME_AND = re.compile(r"\b[Mm]e and (?=my|our|[A-Z])")
_OBJECT = re.compile(r"(?<![\w-])me\b(?!-)")
_REFLEXIVE = re.compile(r"\b(?:by )?(?:myself|ourselves)\b", re.IGNORECASE)
_WE = re.compile(r"\b[Ww]e(?P<short>['\u2019](?:re|ve|ll|d))?(?![\w/])(?= |,|\.|$)")
_WHEN_YOU = re.compile(
    r"\b([Bb]efore|[Aa]fter|[Ww]hen|[Ww]henever|[Ww]hile|[Ii]f|[Uu]ntil|[Uu]nless|that|as) you ([a-z]+n['\u2019]t|[a-z]+)\b"
)
_RULES_A_VERB = re.compile(
    r"\bto (?!the\b|a\b|an\b|my\b|our\b|his\b|her\b|their\b)[a-z]|"
    r"\b(?:will|would|can|could|should|might|may|must|did|does|let|help|helps|make|makes|are|they|we|who)\b|n't\b|'ll\b"
)
"""What takes the base form of a verb, or another subject."""
_AND_VERB = re.compile(
    r"\b(and|but|or) ((?:also |usually |often |sometimes |really |never |always |now |currently |still )?)"
    r"(am|have|do|live|want|"
    r"need|use|enjoy|prefer|try|take|"
    r"make|keep|get|know|believe|write|eat|drive|see|teach|spend|go|hate|love|like|think|feel|run|play|"
    r"hope|deploy|store|keep|"
    r"read|listen|speak|study|own|wear|sleep|sing|paint|cook|bake|travel|visit|meet|give|help|attend|"
    r"volunteer|work) (?!of\b)"
)


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks, and to whom.

    Attributes:
        name: as it stands at the beginning of a sentence: ``Ana`` or ``The user``.
        listener: who "you" is, when that is clear.
        group: what "we" stands for: ``Ana and the kids``, ``The user's team``.
        plural: whether the group takes a plural verb.
    """

    name: str
    listener: str | None = None
    group: str | None = None
    plural: bool = True

    @property
    def inside(self) -> str:
        """The name inside a sentence: the user."""
        return _inside(self.name)


def _inside(name: str) -> str:
    return name[0].lower() + name[1:] if name.startswith("The ") else name


_ADVERB = re.compile(
    r"^(?!(?:fly|ply|apply|bely|comply|imply|multiply|rally|rely|reply|supply|tally|sully|ally|bully)$).*ly$"
)


@lru_cache(maxsize=8_192)
def third_person_verb(verb: str) -> str:
    """The form after he or she of a verb as it stands after I: love is loves, have is has; past and modal verbs stay."""
    lowered = verb.lower().replace("\u2019", "'")
    if lowered in _CHANGED:
        return _CHANGED[lowered]
    if lowered in _MODALS or lowered in _NOT_VERBS or lowered in _BOTH or is_past(lowered) or _ADVERB.search(lowered):
        return verb
    if re.search(r"[aeiouy]\w*ing$", lowered):
        return verb
    if lowered.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if lowered.endswith("y") and lowered[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def is_past(verb: str) -> bool:
    """Whether a verb stands in the past: by its ending, or as an irregular form."""
    lowered = verb.lower()
    if lowered in {"was", "were", "had", "did", "got", "gotten"}:
        return True
    if lowered.endswith("ed"):
        return lowered not in _ED
    return BASE_FORMS.get(lowered, lowered) != lowered


def third_person(sentence: str, speaker: Speaker) -> str:
    """The sentence with "I", "my", "me", "we" and "you" as the people they stand for; quotations stay as they are."""
    parts = _QUOTED.split(sentence)
    seen = False
    for n in range(0, len(parts), 2):
        parts[n], seen = _rewritten(parts[n], speaker, seen=seen)
    return "".join(parts)


def _rewritten(text: str, speaker: Speaker, *, seen: bool) -> tuple[str, bool]:
    text = _SHARED_BY_ALL.sub("the", text)
    text = _INVERTED.sub(lambda m: f"{third_person_verb(m[1])} {speaker.inside}", text)
    text = _ME_AND.sub(lambda m: f"{speaker.name if m[0][0] == 'M' else speaker.inside} and ", text)
    text, subject_at = _subjects(text, speaker, seen=seen)
    text, grouped = _group(text, speaker)
    if speaker.listener:
        text = _listener(text, _inside(speaker.listener))
    text = _REFLEXIVE.sub(lambda m: "alone" if m[0].lower().startswith("by") else "themselves", text)
    text = _possessives(text, speaker, known=seen or subject_at >= 0, after=0 if seen else subject_at)
    text = _OBJECT.sub(lambda _: speaker.inside, text)  # not as a template: a name may hold a backslash
    return text, seen or grouped or speaker.inside in text or speaker.name in text


def _subjects(text: str, speaker: Speaker, *, seen: bool) -> tuple[str, int]:
    """Every "I" with its verb. Also where the first of them stands, -1 without any."""
    pieces: list[str] = []
    done, first = 0, -1
    for match in _SUBJECT.finditer(text):
        before = text[: match.start()]
        together = bool(_TOGETHER.search(before) and _OPENS_A_CLAUSE.search(before))
        verb = _conjugated(match, together=together)
        again = first >= 0 and not together and bool(_AGAIN.search(before)) and bool(match["verb"] or match["short"])
        name = speaker.name if not before.strip() else speaker.inside
        pieces += [text[done : match.start()], verb.lstrip() if again else name + verb]
        first = match.start() if first < 0 else first
        done = match.end()
    written = "".join(pieces) + text[done:]
    return _coordinated(written) if seen or first >= 0 else written, first


def _conjugated(match: re.Match[str], *, together: bool) -> str:
    """What follows the name: adverbs and verb in the third person, with a space before."""
    adverbs, verb = match["adverbs"] or "", match["verb"] or ""
    short = (match["short"] or "")[1:]
    if short:
        word = {"m": "is", "ve": "has", "ll": "will", "s": "is"}.get(short) or _had_or_would(verb)
        return f" {word}{adverbs}" + (f" {verb}" if verb else "")
    if adverbs.endswith(" do") and verb:
        return f"{adverbs[:-3]} does {verb}"
    if not verb:
        return f"{adverbs[:-3]} does" if adverbs.endswith(" do") else adverbs
    if together and verb not in {"am", "do"}:
        return f"{adverbs} {verb}"
    return f"{adverbs} {third_person_verb(verb)}"


def _had_or_would(verb: str) -> str:
    return (
        "had"
        if verb == "better" or verb in {"been", "gone", "done", "never"} or (is_past(verb) and verb != "love")
        else "would"
    )


def _coordinated(text: str) -> str:
    """A second verb of the same subject: "loves hiking and hate rain" is "hates rain", unless "to" or a modal rules it."""

    def inflected(match: re.Match[str]) -> str:
        clause = re.split(r"[.;]", text[: match.start()])[-1]
        present = match[3] in {"am", "have"} or match[2] in {"now ", "currently ", "still "}
        told = not present and any(is_past(word) for word in clause.split()[:6])
        return (
            match[0] if told or _RULES_A_VERB.search(clause) else f"{match[1]} {match[2]}{third_person_verb(match[3])} "
        )

    return _AND_VERB.sub(inflected, text)


def _group(text: str, speaker: Speaker) -> tuple[str, bool]:
    """Write "we" and "us" as the group, then as "they" and "them". Also whether the group is named."""
    if speaker.group is None:
        return text, False
    group, seen = speaker.group, False

    def subject(match: re.Match[str]) -> str:
        nonlocal seen
        begins = not text[: match.start()].strip()
        name = ("They" if begins else "they") if seen else (group if begins else _inside(group))
        plural = speaker.plural or seen
        verbs = {"re": "are" if plural else "is", "ve": "have" if plural else "has", "ll": "will", "d": "would"}
        seen = True
        return name + (f" {verbs[match['short'][1:]]}" if match["short"] else "")

    text = _WE.sub(subject, text)
    if seen and not speaker.plural:
        text = re.sub(
            rf"({re.escape(group)}|{re.escape(_inside(group))})((?: (?:{_ADVERBS})\b)*) ([a-z]+n['\u2019]t|[a-z]+)\b",
            lambda m: f"{m[1]}{m[2]} {_of_group(m[3])}",
            text,
        )
    them = "them" if seen else _inside(group)
    if seen:
        text = re.sub(r"\bour\b", "their", text)
    return re.sub(r"\b(?<!let )us\b", lambda _: them, text), seen


def _of_group(verb: str) -> str:
    """The verb of a team, which is one; what is already said of one stays."""
    return "is" if verb in {"are", "is"} else verb if verb in {"has", "does"} else third_person_verb(verb)


def _listener(text: str, listener: str) -> str:
    """Write "you" as the one who is spoken to; what "you" does is left to the caller to refuse."""
    text = _WHEN_YOU.sub(lambda m: f"{m[1]} {listener} {third_person_verb(m[2])}", text)
    text = re.sub(r"\b[Yy]ours?\b", lambda _: f"{listener}'s", text)
    return re.sub(r"\b[Yy]ou\b(?!['\u2019])", lambda _: listener, text)


def _possessives(text: str, speaker: Speaker, *, known: bool, after: int) -> str:
    """Write "my" as "their" after the speaker was named in the sentence, else by name."""
    places = [after] if known and after >= 0 else []
    places += [match.start() for match in (_OBJECT.search(text), _POSSESSIVE.search(text)) if match]
    first = min(places, default=len(text))

    def owner(match: re.Match[str]) -> str:
        word = match[0].lower()
        begins = not text[: match.start()].strip()
        own = " own" if word.endswith("own") else ""
        if (
            match.start() > first
            and word not in {"mine", "ours"}
            and not re.search(r"[;:]", text[first : match.start()])
        ):
            return f"their{own}"
        name = speaker.name if begins else speaker.inside
        return f"{name}'s{own}"

    return _POSSESSIVE.sub(owner, text)
