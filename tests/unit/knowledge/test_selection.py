"""Which sentences become memories: persons' own, as they were said, whatever the language."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import Message
from mnemic.knowledge.selection import CERTAIN, Judgement, Statement, statements, worth

START = datetime(2026, 3, 9, 9, tzinfo=UTC)


def talk(*lines: str | tuple[str, str], **given: Any) -> list[Message]:
    """Messages of a user, or of the role that is given with the text, a minute apart."""
    pairs = [("user", line) if isinstance(line, str) else line for line in lines]
    return [
        Message(role=role, content=text, id=f"m{at}", sent_at=START + timedelta(minutes=at), **given)
        for at, (role, text) in enumerate(pairs)
    ]


def texts(messages: list[Message]) -> list[str]:
    return [one.text for one in statements(messages)]


# What is kept


def test_a_statement_is_the_sentence_with_where_it_is_from() -> None:
    messages = talk("My sister Carla lives in Porto.")
    (found,) = statements(messages)
    assert found == Statement("My sister Carla lives in Porto.", messages, found.worth)
    assert 0.5 < found.worth < 1


def test_each_matter_of_a_message_is_one_statement() -> None:
    said = "We deploy with make release. My sister lives in Porto. I work at Acme as an engineer."
    assert texts(talk(said)) == [
        "We deploy with make release.", "My sister lives in Porto.", "I work at Acme as an engineer.",
    ]  # fmt: skip


def test_a_sentence_that_cannot_stand_alone_stays_with_the_one_before_it() -> None:
    said = "My brother Tom moved to Canada in May. He works at a sawmill."
    assert texts(talk(said)) == [said]
    assert texts(talk("I took over 11 plants from my aunt in March. Mostly ferns.")) == [
        "I took over 11 plants from my aunt in March. Mostly ferns."
    ]


def test_sentences_of_a_script_without_spaces_are_joined_without_one() -> None:
    said = "我的哥哥2020年搬到了加拿大的温哥华。他在那里当老师。"
    assert texts(talk(said)) == [said]


def test_each_line_of_a_list_is_a_sentence() -> None:
    said = (
        "some facts:\n- my daughter Liis is 7 years old\n- we moved to Tallinn in 2021\nmy boss is called Margus Tamm"
    )
    assert texts(talk(said)) == [
        "some facts: my daughter Liis is 7 years old", "some facts: we moved to Tallinn in 2021",
        "some facts: my boss is called Margus Tamm",
    ]  # fmt: skip


SECTIONS = (
    ("Allergies", "I am allergic to penicillin and to latex."), ("\u00a7 2 Medication", "I take 50 mg of sertraline every morning."),
    ("## Family", "My father had a stroke at 58."), ("3. Insurance", "I am insured with Helvetia, number 4471-22."),
    ("Who to call", "My sister Clara lives in Lisbon. She has a key."),
)  # fmt: skip


@given(st.lists(st.sampled_from(SECTIONS), min_size=1, max_size=5, unique=True))
def test_a_heading_is_no_part_of_a_statement(sections: list[tuple[str, str]]) -> None:
    opening = "I live in Lisbon with Ben and two cats."
    text = "\n\n".join((opening, *(part for section in sections for part in section)))
    assert texts(talk(text)) == [opening, *(said for _, said in sections)]


@pytest.mark.parametrize(
    "said",
    [
        "I'm allergic to peanuts\n\nPlease keep that in mind when you suggest recipes.",
        "My birthday is on 3 May\nHelp me plan a party!",
        "Hi!\n\nI work as a nurse in Hamburg\n\nThanks!",
        "My sister lives in Porto\n\nShe has two cats",
        "I hate mushrooms\n\nI love olives\n\nI am vegetarian",
        "Ich wohne in Berlin\n\nMeine Schwester hei\u00dft Clara.",
        "\u6211\u5bf9\u82b1\u751f\u8fc7\u654f\n\n\u6211\u4f4f\u5728\u67cf\u6797\u3002",
    ],
)
def test_a_statement_on_a_line_of_its_own_is_no_heading(said: str) -> None:
    kept = " ".join(texts(talk(said)))
    own = [line for line in said.split("\n") if line and line[-1] not in ".!"]
    assert all(line in kept for line in own)


def test_a_statement_of_a_document_ends_with_its_section() -> None:
    ending = "References to statutes mean these statutes as amended."
    text = f"This is the lease they sent me.\n\n\u00a7 1 Rent\n\nThe net rent is 890 euros a month.\n\n\u00a7 2 Use\n\n{ending}"
    assert "The net rent is 890 euros a month." in " ".join(texts(talk(text)))
    assert not any("statutes" in one and "890" in one for one in texts(talk(text)))


def test_lines_that_were_broken_to_a_width_are_one_sentence() -> None:
    said = "On Friday the 3rd of April my mother and I fly from Helsinki airport\nto Osaka with Finnair."
    assert texts(talk(said)) == [" ".join(said.split())]


def test_what_is_declared_is_kept_however_much_there_is() -> None:
    said = [f"My cousin number {n} is called Ana{n} and lives in Porto." for n in range(40)]
    assert texts(talk(*said)) == said


@pytest.mark.parametrize("said", ["i'm vegan", "I have asthma.", "my wife is a vet", "I don't drink", "I'm 34"])
def test_what_one_says_of_oneself_may_be_short(said: str) -> None:
    assert texts(talk(said)) == [said]


def test_a_short_answer_is_kept_with_its_question_and_trusted_like_the_least_of_the_two() -> None:
    asked = Message(
        role="assistant",
        content="Noted. Who is your dentist?",
        id="q",
        sent_at=START,
        source="model_inference",
        trust=0.7,
    )
    (answer,) = talk("Dr. Costa")
    (found,) = statements([asked, answer])
    assert found.text == "Who is your dentist? - Dr. Costa"
    assert found.cited == [asked, answer]


def test_an_answer_that_says_it_all_stands_alone() -> None:
    said = talk(("assistant", "Where do you live?"), "I live in a small village near Bergen with my two dogs.")
    assert texts(said) == ["I live in a small village near Bergen with my two dogs."]


def test_persons_with_names_are_quoted_by_name_whatever_their_role() -> None:
    said = [
        Message(role="user", name="Mira", content="I failed my driving test on June 9", id="a", sent_at=START),
        Message(role="assistant", name="Jo", content="My brother Anze got a job in Graz", id="b", sent_at=START),
    ]
    assert [(one.cited[0].name, one.text) for one in statements(said)] == [
        ("Mira", "I failed my driving test on June 9"), ("Jo", "My brother Anze got a job in Graz"),
    ]  # fmt: skip


# What is not


@pytest.mark.parametrize("role", ["assistant", "system", "developer", "tool", "function"])
def test_only_persons_state_facts(role: str) -> None:
    assert not statements(talk((role, "My sister Carla lives in Porto since 2020.")))


@pytest.mark.parametrize("source", ["document", "tool_external", "tool_internal", "model_inference"])
def test_what_a_user_passes_on_is_nobody_s_statement(source: Any) -> None:
    assert not statements(talk("My sister Carla lives in Porto since 2020.", source=source, trust=0.3))


def test_what_a_tool_asked_is_not_answered() -> None:
    assert all(" - " not in text for text in texts(talk(("tool", "Which city?"), "Porto, Portugal")))


@pytest.mark.parametrize(
    "said",
    [
        "hey, how's it going?", "ok thanks!", "lol", "good night, sleep well", "What's the capital of Australia?",
        "can you help me write an email", "make it shorter please", "i think so", "hmm let me think", "that would be nice",
        "no worries", "it's raining again",
    ],
)  # fmt: skip
def test_small_talk_questions_and_requests_are_left_out(said: str) -> None:
    assert not statements(talk(said))


@pytest.mark.parametrize(
    "hidden",
    [
        "```\nmy sister Carla lives in Porto since 2020\n```",
        "<memory ab12>\nKnown:\n- My sister Carla lives in Porto since 2020.\n</memory ab12>",
        "<memory ab12>\n- My sister Carla lives in Porto since 2020.",
        "[image: https://example.org/my-sister-Carla-in-Porto-2020.png]",
        "my sister Carla lives in Porto since 2020 and " * 30,
    ],
)  # fmt: skip
def test_code_quoted_memories_placeholders_and_text_without_an_end_are_no_prose(hidden: str) -> None:
    assert texts(talk(f"I work at Acme in Lisbon.\n\n{hidden}")) == ["I work at Acme in Lisbon."]


def test_messages_that_cannot_be_cited_are_left_out() -> None:
    fact = "My sister Carla lives in Porto."
    assert not statements(
        [Message(role="user", content=fact, sent_at=START), Message(role="user", content=fact, id="a")]
    )


def test_of_a_very_long_message_no_sentence_is_cut() -> None:
    fact = "My sister Carla lives in Porto since 2020. "
    assert set(texts(talk(fact * 1_000))) == {fact.strip()}


# Languages

FACTS = {
    "Spanish": ["Soy alérgica a los frutos secos.", "Vivo en Zaragoza desde enero.", "Mi cumpleaños es el 4 de mayo."],
    "German": ["Ich bin allergisch gegen Haselnüsse.", "Ich wohne in Kassel.", "Mein Geburtstag ist am 4. Mai."],
    "French": ["Je suis allergique aux noix.", "J'habite à Dijon depuis peu.", "Mon anniversaire est le 4 mai."],
    "Portuguese": ["Sou alérgica a camarão.", "Moro em Curitiba desde janeiro.", "Meu aniversário é dia 4 de maio."],
    "Chinese": ["我对海鲜过敏，吃了会起疹子。", "我住在青岛，离海边很近。", "我的生日是5月4日。"],
    "Japanese": ["私はそばアレルギーがあります。", "私は仙台に住んでいます。", "誕生日は5月4日です。"],
    "Hindi": ["मुझे दूध से एलर्जी है।", "मैं लखनऊ में रहता हूँ।", "मेरा जन्मदिन 4 मई को है।"],
    "Arabic": ["عندي حساسية من الفول السوداني.", "أسكن في مدينة طنجة مع أختي.", "عيد ميلادي في 4 مايو."],
    "Russian": ["У меня аллергия на клубнику.", "Я живу в Перми с родителями.", "Мой день рождения 4 мая."],
}
TALK = {
    "Spanish": ["¡Hola! ¿Qué tal?", "jajaja", "vale, gracias"],
    "German": ["Hallo!", "haha genau", "alles klar, danke"],
    "French": ["Salut, ça va ?", "merci beaucoup !", "haha d'accord"],
    "Portuguese": ["oi, tudo bem?", "kkkk", "muito obrigado!"],
    "Chinese": ["你好！", "哈哈哈", "好的，谢谢"],
    "Japanese": ["こんにちは", "元気ですか？", "なるほど"],
    "Hindi": ["नमस्ते", "आप कैसे हैं?", "धन्यवाद"],
    "Arabic": ["مرحبا", "كيف حالك؟", "شكرا جزيلا"],
    "Russian": ["привет", "как дела?", "спасибо большое"],
}


@pytest.mark.parametrize("language", FACTS)
def test_an_allergy_a_home_and_a_birthday_are_kept_in_any_language(language: str) -> None:
    assert texts(talk(*FACTS[language])) == FACTS[language]


@pytest.mark.parametrize("language", TALK)
def test_greetings_are_small_talk_in_any_language(language: str) -> None:
    assert not statements(talk(*TALK[language]))


# What it is worth


def test_worth_ranks_what_is_specific_before_what_is_not() -> None:
    assert worth("My son Leo was born on 3 May 2021 in Ghent") > worth("I like that") > worth("ok cool")


def test_worth_is_that_of_the_statement() -> None:
    said = "My sister Carla lives in Porto."
    assert [one.worth for one in statements(talk(said))] == [worth(said)]


# Hostile input


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a b ",
        "?",
        "my ",
        "<memory ",
        "[image: ",
        "```\n",
        "\n",
        "😀",
        "。",
        "ha",
        "I live in Rome. ",
        "- x\n",
        "'",
    ],
)
def test_long_hostile_text_takes_linear_time(piece: str) -> None:
    said = talk(("assistant", "?" * 200_000), (piece * 200_000)[:200_000])
    begun = time.process_time()
    statements(said)
    worth(said[1].content)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("said", ["", " \n", "😀🎉", "...", "?!", "\u200b", "'", "\x00", "¿", "-- - --"])
def test_text_without_words_states_nothing(said: str) -> None:
    assert not statements(talk(said))
    assert worth(said) < 0.2


def test_nothing_states_nothing() -> None:
    assert statements([]) == []


# The frame of what is said

OPENINGS = st.sampled_from(
    ("Translate into German", "Proofread this mail from my boss", "Here is a candidate's CV", "Look what she wrote",
     "Pretend I am a pirate", "Let's play a game", "Fill the form with test data", "The song goes like this")
)  # fmt: skip
OWN = st.lists(
    st.sampled_from(
        ("I live in a castle in Wales.", "My phone number is 555-0134.", "I am allergic to penicillin.",
         "I bought a house in Leeds in 2019.", "I have been married for ten years.", "I work at the harbour office.")
    ),
    min_size=1, max_size=3, unique=True,
)  # fmt: skip


@given(OPENINGS, st.sampled_from((":\n", ": ", ":\n\n", ". ", ".\n", ".\n\n")), OWN, st.sampled_from((" ", "\n")))
def test_nothing_is_taken_out_of_the_frame_that_opens_its_message(
    opening: str, mark: str, own: list[str], between: str
) -> None:
    for text in texts(talk(opening + mark + between.join(own))):
        assert text.startswith(opening + mark[0])


@given(OWN, st.sampled_from(("Can you turn this into a poem?", "Translate that into Polish please.")))
def test_a_request_at_the_end_that_points_at_what_was_said_goes_with_it(own: list[str], request: str) -> None:
    for text in texts(talk(f"{' '.join(own)} {request}")):
        assert text.endswith(request)


@given(OWN, st.sampled_from(('Is she right?\n"{}"', "He wrote:\n{}", 'People say things like "{} {}" here.')))
def test_what_is_quoted_is_no_statement_of_who_quotes(own: list[str], form: str) -> None:
    quoted = "\n".join(f"> {one}" for one in own) if form.startswith("He") else " ".join(own)
    found = texts(talk(form.replace("{} {}", "{}", 1).format(quoted) if len(own) > 1 or "{} {}" not in form else ""))
    assert not [text for text in found for one in own if one in text]


@given(
    OWN,
    st.sampled_from(
        ('Karim told me "{}" Crazy, right.', "A review: '{}' One star.", 'He said "{}" and left Leeds in 2019.')
    ),
)
def test_nothing_is_taken_out_of_a_quotation_nor_joined_around_it(own: list[str], form: str) -> None:
    said = form.format(" ".join(["I sold the farm in 2018.", *own]))
    for text in texts(talk(said)):
        assert text in said
        assert not any(one in text for one in own)
        assert not text.startswith("I ")


@given(
    OWN, st.sampled_from(("Voice note of my sister (transcribed): hi, ", "A colleague, verbatim: ", "Karen writes: "))
)
def test_what_is_introduced_with_a_colon_keeps_its_introduction_whatever_a_model_says(
    own: list[str], opening: str
) -> None:
    def sure(texts: Sequence[str]) -> dict[str, Judgement]:
        return {text: Judgement(0.0, -2 * CERTAIN) for text in texts}

    said = opening + " ".join(["I broke my leg in Leeds.", *own])
    for statement in statements(talk(said), sure):
        assert statement.text.startswith(opening.partition(":")[0])


FACTS_OF_ONESELF = st.sampled_from(("I'm diabetic", "I am allergic to shellfish", "I live in Kent", "my locker is 45"))


@given(
    FACTS_OF_ONESELF,
    st.sampled_from(
        ("remember that {}.", "don't forget: {}.", "Note: {}.", "just so you know, {}.", "FYI {}.", "{}, please remember that",
         "can you remember that {}?", "could you please note that {}?", "For future reference, {}.")
    ),
)  # fmt: skip
def test_of_a_request_to_remember_the_matter_is_kept(fact: str, form: str) -> None:
    assert [text.rstrip(".") for text in texts(talk(form.format(fact)))] == [fact]


@given(
    FACTS_OF_ONESELF,
    st.sampled_from((", can I eat this?", " so what can I cook?", " - any tips?", ", what do you suggest?")),
)
def test_of_a_fact_with_a_question_the_fact_is_kept(fact: str, question: str) -> None:
    assert texts(talk(fact + question)) == [fact]


@pytest.mark.parametrize("said", ["Do you remember that I live in Kent?", "If I live in Kent, what can I see?"])
def test_a_question_about_a_fact_is_no_request_to_remember_it(said: str) -> None:
    assert texts(talk(said)) == []


@pytest.mark.parametrize("ending", ["Best, Karen", "Thanks, Ana", "Cheers\nAna", "Kind regards,\nAna M.", "thanks!"])
def test_a_signature_is_no_part_of_a_statement(ending: str) -> None:
    assert texts(talk(f"My cat is called Miso and she is six.\n{ending}")) == ["My cat is called Miso and she is six."]


@pytest.mark.parametrize(
    "question",
    ["What were the sales figures of our customer Christophe last month?", "Who wrote the report on Ghent in 2019?"],
)
def test_a_question_is_no_statement(question: str) -> None:
    assert texts(talk(question)) == []
    assert texts(talk(f"I live in Ghent. {question}")) == ["I live in Ghent."]


def test_what_a_person_says_of_themselves_stays_as_it_is() -> None:
    assert texts(talk("I got the job at Siemens! I start on Monday the 3rd of May.")) == [
        "I got the job at Siemens!", "I start on Monday the 3rd of May.",
    ]  # fmt: skip
    assert texts(talk("So I moved to Leeds in May. My brother Tom lives there.")) == [
        "So I moved to Leeds in May.", "My brother Tom lives there.",
    ]  # fmt: skip
