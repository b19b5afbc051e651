from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError

from mnemic.errors import MnemicError
from mnemic.services import connections
from mnemic.services.connections import scrubbed

SERVICE = "openai:gpt-x"
TEXTS = dict.fromkeys(("refused", "rejected", "transient", "other"), "{label}: {detail}")


def classify(error):
    return connections.classify(error, SERVICE, TEXTS, (MnemicError, MnemicError))


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (ModelHTTPError(401, "m"), "refused"),
        (ModelHTTPError(422, "m"), "rejected"),
        (ModelContextWindowExceededError("m", "too long"), "rejected"),
        (ModelHTTPError(429, "m"), "transient"),
        (ModelHTTPError(529, "m"), "transient"),
        (TimeoutError(), "transient"),
        (ConnectionResetError(), "transient"),
        (ModelHTTPError(418, "m"), "other"),
        (KeyError("surprise"), "other"),
    ],
)
def test_what_an_error_means(error, meaning):
    assert classify(error).meaning == meaning


def test_a_refusal_is_not_quoted():
    assert "abc" not in str(classify(ModelHTTPError(401, "m", "unknown key abc")).error)


def behind(header):
    """An error of an older client: the header is on the answer that caused it."""
    error = ModelHTTPError(429, "m")
    error.__cause__ = RuntimeError()
    error.__cause__.response = SimpleNamespace(headers={"retry-after": header})
    return error


def test_the_errors_behind_one_tell_when_it_says_nothing_itself():
    error = RuntimeError("Connection error.")
    error.__cause__ = ValueError()
    error.__cause__.__cause__ = ConnectionRefusedError()
    assert classify(error).meaning == "transient"
    error.__cause__.__cause__ = None
    assert classify(error).meaning == "other"
    loop = RuntimeError()
    loop.__cause__ = loop
    assert classify(loop).meaning == "other"


@pytest.mark.parametrize(("header", "wait"), [("7", 7), ("2.5", 2.5), ("-3", 0), ("soon", 0), ("", 0)])
def test_the_wait_asked_for_in_a_header(header, wait):
    assert classify(behind(header)).wait == wait


def test_the_wait_asked_for_as_a_date():
    moment = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < classify(behind(moment)).wait <= 3600


def test_known_secrets_are_hidden_wherever_they_stand():
    assert scrubbed("my pass is plainword, really", ["plainword"]) == "my pass is ***, really."


def test_what_helps_stays_readable():
    text = "Set the `OPENAI_API_KEY` environment variable to use gpt-x."
    assert scrubbed(text, keep=SERVICE) == text


def test_details_are_short_and_on_one_line():
    shown = scrubbed("line\n" * 500)
    assert len(shown) <= 303
    assert "\n" not in shown
    assert scrubbed("") == "no details."
