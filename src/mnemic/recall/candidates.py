"""From a question to a pool: the candidates, and everything the signals read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.catalog import KINDS, STATUSES, Columns
from mnemic.indexes.keyword import Corpus, Occurrences
from mnemic.indexes.vector import Cosines
from mnemic.runtime.views import View
from mnemic.text import bm25, cues
from mnemic.text.clock import from_micros
from mnemic.text.dates import Period, may_name_a_date, named_periods
from mnemic.text.terms import index_terms, query_terms
from mnemic.types import Filters, Query
from mnemic.vectors import among

__all__ = [
    "HERE",
    "TURNS",
    "Pool",
    "Question",
    "ascending",
    "asked",
    "candidates",
    "neighbours",
    "pooled",
    "share_of_turns",
    "top",
    "with_turns",
]

Floats = NDArray[np.float32]
Rows = NDArray[np.intp]

REACH = 3
HERE = REACH
"""The candidate's own column in arrays of the turns around it, which run from -3 to +3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """m candidates of one query with T terms.

    Attributes:
        rows: (m,) row of each candidate in the catalog, ascending.
        dense: (m,) cosine with the query; ``dense_before``: (m,) that of the turn before if it asks something, else 0;
            ``dense_session``: (m,) the highest of the candidate's conversation; ``dense_reply``: (m,) that of the other half
            of the exchange, the answer to what a person said or the request that an agent answers; 0 outside of a conversation.
        agent: (m,) true for what an assistant, a tool or the system said; ``assisted``: (m,) true for a turn of a
            conversation in which one of these speaks, and for other records where most conversations are such.
        echo: (m,) true for a question of an assisted conversation that says hardly more than the query. What it is near to
            counts neither for its conversation nor for its answer.
        bm25: (m,) BM25 of the candidate.
        counts: (m, 7, T) occurrences of each term in the turns around; 0 where there is no turn.
        lengths: (m, 7) content terms of those turns.
        in_session: (m, T) whether the conversation has the term anywhere.
        idf: (T,) inverse document frequencies over their maximum, 0 to 1; a term nobody uses has 1.
        mean_length: mean length of a record.
        speaker: (m,) true where the query names one speaker and it is theirs.
        traits: (m,) bits of ``text.cues``; ``asked_for``: the bits the query asks for.
        days: (m,) ordinals; ``told``: periods each candidate speaks of; ``asked``: periods the query names.
        words: (m,) length in content terms.
        times: (m,) and ``now``: microseconds since 1970.
        mood: (m,) nearness to the mood that is asked for, 0 to 1.
        graph: (m,) nearness to the first hits over links, 0 to 1.
        importance: (m,) 0 to 1. ``long_term``: (m,) 1 or 0. ``near``: (m,) 0 to 2, narrower levels more.
    """

    rows: Rows
    dense: Floats
    dense_before: Floats
    dense_session: Floats
    dense_reply: Floats
    agent: NDArray[np.bool_]
    assisted: NDArray[np.bool_]
    echo: NDArray[np.bool_]
    bm25: Floats
    counts: Floats
    lengths: Floats
    in_session: NDArray[np.bool_]
    idf: Floats
    mean_length: float
    speaker: NDArray[np.bool_]
    traits: NDArray[np.int32]
    asked_for: int
    days: NDArray[np.int64]
    told: Sequence[Sequence[Period]]
    asked: Sequence[Period]
    words: Floats
    times: NDArray[np.int64]
    now: int
    importance: Floats
    long_term: Floats
    near: Floats
    graph: Floats
    mood: Floats

    def __len__(self) -> int:
        return len(self.rows)


def top(scores: Floats, allowed: NDArray[np.bool_], k: int, *, above: float) -> Rows:
    """The rows of the k highest scores among the allowed ones above a floor, best first; ties go to the lower row."""
    rows = among(scores, allowed, k, above=above)
    return rows[np.argsort(-scores[rows], kind="stable")]


def ascending(size: int, *parts: Rows | Sequence[int]) -> Rows:
    """The rows in any of several lists, each once, ascending; all are below ``size``."""
    among = np.zeros(size, np.bool_)
    for rows in parts:
        among[rows] = True
    return np.flatnonzero(among)


def neighbours(rows: Rows, previous: NDArray[np.int32], following: NDArray[np.int32]) -> Rows:
    """(m, 7) rows of the turns from three before to three after, -1 where the conversation begins or ends.

    Both links end in a -1 of their own, so that whoever follows a -1 stays there.
    """
    around = np.empty((2 * REACH + 1, len(rows)), np.intp)
    around[HERE] = rows
    for step in range(1, REACH + 1):
        around[HERE - step] = previous[around[HERE - step + 1]]
        around[HERE + step] = following[around[HERE + step - 1]]
    return around.T


ECHO = 1
"""Words by which a question may go beyond the query and still only ask the same."""
NEIGHBOURS_OF = 50
"""How many of each search's best bring their neighbouring turns into the pool."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query as the searches see it: its terms, the corpus that gives statistics, both scores of every row."""

    query: Query
    terms: Sequence[str]
    corpus: Corpus
    words: Floats
    cosines: Cosines | None
    speakers: Sequence[int]

    @property
    def meaning(self) -> Floats | None:
        """The cosine of every row with the query."""
        return None if self.cosines is None else self.cosines.values


def asked(view: View, query: Query, cosines: Cosines | None, wordings: Sequence[str] = ()) -> Question:
    """A query with what the searches need.

    Args:
        view: the user's records.
        query: what is asked.
        cosines: of every row with it, if there are vectors.
        wordings: other ways to ask it.
    """
    corpus = view.columns.corpus(query.filters.kinds)
    terms = tuple(dict.fromkeys(term for text in (query.text, *wordings) for term in _terms(view, text)))
    words = view.keyword.scores(view.columns, terms, corpus)
    return Question(query, terms, corpus, words, cosines, _named_speakers(view, query.text))


def candidates(view: View, question: Question, allowed: NDArray[np.bool_], size: int) -> Rows:
    """The best of both searches with the turns around the very best; ascending."""
    best = [top(question.words, allowed, size, above=0.0)]  # no word in common: nothing speaks for a row
    if question.meaning is not None:
        best.append(top(question.meaning, allowed, size, above=-2.0))
    c = view.columns
    leaders = np.concatenate([rows[:NEIGHBOURS_OF] for rows in best])
    around = neighbours(leaders, c.padded("previous"), c.padded("following"))
    near = around[:, HERE - 2 : HERE + 3].ravel()
    near = near[near >= 0]
    return ascending(len(c), *best, near[allowed[near]])


def pooled(
    view: View,
    question: Question,
    rows: Rows,
    *,
    lifted: Mapping[int, float] | None = None,
    graph: Mapping[int, float] | None = None,
    mood: Mapping[int, float] | None = None,
) -> Pool:
    """Everything the signals read, gathered in one pass over the postings of the query's terms.

    Args:
        view: the user's records.
        question: what is asked.
        rows: the candidates, ascending.
        lifted: cosines of the memories made of a row, where these are nearer to the query than the row itself.
        graph: nearness of rows to the first hits over links.
        mood: nearness of rows to the mood asked for.
    """
    query, corpus, meaning, speakers = question.query, question.corpus, question.meaning, question.speakers
    c = view.columns
    at = neighbours(rows, c.padded("previous"), c.padded("following"))  # -1: no turn, one row past the end
    before = at[:, HERE - 1]
    if question.cosines is not None:
        beside = at[:, [HERE - 1, HERE + 1]].ravel()
        question.cosines.sharpen(np.concatenate([rows, beside[beside >= 0]]))
    asked = _asked_periods(c, query)
    counts, in_session, idf = _counted(view, question, rows, at)
    dense = np.zeros(len(c) + 1, np.float32) if meaning is None else np.append(meaning, np.float32(0.0))
    own = dense[rows]
    asks = (c.padded("traits")[before] & cues.ASKS) > 0
    agent, assisted = c.agents[rows], c.assisted[c.group[rows]]
    shared = (counts[:, HERE] > 0).sum(axis=1)
    echo = assisted & ((c.traits[rows] & cues.QUESTION) > 0) & (shared > 0) & (c.length[rows] - shared <= ECHO)
    dense[rows[echo]] = 0.0
    other = np.where(agent, before, at[:, HERE + 1])
    return Pool(
        rows=rows,
        dense=np.maximum(own, _placed(rows, lifted, -1.0)),
        dense_before=dense[before] * asks,
        dense_session=_best_of_session(c, dense, corpus.rows, rows),
        dense_reply=np.where((c.group[rows] > 0) & (c.agents[other] != agent), dense[other], np.float32(0.0)),
        agent=agent,
        assisted=assisted,
        echo=echo,
        bm25=question.words[rows],
        counts=counts,
        lengths=c.padded("length")[at],
        in_session=in_session,
        idf=idf,
        mean_length=corpus.mean_length,
        speaker=c.speaker[rows] == speakers[0] if len(speakers) == 1 else np.zeros(len(rows), np.bool_),
        traits=c.traits[rows],
        asked_for=cues.asked_for(query.text),
        days=c.day[rows],
        told=[c.periods(doc) for doc in c.doc[rows].tolist()] if asked else (),
        asked=asked,
        words=c.length[rows],
        times=c.time[rows],
        now=query.now,
        importance=c.importance[rows],
        long_term=(c.status[rows] == STATUSES["long_term"]).astype(np.float32),
        near=_near(c, query.filters, rows),
        graph=_placed(rows, graph, 0.0),
        mood=_placed(rows, mood, 0.0),
    )


def _placed(rows: Rows, values: Mapping[int, float] | None, default: float) -> Floats:
    """The values of some rows as a column."""
    found = np.full(len(rows), default, np.float32)
    if values:
        at = np.fromiter(values, np.intp, len(values))
        places = np.minimum(np.searchsorted(rows, at), len(rows) - 1)
        here = rows[places] == at
        found[places[here]] = np.fromiter(values.values(), np.float32, len(values))[here]
    return found


def _counted(view: View, question: Question, rows: Rows, at: Rows) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Occurrences of each term in the turns around each candidate, whether its conversation has it, and its idf."""
    c, terms = view.columns, question.terms
    counts = np.zeros((*at.shape, len(terms)), np.float32)
    in_session = np.zeros((len(rows), len(terms)), np.bool_)
    idf = np.zeros(len(terms), np.float32)
    buffer, group, most = np.zeros(len(c) + 1, np.float32), c.group[rows], bm25.idf(question.corpus.size, 0)
    for t, term in enumerate(terms):
        said: Occurrences = view.keyword.occurrences(c, term, question.corpus)
        idf[t] = said.idf / most
        counts[:, :, t] = said.counts_at(at, buffer)
        in_session[:, t] = said.conversations[group]
    return counts, in_session, idf


def _best_of_session(c: Columns, dense: Floats, corpus: NDArray[np.bool_], rows: Rows) -> Floats:
    """For some rows the highest cosine of what is live in their conversation; their own where they belong to none."""
    group = c.group[rows]
    wanted = np.zeros(c.groups, np.bool_)
    wanted[group] = True
    wanted[0] = False  # no conversation
    members = np.flatnonzero(wanted.take(c.group) & corpus)
    best = np.full(c.groups, -1.0, np.float32)
    np.maximum.at(best, c.group[members], dense[members])
    return np.where(group > 0, best[group], dense[rows])


def _asked_periods(c: Columns, query: Query) -> list[Period]:
    """The periods the query names, seen from when it is asked."""
    try:
        today = from_micros(query.now).astimezone(query.zone).toordinal()
    except OverflowError:  # the edges of the calendar have no neighbours
        today = from_micros(query.now).toordinal()
    said = named_periods(query.text, today, ())
    if said or not may_name_a_date(query.text):
        return said
    years = sorted({date.fromordinal(int(day)).year for day in np.unique(c.day)})
    return named_periods(query.text, 1, [years[0] - 1, *years])


def _near(c: Columns, filters: Filters, rows: Rows) -> Floats:
    """How narrow the level of each row is: one for the handle's own project, and one for a memory of its own session."""
    near = np.zeros(len(rows), np.float32)
    if filters.project is not None:
        near += c.project[rows] == c.names.project.get(filters.project)
    if filters.session is not None:
        near += (c.kind[rows] == KINDS["memory"]) & (c.session[rows] == c.names.session.get(filters.session))
    return near


def _named_speakers(view: View, text: str) -> list[int]:
    """Codes of the speakers whose name (or first name) the query mentions."""
    said = set(index_terms(text))
    return [
        code for name, code in view.columns.names.speaker.items() if (words := index_terms(name)) and words[0] in said
    ]


def _terms(view: View, text: str) -> tuple[str, ...]:
    """The terms of the query; speakers' names say who is meant, not what was said, and are left to their own signal."""
    terms = query_terms(text)
    names = {term for name, _ in view.columns.names.speaker.items() for term in index_terms(name)}
    return tuple(term for term in terms if term not in names) or terms


TURNS = 4
"""How many of the last turns count."""
_MOST, _FADES = 1.2, 0.7
"""What the turns count beside a query of one term, and what each counts of the one after it."""
_LEAST = 0.02


def share_of_turns(terms: int) -> float:
    """What the turns count beside a query with so many content terms, 0 to 1.2; 0 where it would change nothing."""
    weight = _MOST / max(terms, 1) ** 2
    return weight if weight >= _LEAST else 0.0


def with_turns(query: Floats, turns: Sequence[Floats], weight: float) -> Floats:
    """A query's unit vector with those of the turns before it, oldest first, as a unit vector."""
    faded = [_FADES**age * turn for age, turn in enumerate(reversed(turns))]
    before = np.sum(faded, axis=0)
    mixed = query + np.float32(weight) * before / np.float32(max(float(np.linalg.norm(before)), 1e-9))
    return (mixed / np.float32(max(float(np.linalg.norm(mixed)), 1e-9))).astype(np.float32)
