"""Every kind of secret is found in every context, look-alikes survive, and no text makes the search slow."""

import json
import random
import string
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.battery import count

from mnemic.errors import ConfigurationError
from mnemic.secrets.patterns import is_random, named_secret
from mnemic.secrets.policy import SecretPolicy, pieces

sys.path.insert(0, str(Path(__file__).parent))
from secret_samples import CONTEXTS, COPIED, LOOK_ALIKES, TOKENS, WITH_WORDS

POLICY = SecretPolicy()


def test_there_are_at_least_45_kinds_and_each_has_a_sample():
    sampled = {kind for kind, *_ in (*TOKENS, *WITH_WORDS)}
    assert len(SecretPolicy.every_kind()) >= 45
    assert sampled == SecretPolicy.every_kind()


@pytest.mark.parametrize(("kind", "secret"), TOKENS, ids=lambda value: value[:24])
def test_tokens(kind, secret):
    for context in CONTEXTS:
        assert POLICY.redacted(context.format(secret)) == (context.format(f"[redacted: {kind}]"), (kind,))


@pytest.mark.parametrize("context", ["{}", "Please remember: {}\nand nothing else", "first line\n{}"])
def test_secrets_that_words_give_away(context):
    for kind, words, secret in WITH_WORDS:
        redacted, kinds = POLICY.redacted(context.format(words.format(secret)))
        assert secret not in redacted
        assert kind in kinds, (words, secret)


@pytest.mark.parametrize("context", ["{}", "See below.\n\n{}", "{}\n\nThat is all."])
def test_secrets_as_they_are_pasted(context):
    for kind, words, secret in COPIED:
        redacted, kinds = POLICY.redacted(context.format(words.format(secret)))
        assert secret not in redacted
        assert kinds == (kind,), (words, secret)
        assert POLICY.redacted(redacted) == (redacted, ())


OTHERWISE = {
    "lines of Windows": lambda text: text.replace("\n", "\r\n"),
    "letters of full width": lambda text: text.translate({sign: sign + 0xFEE0 for sign in range(0x21, 0x7F)}),
    "what shows nothing": lambda text: "\u200b".join(text) + "\u2060",
    "other spaces": lambda text: text.replace(" ", "\u00a0"),
}


@pytest.mark.parametrize("otherwise", OTHERWISE)
def test_words_written_otherwise_give_a_secret_away_as_well(otherwise):
    for kind, words, secret in (*WITH_WORDS, *COPIED):
        before, after = words.replace("{{", "{").replace("}}", "}").split("{}")
        redacted, kinds = POLICY.redacted(OTHERWISE[otherwise](before) + secret + OTHERWISE[otherwise](after))
        assert secret not in redacted
        assert kind in kinds, (words, secret)


ESCAPES = {
    "\\n": "\n", "\\t": "\t", "\\r\\n": "\n", "\\\\n": "\n", "\\u0022": '"', "\\u003d": "=", "\\x0a": "\n", "\\0": " ", "\\u200b": "",
    "\x1b[32m": "", "\\x1b[1;32m": "", "\\u001b[0m": "", "\\033[0m": "", "\\e[0m": "", "%20": " ", "%0A": "\n", "%3D": "=", "%253D": "=",
}  # fmt: skip
"""Escapes, and what they stand for."""


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_secret_is_found_after_an_escape_as_after_what_it_stands_for(escape):
    for kind, secret in TOKENS:
        assert (
            POLICY.redacted(f"key {escape}{secret}{escape} done")[1]
            == (POLICY.redacted(f"key {ESCAPES[escape]}{secret}{ESCAPES[escape]} done")[1])
        ), kind
        assert secret not in POLICY.redacted(f"key {escape}{secret}")[0] or ESCAPES[escape] + kind == "=card-number"


@pytest.mark.parametrize("often", [1, 2])
def test_words_give_a_secret_away_in_escaped_texts(often):
    for _, words, secret in (*WITH_WORDS, *COPIED):
        if "abcd9" in words:  # an escape in the middle of the password
            continue
        text = f"noted:\n{words.format(secret)}\n"
        for _ in range(often):
            secret, text = json.dumps(secret)[1:-1], json.dumps(text)
        assert secret not in POLICY.redacted(text)[0], words


@pytest.mark.parametrize(
    ("text", "secret"),
    [("postgres://ana:pa%2Fss2%20w@db.example.org/x", "pa%2Fss2%20w"), ("password=9Xk%2F2%20pQ", "9Xk%2F2%20pQ")],
)
def test_a_password_may_hold_what_reads_as_an_escape(text, secret):
    assert POLICY.redacted(text)[0] in {
        text.replace(secret, f"[redacted: {kind}]") for kind in ("password", "url-password")
    }


def test_look_alikes_survive():
    for text in LOOK_ALIKES:
        assert POLICY.redacted(text) == (text, ())


@given(
    st.text(string.ascii_letters, min_size=6, max_size=30).filter(
        lambda one: named_secret("password", one) is not None
    ),
    st.sampled_from(["DB_PASSWORD={}", "export ADMIN_PW={}; run", "user: bob\npassword: {} for now"]),
)
def test_letters_are_a_password_where_only_one_can_stand(letters, words):
    assert POLICY.redacted(words.format(letters)) == (words.format("[redacted: password]"), ("password",))


@given(
    st.text(string.ascii_lowercase, min_size=4, max_size=16),
    st.sampled_from(["Das Passwort ist {}", "Mein Passwort war {}.", "la contrase\u00f1a es {}", "a senha \u00e9 {}.", "la password \u00e8 {}"]),
)  # fmt: skip
def test_a_lower_case_word_may_be_an_adjective_in_another_language(letters, words):
    assert POLICY.redacted(words.format(letters)) == (words.format(letters), ())


def test_a_token_of_any_service_is_known_by_its_shape_and_an_id_is_not():
    draw = random.Random(7)

    def some(count, alphabet=string.ascii_letters + string.digits):
        return "".join(draw.choices(alphabet, k=count))

    prefixes = [f"{some(length, string.ascii_lowercase)}{joint}" for length in (2, 4, 6) for joint in "_-"]
    tokens = [prefix + some(length) for prefix in prefixes for length in (40, 48, 64) for _ in range(20)]
    missed = [
        token for token in tokens if POLICY.redacted(f"use {token} here") != ("use [redacted: token] here", ("token",))
    ]
    assert len(missed) <= 0.03 * len(tokens), missed
    ids = [prefix + some(length) for prefix in prefixes for length in (20, 24, 27, 29) for _ in range(20)]
    digests = [
        prefix + some(length, "0123456789abcdef") for prefix in prefixes for length in (32, 40, 64) for _ in range(20)
    ]
    for one in (*ids, *digests):
        assert POLICY.redacted(f"see {one} there") == (f"see {one} there", ())


def test_letters_in_no_order_are_a_password():
    draw = random.Random(7)
    words = [
        "My password is {}.",
        "password: {}",
        "| password | {} |",
        "The password for the wifi: {}",
        "What's the password? {}",
    ]
    made = ["".join(draw.choices(string.ascii_letters, k=length)) for length in (8, 10, 12, 16) for _ in range(50)]
    missed = [(form, one) for one in made for form in words if one in POLICY.redacted(form.format(one))[0]]
    assert len(missed) <= 0.1 * len(made) * len(words), missed


def test_a_token_may_end_a_sentence():
    for kind, secret in TOKENS:
        redacted, kinds = POLICY.redacted(f"It is {secret}.")
        assert redacted in (f"It is [redacted: {kind}].", f"It is [redacted: {kind}]")
        assert kinds == (kind,)


def test_no_half_of_a_token_stays():
    for _, secret in TOKENS:
        redacted, _ = POLICY.redacted(f"a {secret} b")
        assert all(secret[at : at + 12] not in redacted for at in range(0, len(secret) - 12, 6))


@given(
    st.lists(
        st.sampled_from(
            [*(secret for _, secret in TOKENS), *(w.format(s) for _, w, s in WITH_WORDS + COPIED), *LOOK_ALIKES]
        ),
        max_size=5,
    ),
    st.sampled_from([" ", "\n", ", ", "", ": "]),
)
@settings(max_examples=300, deadline=None)
def test_redacting_again_changes_nothing(parts, joint):
    once, _ = POLICY.redacted(joint.join(parts))
    assert POLICY.redacted(once) == (once, ())


@pytest.mark.parametrize("kind", ["password", "api-key", "url-token"])
def test_what_was_redacted_names_no_other_secret(kind):
    text = f'note=[redacted: {kind}]"=' + '\0{p_"=' * 40
    assert POLICY.redacted(text) == (text, ())
    assert POLICY.redacted(f"[redacted: {kind}] and password: hunter2")[1] == ("password",)


@pytest.mark.parametrize("kind", ["password", "api-key", "card-number"])
def test_a_mark_is_never_cut(kind):
    mark = f"[redacted: {kind}]"
    assert POLICY.redacted(f"passwd is pass={mark}") == (f"passwd is [redacted: password]{mark}", ("password",))
    own = SecretPolicy(extra={"badge": r"[a-z]+-?[a-z]+\]?"})
    assert own.redacted(f"{mark} {mark}") == (f"{mark} {mark}", ())


@pytest.mark.parametrize("name", ["{}", "{}:u1:9f3a", "atlas/{}:u1:9f3a", "{}#cleared2"])
def test_a_number_that_adds_up_as_a_card_does_may_name_a_thread(name):
    assert POLICY.redacted("4539578763621486")[1] == ("card-number",)
    assert POLICY.in_name(name.format("4539578763621486")) == ()
    assert POLICY.in_name(name.format("my card 4539578763621486")) == ("card-number",)


@given(st.integers(0, 10**11 - 1), st.sampled_from(["{}", "run--{}", "monday:{}:c8a9", "The job {} failed."]))
def test_a_uuid_that_begins_as_a_card_number_is_none(number, name):
    digits = f"4539{number:011}"
    total = sum(sum(divmod(int(digit) * (2 - n % 2), 10)) for n, digit in enumerate(digits))
    card = f"{digits}{-total % 10}"
    assert POLICY.redacted(card)[1] == ("card-number",)
    text = name.format(f"{card[:8]}-{card[8:12]}-{card[12:]}-a37c-3fb141938fa9")
    assert (POLICY.redacted(text), POLICY.in_name(text)) == ((text, ()), ())


def test_many_letters_and_a_digit_are_read_at_once():
    """An expression that could cut letters in any way took for ever for these; it runs in a process that can be ended."""
    letters = string.ascii_letters
    values = [f"{letters}0{letters}", f"{letters}1x", f"{letters}-{letters}-{letters}.0key"]
    script = f"from mnemic.secrets.patterns import is_random; print([is_random(v) for v in {values}])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[True, True, True]\n"


@pytest.mark.parametrize(
    "words", [string.ascii_letters, f"{string.ascii_letters}2024", "Invoice-Of_March/Final.2024", "a.Bcdefghijklmnop_1"]
)
def test_words_with_a_small_number_behind_are_not_random(words):
    assert not is_random(words)


@given(st.text())
def test_any_text_can_be_looked_at(text):
    redacted, kinds = POLICY.redacted(text)
    assert bool(kinds) == (redacted != text)


def test_json_values_keys_and_names_of_fields():
    value, kinds = POLICY.within(
        {"note": "my password is hunter2", "password": "sunflower", "list": [{"api_key": "9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c"}],
         "ghp_" + "a1B2c3D4e5" * 4: 1, "count": 3, "password_hint": "the usual"}
    )  # fmt: skip
    assert value == {
        "note": "my password is [redacted: password]", "password": "[redacted: password]",
        "list": [{"api_key": "[redacted: key]"}], "[redacted: github-token]": 1, "count": 3, "password_hint": "the usual",
    }  # fmt: skip
    assert set(kinds) == {"password", "key", "github-token"}


def test_a_key_that_names_a_secret_holds_for_everything_below_it():
    held = {
        "passwords": ["hunter2xY1", {"wifi": ["sunflower"]}], "password": {"current": "hunter2xY2"}, "mot_de_passe": "hunter2xY3",
        "Cookie": "sid=hunter2xY4hunter", "Authorization": "hunter2xYz4hunter2", "cvv": 737, "ssn": "536904399", "pin": "4711",
    }  # fmt: skip
    value, kinds = POLICY.within({"request": [held]})
    assert value == {"request": [{
        "passwords": ["[redacted: password]", {"wifi": ["[redacted: password]"]}], "password": {"current": "[redacted: password]"},
        "mot_de_passe": "[redacted: password]", "Cookie": "[redacted: cookie]", "Authorization": "[redacted: authorization-header]",
        "cvv": "[redacted: card-code]", "ssn": "[redacted: us-ssn]", "pin": "[redacted: pin]",
    }]}  # fmt: skip
    assert set(kinds) == {"password", "cookie", "authorization-header", "card-code", "us-ssn", "pin"}
    assert POLICY.within(value) == (value, ())


@pytest.mark.parametrize(
    "value",
    [
        {"password": {"type": "string", "title": "Password", "description": "What the user typed.", "min_length": 12}},
        {"password": {"changed": "2024-05-12", "algorithm": "argon2id"}, "passwords": 1200, "tests": {"pass": 1284}},
        {"session": "k7Q2xV9mZ4tR8wB1nY5c", "session_id": "9f8a7b6c5d4e3f2a1b0c", "token": {"id": "550e8400-e29b-41d4-a716-446655440000", "lifetime": 3600}},
    ],
)  # fmt: skip
def test_what_is_told_about_a_secret_in_a_field_stays(value):
    assert POLICY.within(value) == (value, ())


def test_what_is_looked_for_can_be_chosen():
    text = "my password is hunter2, BADGE-123456, 4111 1111 1111 1111"
    assert SecretPolicy(action="allow").redacted(text) == (text, ())
    only = SecretPolicy(kinds=["card-number"])
    assert only.redacted(text)[1] == ("card-number",)
    assert only.within({"password": "sunflower"}) == ({"password": "sunflower"}, ())
    more = SecretPolicy(kinds=[], extra={"badge": r"BADGE-(?P<secret>\d{6})"})
    assert more.redacted(text)[0] == "my password is hunter2, BADGE-[redacted: badge], 4111 1111 1111 1111"


@pytest.mark.parametrize(
    "arguments",
    [{"action": "hide"}, {"kinds": ["pasword"]}, {"kinds": "password"}, {"extra": {"a": "("}}, {"extra": {"a": ".*"}},
     {"extra": {"A B": "x"}}, {"extra": {"a": None}}],
)  # fmt: skip
def test_a_policy_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(ConfigurationError):
        SecretPolicy(**arguments)


def test_names_that_identify_stay_apart():
    (_, first), (_, second) = [sample for sample in TOKENS if sample[0] == "github-token"][:2]
    assert POLICY.name("monday") == "monday"
    assert POLICY.name(first) == POLICY.name(first) != POLICY.name(second)
    assert first not in POLICY.name(first)
    assert POLICY.redacted(POLICY.name(first))[1] == ()


SLOW = """
import sys
from time import process_time
sys.path.insert(0, {here!r})
from secret_samples import HOSTILE
from mnemic.secrets.policy import SecretPolicy
policy = SecretPolicy()
policy.redacted("The first text compiles the expressions.")

def seconds(text):
    began = process_time()
    policy.redacted(text)
    return process_time() - began

def texts(piece, size):
    return (piece * (size // len(piece) + 1))[:size], piece + "a" * size, "a" * size + " " + piece * 50

size = {size}
limit = size / 50_000
for piece in HOSTILE:
    for fifth, whole in zip(texts(piece, size // 5), texts(piece, size)):
        assert seconds(fifth) < limit / 40 or seconds(whole) < limit, piece
"""


def test_hostile_texts_are_redacted_in_linear_time():
    """A linear expression needs a hundredth of the second that each text of 50,000 characters has; the lightest quadratic one
    needs one and a half, and so more than a fortieth for a fifth of the text: what needs less there is not tried with the whole.
    """
    size = count(50_000, 1_000_000)
    here = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", SLOW.format(here=here, size=size)], check=True, timeout=900)


def test_secrets_without_anything_between_them():
    key = next(secret for kind, secret in TOKENS if kind == "age-secret-key")
    once, kinds = POLICY.redacted(key * 9)
    assert (once, kinds) == ("[redacted: age-secret-key]" * 9, ("age-secret-key",))


@pytest.mark.parametrize(
    "secret", ["ghp_" + "a1B2c3D4e5" * 4, "-----BEGIN PRIVATE KEY-----\n" + "a1B2c3D4e5" * 20, "5555 5555 5555 4444"]
)
def test_no_secret_and_no_mark_lies_over_a_cut(secret):
    for before in range(60, 140):
        text = f"{'word ' * 40}"[:before] + f" {secret} " + "word " * 60
        parts = pieces(text, lambda whole: POLICY.redacted(whole)[0], 150)
        assert "".join(parts) == POLICY.redacted(text)[0]
        assert all(0 < len(part) <= 150 for part in parts)
        assert sum(part.count("[redacted: ") for part in parts) == sum(part.count("]") for part in parts) == 1
    assert pieces(secret, str.upper, len(secret)) == [secret]


def test_inline_media_is_no_text():
    policy = SecretPolicy()
    token = "ghp_" + "a1B2c3D4e5" * 4
    for kind in ("image/png", "audio/wav", "video/mp4"):
        assert policy.redacted(f"data:{kind};base64,{token}") == (f"data:{kind};base64,{token}", ())
    for text in (token, f"data:text/plain;base64,{token}"):
        assert policy.redacted(text)[1]


@pytest.mark.parametrize(
    "text",
    [
        "제 비밀번호는 Xk9#mQ2p예요", "パスワード: Xk9#mQ2p", "Şifrem Xk9#mQ2p", "ŞİFREM Xk9#mQ2p", "Lösenord: Xk9#mQ2p",
        "Mật khẩu là Xk9#mQ2p", "Ο κωδικός μου είναι Xk9#mQ2p",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_may_be_composed_or_not(text, form):
    read, kinds = POLICY.redacted(unicodedata.normalize(form, f"Ana: {text}"))
    assert "Xk9#mQ2p" not in read
    assert kinds == ("password",)
    assert read.startswith("Ana: ")
