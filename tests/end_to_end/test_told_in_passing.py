"""What people tell of themselves in passing, over weeks: what ends, what goes on, what was never meant."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic import Memory

BEGAN = datetime(2025, 1, 6, 9, tzinfo=UTC)


def told(*said, name=None, embedder="hashing"):
    """A memory to which this was said, one sentence in a fortnight."""
    memory = Memory(":memory:", user="ana", **({"embedder": embedder} if embedder else {}))
    for number, text in enumerate(said):
        at = BEGAN + timedelta(days=14 * number)
        memory.add(
            [
                {"role": "user", "name": name, "content": text, "sent_at": at},
                {"role": "assistant", "content": "Okay.", "sent_at": at + timedelta(minutes=1)},
            ],
            session=f"s{number}",
        )
        memory.process()
    return memory


def known(memory):
    return [record.content for record in memory.list()]


def ended(memory):
    return [record.content for record in memory.list(include_expired=True) if record.expired_at]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Paris.", "I have moved to Rome last week, I live in Rome now."),
        ("I live in Paris.", "I'm living in Rome these days."),
        ("I live in Paris.", "Now that I live in Rome, I eat better."),
        ("I live in Paris.", "My new apartment is in Rome."),
        ("I live in Paris.", "Sorry, I meant I live in Rome, not Paris."),
        ("I live in Paris.", "I'm in Rome now, moved last week."),
        ("I live in Paris.", "We're settled in Rome now after the move."),
        ("I live in Paris.", "I just got back from Paris and now live in Rome with my wife."),
        ("I work at Airbus as an engineer.", "I'm now working for Leonardo."),
        ("I work at Airbus as an engineer.", "Started at Leonardo last week, as a designer."),
        ("I work at Airbus as an engineer.", "I got laid off from Airbus last month."),
        ("I work at Airbus as an engineer.", "My last day at Airbus was Friday."),
        ("My girlfriend is called Lena.", "Lena and I broke up last week."),
        ("My girlfriend is called Lena.", "I'm single again since the breakup."),
        ("My girlfriend is called Lena.", "I have a new girlfriend, Sofia."),
        ("I'm married to Tom.", "I separated from Tom in spring."),
        ("I'm vegetarian.", "I eat meat again since last month."),
        ("I drive a Toyota Corolla.", "I sold the Toyota and bought a Tesla."),
        ("I drive a Toyota Corolla.", "I don't have a car anymore."),
        ("I'm allergic to peanuts.", "Turns out I'm not allergic to peanuts after all."),
        ("I go to the gym three times a week.", "I stopped going to the gym."),
        ("My dog is called Rex.", "Rex died last week."),
        ("My dog is called Rex.", "We had to put Rex down in May."),
        ("My boss is Maria.", "Maria left, Tom is my boss now."),
        ("I smoke ten cigarettes a day.", "I don't smoke anymore."),
        ("Please always answer in English.", "Please answer in German from now on."),
    ],
)
def test_what_is_told_in_passing_ends_what_it_replaces(old, new):
    memory = told(old, new)
    assert len(ended(memory)) == 1
    assert len(known(memory)) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(
            ("I live in Paris.", new)
            for new in (
                "I might move to Rome.", "My friend moved to Rome.", "I'm in Rome this week for work.", "I used to live in Rome.",
                "If I lived in Rome I'd eat pizza every day.", "I'm going to Rome next month.", "My new office is in Rome.",
                "My parents' new house is in Rome.", "Now that my brother lives in Rome, I visit often.",
                "We had dinner in Rome, moved by the food.",
            )
        ),
        ("I work at Airbus.", "Tom got laid off from Airbus."),
        ("I work at Airbus.", "I got fired up about the Airbus project."),
        ("I work at Airbus.", "I was afraid of being laid off, but I kept my job."),
        ("I work at Airbus.", "My wife started at Leonardo last week."),
        ("My girlfriend is called Lena.", "My sister broke up with Tom."),
        ("My girlfriend is called Lena.", "I had a dream that Lena and I broke up."),
        ("I'm vegetarian.", "My husband eats meat again."),
        ("My dog is called Rex.", "My neighbour's cat Mia died."),
        ("My dog is called Rex.", "I put Rex in the car."),
        ("I go to the gym three times a week.", "My wife stopped going to the gym."),
        ("I'm allergic to peanuts.", "My son is not allergic to peanuts after all."),
        ("I smoke ten cigarettes a day.", "My dad doesn't smoke anymore."),
    ],
)  # fmt: skip
def test_what_may_be_or_is_told_of_others_ends_nothing(old, new):
    assert ended(told(old, new)) == []


@pytest.mark.parametrize(
    "new",
    [
        "From now on I only drink tea.", "My sister is vegetarian now, unlike me.", "My sister dropped me at the airport.",
        "Tom moved away from me.", "From here on I pay the rent.", "Apart from that I now work out daily.",
    ],
)  # fmt: skip
def test_the_name_of_who_speaks_is_no_value_that_was_replaced(new):
    facts = ("I live in Bonn.", "My dentist is Dr. Costa.", "I'm allergic to nuts.", "My sister plays tennis.")
    assert ended(told(*facts, new, name="Maya")) == []


@pytest.mark.parametrize(
    ("now", "story"),
    [
        ("I live in Berlin.", "I moved to Madrid for a semester in 2012."),
        ("I live in Berlin.", "We moved to Madrid when I was six."),
        ("I moved to Berlin in 2015.", "I moved to Madrid in 2012."),
        ("I work at Siemens.", "I joined Google in 2010."),
        ("I'm married to Tom.", "I married Bob when I was 20."),
        ("I'm vegan.", "I turned vegetarian in 2005."),
    ],
)
def test_a_story_from_the_past_ends_nothing_that_holds(now, story):
    (statement,) = known(told(now, name="Maya"))
    assert statement in known(told(now, story, name="Maya"))


def test_what_began_later_takes_the_place_of_what_began_before():
    assert known(told("I moved to Berlin in 2015.", "I moved to Rome in 2018.")) == ["The user moved to Rome in 2018."]


@pytest.mark.parametrize(
    ("old", "new", "rest"),
    [
        ("I'm vegan and allergic to nuts.", "I'm vegetarian now, not vegan.", "The user is allergic to nuts."),
        ("I live in Rome and work as a nurse.", "I moved to Oslo.", "The user works as a nurse."),
        ("I live in Rome and work as a nurse.", "I work as a teacher now.", "The user lives in Rome."),
        ("I live in Hamburg and work as an analyst at Otto.", "I quit my job at Otto.", "The user lives in Hamburg."),
        ("My dog Rex is five and my cat Tom is three.", "My dog Rex is six now.", "The user's cat Tom is three."),
        ("I live in Rome and my cat is called Miso.", "I moved to Oslo.", "The user's cat is called Miso."),
    ],
)
def test_where_one_of_two_things_changed_the_other_holds(old, new, rest):
    memory = told(old, new)
    assert rest in known(memory)
    assert len(known(memory)) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My boyfriend is Jonas. He is allergic to nuts.", "My boyfriend is Rafael now."),
        ("My dentist is Dr. Costa. He lives in Oslo.", "My new dentist is Dr. Haas."),
    ],
)
def test_nothing_is_left_of_which_nobody_knows_whom_it_is_about(old, new):
    assert len(known(told(old, new))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "I'm pregnant!! April fools.", "I bought a Ferrari yesterday. Just kidding!",
        "I quit my job at Siemens. Not really, just testing you.", "I live in Rome. Haha, just kidding \U0001f602",
    ],
)  # fmt: skip
def test_what_is_taken_back_at_once_was_not_meant(text):
    assert known(told(text)) == []


def test_stays_and_leaves_of_a_person_do_not_end_each_other():
    said = (
        "I'm on holiday from 1 July to 14 July.", "I'm in Paris from June 3 to June 7.", "I start on May 5.",
        "I'm on parental leave from 1 October to 31 December.",
    )  # fmt: skip
    assert ended(told(*said)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Don't book the flight yet.", "Use butter instead of oil for this one.", "Make sure you sleep enough, my doctor said.",
        "Every time I see Tom he talks about football.", "Always call me Captain today.", "Do not reply to Tom yet.",
        "Whenever I eat nuts, I get a rash.", "In future I want to travel more.", "Always the same with Jonas.",
    ],
)  # fmt: skip
def test_what_is_for_once_or_about_oneself_is_no_rule(text):
    assert not any("rule" in content for content in known(told(text)))


@pytest.mark.parametrize(
    "text",
    [
        "Always use tabs.", "Never push to main.", "Whenever I ask for code, use tabs.", "Always do what the manual says.",
        "From now on, start each answer with today's date.", "Please answer in German from now on.",
    ],
)  # fmt: skip
def test_what_holds_from_now_on_is_a_rule(text):
    assert [content.partition(":")[0] for content in known(told(text))] == ["The user's rule"]


def test_a_household_is_no_team():
    assert known(told("We have two cats.")) == ["The user and others have two cats."]
    assert known(told("We deploy on Fridays.")) == ["The user's team deploys on Fridays."]


@pytest.mark.parametrize(
    ("own", "of_another", "question"),
    [
        ("I'm allergic to hazelnuts.", "Tom turned out to be allergic to shrimp.", "What am I allergic to?"),
        ("I work at Otto as an analyst.", "Lena works at Siemens now.", "Where do I work?"),
        ("My new manager is Aylin Demir.", "My sister got a new manager, Mr. Blunt.", "Who is my manager?"),
        ("I quit my job at Zalando.", "Rafael found a new job at Graft.", "What is my job now?"),
    ],
)
def test_what_holds_of_others_or_of_other_matters_does_not_come_first(own, of_another, question):
    with told(own, of_another, embedder=None) as memory:
        assert memory.search(question)[0].text == own


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Eva has diabetes and Tom lives in Bonn.", "Tom"),
        ("The API runs on port 9000 and the admin password rotates every Monday.", "port"),
    ],
)
@pytest.mark.parametrize("hard", [False, True])
def test_forgetting_keeps_what_says_something_else(text, meant, hard):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember(text)
        memory.forget(meant, hard=hard)
        assert known(memory) == [text]


def test_forgetting_keeps_a_memory_that_says_something_else():
    memory = told("I live in Rome and my cat is called Miso.")
    memory.forget("my cat")
    assert known(memory) == ["The user lives in Rome and their cat is called Miso."]
    memory.forget("Rome")
    assert known(memory) == ["The user lives in Rome and their cat is called Miso."]


@pytest.mark.parametrize(
    ("said", "statement", "since"),
    [
        ("I moved to Bonn half a year ago.", "The user moved to Bonn half a year ago.", None),
        ("I met Tom three weeks and two days ago.", "The user met Tom three weeks and two days ago.", None),
        ("I left Otto a little over a year ago.", "The user left Otto around 2024.", 2024),
        ("I moved to Bonn in December last year.", "The user moved to Bonn in December 2024.", 2024),
    ],
)
def test_dates_as_people_tell_them(said, statement, since):
    (record,) = told(said).list()
    assert record.content == statement
    assert (record.valid_at and record.valid_at.year) == since


def test_the_start_of_a_conversation_stands_under_the_days_it_was_said():
    text = told("I sold my car in 2018.").get_memory_context().text
    assert "Monday 6 January 2025:" in text
    assert "1 January 2018" not in text
