"""Queries and names: what is found is the user's own, and two names are two."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.faults.fuzzing.oracle import told
from tests.internals import store_of

from mnemic import InvalidInput, Memory
from mnemic.text.terms import index_terms, query_terms
from mnemic.validation import scope

CANARY = "zinnober quokka of somebody else"
TEXTS = (
    "The lighthouse keeper repairs the brass clock.", 'body:alpha OR "NEAR(" beta*', "1:lighthouse 2:clock -user",
    "C++ and C# cost 1,200.50 at 10:30", "naïve café DÉJÀ vu", "東京タワーは高い", "' OR 1=1 --", "don't can't won't",
    "NOT AND OR NEAR MATCH", "ﬁle Ⅷ ½ ٣", "हिन्दी में लिखा", "a\0b\x1bc\u202ed", "🙂 👩‍👩‍👧 flag 🇵🇹", "^ { } [ ] ~ \\ \" ' `",
)  # fmt: skip


class Searched:
    """A record in a file with two users, and the terms that each text of the first one has."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory(folder, user="ana", embedder="hashing", secrets="allow", durability="NORMAL")
        self.ids = {self.memory.remember(text).id: text for text in TEXTS}
        self.other = self.memory.scoped(user="an")
        self.foreign = {self.other.remember(text).id for text in (CANARY, *TEXTS)}
        self.terms: dict[str, Counter[int]] = defaultdict(Counter)
        self.store = store_of(self.memory)
        self.user = self.store.user("ana")
        for id_, text in self.ids.items():
            for term in index_terms(text):
                self.terms[term][self.store.docs_of("ana", [id_])[id_]] += 1

    def asked(self, text: str) -> int:
        """Any text is a query; what it finds is the user's own; how much that is."""
        result = self.memory.search(text, k=5)
        found = [hit.id for hit in result]
        assert len(found) == len(set(found)) <= 5
        assert set(found) <= set(self.ids)
        assert CANARY not in "".join(hit.text for hit in result)
        for term in {*query_terms(text), *index_terms(text), text, f"{text}*", f'"{text}"', f"2:{text}"}:
            self._posted(term)
        return len(found)

    def _posted(self, term: str) -> None:
        try:
            term.encode()
        except UnicodeEncodeError:
            return  # text that is none never gets so far: the analysis replaces it
        assert Counter(self.store.postings(self.user, term)) == self.terms.get(term, Counter()), ascii(term)


class Walls:
    """Users, projects and sessions of any name in one record, beside a plain model of who wrote what."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory(folder, embedder="hashing", secrets="allow", durability="NORMAL")
        self.model: dict[tuple[str, str | None, str | None], set[str]] = defaultdict(set)

    def kept_apart(self, *names: tuple[str, str | None, str | None]) -> bool:
        """Write under each of some names, then read under each; whether they could be names at all."""
        for name in names:
            try:
                scope(*name)
            except InvalidInput as error:
                told(error)
                refused = True
            else:
                refused = False
            assert refused == any(not _nameable(part) for part in name if part is not None), ascii(name)
            if refused:
                return False
        for name in names:
            text = f"note {sum(map(len, self.model.values()))} of {ascii(name)[:60]}"
            self._handle(name).remember(text, level=None if name[2] is None else "session")
            self.model[name].add(text)
        for name in names:
            self._read(name)
        return True

    def _handle(self, name: tuple[str, str | None, str | None]) -> Memory:
        user, project, session = name
        mine = self.memory.scoped(user=user)
        mine = mine if project is None else mine.scoped(project=project)
        return mine if session is None else mine.scoped(session=session)

    def _read(self, name: tuple[str, str | None, str | None]) -> None:
        user, project, session = name
        mine = self._handle(name)
        seen = {
            key: texts for key, texts in self.model.items()
            if key[0] == user and (key[2] is None or key[2] == session)
        }  # fmt: skip
        reaches: dict[Any, set[tuple[str, str | None, str | None]]] = {
            "user": {*seen},
            "project+global": {key for key in seen if project is None or key[1] in (project, None)},
        }
        if project is not None:
            reaches["project"] = {key for key in seen if key[1] == project}
        for reach, keys in reaches.items():
            wanted = {text for key in keys for text in seen[key]}
            assert {record.content for record in mine.list(reach=reach, limit=None)} == wanted, (ascii(name), reach)
            hits = mine.search("note", k=10_000, reach=reach)
            assert {hit.text for hit in hits} <= wanted, (ascii(name), reach)
        assert sum(mine.stats().memories.values()) == sum(len(t) for key, t in self.model.items() if key[0] == user)


class Filtered:
    """Memories with tags and metadata, beside a plain list of them."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory(folder, user="ana", embedder="hashing", secrets="allow", durability="NORMAL")
        self.held: dict[str, tuple[list[str], dict[str, Any]]] = {}

    def noted(self, tags: list[str], metadata: dict[str, Any]) -> None:
        """One more memory; then every tag and every pair finds exactly those that have it."""
        try:
            receipt = self.memory.remember(f"note {len(self.held)}", tags=tags, metadata=metadata)
        except InvalidInput as error:
            told(error)
            return
        record = self.memory.get(receipt.id)
        self.held[receipt.id] = (list(record.tags), json.loads(json.dumps(dict(record.metadata))))
        for tag in [*tags, *record.tags]:
            wanted = {id_ for id_, (own, _) in self.held.items() if _written(tag) in own}
            assert {record.id for record in self.memory.list(tags=[tag], limit=None)} == wanted, ascii(tag)
        for key, value in metadata.items():
            found = {record.id for record in self.memory.list(metadata={key: value}, limit=None)}
            wanted = {id_ for id_, (_, own) in self.held.items() if _same(own, _written(key), value)}
            assert found == wanted, (ascii(key), ascii(value))


def _written(text: str) -> str:
    return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def _same(own: dict[str, Any], key: str, value: Any) -> bool:
    """Equal values of one type; whole and other numbers are one type, truth is another."""
    if key not in own:
        return False
    held = own[key]
    if isinstance(held, str) and isinstance(value, str):
        return held == _written(value)
    kinds = [bool if isinstance(v, bool) else float if isinstance(v, (int, float)) else type(v) for v in (held, value)]
    return kinds[0] is kinds[1] and held == value


def _nameable(text: str) -> bool:
    return 0 < len(text) <= 1_000 and not any(0xD800 <= ord(c) <= 0xDFFF for c in text)
