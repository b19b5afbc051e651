"""Links proposed by rule: each kind where it holds, and none where it nearly does."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.knowledge.metadata import describe
from mnemic.knowledge.reconciliation import propose_links
from mnemic.types import Link, MemoryRecord

START = datetime(2024, 1, 1, tzinfo=UTC)


def record(id: str, text: str, *, hours: int = 0, **more) -> MemoryRecord:
    found = describe(text)
    made = MemoryRecord(
        id=id,
        content=text,
        type=found.type,
        category=found.category,
        keywords=found.keywords,
        tags=found.tags,
        related_files=found.related_files,
        related_entities=found.related_entities,
        created_at=START + timedelta(hours=hours),
        updated_at=START,
    )
    return replace(made, **more)


def between(older: str, newer: str, cosine: float | None = 0.7) -> list[Link]:
    return propose_links(record("new", newer, hours=1), [(record("old", older), cosine)])


LINKED = [
    ("He likes olives.", "He does not like olives.", "contradicts"),
    ("She smokes.", "She stopped smoking.", "contradicts"),
    ("I love hiking in the mountains.", "I hate hiking in the mountains.", "contradicts"),
    ("The login page is cached.", "The login page is not cached.", "contradicts"),
    ("My rent is 900 euros.", "My rent is 950 euros.", "contradicts"),
    (
        "We decided to use PostgreSQL for the order service.",
        "Migrated the order service to PostgreSQL in db.py.",
        "implements",
    ),
    (
        "The order service must validate addresses in checkout.py before payment.",
        "Added address validation to checkout.py of the order service.",
        "implements",
    ),
    ("Ana lives in Porto.", "Ana lives in Porto with two cats and works from home.", "extends"),
    (
        "`UserService` is the class that handles sign-up and login.",
        "The welcome mail is sent after UserService creates the account.",
        "references",
    ),
    (
        "docs/deploy.md describes the deploy steps.",
        "After the outage we changed the rollback, see docs/deploy.md.",
        "references",
    ),
]
UNLINKED = [
    ("Ana likes olives.", "Bo does not like olives."),
    ("API keys must be rotated every month.", "API keys must not be logged."),
    ("The development server listens on port 8080.", "The development server listens on port 9090."),
    ("I paid 20 euros for the lamp.", "I paid 30 euros for the lamp."),
    ("Room 12 is free.", "Room 13 is free."),
    ("My dentist is Dr. Costa.", "My dentist is expensive."),
    ("My sister is Ana.", "My sister is Eva."),
    ("The standup is at 9.", "The standup is on Tuesday at 10."),
    ("My favourite colour is purple.", "My favourite colour is cyan and I wear it daily."),
    ("Tom loves jazz and collects vinyl records.", "I met Tom at school."),
    ("He doesn't love olives.", "He hates olives."),
    ("I was happy on Tuesday.", "I was not happy on Monday."),
    ("Ana likes black olives.", "Ana does not like green olives."),
    ("We decided to keep Redis for the session store.", "Added Redis metrics."),
    ("MongoDB backups run at night.", "The order service uses PostgreSQL instead of MongoDB."),
]


@pytest.mark.parametrize(("older", "newer", "type"), LINKED)
def test_linked(older, newer, type):
    (link,) = between(older, newer)
    assert link.type == type
    assert link.target == "old"
    assert 0 < link.strength <= 1
    assert "cosine .70" in link.reason


@pytest.mark.parametrize(("older", "newer"), UNLINKED)
@pytest.mark.parametrize("cosine", [0.3, 0.7, 0.9, None])
def test_not_linked(older, newer, cosine):
    assert between(older, newer, cosine) == []


@pytest.mark.parametrize(("older", "newer", "type"), LINKED)
def test_only_a_contradiction_goes_both_ways(older, newer, type):
    back = propose_links(record("old", older), [(record("new", newer, hours=1), 0.7)])
    assert [link.type for link in back] == (["contradicts"] if type == "contradicts" else [])


def test_the_reason_names_the_evidence_and_more_evidence_is_stronger():
    (link,) = between(
        "The order service must validate addresses in checkout.py.", "Added address validation to checkout.py.", 0.9
    )
    assert "checkout.py" in link.reason
    (weaker,) = between(
        "The order service must validate addresses in checkout.py.", "Added address validation to checkout.py.", 0.5
    )
    assert weaker.strength < link.strength


@pytest.mark.parametrize(
    "change",
    [
        {"project": "other"},
        {"status": "archived"},
        {"expired_at": START},
        {"id": "new"},
        {"content": "He does not like olives."},
    ],
)
def test_never_to_itself_across_levels_or_to_what_is_gone(change):
    old = replace(record("old", "He likes olives."), **change)
    assert propose_links(record("new", "He does not like olives.", hours=1), [(old, 0.9)]) == []


def test_what_ended_before_the_other_began_contradicts_nothing():
    old = replace(record("old", "She smokes."), valid_at=START, invalid_at=START + timedelta(days=1))
    new = replace(record("new", "She does not smoke."), valid_at=START + timedelta(days=2))
    assert propose_links(new, [(old, 0.9)]) == []


def test_dissimilar_texts_are_not_linked_by_a_shared_name():
    assert between("We decided to use Redis for sessions.", "Added Redis to the sessions of the demo.", 0.1) == []


def test_the_strongest_come_first_and_no_more_than_five():
    new = record("new", "He does not like olives.", hours=1)
    cosines = (0.5, 0.9, 0.7, 0.9, 0.6, 0.8)
    found = propose_links(new, [(record(f"m{i}", "He likes olives."), cosine) for i, cosine in enumerate(cosines)])
    assert [link.target for link in found] == ["m1", "m3", "m5", "m2", "m4"]


texts = st.one_of(st.text(max_size=80), st.sampled_from([text for pair in (*LINKED, *UNLINKED) for text in pair[:2]]))


@given(texts, st.lists(texts, max_size=6), st.floats(-1, 1))
def test_any_memories(text, others, cosine):
    new = record("new", text, hours=1)
    olds = [record(f"m{i}", other) for i, other in enumerate(others)]
    found = propose_links(new, [(old, cosine) for old in olds])
    assert found == propose_links(new, [(old, cosine) for old in olds])
    assert len(found) == len({link.target for link in found}) <= 5
    assert all(0 <= link.strength <= 1 and link.target != "new" and link.reason for link in found)
    for link in found:
        (back,) = [[each.type for each in propose_links(old, [(new, cosine)])] for old in olds if old.id == link.target]
        assert back == (["contradicts"] if link.type == "contradicts" else []) or link.type == "references"
