import pytest

from mnemic.extraction.rewriting import Speaker, third_person


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I moved to Porto and I love it.", "Ana moved to Porto and loves it."),
        ("I went to New York and I really hate it.", "Ana went to New York and really hates it."),
        ("I met Max and I like him.", "Ana met Max and likes him."),
        ("Max and I love it.", "Max and Ana love it."),
        ("I think Max and I love it.", "Ana thinks Max and Ana love it."),
        ("Yesterday Max and I won.", "Yesterday Max and Ana won."),
        ("My sister and I love it.", "Ana's sister and Ana love it."),
    ],
)
def test_a_verb_agrees_with_who_does_it(said, told):
    assert third_person(said, Speaker(name="Ana")) == told
