"""Exports of memory systems: mem0, LangGraph, MCP's memory server, Zep, Letta, Chroma, basic-memory, and Claude's memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, cast

import yaml

from mnemic.errors import InvalidInput
from mnemic.ingest import role_of
from mnemic.text.values import json_type
from mnemic.transfer.importers.fields import (
    ACCOUNT,
    CLAUDE_MEMORY,
    Damage,
    Fields,
    ParsedMemory,
    array,
    derived_id,
    fields_of,
    from_json,
    identifier,
    mapping,
    maybe_json,
    metadata_of,
    names_in,
    read_each,
    read_one,
    snake_case,
    statement,
)
from mnemic.types import MemoryType, Message


def _memory(item: Fields, system: str, name: str, field: str, owner: Fields, **known: Any) -> ParsedMemory:
    """A memory with the text of a field, its times, and the user that its owner, the object or its metadata, names."""
    created = item.moment("created_at")
    changed = known.pop("changed", None) or item.moment("updated_at") or created
    return ParsedMemory(
        path=item.path, id=identifier(system, name), content=statement(item, field, item.text(field) or ""),
        names=names_in(owner.values), created=created, changed=changed, **known,
    )  # fmt: skip


# mem0: results of get_all, exports of its platform, and points of its Qdrant collection

_MEM0_FIELDS = ("id", "memory", "data", "metadata", "created_at", "updated_at", "expiration_date", "categories")
_MEM0_INDEX = ("text_lemmatized", "score")
"""Fields that mem0 derives from a text for its search."""


def mem0(item: Fields) -> Iterator[ParsedMemory]:
    """One memory.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    if "new_memory" in item.values:
        raise InvalidInput(
            f"{item.path} is a row of mem0's history, which has no user and contains outdated texts. Import the result of "
            "get_all()."
        )
    number = item.values.get("id")
    name = str(number) if isinstance(number, int) and not isinstance(number, bool) else item.word("id")
    if "payload" in item.values:  # a point of Qdrant: the same fields, with the text under "data"
        item = item.inside("payload")
    field = "memory" if item.values.get("memory") is not None or "data" not in item.values else "data"
    metadata = metadata_of(item.maybe("metadata").values, item.without(*_MEM0_FIELDS, *_MEM0_INDEX), "mem0")
    yield _memory(item, "mem0", name, field, item, tags=_categories(item), metadata=metadata, until=_expiration(item))


def _categories(item: Fields) -> tuple[str, ...]:
    value = item.values.get("categories")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(word, str) for word in cast("list[object]", value)):
        raise item.fault("categories", "must be a list of strings")
    return tuple(dict.fromkeys(word for word in cast("list[str]", value) if word))


def _expiration(item: Fields) -> datetime | None:
    """The expiration time; for a date the end of that day."""
    until = item.moment("expiration_date")
    if until is None or until.tzinfo is not None or (until.hour, until.minute, until.second) != (0, 0, 0):
        return until
    return until.replace(tzinfo=UTC) + timedelta(days=1)


def mem0_unsupported(data: Mapping[str, object]) -> Iterator[Damage]:
    """Parts of a file of mem0 that are not imported: further pages, and relations of a graph."""
    if data.get("next"):
        count = data.get("count")
        many = f" of {count} memories" if isinstance(count, int) else ""
        yield Damage("next", f"The file is one page{many}; export the others from mem0 and import them as well.")
    relations = data.get("relations")
    if isinstance(relations, list) and relations:
        yield Damage("relations", f"{len(cast('list[object]', relations))} relations of mem0's graph are not imported.")


# LangGraph: items of a store, including memories of LangMem

_TEXTS = ("content", "text", "memory", "data", "fact", "statement")
"""Fields with the text of a value, the most common first; all others are metadata."""

_TRIPLE = ("subject", "predicate", "object")
_TYPES: Mapping[str, MemoryType] = {"episode": "episodic", "procedure": "procedural", "instructions": "procedural"}
"""Memory types of LangMem's kinds; all others are semantic."""

_ITEM_FIELDS = (
    "namespace", "prefix", "key", "value", "created_at", "updated_at", "expires_at", "score", "ttl", "ttl_minutes",
)  # fmt: skip


def langgraph(item: Fields) -> Iterator[ParsedMemory]:
    """One item.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    namespace = _namespace(item)
    value = _value(item)
    kind = value.get("kind")
    inner = value["content"] if isinstance(kind, str) and "content" in value else value
    text, value_fields = _text_of(inner)
    created = item.moment("created_at")
    yield ParsedMemory(
        path=item.path,
        id=identifier("langgraph", ".".join([*namespace, item.word("key")])),
        content=statement(item, "value", text),
        names={f"namespace.{position}": label for position, label in enumerate(namespace)},
        type=_TYPES.get(kind.lower(), "semantic") if isinstance(kind, str) else "semantic",
        category=kind if isinstance(kind, str) and kind != "Memory" else None,
        metadata=metadata_of({**value_fields, "namespace": list(namespace)}, item.without(*_ITEM_FIELDS), "langgraph"),
        created=created,
        changed=item.moment("updated_at") or created,
        until=item.moment("expires_at"),
    )


def _namespace(item: Fields) -> Sequence[str]:
    """A list of labels, or a dotted string as in the tables of LangGraph."""
    field = "namespace" if "namespace" in item.values else "prefix"
    value = item.values.get(field)
    if isinstance(value, str) and value:
        return value.split(".")
    if not isinstance(value, list) or not all(isinstance(label, str) for label in cast("list[object]", value)):
        raise item.fault(field, f"must be a list of strings, not {json_type(cast('object', value))}")
    return cast("list[str]", value)


def _value(item: Fields) -> Mapping[str, object]:
    """The value of an item; the tables of LangGraph store it as text."""
    value = item.values.get("value")
    if isinstance(value, str):
        value = from_json(value, f"{item.path}.value")
    return fields_of(value, f"{item.path}.value").values


def _text_of(value: object) -> tuple[str, Mapping[str, object]]:
    """The text of a value, and its other fields; all fields if the text is made of several."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), {}
    fields = mapping(cast("object", value))
    if all(isinstance(fields.get(name), str) for name in _TRIPLE):
        text = " ".join(str(fields[name]) for name in _TRIPLE)
        return text, {name: entry for name, entry in fields.items() if entry is not None}
    for name_ in _TEXTS:
        if isinstance(fields.get(name_), str):
            return str(fields[name_]), {name: entry for name, entry in fields.items() if name != name_}
    lines = [f"{name}: {_as_text(entry)}" for name, entry in fields.items() if entry not in (None, "", [], {})]
    return "\n".join(lines), {"value": fields}


def _as_text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in cast("list[object]", value)):
        return ", ".join(cast("list[str]", value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# MCP's memory server: a graph of entities with observations, and relations between them


def memory_graph(item: Fields) -> Iterator[ParsedMemory | Damage]:
    """A memory for each observation of an entity, ``Ana: likes tea``, and one for a relation, ``Ana works at Acme``."""
    if item.word("type") == "relation":
        words = (item.word("from"), item.word("relationType").replace("_", " "), item.word("to"))
        yield _of_graph(item, " ".join(words), [], {"relation": item.word("relationType")})
        return
    name, kind = item.word("name"), item.text("entityType", needed=False)
    for number, observation in enumerate(item.listed("observations")):
        if isinstance(observation, str):
            yield _of_graph(item, f"{name}: {observation}", [kind] if kind else [], {"entity": name})
        else:
            field = f"observations[{number}]"
            yield Damage(f"{item.path}.{field}", str(item.fault(field, "must be a string")))


def _of_graph(item: Fields, text: str, tags: list[str], metadata: dict[str, str]) -> ParsedMemory:
    content = statement(item, "observations", text)
    return ParsedMemory(
        path=item.path, id=derived_id("graph", content), content=content, names={}, tags=tuple(tags), metadata=metadata
    )


# Zep and Graphiti: the facts of a graph (its edges), and the messages of a thread, in the names of any of their clients

_FACT_FIELDS = "uuid fact created_at valid_at invalid_at expired_at fact_embedding relevance score".split()


def zep(item: Fields) -> Iterator[ParsedMemory]:
    """One fact, with the time when it was true; none for a message.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    item = _snake_cased(item)
    if "role" in item.values:
        return
    yield _memory(
        item, "zep", item.word("uuid"), "fact", item, metadata=metadata_of({}, item.without(*_FACT_FIELDS), "zep"),
        changed=item.moment("valid_at"), ended=item.moment("invalid_at") or item.moment("expired_at"),
    )  # fmt: skip


def zep_messages(data: object, session: str | None) -> Iterator[Message | Damage]:
    """The messages of a thread; nothing for facts."""

    def read(item: Fields) -> Iterator[Message]:
        item = _snake_cased(item)
        if "role" in item.values:
            yield Message(
                id=identifier("zep", item.word("uuid")),
                role=role_of(item.word("role")),
                content=item.text("content") or "",
                name=item.text("name", needed=False),
                session=item.text("thread_uuid", needed=False) or session,
                sent_at=item.moment("reference_time") or item.moment("created_at"),
                metadata=item.maybe("metadata").values,
            )

    return read_each(data, read)


def _snake_cased(item: Fields) -> Fields:
    """An object of the TypeScript client (``createdAt``) under the names of the others."""
    return Fields({snake_case(name): value for name, value in item.values.items()}, item.path)


# Letta: agent files in both versions, lists of messages, and lists of archival passages

_ROLES = {
    "user": "user", "user_message": "user", "assistant": "assistant", "assistant_message": "assistant",
}  # fmt: skip
"""The speaker by role (agent files) or kind (listed messages); other roles and kinds are prompts, tools and thoughts."""

_PASSAGE = ("id", "text", "created_at", "updated_at", "tags", "embedding", "embedding_config", "metadata", "is_deleted")


def letta_rows(data: object) -> list[object]:
    """The memory blocks and messages of an agent file, each message with its agent, and its damage; a list as it is."""
    file = Fields(mapping(data), "file")
    if "agents" in file.values:
        agents = enumerate(_listed(file, "agents"))
        turns = (turn for number, agent in agents for turn in read_one(agent, _turns, f"file.agents[{number}]"))
        return [*_listed(file, "blocks"), *turns]
    if "core_memory" in file.values:  # the first version: one agent
        return [*_listed(file, "core_memory"), *_turns(file)]
    return array(data, [data])


def _listed(owner: Fields, field: str) -> list[object]:
    """A list, or its damage."""
    try:
        return owner.listed(field)
    except InvalidInput as error:
        return [Damage(f"{owner.path}.{field}", str(error))]


def _turns(agent: Fields) -> Iterator[object]:
    (name,), damaged = agent.texts("name")
    yield from damaged
    about = {"agent": name, "agent_type": agent.values.get("agent_type")}
    for turn in _listed(agent, "messages"):
        fields = mapping(turn)
        yield {**fields, **about} if fields else turn


def letta(item: Fields) -> Iterator[ParsedMemory]:
    """A memory block or an archival passage; none for a message, and for the block about the agent itself.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    if _is_message(item):
        return
    if "label" not in item.values:
        about = item.maybe("metadata")
        yield _memory(
            item, "letta", item.word("id"), "text", about, tags=tuple(map(str, array(item.values.get("tags")))),
            metadata=metadata_of(about.values, item.without(*_PASSAGE), "letta"),
        )  # fmt: skip
    elif (label := item.word("label")) != "persona" and (value := item.text("value")):
        yield ParsedMemory(
            path=item.path, id=derived_id("letta", label, value), content=statement(item, "value", value), names={},
            tags=(label,), metadata={"block": label},
        )  # fmt: skip


def _is_message(item: Fields) -> bool:
    return "role" in item.values or "message_type" in item.values


def letta_messages(data: object, session: str | None) -> Iterator[Message | Damage]:
    """What the user and the agent said; ids of an agent file are its own, so that messages get derived ones."""

    def read(item: Fields) -> Iterator[Message]:
        role = _ROLES.get(item.word("role" if "role" in item.values else "message_type")) if _is_message(item) else None
        if role is not None and (text := _spoken_text(item, role)):
            sent_at = item.moment("date" if "date" in item.values else "created_at")
            yield Message(role=role, content=text, session=item.text("agent", needed=False) or session, sent_at=sent_at)

    return read_each(data, read)


def _spoken_text(item: Fields, role: str) -> str:
    """The words of a message. A MemGPT agent speaks by the tool ``send_message``; the rest of what it writes is thought."""
    field = "content" if "content" in item.values else "text"
    text, _ = item.said(field)
    if item.values.get(field) is None and not item.values.get("tool_calls"):
        raise item.fault(field, "is missing")
    if role == "user":
        event = mapping(maybe_json(text))
        if "type" not in event:
            return text
        return str(event.get("message", "")) if event["type"] == "user_message" else ""  # others: logins, heartbeats
    calls = [mapping(mapping(call).get("function")) for call in array(item.values.get("tool_calls"))]
    sent = [call.get("arguments") for call in calls if call.get("name") == "send_message"]
    if spoken := [mapping(maybe_json(str(arguments))).get("message") for arguments in sent]:
        return "\n".join(str(words) for words in spoken if words)
    return "" if str(item.values.get("agent_type")).startswith("memgpt") else text


def letta_left_out(data: object) -> int:
    """How many blocks and messages of a file of Letta are not imported: the persona, prompts, thoughts, tools and events."""
    count = 0
    for row in letta_rows(data):
        with suppress(InvalidInput):  # damage is reported by itself
            item = fields_of(row, "")
            count += not [*letta(item), *letta_messages([row], None)]
    return count


# Chroma: the documents of a collection, as collection.get() returns them


def chroma_rows(data: object) -> list[object]:
    """One object for each id: ``id``, ``document`` and ``metadata``.

    Raises:
        InvalidInput: it is the result of a query, or its lists differ in length.
    """
    ids, documents, metadatas = (array(mapping(data).get(field)) for field in ("ids", "documents", "metadatas"))
    if ids and isinstance(ids[0], list):
        raise InvalidInput("This is the result of collection.query(). Export the collection with collection.get().")
    metadatas = metadatas or [None] * len(ids)
    if not len(ids) == len(documents) == len(metadatas):
        raise InvalidInput(
            f"The collection has {len(ids)} ids, {len(documents)} documents and {len(metadatas)} metadatas. Export it with "
            'collection.get(include=["documents", "metadatas"]).'
        )
    return [{"id": i, "document": d, "metadata": m} for i, d, m in zip(ids, documents, metadatas, strict=True)]


def chroma(item: Fields) -> Iterator[ParsedMemory]:
    """One document.

    Raises:
        InvalidInput: it has no id or text.
    """
    metadata = item.maybe("metadata")
    changed = None
    with suppress(InvalidInput):  # a collection may mean something else by it
        changed = metadata.moment("created_at")
    yield ParsedMemory(
        path=item.path,
        id=identifier("chroma", item.word("id")),
        content=statement(item, "document", item.text("document", needed=False) or ""),
        names=names_in(metadata.values),
        metadata=metadata_of({}, metadata.values, "chroma"),
        changed=changed,
    )


# Claude: what it wrote down about an account and its projects

_BOLD_HEADING = re.compile(r"(?:#{1,6}[ \t]+)?\*\*([^*]+)\*\*:?|#{1,6}[ \t]+(.*)")


def claude(item: Fields) -> Iterator[ParsedMemory | Damage]:
    """A memory for each paragraph of an account's memory and of those of its projects, with the heading that it stands under.

    A conversation has none.

    Raises:
        InvalidInput: a field is malformed.
    """
    if CLAUDE_MEMORY.isdisjoint(item.values):
        return
    account = item.text(ACCOUNT, needed=False)
    names = {ACCOUNT: account} if account else {}
    projects = item.maybe("project_memories")
    texts = [(item, "conversations_memory"), *((projects, project) for project in projects.values)]
    for owner, field in texts:
        heading = ""
        for paragraph in (owner.text(field, needed=False) or "").split("\n\n"):
            text = paragraph.strip()
            if match := _BOLD_HEADING.fullmatch(text):
                heading = (match[1] or match[2]).strip()
            elif text:
                content = f"{heading}: {text}" if heading else text
                metadata = {"claude": {"project": field}} if owner is projects else {}
                yield ParsedMemory(
                    path=owner.path, id=derived_id("claude", account or "", field, content), names=names, metadata=metadata,
                    content=statement(owner, field, content),
                )  # fmt: skip
    if item.values.get("memory_files"):
        yield Damage(item.path, f"{item.path}.memory_files is not supported; the rest of {item.path} is imported.")


# basic-memory: notes in Markdown with front matter, observations, relations, and prose under headings

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}[ \t]+(.*)")
_OBSERVATION = re.compile(r"[-*][ \t]+\[([^\[\]\n]{2,})\][ \t]+(\S.*)")  # not a task: "[ ]", "[x]"
_RELATION = re.compile(r"[-*][ \t]+([\w -]+?)[ \t]+\[\[([^\[\]\n]+)\]\](?:[ \t]+\((.*)\))?[ \t]*")
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")


def basic_memory(item: Fields) -> Iterator[ParsedMemory]:
    """A memory for each observation and relation of a note, and one for the prose under each heading.

    Raises:
        InvalidInput: the front matter is not valid YAML, or a text is too long.
    """
    item = Fields(item.values, item.word("file"))
    front, body = _front_matter(item, item.text("note") or "")
    title = str(front.values.get("title") or PurePosixPath(item.word("file")).stem)
    heading, prose = "", list[str]()
    for line in [*body.split("\n"), "# "]:
        if heading_match := _HEADING.fullmatch(line.strip()) or (line == "# "):
            if any(part.strip() for part in prose):
                name = title if heading in ("", title) else f"{title}, {heading}"
                yield _of_note(item, front, f"{name}: " + "\n".join(prose).strip())
            heading, prose = (heading_match.group(1).strip() if isinstance(heading_match, re.Match) else ""), []
        elif observation := _OBSERVATION.fullmatch(line.strip()):
            category, words = observation.groups()
            yield _of_note(
                item, front, f"{title}: {' '.join(_TAG.sub('', words).split())}", (category, *_TAG.findall(words))
            )
        elif relation_match := _RELATION.fullmatch(line.strip()):
            relation, other, context = relation_match.groups()
            relation_text = f"{title} {relation.replace('_', ' ')} {other}" + (f" ({context})" if context else "")
            yield _of_note(item, front, relation_text, ("relation",))
        else:
            prose.append(line)


def _front_matter(item: Fields, text: str) -> tuple[Fields, str]:
    match = _FRONT_MATTER.match(text)
    if match is None:
        return Fields({}, item.path), text
    try:
        values = cast("object", yaml.safe_load(match.group(1)))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise item.fault("note", f"has front matter that is not YAML ({str(error).splitlines()[0]})") from error
    times = {name: str(value) for name, value in mapping(values).items() if name in ("created", "modified")}
    return Fields({**mapping(values), **times}, item.path), text[match.end() :]


def _of_note(item: Fields, front: Fields, text: str, tags: tuple[str, ...] = ()) -> ParsedMemory:
    file, created = item.word("file"), front.moment("created")
    name = str(front.values.get("permalink") or file)
    return ParsedMemory(
        path=item.path, id=derived_id("basic-memory", name, text), content=statement(item, "note", text), names={},
        tags=tuple(dict.fromkeys((*tags, *_tags(front.values)))), metadata={"note": file}, created=created,
        changed=front.moment("modified") or created,
    )  # fmt: skip


def _tags(front: Mapping[str, object]) -> tuple[str, ...]:
    """The tags of a note: a list, or a text with commas."""
    tags = front.get("tags") or ()
    words = tags.split(",") if isinstance(tags, str) else cast("list[object]", tags) if isinstance(tags, list) else ()
    return tuple(word for tag in words if (word := str(tag).strip().removeprefix("#")))
