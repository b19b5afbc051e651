"""What adapters share: whose memory a call is about, and arguments that are given once for all calls."""

import inspect
from types import SimpleNamespace

import pytest

from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory, Scope, bound, checked_options
from mnemic.adapters import checked_filters


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", project="site", embedder="hashing") as memory:
        yield memory


@pytest.mark.parametrize(
    "scope", [{"user": "ben"}, Scope(user="ben"), lambda call: {"user": call.user}, lambda call: Scope(user=call.user)]
)
def test_a_call_is_about_the_user_that_the_program_names(memory, scope):
    call = SimpleNamespace(user="ben")
    for handle in (memory, AsyncMemory.over(memory)):
        assert bound(handle, scope, call).scope == Scope(user="ben")
        assert bound(handle, None, call) is handle


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (lambda call: {"user": call.context.user_id}, "'NoneType' object has no attribute 'user_id'"),
        (lambda call: {"user": call.config["configurable"]["user_id"]}, "KeyError: 'configurable'"),
        (lambda call: {"user": call.context["user_id"]}, "not subscriptable"),
        (lambda call: None, "not NoneType"),
        (lambda call: {"user": None}, "no user"),
        ({"usr": "ben"}, "usr"),
    ],
)
def test_a_scope_that_gives_nothing_is_an_error_and_never_somebody_else(memory, scope, said):
    with pytest.raises(InvalidInput, match="scope") as caught:
        bound(memory, scope, SimpleNamespace(context=None, config={}))
    assert said in str(caught.value)


WRONG = [
    ("max_tokens", "x"), ("max_tokens", 0), ("max_tokens", True), ("min_evidence", "much"), ("kinds", ["dream"]), ("reach", "far"),
    ("types", "semantics"), ("tags", [1]), ("metadata", []), ("since", "yesterday"), ("at", 7), ("session", 3), ("min_trust", 2),
    ("now", "now"), ("recipe", "soup"), ("nonsense", 1), ("query", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_a_context_would_refuse_is_refused_when_it_is_given(memory, name, value):
    for given, own in (({name: value}, {}), ({}, {name: value})):
        if own and name in ("nonsense", "query"):
            continue
        with pytest.raises(ConfigurationError, match=name):
            checked_options(Memory.get_memory_context, given, own=own, reserved=("query",))
    with pytest.raises((InvalidInput, TypeError)):
        memory.get_memory_context(**{"query": "x", name: value} if name != "query" else {"query": 7})


@pytest.mark.parametrize(
    ("name", "value"), [("k", 0), ("k", "x"), ("min_similarity", 2), ("expand_links", 11), ("mood", 1), ("role", 1)]
)
def test_what_a_search_would_refuse_is_refused_when_it_is_given(memory, name, value):
    with pytest.raises(ConfigurationError, match=name):
        checked_options(Memory.search, {name: value})
    with pytest.raises(InvalidInput):
        memory.search("x", **{name: value})


@pytest.mark.parametrize("method", [Memory.search, Memory.get_memory_context])
def test_every_argument_of_a_method_is_known(method):
    usual = {
        name: parameter.default
        for name, parameter in inspect.signature(method).parameters.items()
        if name not in ("self", "query", "filters")
    }
    assert checked_options(method, usual) == usual
    assert checked_options(method, {"reach": "session"}) == {"reach": "session"}  # whether there is one, the call tells


def test_what_is_an_argument_of_the_adapter_is_not_given_twice():
    with pytest.raises(ConfigurationError, match=r"recall_kwargs: .*max_tokens"):
        checked_options(Memory.get_memory_context, {"max_tokens": 3}, own={"max_tokens": 5}, what="recall_kwargs")


def test_a_method_that_takes_its_filters_as_one_set_knows_their_names():
    def search(query, *, k=10, **filters):
        return query, k, filters

    assert checked_filters(search, {"role": "user"}, k=3) == {"role": "user", "k": 3}
    for wrong in ("filters", "colour", "k"):
        with pytest.raises(ConfigurationError, match=wrong):
            checked_filters(search, {wrong: "x"})
