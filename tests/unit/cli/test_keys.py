import getpass
import io

import pytest

from mnemic.cli.config import keys
from mnemic.cli.parser import make_parser
from mnemic.errors import ConfigurationError, InvalidInput

SECRET = "sk-verysecret-0123456789"


@pytest.fixture
def stored(monkeypatch):
    """What reaches the keyring."""
    found = {}
    monkeypatch.setattr("mnemic.llm.keys.store_key", found.__setitem__)
    return found


def parsed(*words):
    return make_parser().parse_args(["keys", *words])


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_key_is_asked_for_without_echo(stored, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda prompt: SECRET)
    answer = keys(parsed("set", "anthropic"))
    assert stored == {"anthropic": SECRET}
    shown = capsys.readouterr()
    assert "anthropic" in answer.lines[0]
    assert "verysecret" not in shown.out + shown.err


def test_a_key_from_a_pipe(stored, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\nanything"))
    answer = keys(parsed("set", "openai"))
    assert stored["openai"].strip() == SECRET
    assert answer.document == {"provider": "openai", "stored": True}


def shows(prompt):
    import warnings

    warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=2)
    return SECRET


def ends(prompt):
    raise EOFError


@pytest.mark.parametrize(("asked", "why"), [(shows, "cannot hide"), (ends, "No key was entered")])
def test_a_terminal_that_would_show_it_or_ends(stored, monkeypatch, asked, why):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", asked)
    with pytest.raises(ConfigurationError, match=why):
        keys(parsed("set", "openai"))
    assert stored == {}


@pytest.mark.parametrize(("provider", "secret"), [("../etc", SECRET), ("openai", ""), ("openai", "two words")])
def test_what_is_no_provider_or_no_key(monkeypatch, provider, secret):
    monkeypatch.setattr("sys.stdin", io.StringIO(secret))
    with pytest.raises(InvalidInput):
        keys(parsed("set", provider))
