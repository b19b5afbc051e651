import pytest

from mnemic.extraction.ruling import rule_of


@pytest.mark.parametrize(
    "said",
    [
        "Never book overnight layovers", "no calls before 9", "always use tabs", "don't suggest seafood", "Never commit to main",
        "No peanuts in any recipe please", "no meetings on Fridays", "No emojis in commit messages", "Do not push to main",
        "always put tests first", "Don't ever call me before noon", "Use tabs, not spaces",
    ],
)  # fmt: skip
def test_rules(said):
    assert rule_of(said)


@pytest.mark.parametrize(
    "said",
    [
        "no heart problems", "no allergies in the family", "Don't have a car anymore, sold it in May", "always wanted to see Japan",
        "no wait, the meeting is at 4pm", "no no, cashews are fine", "no I don't have Spotify at all", "Don't like mushrooms",
        "never been to Rome", "never had a dog", "don't really drink", "no longer at Acme", "Always use tabs?",
    ],
)  # fmt: skip
def test_answers_and_states_are_no_rules(said):
    assert not rule_of(said)
