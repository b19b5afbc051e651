"""What a person wrote stays; what a program printed goes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.text.sentences import without_output

PROSE = [
    "I renamed load to read_all in the parser.",
    "At the office/home we talk about it at 5:30.",
    "We use e.g. PostgreSQL 16, GitHub Actions and Node.js.",
    "Error handling is hard.",
    "- buy milk and/or cream",
    "*sigh* I am tired 😢",
    "Set timeout=30 in config.toml please",
    "My email is ana@example.org, and I am 42.",
    "हम हर सोमवार को मिलते हैं",
    "我们决定使用数据库",
    "5",
    "Milk, eggs, bread and butter.",
    "Ana, Ben and Eva came, Tom did not.",
    "I went home.  Then I slept.",
]
PRINTED = [
    'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in main\n    return for the record\nValueError: no number',
    "TypeError: x is no function\n    at main (/srv/app.js:3:1)",
    "Caused by: java.io.IOException: the line was cut\n\tat com.app.Main.run(Main.java:3)",
    "2026-05-08 09:12:44 ERROR it could not be reached",
    '{"id": 3, "name": "x"}',
    "def run(self):\n    for item in items:\n        print(item)",
    "name,age,city,allergy\nTom Reed,41,Leeds,peanuts",
    'id;comment;rating\n0;"I love it; we bought it in March.";5',
    '0,"I love this sofa, we bought it in March.",5\n1,"It is fine, I suppose.",3',
    "name\tcity\tdiagnosis\nIda Holm\tBergen\tdiabetes",
    "Name      City     Allergy\nTom Reed  Leeds    peanuts\nIda Holm  Bergen   pollen",
    "-rw-r--r-- 1 zoe staff 1244 Nov 5 10:04 report.pdf",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PROSE), min_size=1))
def test_prose_stays_as_it_is(lines):
    text = "\n".join(lines)
    assert without_output(text) == text


@settings(deadline=None)
@given(
    st.sampled_from(PRINTED), st.lists(st.sampled_from(PROSE), max_size=3), st.lists(st.sampled_from(PROSE), max_size=3)
)
def test_what_was_printed_goes_and_only_that(printed, before, after):
    found = without_output("\n".join([*before, printed, *after]))
    assert [line for line in found.splitlines() if line] == [*before, *after]


@settings(deadline=None)
@given(st.text())
def test_each_line_stays_or_is_empty(text):
    lines = text.splitlines()
    assert all(out in ("", line) for out, line in zip(without_output(text).split("\n"), lines, strict=bool(lines)))


@pytest.mark.parametrize(
    "text", ["1" * 50_000 + "x", " " * 50_000 + "x", "a/" * 50_000, "at " + "(" * 50_000, "Error" * 20_000]
)
def test_long_lines(text):
    assert without_output(text) in ("", text)
