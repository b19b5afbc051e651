"""What takes the place of what, where no rule reads both statements."""

from __future__ import annotations

import pytest

from mnemic.extraction.matching import comparable, replacing


def test_a_value_of_one_thing_takes_the_place_of_another() -> None:
    last, first = "The user's parcels are sent with Hermes now.", "The user's parcels are sent with Correos."
    assert comparable(last, first)
    assert replacing(last, first, 0.8, nearest=True) > 0.5


def test_what_is_far_and_has_no_words_in_common_replaces_nothing() -> None:
    last, first = "The user's parcels are sent with Hermes now.", "The user's birthday is on 12 March."
    assert replacing(last, first, 0.1, nearest=False) < 0.1


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("Ana's parcels are sent with Hermes now.", "The user's parcels are sent with Correos."),
        ("The user also watches Dark now.", "The user watches Alien."),
        ("The user might move to Porto.", "The user lives in Lisbon."),
        ("Her new GP is Dr. Sahin.", "The user lives in Hamburg."),
        ("The user's rent went up to 1,290.", "Ana says: Lease starts on 1 April, address Weser Street 88."),
        ("The user swims at the lido now.", "The user works from home on Mondays and Fridays."),
        ("Lukas owns the service from now on, not Zoe.", "Zoe says: Already do: 80/10/10 seed 42."),
    ],
)
def test_other_people_and_matters_more_of_it_and_mere_possibility_do_not_compare(last: str, first: str) -> None:
    assert not comparable(last, first)
