"""Candidate generation: from a query to a pool of candidates with everything the signals read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes import keyword
from mnemic.indexes.catalog import KINDS, STATUSES, Columns
from mnemic.indexes.keyword import Corpus, Occurrences, corpus_of
from mnemic.indexes.vector.exact import Cosines
from mnemic.recall.periods import AskedPeriods, PeriodAnswers, asked_periods, particulars, period_answers, said_within
from mnemic.runtime.views import View
from mnemic.stores.sql.rows import importances
from mnemic.text import english
from mnemic.text.terms import index_terms, query_terms, written_words
from mnemic.types import Query, RecordFilter
from mnemic.vectors import Floats, Mask, Rows, ascending, top

WINDOW = 3
HERE = WINDOW
"""Column of the candidate itself in arrays of the turns around it, from -3 to +3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """m candidates of one query with T terms.

    Attributes:
        rows: (m,) row of each candidate in the catalog, ascending.
        dense: (m,) cosine with the query; ``dense_before``: (m,) that of the turn before if it is a question, else 0;
            ``dense_session``: (m,) the highest in the candidate's conversation; ``dense_reply``: (m,) that of the other
            half of the exchange, the reply to a person or the request to an agent; 0 outside of a conversation.
        agent: (m,) true for turns of an assistant, a tool, the system or a document; ``assisted``: (m,) true for turns of a
            conversation with one of these, and for other records where most conversations are of this kind.
        echo: (m,) true for a question in an assisted conversation that merely repeats the query, and for any turn that does
            if the query may need no memory. Its cosine counts neither for its conversation nor for its reply.
        unanswered: (m,) true for the query itself, asked before, after which nobody else says anything: in no conversation is
            it evidence. The pool compares content words; a search keeps those that are the query word for word.
        bm25: (m,) BM25 of the candidate.
        counts: (m, 7, T) occurrences of each term in the turns around; 0 where there is no turn.
        lengths: (m, 7) content terms of those turns.
        in_session: (m, T) whether the conversation contains the term.
        idf: (T,) inverse document frequencies over their maximum, 0 to 1; a term in no record has 1.
        mean_length: mean length of a record.
        speaker: (m,) true where the query names exactly one speaker and the turn is theirs.
        traits: (m,) bits of ``text.english``; ``query_traits``: the bits the query asks for.
        days: (m,) ordinals; ``periods``: how the candidates answer by the periods that the query names.
        names_speaker: whether the query names one.
        words: (m,) length in content terms.
        times: (m,) and ``now``: microseconds since 1970.
        need: log odds that the query needs memory, at most 0.
        mood: (m,) similarity to the requested mood, 0 to 1.
        graph: (m,) proximity to the first hits over links, 0 to 1.
        importance: (m,) 0 to 1. ``long_term``: (m,) 1 or 0. ``near``: (m,) 0 to 2, more for narrower levels.
    """

    rows: Rows
    dense: Floats
    dense_before: Floats
    dense_session: Floats
    dense_reply: Floats
    agent: Mask
    assisted: Mask
    echo: Mask
    unanswered: Mask
    bm25: Floats
    counts: Floats
    lengths: Floats
    in_session: Mask
    idf: Floats
    mean_length: float
    speaker: Mask
    traits: NDArray[np.int32]
    query_traits: int
    need: float
    days: NDArray[np.int64]
    periods: PeriodAnswers
    names_speaker: bool
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


def neighbours(rows: Rows, previous: NDArray[np.int32], following: NDArray[np.int32]) -> Rows:
    """(m, 7) rows of the turns from three before to three after, -1 beyond the ends of the conversation.

    Both link arrays end in -1, so that following a -1 stays at -1.
    """
    around = np.empty((2 * WINDOW + 1, len(rows)), np.intp)
    around[HERE] = rows
    for step in range(1, WINDOW + 1):
        around[HERE - step] = previous[around[HERE - step + 1]]
        around[HERE + step] = following[around[HERE + step - 1]]
    return around.T


ECHO_EXTRA_TERMS = 1
"""Words that a question may add to the query and still be a repetition of it."""
ECHOED = 0.5
"""Share of its cosine that a repetition of the query lends to what answered it: an answer counts, "I don't know" should not."""
ACCEPTED = 4
"""Most words of a turn that accepts an offer, such as "Yes, something simple"."""
LEADERS = 50
"""Best hits of each search whose neighbouring turns join the pool."""


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    """A query with its terms and periods, the corpus statistics, and the BM25 and cosine of every row.

    ``speakers`` are the codes of those that it names, ``subjects`` of those whose words or doings it asks for. ``hidden`` masks
    the terms, shape (T,), that a row has only in sentences that recall does not show.
    """

    query: Query
    terms: Sequence[str]
    periods: AskedPeriods
    corpus: Corpus
    words: Floats
    cosines: Cosines | None
    speakers: Sequence[int]
    need: float
    subjects: Sequence[int] = ()
    hidden: Mapping[int, Mask] = field(default_factory=dict[int, Mask])

    @property
    def meaning(self) -> Floats | None:
        """The cosine of every row with the query."""
        return None if self.cosines is None else self.cosines.values


def analyse_query(
    view: View, query: Query, cosines: Cosines | None, wordings: Sequence[str] = (), need: float = 0.0
) -> AnalysedQuery:
    """Analyse a query for keyword and vector search.

    Args:
        view: the user's records.
        query: the query.
        cosines: of every row with it, if there are vectors.
        wordings: alternative wordings.
        need: log odds that it needs memory, at most 0.
    """
    corpus = corpus_of(view.columns, query.filters.kinds)
    terms = tuple(dict.fromkeys(term for text in (query.text, *wordings) for term in _query_terms(view, text)))
    words = view.keyword.scores(view.columns, terms, corpus)
    periods = asked_periods(view.columns, query, terms)
    speakers, subjects = _named_speakers(view, query.text), _subjects(view, query.text)
    return AnalysedQuery(query, terms, periods, corpus, words, cosines, speakers, need, subjects)


def without_terms(question: AnalysedQuery, hidden: Mapping[int, Mask], shares: Mapping[int, float]) -> AnalysedQuery:
    """A query for which rows have no hidden terms.

    Args:
        question: the query.
        hidden: masks of its terms by row.
        shares: the share of its terms in each row that is not hidden; so much is left of the BM25.
    """
    words = question.words.copy()
    words[[*shares]] *= np.array([*shares.values()], np.float32)
    return replace(question, words=words, hidden=hidden)


def candidates(view: View, question: AnalysedQuery, allowed: Mask, size: int) -> Rows:
    """The best rows of both searches, those said in a period that the query names, and the turns around the leaders;
    ascending.
    """
    c = view.columns
    best = [top(question.words, allowed, size, above=0.0)]  # rows without a common word score 0
    if question.meaning is not None:
        best.append(top(question.meaning, allowed, size, above=-2.0))
    if question.periods.asked:
        within = allowed & said_within(c, question.periods.asked)
        best.append(top(question.words if question.meaning is None else question.meaning, within, size, above=-2.0))
    leaders = np.concatenate([rows[:LEADERS] for rows in best])
    around = neighbours(leaders, c.padded("previous"), c.padded("following"))
    near = around[:, HERE - 2 : HERE + 3].ravel()
    near = near[near >= 0]
    return ascending(len(c), *best, near[allowed[near]])


def build_pool(
    view: View,
    question: AnalysedQuery,
    rows: Rows,
    *,
    boosted: Mapping[int, float] | None = None,
    graph: Mapping[int, float] | None = None,
    mood: Mapping[int, float] | None = None,
) -> Pool:
    """Build the pool: everything the signals read, in one pass over the postings of the query's terms.

    Args:
        view: the user's records.
        question: the analysed query.
        rows: the candidates, ascending.
        boosted: raised cosines of rows whose derived memories are nearer to the query than the row itself.
        graph: proximity of rows to the first hits over links.
        mood: similarity of rows to the requested mood.
    """
    query, corpus, speakers = question.query, question.corpus, question.speakers
    c = view.columns
    around = neighbours(rows, c.padded("previous"), c.padded("following"))  # -1: no turn, one row past the end
    if question.cosines is not None:
        adjacent = around[:, [HERE - 1, HERE + 1]].ravel()
        question.cosines.sharpen(np.concatenate([rows, adjacent[adjacent >= 0]]))
    counts, in_session, idf = _term_counts(view, question, rows, around)
    particular_idf = particulars(view, question.terms, corpus, question.periods, idf)
    agent, assisted = c.agents[rows], c.assisted[c.group[rows]]
    # A statement that repeats a question answers it: "Do I speak Polish?"; one that repeats "thanks" says nothing.
    only_questions = not question.need or bool(english.traits(query.text) & english.QUESTION)
    echo = assisted & _echoes(c, rows, (counts[:, HERE] > 0).sum(axis=1), questions=only_questions)
    own, before, session, reply = _turn_cosines(c, question, rows, around, echo)
    return Pool(
        rows=rows,
        dense=np.maximum(own, _scatter(rows, boosted, -1.0)),
        dense_before=before,
        dense_session=session,
        dense_reply=reply,
        agent=agent,
        assisted=assisted,
        echo=echo,
        unanswered=_unanswered(c, rows, around, counts[:, HERE]),
        bm25=question.words[rows],
        counts=counts,
        lengths=c.padded("length")[around],
        in_session=in_session,
        idf=idf,
        mean_length=corpus.mean_length,
        speaker=c.speaker[rows] == speakers[0] if len(speakers) == 1 else np.zeros(len(rows), np.bool_),
        traits=c.traits[rows],
        query_traits=english.expected_traits(query.text),
        need=question.need,
        days=c.day[rows],
        periods=period_answers(
            view, question.periods, rows, counts[:, HERE] > 0, particular_idf, idf, question.subjects
        ),
        names_speaker=len(speakers) > 0,
        words=c.length[rows],
        times=c.time[rows],
        now=query.now,
        importance=importances(c.salience[rows], c.boost[rows], c.last_use[rows], query.now).astype(np.float32),
        long_term=(c.status[rows] == STATUSES["long_term"]).astype(np.float32),
        near=_level_proximity(c, query.filters, rows),
        graph=_scatter(rows, graph, 0.0),
        mood=_scatter(rows, mood, 0.0),
    )


def _turn_cosines(c: Columns, question: AnalysedQuery, rows: Rows, around: Rows, echo: Mask) -> Sequence[Floats]:
    """Cosines of rows, of the turns before them if these ask, of the best in their sessions, and of the replies to them.

    A turn that only echoes the query lends a share of its own, ``ECHOED``, if somebody answered it, and else nothing.
    """
    meaning = question.meaning
    dense = np.zeros(len(c) + 1, np.float32) if meaning is None else np.append(meaning, np.float32(0.0))
    own = dense[rows]
    answered = _followed_by_others(c, rows[echo], around[echo])
    dense[rows[echo]] *= np.where(answered, np.float32(ECHOED), np.float32(0.0))
    before, agent = around[:, HERE - 1], c.agents[rows]
    other = np.where(agent, requests(c, rows), around[:, HERE + 1])
    asks = (c.padded("traits")[before] & english.ASKS) > 0
    reply = np.where((c.group[rows] > 0) & (c.agents[other] != agent), dense[other], np.float32(0.0))
    return own, dense[before] * asks, _session_cosines(c, dense, question.corpus.rows, rows), reply


def requests(columns: Columns, rows: Rows) -> Rows:
    """The turns that turns answer, -1 for none: those before them, or the offer of an assistant that somebody accepted."""
    previous, lengths = columns.padded("previous"), columns.padded("length")
    before = previous[rows]
    offers = previous[before]
    asks = (columns.padded("traits") & english.ASKS) > 0
    accepted = (lengths[before] <= ACCEPTED) & ~asks[before] & asks[offers] & (offers >= 0)
    agents = columns.agents
    return np.where(accepted & agents[rows] & ~agents[before] & agents[offers], offers, before)


def _echoes(
    columns: Columns,
    rows: Rows,
    shared: NDArray[np.integer[Any] | np.floating[Any]],
    *,
    questions: bool,
    extra: Mask | int = ECHO_EXTRA_TERMS,
) -> Mask:
    """Mask of the questions that say little but the words of the query, and of other turns that say nothing else.

    Args:
        columns: of the user's records.
        rows: the candidates.
        shared: how many words of the query each has, or how often it has any of them.
        questions: leave out other turns. A text that may need no memory, such as "thanks", is said again and again.
        extra: how many words a question may add: the name of its speaker counts as one.
    """
    asks, added = (columns.traits[rows] & english.QUESTION) > 0, columns.length[rows] - shared
    repeats = asks & (added <= extra)
    return (shared > 0) & (repeats if questions else repeats | (added <= 0))


def _unanswered(columns: Columns, rows: Rows, around: Rows, counts: Floats) -> Mask:
    """Mask of the questions that have all words of the query and no others, after which nobody else says anything."""
    repeats = _echoes(columns, rows, counts.sum(axis=1), questions=True, extra=columns.speaker[rows] > 0)
    return repeats & (counts > 0).all(axis=1) & ~_followed_by_others(columns, rows, around)


def _followed_by_others(columns: Columns, rows: Rows, around: Rows) -> Mask:
    """Mask of the turns after which somebody else says something, soon; true of what is no turn."""
    after = around[:, HERE + 1 :]
    speakers, agents = columns.padded("speaker")[after], columns.agents[after]
    others = (speakers != columns.speaker[rows, None]) | (agents != columns.agents[rows, None])
    return ((after >= 0) & others).any(axis=1) | (columns.kind[rows] != KINDS["message"])


def _scatter(rows: Rows, values: Mapping[int, float] | None, default: float) -> Floats:
    """Values by row as an array over ``rows``."""
    array = np.full(len(rows), default, np.float32)
    if values:
        keys = np.fromiter(values, np.intp, len(values))
        positions = np.minimum(np.searchsorted(rows, keys), len(rows) - 1)
        present = rows[positions] == keys
        array[positions[present]] = np.fromiter(values.values(), np.float32, len(values))[present]
    return array


def _term_counts(view: View, question: AnalysedQuery, rows: Rows, around: Rows) -> tuple[Floats, Mask, Floats]:
    """Occurrences of each term in the turns around each candidate, whether its conversation has it, and its idf."""
    c, terms = view.columns, question.terms
    counts = np.zeros((*around.shape, len(terms)), np.float32)
    in_session = np.zeros((len(rows), len(terms)), np.bool_)
    idf = np.zeros(len(terms), np.float32)
    buffer, group, most = np.zeros(len(c) + 1, np.float32), c.group[rows], keyword.idf(question.corpus.size, 0)
    for t, term in enumerate(terms):
        occurrences: Occurrences = view.keyword.occurrences(c, term, question.corpus)
        if not question.periods.role_terms[t]:  # the word is in what others say of that role, rarely in its own turns
            idf[t] = occurrences.idf / most
        counts[:, :, t] = occurrences.counts_at(around, buffer)
        in_session[:, t] = occurrences.conversations[group]
    for row, mask in question.hidden.items():
        counts[around == row] *= ~mask
    return counts, in_session, idf


def _session_cosines(c: Columns, dense: Floats, corpus: Mask, rows: Rows) -> Floats:
    """The highest cosine of a live record in the conversation of each row; its own outside of a conversation."""
    group = c.group[rows]
    in_pool = np.zeros(c.groups, np.bool_)
    in_pool[group] = True
    in_pool[0] = False  # no conversation
    members = np.flatnonzero(in_pool.take(c.group) & corpus)
    best = np.full(c.groups, -1.0, np.float32)
    np.maximum.at(best, c.group[members], dense[members])
    return np.where(group > 0, best[group], dense[rows])


def _level_proximity(c: Columns, filters: RecordFilter, rows: Rows) -> Floats:
    """1 for records of the handle's project, plus 1 for memories of its session."""
    near = np.zeros(len(rows), np.float32)
    if filters.project is not None:
        near += c.project[rows] == c.names.project.get(filters.project)
    if filters.session is not None:
        near += (c.kind[rows] == KINDS["memory"]) & (c.session[rows] == c.names.session.get(filters.session))
    return near


def _named_speakers(view: View, text: str) -> list[int]:
    """Codes of the speakers that the query mentions by (first) name: "the budget" is not Budget Bot."""
    mentioned = set(index_terms(" ".join(written_words(text))))
    return [
        code
        for name, code in view.columns.names.speaker.items()
        if (words := index_terms(name)) and words[0] in mentioned
    ]


_SUBJECT = re.compile(r"\b(?:did|has|had|does)\s+([^\W\d_]+)", re.IGNORECASE)
"""The first word of whoever a question asks about, as in "What did Priya say on 14 May?"."""


def _subjects(view: View, text: str) -> list[int]:
    """Codes of the speakers whose words or doings a query asks for."""
    return [code for subject in _SUBJECT.findall(text) for code in _named_speakers(view, subject)]


def _query_terms(view: View, text: str) -> tuple[str, ...]:
    """The terms of the query without names of speakers, which have their own signal."""
    terms, written = query_terms(text), {*index_terms(" ".join(written_words(text)))}
    names = {term for name, _ in view.columns.names.speaker.items() for term in index_terms(name)} & written
    return tuple(term for term in terms if term not in names) or terms


TURNS = 4
"""Last turns that are considered."""
_MAX_WEIGHT, _DECAY = 1.2, 0.7
"""Weight of the turns for a query of one term, and decay per turn."""
_MIN_WEIGHT = 0.02


def turn_weight(terms: int) -> float:
    """Weight of the previous turns for a query with so many content terms, 0 to 1.2."""
    weight = _MAX_WEIGHT / max(terms, 1) ** 2
    return weight if weight >= _MIN_WEIGHT else 0.0


def blend_turns(query: Floats, turns: Sequence[Floats], weight: float) -> Floats:
    """Mix a query's unit vector with those of the previous turns, oldest first; returns a unit vector."""
    decayed = [_DECAY**age * turn for age, turn in enumerate(reversed(turns))]
    before = np.sum(decayed, axis=0)
    mixed = query + np.float32(weight) * before / np.float32(max(float(np.linalg.norm(before)), 1e-9))
    return (mixed / np.float32(max(float(np.linalg.norm(mixed)), 1e-9))).astype(np.float32)
