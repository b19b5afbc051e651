"""Notes in Markdown as basic-memory keeps them: front matter, observations, relations, and prose under headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import cast

import yaml

from mnemic.transfer.importers.fields import Fields, ParsedMemory, derived_id, mapping, statement

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}[ \t]+(.*)")
_OBSERVATION = re.compile(r"[-*][ \t]+\[([^\[\]\n]{2,})\][ \t]+(\S.*)")  # not a task: "[ ]", "[x]"
_RELATION = re.compile(r"[-*][ \t]+([\w -]+?)[ \t]+\[\[([^\[\]\n]+)\]\](?:[ \t]+\((.*)\))?[ \t]*")
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")


def memories(item: Fields) -> Iterator[ParsedMemory]:
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
                yield _memory(item, front, f"{name}: " + "\n".join(prose).strip())
            heading, prose = (heading_match.group(1).strip() if isinstance(heading_match, re.Match) else ""), []
        elif observation := _OBSERVATION.fullmatch(line.strip()):
            category, words = observation.groups()
            yield _memory(
                item, front, f"{title}: {' '.join(_TAG.sub('', words).split())}", (category, *_TAG.findall(words))
            )
        elif relation_match := _RELATION.fullmatch(line.strip()):
            relation, other, context = relation_match.groups()
            relation_text = f"{title} {relation.replace('_', ' ')} {other}" + (f" ({context})" if context else "")
            yield _memory(item, front, relation_text, ("relation",))
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


def _memory(item: Fields, front: Fields, text: str, tags: tuple[str, ...] = ()) -> ParsedMemory:
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
