import pytest
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
)

from mnemic.embedders.remote import classify
from mnemic.errors import EmbedderError, EmbedderUnavailable

SERVICE = "openai:text-embedding-3-small"


def http(status, body="no details", **options):
    return ModelHTTPError(status, "text-embedding-3-small", body, **options)


@pytest.mark.parametrize(
    ("error", "kind", "transient"),
    [
        (http(401), EmbedderUnavailable, False),
        (http(403), EmbedderUnavailable, False),
        (http(404), EmbedderUnavailable, False),
        (http(400), EmbedderError, False),
        (http(413), EmbedderError, False),
        (http(408), EmbedderUnavailable, True),
        (http(429), EmbedderUnavailable, True),
        (http(500), EmbedderUnavailable, True),
        (http(503), EmbedderUnavailable, True),
        (ModelHTTPError.for_category(ModelRateLimitError, status_code=429, model_name="m"), EmbedderUnavailable, True),
        (
            ModelHTTPError.for_category(ModelQuotaExceededError, status_code=429, model_name="m"),
            EmbedderUnavailable,
            False,
        ),
        (
            ModelHTTPError.for_category(ModelAuthenticationError, status_code=400, model_name="m"),
            EmbedderUnavailable,
            False,
        ),
        (ModelContextWindowExceededError("m", "too long"), EmbedderError, False),
        (ModelConnectionError("m", "refused"), EmbedderUnavailable, True),
        (ConnectionRefusedError("refused"), EmbedderUnavailable, True),
        (TimeoutError(), EmbedderUnavailable, True),
        (KeyError("surprise"), EmbedderError, False),
    ],
)
def test_what_an_error_means(error, kind, transient):
    failure = classify(error, SERVICE)
    assert type(failure.error) is kind
    assert (failure.meaning == "transient") is transient
    assert SERVICE in str(failure.error)


def test_the_services_wish_to_wait():
    assert classify(http(429, headers={"Retry-After": "7"}), SERVICE).wait == 7
    assert classify(http(429), SERVICE).wait == 0


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-verysecret. Find yours in the account.",
        "{'headers': {'Authorization': 'Bearer verysecretletters'}}",
        "request to http://host/v1?key=verysecret&x=1",
        "request to http://user:verysecret@host/v1",
        'api_key="verysecret"',
        "unknown credential verysecret0123456789abcdef",
    ],
)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_keys_are_never_shown(text, status):
    assert "verysecret" not in str(classify(http(status, text), SERVICE).error)
