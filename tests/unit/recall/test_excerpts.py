"""Of a long text the passage that bears on the question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic import Hit, Memory, Message
from mnemic.recall.context import Frame, pack, passage, with_excerpts

FILLER = "The weather was mild and nothing much happened on that day. "
FACT = "The dashboard answers in 250 milliseconds since the cache was added."


def frame(max_tokens):
    """A prompt of which a token is three characters."""
    return Frame(max_tokens, lambda text: len(text) // 3 + 1, "fence")


def hit(text, id="m1"):
    return Hit(id=id, kind="message", text=text, score=1.0)


def test_the_passage_that_says_most_of_the_query_is_taken():
    text = FILLER * 40 + FACT + " " + FILLER * 40
    found = passage(text, {"dashboard": 2.0, "cach": 1.0}, 400)
    assert FACT in found
    assert found.startswith("[...] ")
    assert found.endswith(" [...]")
    assert len(found) <= 400 + len("[...] ") * 2


def test_without_a_word_in_common_it_is_the_beginning():
    found = passage(FACT + " " + FILLER * 40, {"orchard": 1.0}, 200)
    assert found.startswith(FACT)
    assert not found.startswith("[...]")


def test_code_is_taken_by_lines():
    code = (
        "\n".join(f"value_{n} = compute({n})" for n in range(300))
        + "\ntimeout = 30  # seconds, for the payment gateway\n"
    )
    assert "timeout = 30" in passage(code, {"payment": 1.0, "gateway": 1.0}, 300)


def test_what_fits_whole_stays_whole():
    hits = [hit(FILLER * 50), hit(FACT, "m2")]
    assert with_excerpts(hits, "dashboard", frame(10_000)) == hits
    (long, short) = with_excerpts(hits, "dashboard", frame(200))
    assert len(long.text) < len(hits[0].text)
    assert short == hits[1]


@given(st.integers(20, 120), st.integers(300, 3_000))
def test_no_budget_loses_the_answer_in_a_log(lines, budget):
    log = "\n".join(
        f"02:{n % 60:02d}:{n * 7 % 60:02d}.004Z db{n % 5} {n * 7919 % 991} ms id={n * 104729:x}" for n in range(lines)
    )
    hits = [hit(f"{log}\n{FACT}"), hit("Our billing contact is Marc.", "m2")]
    packed = pack(with_excerpts(hits, "dashboard", frame(budget)), frame(budget))
    assert FACT in packed.context.text


@given(st.text(max_size=3_000), st.integers(1, 500))
def test_any_text_is_cut_to_what_was_asked_for(text, most):
    found = passage(text, {"a": 1.0}, most)
    assert len(found.removeprefix("[...] ").removesuffix(" [...]")) <= most


def test_a_context_quotes_the_fact_in_a_long_answer_and_gives_back_whole_hits(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        answer = FILLER * 60 + FACT + " " + FILLER * 60
        memory.add([Message(role="assistant", content=answer, id="long")])
        memory.add(Message(role="user", content=f"Tell me about day {n}. " + FILLER * 5) for n in range(30))
        found = memory.get_memory_context("the dashboard cache", max_tokens=600)
        assert FACT in found.text
        assert FILLER * 20 not in found.text
        assert next(hit for hit in found.hits if hit.id == "long").text == answer


def test_what_is_slightly_too_long_stays_whole():
    slightly, long = hit(FILLER * 8, "a"), hit(FILLER * 20, "b")
    whole, cut = with_excerpts([slightly, long], "dashboard", frame(300))
    assert whole == slightly
    assert len(cut.text) < len(long.text)
