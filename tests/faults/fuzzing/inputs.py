"""Inputs for the fuzzers: texts of hostile pieces, and well-formed values with a few parts changed."""

import copy
import json
import string

from hypothesis import strategies as st
from tests.faults.fuzzing import texts

from mnemic.secrets.patterns import ADJACENT_PATTERNS, CONTEXT_PATTERNS
from mnemic.secrets.tokens import TOKENS

WILD = st.characters(codec=None)

PIECES = st.sampled_from(
    ["\n", "\r", "\r\n", " ", "  ", "\t", "\0", "\x1b[31m", "\u2028", "\u200b", "\ufe0f", "\ufe00", "\u202e", "\ud800", "\udc00",
     "\U000e0041", "\u0130", "\ufb01", "<", ">", "</", "<|", "[", "]", "(", "{", "}", "`", "```", "---", "***", "- ", "* ", "> ", "#", ":",
     ": ", ",", '"', "'", "\\", "\\u0000", "|", "!", "&", "%", "1", "2026-03-02", "1,200.50", "<memory ", "</memory ", texts.FENCE,
     "&lt;", "system", "<system>", "[INST]", "user:", "assistant", "![a](http://x)", "Ana", "Lisbon", "rent", "null", "NaN", "1e999"]
)  # fmt: skip

ANY = st.lists(st.one_of(PIECES, PIECES, st.text(WILD, max_size=6)), max_size=24).map("".join)

WORDS = st.text(string.ascii_letters + " .,'", min_size=1, max_size=30)

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(0, 110), st.floats(), ANY, WORDS, st.just("x" * 2_000),
    st.sampled_from(["merge", "supersede", "keep_both", "new", "update", "semantic", "extends", "2 cats", "900 euros"]),
)  # fmt: skip

FIELDS = st.sampled_from(
    "prediction statements statement change known messages type confidence episodes topic first last title story memories "
    "memory summary keywords tags category importance files entities decision content kept reason links candidate "
    "strength queries role name sent_at id session metadata data lc kwargs additional_kwargs store blocks block_type text "
    "conversation speaker_a speaker_b session_1 session_1_date_time dia_id speaker results payload user_id created_at "
    "updated_at expiration_date categories namespace prefix key value kind ttl next count relations".split()
)

JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS | ANY, inner, max_size=5), max_leaves=12
)


@st.composite
def changed(draw, good):
    """A value with a few of its parts replaced, taken out, or there more than once."""
    value = copy.deepcopy(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(0, 3))):
        holder, key = _place(draw, value)
        if holder is None:
            break
        match draw(st.sampled_from(["replace", "replace", "drop", "again"])):
            case "replace":
                holder[key] = draw(JSON)
            case "drop":
                del holder[key]
            case "again" if isinstance(holder, list):
                holder.extend(copy.deepcopy(holder[key]) for _ in range(draw(st.sampled_from([1, 3, 600]))))
            case _:
                holder[draw(FIELDS)] = copy.deepcopy(holder[key])
    return value


def _place(draw, value):
    """Somewhere in a value."""
    places, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        places += [(one, key) for key in keys]
        waiting += [one[key] for key in keys]
    return draw(st.sampled_from(places)) if places else (None, None)


@st.composite
def written(draw, values):
    """JSON as it arrives: among prose, between fences, cut off, with something put in."""
    text = json.dumps(draw(values), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    match draw(st.sampled_from(["whole", "whole", "prose", "fence", "cut", "put in", "twice"])):
        case "prose":
            return f"{draw(ANY)}\n{text}\n{draw(ANY)}"
        case "fence":
            return f"```json\n{text}\n```"
        case "cut":
            return text[: draw(st.integers(0, len(text)))]
        case "put in":
            at = draw(st.integers(0, len(text)))
            return text[:at] + draw(ANY) + text[at:]
        case "twice":
            return text + "\n" + text
        case _:
            return text


LINES = st.sampled_from(
    ["---", "...", "name: a", "name: 'it''s'", 'name: "a\\u00e9\\n"', "description: >", "  folded", "description: |-", "\ttab", "name: [a, b]",
     "name: {a: b}", "name: &x y", "name: !!str y", "name: *x", "name: ~", "# Heading", "Heading", "=====", "-----", "", "Some prose here.",
     "```", "~~~~", "<!-- a", "-->", "<b>x</b>", "![i](u)", "[a](b) text", "- item", "1. one", "> q", "| a |", "@import.md", "***", "__a__"]
)  # fmt: skip

MARKDOWN = st.lists(st.one_of(LINES, LINES, ANY), max_size=14).map("\n".join)

URLS = st.sampled_from(["https://{t}:{t}@host.example/a/b.git", "git@host:{a}", "ssh://{t}@h/{a}", "file:///{t}", "https://h/{a}?k={t}",
                        "{a}", "//{a}", "https://[::1/{a}", "c:\\{t}", "https://h/{a}#{t}", '"https://h/{a}/b"'])  # fmt: skip

FILES = [
    [{"role": "user", "content": "Ana moved.", "sent_at": "2026-03-02T09:30:00+00:00"}, {"role": "assistant", "content": ["x"]}],
    [{"type": "human", "data": {"content": "Ana moved.", "id": "1"}}, {"lc": 1, "id": ["a", "AIMessage"], "kwargs": {"content": "y"}}],
    {"store": {"s1": [{"role": "user", "blocks": [{"block_type": "text", "text": "Ana moved."}], "additional_kwargs": {}}]}},
    {"results": [{"id": "1", "memory": "Ana moved.", "user_id": "ana", "created_at": "2026-03-02", "categories": ["home"],
                  "metadata": {"a": 1}, "expiration_date": "2099-01-01"}, {"id": 2, "payload": {"data": "The rent is 900."}}]},
    {"items": [{"namespace": ["ana", "m"], "key": "k", "value": {"kind": "Memory", "content": {"content": "Ana moved."}},
                "created_at": 1767225600, "updated_at": "2026-03-02T09:30:00Z"}]},
    {"sample_id": "1", "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1:56 pm on 8 May, 2023",
                      "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "I moved."}]}},
    {"edges": [{"uuid": "e", "fact": "Ana moved.", "valid_at": "2026-03-02T09:30:00Z", "invalid_at": None, "attributes": {"a": 1}},
               {"uuid": "m", "role": "user", "content": "I moved.", "created_at": "2026-03-02T09:30:00Z"}]},
    {"agents": [{"name": "a", "agent_type": "memgpt_agent", "messages": [
        {"role": "user", "content": '{"type": "user_message", "message": "I moved."}', "created_at": "2026-03-02T09:30:00Z"},
        {"role": "assistant", "content": [], "tool_calls": [{"function": {"name": "send_message", "arguments": '{"message": "Oh."}'}}]}]}],
     "blocks": [{"id": "b", "label": "human", "value": "Ana moved."}]},
    {"ids": ["1"], "documents": ["Ana moved."], "metadatas": [{"created_at": 1767225600}]},
    [{"file": "a.md", "note": "---\ntags: [a]\ncreated: 2026-03-02\n---\n# A\n- [home] Ana moved. #b\n- is_in [[Lisbon]]\nShe likes it."}],
]  # fmt: skip

SYNTAX = st.sampled_from(["AND", "OR", "NOT", "NEAR(", ")", "*", "^", '"', "body:", "terms:", "2:", "1:lighthouse", "-", "+", "lighthouse",
                          "clock", "quokka", "c++", "1,200.50", "東京", "café", "'; DROP TABLE fulltext; --", "\0", "%", "_", "?1", "rank"])  # fmt: skip

SEGMENTS = st.sampled_from(["a", "A", "ab", "a b", "a/b", "a:b", "a\x1fb", "a|b", "a%", "a_", "*", "?", "[a]", ".", "..", "/", "\\", "a\0b",
                            "a\n", " a", "a ", "é", "e\u0301", "ß", "ss", "İ", "i", "ﬁ", "fi", "null", "None", "0", "1", "default", "a" * 1000,
                            "a" * 999, "a" * 1001, "", "\ud800", "\u200ba", "a\u202e", "'", '"', "--", "a' OR '1'='1"])  # fmt: skip

NAME = st.one_of(SEGMENTS, SEGMENTS, ANY)

PLACE = st.tuples(NAME, st.none() | NAME, st.none() | NAME)

KEYS = SEGMENTS | st.sampled_from(["$", "$.a", "a.b", "[0]", '$."a"', "key", "#"])

VALUES = st.one_of(
    st.none(), st.booleans(), st.sampled_from([0, 1, -1, 1.0, 0.5, 2**53, 2**63, 10**400, 1e308, -0.0]), SEGMENTS
)

CALLS = st.sampled_from(
    [
        "tools/call",
        "tools/list",
        "initialize",
        "ping",
        "resources/read",
        "prompts/get",
        "",
        "x" * 500,
        "notifications/cancelled",
    ]
)

RPC = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2, None]), "id": st.one_of(st.none(), st.integers(), ANY, st.booleans(), JSON),
        "method": CALLS | LEAVES, "params": JSON | st.fixed_dictionaries(
            {"name": st.sampled_from(["remember", "recall", "forget", "nobody"]) | LEAVES, "arguments": JSON}
        ), "result": JSON, "error": JSON,
    },
)  # fmt: skip

LINE = st.one_of(
    st.binary(max_size=80), written(RPC).map(lambda t: t.encode(errors="surrogatepass")), ANY.map(lambda t: t.encode(errors="surrogatepass")),
    st.lists(RPC, max_size=3).map(lambda v: json.dumps(v).encode()),
)  # fmt: skip

HOSTILE = (
    b"", b"\0" * 100, b"\xff\xfe" * 50, b"{" * 20_000, b"[" * 20_000, b'"' + b"a" * 3_000_000 + b'"', b"GET / HTTP/1.1\r\n\r\n",
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', b'{"jsonrpc": "2.0", "id": 1e400, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "remember", "arguments": {"content": "\\ud800"}}}',
    b'{"jsonrpc": "2.0", "id": "y", "method": "tools/call", "params": {"name": "remember", "arguments": {"content": "' + b"a" * 2_000_000 + b'"}}}',
)  # fmt: skip

NEEDLES = sorted({needle for pattern in (*TOKENS, *CONTEXT_PATTERNS, *ADJACENT_PATTERNS) for needle in pattern.needles})

RUN = st.text(string.ascii_letters + string.digits + "_-./+=$:@", min_size=8, max_size=90)

SPOKEN = st.sampled_from(["my password is ", "password: ", "the pin is ", "api_key=", "Bearer ", "secret = '", "-----BEGIN PRIVATE KEY-----\n",
                          "-----END PRIVATE KEY-----", "https://ana:", "@host/x", "[redacted: password]", "[redacted: ", "]", "4111 1111 1111 1111",
                          "DE89 3704 0044 0532 0130 00", "AKIAIOSFODNN7EXAMPLE", "passphrase is", "token", " is ", ": ", "=", "\n", " "])  # fmt: skip

TELLING = st.lists(st.one_of(st.sampled_from(NEEDLES), RUN, RUN, SPOKEN, SPOKEN, ANY), max_size=10).map("".join)
