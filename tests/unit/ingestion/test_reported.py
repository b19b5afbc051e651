import pytest

from mnemic.ingestion.reported import bare, reported


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I'm moving to Lisbon in June!", "Ana is moving to Lisbon in June."),
        ("I love my job.", "Ana loves their job."),
        ("I own two cats and I no longer go to the gym.", "Ana owns two cats and they no longer go to the gym."),
        ("I no longer go there.", "Ana no longer goes there."),
        ("I dont want store credit.", "Ana doesn't want store credit."),
        ("I'm Ana and I work as a nurse.", "Ana works as a nurse."),
        ("Oh and I moved.", "Ana moved."),
        ("I was tired and I went home.", "Ana was tired and they went home."),
        ("I've never tried it, and I don't want to.", "Ana has never tried it, and they don't want to."),
        ("I'd never been there.", "Ana had never been there."),
        ("I'd rather stay.", "Ana would rather stay."),
        ("I really study a lot, I am happy", "Ana really studies a lot, they are happy."),
        ("I don't eat meat", "Ana doesn't eat meat."),
        ("I can't come.", "Ana can't come."),
        ("I went to the lake with Tom.", "Ana went to the lake with Tom."),
        ("My sister has 3 cats.", "Ana's sister has 3 cats."),
        ("My doctor told me to rest.", "Ana's doctor told them to rest."),
        ("Wow, I passed!", "Ana passed."),
        ("And I think you should call him.", "Ana thinks Ben should call him."),
        ("Hey Ben, I got your letter.", "Ana got Ben's letter."),
        ("You're right, the train was late.", "Ana said that Ben is right, the train was late."),
        ("The train was late.", "Ana said that the train was late."),
        ("Lisbon is warm.", "Ana said that Lisbon is warm."),
        ("That's my brother.", "Ana said that's their brother."),
        ("We went camping.", "Ana said that they went camping."),
        ("Went camping with my kids.", "Ana went camping with their kids."),
        ("Haven't slept well.", "Ana hasn't slept well."),
        ("Been busy with work.", "Ana has been busy with work."),
        ("Just finished the report.", "Ana just finished the report."),
        ("Looking forward to it!", "Ana is looking forward to it."),
        ("Trying new food can be fun.", "Ana said that trying new food can be fun."),
        ("Twisted my knee on the stairs.", "Ana twisted their knee on the stairs."),
        ("Excited to see you!", "Ana is excited to see Ben."),
        ("I set up a stall.", "Ana set up a stall."),
        ("Max and I had a picnic.", "Ana said that Max and Ana had a picnic."),
        ("I moved to Porto and I love it.", "Ana moved to Porto and they love it."),
        ("I met Max and I like him.", "Ana met Max and they like him."),
        ("Exciting news: I got a puppy!", "Ana got a puppy."),
        ("But remember the keys.", 'Ana said: "Remember the keys."'),
        ("When I cook, my cat watches.", "When Ana cooks, their cat watches."),
        ("On 7 May 2023 I ran 5 km.", "On 7 May 2023 Ana ran 5 km."),
        ("Do I know him?", 'Ana asked: "Do I know him?"'),
        ("Don't forget the keys.", 'Ana said: "Don\'t forget the keys."'),
        ('Check "Dune" first.', "Ana said: \"Check 'Dune' first.\""),
        ("Ich wohne jetzt in Berlin.", 'Ana said: "Ich wohne jetzt in Berlin."'),
        (
            "\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059\u3002",
            'Ana said: "\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059\u3002"',
        ),
        ("So much rain fell here.", "Ana said that so much rain fell here."),
        ("!!!", ""),
    ],
)
def test_reported_speech(said, told):
    assert reported(said, "Ana", "Ben", frozenset({"Ben"})) == told


def test_roles_in_the_place_of_names():
    assert reported("I need 4 tickets to Porto.", "the user", "the assistant") == "The user needs 4 tickets to Porto."
    assert reported("My flight was late.", "the user", "the assistant") == "The user's flight was late."
    assert (
        reported("Your seat is 12A.", "the assistant", "the user") == "The assistant said that the user's seat is 12A."
    )


def test_nobody_in_particular_is_addressed():
    assert reported("I told you about it.", "Ana", None) == "Ana told the others about it."


def test_openers_go_and_words_that_only_look_like_them_stay():
    assert bare("Well, so, I left.") == "I left."
    assert bare("Thanks, Ben! I left.", frozenset({"Ben"})) == "I left."
    assert bare("No one came.") == "No one came."
    assert bare("Great food, Ben!", frozenset({"Ben"})) == "Great food!"
    assert bare("Wow!") == "Wow!"
    assert bare("Yeah, PT is hard.") == "PT is hard."
    assert bare("Wow Mel, that is far.", frozenset({"Melanie"})) == "that is far."
    assert bare("Wow Tom, that is far.", frozenset({"Melanie"})) == "Tom, that is far."


def test_a_sentence_without_subject_is_quoted_after_one_of_somebody_else():
    said = "Bought a Tesla in March."
    assert reported(said, "Ana", None, of_another=True) == 'Ana said: "Bought a Tesla in March."'
    assert reported(said, "Ana", None) == "Ana bought a Tesla in March."
    assert reported("I bought a Tesla.", "Ana", None, of_another=True) == "Ana bought a Tesla."
