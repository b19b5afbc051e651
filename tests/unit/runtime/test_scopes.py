"""Scopes: names are taken as they are, or refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.errors import InvalidInput
from mnemic.validation import scope

NAME = st.text(min_size=1, max_size=40)  # no lone surrogates


@settings(max_examples=100, deadline=None)
@given(NAME, st.one_of(st.none(), NAME), st.one_of(st.none(), NAME))
def test_names_are_never_altered(user, project, session):
    made = scope(user, project, session)
    assert (made.user, made.project, made.session) == (user, project, session)


@pytest.mark.parametrize("bad", ["", "x" * 1_001, "\ud800", 7, b"ana", ["ana"]])
def test_unusable_names(bad):
    for names in ((bad,), ("ana", bad), ("ana", None, bad)):
        with pytest.raises(InvalidInput):
            scope(*names)


def test_names_that_look_alike_are_different_people():
    names = [
        "ana",
        "Ana",
        "ana ",
        "an\u00e1",
        "ana\u0301",
        "ana\x00",
        "ana\n",
        "%",
        "_",
        "a%",
        "' OR '1'='1",
        "default",
    ]
    with Memory(":memory:", embedder="hashing") as memory:
        for name in names:
            memory.scoped(user=name).add(f"the secret of {name!r}", id="m")
        for name in names:
            mine = memory.scoped(user=name)
            assert [m.content for m in mine.messages()] == [f"the secret of {name!r}"]
            assert [hit.text for hit in mine.search("secret", k=50)] == [f"the secret of {name!r}"]
