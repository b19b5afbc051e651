from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError

from mnemic.services.failures import classify, scrubbed

SERVICE = "openai:gpt-x"


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
    assert classify(error, SERVICE).meaning == meaning


def test_a_refusal_is_not_quoted():
    assert classify(ModelHTTPError(401, "m", "unknown key abc"), SERVICE).detail == ""


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
    assert classify(error, SERVICE).meaning == "transient"
    error.__cause__.__cause__ = None
    assert classify(error, SERVICE).meaning == "other"
    loop = RuntimeError()
    loop.__cause__ = loop
    assert classify(loop, SERVICE).meaning == "other"


@pytest.mark.parametrize(("header", "wait"), [("7", 7), ("2.5", 2.5), ("-3", 0), ("soon", 0), ("", 0)])
def test_the_wait_asked_for_in_a_header(header, wait):
    assert classify(behind(header), SERVICE).wait == wait


def test_the_wait_asked_for_as_a_date():
    moment = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < classify(behind(moment), SERVICE).wait <= 3600


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
