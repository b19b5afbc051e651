"""Statements that differ in number, date, name, polarity or value are never taken for the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.text.differences import (
    CUT,
    agrees,
    differs,
    has_exchanged,
    lists_differ,
    of_the_speaker,
    restates,
    says,
    says_something,
    values,
    without_sentences,
)
from mnemic.text.sentences import code_lines
from mnemic.text.sentences import sentences as sentences_of

DIFFERENT = [
    ("My father is alive", "My father is no longer alive", "polarity"),
    ("I smoke", "I don't smoke any longer", "polarity"),
    ("Lint before test", "Test before lint", "role"),
    ("They lent us a car", "We lent them a car", "role"),
    ("The meeting is at 9:30", "The meeting is at 10:30", "number"),
    ("She has two cats", "She has three cats", "number"),
    ("The rent is 1,200 euros", "The rent is 1,250 euros", "number"),
    ("The budget is 12 million", "The budget is 12 thousand", "number"),
    ("She has twelve cats", "She has 11 cats", "number"),
    ("Wake me at 3 am", "Wake me at 3pm", "number"),
    ("We met on 3 Dec", "We met on 3 November", "date"),
    ("He flies on Monday", "He flies on Tuesday", "date"),
    ("We met in May", "We met in June", "date"),
    ("He started last year", "He started this year", "date"),
    ("Ana lives with Bo", "Ana lives with Cem", "name"),
    ("I moved to Lisbon", "I moved to Porto", "name"),
    ("She works at NASA", "She works at ESA", "name"),
    ("He likes olives", "He does not like olives", "polarity"),
    ("He can swim", "He can't swim", "polarity"),
    ("She smokes", "She stopped smoking", "polarity"),
    ("Drinks tea with milk", "Drinks tea without milk", "polarity"),
    ("Her favourite colour is purple", "Her favourite colour is cyan", "value"),
    ("The service uses tabs for indentation", "The service uses spaces for indentation", "value"),
    ("The door is open", "The door is closed", "value"),
    ("Leo beat Sam", "Sam beat Leo", "role"),
    ("I owe Rob 20 euros", "Rob owes me 20 euros", "role"),
    ("Pedro is my boss", "I'm Pedro's boss", "role"),
    ("I bought a house in Napier", "I sold a house in Napier", "value"),
    ("Ana's brother married Eva", "Eva's brother married Ana", "role"),
    ("My mum looks after my son", "My son looks after my mum", "role"),
    ("I lent the drill to my neighbour", "My neighbour lent me the drill", "role"),
    ("I prefer tea to coffee", "I prefer coffee to tea", "role"),
    ("Tim appreciates John's help", "John's help matters and Tim appreciates it", "role"),
    ("My brother works at Shell", "My brother-in-law works at Shell", "role"),
    ("My friend lives in Rome", "I live in Rome", "role"),
    ("My sister lives in Porto", "My brother lives in Porto", "role"),
    ("I work at Shell", "I used to work at Shell", "polarity"),
    ("The flat above mine is empty", "The flat below mine is empty", "value"),
    (
        "Ana goes to work every day by the old blue city bicycle",
        "Ana goes to work every day by the crowded early commuter train",
        "value",
    ),
    (
        "The garden shed at the summer house holds rusty steel ladders",
        "The garden shed at the summer house holds folding wooden deck chairs",
        "value",
    ),
]
SAME = [
    ("She has two cats", "She's got 2 cats"),
    ("I start work at nine", "I start work at 9"),
    ("We met on 3 Nov", "We met on November 3rd"),
    ("Wake me at 3 pm", "Wake me at 3pm"),
    ("Before lunch I walk", "I walk before lunch"),
    ("I moved to Lisbon.", "I moved to Lisbon"),
    ("Prefers morning meetings", "prefers  morning meetings!"),
    ("She really loves her garden in Porto", "She loves her garden in Porto"),
    ("The cat is called Miso", "The cat is called Miso, the cat"),
    ("He doesn't eat meat", "He does not eat meat"),
    ("Ana and Ben moved to Oslo", "Ben and Ana moved to Oslo"),
    ("My dentist is Dr. Costa", "Dr. Costa is my dentist"),
    ("I speak Polish and German", "The languages I speak are German and Polish"),
    ("I live in Ghent", "Ghent is where I live"),
    ("I work at Anthropic", "I'm employed at Anthropic"),
    ("Prefers dark mode", "Likes dark mode"),
    ("My dog is called Rex", "My dog is named Rex"),
    ("I go swimming on Wednesdays", "Every Wednesday I swim"),
    ("The office closes at 6", "At 6 the office closes"),
    ("The old bicycle stands in the cellar", "The old bicycle she bought from her brother stands in the cellar"),
]


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        *DIFFERENT,
        ("The red bike is mine", "The blue bike is mine", "value"),
        ("I have a black cat", "I have a white cat", "value"),
        ("I take sugar in my coffee", "I take milk in my coffee", "value"),
        ("The walls are cyan", "The walls are purple", "value"),
        ("Frontend developers use tabs", "Backend developers use tabs", "value"),
        ("Enable the cache", "Disable the cache", "value"),
        ("We fly from Rome", "We fly to Rome", "value"),
        ("Ana is allergic to peanuts.", "Ana's son is allergic to peanuts.", "role"),
        ("Joel teaches his daughter physics.", "Joel's daughter teaches him physics.", "role"),
        ("The fair costs at least 14,000 euros.", "The fair costs at most 14,000 euros.", "value"),
        ("Only Lena can deploy the site.", "Lena can deploy the site.", "value"),
        ("Tom plans to move to Oslo in May.", "Tom moved to Oslo in May.", "value"),
        ("The printer was on the first floor.", "The printer is on the first floor.", "value"),
        ("I'm allergic to penicillin.", "I'm allergic to penicillin and latex.", "value"),
        ("My team is Ana, Ben and Cleo.", "My team is Ana and Ben.", "name"),
        ("My notice period is three months.", "My notice period is one month.", "number"),
    ],
)
def test_another_value_differs(first, second, what):
    assert differs(first, second) == differs(second, first) == what


@pytest.mark.parametrize(("first", "second", "what"), DIFFERENT)
def test_different(first, second, what):
    assert differs(first, second) == differs(second, first) == what


@pytest.mark.parametrize(("first", "second"), SAME)
def test_restated(first, second):
    assert differs(first, second) is None
    assert differs(second, first) is None


words = st.lists(
    st.sampled_from("the cat sat on a red mat near old house and slept well while rain fell outside".split()),
    min_size=3,
    max_size=9,
)
sentences = words.map(" ".join)


@given(sentences)
def test_a_statement_does_not_differ_from_itself(text):
    assert differs(text, text) is None
    assert differs(text, f"  {text.upper().lower()}.") is None


@given(sentences, sentences)
@settings(max_examples=300)
def test_the_answer_has_no_direction(first, second):
    assert differs(first, second) == differs(second, first)


@given(sentences, st.integers(0, 999), st.integers(0, 999))
def test_another_number_always_differs(text, one, other):
    assert (differs(f"{text} {one}", f"{text} {other}") is None) == (one == other)


@given(sentences, st.sampled_from(["Ana", "Bo", "Lisbon", "Porto"]), st.sampled_from(["Ana", "Bo", "Lisbon", "Porto"]))
def test_another_name_always_differs(text, one, other):
    assert (differs(f"{text} {one}", f"{text} {other}") is None) == (one == other)


@given(sentences)
def test_a_negation_always_differs(text):
    assert differs(f"he did eat when {text}", f"he did not eat when {text}") == "polarity"


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_has_an_answer(first, second):
    assert differs(first, second) == differs(second, first)


PIECES = (
    "I like tea. ", "- item\n", "> quoted, and longer than a line that wraps, so that it might go on in the next one\n",
    "1. one\n", "```\ncode\n```\n", "Dr. Who is here. ", "\u732b\u3067\u3059\u3002", "ok\u2028yes ", "x" * 70 + "\n", "\t", "* [x] done\n",
)  # fmt: skip


def test_a_sentence_that_looks_like_an_item_of_a_list_when_it_stands_alone_is_left_out_as_well():
    assert without_sentences("I like green tea. 1. one", ["1. one"]) == f"I like green tea. {CUT}"


@pytest.mark.parametrize(
    "text", ["Hi!", "Thanks a lot!", "Ok, cool. Bye!", "\U0001f44d", "1.", f"{CUT} Yes. {CUT}", ""]
)
def test_small_talk_says_nothing(text):
    assert not says_something(text)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=8).map("".join), st.data())
def test_a_sentence_is_left_out_of_its_text_and_the_rest_stays(text, data):
    found = sentences_of(text)
    assert without_sentences(text, []) == text
    gone = data.draw(st.sampled_from(found)) if found else ""
    left = without_sentences(text, [gone])
    same = [gone, *sentences_of(gone)]

    def stay(parts):
        return [part for part in parts if not any(restates(part, one) for one in same)]

    rest = [part for sentence in stay(found) for part in stay(code_lines(sentence) or [sentence])]
    if left:
        assert all("".join(sentence.split()) in "".join(left.split()) for sentence in rest)
    else:
        assert not any(map(says_something, rest))
    assert not gone or CUT in left or not left


@given(st.lists(sentences.map("Cats know {}".format), min_size=1, max_size=5), st.data())
def test_a_text_says_its_sentences_and_nothing_beyond_their_words(said, data):
    text = "! ".join(said) + "!"
    taken = data.draw(st.lists(st.sampled_from(said), min_size=1))
    assert says(text, "! ".join(taken))
    beyond = ["! ".join((*taken, "it smells")), f"{taken[0]} again", f"{taken[0]} 7", f"{taken[0]} in Porto"]
    assert not any(says(text, statement) for statement in beyond)


@pytest.mark.parametrize(
    ("text", "statement", "said"),
    [
        ("I bought a red bike in Porto. It cost 300 euros.", "Bought a red bike in Porto", True),
        ("Done, I called them.", "The parcel waits, pickup code QX-4471.", False),
        ("I never said I like it.", "I like it.", False),
        ("Ana calls Bo.", "Bo calls Ana.", False),
        ("", "Done.", False),
        ("Done!", "!!!", False),
    ],
)
def test_what_a_text_says(text, statement, said):
    assert says(text, statement) is said


@pytest.mark.parametrize(
    ("text", "statement", "matter", "expected"),
    [
        ("Globex switched to Premium.", "Globex uses Premium.", "Globex's plan", True),
        ("My dose was raised from 50 to 100 mg.", "The user takes 100 mg of sertraline.", "my dose", True),
        ("Ben got promoted, he is now a manager at Acme.", "Ben is a manager at Acme.", "Ben's job", True),
        ("Ben, who likes tea, is a developer at Acme these days.", "Ben is a manager at Acme.", "Ben's job", False),
        ("The timeout is now 30 minutes, not 30 seconds.", "The timeout is 30 minutes.", "the timeout", True),
        ("The timeout is 30 seconds.", "The timeout is 30 minutes.", "the timeout", False),
        ("Invoice 99123 is unpaid, but 99124 is paid.", "Invoice 99123 is paid.", "invoice 99123", False),
        ("I moved to York.", "I live in York.", "I live in York, not in Leeds", True),
    ],
)
def test_a_text_agrees_unless_another_word_stands_for_one_of_the_statement(text, statement, matter, expected):
    assert agrees(text, statement, matter) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Globex pays by card.", "Globex pays by invoice now.", True),
        ("Globex pays in euros.", "Globex pays by invoice.", False),
        ("Globex is on the Basic plan.", "Initech is on the Basic plan.", False),
        ("My sister lives in Oslo.", "My brother lives in Oslo.", False),
        ("Rita is a teacher.", "Rita is vegan.", False),
        ("Rita is vegan.", "Rita is vegan.", False),
    ],
)
def test_what_is_exchanged_is_one_value_of_one_subject(first, second, expected):
    assert has_exchanged(first, second) is has_exchanged(second, first) is expected


def test_the_digits_of_a_name_are_no_number():
    assert "1" not in values("Our SLA for P1 tickets is 2 hours.")
    assert "100" in values("My dose is 100mg.")


@pytest.mark.parametrize(
    "told",
    ["The user lives in Rome.", "The user never eats meat.", "The user really likes tea.", "The user's sister left."],
)
def test_what_a_model_tells_of_the_user_is_in_the_first_person(told):
    assert "user" not in of_the_speaker(told)


@pytest.mark.parametrize("noun", ["account", "manual", "interface", "agent", "story"])
def test_the_user_before_a_noun_is_not_the_speaker(noun):
    assert of_the_speaker(f"The user {noun} of the wiki is closed.") == f"The user {noun} of the wiki is closed."


@pytest.mark.parametrize("part", ["a-", "a, ", "and ", "a, a-", "Ana's ", "a"])
def test_lists_are_read_in_linear_time(part):
    assert not lists_differ(part * 30_000, "penicillin and latex")
