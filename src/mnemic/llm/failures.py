"""Classification of language model errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mnemic.errors import LanguageModelError, LanguageModelUnavailable
from mnemic.services import failures
from mnemic.services.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["RequestFailure", "classify"]


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
    names = {base.__name__ for base in type(error).__mro__}
    verdict = failures.classify(error, service, secrets)
    if verdict.meaning == "refused":
        return RequestFailure(
            LanguageModelUnavailable(
                f"The language model {service} does not let us in or is not there ({verdict.label}). Check the "
                "provider's key (environment, or: mnemic keys set PROVIDER), the account, and the model's name."
            )
        )
    if verdict.meaning == "transient":
        unavailable = LanguageModelUnavailable(
            f"The language model {service} did not answer ({verdict.label}): {verdict.detail} Check the network and the "
            "service, or raise timeout and retries. It can be asked again later."
        )
        return RequestFailure(unavailable, transient=True, wait=verdict.wait)
    said = f"The language model {service} failed ({verdict.label}): {verdict.detail}"
    if "UserError" in names:  # raised before anything is sent: the model's profile does not have this form
        return RequestFailure(LanguageModelError(said), concerns="form", sent=False)
    if verdict.meaning == "rejected":
        too_long = "ModelContextWindowExceededError" in names
        return RequestFailure(LanguageModelError(said), concerns="final" if too_long else "form")
    if "UnexpectedModelBehavior" in names and "ContentFilterError" not in names:
        return RequestFailure(LanguageModelError(said), concerns="answer")
    return RequestFailure(LanguageModelError(said))
