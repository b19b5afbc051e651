"""Forgetting by description: what it takes and what it spares, previews, and the limit of erasing unseen."""

import inspect

import pytest

from mnemic import AsyncMemory, InvalidInput, Memory, Message, TooManyHits
from mnemic.testing import FailingEmbedder

ABOUT_ME = {
    "pay": "I make 52,000 a year as a welder",
    "rent": "My rent is 800 a month",
    "faith": "I'm a practising Hindu",
    "neighbour": "My neighbour is a Methodist",
    "nuts": "I break out in hives from cashews",
    "cashews": "I sell roasted cashews at the market",
    "ill": "I was diagnosed with epilepsy at twelve",
    "aunt": "My aunt has epilepsy as well",
    "eva": "Eva moved to Leeds in spring",
    "hers": "I lent my drill to Eva",
    "evan": "Evan fixed my roof",
    "split": "My ex Daniel works on a ferry",
    "keys": "Daniel still has a key to the shed",
    "port": "The staging server listens on port 7070",
    "production": "The production server listens on port 443",
}


@pytest.fixture(scope="module")
def of_a_model():
    """What is remembered of one user, compared by the default model."""
    with Memory(":memory:", user="ana") as memory:
        for id_, text in ABOUT_ME.items():
            memory.remember(text, id=id_)
        yield memory


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as opened:
        yield opened


def taken(receipts):
    return {receipt.id for receipt in receipts if receipt.outcome == "forgotten"}


@pytest.mark.parametrize(
    ("request_", "meant"),
    [
        ("my salary", {"pay"}),
        ("please drop my religion", {"faith"}),
        ("my cashew allergy", {"nuts"}),
        ("Forget what I said about my epilepsy.", {"ill"}),
        ("my aunt's epilepsy", {"aunt"}),
        ("erase everything about Eva", {"eva", "hers"}),
        ("everything about my ex", {"split", "keys"}),
        ("the port of the staging server", {"port"}),
        ("that I lent Eva my drill", {"hers"}),
        ("my horoscope", set()),
    ],
)
def test_what_people_mean_goes_and_nothing_else(of_a_model, request_, meant):
    assert taken(of_a_model.forget(request_, dry_run=True)) == meant


@pytest.mark.parametrize(
    ("request_", "spared", "why"),
    [
        ("my epilepsy", "aunt", "tells of somebody else"),
        ("my aunt's epilepsy", "ill", "resembles it"),
        ("Eva's drill", "eva", "resembles it"),
        ("the drill of Evan", "hers", "does not name who is meant"),
    ],
)
def test_what_stays_says_why(of_a_model, request_, spared, why):
    reasons = {r.id: r.reason for r in of_a_model.forget(request_, dry_run=True).rejected}
    assert reasons[spared] == f"{why}, and was kept: {ABOUT_ME[spared]}"


def test_other_languages_by_shared_words(memory):
    memory.remember("Mi hermano Pablo vive en Sevilla", id="home")
    memory.remember("Pablo tiene dos gatos", id="cats")
    memory.remember("Soy alérgica a los cacahuetes", id="nuts")
    assert taken(memory.forget("todo sobre Pablo", dry_run=True)) == {"home", "cats"}
    assert taken(memory.forget("alérgica a los cacahuetes", dry_run=True)) == {"nuts"}


@pytest.mark.parametrize(
    "more",
    [
        "I take the bus to work. My bicycle was stolen.",
        "My bicycle was stolen, and I fly to Porto on Friday.",
        "My bicycle was stolen; the sink drips again.",
    ],
)
def test_what_says_something_else_as_well_stays(memory, more):
    memory.remember(more, id="more")
    memory.remember("My bicycle was stolen. It was blue.", id="only")
    receipts = memory.forget("my stolen bicycle")
    assert taken(receipts) == {"only"}
    assert [(r.id, r.reason.startswith("says something else as well")) for r in receipts.rejected] == [("more", True)]
    assert [record.id for record in memory.list()] == ["more"]


def test_a_preview_changes_nothing_and_is_what_the_call_does(memory):
    memory.add([Message(role="user", content="My bicycle is a red Gazelle.", id="m1")])
    memory.remember("My bicycle is a red Gazelle.", id="bike", source_ids=["m1"])
    memory.remember("The bicycle shop opens at nine.", id="shop")
    events = memory.admin.log(kinds=("message", "memory"))
    preview = memory.forget("my red Gazelle bicycle", dry_run=True)
    assert taken(preview) == {"m1", "bike"}
    assert all("Gazelle" in receipt.reason for receipt in preview if receipt.changed)
    assert memory.admin.log(kinds=("message", "memory")) == events
    assert memory.forget("my red Gazelle bicycle") == preview
    assert [record.id for record in memory.list()] == ["shop"]
    assert memory.messages() == []


def test_the_receipt_names_what_holds_again(memory):
    memory.remember("The API runs on port 8080.", id="old")
    memory.remember("The API runs on port 9000.", id="new")
    preview = memory.forget("port 9000", dry_run=True)
    assert taken(preview) == {"new"}
    assert "'old'" in preview[0].reason
    assert memory.forget("port 9000") == preview


def test_few_are_erased_by_a_description_and_more_by_the_ids_of_a_preview(memory):
    for day in range(6):
        memory.remember(f"The tide table of day {day} is on the fridge.", id=f"t{day}")
    memory.forget(ids=["t0"])
    with pytest.raises(TooManyHits, match=r"6 records.*dry_run=True"):
        memory.forget("the tide table", hard=True)
    assert len(memory.list()) == 5
    seen = memory.forget("the tide table", hard=True, dry_run=True)
    assert len(taken(seen)) == 6, "what was forgotten before is erased as well"
    memory.restore("t0")
    assert memory.forget(ids=sorted(taken(seen))[1:], hard=True).ids == ("t1", "t2", "t3", "t4", "t5")
    assert memory.forget("the tide table", hard=True).ids == ("t0",)


def test_ids_have_no_preview(memory):
    memory.remember("The tide table is on the fridge.", id="t")
    with pytest.raises(InvalidInput, match="dry_run"):
        memory.forget(ids=["t"], dry_run=True)
    assert [record.id for record in memory.list()] == ["t"]


@pytest.mark.filterwarnings("ignore:Without vectors:RuntimeWarning")
def test_without_an_embedder_words_decide():
    embedder = FailingEmbedder()
    with Memory(":memory:", user="ana", embedder=embedder) as memory:
        memory.remember("My bicycle was stolen.", id="bike")
        memory.remember("My bicycle helmet is green.", id="helmet")
        embedder.down = True
        assert taken(memory.forget("the stolen bicycle")) == {"bike"}


async def test_the_asynchronous_face_is_the_same():
    assert inspect.signature(AsyncMemory.forget).parameters == inspect.signature(Memory.forget).parameters
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        await memory.remember("My bicycle was stolen.", id="bike")
        preview = await memory.forget("my stolen bicycle", dry_run=True)
        assert len(await memory.list()) == 1
        assert await memory.forget("my stolen bicycle") == preview
        assert await memory.list() == []
