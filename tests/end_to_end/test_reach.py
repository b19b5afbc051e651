"""How far a search looks: every value of reach with sessions, projects and what belongs to none."""

import pytest

from mnemic import InvalidInput

PLACES = {
    "session": {"project": "web", "session": "s1"},
    "other session": {"project": "web", "session": "s2"},
    "project": {"project": "web"},
    "other project": {"project": "app"},
    "global": {},
}


@pytest.fixture
def handle(opened):
    """A handle in a session of a project, over a record with a port told at every level, and a message at every place."""
    root = opened(user="ana", embedder="hashing")
    for port, (place, scope) in enumerate(PLACES.items(), start=8001):
        here = root.scoped(**scope)
        here.remember(f"The {place} proxy listens on port {port}.", level="session" if "session" in scope else None)
        here.add(f"Somebody of the {place} asked which port the proxy listens on.")
    root.scoped(user="ben").remember("The proxy of somebody else listens on port 9999.")
    return root.scoped(**PLACES["session"])


def told(found, kind) -> list[str]:
    """The places that hits speak of, in order."""
    texts = [hit.text for hit in found if hit.kind == kind]
    return [max((place for place in PLACES if f" {place} " in text), key=len) for text in texts]


MEMORIES = {
    "session": ["session"],
    "project": ["session", "project"],
    "project+global": ["session", "project", "global"],
    "user": ["session", "project", "other project", "global"],
    "auto": ["session", "project", "other project", "global"],
}
MESSAGES = {
    "session": ["session"],
    "project": ["session", "other session", "project"],
    "project+global": ["session", "other session", "project", "global"],
    "user": [*PLACES],
    "auto": [*PLACES],
}


@pytest.mark.parametrize("reach", MEMORIES)
def test_what_each_reach_sees(handle, reach):
    def search(kind):
        return told(handle.search("Which port does the proxy listen on?", kinds=[kind], reach=reach, k=50), kind)

    assert {*search("memory")} == {*MEMORIES[reach]}
    assert {*search("message")} == {*MESSAGES[reach]}
    listed = {record.content.split(" proxy")[0].removeprefix("The ") for record in handle.list(reach=reach)}
    # a list is not ranked, so that there is nothing to widen for
    assert listed == {*MEMORIES["project+global" if reach == "auto" else reach]}
    context = handle.get_memory_context("Which port does the proxy listen on?", reach=reach, max_tokens=5_000)
    assert "port 9999" not in context.text
    for place in PLACES:
        assert (f"Somebody of the {place} asked" in context.text) == (place in MESSAGES[reach])


@pytest.mark.parametrize("reach", ["project+global", "user"])
@pytest.mark.parametrize("recipe", ["conversation", "facts"])
@pytest.mark.parametrize("order", [1, -1])
def test_of_equals_the_narrower_level_ranks_first(opened, reach, recipe, order):
    root = opened(user="ana", embedder="hashing")
    places = {"global": {}, "project": {"project": "web"}, "session": {"project": "web", "session": "s1"}}
    ids = {
        level: root.scoped(**places[level]).remember("The door is green.", level="session" if level == "session" else None).id
        for level in [*places][::order]
    }  # fmt: skip
    handle = root.scoped(project="web", session="s1")
    (found,) = handle.search("Which colour has the door?", kinds=["memory"], reach=reach, recipe=recipe)
    assert [found.id, *found.similar] == [ids["session"], ids["project"], ids["global"]]


def test_the_level_breaks_ties_and_hides_nothing(handle):
    found = handle.search("The global proxy listens on port 8005.", kinds=["memory"])
    assert told(found, "memory")[0] == "global"


def test_auto_goes_from_narrow_to_wide_and_stops_when_there_is_enough(handle):
    asked = "Which port does the proxy listen on?"
    found = handle.search(asked, reach="auto", kinds=["memory"], k=50)
    assert told(found, "memory")[:2] == ["session", "project"]
    assert told(handle.search(asked, reach="auto", kinds=["memory"], k=1), "memory") == ["session"]
    assert told(handle.search(asked, reach="auto", kinds=["message"], k=3), "message")[0] == "session"
    assert "other project" not in told(handle.search(asked, reach="auto", kinds=["message"], k=3), "message")
    nowhere = handle.scoped(session="new").search(asked, reach="auto", kinds=["memory"], k=50)
    assert told(nowhere, "memory")[0] == "project"


def test_auto_of_a_handle_without_project_and_session_is_all_of_the_user(opened):
    root = opened(user="ana", embedder="hashing")
    root.remember("The global proxy listens.")
    root.scoped(project="web").remember("The project proxy listens.")
    for reach in ("auto", "user", "project+global"):
        assert {*told(root.search("proxy", reach=reach, k=50), "memory")} == {"global", "project"}


@pytest.mark.parametrize(("reach", "missing"), [("session", "session"), ("project", "project")])
def test_a_reach_needs_its_place(opened, reach, missing):
    root = opened(user="ana", embedder="hashing")
    for call in (root.list, root.messages, root.episodes, lambda **k: root.search("x", **k), root.get_memory_context):
        with pytest.raises(InvalidInput, match=f"needs a {missing}"):
            call(reach=reach)
