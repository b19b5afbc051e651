"""Task: which texts a request to forget means."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from mnemic.errors import LanguageModelError
from mnemic.llm.answers import DATA_RULE, Items, Number, Schema, fenced, numbered_list, plain, speaker
from mnemic.llm.language_model import Task
from mnemic.text.markup import speaker_label
from mnemic.types import Episode, Message, Record

MOST_CANDIDATES = 30
LONGEST_REQUEST = 2_000
LONGEST_CANDIDATE = 1_000
BLANK = "(blank)"
"""The first candidate of every question, which no request means: a model that says it does, or skips it, is not believed."""
FIRST_CANDIDATE = 2

INSTRUCTIONS = f"""\
A person asks that something be forgotten. Say of every candidate, the blank one too, whether the request means it: whether
what the person wants forgotten would still be known if the candidate stayed.
meant true: it says what is to be forgotten, in whatever words, or gives its value or a part of it. "I earn 70k" is
meant by "my salary".
meant false: it says the same of somebody else, or only shares words or a subject. "My sister has diabetes" is not
meant by "my diabetes". When in doubt, false.
"I" and "my" in the request are the person who asks. Before a candidate may stand who said it, perhaps that person.
{DATA_RULE}"""


class Judgement(Schema):
    """Whether one candidate is meant."""

    candidate: Number
    meant: bool


class Judgements(Schema):
    """One for every candidate."""

    candidates: Items[Judgement] = Field(max_length=MOST_CANDIDATES + 1)


def task(request: str, candidates: Sequence[Record]) -> Task[tuple[bool | None, ...]]:
    """Ask whether a request to forget means each of 1 to 30 candidates; None for one left out or judged both ways.

    The request is cut to 2,000 characters, a candidate to 1,000.
    """
    texts = [BLANK, *map(_line, candidates)]
    data = fenced(request=plain(request)[:LONGEST_REQUEST], candidates=numbered_list(texts))
    prompt = f"{data}\n\nWhich of the candidates 1 to {len(texts)} does the request mean?"
    return Task("forget", INSTRUCTIONS, prompt, Judgements, lambda answer: _read(answer, len(candidates)))


def _line(candidate: Record) -> str:
    """A text after who said it, as far as that is known."""
    text = plain(candidate.content)[:LONGEST_CANDIDATE]
    by = ""
    if not isinstance(candidate, Episode):
        by = speaker(candidate) if isinstance(candidate, Message) else speaker_label(candidate)
    return f"{by}: {text}" if by else text


def _read(answer: Judgements, count: int) -> tuple[bool | None, ...]:
    verdicts: dict[int, set[bool]] = {}
    for judgement in answer.candidates:
        verdicts.setdefault(judgement.candidate, set()).add(judgement.meant)
    judged = {number: result for number, (result, *others) in verdicts.items() if not others}
    if judged.pop(1, True):
        raise LanguageModelError("The language model's answer on what to forget was refused: the blank is never meant.")
    result = tuple(judged.get(number) for number in range(FIRST_CANDIDATE, FIRST_CANDIDATE + count))
    if len(verdicts) > 1 and not {True, False}.intersection(result):
        raise LanguageModelError("The language model judged none of the candidates it was given.")
    return result
