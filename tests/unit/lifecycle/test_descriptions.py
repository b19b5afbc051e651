"""What a description means, and what it excepts: no wording takes what it says is to stay."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mnemic import InvalidInput, Memory
from mnemic.lifecycle.descriptions import divided

THINGS = {
    "landline": "My landline is 01584 555 210.",
    "mobile": "My mobile is 07700 900 871.",
    "old address": "My old address was 3 Elm Road.",
    "gym address": "My gym address is 9 Oak Road.",
    "locker code": "My locker code is 4711.",
    "cat": "My cat is a tabby.",
    "dog": "My dog is a terrier.",
    "friend Karen": "My friend Karen is a nurse.",
    "boss Carol": "My boss Carol is a chemist.",
}
DIVIDED = [
    "{take}{a} but keep {b}", "{take}{a}, keep {b}", "{take}{a}; please keep {b}", "{take}{a} and do keep {b}",
    "{take}{a}, not {b}", "{take}{a} but not {b}", "{take}{a} not {b}", "{take}{a} (but not {b})", "{take}{a}, but please not {b}",
    "{take}{a} except {b}", "{take}{a}, except for {b}", "{take}{a} apart from {b}", "{take}{a} other than {b}",
    "{take}{a} instead of {b}", "{take}{a}, {b} must stay", "{take}{a} \u2013 {b} stays", "{take}{a}, and leave {b}",
    "{take}{a}, but don't forget {b}", "{take}{a}. Do not delete {b}.", "{take}{a}. Don\u2019t, please, erase {b}!",
]  # fmt: skip
BEGUN = [
    "keep {b}, forget {a}",
    "keep {b} but delete {a}",
    "{b} must stay, forget {a}",
    "Don't forget {b}. Forget {a}.",
]
TAKE = st.sampled_from(("", "forget ", "Please delete ", "could you forget about ", "Erase "))
KEPT = [
    "don't forget {b}", "never forget {b}", "please do not delete {b}", "Don't, ever, erase {b}.", "you mustn't forget {b}",
    "I don't want you to forget {b}", "I'd rather you didn't delete {b}", "there's no need to remove {b}", "keep {b}",
    "forget nothing about {b}", "{b}: never delete it", "No, please don't wipe {b}!",
]  # fmt: skip
OWN = st.sampled_from(("my ", "the "))
THING = st.sampled_from(sorted(THINGS))


def described(data, wording, a, b):
    return wording.format(take=data.draw(TAKE), a=data.draw(OWN) + a, b=data.draw(OWN) + b)


@pytest.fixture(scope="module")
def of_things():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for id_, text in THINGS.items():
            memory.remember(text, id=id_)
        yield memory


def taken(receipts):
    return {receipt.id for receipt in receipts if receipt.outcome == "forgotten"}


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(DIVIDED + BEGUN), THING, THING, st.booleans())
def test_what_is_meant_goes_and_what_is_excepted_stays(of_things, data, wording, a, b, hard):
    assume(a != b)
    asked = described(data, wording, a, b)
    assert taken(of_things.forget(asked, dry_run=True, hard=hard)) == {a}


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(DIVIDED), THING, THING)
def test_a_correction_ends_nothing_that_its_description_excepts(of_things, data, wording, a, b):
    assume(a != b and " " not in a + b)
    asked = wording.format(take="", a=f"my {a}", b=f"the {b}")
    (would, *_) = of_things.correct(asked, f"My {a} is 99 88 77.", dry_run=True)
    assert would.reason.startswith(f"would replace '{a}': ")


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(KEPT), THING, st.booleans())
def test_a_request_to_keep_forgets_nothing_and_says_so(of_things, data, wording, b, hard):
    with pytest.raises(InvalidInput, match="asks that something is kept"):
        of_things.forget(described(data, wording, "", b), hard=hard)
    assert {record.id for record in of_things.list()} == {*THINGS}


def test_everything_but_one_thing_describes_nothing(of_things):
    with pytest.raises(InvalidInput, match="nothing in particular"):
        of_things.forget("forget everything except my mobile")


@pytest.mark.parametrize(
    "text",
    [
        "don't keep the part about the clinic", "please don't remember that I smoke", "I don't want you to remember my debts",
        "I'd rather you didn't keep my address", "don't forget to delete my email", "never mind the trip, forget it",
        "Forget about Mr. Reyes, he's not my landlord anymore.", "forget that it was not my fault", "that I'm not the owner",
        "forget that I never forget a birthday", "not only the cat but the dog too", "my sister stays with us", "my dad is fine",
        "that I keep two hens", "what I said about the cat, and the dog", "my salary, which is $12,000",
    ],
)  # fmt: skip
def test_what_excepts_nothing_is_whole(text):
    description = divided(text)
    assert (description.meant, description.excluded) == (text, ())


@pytest.mark.parametrize("said", ["I eat everything except fish.", "I drink tea, not coffee."])
def test_a_statement_with_an_exception_of_its_own_can_be_forgotten(said):
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember(said, id="said")
        assert taken(memory.forget(f"forget that {said}", dry_run=True)) == {"said"}


def test_of_somebody_an_exception_stays():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember("Eva moved to Leeds.", id="home")
        memory.remember("Eva's birthday is in May.", id="birthday")
        receipts = memory.forget("everything about Eva except her birthday")
        assert taken(receipts) == {"home"}
        assert receipts.rejected[0].reason == "kept: nearer to what is excepted: Eva's birthday is in May."


def test_what_is_excepted_stays_where_it_is_named():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember("My dog Tiggy is a terrier.", id="dog")
        memory.remember("Tiggy takes half a tablet.", id="hers")
        memory.remember("I take a tablet at night.", id="mine")
        assert taken(memory.forget("forget the tablet but keep the dog's", dry_run=True)) == {"mine"}
