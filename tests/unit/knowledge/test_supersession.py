"""What ends what: only what is certain, and nothing that is possible, passing or somebody else's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.knowledge.supersession import replaced_value

ENDED = [
    ("I live in Rome", "I moved to Oslo", "Rome"),
    ("My dentist is Dr. Costa", "My new dentist is Dr. Haas", "Costa"),
    ("Standup is at 9:30", "Standup moved to 10:00", "9:30"),
    ("We use Slack", "We switched from Slack to Matrix", "Slack"),
    ("I work at Lux", "I no longer work at Lux", "work at Lux"),
    ("I work at Acme", "I joined Beta Corp last week", "Acme"),
    ("Ana lives in Lisbon.", "Ana lives in Porto.", "Lisbon"),
    ("The API runs on port 8080.", "The API runs on port 9000.", "8080"),
    ("Standups are on Tuesday", "Standups are now on Wednesday", "Tuesday"),
    ("We pay the cleaner 45 euros per visit", "Correction: we pay the cleaner 52 euros per visit, not 45.", "45"),
    ("I drive a 2012 Honda Jazz.", "Sold the Jazz! I drive a Kia Niro now.", "2012 Honda Jazz"),
]


@pytest.mark.parametrize(("first", "last", "value"), ENDED)
def test_a_value_that_is_replaced(first, last, value):
    assert replaced_value(last, first) == value


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("I do not eat beef", "I don't eat beef"),
        ("My dentist is Dr. Costa", "My dentist is expensive"),
        ("I'm a nurse at St Mary's", "I'm a cellist"),
        ("I live in Ghent", "I have a flat in Rome that I rent out"),
        ("My flight is at 7:40", "My flight back is at 18:20"),
        ("Staging runs on port 7000", "Prod runs on port 9100 now"),
        ("The red bin goes out on Monday", "The green bin goes out on Tuesday now"),
        ("I live in Rome", "My sister moved to Oslo"),
        ("My sister lives in Porto", "I live in Oslo now"),
        ("Ben lives in Porto", "I live in Oslo now"),
        ("I live in Rome", "Ben moved to Oslo"),
        ("I live in Rome", "She moved to Oslo"),
        ("I live in Rome", "I might move to Oslo"),
        ("I live in Rome", "I'm in Oslo for two weeks"),
        ("I live in Rome", "I used to live in Oslo"),
        ("I live in Rome", "Did I say that I moved to Oslo?"),
        ("I live in Rome and work as a nurse", "I moved to Oslo"),
        ("I go to the gym on Mondays", "My wife no longer goes to the gym"),
        ("My friend is Bob", "My new friend is Ann"),
        ("I ran 5 km", "I ran 7 km"),
        ("Room 5 is free", "Room 7 is free"),
        ("I like working with Anita", "I don't like working with Amita"),
        ("The meeting is on Tuesday and the bin goes out on Friday", "Correction: the meeting is on Wednesday"),
    ],
)
def test_what_ends_nothing(first, last):
    assert replaced_value(last, first) == ""


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_texts(first, last):
    assert isinstance(replaced_value(last, first), str)
    assert replaced_value(first, first) == ""
