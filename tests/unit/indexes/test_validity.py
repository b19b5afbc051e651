"""Two clocks: what arrays hide is what a loop over plain records would hide, and caches follow the changes."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.indexes.catalog import Validity
from mnemic.stores import InMemoryStore
from mnemic.types import CatalogDelta, RecordFilter

RUN = settings(max_examples=80, deadline=None)
TIMES = st.integers(0, 12)
MAYBE = st.one_of(st.none(), TIMES)
ROWS = st.dictionaries(
    st.integers(1, 9),
    st.tuples(TIMES, MAYBE, MAYBE, TIMES, st.lists(st.integers(20, 24), max_size=3, unique=True), st.one_of(st.none(), st.integers(1, 9)), MAYBE, st.booleans()),
    max_size=9,
)  # fmt: skip
FILTERS = st.builds(RecordFilter, at=MAYBE, known_at=MAYBE, expired=st.booleans())


def validity(rows):
    return Validity().apply(delta(rows))


def delta(rows, touched=()):
    told = [(doc, since, until, expired, known, json.dumps(parents), by, begins, unsaid) for doc, (since, until, expired, known, parents, by, begins, unsaid) in rows.items()]  # fmt: skip
    return CatalogDelta(event=1, validity=sorted(told), touched=touched)


def shown(row, filters, now):
    """One memory, as the words of ``RecordFilter`` put it."""
    since, until, expired, known, *_, begins, _ = row
    if filters.expired:
        return True
    moment = None if filters.known_at is None else filters.known_at
    if moment is not None and known > moment:
        return False  # not heard of yet
    if expired is not None and moment is not None and expired > moment:
        expired = until = None  # it ended later than that: nobody knew
    if filters.at is not None:
        if not (since <= filters.at and (until is None or filters.at < until)):
            return False
        return expired is None or until is not None  # an end in the world is what was true until then
    today = now if moment is None else moment
    return expired is None and (until is None or until > today) and (begins is None or begins <= today)


@RUN
@given(ROWS, FILTERS, TIMES)
def test_what_is_hidden_is_what_a_loop_would_hide(rows, filters, now):
    hidden = validity(rows).hidden(filters, now).tolist()
    assert hidden == [doc for doc in sorted(rows) if not shown(rows[doc], filters, now)]


def test_an_end_that_was_given_holds_whatever_was_known_when():
    """The end of what is still believed is part of the row: asking with known_at does not take it away."""
    rows = {1: (0, 5, None, 0, [], None, 0, False)}
    for filters in (RecordFilter(), RecordFilter(known_at=8), RecordFilter(at=7), RecordFilter(at=7, known_at=8)):
        assert validity(rows).hidden(filters, 9).tolist() == [1]
    for filters in (RecordFilter(at=3), RecordFilter(at=3, known_at=8), RecordFilter(expired=True)):
        assert validity(rows).hidden(filters, 9).tolist() == []


@RUN
@given(ROWS, ROWS, st.sets(st.integers(1, 9), max_size=4), FILTERS)
def test_following_changes_ends_where_beginning_anew_ends(before, changed, gone, filters):
    gone -= changed.keys()
    after = {doc: row for doc, row in before.items() if doc not in gone} | changed
    followed = validity(before).apply(delta(changed, touched=sorted(gone | changed.keys() | {30})))
    anew = validity(after)
    assert followed.doc.tolist() == anew.doc.tolist() == sorted(after)
    for name in ("since", "until", "expired", "known", "begins"):
        assert getattr(followed, name).tolist() == getattr(anew, name).tolist()
    assert followed.successors == anew.successors
    assert followed.unsaid == anew.unsaid == {doc for doc, row in after.items() if row[7] and row[4]}
    assert {doc: tuple(parents) for doc, parents in followed.origins.items()} == {
        doc: tuple(parents) for doc, parents in anew.origins.items()
    }
    assert {parent: sorted(made) for parent, made in followed.derived.items()} == {
        parent: sorted(made) for parent, made in anew.derived.items()
    }
    assert followed.hidden(filters, 6).tolist() == anew.hidden(filters, 6).tolist()


@RUN
@given(ROWS)
def test_made_is_origins_turned_round(rows):
    found = validity(rows)
    pairs = {(doc, parent) for doc, parents in found.origins.items() for parent in parents}
    assert {(doc, parent) for parent, made in found.derived.items() for doc in made} == pairs
    assert pairs == {(doc, parent) for doc, row in rows.items() for parent in row[4]}


def test_nothing_changed_is_the_same_snapshot():
    held = validity({1: (0, None, None, 0, [], None, None, False)})
    assert held.apply(CatalogDelta(event=2)) is held
    assert len(Validity()) == 0
    assert Validity().hidden(RecordFilter(at=1), 1).tolist() == []


@RUN
@given(st.dictionaries(st.integers(1, 9), st.tuples(TIMES, st.one_of(st.none(), st.integers(1, 9))), min_size=1), MAYBE)
def test_the_end_of_a_chain_whatever_circles_it_has(links, at):
    rows = {
        doc: (links.get(doc, (0, None))[0], None, None, 0, [], links.get(doc, (0, None))[1], None, False)
        for doc in range(1, 10)
    }
    held = validity(rows)
    for doc in rows:
        path, here = [doc], doc
        while (following := rows[here][5]) is not None and following not in path:
            if at is not None and rows[following][0] > at:
                break
            path.append(following)
            here = following
        assert held.successor(doc, at) == (path[-1] if len(path) > 1 else None)


def test_the_arrays_and_the_database_hide_the_same():
    """list() asks SQL and search() asks arrays: they must agree on every clock."""
    from dataclasses import replace
    from datetime import timedelta
    from itertools import product

    from mnemic.testing.fakes import MOMENT, add_memory
    from mnemic.text.values import to_micros

    days = [None, *(MOMENT + timedelta(days=n) for n in (1, 3))]
    store = InMemoryStore()
    try:
        store.apply("ana", [
            add_memory(f"{n}", valid_at=since, invalid_at=until, expired_at=expired, created_at=created)
            for n, (since, until, expired, created) in enumerate(product(days, days, days, days[1:]))
        ])  # fmt: skip
        number = store.user("ana")
        found = store.catalog(number, after=-1, event=-1)
        held = Validity().apply(found)
        ids = store.relations.ids(number, held.doc.tolist())
        now = to_micros(MOMENT + timedelta(days=30_000))
        asked = [None, *(to_micros(MOMENT) + day * 86_400_000_000 for day in (0, 1, 2, 3, 4))]
        for at, known_at, expired in product(asked, asked, (False, True)):
            filters = RecordFilter(at=at, known_at=known_at, expired=expired)
            hidden = {ids[doc] for doc in held.hidden(filters, now).tolist()}
            listed = store.list_memories(
                "ana", replace(filters, kinds=("memory",)), order="oldest", limit=None, offset=0
            )
            assert {record.id for record in listed} == set(ids.values()) - hidden, (at, known_at)
    finally:
        store.close()


def test_origins_follow_step_by_step():
    def row(doc, parents):
        return (doc, 1, None, None, 1, json.dumps(parents), None, None, False)

    def delta(event, *rows, touched=()):
        return CatalogDelta(event=event, validity=rows, touched=touched)

    held = Validity().apply(delta(1, row(5, [1, 2]), row(6, []), row(7, [2])))
    before = (held.origins, held.derived, held.pairs.tolist())
    assert held.derived == {1: [5], 2: [5, 7]}
    assert held.pairs.tolist() == [[5, 5, 7], [1, 2, 2]]
    same = held.apply(delta(2, row(5, [1, 2]), touched=[5]))
    assert same.pairs is held.pairs
    later = held.apply(delta(3, row(5, [2, 7]), row(8, [1]), touched=[5, 7]))  # and 7 is gone
    assert later.origins == {5: (2, 7), 8: (1,)}
    assert later.derived == {2: [5], 7: [5], 1: [8]}
    assert sorted(zip(*later.pairs.tolist(), strict=True)) == [(5, 2), (5, 7), (8, 1)]
    assert (held.origins, held.derived, held.pairs.tolist()) == before  # a snapshot is not disturbed
