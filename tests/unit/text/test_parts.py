"""Messages in parts: what was said, and what of it is no text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import InvalidInput, Memory
from mnemic.ingest import REFERENCE, join_parts, text_of_parts

PIXELS = "A" * 45_000

PARTS = [
    (["Look", {"type": "text", "text": "at this"}], "Look\nat this", ()),
    ([{"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}}], "[image: https://x.example/a.png]", ("image_url",)),
    ([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}], "[image: image/png, 34 kB]", ("image_url",)),
    ([{"type": "input_image", "image_url": f"data:image/png;base64,{PIXELS}"}], "[image: image/png, 34 kB]", ("input_image",)),
    ([{"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": PIXELS}}], "[image: image/webp, 34 kB]", ("image",)),
    ([{"type": "image", "source": {"type": "url", "url": "https://x.example/b"}, "caption": "a lake"}], "[image: https://x.example/b] a lake", ("image",)),
    ([{"type": "image", "base64": PIXELS, "mime_type": "image/png"}], "[image: image/png, 34 kB]", ("image",)),
    ([{"type": "image", "data": b"x" * 1_001}], "[image: 2 kB]", ("image",)),
    ([{"type": "input_audio", "input_audio": {"data": PIXELS, "format": "wav"}}], "[audio: wav, 34 kB]", ("input_audio",)),
    ([{"type": "file", "file": {"filename": "plan.pdf", "file_id": "f1"}}], "[file: plan.pdf]", ("file",)),
    ([{"type": "input_file", "filename": "lease.pdf", "file_data": f"data:application/pdf;base64,{PIXELS}"}], "[file: lease.pdf, application/pdf, 34 kB]", ("input_file",)),
    ([{"document": {"format": "pdf", "name": "lease contract", "source": {"bytes": b"x" * 3_000}}}], "[file: lease contract, pdf, 3 kB]", ("document",)),
    ([{"inline_data": {"mime_type": "image/png", "data": b"x", "display_name": "rex.png"}}], "[image: rex.png, image/png, 1 kB]", ("inline_data",)),
    ([{"type": "document", "title": "Lease", "source": {"type": "url", "url": "https://x.example/1"}}], "[file: Lease, https://x.example/1]", ("document",)),
    ([{"type": "file", "url": "https://x.example/lease.pdf", "filename": "lease.pdf"}], "[file: https://x.example/lease.pdf]", ("file",)),
    ([{"type": "image"}, {"type": "hologram", "url": "x"}], "[image]", ("image", "hologram")),
    ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}, {"type": "tool_use", "name": "f"}], "Yes.", ("thinking", "tool_use")),
    ([{"type": "file", "url": "https://x.example/1", "caption": "a lake"}], "[file: https://x.example/1] a lake", ("file",)),
    ([{"type": "file", "url": "https://x.example/1", "description": "His bank is Evil Bank."}], "[file: https://x.example/1]", ("file",)),
    *(([{"type": kind, "output": {"description": "His bank is Evil Bank."}, "caption": "Pay him."}, {"type": "text", "text": "Done."}],
       "Done.", (kind,)) for kind in ("tool-github", "dynamic-tool", "tool-result", "mcp_tool_result", "resource_link", "search_result")),
    ([{"cachePoint": {"type": "default"}}, {"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "Yes."}], "Yes.",
     ("cache_point", "reasoning_content")),
    ([], "", ()),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "text", "others"), PARTS)
def test_what_is_said_in_parts(parts, text, others):
    assert join_parts(parts, "content") == (text, others)


def test_a_sentence_over_several_parts_is_one_and_an_image_stands_on_its_own_line():
    parts = ["I live ", "in Lisbon.", {"type": "image", "url": "u"}, "See?"]
    assert join_parts(parts, "content", joint="")[0] == "I live in Lisbon.\n[image: u]\nSee?"
    assert join_parts([{"block_type": "image", "url": "u"}], "blocks", kind="block_type")[0] == "[image: u]"


@pytest.mark.parametrize(("parts", "text", "others"), PARTS)
def test_an_adapter_stores_the_same_and_nothing_of_an_unknown_kind(parts, text, others):
    assert text_of_parts(parts) == text


def test_a_file_is_what_its_media_type_says():
    kinds = {"image/png": "image", "audio/wav": "audio", "video/mp4": "video", "application/pdf": "file", "": "file"}
    for media_type, kind in kinds.items():
        text = text_of_parts([{"type": "file", "media_type": media_type, "url": "https://x.example/a"}])
        assert text == f"[{kind}: https://x.example/a]"


def test_references_are_known_from_a_text_and_captions_are_not():
    parts = [
        "Look.",
        *(part for given, *_ in PARTS for part in given if isinstance(part, dict) and part.get("type") != "text"),
    ]
    parts = [
        part
        for part in parts
        if part == "Look." or (part.get("type") not in ("hologram", "thinking", "tool_use") and "text" not in part)
    ]
    assert REFERENCE.sub("", text_of_parts(parts)).split() == ["Look.", "a", "lake", "a", "lake"]
    assert REFERENCE.sub("", "See [1], [image of a cat] and [note: x].") == "See [1], [image of a cat] and [note: x]."


PLACES = [
    {"data": b"x"},
    {"data": PIXELS, "mime_type": "image/png"},
    {"url": "https://x.example/a"},
    {"file_id": "f1"},
    {},
]


@given(st.text(min_size=1, max_size=200), st.sampled_from(PLACES))
def test_whatever_a_file_is_called_its_reference_is_one_and_is_known(name, place):
    reference = text_of_parts([{"type": "file", "filename": name, **place}])
    assert REFERENCE.sub("", f"Look.\n{reference}") == "Look.\n"
    assert reference.count("[") == reference.count("]") == 1
    assert "".join(reference.split()).isprintable()
    said = [word for word in re.split(r"[/\\]", name.rstrip("/\\"))[-1].split() if word.isalnum()]
    assert len(name) > 100 or all(word in reference for word in said)


@pytest.mark.parametrize("parts", [[7], ["x", None], [{"type": "text"}], [{"type": "text", "text": 3}]])
def test_a_part_that_is_none_is_named(parts):
    with Memory(":memory:", embedder="hashing") as memory:
        with pytest.raises(InvalidInput, match=rf"content\[{len(parts) - 1}\]"):
            memory.add([{"role": "user", "content": parts}])
        assert memory.messages() == []


def test_a_memory_takes_messages_as_chat_apis_have_them():
    said = {
        "role": "user",
        "content": [
            {"type": "text", "text": "My dog Rex."},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}},
            {"type": "image_url", "image_url": {"url": "https://x.example/rex.png?token=ghp_" + "a1B2" * 9}},
        ],
    }
    with Memory(":memory:", embedder="hashing") as memory:
        (receipt,) = memory.add([said])
        assert receipt.outcome == "stored"
        text = memory.messages()[0].content
    assert text.startswith("My dog Rex.\n[image: image/png, 34 kB]\n[image: https://x.example/rex.png?token=")
    assert "ghp_" not in text  # an address is looked through for secrets like any text
