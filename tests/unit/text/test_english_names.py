import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.english import names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("My sister Ana lives in New York City with Dr. Bob Lee.", ["Ana", "New York City", "Dr. Bob Lee"]),
        ("Hey Caroline! Good to see you!", ["Caroline"]),
        ("Painting is fun. Then we left.", []),
        ("Lisbon is great.", ["Lisbon"]),
        ("Melanie's kids like it", ["Melanie"]),
        ("We use Postgres 16 in prod and GitHub Actions.", ["Postgres 16", "GitHub Actions"]),
        ("The iPhone and GPT-4 run PostgreSQL and C++ and C#.", ["iPhone", "GPT-4", "PostgreSQL", "C++", "C#"]),
        ('She read "Charlotte\'s Web" twice, "as you know".', ["Charlotte's Web"]),
        ("She works at the Bank of America on Monday in June.", ["Bank of America"]),
        ("I WENT TO THE STORE WITH MY BROTHER", []),
        ("Tom Hanks and Rita Wilson came. Tom left.", ["Tom Hanks", "Rita Wilson", "Tom"]),
        ("I've 2 cats, Luna and Oliver. Have you been to Paris?", ["Luna", "Oliver", "Paris"]),
        ("I'm OK, and I think I'll go. Don't worry.", []),
        ("I met Ana, Ana and Ana.", ["Ana"]),
        ("Jean-Luc O'Brien flew to S\u00e3o Paulo", ["Jean-Luc O'Brien", "S\u00e3o Paulo"]),
        ("Running is fun. Running helps.", []),
        ("Never commit to main.", []),
        ("\u4eca\u65e5\u306f\u6674\u308c", []),
        ("NASA and the EU signed it", ["NASA", "EU"]),
    ],
)
def test_names(text, expected):
    assert names(text) == expected


@given(st.text(max_size=200))
def test_names_are_distinct_and_come_from_the_text(text):
    found = names(text)
    assert len(found) == len(set(found))
    bare = "".join(text.split())
    assert all("".join(name.split()) in bare for name in found)
