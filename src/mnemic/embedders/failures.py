"""Classification of errors of embedding services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.errors import EmbedderError, EmbedderUnavailable
from mnemic.services import failures
from mnemic.services.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["classify"]


def classify(error: Exception, service: str, secrets: Collection[str] = ()) -> Failure:
    """Classify an error of a request to `service`.

    Args:
        error: the exception.
        service: the embedder's id, for the message.
        secrets: strings to mask in the message.
    """
    verdict = failures.classify(error, service, secrets)
    if verdict.meaning == "refused":
        return Failure(
            EmbedderUnavailable(
                f"The embedding service {service} denied access or does not have this model ({verdict.label}). "
                "Check the provider's key in the environment, the account, and the model's name."
            )
        )
    if verdict.meaning == "rejected":
        return Failure(
            EmbedderError(
                f"The embedding service {service} rejected these texts ({verdict.label}): {verdict.detail} "
                "Shorten them with max_characters, or lower batch_size."
            )
        )
    if verdict.meaning == "transient":
        unavailable = EmbedderUnavailable(
            f"The embedding service {service} did not answer ({verdict.label}): {verdict.detail} Check the network and "
            "the service, or raise timeout and retries. The texts can be embedded later."
        )
        return Failure(unavailable, transient=True, wait=verdict.wait)
    return Failure(
        EmbedderError(f"The embedding service {service} failed ({verdict.label}): {verdict.detail} Check the service.")
    )
