"""The catalog: what is learned step by step is what is read from scratch, and what a loop over the rows would say."""

import itertools
from datetime import timedelta

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.indexes.catalog import LIVE, Columns
from mnemic.indexes.keyword import corpus_of
from mnemic.testing.fakes import MOMENT
from mnemic.text.dates import mentioned_periods
from mnemic.text.values import to_micros
from mnemic.types import MemoryRecord, Message, RecordFilter

RUN = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = st.sampled_from([None, "s1", "s2"])
PROJECTS = st.sampled_from([None, "p1", "p2"])
TEXTS = st.sampled_from(
    [
        "the garden needs water",
        "we met yesterday?",
        "in May 2023",
        "two weeks ago, in June",
        "",
        "猫が好き",
        "hello Ana",
    ]
)
MINUTES = st.integers(-3_000, 3_000)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("message"), TEXTS, NAMES, PROJECTS, MINUTES, st.integers(-11, 13), st.sampled_from([None, "Ana", "BO"])),
        st.tuples(st.just("memory"), TEXTS, NAMES, PROJECTS, MINUTES),
        st.tuples(st.just("archive"), st.integers(0, 50)),
        st.tuples(st.just("restore"), st.integers(0, 50)),
        st.tuples(st.just("revise"), st.integers(0, 50), TEXTS),
    ),
    max_size=14,
)  # fmt: skip


def run(world, operation):
    """Carry out one operation on a followed store."""
    kind, *rest = operation
    if kind == "message":
        text, session, project, minute, offset, name = rest
        world.apply(
            world.message(
                f"{text} {world.made}", session=session, project=project, minute=minute, offset=offset, name=name
            )
        )
    elif kind == "memory":
        text, session, project, minute = rest
        world.apply(world.memory(f"{text} {world.made}", session=session, project=project, minute=minute))
    else:
        ids = world.ids(world.catalog.snapshot())
        id_ = ids[rest[0] % len(ids)]
        if kind == "revise":
            if id_.startswith("r") and world.store.get(world.name, id_).status != "archived":
                world.revise(id_, f"{rest[1]} again {world.made}")
        else:
            getattr(world, kind)(id_)


def readable(columns):
    """The columns with names in the place of codes, which are numbered by first sight."""
    found = {}
    for name in (
        "doc",
        "kind",
        "status",
        "time",
        "length",
        "salience",
        "boost",
        "last_use",
        "traits",
        "day",
        "previous",
        "following",
    ):
        found[name] = getattr(columns, name).tolist()
    for name in ("session", "project", "label", "speaker"):
        names = {0: None} | {code: value for value, code in getattr(columns.names, name).items()}
        found[name] = [names[int(code)] for code in getattr(columns, name)]
    found["group"] = [
        columns.group.tolist().index(code) if code else None for code in columns.group.tolist()
    ]  # by its first row
    found["periods"] = [tuple(columns.periods_of(int(doc))) for doc in columns.doc]
    return found


def expected_chain(world, columns):
    """Previous and following turn of every row, by sorting the live messages of each conversation."""
    stored = [world.store.fetch(world.user, [int(doc)])[int(doc)] for doc in columns.doc]
    turns = [row for row, s in enumerate(stored) if s.kind == "message" and s.status != "archived"]
    turns.sort(
        key=lambda row: (stored[row].project or "", stored[row].value.session or "", stored[row].value.sent_at, row)
    )
    previous, following = [-1] * len(stored), [-1] * len(stored)
    for here, there in itertools.pairwise(turns):
        if (stored[here].project, stored[here].value.session) == (stored[there].project, stored[there].value.session):
            following[here], previous[there] = there, here
    return previous, following


@RUN
@given(operations=OPERATIONS)
def test_step_by_step_is_from_scratch(followed, operations):
    world = followed()
    world.follow()
    for operation in operations:
        run(world, operation)
        columns = world.follow()
    columns = world.follow()
    learned, chain = readable(columns), expected_chain(world, columns)
    assert (learned["previous"], learned["following"]) == chain
    for row, (doc, stored) in enumerate(sorted(world.store.fetch(world.user, columns.doc.tolist()).items())):
        value = stored.value
        said = value.sent_at if isinstance(value, Message) else value.created_at
        moment = said if isinstance(value, Message) else value.valid_at or said
        assert int(columns.doc[row]) == doc
        assert learned["time"][row] == to_micros(said)
        assert learned["day"][row] == moment.toordinal()
        assert learned["periods"][row] == tuple(mentioned_periods(value.content, moment.toordinal()))
    matrix = world.vectors.matrix().copy()
    world.restart()
    assert readable(world.follow()) == learned
    np.testing.assert_array_equal(world.vectors.matrix(), matrix)


@RUN
@given(operations=OPERATIONS, later=OPERATIONS)
def test_a_snapshot_is_not_disturbed(followed, operations, later):
    world = followed()
    world.follow()
    for operation in operations:
        run(world, operation)
        world.follow()
    columns, lent = world.follow(), world.vectors.rows()
    matrix = lent.matrix
    names = ("doc", "kind", "status", "group", "session", "project", "time", "label", "speaker", "length", "salience",
             "boost", "last_use",
             "traits", "day", "previous")  # fmt: skip
    before = {name: getattr(columns, name).copy() for name in names}
    following, vectors = columns.following.copy(), matrix.copy()
    for operation in later:
        run(world, operation)
        world.follow()
    for name in names:
        np.testing.assert_array_equal(getattr(columns, name), before[name], err_msg=name)
    np.testing.assert_array_equal(matrix, vectors)
    # A last turn may come to point past the snapshot, which reads as "none".
    np.testing.assert_array_equal(columns.padded("following")[:-1], following)


FILTERS = st.builds(
    RecordFilter,
    kinds=st.sampled_from([("message",), ("memory",), ("message", "memory"), ()]),
    reach=st.sampled_from(["session", "project", "project+global", "user"]),
    project=st.sampled_from([None, "p1", "nowhere"]),
    session=st.sampled_from([None, "s1", "nowhere"]),
    in_session=st.sampled_from([None, None, "s2", "nowhere"]),
    types=st.sampled_from([None, None, ("semantic",), ("episodic", "semantic"), ("emotional",), ()]),
    status=st.sampled_from([None, None, ("archived",), ("short_term", "archived"), ("long_term",)]),
    role=st.sampled_from([None, None, "user", "tool"]),
    since=st.sampled_from([None, None, to_micros(MOMENT), to_micros(MOMENT - timedelta(days=800))]),
    until=st.sampled_from([None, None, to_micros(MOMENT), to_micros(MOMENT - timedelta(days=666))]),
)


def allowed(stored, filters):
    """``RecordFilter.mask`` said as a sentence about one record."""
    value: Message | MemoryRecord = stored.value
    is_message = stored.kind == "message"
    moment = to_micros(value.sent_at if is_message else value.created_at)
    in_reach = {
        "session": value.session == filters.session
        and (filters.project is None or stored.project in (None, filters.project)),
        "project": stored.project == filters.project,
        "project+global": filters.project is None or stored.project in (None, filters.project),
        "user": True,
    }[filters.reach]
    if filters.reach != "session":
        in_reach = in_reach and (is_message or value.session in (None, filters.session))
    return (
        in_reach
        and stored.kind in filters.kinds
        and stored.status in (filters.status or LIVE)
        and filters.in_session in (None, value.session)
        and (filters.role is None or (is_message and value.role == filters.role))
        and (filters.types is None or (not is_message and value.type in filters.types))
        and (filters.since is None or moment >= filters.since)
        and (filters.until is None or moment < filters.until)
    )


@RUN
@given(operations=OPERATIONS, several=st.lists(FILTERS, min_size=1, max_size=6))
def test_masks_are_what_a_loop_would_say(followed, operations, several):
    world = followed()
    world.follow()
    for operation in operations:
        run(world, operation)
        world.follow()
    columns = world.follow()
    stored = world.store.fetch(world.user, columns.doc.tolist())
    for filters in several:
        mask = columns.mask(filters)
        assert mask.tolist() == [allowed(stored[int(doc)], filters) for doc in columns.doc]
        corpus = corpus_of(columns, filters.kinds)
        assert corpus.rows.tolist() == [
            stored[int(doc)].status != "archived" and (stored[int(doc)].kind in filters.kinds) for doc in columns.doc
        ]


def test_many_at_once_are_chained_as_one_by_one(followed):
    """More than 64 rows take another path."""
    one, other = followed(), followed()
    lines = [("s1", "s2")[n % 2] for n in range(150)]
    minutes = np.random.default_rng(3).permutation(150).tolist()
    for world in (one, other):
        changes = [
            world.message(f"line {n}", session=s, minute=m) for n, (s, m) in enumerate(zip(lines, minutes, strict=True))
        ]
        if world is one:
            world.apply(*changes)
        else:
            for change in changes:
                world.apply(change)
                world.follow()
    assert readable(one.follow()) == readable(other.follow())
    columns = one.follow()
    previous, following = expected_chain(one, columns)
    assert columns.previous.tolist() == previous
    assert columns.following.tolist() == following


def test_rows_of_docs(followed):
    world = followed()
    world.apply(*[world.message(f"line {n}") for n in range(5)])
    columns = world.follow()
    docs = columns.doc.tolist()
    assert columns.rows_of(docs).tolist() == list(range(6))
    assert columns.rows_of([docs[2], 999, -1, docs[4]]).tolist() == [2, 4]
    assert columns.rows_of([]).tolist() == []


def test_erased_records_keep_an_empty_row(followed):
    from mnemic.types import CatalogDelta

    world = followed()
    world.apply(*[world.message(f"line {n}", session="s") for n in range(3)])
    columns = world.follow()
    gone = int(columns.doc[2])
    world.catalog.apply(CatalogDelta(event=99, touched=[gone]))
    after = world.catalog.snapshot()
    assert after.status.tolist() == [0, 0, 3, 0]
    assert after.following.tolist() == [-1, 3, -1, -1]
    assert columns.status.tolist() == [0, 0, 0, 0]
    assert world.catalog.event == 99


def test_a_turn_that_is_linked_while_a_column_is_read_is_left_out():
    class Linked(np.ndarray):
        """A column of the catalog into which another thread writes once it was compared."""

        def __lt__(self, other):
            compared = super().__lt__(other)
            following[0] = 2
            return compared

    class Snapshot:
        def __len__(self):
            return 2

    following = np.full(2, -1, np.int32).view(Linked)
    snapshot = Snapshot()
    snapshot.following = following
    assert Columns._padded(snapshot, "following").max() < len(snapshot)
