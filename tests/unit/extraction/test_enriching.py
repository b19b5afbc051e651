"""What a text is, is about and names, read from the text alone."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.extraction.enriching import Enrichment, enrich
from mnemic.extraction.kinds import CATEGORIES, category_of, is_technical, type_of
from mnemic.extraction.mentions import entities_in, files_in
from mnemic.text.keyphrases import keyphrases
from mnemic.text.sentences import sentences

LABELLED = json.loads((Path(__file__).parent / "labelled_statements.json").read_text(encoding="utf-8"))["statements"]
MIGRATION = (
    "We migrated the payment service from Heroku to Kubernetes in March. The payment service now runs three replicas "
    "behind nginx. Deployment takes four minutes. Ana wrote the Helm chart and the rollback script. We still need alerts "
    "for the payment queue."
)
FOREIGN = [
    "我们决定在订单服务中使用PostgreSQL数据库",
    "東京の会議は月曜日です",
    "Wir haben uns für PostgreSQL entschieden, weil es schneller ist",
    "Мы выбрали базу данных для сервиса заказов",
    "نجتمع كل يوم اثنين في المكتب",
    "हम हर सोमवार को मिलते हैं",
    "ฉันชอบกาแฟดำ",
    "Üç kedi ve bir köpeğim var",
]


def shares(half: str) -> tuple[float, float, float]:
    """Share of right types, of right categories, and of right ones among the categories that were given at all."""
    rows = [row for row in LABELLED if row["half"] == half]
    types = sum(type_of(row["text"]) == row["type"] for row in rows)
    given_, right = 0, 0
    hits = 0
    for row in rows:
        category = category_of(row["text"], type_of(row["text"]))
        hits += category == row["category"]
        given_ += category is not None
        right += category is not None and category == row["category"]
    return types / len(rows), hits / len(rows), right / max(given_, 1)


@pytest.mark.parametrize(
    ("half", "types", "categories", "precision"),
    [
        ("written", 0.95, 0.95, 0.95),
        ("held_out", 0.9, 0.85, 0.85),
        ("second", 0.9, 0.9, 0.9),
        ("fresh", 0.85, 0.5, 0.7),
    ],
)
def test_types_and_categories_of_labelled_statements(half, types, categories, precision):
    found = shares(half)
    assert all(share >= least for share, least in zip(found, (types, categories, precision), strict=True)), found


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Fixed src/mnemic/types.py and api.py:42.", ("src/mnemic/types.py", "api.py")),
        ("See https://docs.python.org/3/library.html for v1.2.3", ()),
        ("Node.js, e.g. with TCP/IP and/or 24/7 at 80 km/h", ()),
        ("Names come from mnemic.text.names and `os.path`", ("mnemic.text.names", "os.path")),
        ("os.path alone could be the end.of a sentence", ()),
        ("Put it into ~/.ssh/config, ./run.sh or tests/unit/", ("~/.ssh/config", "./run.sh", "tests/unit/")),
        ("Edit the Dockerfile and .env", ("Dockerfile", ".env")),
        ("Mail ana@example.com or visit docs.example.com", ()),
        ("C:\\Users\\ana\\notes.txt", ("C:\\Users\\ana\\notes.txt",)),
        ("config.yaml config.yaml CONFIG.YAML", ("config.yaml",)),
        ("The rate is 3.5 and it costs 12.50", ()),
        ("We met at 9 a.m. in the U.S. i.e. there", ()),
    ],
)
def test_files(text, files):
    assert files_in(text) == files


@pytest.mark.parametrize(
    ("text", "present", "absent"),
    [
        ("`UserService` calls send_mail() of `numpy`", {"UserService", "send_mail", "numpy"}, set()),
        ("Read https://docs.python.org/3/ first", {"docs.python.org"}, {"https"}),
        ("Ana met Bo in Lisbon", {"Ana", "Bo", "Lisbon"}, set()),
        ("Resolved the crash in worker.py", set(), {"Resolved", "worker.py"}),
        ("Uploads are limited to 25 MB", set(), {"MB"}),
        ("LOG_LEVEL is set in settings.py", {"LOG_LEVEL"}, {"settings.py"}),
    ],
)
def test_entities(text, present, absent):
    found = set(entities_in(text))
    assert present <= found
    assert not absent & found


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("The development server listens on port 8080.", {"development server", "port 8080"}),
        ("We decided to use PostgreSQL for the order service.", {"PostgreSQL", "order service"}),
        ("Prefers morning meetings", {"morning meetings"}),
        ("Wrap each handler in the retry decorator", {"handler", "retry decorator"}),
    ],
)
def test_keyphrases_are_runs_of_nouns(text, phrases):
    assert set(keyphrases(text)) == phrases


def test_keyphrases_put_what_a_text_comes_back_to_first():
    assert keyphrases(MIGRATION)[0] == "payment service"
    assert 3 <= len(keyphrases(MIGRATION)) <= 5


@pytest.mark.parametrize("text", ["Go!", "We should decide and do it.", "I think so", "12 34", "", "…?!"])
def test_no_keyphrase_of_verbs_numbers_and_fillers(text):
    assert keyphrases(text) == []


def test_a_time_is_a_keyphrase_only_where_little_else_is():
    assert keyphrases("Meetings on Monday morning") == ["Meetings", "Monday morning"]
    assert "Monday" not in keyphrases("On Monday the nurse, the pilot, the baker and the vet meet")


def test_known_tags_are_preferred():
    assert enrich("The invoices are printed twice.", known_tags=["printing", "invoices", "garden"]).tags[:2] == (
        "invoices",
        "printing",
    )
    assert "schedule" in enrich("Prefers morning meetings").tags
    assert "deployment" in enrich(MIGRATION).tags


def test_topics_of_software_and_of_life_do_not_mix():
    assert is_technical("Every repository class inherits from `BaseRepository`")
    assert "education" not in enrich("Every repository class inherits from `BaseRepository`").tags
    assert not is_technical("Let the dough rest on the table for an hour.")
    assert not is_technical("My brother is a server at a restaurant.")


def test_a_short_text_is_its_own_summary():
    assert enrich("I moved to Lisbon in 2021.").summary is None


def test_a_summary_is_one_or_two_sentences_of_the_text_in_their_order():
    summary = enrich(MIGRATION).summary
    assert summary is not None
    chosen = sentences(summary)
    of_text = sentences(MIGRATION)
    assert 1 <= len(chosen) <= 2
    assert [of_text.index(each) for each in chosen] == sorted(of_text.index(each) for each in chosen)
    assert "payment service" in summary


def test_a_summary_of_one_endless_sentence_is_cut_at_a_word():
    summary = enrich("word " * 500).summary
    assert summary is not None
    assert len(summary) <= 320
    assert summary.endswith("word\u2026")


@pytest.mark.parametrize(
    ("plain", "hedged"),
    [
        ("The build takes ten minutes.", "I think the build takes maybe ten minutes."),
        ("Ana lives in Porto.", "Does Ana live in Porto?"),
    ],
)
def test_hedges_and_questions_lower_confidence(plain, hedged):
    assert enrich(plain).confidence > enrich(hedged).confidence


def test_a_given_type_stays():
    assert enrich("I moved to Lisbon in 2021.", type="semantic").type == "semantic"
    assert enrich("I moved to Lisbon in 2021.").type == "episodic"


def check(text: str, found: Enrichment) -> None:
    assert len(found.keywords) <= 5
    assert len(found.tags) <= 3
    assert all(tag == tag.lower() and tag.strip() == tag and tag for tag in found.tags)
    assert len({*found.keywords}) == len(found.keywords)
    assert 0 <= found.confidence <= 1
    assert found.type in {"episodic", "semantic", "procedural", "emotional"}
    assert found.category in {None, *CATEGORIES[0], *CATEGORIES[1]}
    assert found.summary is None or 0 < len(found.summary) <= 320
    assert len(found.related_files) <= 20
    assert len(found.related_entities) <= 20
    assert all(file in text for file in found.related_files)


@given(st.text(max_size=600), st.lists(st.text(max_size=20), max_size=4))
def test_any_text_is_enriched_within_bounds_and_alike_twice(text, known):
    found = enrich(text, known_tags=known)
    check(text, found)
    assert enrich(text, known_tags=known) == found


@given(
    st.lists(
        st.sampled_from(
            "the Ana fixed api.py decided we never PostgreSQL on Monday 8080 . , ? ! `x` https://a.org/b.py I feel sad to".split()
        ),
        max_size=60,
    )
)
def test_texts_made_of_telling_words_are_enriched_within_bounds(words):
    text = " ".join(words)
    check(text, enrich(text))


@pytest.mark.parametrize("text", FOREIGN)
def test_other_languages(text):
    found = enrich(text)
    check(text, found)
    assert found.keywords


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "x_" * 50_000, "`" * 40_000, "a/" * 40_000, "to a " * 20_000, "\ud800 \x00"]
)
def test_hostile_texts(text):
    check(text, enrich(text))
