"""Messages to claims: sentences one by one, each by the first of the ways that fits who says it and what was asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mnemic.extraction import claiming, keeping
from mnemic.extraction.answering import answered, asked_about, is_fragment
from mnemic.extraction.claiming import LONGEST, Claim, Turn, made
from mnemic.extraction.kinds import is_technical
from mnemic.extraction.rewriting import Speaker, is_past
from mnemic.extraction.ruling import of_ones_own, rule_of
from mnemic.extraction.stating import plainly_stated, stated
from mnemic.text.absolute import absolute_dates
from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.subjects import mentions_another, tells_of_another, without_introduction
from mnemic.text.terms import content_terms
from mnemic.text.tongues import is_english, which_are_english
from mnemic.types import Message

__all__ = ["claims", "speaker_of"]

_CLEAR = 0.2
"""Specificity of a question that can say what a pronoun in its answer stands for."""
_READABLE = 800
"""Characters of the longest sentence that is looked at: what has no end is no prose."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RECALLED = re.compile(r"<memory\b[^>]{0,200}>.*?(?:</memory\b[^>]{0,200}>|\Z)", re.DOTALL | re.IGNORECASE)
_IMAGE = re.compile(r"\[shares? an? (?:image|photo|picture)s?:\s*([^\]]{3,200})\]", re.IGNORECASE)
_SPOKEN = re.compile(r"\b(?:I|we)\b")
_WE = re.compile(r"\bwe\b", re.IGNORECASE)
_NOW_THAT = re.compile(
    r"(?:^|(?<=[.!?] )|(?<=\band )|(?<=\bbut )|(?<=\bso ))now that ((?:I|we)\b[^,.!?;\n]{3,100}), "
    r"(?=(?:I|we|my|our|it|the|there|things|life)\b)(.)",
    re.IGNORECASE | re.MULTILINE,
)
"""Now that I live in Rome, ...: the first half is told as well."""
_LINK = re.compile(r"https?://\S+")
_LEADS_TO = re.compile(
    r"\b(?:at|is|are|was|were|be|to|on|for|from|in|under|via|with|by|of|through|over|behind|called|use|uses|using|used|see|and|or)$|[:=(]$",
    re.IGNORECASE,
)
"""What a sentence would break off after."""
_WORD = 40
"""Characters in which its last word stands."""
_AGENTS = re.compile(
    r"assistant|agent|\bbot\b|chatbot|\bai\b|gpt|claude|gemini|llama|copilot|system|model|_|\d", re.IGNORECASE
)
_INTRODUCED = re.compile(
    r"(?:please )?(?:remember|note|keep in mind|fyi|just so you know|for (?:your|the) (?:information|"
    r"record)|you should know|important)(?: that|:|,)\s*",
    re.IGNORECASE,
)
_ORDERED = re.compile(
    r"(?:i (?:want|need|'d like|would like) you to|you (?:must|should|have to|need to)|"
    r"please)\s+(?=always|never|not\b|use\b|avoid|prefer|keep|stick)",
    re.IGNORECASE,
)
_COMPANY = (
    r"(?:my (?:\w+ )?(?:kids?|family|husband|wife|partner|boyfriend|girlfriend|sons?|daughters?|"
    r"friends?|mom|dad|mother|father|brothers?|"
    r"sisters?|parents|team|colleagues|band|class|cousins?|dogs?|pups?|group|buddies|buddy|roommates?|"
    r"neighbou?rs?|teammates|fianc[ée]e?)|"
    r"the (?:kids|family|gang|team|guys|girls|boys|group|band|whole family|fam|dogs|pups)|(?:some|a few|"
    r"old|a) (?:\w+ )?friends?)\b(?!['\u2019-])"
)
_WITH = re.compile(
    rf"\b(?:(?<!not )with|took|taking|brought|bringing|(?:me|I) and) (?P<with>{_COMPANY})|"
    rf"\b(?P<and>{_COMPANY})(?: \w+)? and (?:I|me)\b",
    re.IGNORECASE,
)
"""Who "we" is: with my wife, my brother and I; who is only spoken of is none of it."""
_SHOWN = re.compile(
    r"(?:(?:so )?here(?:'s| is| are)|(?:have|take) a look at|check out|look at|this is) (?:(?!it\b|this\b|"
    r"that\b|these\b|how\b|what\b)"
    r"(?=[^.!]*\b(?:i|my|we|our)\b)((?:a|an|the|my|our|some|one|another)\b)|(?:a|an|some|one) (pic|photo|"
    r"picture|snap|shot) (?:that )?(?:i|we) took)",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"\b(?:it|that|this|these|those|them|he|she|him)\b(?! \w{4,})", re.IGNORECASE)
_DASH = re.compile(
    r"(?:(?<!\s)\s+[-\u2013\u2014]+\s*|(?<![-\u2013\u2014])[-\u2013\u2014]+\s+|(?<!\s)\s*\u2014\s*|(?<=\w)--\s*)"
    r"(?=(?:I|i|we|We|my|My|what|how)\b)"
)
_OPENED = re.compile(r"(?:Just |Recently |Finally |Already |Also |Always |Never )?([A-Z]?[a-z']+)\b")
_PROGRESSIVE = frozenset(
    """planning working trying looking thinking hoping getting learning taking training studying preparing focusing
    starting writing building reading saving considering moving doing feeling using running living dealing watching
    playing""".split()
)
_MOODS = frozenset(
    """stoked excited tired thrilled relieved inspired determined interested bored worried scared amazed impressed motivated
    pleased surprised blessed married retired engaged happy proud nervous grateful thankful ready""".split()
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|makes?|helps?|takes?|gives?|keeps?|feels?|"
    r"means?|brings?|gets?|lets?|allows?|does|did|'s)\b|'s\b|n't\b"
)
_DECLARATIVE = re.compile(
    r"\b(?:is|are|was|were|uses?|runs?|has|have|listens?|expires?|requires?|supports?|starts?|ends?|"
    r"costs?|returns?|contains?|lives?|works?)\b"
)
_PERSONAL = re.compile(
    r"(?:[\d.,:%\s$\u20ac\u00a3-]+,\s*|[A-Za-z]+ [a-z]+:\s+)?(they|he|she|his|her|their)(?:['\u2019]\w+)?\b",
    re.IGNORECASE,
)
"""A pronoun for people at the head, perhaps after a number or a label."""
_TO_SPEAKER = re.compile(r"they\b.*\b(?:my|me|our|us)\b", re.IGNORECASE)
"""They moved my class to Sunday: whoever they are."""
_OF_ONE = frozenset({"he", "she", "his", "her"})
_NO_LETTER = re.compile(r"[^\w\s]|[\d_]")
_CODE = re.compile(r"[{}\[\]=;|<>\\]|^\s*(?:\$|>>>|#|//|@|import |from \w+ import|def |class )|\w\(\)")
_TASK = re.compile(
    r"I (?:need|want|'d like|would like) (?:you\b|help\b|to (?:know|understand|see|ask)\b)|"
    r"I'm (?:also )?(?:getting an? |seeing an? |wondering|having (?:trouble|issues|problems)|not sure|"
    r"looking for (?:[\w-]+ ){0,4}(?:tips|ideas|recommendations|suggestions|advice|help|ways|information|"
    r"resources|recipes?)\b)|"
    r"(?!(?:After|Before|Since|From|During|Over|For|With|In|On|At|By|As|When|While|Until|Once|Because|Under|Through|"
    r"Without|Despite|Like|Unlike|Starting|Per|Given|Both|Half|Is|Are|Was|Except|About|Around|Behind|Beside|Within)\b)"
    r"[A-Z][a-z]+ (?:the|a|an|this|that|these|it|me|my|all)\b"
)
_A_CHANGE = re.compile(r"I'm (?:\w+ing) an? new \w+(?:,| named| called) [A-Z]")
"""I'm seeing a new doctor, Dr. Ito: no error to be looked at."""


def speaker_of(message: Message) -> str | None:
    """Who a message speaks for: a name, ``The user``, ``The assistant``; None for tools and systems."""
    if _is_agent(message):
        return "The assistant"
    if message.role in {"tool", "function", "system", "developer"}:
        return None
    return message.name.strip() if message.name and message.name.strip() else "The user"


def _is_agent(message: Message) -> bool:
    """An assistant without a personal name."""
    return message.role in {"assistant", "ai"} and (not message.name or bool(_AGENTS.search(message.name)))


@dataclass(frozen=True, slots=True)
class _Before:
    """What came before a sentence in its message: nothing, a claim it can lean on, somebody else; the last sentences."""

    first: bool
    followed: bool
    of_another: bool
    last: Sequence[str]


def claims(messages: Sequence[Message]) -> list[Claim]:
    """Every claim of a run of messages, in order."""
    speakers = [speaker_of(message) for message in messages]
    people = tuple(dict.fromkeys(name for name in speakers if name))
    found: list[Claim] = []
    question, asked_at, asker = "", -1, None
    to_agent = any(_is_agent(message) for message in messages)
    technical = any(is_technical(m.content) for m, who in zip(messages, speakers, strict=True) if who == "The user")
    said_at = next((message.sent_at for message in messages if message.sent_at), _EPOCH)
    for at, message in enumerate(messages):
        said_at = message.sent_at or said_at
        spoken = _RECALLED.sub(" ", message.content)
        captions = _IMAGE.findall(spoken)
        prose = _NOW_THAT.sub(lambda m: f"{m[1]} now. {m[2].upper()}", _IMAGE.sub(" ", spoken))
        pieces = [clause for piece in sentences(prose) for clause in _DASH.split(piece)]
        who = speakers[at]
        if who is None:
            found += _from_elsewhere(pieces, at, message, said_at)
            continue
        asked = asker not in {None, who}
        turn = Turn(
            at, _speaking(who, people), people, said_at, said_at is not _EPOCH, question if asked else "", asked_at,
            _caption(captions), to_agent or not message.name, _is_agent(message), technical,
        )  # fmt: skip
        found += _of_turn(turn, pieces)
        questions = [piece for piece in pieces if piece.rstrip().endswith(("?", "\uff1f"))]
        question, asked_at, asker = (questions[-1], at, who) if questions else ("", -1, None)
    return found


def _caption(captions: Sequence[str]) -> str:
    """What the first image shows, without "a photo of"."""
    first = captions[0].strip() if captions else ""
    return re.sub(r"^(?:an? )?(?:photo(?:graphy)?|image|picture)s? of ", "", first, flags=re.IGNORECASE)


def _speaking(name: str, people: tuple[str, ...]) -> Speaker:
    others = [other for other in people if other != name]
    return Speaker(name, others[0] if len(people) == 2 else None)


def _of_turn(turn: Turn, pieces: Sequence[str]) -> list[Claim]:
    found: list[Claim] = []
    companion, followed, of_another = "", False, False
    for number, (piece, english) in enumerate(zip(pieces, which_are_english(pieces), strict=True)):
        if not english:
            followed = False
            found += filter(None, [claiming.foreign(turn, piece)])
            continue
        if followed and keeping.takes_back(piece):
            found.pop()
            followed = False
            continue
        bare = _LINK.sub(_without_link, piece).strip()
        match = _WITH.search(bare)
        named = (match["with"] or match["and"]) if match else companion
        companion = named if match and _stands_before_we(bare, match) else companion
        claim = _claim(
            turn, bare, companion, _Before(number == 0, followed, of_another, pieces[max(number - 4, 0) : number])
        )
        companion = named
        of_another = _whose(turn, bare, of_another=of_another)
        followed = claim is not None or (followed and _refers(bare, turn))
        if claim is not None:
            found.append(claim)
    return found


def _without_link(found: re.Match[str]) -> str:
    """What is left of a link: all of it where the sentence says something of it, nothing where it only hangs on."""
    before = found.string[max(found.start() - _WORD, 0) : found.start()].rstrip()
    return found[0] if _LEADS_TO.search(before) else ""


def _whose(turn: Turn, piece: str, *, of_another: bool) -> bool:
    """Whether somebody else is spoken of after this sentence; one without a subject changes nothing."""
    said = keeping.cleared(piece, turn.people) if len(piece) <= _READABLE else ""
    if not said or _with_subject(said) != said:
        return of_another
    told = tells_of_another(said)
    return of_another if told is None else told


def _refers(piece: str, turn: Turn) -> bool:
    """Whether a sentence that was not kept still spoke of the one before it, as "It was great!" does."""
    return len(piece) <= _READABLE and keeping.leans(keeping.cleared(piece, turn.people))


def _stands_before_we(piece: str, companion: re.Match[str]) -> bool:
    we = _WE.search(piece)
    return we is not None and companion.start() < we.start()


def _is_code(piece: str) -> bool:
    marks = len(_CODE.findall(piece))
    return piece.startswith(("```", "~~~")) or marks > 3 or len(_NO_LETTER.findall(piece)) > 0.4 * len(piece)


def _claim(turn: Turn, piece: str, companion: str, before: _Before) -> Claim | None:
    """One sentence to a claim, by the first of the ways that fits it."""
    if before.first and turn.question and len(piece) <= _READABLE and (whole := answered(turn.question, piece)):
        return made(
            turn, whole, keeping.Kept("semantic", 0.9, declared=True), companion, cites=(turn.asked_at, turn.at)
        )
    said, introduced = _said(turn, piece)
    if not said:
        return None
    if turn.agent:
        kept = keeping.Kept("episodic", 0.7, declared=False)
        return made(turn, said, kept, companion) if keeping.done_by_agent(said) else None
    if turn.to_agent and (rule := _rule(said)):
        return claiming.ruled(turn, rule)
    if before.first and turn.question and keeping.judged(said) and _answers(turn, said):
        return claiming.quoted_answer(turn, said)
    whole = _with_subject(said)
    if before.of_another and whole != said:
        return _continued(turn, said, whole, companion, before)
    said = whole
    if turn.image and (shared := _SHOWN.match(said)):
        said = f"I shared {shared[1]}" if shared[1] else f"I took a {shared[2]}"
        return made(
            turn,
            said + shared.string[shared.end() :],
            keeping.Kept("episodic", 0.5, declared=False),
            companion,
            note=f"image: {turn.image}",
        )
    kept = _kept(turn, said)
    if kept is None:
        return None
    if introduced:
        kept = replace(kept, persistence=max(kept.persistence, 0.9), declared=True)
    return _leaning(turn, said, kept, companion, before)


def _said(turn: Turn, piece: str) -> tuple[str, bool]:
    """What a sentence states, and whether it is announced as worth remembering; nothing for code and jokes."""
    if len(piece) > _READABLE or _is_code(piece) or keeping.jests(piece):
        return "", False
    introduced = _INTRODUCED.match(piece)
    said = keeping.cleared(piece[introduced.end() :] if introduced else piece, turn.people)
    return without_introduction(said, turn.speaker.name), introduced is not None


def _continued(turn: Turn, said: str, whole: str, companion: str, before: _Before) -> Claim | None:
    """A sentence without a subject, after one of somebody else: it stands only beside that one."""
    kept = _kept(turn, whole) if before.followed else None
    return made(turn, said, kept, companion, leans=True) if kept else None


def _kept(turn: Turn, said: str) -> keeping.Kept | None:
    """How a sentence fares; what is plainly stated to an agent is kept though its words are those of talk."""
    if turn.to_agent and (_is_task(said) or said.lower().startswith("please ")):
        return None
    kept = keeping.judged(said)
    return (
        keeping.Kept("semantic", 0.8, declared=True)
        if kept is None and turn.to_agent and plainly_stated(said)
        else kept
    )


def _answers(turn: Turn, said: str) -> bool:
    """Whether a fragment tells something, and its question says of what."""
    known = {term for name in turn.people for term in content_terms(name)}
    told = set(content_terms(said)) - known
    return (
        is_fragment(said)
        and bool(told - {"sure", "absolut", "definit", "total", "cours"})
        and len(said.split()) > 1
        and keeping.specificity(turn.question) > _CLEAR
        and not _VAGUE.search(turn.question)
    )


def _is_task(said: str) -> bool:
    """A request of the moment to an agent: "Fix the test", "I need you to"."""
    first = said.split(maxsplit=1)[0]
    if _A_CHANGE.match(said):
        return False
    return bool(_TASK.match(said)) and not is_past(first) and first.lower() not in {"all", "is", "on", "in"}


def _leaning(turn: Turn, said: str, kept: keeping.Kept, companion: str, before: _Before) -> Claim | None:
    """A sentence that stands on another: with the claim before it, the image shared with it, the question it answers."""
    pronoun = _PERSONAL.match(said)
    leans = pronoun is not None or keeping.leans(said)
    alone = not pronoun or _TO_SPEAKER.match(said)
    if not leans or (turn.to_agent and not before.followed and alone and stated(said)):
        return made(turn, said, kept, companion)
    if pronoun and pronoun[1].lower() in _OF_ONE and not any(map(mentions_another, before.last)):
        return None
    if before.followed:
        return made(turn, said, kept, companion, leans=True)
    if turn.image:
        return made(turn, said, kept, companion, note=f"image: {turn.image}")
    if (
        (asked := asked_about(turn.question))
        and keeping.specificity(asked) > _CLEAR
        and not keeping.leans(asked)
        and not _VAGUE.search(asked)
    ):
        return made(turn, said, kept, companion, note=f'asked: "{asked}"', cites=(turn.asked_at, turn.at))
    return None


def _with_subject(said: str) -> str:
    """Give it its subject: "Went to Porto" is "I went to Porto", "Working on it" is "I'm working on it"."""
    match = _OPENED.match(said)
    if not match:
        return said
    word, lead = match[1].lower(), said[: match.start(1)]
    rest = lead[:1].lower() + lead[1:] + said[match.start(1) :][:1].lower() + said[match.start(1) + 1 :]
    if word == "been" and re.match(r" (?:\w+ )?\w+ing\b", said[match.end() :]):
        return f"I have {rest}"
    if word == "been" and lead in {"Always ", "Never "}:
        return f"I have {rest}"
    if word == "going" and re.match(r" to (?!be\b)", said[match.end() :]):
        return f"I'm {rest}"
    if word in _MOODS:
        return f"I'm {rest}"
    finite = _FINITE.search(said) or _SPOKEN.search(said) or any(is_past(other) for other in said.split()[1:8])
    if word in _PROGRESSIVE and not finite:
        return f"I'm {rest}"
    if word == "don't" and not of_ones_own(said):
        return said
    if word in {"can't", "couldn't", "didn't", "haven't", "don't"} or (
        is_past(word)
        and word not in {"people", "used", "based", "children", "left", "men", "women", "kids", "kid", "found"}
        and not said[match.end() :].startswith((" by ", " with ") if not lead else " by ")
    ):
        return f"I {rest}"
    return f"I {rest}" if word in {"need", "want", "needs"} else said


def _rule(said: str) -> str:
    """A standing instruction in the imperative, or nothing."""
    ordered = _ORDERED.match(said)
    rule = said[ordered.end() :] if ordered else said
    rule = re.sub(
        r"^(?:please|remember(?: that| to)?|note(?: that)?)[:,]?\s+",
        "",
        re.sub(r"^not\b", "do not", rule),
        flags=re.IGNORECASE,
    )
    return rule if rule_of(rule) or (ordered and rule_of(said)) else ""


def _is_plain(piece: str) -> bool:
    """Whether a sentence states a fact about something named or counted, and speaks to nobody."""
    told = bool(names(piece)) or any(c.isdigit() for c in piece)
    if not told or len(piece) > LONGEST or _is_code(piece) or not _DECLARATIVE.search(piece):
        return False
    if not is_english(piece) or claiming.speaks_to_someone(piece) or rule_of(piece):
        return False
    return not keeping.leans(piece) and keeping.judged(piece) is not None


def _from_elsewhere(pieces: Sequence[str], at: int, message: Message, said_at: datetime) -> list[Claim]:
    """Tools and systems: only plain statements of fact with a name or a number in them."""
    found: list[Claim] = []
    for piece in filter(_is_plain, pieces):
        text = claiming.ended(absolute_dates(piece, said_at) if message.sent_at else piece)
        weight = round(0.5 * keeping.specificity(piece), 3)
        found.append(
            Claim(
                at=at,
                cites=(at,),
                speaker=f"The {message.role}",
                said_at=said_at,
                text=text,
                type="semantic",
                weight=weight,
            )
        )
    return found
