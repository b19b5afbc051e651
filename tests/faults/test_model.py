"""Random walks over the public methods, beside a model of plain dicts: after every step the two must agree."""

import io
import itertools
import json
import shutil
import tempfile
import warnings
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.battery import count, long, note
from tests.internals import store_of

from mnemic import (
    Chroma,
    Conflict,
    EmbedderUnavailable,
    EmbeddingMismatch,
    HashingEmbedder,
    InvalidInput,
    Memory,
    Message,
    NotFound,
)
from mnemic.indexes.vector import exact
from mnemic.indexes.vector.chroma.index import ChromaIndex
from mnemic.text.markup import is_blank
from mnemic.text.terms import clean, index_terms, query_terms

from .model import LONG_AGO, Model, Place, Witness, exported, read

USERS = ("zo\u00eb", "zoe\u0308", "zo\u00eb/p")  # one name composed and decomposed, and one that begins with the other
PROJECTS = (None, "p", "p/s")
SESSIONS = (None, "s", "p")
MODELS = (256, 128)
REACHES = ("project+global", "user", "project", "session")
ROLES = ("user", "assistant", "tool")
LINKS = ("extends", "contradicts", "implements", "references", "supersedes")
KEYS = ("theme", "th\u00e8me", "a\x00b")

POOL = (
    "The kitchen of the flat is painted green.", "The kitchen of the flat is painted green!", "kitchen flat painted green",
    "The whole kitchen of the flat is painted green.", "Ana lives in Lisbon.", "Ana lives in Porto.", "Ana lives in Braga.",
    "The API runs on port 8080.", "The API runs on port 9000.", "I moved to Lisbon last week.", "I prefer tea to coffee.",
    "My sister Maria works at Siemens as an engineer.", "caf\u00e9 na\u00efve", "cafe\u0301 nai\u0308ve", "\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059",
)  # fmt: skip
ANY_CHARACTER = st.characters(exclude_categories=())  # surrogates and NUL among them
TEXTS = st.one_of(
    st.sampled_from(POOL),
    st.builds("note {} on {}".format, st.integers(0, 40), st.sampled_from(("ships", "harbours", "the weather"))),
    st.text(ANY_CHARACTER, min_size=1, max_size=30),
    st.sampled_from(
        ("", " \n\t", "\x00", "\ud800", "a\x00b", "\udfff c \ud83d", "'; DROP TABLE memories --", '" OR *')
    ),
    st.builds(
        lambda word, times: f"{word} " * times,
        st.text(st.characters(codec="utf-8"), min_size=3, max_size=8),
        st.integers(50, 400),
    ),
)
PLACES = st.builds(
    Place, user=st.sampled_from(USERS), project=st.sampled_from(PROJECTS), session=st.sampled_from(SESSIONS)
)
CHOICE = st.integers(0, 10_000)
VALUES = st.one_of(st.sampled_from((1, "1", 1.5, None, True, "dark", {"a": [1, "\u00e9"]})), TEXTS.map(clean))


class Moody(HashingEmbedder):
    """Cannot be had while it is down."""

    down = False

    def embed(self, texts, *, kind="document"):
        if self.down:
            raise EmbedderUnavailable("It is down; wait.")
        return super().embed(texts, kind=kind)


def usable(text):
    return not is_blank(clean(text))


class Walk(RuleBasedStateMachine):
    """One memory with several users. What a rule does not foresee, it names; everything else must stay as it was."""

    durable = False
    vectors = None
    witness = Witness()
    steps = 0

    def __init__(self):
        super().__init__()
        self.model = Model(USERS)
        self.embedder = Moody(MODELS[0])
        self.names = itertools.count(1)
        self.cycles = []
        self.turn = 0
        self.touched = set(USERS)
        self.begin()
        self.memory = self.opened()

    # Where the record is

    def begin(self):
        self.location = ":memory:"

    def end(self):
        pass

    def opened(self):
        return self.beside(self.embedder, vectors=self.vectors)

    def beside(self, embedder, **options):
        """Another memory of the same record, which leaves the index of vectors to the one that has it."""
        return Memory(self.location, user=USERS[0], embedder=embedder, secrets="allow", durability="NORMAL", **options)

    def teardown(self):
        self.memory.close()
        self.end()

    # Choosing

    def at(self, place):
        self.touched.add(place.user)
        return self.memory.scoped(user=place.user, project=place.project, session=place.session)

    def of(self, user):
        return self.at(Place(user=user))

    def new_id(self):
        return f"r{next(self.names)}"

    def pick(self, choice, fits=lambda item: True):
        """A record of some user that fits, chosen by a number."""
        found = [(user, item) for user in USERS for item in self.model.items[user].values() if fits(item)]
        return found[choice % len(found)] if found else None

    def found(self, user):
        return read(exported(self.of(user)))

    def adopt(self, user, **allowed):
        """Take over what an operation made that the model cannot foresee, within what is allowed."""
        self.model.compare(user, *self.found(user), **allowed)

    def some(self, fits):
        return any(fits(item) for user in USERS for item in self.model.items[user].values())

    def some_memory(self):
        return self.some(lambda item: item.kind == "memory")

    def anything(self):
        return self.some(lambda item: True)

    # Storing

    @initialize(place=PLACES, user=st.sampled_from(USERS))
    def first(self, place, user):
        """Two users begin with the same words, so that what is mixed up shows."""
        for one in (place, Place(user=user)):
            for content in POOL[:2]:
                self.remembered(one, content)
            self.remembered(replace(one, session=one.session or "s"), POOL[4], level="session")
            self.said(one, [(POOL[0], "user", 1), ("note 1 on ships", "tool", 2)])

    def remembered(self, place, content, *, id=None, level=None, source="direct_user", sources=(), due=False):
        user, mine = place.user, id or self.new_id()
        level = level if place.session else None
        receipt = self.at(place).remember(
            content, id=mine, source=source, source_ids=sources, level=level, delete_after=LONG_AGO if due else None
        )
        before = set(self.model.items[user])
        outcome, name = self.model.remember(place, mine, content, source=source, sources=sources, level=level, due=due)
        if receipt.outcome == "superseded" and outcome == "stored":
            outcome = "superseded"  # by the rules of extraction: of the same level, and named in the receipt
        assert (receipt.outcome, receipt.id) == (outcome, name), receipt
        if mine not in before and outcome in ("stored", "superseded"):
            level_of_it = self.model.items[user][mine].words[:2]
            self.adopt(
                user,
                fresh=lambda item: outcome == "superseded" and item.words[:2] == level_of_it,  # what else the old one said
                changed=lambda old, new: (
                    outcome == "superseded" and new == replace(old, believed=False) and repr(old.id) in receipt.reason
                    and old.words[:2] == level_of_it
                ),
                linked=lambda edge: mine in edge[:2] and edge[2] in ("supersedes", "contradicts"),
            )  # fmt: skip

    @rule(
        place=PLACES, content=TEXTS, level=st.sampled_from((None, None, "session")), due=st.sampled_from((False, False, False, True)),
        source=st.sampled_from(("direct_user", "direct_user", "tool_external", "document")),
    )  # fmt: skip
    def remember(self, place, content, level, due, source):
        self.remembered(place, content, level=level, due=due, source=source)

    @precondition(some_memory)
    @rule(
        choice=CHOICE,
        place=PLACES,
        where=st.sampled_from(("here", "project", "user")),
        same_id=st.booleans(),
        doubtful=st.booleans(),
    )
    def remember_again(self, choice, place, where, same_id, doubtful):
        """At the same level it is known; in another project, for another user, it is not."""
        user, item = self.pick(choice, lambda item: item.kind == "memory")
        if where != "user":
            project = item.project if where == "here" else place.project
            place = Place(user=user, project=project, session=item.session)
        self.remembered(
            place, item.content, id=item.id if same_id else None, level="session" if item.session else None,
            source="document" if doubtful else "direct_user",
        )  # fmt: skip

    @precondition(anything)
    @rule(choice=CHOICE, content=TEXTS, source=st.sampled_from(("direct_user", "document")))
    def remember_from(self, choice, content, source):
        """What is made of something is never trusted more than it."""
        user, item = self.pick(choice, lambda item: item.kind != "episode")
        self.remembered(Place(user=user, project=item.project), content, source=source, sources=(item.id,))

    @rule(
        place=PLACES,
        said=st.lists(st.tuples(TEXTS, st.sampled_from(ROLES), st.integers(0, 40)), min_size=1, max_size=4),
    )
    def add(self, place, said):
        self.said(place, said)

    def said(self, place, said):
        told = [
            (self.new_id(), content, role, LONG_AGO + timedelta(minutes=minutes)) for content, role, minutes in said
        ]
        receipts = self.at(place).add(
            [Message(id=one, content=content, role=role, sent_at=moment) for one, content, role, moment in told]
        )
        expected = [self.model.message(place, *one) for one in told]
        assert [receipt.outcome for receipt in receipts] == expected
        assert [receipt.id for receipt in receipts] == [one[0] for one in told]

    @precondition(anything)
    @rule(choice=CHOICE, content=TEXTS, same=st.booleans())
    def add_under_a_known_id(self, choice, content, same):
        user, item = self.pick(choice)
        content = item.content if same else content
        place = Place(user=user, project=item.project)
        if item.kind == "episode":
            return
        receipt = self.at(place).add(content, id=item.id, sent_at=LONG_AGO)[0]
        assert receipt.outcome == self.model.message(place, item.id, content, "user", LONG_AGO), receipt

    @rule(place=PLACES, content=TEXTS)
    def add_while_the_embedder_is_down(self, place, content):
        mine = self.new_id()
        self.embedder.down = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            receipt = self.at(place).add(content, id=mine, sent_at=LONG_AGO)[0]
        self.embedder.down = False
        assert receipt.outcome == self.model.message(place, mine, content, "user", LONG_AGO)
        assert receipt.pending == (("embed",) if receipt.outcome == "stored" else ())

    # Changing

    @precondition(some_memory)
    @rule(choice=CHOICE, content=TEXTS)
    def update(self, choice, content):
        user, item = self.pick(choice, lambda item: item.kind == "memory")
        if not usable(content):
            with pytest.raises(InvalidInput):
                self.of(user).update(item.id, content=content)
            return
        self.updated(user, item.id, content)

    def updated(self, user, name, content):
        """The next version; what the messages of the memory say is kept beside it, ended."""
        old, receipt = self.model.items[user][name], self.of(user).update(name, content=content)
        assert receipt.outcome == self.model.update(user, name, content), receipt
        if old.sources and receipt.outcome == "stored":
            said = replace(old, id="", version=1, believed=False)
            self.adopt(
                user, fresh=lambda item: replace(item, id="", created_at=old.created_at) == said,
                linked=lambda edge: edge[::2] == (name, "supersedes"),
            )  # fmt: skip

    @precondition(anything)
    @rule(choice=CHOICE, back=st.booleans())
    def forget(self, choice, back):
        tier = "long_term" if choice % 2 and self.some(lambda item: item.status == "long_term") else ""
        user, item = self.pick(choice, lambda item: item.status == tier or not tier)
        self.forgotten(user, item.id)
        if back:
            self.brought_back(user, item.id)

    def forgotten(self, user, name):
        receipt, *along = self.of(user).forget(ids=[name])
        assert receipt.outcome == self.model.forget(user, name), receipt
        self.told_again(user, name, *self.went_along(user, name, along, self.model.forget))

    def brought_back(self, user, name):
        receipt, *along = self.of(user).restore(name)
        assert receipt.outcome == self.model.restore(user, name), receipt
        self.told_again(user, name, *self.went_along(user, name, along, self.model.restore))

    def went_along(self, user, name, receipts, done):
        """A message that says nothing but a memory made from it is forgotten, and comes back, with it."""
        for receipt in receipts:
            assert receipt.id in self.model.items[user][name].sources
            assert receipt.outcome == done(user, receipt.id), receipt
        return [receipt.id for receipt in receipts]

    def told_again(self, user, *names):
        """What tells of a message that was forgotten, or came back, tells of those that are left, and of none is archived."""
        self.adopt(user, changed=lambda old, new: any(self.model.retold(user, name, old, new) for name in names))
        told = [one for name in names for one in self.model.telling(user, name)]
        assert not [one for one in told if one.live and not self.model.left(user, one)]

    @precondition(anything)
    @rule(choice=CHOICE, other=st.sampled_from(USERS))
    def forget_what_is_not_ours(self, choice, other):
        user, item = self.pick(choice)
        name = item.id if other != user and item.id not in self.model.items[other] else "nobody's"
        with pytest.raises(NotFound):
            self.of(other).get(name)
        assert self.of(other).forget(ids=[name])[0].outcome == "rejected"
        assert self.of(other).forget(ids=[name], hard=True).missing == (name,)

    @precondition(lambda self: self.some(lambda item: not (item.live and item.believed)))
    @rule(choice=CHOICE)
    def restore(self, choice):
        user, item = self.pick(choice, lambda item: not (item.live and item.believed))
        self.brought_back(user, item.id)

    @precondition(anything)
    @rule(choice=CHOICE, other=CHOICE)
    def erase(self, choice, other):
        user, item = self.pick(choice)
        more = self.pick(other, lambda one: one.id in self.model.items[user] and one.kind == "message")
        if item.kind == "memory" and item.live and choice % 2:  # with an earlier version
            self.updated(user, item.id, f"{item.content} {self.new_id()}")
        ids = [item.id] + ([more[1].id] if more and other % 3 == 0 else [])
        erasure = self.of(user).forget(ids=ids, hard=True)
        gone, items = set(erasure.ids), self.model.items[user]
        assert gone >= self.model.made_from(user, ids, surely=True)
        assert gone <= self.model.made_from(user, ids, surely=False)
        assert not erasure.missing
        assert not erasure.purge.found
        stood = {item.id for item in items.values() if item.absorbed}
        # what one of them stood for, and was restored since, has its own links again
        stood_for = {s for id_ in gone if items[id_].kind == "memory" for s in items[id_].sources}
        # a link that a memory has of one it absorbed goes with that one
        heirs = {id_ for id_, one in items.items() if one.kind == "memory" and gone & one.sources}
        self.model.unsure |= {user} if stood else set()
        self.adopt(
            user,
            changed=lambda old, new: new.id in erasure.remade or (
                (old.content, old.version, old.project, old.session) == (new.content, new.version, new.project, new.session)
                and new.sources <= old.sources and (old.status == new.status or old.id in stood)
            ),
            linked=lambda edge: bool(stood) or bool((gone | stood_for | heirs) & set(edge[:2])),
            gone=gone,
        )  # fmt: skip
        assert not any(gone & item.sources for item in self.model.items[user].values())
        self.forgotten_meanwhile(user)

    @precondition(lambda self: self.turn % 11 == 10)  # a walk is about what there is
    @rule(user=st.sampled_from(USERS))
    def erase_user(self, user):
        """Of one user nothing stays, and of the others everything."""
        gone = set(self.model.items[user])
        erasure = self.of(user).admin.erase_user()
        assert sum(erasure.counts.get(kind, 0) for kind in ("messages", "episodes", "memories")) == len(gone)
        assert not erasure.purge.found
        self.cycles = [cycle for cycle in self.cycles if cycle[0] != user]
        self.adopt(user, linked=lambda edge: True, gone=gone)
        self.touched |= set(USERS)

    @precondition(lambda self: self.turn % 5 == 4 and self.some(lambda item: item.live))
    @rule(choice=CHOICE)
    def quarantine_and_release(self, choice):
        """What was made of a record goes along with it, and all comes back as it was."""
        user, item = self.pick(choice, lambda item: item.live)
        handle, before = self.of(user), exported(self.of(user))
        gone = {receipt.id for receipt in handle.admin.quarantine([item.id])}
        made = self.model.made_from(user, [item.id], surely=True)
        assert {id_ for id_ in made if self.model.items[user][id_].live} <= gone
        assert gone <= self.model.made_from(user, [item.id], surely=False)
        place = Place(user=user, project=item.project, session=item.session)
        for hit in self.at(place).search(item.content, k=50, kinds=["message", "memory", "episode"]):
            assert not gone & {hit.id, *hit.message_ids, *hit.similar, *hit.via}
        assert handle.admin.verify().ok
        handle.admin.release([item.id])
        assert exported(handle) == before

    @rule(user=st.sampled_from(USERS))
    def retire(self, user):
        assert self.of(user).admin.retire() == self.model.retire(user)

    # Links

    @precondition(some_memory)
    @rule(choice=CHOICE, other=CHOICE, type=st.sampled_from(LINKS), strength=st.sampled_from((0.0, 0.5, 1.0)))
    def link(self, choice, other, type, strength):
        user, source = self.pick(choice, lambda item: item.kind == "memory")
        among = [item for item in self.model.items[user].values() if item.kind == "memory"]
        target = among[other % len(among)]
        if source.id == target.id:
            with pytest.raises(InvalidInput):
                self.of(user).links.add(source.id, target.id, type)
            return
        self.linked(user, source.id, target.id, type, strength)

    def linked(self, user, source, target, type, strength):
        receipt = self.of(user).links.add(source, target, type, strength=strength)
        assert receipt.outcome == self.model.link(user, source, target, type, strength), receipt

    def some_link(self):
        return any(self.model.links.values())

    @precondition(some_link)
    @rule(choice=CHOICE, all_types=st.booleans())
    def unlink(self, choice, all_types):
        place = {user: {name: n for n, name in enumerate(self.model.items[user])} for user in USERS}
        found = [
            (user, edge)
            for user in USERS
            for edge in sorted(self.model.links[user], key=lambda e: (place[user][e[0]], place[user][e[1]], e[2]))
        ]
        user, (source, target, one_type) = found[choice % len(found)]
        kind = None if all_types else one_type
        receipt = self.of(user).links.remove(source, target, kind)
        assert receipt.outcome == self.model.unlink(user, source, target, kind)

    # Knowledge

    @rule(user=st.sampled_from(USERS))
    def process(self, user):
        """Episodes and memories come; what was said stays; what is known may be told again or end."""
        before = set(self.model.items[user])
        report = self.of(user).process()
        assert report.waiting == 0

        def fresh(item):
            return item.kind != "message" and bool(item.sources)

        def changed(old, new):
            if old.kind == "episode":
                return new.version >= old.version and new.sources >= old.sources
            return old.kind == "memory" and replace(
                new, version=old.version, believed=old.believed, sources=old.sources
            ) == old and new.version >= old.version and new.believed <= old.believed  # fmt: skip

        self.adopt(
            user,
            fresh=fresh,
            changed=changed,
            linked=lambda edge: edge not in self.model.links[user] or not before >= {*edge[:2]},
        )
        items = self.model.items[user]
        for item in items.values():
            if item.id not in before:
                assert item.trust <= min(items[source].trust for source in item.sources)

    @rule(place=PLACES, threshold=st.sampled_from((0.3, 0.6)), alike=st.booleans(), undone=st.booleans())
    def consolidate(self, place, threshold, alike, undone):
        user = place.user
        if alike:
            for content in POOL[:4]:
                self.remembered(place, content)
            memories = [item for item in self.model.items[user].values() if item.shown and item.kind == "memory"]
            for source, target in zip(memories, memories[4:], strict=False):
                self.linked(user, source.id, target.id, "references", 1.0)
        state = self.model.state(user)
        handle = self.of(user)
        report = handle.consolidate(importance_threshold=0.0, similarity_threshold=threshold, min_age_hours=0)

        found, _ = self.found(user)

        def changed(old, new):
            """A tier, and sources: one that had stood for another and is now its source has it as one no more."""
            same = replace(new, status=old.status, sources=old.sources) == old
            turned = all(old.id in found[one].sources for one in old.sources - new.sources)
            return old.kind == "memory" and old.live and same and turned and new.status != "consolidating"

        self.adopt(user, changed=changed, linked=lambda edge: bool(report.id), absorbed=True)
        now = self.model.state(user)
        archived = [one for one, item in state[0].items() if item.live and not now[0][one].live]
        assert len(archived) == report.memories_archived
        if report.id:
            self.cycles.append((user, report.id, state, now))
            if undone:
                self.take_back(self.cycles.pop())
                return
            kept = [item for item in self.model.items[user].values() if item.status == "long_term"]
            self.forgotten(user, kept[-1].id)  # comes back to the tier it had
            self.brought_back(user, kept[-1].id)
            self.cycles[-1] = (user, report.id, state, None)

    @precondition(lambda self: self.cycles)
    @rule()
    def undo(self):
        self.take_back(self.cycles.pop())

    def take_back(self, cycle):
        user, name, before, after = cycle
        untouched = self.model.state(user) == after
        try:
            self.of(user).undo(name)
        except Conflict:
            assert not untouched
            return
        if untouched:
            assert self.found(user)[0] == before[0]
            self.model.items[user], self.model.links[user] = before
            return
        self.model.unsure.add(user)
        self.adopt(
            user,
            changed=lambda old, new: old.kind == "memory" and replace(
                new, status=old.status, sources=old.sources, believed=old.believed
            ) == old,
            linked=lambda edge: True,
        )  # fmt: skip
        self.forgotten_meanwhile(user)

    def forgotten_meanwhile(self, user):
        """What nothing stands for any more, because another says the same by now, is forgotten and no longer absorbed."""
        for item in list(self.model.items[user].values()):
            if item.absorbed:
                fates = [event.operation for event in self.of(user).history(item.id)]
                last = next(fate for fate in reversed(fates) if fate in ("archive", "absorb"))
                self.model.put(user, replace(item, absorbed=last == "absorb"))

    @rule(place=PLACES, key=st.sampled_from(KEYS), value=VALUES)
    def prefer(self, place, key, value):
        handle, user = self.at(place), place.user
        handle.preferences[key] = value

        def is_it(item):
            return (
                item.kind == "memory"
                and json.loads(item.metadata).get("preference") == key
                and item.project == place.project
            )

        self.adopt(
            user, fresh=is_it, linked=lambda edge: edge[2] == "supersedes",
            changed=lambda old, new: is_it(old) and new == replace(old, believed=False),
        )  # fmt: skip
        assert dict(handle.preferences) == self.model.preferences(place)
        assert handle.preferences[key] == value or place.project is None

    @precondition(lambda self: any(self.model.preferences(Place(user=user)) for user in USERS))
    @rule(user=st.sampled_from(USERS), key=st.sampled_from(KEYS))
    def no_longer_prefer(self, user, key):
        place = Place(user=user)
        if key not in self.model.preferences(place):
            with pytest.raises(KeyError):
                del self.at(place).preferences[key]
            return
        del self.at(place).preferences[key]
        for item in list(self.model.items[user].values()):
            of_the_user = item.shown and item.kind == "memory" and item.project is None and item.session is None
            if of_the_user and json.loads(item.metadata).get("preference") == key:
                self.model.forget(user, item.id)

    # Reading

    @rule(
        place=PLACES,
        words=st.one_of(TEXTS, CHOICE),
        k=st.integers(1, 4),
        reach=st.sampled_from(REACHES),
        part=st.integers(2, 3),
    )
    def search(self, place, words, k, reach, part):
        """Only what is live, within reach and of this user; at most k, in one order whatever k is; nothing that was excluded."""
        if (reach == "session" and not place.session) or (reach == "project" and not place.project):
            return
        query = self.pick(words)[1].content if isinstance(words, int) and self.anything() else str(words)
        items, shown = self.model.items[place.user], self.model.shown(place, reach)
        hits = self.at(place).search(query, k=100, reach=reach, untrusted_share=1.0)
        assert [hit.id for hit in hits[:k]] == [
            hit.id for hit in self.at(place).search(query, k=k, reach=reach, untrusted_share=1.0)
        ]
        exclude = [hit.id for hit in hits[::part]]
        left = self.at(place).search(query, k=k, reach=reach, exclude=exclude)
        assert not {hit.id for hit in left} & set(exclude)
        assert len(left) <= k
        for hit in (*hits, *left):
            assert hit.id in shown
            assert hit.text == items[hit.id].content
            behind = {*hit.message_ids, *hit.similar, *hit.via, *hit.superseded_by, hit.episode or hit.id}
            assert behind <= set(items)

    @rule(place=PLACES, reach=st.sampled_from(REACHES), choice=CHOICE)
    def list(self, place, reach, choice):
        if (reach == "session" and not place.session) or (reach == "project" and not place.project):
            return
        handle, items = self.at(place), self.model.items[place.user]
        memories = handle.list(reach=reach, limit=None)
        assert {record.id for record in memories} == self.model.shown(place, reach, ["memory"])
        assert len(memories) == len({record.id for record in memories})
        messages = handle.messages(reach=reach)
        expected = self.model.shown(place, reach, ["message"])
        assert {message.id for message in messages} == expected
        if messages:
            moment = messages[choice % len(messages)].sent_at
            later = {one for one in expected if items[one].sent_at >= moment.isoformat()}
            assert {message.id for message in handle.messages(reach=reach, since=moment)} == later
            assert {message.id for message in handle.messages(reach=reach, until=moment)} == expected - later
            hits = handle.search(
                messages[0].content, reach=reach, kinds=["message"], since=moment, k=100, untrusted_share=1.0
            )
            assert {hit.id for hit in hits} <= later
        assert {one.id for one in handle.episodes(reach=reach)} == self.model.shown(place, reach, ["episode"])
        assert dict(handle.preferences) == self.model.preferences(place)

    # Keeping

    @rule(user=st.sampled_from(USERS), vectors=st.booleans())
    def export_and_import(self, user, vectors):
        """Another memory that reads the export holds the same, and exports the same."""
        file = io.StringIO()
        self.memory.admin.flush(process=False)
        self.of(user).admin.export(file, vectors=vectors)
        file.seek(0)
        with Memory(":memory:", user="elsewhere", embedder=self.embedder, secrets="allow") as other:
            other.admin.import_from(file)
            again = io.StringIO()
            other.admin.export(again, vectors=vectors)
            assert again.getvalue() == file.getvalue()
            self.model.compare(user, *read(exported(other)))
            report = other.admin.verify()
            assert report.ok, report.findings

    @rule(dimension=st.sampled_from(MODELS))
    def reembed(self, dimension):
        old, chosen = self.embedder, Moody(dimension)
        self.touched.add(USERS[0])
        done = self.memory.admin.reembed(chosen)
        assert done == sum(len(items) for items in self.model.items.values())
        self.embedder = chosen
        if old.id != chosen.id and done and self.durable:
            with self.beside(old) as other, pytest.raises(EmbeddingMismatch):
                other.scoped(user=next(user for user in USERS if self.model.items[user])).search("a word")

    @rule(process=st.booleans())
    def flush(self, process):
        if process:
            self.process(USERS[0])
        self.touched.add(USERS[0])
        self.memory.admin.flush(process=False)
        assert not store_of(self.memory).embedding.pending(1)

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self):
        self.memory.close()
        self.memory = self.opened()
        self.touched |= set(USERS)

    @precondition(lambda self: self.durable)
    @rule(content=TEXTS)
    def look_from_another_process(self, content):
        """It finds the same; what it stores is here at once."""
        answer = self.witness.look(
            str(self.location), self.embedder.dimension, USERS, clean(content) if usable(content) else ""
        )
        assert answer["findings"] == []
        if answer["stored"]:
            place = Place(user=USERS[0])
            self.model.message(place, answer["stored"], content, "user", LONG_AGO + timedelta(days=1))
        for user in USERS:
            assert answer["exports"][user] == exported(self.of(user))

    @invariant()
    def agrees(self):
        """Every id is live, archived or erased as the model says, with its text, and the record verifies."""
        type(self).steps += 1
        for user in sorted(self.touched):
            self.adopt(user)
            for gone in self.model.gone[user]:
                with pytest.raises(NotFound):
                    self.of(user).get(gone)
            if items := [item for item in self.model.items[user].values() if item.kind != "episode"]:
                self.looks_right(user, items[self.turn % len(items)])
        self.turn += 1
        self.touched.clear()
        report = self.memory.admin.verify()
        assert report.ok, report.findings

    def looks_right(self, user, item):
        """A record has its history, and its own words find it where it is live, unless five others hold all of them."""
        handle = self.of(user)
        versions = {event.version: event.content for event in handle.history(item.id) if event.version}
        assert (versions[item.version], len(versions)) == (item.content, item.version)
        place = Place(user=user, project=item.project, session=item.session)
        shown, items = self.model.shown(place, kinds=[item.kind]), self.model.items[user]
        # what was made of something that is shown is named by it, and what waits for its vector is ranked by words alone
        k = 50 if item.sources & shown or handle.stats().pending.get("embed") else 5
        hits = self.at(place).search(item.content, k=k, kinds=[item.kind], untrusted_share=1.0)
        assert {hit.id for hit in hits} <= shown
        assert len(hits) <= k
        elsewhere = Place(user=user, project=item.project, session="elsewhere")
        few = 1 + self.turn % 5
        there = self.at(elsewhere).search(item.content, k=few, kinds=[item.kind], untrusted_share=1.0)
        assert len(there) <= few
        assert {hit.id for hit in there} <= self.model.shown(elsewhere, kinds=[item.kind])
        wanted = set(query_terms(item.content))
        rivals = [one for one in shown if one != item.id and wanted <= set(index_terms(items[one].content))]
        if item.shown and wanted and len(rivals) < 5:
            named = {one for hit in hits for one in (hit.id, *hit.similar, *hit.via)}
            assert item.id in named, f"{item} is not among {[(hit.id, hit.text[:60]) for hit in hits]}"


class FolderWalk(Walk):
    """The same in a folder, with other processes and backups."""

    durable = True

    def begin(self):
        self.home = Path(tempfile.mkdtemp(prefix="mnemic-walk-"))
        self.location = self.home / "memory"

    def end(self):
        shutil.rmtree(self.home)

    @precondition(lambda self: self.turn % 3 == 0)  # it takes as long as ten other steps
    @rule()
    def backup(self):
        copy = self.home / f"copy{next(self.names)}"
        assert self.memory.admin.backup(copy).ok
        with Memory(copy, embedder=self.embedder, secrets="allow") as other:
            for user in USERS:
                assert exported(other.scoped(user=user)) == exported(self.of(user))
        shutil.rmtree(copy)


def limits(examples, steps, **more):
    """Settings of a run: the same walk every time in the short form."""
    return settings(
        max_examples=examples, stateful_step_count=steps, derandomize=not long(), deadline=None, database=None,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False, print_blob=False, **more,
    )  # fmt: skip


def walked(machine, examples, steps, name):
    Walk.steps = machine.steps = 0
    run_state_machine_as_test(machine, settings=limits(examples, steps))
    note(f"the model in {name}", examples=examples, steps=machine.steps, failures=0)


@pytest.fixture(scope="module", autouse=True)
def _witness():
    yield
    Walk.witness.close()


class TestInRam:
    def test_it_agrees_with_the_model(self):
        walked(Walk, count(15, 1_000), count(30, 100), "RAM")


class TestInAFolder:
    def test_it_agrees_with_the_model(self):
        walked(FolderWalk, count(15, 1_000), count(30, 100), "a folder")


@pytest.mark.engine
class TestInPostgres:
    def test_it_agrees_with_the_model(self, postgres_server):
        psycopg = pytest.importorskip("psycopg")
        schemas = itertools.count(1)

        class PostgresWalk(Walk):
            durable = True

            def begin(self):
                self.schema = f"walk{next(schemas)}"
                self.location = f"{postgres_server}{'&' if '?' in postgres_server else '?'}schema={self.schema}"

            def end(self):
                with psycopg.connect(postgres_server, autocommit=True) as db:
                    db.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")

        walked(PostgresWalk, count(8, 100), count(25, 50), "PostgreSQL")


@pytest.mark.engine
class TestWithChroma:
    def test_it_agrees_with_the_model(self, monkeypatch):
        """The index is asked however few the vectors are."""
        monkeypatch.setattr(exact, "FETCHED", 1)
        monkeypatch.setattr(exact, "COSTS", 0)
        nearest, found = ChromaIndex.nearest, Counter()

        def counted(*arguments):
            near = nearest(*arguments)
            found[near is not None] += 1
            return near

        monkeypatch.setattr(ChromaIndex, "nearest", counted)

        class ChromaWalk(FolderWalk):
            vectors = Chroma(exact_below=0)

        walked(ChromaWalk, count(8, 100), count(25, 50), "a folder with Chroma")
        assert found[True] > found[False]
