"""Of a long text the passage that bears on the question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import Hit, Memory, Message
from mnemic.recall.context.packing import Frame, excerpt, pack, shortened, with_excerpts
from mnemic.text.differences import CUT
from mnemic.text.terms import query_terms

FILLER = "The weather was mild and nothing much happened on that day. "
FACT = "The dashboard answers in 250 milliseconds since the cache was added."


def frame(max_tokens):
    """A prompt of which a token is three characters."""
    return Frame(max_tokens, lambda text: len(text) // 3 + 1, "fence")


def hit(text, id="m1", relevance=0.0):
    return Hit(id=id, kind="message", text=text, score=1.0, relevance=relevance)


def test_the_passage_that_says_most_of_the_query_is_taken():
    text = FILLER * 40 + FACT + " " + FILLER * 40
    found = excerpt(text, {"dashboard": 2.0, "cach": 1.0}, 400)
    assert FACT in found
    assert found.startswith("[...] ")
    assert found.endswith(" [...]")
    assert len(found) <= 400 + len("[...] ") * 2


def test_without_a_word_in_common_it_is_the_beginning():
    found = excerpt(FACT + " " + FILLER * 40, {"orchard": 1.0}, 200)
    assert found.startswith(FACT)
    assert not found.startswith("[...]")


def test_code_is_taken_by_lines():
    code = (
        "\n".join(f"value_{n} = compute({n})" for n in range(300))
        + "\ntimeout = 30  # seconds, for the payment gateway\n"
    )
    assert "timeout = 30" in excerpt(code, {"payment": 1.0, "gateway": 1.0}, 300)


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
    found = excerpt(text, {"a": 1.0, "b": 2.0, "c": 0.5}, most)
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


@given(st.integers(0, 120), st.integers(400, 1_500))
def test_the_passage_nearest_by_meaning_is_shown_without_a_word_in_common(place, most):
    lines = [FILLER] * 120
    lines.insert(place, FACT)
    text = "\n".join(lines)
    assert FACT in excerpt(text, {"orchard": 1.0}, most, FACT)
    assert FACT in excerpt(text, {"orchard": 1.0, "mild": 0.01}, most, FACT)


def test_words_of_the_query_count_more_than_the_passage_nearest_by_meaning():
    text = f"The fruit is picked here. {FILLER * 40}\nThe orchard is behind the mill.{FILLER * 40}"
    assert "behind the mill" in excerpt(text, {"orchard": 1.0, "mill": 1.0}, 200, "The fruit is picked here.")


@given(st.lists(st.integers(0, 60), min_size=2, max_size=4, unique=True), st.integers(1_000, 2_000))
def test_words_of_the_query_far_apart_have_a_passage_each(places, most):
    words = ("tenancy", "notice", "deposit", "cellar")
    lines = [FILLER] * 61
    for place, word in zip(places, words, strict=False):
        lines[place] = f"The {word} is named here."
    found = excerpt("\n".join(lines), dict.fromkeys(query_terms(" ".join(words)), 1.0), most)
    assert all(lines[place] in found for place in places)
    assert len(found) >= min(most - 100, len("\n".join(lines)))


def test_a_rare_word_counts_more_than_one_on_every_line():
    text = "\n".join(f"The dishwasher has a part of number {n}." for n in range(100)) + "\nThe hardness is set here."
    assert "hardness is set" in excerpt(text, {"dishwash": 1.0, "hard": 1.0}, 200)


def answer(facts):
    return " ".join(f"Step {n} of this answer says nothing of it at all." for n in range(facts))


@given(st.integers(10, 60), st.integers(10, 60), st.integers(450, 1_500), st.floats(0, 1), st.floats(0, 1))
def test_room_goes_by_relevance_until_it_is_used_or_all_is_whole(one, two, budget, high, low):
    hits = [hit(answer(one), "a", max(high, low)), hit(answer(two), "b", min(high, low)), hit(FACT, "c", 1.0)]
    cut = with_excerpts(hits, "step", frame(budget))
    packed = pack(cut, frame(budget)).context
    assert len(packed.hits) == 3
    assert cut[2] == hits[2]
    whole = [shown.text == hit.text for shown, hit in zip(cut, hits, strict=True)]
    assert all(whole) or packed.token_count > 0.55 * budget
    assert len(cut[0].text) >= len(cut[1].text) - 100 or whole[0]


def test_the_answer_in_a_pasted_agreement_is_shown_although_other_texts_are_long():
    sections = [FILLER.strip()] * 12
    lease = "\n".join(["TENANCY AGREEMENT", *sections, "Termination. The notice period is four months.", *sections])
    steps = answer(40)
    hits = [hit(lease, "lease", 0.5), hit(steps, "steps", 0.1)]
    cut = with_excerpts(hits, "notice period tenancy agreement", frame(1_000))
    assert cut[0] == hits[0]
    assert len(cut[1].text) < len(steps)
    narrow = with_excerpts(hits, "notice period tenancy agreement", frame(300))[0].text
    assert "four months" in narrow
    assert CUT in narrow


def test_truncated_tells_that_a_text_was_cut(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.add(Message(role="assistant", content=FILLER * 60 + FACT))
        memory.add(Message(role="user", content="The dashboard is blue."))
        cut = memory.get_memory_context("the dashboard", max_tokens=400)
        assert CUT in cut.text
        assert cut.truncated
        assert not cut.left_out
        whole = memory.get_memory_context("the dashboard", max_tokens=4_000)
        assert CUT not in whole.text
        assert not whole.truncated
        assert memory.get_memory_context(max_tokens=400).truncated


@pytest.mark.parametrize("opening", ["Can you translate this letter of my friend?", "My sister writes:"])
def test_an_excerpt_of_another_s_words_begins_with_what_says_so(opening: str) -> None:
    text = f"{opening}\n\n{FILLER * 20}I am allergic to penicillin. {FILLER * 20}"
    long = Hit(id="m", kind="message", role="user", text=text, score=1.0)
    (found,) = shortened([long], "Am I allergic to penicillin?", 400)
    assert found.text.startswith(opening)
    assert "allergic to penicillin" in found.text
    assert len(found.text) <= 400 + len(" [...]") * 2


def test_of_a_script_with_many_tokens_less_is_shown_rather_than_nothing():
    text = "合同编号是七七八。" + "今天天气很好我们去公园散步。" * 100
    with Memory(":memory:", user="ana") as memory:
        memory.add(text, id="long")
        memory.add("我喜欢喝茶。")
        for budget in (200, 500):
            found = memory.get_memory_context("合同编号是多少", max_tokens=budget)
            assert "合同编号是七七八" in found.text
            assert found.token_count <= budget
