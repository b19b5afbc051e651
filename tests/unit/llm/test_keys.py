import sys
import traceback
from types import ModuleType, SimpleNamespace

import pytest

from mnemic.errors import ConfigurationError, InvalidInput, MissingExtra
from mnemic.llm.keys import SERVICE, environment_key, keyring_key, store_key

SECRET = "sk-verysecret-0123456789"


class Keyring(ModuleType):
    """A keyring in a dictionary."""

    def __init__(self):
        super().__init__("keyring")
        self.held = {}
        self.broken = None
        self.backend = SimpleNamespace()

    def get_keyring(self):
        return self.backend

    def get_password(self, service, name):
        if self.broken:
            raise self.broken
        return self.held.get((service, name))

    def set_password(self, service, name, secret):
        if self.broken:
            raise self.broken
        self.held[service, name] = secret


@pytest.fixture
def keyring(monkeypatch):
    made = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", made)
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: "somewhere")
    return made


def test_stored_and_found(keyring):
    store_key("OpenAI ", f" {SECRET}\n")
    assert keyring.held == {(SERVICE, "openai"): SECRET}
    assert keyring_key("openai") == keyring_key("openai-chat") == SECRET
    assert keyring_key("mistral") is None


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-responses", "OPENAI_API_KEY"),
        ("google", "GEMINI_API_KEY"),
        ("cohere", "CO_API_KEY"),
        ("some-new-one", "SOME_NEW_ONE_API_KEY"),
    ],
)
def test_each_provider_has_its_variable(monkeypatch, provider, variable):
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv(variable, "of-the-environment")
    assert environment_key(provider) == "of-the-environment"
    monkeypatch.setenv(variable, " ")
    assert environment_key(provider) is None


def test_a_keyring_that_cannot_be_opened_is_none(keyring):
    keyring.broken = RuntimeError("locked")
    assert keyring_key("openai") is None


def test_a_keyring_that_takes_nothing(keyring):
    keyring.broken = RuntimeError(f"could not store {SECRET}")
    with pytest.raises(ConfigurationError, match="RuntimeError") as caught:
        store_key("openai", SECRET)
    assert "verysecret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("nested", [False, True])
def test_a_keyring_that_is_a_file_is_refused(keyring, nested):
    plain = type("PlaintextKeyring", (), {"__module__": "keyrings.alt.file"})()
    keyring.backend = SimpleNamespace(backends=[plain]) if nested else plain
    with pytest.raises(ConfigurationError, match="file"):
        store_key("openai", SECRET)
    assert keyring.held == {}


def test_without_the_package(monkeypatch):
    monkeypatch.setattr("mnemic.paths.wheel_folder", lambda module: None)
    assert keyring_key("openai") is None
    with pytest.raises(MissingExtra, match=r"mnemic\[keyring\]"):
        store_key("openai", SECRET)


@pytest.mark.parametrize("secret", ["", "  ", "two words", "line\nline", "bell\a", "x" * 10_001])
def test_what_is_no_key(keyring, secret):
    with pytest.raises(InvalidInput) as caught:
        store_key("openai", secret)
    assert secret.strip() == "" or secret not in str(caught.value)
    assert keyring.held == {}


@pytest.mark.parametrize("provider", ["", "9lives", "../etc", "open ai", "x" * 65])
def test_what_is_no_provider(keyring, provider):
    with pytest.raises(InvalidInput):
        store_key(provider, SECRET)
