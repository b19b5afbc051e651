"""What a text is, is about and names, read from the text alone."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.knowledge.metadata import Description, describe, keyphrases
from mnemic.text.sentences import sentences
from mnemic.types import literals

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


def shares(half: str) -> tuple[float, float]:
    """Share of right types, and of right categories."""
    rows = [(row, describe(row["text"])) for row in LABELLED if row["half"] == half]
    types = sum(found.type == row["type"] for row, found in rows)
    categories = sum(found.category == row["category"] for row, found in rows)
    return types / len(rows), categories / len(rows)


@pytest.mark.parametrize(
    ("half", "types", "categories"),
    [
        ("written", 0.9, 0.9),
        ("held_out", 0.85, 0.8),
        ("second", 0.85, 0.8),
        ("fresh", 0.85, 0.65),
        ("first_person", 0.9, 0.85),
    ],
)
def test_types_and_categories_of_labelled_statements(half, types, categories):
    found = shares(half)
    assert all(share >= least for share, least in zip(found, (types, categories), strict=True)), found


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
    assert describe(text).related_files == files


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
    found = set(describe(text).related_entities)
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


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("Prefers morning meetings", "schedule"),
        (MIGRATION, "deployment"),
        ("I'm allergic to walnuts.", "health"),
        ("The invoices are printed twice.", "invoice"),
        ("En marzo me mudé a Sevilla.", "sevilla"),
    ],
)
def test_tags_are_topics_and_subjects(text, tag):
    assert tag in describe(text).tags


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Let the dough rest on the table for an hour.", "personal"),
        ("My brother is a server at a restaurant.", "personal"),
        ("My mother tests every recipe twice.", "personal"),
        ("The server rejects every request without a token.", "code_pattern"),
    ],
)
def test_words_that_software_shares_with_life_count_only_together(text, category):
    assert describe(text).category == category


@settings(deadline=None)
@given(
    st.sampled_from("cried felt treated smelled looks sounds acted work sang Felt Nothing People Things Dogs".split()),
    st.sampled_from(["like a baby", "like flying", "like dirt all day", "like that"]),
    st.sampled_from(["I", "She", "Marcus", "My sister", "It"]),
    st.sampled_from(["", "still ", "really "]),
)
def test_a_comparison_is_no_preference(word, comparison, subject, adverb):
    for text in (f"{subject} {word} {adverb}{comparison}.", f"{word} {adverb}{comparison}."):
        assert describe(text).category != "preference", text


@settings(deadline=None)
@given(
    st.sampled_from(
        ["I {}like", "We don't {}like", "She {}likes", "Marcus {}hates", "my sister {}loves", "They {}enjoy"]
    ),
    st.sampled_from(["", "still ", "really "]),
    st.sampled_from(["coriander", "long trips", "being called Sam"]),
)
def test_likes_and_dislikes_are_preferences(form, adverb, thing):
    assert describe(f"{form.format(adverb)} {thing}.").category == "preference"


@pytest.mark.parametrize(
    "text", ["I'd rather you don't mention Marcus.", "She would much rather walk.", "I\u2019d rather not fly."]
)
def test_what_one_would_rather_have_is_a_preference(text):
    assert describe(text).category == "preference"


def test_a_short_text_is_its_own_summary():
    assert describe("I moved to Lisbon in 2021.").summary is None


def test_a_summary_is_one_or_two_sentences_of_the_text_in_their_order():
    summary = describe(MIGRATION).summary
    assert summary is not None
    chosen = sentences(summary)
    of_text = sentences(MIGRATION)
    assert 1 <= len(chosen) <= 2
    assert [of_text.index(each) for each in chosen] == sorted(of_text.index(each) for each in chosen)
    assert "payment service" in summary


def test_a_summary_of_one_endless_sentence_is_cut_at_a_word():
    summary = describe("word " * 500).summary
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
    assert describe(plain).confidence > describe(hedged).confidence


def test_a_given_type_stays():
    assert describe("I moved to Lisbon in 2021.", type="semantic").type == "semantic"
    assert describe("I moved to Lisbon in 2021.").type == "episodic"


def check(text: str, found: Description) -> None:
    assert len(found.keywords) <= 5
    assert len(found.tags) <= 3
    assert all(tag == tag.lower() and tag.strip() == tag and tag for tag in found.tags)
    assert len({*found.keywords}) == len(found.keywords)
    assert 0 <= found.confidence <= 1
    assert found.type in {"episodic", "semantic", "procedural", "emotional"}
    assert found.category in {None, *literals.CATEGORIES}
    assert found.summary is None or 0 < len(found.summary) <= 320
    assert len(found.related_files) <= 20
    assert len(found.related_entities) <= 20
    assert all(file in text for file in found.related_files)


@given(st.text(max_size=600))
def test_any_text_is_described_within_bounds_and_alike_twice(text):
    found = describe(text)
    check(text, found)
    assert describe(text) == found


@given(
    st.lists(
        st.sampled_from(
            "the Ana fixed api.py decided we never PostgreSQL on Monday 8080 . , ? ! `x` https://a.org/b.py I feel sad to".split()
        ),
        max_size=60,
    )
)
def test_texts_made_of_telling_words_are_described_within_bounds(words):
    text = " ".join(words)
    check(text, describe(text))


@pytest.mark.parametrize("text", FOREIGN)
def test_other_languages(text):
    found = describe(text)
    check(text, found)
    assert found.keywords


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "x_" * 50_000, "`" * 40_000, "a/" * 40_000, "to a " * 20_000, "\ud800 \x00"]
)
def test_hostile_texts(text):
    check(text, describe(text))
