import json
from datetime import UTC, datetime, timedelta

import pytest
from benchmarks import reporting
from benchmarks.conversations import Conversation, Question
from benchmarks.quality import locomo, questions

from mnemic import HashingEmbedder, Message

BEGUN = datetime(2024, 1, 1, tzinfo=UTC)
FACTS = (
    "Ana keeps bees on the roof.",
    "Ben repairs old radios.",
    "Ana's sister lives in Porto.",
    "Ben runs a marathon.",
)


def tiny(name="talk"):
    """Four sessions of three turns; the first of each states a fact."""
    messages = [
        Message(
            role="user", name=fact.split()[0].removesuffix("'s"), content=text, id=f"{name}:D{s}:{t}",
            session=f"{name}:session_{s}", sent_at=BEGUN + timedelta(days=s),
        )
        for s, fact in enumerate(FACTS)
        for t, text in enumerate((fact, "Really? I had no idea.", "It is a lot of work."))
    ]  # fmt: skip
    questions = (
        Question("Where does Ana keep her bees?", (f"{name}:D0:0",), 4),
        Question("What do radios and a marathon have to do with Ben?", (f"{name}:D1:0", f"{name}:D3:0"), 1),
    )
    return Conversation(name, tuple(messages), questions)


@pytest.fixture(scope="module")
def answers():
    return questions.ask(tiny(), HashingEmbedder(), tokenizer="approximate", budgets=(60, 1000))


def test_every_question_has_a_value_of_every_figure(answers):
    assert answers.categories == [4, 1]
    assert all(len(values) == 2 for values in answers.values.values())
    assert all(0.0 <= value <= 1.0 for values in answers.values.values() for value in values)


def test_words_of_the_question_find_the_turns_that_have_them(answers):
    assert answers.values["R@5"] == [1.0, 1.0]
    assert answers.values["MRR"] == [1.0, 1.0]
    assert answers.values["session.all@5"] == [1.0, 1.0]
    assert answers.values["budget.1000"] == [1.0, 1.0]


def test_the_order_is_checked_against_k(answers, monkeypatch):
    assert answers.moved == []
    real = questions.Memory.search

    def shifted(memory, query, *, k, **options):
        return real(memory, query, k=k, **options)[1 if k == 10 else 0 :]

    monkeypatch.setattr(questions.Memory, "search", shifted)
    moved = questions.ask(tiny(), HashingEmbedder(), tokenizer="approximate", budgets=(60,)).moved
    assert moved == [question.text for question in tiny().questions]


def test_categories_split_the_questions(answers):
    assert locomo.gather([answers], "R@10", 4) == {"talk": [1.0]}
    assert locomo.gather([answers], "R@10") == {"talk": [1.0, 1.0]}


def write_file(folder):
    sessions = {}
    for message in tiny().messages:
        key = message.session.partition(":")[2]
        sessions.setdefault(key, []).append(
            {"speaker": message.name, "dia_id": message.id.partition(":")[2], "text": message.content}
        )
    dates = {f"{key}_date_time": f"9:00 am on {i + 1} June, 2024" for i, key in enumerate(sessions)}
    asked = [
        {"question": q.text, "evidence": [g.partition(":")[2] for g in q.gold], "category": q.category}
        for q in tiny().questions
    ]
    file = folder / "tiny.json"
    talk = {"sample_id": "talk", "conversation": {"speaker_a": "Ana", **sessions, **dates}, "qa": asked}
    file.write_text(json.dumps([talk]), encoding="utf-8")
    return file


def test_the_result_says_how_it_was_made_and_names_no_folder(tmp_path, monkeypatch, capsys):
    file, out = write_file(tmp_path), tmp_path / "out.json"
    real = questions.ask

    def quick(conversation, embedder, **options):
        return real(conversation, embedder, tokenizer="approximate", **options)

    monkeypatch.setattr(locomo, "ask", quick)
    locomo.main(
        ["--data", str(file), f"--json={out}", "--embedder", "hashing", "--recipe", "rrf", "--budgets", "500,1000"]
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["command"] == (
        "python -m benchmarks.quality.locomo --data tiny.json --json=out.json --embedder hashing --recipe rrf --budgets 500,1000"
    )
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    assert result["data"]["sha256"] == reporting.sha256(file)
    assert result["data"]["questions"] == 2
    assert result["settings"]["recipe"] == "rrf"
    assert {"mnemic", "numpy", "onnxruntime", "python", "sqlite"} <= set(result["versions"])
    assert set(result["figures"]) == {
        "turn", "by_category", "session", "distinct_sessions", "evidence_in_budget", "order_independent_of_k",
    }  # fmt: skip
    assert result["figures"]["turn"]["R@10"]["mean"] == 100.0
    assert result["figures"]["by_category"]["4 single-hop"]["questions"] == 1
    assert result["figures"]["by_category"]["2 temporal"]["R@10"] is None
    assert set(result["figures"]["evidence_in_budget"]) == {"500", "1000"}
    assert result["figures"]["order_independent_of_k"]["same"] == 2
    assert "R@10" in capsys.readouterr().out
