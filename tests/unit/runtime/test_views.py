"""The caches of a runtime under threads and under eviction, and the arguments of a question."""

import asyncio
import itertools
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.internals import cached, runtime_of, store_of

from mnemic import AsyncMemory, Conflict, HashingEmbedder, InvalidInput, Memory, Message, validation
from mnemic.lifecycle import consolidation
from mnemic.recall import query as queries
from mnemic.recall.recipes import CONVERSATION, RECIPES
from mnemic.runtime import views
from mnemic.types import Scope

PLAIN = replace(CONVERSATION, quality={})
"""The default recipe, ranked by nothing but the query."""


def together(*works):
    """Run functions in threads at once; the errors they raised."""
    failed: list[BaseException] = []
    start = threading.Barrier(len(works))

    def guarded(work):
        try:
            start.wait(timeout=30)
            work()
        except BaseException as error:  # noqa: BLE001 - whatever a thread raises is the finding
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    return failed


@pytest.fixture(params=["folder", "ram"])
def memory(request, tmp_path):
    with Memory(tmp_path / "memory" if request.param == "folder" else ":memory:", embedder="hashing") as memory:
        yield memory


def test_searches_while_others_write(memory):
    """Nothing is raised, every search sees what was acknowledged before it, and in the end everything is found."""
    acknowledged: list[str] = []

    def write(name):
        for n in range(40):
            memory.add(f"garden {name} word{name}{n}", id=f"{name}{n}", session=name)
            acknowledged.append(f"{name}{n}")

    def search():
        for _ in range(40):
            known = set(acknowledged)
            found = {hit.id for hit in memory.search("garden", k=1_000)}
            assert known <= found

    assert together(lambda: write("a"), lambda: write("b"), search, memory.stats) == []
    for name in "ab":
        for n in range(40):
            assert memory.search(f"word{name}{n}", k=1)[0].id == f"{name}{n}"
    assert memory.admin.verify().findings == ()


def test_changes_by_several_threads_leave_the_last_word(memory):
    memory.add("garden zero", id="zero")
    ids = [memory.remember(f"version 0 of fact {name}", id=name).id for name in ("x", "y")]
    memory.search("garden")

    def change(id_):
        for n in range(1, 15):
            assert memory.update(id_, content=f"version {n} of fact {id_}").outcome == "stored"
            memory.forget(ids=["zero"])
            memory.restore("zero")

    assert together(*[lambda id_=id_: change(id_) for id_ in ids], memory.stats, memory.messages) == []
    hits = memory.search("version fact", kinds=["memory"])
    assert {hit.text for hit in hits} == {"version 14 of fact x", "version 14 of fact y"}
    assert [len(memory.history(id_)) for id_ in ids] == [15, 15]
    assert memory.admin.verify().findings == ()


def test_two_handles_on_one_folder_follow_each_other(tmp_path):
    with Memory(tmp_path, embedder="hashing") as one, Memory(tmp_path, embedder="hashing") as other:
        for n in range(12):
            writer, reader = (one, other) if n % 2 else (other, one)
            writer.add(f"garden number{n}", id=f"m{n}")
            assert reader.search(f"number{n}", k=1)[0].id == f"m{n}"
            assert {hit.id for hit in reader.search("garden", k=100)} == {f"m{i}" for i in range(n + 1)}
        id_ = one.remember("the shed is red").id
        assert other.search("shed", kinds=["memory"])[0].text == "the shed is red"
        other.update(id_, content="the shed is blue")
        assert one.search("blue", kinds=["memory"])[0].scores["bm25"] > 0
        assert one.search("red", kinds=["memory"])[0].scores["bm25"] == 0
        one.forget(ids=[id_, "m3"])
        assert len(other.search("shed", kinds=["memory"])) == 0
        assert "m3" not in {hit.id for hit in other.search("garden", k=100)}


def test_users_that_do_not_fit_are_forgotten_and_read_again(memory, monkeypatch):
    monkeypatch.setattr(views, "MAX_CACHED_ROWS", 25)
    users = [memory.scoped(user=f"u{n}") for n in range(6)]
    for n, user in enumerate(users):
        user.add([Message(role="user", content=f"garden {n} {i}", id=f"{n}-{i}") for i in range(10)])
    before = [[(hit.id, hit.score) for hit in user.search("garden", recipe=PLAIN)] for user in users]
    for _ in range(2):
        for n, user in enumerate(users):
            assert [(hit.id, hit.score) for hit in user.search("garden", recipe=PLAIN)] == before[n]
            assert sum(cached(memory)[0].values()) <= 25
    users[0].add("garden late", id="late")
    assert "late" in {hit.id for hit in users[0].search("garden", k=50)}
    assert [*cached(memory)[0]][-1] == store_of(memory).user("u0")  # the latest asked about stays
    errors = together(*[lambda user=user: [user.search("garden", k=50) for _ in range(10)] for user in users])
    assert errors == []
    sizes, counted = cached(memory)
    assert counted == sum(size + views.USER_ROWS for size in sizes.values())
    for user in users:
        user.admin.erase_user()
        assert not user.search("garden")
    assert cached(memory) == ({}, 0)


def test_one_user_larger_than_the_limit_is_still_searched(memory, monkeypatch):
    monkeypatch.setattr(views, "MAX_CACHED_ROWS", 3)
    memory.add([Message(role="user", content=f"garden {i}", id=f"{i}") for i in range(10)])
    for _ in range(2):
        assert len(memory.search("garden", k=50)) == 10


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_the_order_does_not_depend_on_k_within_the_pool(memory, recipe):
    texts = [f"{'water ' * (n % 3)}the garden of number {n % 7}{'?' * (n % 2)}" for n in range(60)]
    memory.add([Message(role="user", content=text, session=f"s{n % 4}") for n, text in enumerate(texts)])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    whole = [hit.id for hit in memory.search("water the garden", k=60, recipe=recipe, now=now)]
    for k in (1, 2, 7, 30, 59):
        assert [hit.id for hit in memory.search("water the garden", k=k, recipe=recipe, now=now)] == whole[:k]


def test_combined_filters_are_an_intersection(memory):
    for n in range(24):
        memory.scoped(project=("p", "q", None)[n % 3]).remember(
            f"garden fact {n}", tags=[f"t{n % 2}"], metadata={"n": n % 4, 'we"ird\n$.key': "ä"},
            type=("semantic", "procedural")[n % 3 == 0],
        )  # fmt: skip
    here = memory.scoped(project="p")

    def found(**filters):
        return {hit.text for hit in here.search("garden", k=100, **filters)}

    parts = [{"tags": ["t1"]}, {"metadata": {"n": 1}}, {"types": ["semantic"]}, {"metadata": {'we"ird\n$.key': "ä"}}]
    assert found(tags=["t1"], metadata={"n": 1}, types=["semantic"]) == set.intersection(*(found(**f) for f in parts))
    assert found(metadata={"n": 1, "missing": None}) == set()
    assert found(reach="project") < found() < found(reach="user")
    assert len(found(reach="user")) == 24


class TestAsking:
    @pytest.mark.parametrize("bad", [0, 11, -1, 1.0, True, "3", None, float("nan")])
    def test_whole_numbers(self, bad):
        with pytest.raises(InvalidInput, match="k must be a whole number from 1 to 10"):
            validation.whole("k", bad, 1, 10)
        assert validation.whole("k", 10, 1, 10) == 10

    def test_identifiers(self):
        assert validation.identifier("a\nb\ud800") == "a\nb\ufffd"
        for bad in (None, 7, b"a"):
            with pytest.raises(InvalidInput):
                validation.identifier(bad)

    def test_no_argument_changes_the_place(self):
        scope = Scope(user="ana", project="p", session="s")
        made = queries.filters_of(
            scope, UTC, {"reach": "user", "session": "t", "metadata": {1: "x"}}, kinds=("message",)
        )
        assert (made.project, made.session, made.in_session, made.metadata) == ("p", "s", "t", {"1": "x"})
        assert not hasattr(made, "user")


@pytest.mark.parametrize("id_", ["line\nbreak", "nul\x00", "'; --", '"', "%", "ключ", "🙂", " ", "x" * 1_000])
def test_any_id_is_only_a_name(memory, id_):
    assert memory.add([Message(role="user", content="the garden", id=id_)])[0].id == id_
    assert memory.remember("a fact", id=id_ + "2").id == id_ + "2" if len(id_) < 1_000 else True
    assert memory.get(id_).content == "the garden"
    assert [hit.id for hit in memory.search("garden", kinds=["message"])] == [id_]
    assert memory.forget(ids=[id_])[0].outcome == "forgotten"
    assert memory.history(id_)[-1].operation == "archive"
    assert len(memory.search("garden", kinds=["message"])) == 0
    assert memory.restore(id_)[0].outcome == "restored"
    assert memory.admin.verify().ok


def test_times_out_of_order(memory):
    for n in (5, 1, 3, 2, 4):
        memory.add(
            f"turn {n} of the garden",
            sent_at=datetime(2024, 5, n, tzinfo=UTC),
            id=f"{n}",
            session="s",
        )
    assert [m.id for m in memory.messages()] == ["1", "2", "3", "4", "5"]
    memory.search("garden")  # the cache is built; later turns take another path
    memory.add(
        "turn zero of the garden",
        sent_at=datetime(2024, 4, 1, tzinfo=UTC),
        id="0",
        session="s",
    )
    columns = runtime_of(memory).views.of("default").columns
    chain, row = [], int((columns.previous == -1).argmax())
    while row >= 0:
        chain.append(int(columns.time[row]))
        row = int(columns.following[row])
    assert len(chain) == 6
    assert chain == sorted(chain)


def test_one_asynchronous_handle_in_several_event_loops(tmp_path):
    import asyncio

    from mnemic import AsyncMemory

    memory = AsyncMemory(tmp_path / "memory", embedder="hashing")

    async def work(name):
        for n in range(3):
            adds = [memory.add(f"garden {name} {n} {i}", id=f"{name}{n}-{i}") for i in range(10)]
            await asyncio.gather(*adds, *[memory.search("garden") for _ in range(10)])

    loops = [lambda name=name: asyncio.run(work(name)) for name in "abc"]
    assert together(*loops) == []
    assert len(asyncio.run(memory.messages())) == 90
    asyncio.run(memory.close())


class Interrupting(HashingEmbedder):
    """An embedder during whose work somebody else goes on writing."""

    def __init__(self):
        super().__init__()
        self.meanwhile, self.busy = (lambda: None), False

    def embed(self, texts, **options):
        if not self.busy:
            self.busy = True  # not while that work embeds
            self.meanwhile()
            self.busy = False
        return super().embed(texts, **options)


class TestWhileOthersWrite:
    """Work ends although its supply does not."""

    @pytest.fixture
    def embedder(self):
        return Interrupting()

    @pytest.fixture
    def kept(self, tmp_path, embedder):
        with Memory(tmp_path, embedder=embedder) as memory:
            yield memory
            embedder.meanwhile = lambda: None

    def test_what_is_remembered_meanwhile_waits_for_the_next_call(self, kept, embedder):
        for n in range(3):
            kept.remember(f"Ana keeps {n} geese")
        made = itertools.count()
        embedder.meanwhile = lambda: kept.remember(f"Bob keeps {next(made)} hens")
        report = kept.process()
        assert report.enriched == 3
        assert next(made) > 0
        embedder.meanwhile = lambda: None
        assert kept.stats().pending == {"enrich": next(made) - 1}

    def test_what_is_said_meanwhile_as_well(self, kept, embedder):
        kept.add([Message(role="user", content=f"I keep {n} geese", session="a") for n in range(3)])
        made = itertools.count()

        def meanwhile():
            kept.add(f"I keep {next(made)} hens", session=f"s{next(made)}")

        embedder.meanwhile = meanwhile
        report = kept.process()
        assert (report.messages, report.waiting) == (3, next(made) // 2)

    def test_a_limit_holds_for_enrichment_too(self, kept):
        for n in range(5):
            kept.remember(f"Ana keeps {n} geese")
        assert [kept.process(limit=2).enriched for _ in range(4)] == [2, 2, 1, 0]

    def test_who_is_erased_meanwhile_holds_up_nobody_for_good(self, kept, embedder, tmp_path):
        ids = [kept.remember(f"Ana keeps {n} geese").id for n in range(3)]
        erase = f"""from mnemic import Memory
with Memory({str(tmp_path)!r}, embedder="hashing") as memory:
    memory.forget(ids=[{ids[1]!r}], hard=True)"""

        def meanwhile():
            embedder.meanwhile = lambda: None
            subprocess.run([sys.executable, "-c", erase], check=True, timeout=60)

        embedder.meanwhile = meanwhile
        kept.process()
        kept.process()
        assert kept.stats().pending == {}
        assert {r.id: bool(r.keywords) for r in kept.list()} == {ids[0]: True, ids[2]: True}

    def changing(self, memory, monkeypatch, ids):
        """Change one more of the memories each time that a plan is about to be stored; what was changed."""
        apply, changed, left = store_of(memory).apply, [], iter(ids)

        def applied(user, changes, **options):
            if type(changes[0]).__name__ == "Consolidate" and (id_ := next(left, None)):
                changed.append(memory.update(id_, content=f"The lease ends in month {len(changed)}"))
            return apply(user, changes, **options)

        monkeypatch.setattr(store_of(memory), "apply", applied)
        return changed

    def test_consolidation_plans_anew_when_one_changed(self, kept, embedder, monkeypatch):
        ids = [kept.remember(f"The lease number {n} ends in May", importance=0.9).id for n in range(3)]
        changed = self.changing(kept, monkeypatch, ids[:2])
        assert kept.consolidate(min_age_hours=0).memories_promoted == 3
        assert len(changed) == 2

    def test_consolidation_gives_up_in_the_end(self, kept, monkeypatch):
        ids = [kept.remember(f"The lease number {n} ends in May", importance=0.9).id for n in range(9)]
        changed = self.changing(kept, monkeypatch, ids)
        with pytest.raises(Conflict, match="changed during consolidation"):
            kept.consolidate(min_age_hours=0)
        assert len(changed) == consolidation.ATTEMPTS
        assert kept.stats().memories == {"short_term": 9}
        assert kept.admin.verify().ok


class Slow(HashingEmbedder):
    """Embeds once it is allowed to."""

    def __init__(self):
        super().__init__()
        self.go = threading.Event()
        self.go.set()

    def embed(self, texts, *, kind="document"):
        assert self.go.wait(60)
        return super().embed(texts, kind=kind)


async def test_calls_that_nobody_waits_for_count_until_they_end():
    """Else every time-out would add a thread, while what is slow stays slow."""
    embedder = Slow()
    async with AsyncMemory(":memory:", embedder=embedder) as memory:
        await memory.add("A line.")
        embedder.go.clear()
        before = threading.active_count()
        for _ in range(30):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(memory.search("a line"), 0.02)
        assert threading.active_count() - before <= 9
        embedder.go.set()
        assert (await asyncio.wait_for(memory.search("a line"), 30))[0].text == "A line."
        many = await asyncio.gather(*(memory.search("a line") for _ in range(20)))
        assert all(hits for hits in many)


def test_cosines_of_the_default_embedder_are_not_scaled(monkeypatch):
    with Memory(":memory:", user="ana", embedder=HashingEmbedder()) as memory:
        for n in range(4):
            memory.remember(f"the tall green garden gate is open on day {n}")
        assert runtime_of(memory).views.of("ana").base > 0.5
        monkeypatch.setattr(views, "DEFAULT_MODELS", (memory.stats().embedding_model,))
        assert runtime_of(memory).views.of("ana").base == 0
