"""Searching files for what was erased: many texts at once find what each alone would."""

import random

from hypothesis import given
from hypothesis import strategies as st

from mnemic.stores.sqlite.erasure import FEW, KEY, found_in

BYTES = st.sampled_from(b"\0\0\0\0 ab01")


@given(
    text=st.lists(BYTES, max_size=300).map(bytes),
    needles=st.lists(st.lists(BYTES, min_size=KEY, max_size=20).map(bytes), max_size=2 * FEW),
    places=st.lists(st.tuples(st.integers(0, 300), st.integers(KEY, 30)), max_size=2 * FEW),
    piece=st.integers(1, 100),
)
def test_every_needle_is_found_where_it_is(text, needles, places, piece):
    needles = [*needles, *(text[at : at + size] for at, size in places)]
    parts = [text[at : at + piece] for at in range(0, len(text), piece)]
    wanted = {needle for needle in needles if len(needle) >= KEY and needle in text}
    assert found_in(parts, needles) == (wanted, len(text))


def test_many_needles_in_many_parts():
    draw = random.Random(7)
    text = draw.randbytes(200_000) + bytes(200_000)
    there = [text[at : at + 48] for at in range(100, 200_000, 1_500)]
    sparse = [bytes(20) + bytes([n + 1]) + bytes(20) for n in range(100)]  # of mostly zeros, as vectors of hashes are
    parts = [text[at : at + 4_096] for at in range(0, len(text), 4_096)]
    assert found_in(parts, [*there, *sparse]) == ({*there}, len(text))
    numbered = [b"message-%08d" % n for n in range(1_000)]  # most begin alike
    assert found_in([b"of message-00000007 and message-00000990"], numbered)[0] == {numbered[7], numbered[990]}
    text += sparse[7] + sparse[70]
    assert found_in([text], [*there, *sparse])[0] == {*there, sparse[7], sparse[70]}
