"""Titles and excerpts: words of the messages, in any language, and always some."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Message
from mnemic.knowledge.episodes import EXCERPT, SENTENCE, TITLE, describe, frequencies, title

NOW = datetime(2026, 5, 8, tzinfo=UTC)


def excerpt_of(*given):
    return describe(*given)[1]


def talk(*texts, names=("Ana", "Ben")):
    return [
        Message(role=("user", "assistant")[n % 2], name=names[n % 2], content=text, sent_at=NOW)
        for n, text in enumerate(texts)
    ]


def plain(text):
    return " ".join(text.split()).casefold()


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["Hi Ben!", "Hello!", "So, my landlady raised the rent again.", "Oh no."], "My landlady raised the rent again"),
        (["Hola", "Hola Ana", "El martes tengo cita con la dentista en Sevilla."], "El martes tengo cita con la dentista en Sevilla"),
        (["Na?", "Gut!", "Wir suchen eine Wohnung in Leipzig mit Balkon."], "Wir suchen eine Wohnung in Leipzig mit Balkon"),
        (["\u4f60\u597d", "\u4f60\u597d", "\u6211\u5bf9\u82b1\u751f\u8fc7\u654f\u3002"], "\u6211\u5bf9\u82b1\u751f\u8fc7\u654f"),
    ],
)  # fmt: skip
def test_the_clause_that_tells_most_is_the_title(texts, wanted):
    assert title(talk(*texts)) == wanted


def test_what_is_said_everywhere_tells_less():
    messages = talk("I planted tulips behind the shed.", "I painted a sunset over the lake.")
    everywhere = talk(*["I planted tulips behind the shed."] * 30)
    assert title(messages) == "I planted tulips behind the shed"
    assert describe(messages, frequencies([*messages, *everywhere]))[0] == "I painted a sunset over the lake"


def test_the_user_tells_more_than_the_assistant_and_a_statement_more_than_a_question():
    messages = talk("The train leaves Cambridge on Friday.", "The train leaves Oxford on Friday.", names=(None, None))
    assert "Cambridge" in title(messages)
    assert "Cambridge" in title(list(reversed(messages)))
    assert title(talk("Hi.", "Is the train to Cambridge late?", "The train to Cambridge is late.")).endswith("is late")


def test_a_long_clause_is_cut_at_a_word():
    found = title(
        talk("I am trying to understand how the garden committee decides about the watering of everybody's beds")
    )
    assert found == "I am trying to understand how the garden committee decides…"


def test_an_excerpt_is_verbatim_in_the_order_of_time_with_speakers():
    found = excerpt_of(
        talk(
            "Hello! My sister Rosa lives in Porto. How are you?",
            "Fine.",
            "She keeps bees on the roof of the town hall.",
        )
    )
    assert found.split("\n")[0] == "Ana: My sister Rosa lives in Porto."
    assert "Ana: She keeps bees on the roof of the town hall." in found.split("\n")


def test_code_addresses_and_markup_are_left_out():
    messages = talk("I **renamed** `load` to read_all, see https://example.org/x\n```python\nsecret = 1\n```")
    for found in (title(messages), excerpt_of(messages)):
        assert "renamed load to read_all" in found
        assert "secret" not in found
        assert "example" not in found


WORDS = st.text("bridge pond, walk: tulip", min_size=1)
PIECES = st.lists(
    st.one_of(WORDS, WORDS.map("({})".format), WORDS.map("[{}]".format), WORDS.map("[{}](https://example.org/a_(b))".format),
              WORDS.map("(https://example.org/) {}".format), WORDS.map("[image: https://example.org/a.jpg] {}".format)),
    min_size=1,
)  # fmt: skip


@given(PIECES.map(" ".join))
def test_a_title_leaves_no_bracket_open(text):
    found = title(talk(f"We saw {text}"))
    assert found.endswith("…") or all(found.count(a) == found.count(b) for a, b in ("()", "[]"))


def test_the_caption_of_an_image_is_a_sentence_and_its_reference_none():
    messages = talk("This is from the studio\n[image: https://example.org/a.jpg] a receipt, two buckets of paint")
    assert excerpt_of(messages) == "Ana: a receipt, two buckets of paint"


TRACES = [
    'Traceback (most recent call last):\n  File "/srv/ledger/.venv/lib/app.py", line 12, in run\n    return ledger[key]\nKeyError: 7',
    "TypeError: entries is not iterable\n    at Ledger.close (/srv/ledger/close.js:31:7)\n    at node:internal/main:23",
    "java.lang.IllegalStateException: no ledger\n\tat com.ledger.Closing.run(Closing.java:31)\nCaused by: java.io.IOException: lost",
    "2026-05-08 09:12:44,120 ERROR ledger could not reach the database\n2026-05-08 09:12:45,001 INFO ledger stops",
    '{"ledger": {"entries": 31, "closed": false}}',
]
QUESTION = "The ledger cannot be closed since Monday."


@settings(deadline=None)
@given(st.sampled_from(TRACES), st.sampled_from(["\n", "\n\n"]), st.booleans(), st.integers(1, 12))
def test_titles_and_excerpts_are_of_what_a_person_wrote(trace, gap, first, times):
    trace = "\n".join([trace] * times)
    text = f"{trace}{gap}{QUESTION}" if first else f"{QUESTION}{gap}{trace}"
    messages = talk("Hello!", "Hi, how are you?", text, "I see.", "Thanks.", "You are welcome!")
    assert title(messages) == QUESTION.rstrip(".")
    assert excerpt_of(messages).split("\n")[0] == f"Ana: {QUESTION}"
    assert "lib" not in excerpt_of(messages)


@pytest.mark.parametrize(
    "text", ["Thanks.", "Thank you so much!", "ok, great", "Yes, please.", "Hi!", "Perfect, thanks a lot."]
)
def test_small_talk_is_no_title_where_there_is_another(text):
    assert title(talk(text, "", "My landlady raised the rent again.")) == "My landlady raised the rent again"
    assert title(talk("I see Ben.", "", text)) == "I see Ben"
    assert title(talk(text)).casefold() == text.casefold()


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([], ""),
        (talk("5"), "5"),
        (talk("```\nx = 1\n```"), "``` x = 1 ```"),
        (talk("", " "), "Ana, Ben"),
        (talk("you are", names=(None, None)), "You are"),
    ],
)
def test_what_tells_nothing_is_called_something_all_the_same(messages, wanted):
    assert title(messages) == wanted
    assert bool(excerpt_of(messages)) == bool(wanted)


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "word " * 100_000, "," * 50_000, "[" * 50_000, "a, " * 50_000, "\ud800 I left"]
)
def test_long_and_hostile_texts(text):
    assert 0 < len(title(talk(text, "I left Rome."))) <= TITLE
    assert 0 < len(excerpt_of(talk(text, "I left Rome."))) <= EXCERPT + SENTENCE


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="`#*_[]~"), max_size=120), max_size=6))
def test_any_text_gives_some_of_its_own_words(texts):
    messages = talk(*texts)
    found = title(messages)
    assert found == title(messages)
    assert bool(found) == bool(messages)
    assert bool(excerpt_of(messages)) == bool(messages)
    assert len(found) <= TITLE + 1  # a capital may be two letters
    assert len(excerpt_of(messages)) <= EXCERPT + SENTENCE
    said = " ".join(plain(text) for text in texts)
    words = found.rstrip("\u2026").casefold().split()
    assert found == ", ".join(names) if (names := speakers(messages, texts)) else all(word in said for word in words)


def speakers(messages, texts):
    return [] if any(text.split() for text in texts) else list(dict.fromkeys(m.name for m in messages))


OPENINGS = st.sampled_from(
    ("Can you translate this into French", "A patient told me today", "Start a story with", "This one too")
)
QUOTED = st.sampled_from(("{}: {}, and {}.", '{}: "{}, and {}."', "{}: {}. {}.", '{}: "{}. {}."'))


@given(OPENINGS, QUOTED)
def test_a_title_and_an_excerpt_say_whose_words_they_are(opening, form):
    said = form.format(opening, "I am allergic to shellfish", "I live in Portland")
    name, content = describe([Message(role="user", content=said, sent_at=NOW)])
    assert name.casefold().startswith(opening.casefold())
    assert all(line.startswith(f"user: {opening}") for line in content.splitlines())


def test_a_quoted_line_keeps_its_mark_and_is_no_title():
    said = "> I use Arch and I compile my own kernel\n\nhow do people reply to that on the mailing list"
    name, content = describe([Message(role="user", content=said, sent_at=NOW)])
    assert "Arch" not in name
    assert [line for line in content.splitlines() if "Arch" in line] == [
        "user: > I use Arch and I compile my own kernel"
    ]


OUTPUT = {
    "npm ls shows this, ok?": "fieldmap@0.14.0 /home/mara/src/fieldmap\n├── maplibre-gl@5.0.1\n├── react@19.1.0\n└── zustand@5.0.3",
    "got this from npm install": "npm WARN deprecated rimraf@3.0.2: Rimraf versions prior to v4 are no longer supported\nadded 312 packages in 14s",
    "CI says this, any idea?": "Run uv run pytest\n  tests/test_api.py ..F\nE   httpx.ConnectError: All attempts failed\nError: Process completed",
    "commit log, write release notes from it": "3f1c2aa fix legend order\n9b0e7d1 use IndexedDB for tiles\n1c0ffee bump MapLibre to 5.0.1",
    "kotlin build fails": "e: file:///app/src/main/java/Map.kt:17:5 Unresolved reference: TileSource\nBUILD FAILED in 12s",
    "why is the pod restarting": "NAME          READY   STATUS             RESTARTS\ntiles-6f9c7   0/1     CrashLoopBackOff   12",
}  # fmt: skip


@pytest.mark.parametrize("words", OUTPUT)
def test_the_title_is_in_the_words_of_the_person_and_not_of_a_program(words):
    title, excerpt = describe(
        [
            Message(role="user", content=f"{words}\n\n{OUTPUT[words]}"),
            Message(role="assistant", content="Let me look at that."),
        ]
    )
    assert title.rstrip("?.") in words.rstrip("?.")[:1].upper() + words[1:]
    assert not any(line in excerpt for line in OUTPUT[words].splitlines())
