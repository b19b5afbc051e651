"""What a memory must hold after each operation, as plain dicts; and a process that says what it finds in a folder.

The model knows nothing of tables, indexes or caches. It states the promises of the public methods in the shortest way, and
the test compares the two after every step.
"""

import io
import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mnemic import HashingEmbedder, Memory
from mnemic.text.markup import is_blank
from mnemic.text.terms import clean
from mnemic.text.values import to_json

LIVE = ("short_term", "consolidating", "long_term")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
TRUST = {"direct_user": 1.0, "model_inference": 0.7, "tool_internal": 0.7, "document": 0.4, "tool_external": 0.3}
SOURCE_OF_ROLE = {"user": "direct_user", "assistant": "model_inference", "tool": "tool_external"}

Edge = tuple[str, str, str]
Links = dict[Edge, float]


def preference_value(content: str, metadata: dict[str, Any]) -> Any:
    """What was set; once the memory was rewritten, what its text says."""
    value, head = metadata.get("value"), f"Preference {metadata['preference']}: "
    written = value if isinstance(value, str) else to_json(value)
    text = content.removeprefix(head)
    if content == f"{head}{written}" or isinstance(value, str):
        return value if content == f"{head}{written}" else text
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True, kw_only=True)
class Place:
    """A user, a project and a session."""

    user: str
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    """A record as the model knows it. What is not compared is only known to the store, or only needed by the model."""

    id: str
    kind: str
    content: str
    status: str = "short_term"
    version: int = 1
    project: str | None = None
    session: str | None = None
    believed: bool = True
    due: bool = False
    trust: float = 1.0
    source: str = "direct_user"
    sources: frozenset[str] = frozenset()
    metadata: str = "{}"
    sent_at: str = ""
    created_at: str = field(default="", compare=False)
    origin: frozenset[str] = field(default=frozenset(), compare=False)
    before: str = field(default="short_term", compare=False)
    absorbed: bool = field(default=False, compare=False)
    merged: bool = field(default=False, compare=False)  # absorbed, and perhaps forgotten since

    @property
    def live(self) -> bool:
        """Whether it is in some tier."""
        return self.status in LIVE

    @property
    def shown(self) -> bool:
        """Whether a search or a listing may name it."""
        return self.live and self.believed and not self.due

    @property
    def key(self) -> str | None:
        """The key of a preference; no other memory of the walk has one."""
        return json.loads(self.metadata).get("preference") if self.kind == "memory" else None

    @property
    def words(self) -> tuple[str | None, str | None, str]:
        """What two memories must not share: level and statement."""
        return self.project, self.session, said(self.content)

    def seen(self, place: Place, reach: str = "project+global") -> bool:
        """Whether it lies within reach of a place."""
        if self.session != place.session and (
            reach == "session" or (self.kind == "memory" and self.session is not None)
        ):
            return False
        if reach == "project":
            return self.project == place.project
        return reach == "user" or place.project is None or self.project in (None, place.project)


def said(content: str) -> str:
    """A statement without what makes no difference: white space and the form of its letters."""
    return " ".join(unicodedata.normalize("NFC", content).split())


def written(value: object) -> str:
    """A JSON value in one form."""
    return json.dumps(value, sort_keys=True)


# What the store says


USES = re.compile(r'"access_count":\d+,|"last_accessed_at":"[^"]*",')


def exported(memory: Memory) -> str:
    """All that the user of a handle has, except uses: every search of a walk counts some."""
    file = io.StringIO()
    memory.admin.export(file)
    return USES.sub("", file.getvalue())


def read(text: str, moment: datetime | None = None) -> tuple[dict[str, Item], Links]:
    """An export as items and links."""
    items: dict[str, Item] = {}
    links: Links = {}
    for line in map(json.loads, text.rstrip("\n").split("\n")[1:]):
        if line["kind"] == "link":
            links[line["source"], line["target"], line["type"]] = line["strength"]
        else:
            items[line["id"]] = _item(line, (moment or datetime.now(UTC)).isoformat())
    return items, links


def _item(line: dict[str, Any], now: str) -> Item:
    sources = frozenset([*line.get("source_ids", ()), *line.get("message_ids", ())])
    due = line.get("delete_after")
    return Item(
        id=line["id"], kind=line["kind"], content=line["content"], status=line.get("status", "short_term"),
        version=line.get("version", 1), project=line.get("project"), session=line.get("session"),
        believed="expired_at" not in line, due=due is not None and datetime.fromisoformat(due) <= datetime.fromisoformat(now),
        trust=line["trust"], source=line["source"], sources=sources, metadata=written(line["metadata"]),
        sent_at=line.get("sent_at", ""), created_at=line.get("created_at", ""), origin=sources,
    )  # fmt: skip


# What it should say


def never(*_: object) -> bool:
    """Nothing of this kind may change."""
    return False


class Model:
    """All users of one record."""

    def __init__(self, users: Iterable[str]) -> None:
        self.items: dict[str, dict[str, Item]] = {user: {} for user in users}
        self.links: dict[str, Links] = {user: {} for user in users}
        self.gone: dict[str, set[str]] = {user: set() for user in users}
        self.unsure: set[str] = set()  # users with links between two archived memories, which no export tells

    def put(self, user: str, item: Item) -> None:
        """An item as it is now."""
        self.items[user][item.id] = item
        self.gone[user].discard(item.id)  # an erased name is free again

    def state(self, user: str) -> tuple[dict[str, Item], Links]:
        """What a user has, as values."""
        return dict(self.items[user]), dict(self.links[user])

    def shown(
        self, place: Place, reach: str = "project+global", kinds: Collection[str] = ("message", "memory")
    ) -> set[str]:
        """Ids that a search from a place may name."""
        items = self.items[place.user].values()
        return {item.id for item in items if item.shown and item.kind in kinds and item.seen(place, reach)}

    def twin(self, user: str, item: Item) -> Item | None:
        """Another live memory that says the same at the same level, believed as this one is; one that is due says nothing."""
        for other in self.items[user].values():
            same = other.kind == "memory" and other.live and other.id != item.id and other.words == item.words
            if same and other.believed == item.believed and not (other.believed and other.due):
                return other
        return None

    def preferences(self, place: Place) -> dict[str, Any]:
        """The preferences of a place: those of its project before those of the user, the newest before the others."""
        held = [
            item
            for item in self.items[place.user].values()
            if item.kind == "memory" and item.shown and item.project in (None, place.project) and item.session is None
        ]
        found: dict[str, Any] = {}
        for item in sorted(held, key=lambda item: (item.project is not None, item.created_at)):
            metadata = json.loads(item.metadata)
            if "preference" in metadata and item.trust >= TRUST["model_inference"]:
                found[metadata["preference"]] = preference_value(item.content, metadata)
        return found

    # Operations: each says what its receipt must say, and changes the model

    def message(self, place: Place, id: str, content: str, role: str, sent_at: datetime) -> str:
        """A message is stored once under its id, and never rewritten."""
        text = clean(content)
        if is_blank(text):
            return "rejected"
        if held := self.items[place.user].get(id):
            return "duplicate" if held.kind == "message" and held.content == text else "rejected"
        source = SOURCE_OF_ROLE[role]
        fields = {"project": place.project, "session": place.session, "source": source, "trust": TRUST[source]}
        self.put(place.user, Item(id=id, kind="message", content=text, sent_at=sent_at.isoformat(), **fields))
        return "stored"

    def remember(
        self, place: Place, id: str, content: str, *, source: str = "direct_user", sources: Iterable[str] = (),
        level: str | None = None, due: bool = False,
    ) -> tuple[str, str]:  # fmt: skip
        """A statement is kept once at its level; what is trusted takes the place of the same from one who is not."""
        user, text = place.user, clean(content)
        if is_blank(text):
            return "rejected", id
        trust = min([TRUST[source], *(self.items[user][one].trust for one in sources)])
        item = Item(
            id=id, kind="memory", content=text, project=place.project, source=source, trust=trust, due=due,
            session=place.session if level else None, sources=frozenset(sources), origin=frozenset(sources),
        )  # fmt: skip
        if held := self.items[user].get(id):
            return ("duplicate" if held.kind == "memory" and held.live and held.words == item.words else "rejected"), id
        twin = self.twin(user, item)
        if twin is not None and (trust < 0.5 or twin.trust >= 0.5):
            return "duplicate", twin.id
        self.put(user, item)
        if twin is None:
            return "stored", id
        self.end(user, id, twin.id)
        return "superseded", id

    def end(self, user: str, by: str, id: str, strength: float = 1.0) -> None:
        """A memory takes the place of another."""
        self.put(user, replace(self.items[user][id], believed=False))
        self.links[user].setdefault((by, id, "supersedes"), strength)

    def update(self, user: str, id: str, content: str) -> str:
        """The next version, unless nothing changes, it is forgotten, or another memory says this."""
        held = self.items[user][id]
        item = replace(held, content=clean(content), version=held.version + 1)
        if item.content == held.content:
            return "duplicate"
        if not held.live or self.twin(user, item):
            return "rejected"
        self.put(user, item)
        return "stored"

    def forget(self, user: str, id: str) -> str:
        """Out of every search, with the tier it had."""
        held = self.items[user][id]
        if not held.live:
            self.put(user, replace(held, absorbed=False))
            return "forgotten" if held.absorbed else "duplicate"
        self.put(user, replace(held, status="archived", before=held.status))
        return "forgotten"

    def restore(self, user: str, id: str) -> str:
        """Back to the tier it had; what had ended holds again, beside what took its place."""
        held = self.items[user][id]
        if held.live:
            return self.reinstate(user, id)
        if held.kind == "memory" and held.believed and self.taken(user, held):
            return "rejected"
        self.put(user, replace(held, status=held.before, absorbed=False, merged=False))
        return "restored"

    def reinstate(self, user: str, id: str) -> str:
        """What had ended holds again, unless another memory says it or has its key."""
        held = self.items[user][id]
        if held.kind != "memory" or held.believed:
            return "duplicate"
        item = replace(held, believed=True)
        if self.taken(user, item):
            return "rejected"
        self.put(user, item)
        for edge in [edge for edge in self.links[user] if edge[1:] == (id, "supersedes")]:
            del self.links[user][edge]
        return "restored"

    def taken(self, user: str, item: Item) -> bool:
        """Whether another memory says what one says, or has its key."""
        rivals = [other for other in self.items[user].values() if other.id != item.id and other.live and other.believed]
        level, key = (item.project, item.session), item.key
        keyed = any(key and other.key == key and (other.project, other.session) == level for other in rivals)
        return keyed or self.twin(user, item) is not None

    def telling(self, user: str, name: str) -> list[Item]:
        """The episodes that tell of a message."""
        return [item for item in self.items[user].values() if item.kind == "episode" and name in item.sources]

    def left(self, user: str, episode: Item) -> bool:
        """Whether an episode has messages that are not forgotten."""
        return any(self.items[user][id_].live for id_ in episode.sources)

    def retold(self, user: str, name: str, old: Item, new: Item) -> bool:
        """Whether an episode or a memory became what it must when a message of it was forgotten, or came back."""
        if old.kind == "memory":  # archived with any of its messages, restored with the last of them
            forgotten = not all(self.items[user][id_].live for id_ in old.sources)
            status = "archived" if forgotten else old.before
            return name in old.sources and new == replace(old, status=status, before=new.before)
        if old not in self.telling(user, name):
            return False
        if not self.left(user, old):
            return old.live and new == replace(old, status="archived")
        return new == replace(old, status=new.status, content=new.content, version=old.version + 1) and (
            new.status == (old.status if old.live else old.before)
        )

    def link(self, user: str, source: str, target: str, type: str, strength: float) -> str:
        """An edge, or its new strength; ``supersedes`` ends the time of its target."""
        items, edge = self.items[user], (source, target, type)
        if type == "supersedes" and items[target].trust >= 0.5 > items[source].trust:
            return "rejected"
        if type == "supersedes" and self.took_the_place_of(user, target, source):
            return "rejected"
        known = self.links[user].get(edge)
        self.links[user][edge] = strength
        if type == "supersedes":
            self.end(user, source, target)
        return "duplicate" if known == strength else "stored"

    def unlink(self, user: str, source: str, target: str, type: str | None) -> str:
        """The edges from one memory to another, of one type or of all."""
        gone = [edge for edge in self.links[user] if edge[:2] == (source, target) and type in (None, edge[2])]
        for edge in gone:
            del self.links[user][edge]
        replaced = any(edge[2] == "supersedes" for edge in gone)
        left = [edge[0] for edge in self.links[user] if edge[1:] == (target, "supersedes")]
        if replaced and all(self.items[user][one].merged for one in left):  # what absorbed one has its links too
            self.reinstate(user, target)
        return "stored" if gone else "duplicate"

    def took_the_place_of(self, user: str, new: str, old: str) -> bool:
        """Whether one memory replaced another, perhaps through others that are not forgotten."""
        seen, open_ = {new}, [new]
        while open_:
            one = open_.pop()
            earlier = {edge[1] for edge in self.links[user] if edge[0] == one and edge[2] == "supersedes"}
            open_ += [id_ for id_ in earlier - seen if self.items[user][id_].live]
            seen |= set(open_)
        return old in seen

    def retire(self, user: str) -> int:
        """What has had its time goes, unless something live was made from it, at any remove."""
        items = self.items[user]
        cited: set[str] = set()
        left = [source for item in items.values() if item.kind == "memory" and item.live for source in item.sources]
        while left:
            if (id_ := left.pop()) not in cited:
                cited.add(id_)
                left += items[id_].sources if id_ in items else ()
        due = [item.id for item in items.values() if item.live and item.due and item.id not in cited]
        for id_ in due:
            self.forget(user, id_)
        return len(due)

    def made_from(self, user: str, ids: Iterable[str], *, surely: bool) -> set[str]:
        """What was made from some records at any remove, themselves included.

        ``surely``: memories alone, and only by what they were made from when they came to be.
        """
        found = {id_ for id_ in ids if id_ in self.items[user]}
        while True:
            more = {
                item.id
                for item in self.items[user].values()
                if found & (item.origin if surely else item.sources | item.origin)
                and (item.kind == "memory" or not surely)
            } - found
            if not more:
                return found
            found |= more

    # Comparing

    def compare(
        self, user: str, items: dict[str, Item], links: Links, *, fresh: Callable[[Item], bool] = never,
        changed: Callable[[Item, Item], bool] = never, linked: Callable[[Edge], bool] = never, gone: Collection[str] = (),
        absorbed: bool = False,
    ) -> None:  # fmt: skip
        """Fail where a store differs from the model in another way than is allowed; then take over what it says."""
        held = self.items[user]
        missing = [id_ for id_ in held if id_ not in items and id_ not in gone]
        assert not missing, f"lost: {[held[id_] for id_ in missing]}"
        back = [id_ for id_ in (*self.gone[user], *gone) if id_ in items]
        assert not back, f"erased and still there: {[items[id_] for id_ in back]}"
        for id_, item in items.items():
            before = held.get(id_)
            if before is None:
                assert fresh(item), f"nobody stored this: {item}"
            elif before != item:
                assert changed(before, item), f"was {before}\nis  {item}"
        merged = {id_: _aged(held.get(id_), item, absorbed=absorbed) for id_, item in items.items()}
        known = {e: s for e, s in self.links[user].items() if e[0] in merged and e[1] in merged}
        ends = {edge: (merged[edge[0]], merged[edge[1]]) for edge in known}
        hidden = {e: s for e, s in known.items() if not any(m.live for m in ends[e]) or any(m.merged for m in ends[e])}
        for edge in {e for e in {*known, *links} if known.get(e) != links.get(e)} - {*hidden}:
            was_hidden = user in self.unsure and not all(one in held and held[one].live for one in edge[:2])
            assert linked(edge) or was_hidden, f"a link was {known.get(edge)} and is {links.get(edge)}: {edge}"
        self.items[user], self.links[user] = merged, hidden | links
        self.gone[user] |= set(gone)


def _aged(before: Item | None, item: Item, *, absorbed: bool) -> Item:
    """What the store says of an item, and what only the model remembers of it."""
    if before is None:
        return item
    kept = replace(item, origin=before.origin, before=before.before, absorbed=before.absorbed, merged=before.merged)
    if before.live and not item.live:
        kept = replace(kept, before=before.status, absorbed=absorbed, merged=absorbed)
    return replace(kept, absorbed=kept.absorbed and not item.live, merged=kept.merged and not item.live)


# Another process


class Witness:
    """A process of its own that opens a record when asked, checks it, and says what it finds; started once."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def look(self, location: str, dimension: int, users: Iterable[str], text: str = "") -> dict[str, Any]:
        """What verify() says, and the export of each user; ``text`` is stored before, as a message of the first user."""
        if self._process is None:
            command = [sys.executable, str(Path(__file__))]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
        assert self._process.stdin
        assert self._process.stdout
        asked = {"location": location, "dimension": dimension, "users": list(users), "text": text}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def looked(location: str, dimension: int, users: Iterable[str], text: str) -> dict[str, Any]:
    """What this process finds in a record."""
    with Memory(location, embedder=HashingEmbedder(dimension), secrets="allow") as memory:
        handles = {user: memory.scoped(user=user) for user in users}
        stored = ""
        if text:
            first = next(iter(handles.values()))
            stored = first.add(text, sent_at=LONG_AGO + timedelta(days=1))[0].id
        report = memory.admin.verify()
        exports = {user: exported(handle) for user, handle in handles.items()}
        return {"findings": report.findings, "stored": stored, "exports": exports}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(looked(**json.loads(line))), flush=True)
