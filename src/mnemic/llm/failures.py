"""Classification of language model errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mnemic.errors import LanguageModelError, LanguageModelUnavailable
from mnemic.services import failures
from mnemic.services.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Collection

_FAILED = "The language model {service} failed ({label}): {detail}"
_TEXTS: failures.ErrorTexts = {
    "refused": (
        "The language model {service} does not let us in or is not there ({label}). Check the "
        "provider's key (environment, or: mnemic keys set PROVIDER), the account, and the model's name."
    ),
    "rejected": _FAILED,
    "transient": (
        "The language model {service} did not answer ({label}): {detail} Check the network and the "
        "service, or raise timeout and retries. It can be asked again later."
    ),
    "other": _FAILED,
}


@dataclass(frozen=True, slots=True)
class RequestFailure(Failure):
    """A failed request.

    ``concerns``: ``form`` if the request form is not supported, ``answer`` if the answer is unreadable, ``final`` if
    another form will not help. ``sent`` tells whether a request left this machine.
    """

    concerns: Literal["form", "answer", "final"] = "final"
    sent: bool = True


def classify(error: Exception, service: str, secrets: Collection[str] = ()) -> RequestFailure:
    """Classify an error of the language model `service`; `secrets` are removed from the message."""
    failure = failures.classify(error, service, _TEXTS, (LanguageModelUnavailable, LanguageModelError), secrets)
    names = {base.__name__ for base in type(error).__mro__}
    unsent = "UserError" in names  # raised before anything is sent: the model's profile does not have this form
    concerns: Literal["form", "answer", "final"] = "final"
    if failure.meaning in ("rejected", "other") and not names & {
        "ModelContextWindowExceededError",
        "ContentFilterError",
    }:
        if unsent or failure.meaning == "rejected":
            concerns = "form"
        elif "UnexpectedModelBehavior" in names:
            concerns = "answer"
    return RequestFailure(failure.error, failure.meaning, failure.wait, concerns, sent=not unsent)
