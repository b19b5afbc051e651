"""Texts that cost more than their length."""

import subprocess
import sys
from datetime import date

import pytest

import mnemic.text.differences as statements
from mnemic import Memory
from mnemic.recall import results
from mnemic.text.dates import mentioned_periods
from mnemic.text.english import traits
from mnemic.text.terms import MAX_TERM, index_terms, query_terms

TEXTS = {
    "open brackets": "'[' * {n}",
    "closed brackets": "'[' * {n} + ']'",
    "pairs of brackets": "'[]' * {n}",
    "spaces": "'x' + ' ' * {n} + 'x'",
    "spaces in a tag": "'<' + ' ' * {n} + 'x'",
    "tags": "'< ' * {n} + '</ ' * {n}",
    "digits": "'1' * {n}",
    "digits with points": "'1.' * {n}",
    "apostrophes": '"a\'" * {n}',
    "marks": "'a' + chr(0x301) * {n}",
    "dates": "'in may ' * {n}",
}
ANALYSED = """
from mnemic.recall.context.packing import Frame, pack
from mnemic.text import dates, english, terms, tokens
from mnemic.types import Hit
def work(text):
    english.traits(text), english.expected_traits(text), dates.mentioned_periods(text, 738_000), dates.named_periods(text, 738_000, [2024])
    terms.analyse(text), terms.query_terms(text), tokens.approximate_tokens(text)
    pack([Hit(id="1", kind="message", text=text, score=1.0)], Frame(9_000_000, len, "a1b2c3d4"))
"""


SHARE, PATIENCE = 8, 3
"""A text of an eighth of the length is worked on first. Linear work takes eight times as long on the whole, quadratic work 64
times: the timer stops at three times the linear share, and takes half a second of a processor as noise."""
TIMED = """
import signal
from time import process_time
def timed(short, long):
    start = process_time()
    work(short)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.5 + {patience} * (process_time() - start))
    work(long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
work("warm")
"""


def run(work, texts, size):
    """Do work with texts in a process that a timer ends; the last name it prints is that of a text that takes too long."""
    script = work + TIMED.format(patience=PATIENCE * SHARE)
    for name, text in texts.items():
        script += f"print({name!r}, flush=True)\ntimed({text.format(n=size // SHARE)}, {text.format(n=size)})\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines() == [*texts]


def test_hostile_texts_are_analysed_in_linear_time():
    run(ANALYSED, TEXTS, 75_000)


SAID = TEXTS | {
    "one word": "'x' * {n}",
    "hyphens": "'Porto-' * {n}",
    "a word and another": "'I ' * {n}",
    "possessives": '"Ana\'s " * {n}',
    "quotes": "'\"' * {n}",
    "links": "'http://a ' * {n}",
    "a long link": "'http://' + 'a/' * {n}",
    "dots": "'.' * {n}",
    "initials": "'A.B.' * {n}",
    "commas": "'1,' * {n}",
    "colons": "'a:' * {n}",
    "lines": "'\\n' * {n} + '.'",
    "rules": "'Always for the in ' * ({n} // 2)",
    "it is": "'the is a for ' * ({n} // 2)",
    "times": "'12:' * {n}",
    "dashes": "'-' * {n}",
}
PROCESSED = """
from mnemic import Memory
def work(text):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add("I live in Lisbon. " + text)
        report = memory.process()
        assert (report.episodes, report.waiting) == (1, 0)
        memory.get_memory_context("Lisbon", max_tokens=200)
"""


@pytest.mark.parametrize("part", range(2))
def test_hostile_texts_are_processed_in_linear_time(part):
    run(PROCESSED, dict([*SAID.items()][part::2]), 75_000)


WRITTEN = {
    "tabs": "'x' + chr(9) * {n} + 'x'",
    "base64": "'QUJD' * ({n} // 4)",
    "capitals": "'Ab ' * {n}",
    "padded rows": "('a' + ' ' * 800) * ({n} // 800)",
    "commas and spaces": "', ' * {n}",
    "conjunctions": "' and I' * {n}",
    "sentences": "'Ben is 7. ' * {n}",
}
CORRECTED = """
from mnemic import Memory
from mnemic.text import differences
def work(text):
    said, right = "I live in Graz. " + text, "I live in Linz."
    differences.agrees(said, right, "where I live"), differences.has_other_value(said, right), differences.kinds(said)
    differences.has_exchanged(said, right), differences.differs(said, right), differences.says_something(said)
    differences.without_sentences(said, [right, "I live in Graz."])
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(said)
        memory.correct("where I live", right, dry_run=True)
        memory.correct("where I live", right)
        memory.search("Graz")
"""


@pytest.mark.parametrize(("size", "least", "most"), [(20_000, 0, 2), (1_500, 3, 99)])
def test_hostile_texts_are_corrected_in_linear_time(size, least, most):
    lengths = {name: len(eval(text.format(n=1_000))) // 1_000 for name, text in WRITTEN.items()}
    run(CORRECTED, {name: text for name, text in WRITTEN.items() if least <= lengths[name] <= most}, size)


@pytest.mark.parametrize("size", [3, 20_000, 200_000])
def test_brackets_at_the_end_mean_what_they_meant(size):
    assert traits("where is it? " + "[" * size) == traits("where is it? (")
    assert traits("where is it? [" + "a " * size + "]") == traits("where is it?")
    assert traits("[" * size + "]") == 0


def test_mentioned_periods_are_few_and_distinct():
    said = date(2024, 5, 8).toordinal()
    assert len(mentioned_periods("in may " * 20_000, said)) == 1
    days = " ".join(
        f"{day} {month} {year}," for year in (2022, 2023) for month in ("june", "july") for day in range(1, 29)
    )
    periods = mentioned_periods(days, said)
    assert len(periods) == len(set(periods)) == 20
    assert mentioned_periods("yesterday, yesterday, in may and in may", said) == mentioned_periods(
        "yesterday, in may", said
    )


def test_dated_searches_of_a_text_full_of_dates(memory):
    memory.add("in may " * 20_000, id="flood")
    memory.add("we met in may", id="plain")
    assert {hit.id for hit in memory.search("in may 2024")} == {"flood", "plain"}


@pytest.mark.parametrize("number", ["7" * 40_000, "1" * 40_000 + ".5", "1," * 20_000 + "1", "12:" * 15_000 + "30"])
def test_a_very_long_number_is_found_by_its_words(either, number):
    either.add("nothing of that kind", id="other")
    either.search("nothing")
    either.add(number, id="number")
    first = either.search(number)[0]
    assert first.id == "number"
    assert first.scores["bm25"] > 0
    assert max(map(len, index_terms(number))) <= MAX_TERM
    assert query_terms(number) == index_terms(number)


@pytest.mark.parametrize("ends", [("", ""), ("", "x"), ("the code is swordfish", "my aunt keeps bees")])
def test_two_long_messages_are_not_compared_word_by_word(memory, monkeypatch, ends):
    compared = []

    def counted(first, second):
        compared.append((first, second))

    monkeypatch.setattr(results, "restates", counted)
    for n, end in enumerate(ends):
        memory.add("word " * 6_000 + end, id=f"m{n}")
    assert {hit.id for hit in memory.search("word")} == {"m0", "m1"}
    assert compared == []


def test_long_statements_are_aligned_only_while_that_is_cheap(monkeypatch):
    aligned = []

    class Counted(statements.SequenceMatcher):
        def __init__(self, junk, first, second, **options):
            aligned.append(max(len(first), len(second)))
            super().__init__(junk, first, second, **options)

    monkeypatch.setattr(statements, "SequenceMatcher", Counted)
    for count in (200, 1_000, 4_000):
        text = "garden " * count
        assert statements.differs(text, text) is None
        assert (statements.differs(text, text + "tree") is not None) == (count > 300)
    assert aligned == [201]


def test_a_hostile_text_is_stored_found_and_shown():
    with Memory(":memory:", embedder="hashing") as memory:
        memory.add("[" * 20_000 + " garden", id="brackets")
        memory.add("<" + " " * 20_000 + "garden", id="tag")
        assert {hit.id for hit in memory.search("garden")} == {"brackets", "tag"}
        assert memory.get_memory_context("garden", max_tokens=500).token_count <= 500
