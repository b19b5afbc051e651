"""What an error of a remote service means, told without giving a key away."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemic.errors import EmbedderError, EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Failure", "judged", "scrubbed"]

# Errors are told apart by the names of their classes: the provider packages are not imported for it, and not every
# version of pydantic-ai has all of these.
REFUSED = frozenset({"ModelAuthenticationError", "ModelNotFoundError", "ModelQuotaExceededError"})
REFUSED_STATUS = frozenset({401, 402, 403, 404})
REJECTED = frozenset({"ModelRequestRejectedError"})
REJECTED_STATUS = frozenset({400, 413, 422})
TRANSIENT = frozenset(
    {
        "ModelConnectionError",
        "ModelRateLimitError",
        "ModelRequestTimeout",
        "ModelServerError",
        "ModelUnavailableError",
        "OSError",  # refused and broken connections, unknown hosts, time-outs
        "TransportError",  # the same, as HTTP clients call it
    }
)
TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
SERVER_ERRORS = range(500, 600)

LONGEST_DETAIL = 300
MASK = "***"
SECRETS = re.compile(
    r"""(?ix)
    (?: bearer | basic ) \s+ [^\s"',}]+
    | (?: key | token | secret | password | authorization ) ["']? \s* [:=] \s* ["']? (?:bearer \s+)? [^\s"',}]+
    | \b (?: sk | pk | rk ) - \S+
    | (?<=//) [^/\s@]+ @
    | (?= [\w*./+=-]* \d ) [\w*./+=-]{20,}
    """
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt: whether another may help, after how many seconds at least, and the error to raise if not."""

    error: EmbedderError
    transient: bool = False
    wait: float = 0.0


def judged(error: Exception, service: str, secrets: Collection[str] = ()) -> Failure:
    """Judge an error of a request to `service`.

    Args:
        error: what was raised.
        service: the embedder's id, for the message.
        secrets: strings that must not appear in it.
    """
    names = {base.__name__ for base in type(error).__mro__}
    status = getattr(error, "status_code", None)
    label = type(error).__name__.lstrip("_") + (f", status {status}" if isinstance(status, int) else "")
    if names & REFUSED or status in REFUSED_STATUS:
        # The answer is not quoted: services repeat the key that they do not know.
        return Failure(
            EmbedderUnavailable(
                f"The embedding service {service} does not let us in or does not have this model ({label}). "
                "Check the provider's key in the environment, the account, and the model's name."
            )
        )
    detail = scrubbed(str(error), secrets, keep=service)
    if names & REJECTED or status in REJECTED_STATUS:
        return Failure(
            EmbedderError(
                f"The embedding service {service} rejected these texts ({label}): {detail} "
                "Shorten them with max_characters, or lower batch_size."
            )
        )
    if names & TRANSIENT or status in TRANSIENT_STATUS or status in SERVER_ERRORS:
        unavailable = EmbedderUnavailable(
            f"The embedding service {service} did not answer ({label}): {detail} Check the network and the service, or "
            "raise timeout and retries. What was to be embedded can be embedded later."
        )
        return Failure(unavailable, transient=True, wait=_wished_wait(error))
    return Failure(EmbedderError(f"The embedding service {service} failed ({label}): {detail} Check the service."))


def scrubbed(text: str, secrets: Collection[str] = (), *, keep: str = "") -> str:
    """`text` without anything that could be a key, cut to 300 characters; words of `keep` stay readable."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    known = {keep, *re.split(r"[:@]", keep)}
    text = SECRETS.sub(lambda found: found[0] if found[0].strip(".") in known else MASK, text)
    text = " ".join(text.split()) or "no details."
    return text[:LONGEST_DETAIL] + ("..." if len(text) > LONGEST_DETAIL else "" if text.endswith(".") else ".")


def _wished_wait(error: Exception) -> float:
    wish = getattr(error, "retry_after", None)
    return float(wish) if isinstance(wish, (int, float)) and wish > 0 else 0.0
