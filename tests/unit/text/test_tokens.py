"""Counting tokens."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic import Memory, paths
from mnemic.errors import ConfigurationError
from mnemic.text import tokens
from mnemic.text.tokens import approximate_tokens, token_counter

RUN = settings(max_examples=200, deadline=None)
ANY = st.text(st.characters(exclude_categories=()), max_size=60)
TABLES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


LISBON = (
    "We moved to Lisbon last week, and my daughter started at her new school on 5 May 2023; she's allergic to peanuts."
)
KINDS = {
    "English": LISBON,
    "capitals": LISBON.upper(),
    "code": "def getUserById(self, user_id: int) -> User | None:\n    return self._cache.get(user_id) or self.db.fetch_one(SQL, [user_id])\n",
    "a table": "| LangGraph | 37,585 | 8.6 | 65.1 | 0.41 |\n| mem0 | 998 | 11.4 | 70.7 | 1,115 |\n",
    "base64": "dGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZSBsYXp5IGRvZyBhbmQgcnVucyBhd2F5IA==",
    "hexadecimal": "3f786850e387550fdab836ed7e6dc881de23001b 2fd4e1c6-7a2d-28fc-ed84-9eee76bb12e7",
    "nobody's words": "xkqjz wvbnm trplk qwzxcv hjkdfg pqlmzt vbnrtw zxqkjv",
    "German": "Ich bin letzte Woche umgezogen; die Krankenversicherungsbescheinigung f\u00fcr meine Tochter folgt.",
    "Finnish": "Muutin viime viikolla Lissaboniin; tytt\u00e4reni on allerginen maap\u00e4hkin\u00f6ille.",
    "Polish": "W zesz\u0142ym tygodniu przeprowadzi\u0142em si\u0119 do Lizbony. Moja c\u00f3rka ma alergi\u0119 na orzeszki ziemne.",
    "Russian": "\u042f \u043f\u0435\u0440\u0435\u0435\u0445\u0430\u043b \u0432 \u041b\u0438\u0441\u0441\u0430\u0431\u043e\u043d \u043d\u0430 \u043f\u0440\u043e\u0448\u043b\u043e\u0439 \u043d\u0435\u0434\u0435\u043b\u0435.",
    "Greek": "\u039c\u03b5\u03c4\u03b1\u03ba\u03cc\u03bc\u03b9\u03c3\u03b1 \u03c3\u03c4\u03b7 \u039b\u03b9\u03c3\u03b1\u03b2\u03cc\u03bd\u03b1 \u03c4\u03b7\u03bd \u03c0\u03b5\u03c1\u03b1\u03c3\u03bc\u03ad\u03bd\u03b7 \u03b5\u03b2\u03b4\u03bf\u03bc\u03ac\u03b4\u03b1.",
    "Chinese with emoji": "\u6211\u4e0a\u5468\u642c\u5230\u4e86\u91cc\u65af\u672c\uff0c\u5973\u513f\u5bf9\u82b1\u751f\u8fc7\u654f\uff01\U0001f389\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "Japanese": "\u5148\u9031\u30ea\u30b9\u30dc\u30f3\u306b\u5f15\u3063\u8d8a\u3057\u307e\u3057\u305f\u3002\u899a\u3048\u3066\u304a\u3044\u3066\u304f\u3060\u3055\u3044\u3002",
    "Arabic": "\u0627\u0646\u062a\u0642\u0644\u062a \u0625\u0644\u0649 \u0644\u0634\u0628\u0648\u0646\u0629 \u0627\u0644\u0623\u0633\u0628\u0648\u0639 \u0627\u0644\u0645\u0627\u0636\u064a.",
}  # fmt: skip


def real(text):
    """The most tokens by a real table."""
    if paths.tiktoken_cache(TABLES["cl100k_base"]) is None:
        pytest.skip("no package here ships this table")
    return max(token_counter(name)(text) for name in TABLES)


@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_text_is_never_counted_too_low(kind):
    text = KINDS[kind]
    assert real(text) <= approximate_tokens(text)
    assert real(text * 20) <= approximate_tokens(text * 20)


def test_english_is_not_counted_far_too_high():
    assert approximate_tokens(LISBON) <= 1.6 * real(LISBON)


@RUN
@given(st.text(st.characters(min_codepoint=0x80), max_size=60))
@example("\u3000\u3000")
@example("\x85\xa0 \u2028")
def test_no_character_beyond_ascii_is_counted_too_low(text):
    assert real(text) <= approximate_tokens(text)


@RUN
@given(ANY)
@example("_")
@example("_ _")
@example("\x1c\x85")
def test_the_approximation_counts_everything_that_can_be_seen(text):
    count = approximate_tokens(text)
    assert count > 0 or not text.strip()
    assert count <= len(text.encode(errors="surrogatepass"))


@RUN
@given(ANY, ANY)
def test_the_approximation_of_a_whole_is_about_the_sum_of_its_parts(one, other):
    apart = approximate_tokens(one) + approximate_tokens(other)
    assert apart - 1 <= approximate_tokens(f"{one}\n{other}") <= apart + 1


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), (" ", 0), ("a", 1), ("hello", 2), ("hello there", 4), ("12345", 2), ("!?", 2), ("_", 1), ("it's", 3),
     ("getUser", 3), ("xkqjz", 4), ("\u732b", 3), ("a\nb", 3)],
)  # fmt: skip
def test_the_approximation_by_hand(text, count):
    assert approximate_tokens(text) == count


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_at_hand(name):
    if paths.tiktoken_cache(TABLES[name]) is None:
        pytest.skip("no package here ships this table")
    count = token_counter(name)
    assert count("") == 0
    assert count("hello world") == 2
    assert count("<|endoftext|>") > 1  # text from a user is never a control token
    assert count("猫 \x00 🙂") > 0
    assert token_counter(name) is count


def test_names_and_functions(monkeypatch):
    assert token_counter(len) is len
    assert token_counter("approximate") is approximate_tokens
    for unknown in ("gpt2", "", "CL100K_BASE", 7):
        with pytest.raises(ConfigurationError, match="approximate"):
            token_counter(unknown)
    monkeypatch.setattr(tokens, "_tiktoken", lambda name: None)
    assert token_counter(None) is approximate_tokens
    with pytest.raises(ConfigurationError, match="TIKTOKEN_CACHE_DIR"):
        token_counter("cl100k_base")


def test_a_handle_tells_of_an_unknown_tokenizer():
    with Memory(":memory:", embedder="hashing", tokenizer="gpt2") as memory:
        memory.add("hello")
        with pytest.raises(ConfigurationError):
            memory.get_memory_context("hello")
