"""API keys from the environment, then from the operating system's keyring; never from or into a file."""

from __future__ import annotations

import os
import re
from typing import Any, cast

from mnemic import paths
from mnemic.errors import ConfigurationError, InvalidInput, MissingExtra

SERVICE = "mnemic"
"""The service name in the keyring; the user name of an entry is the provider."""

LONGEST_KEY = 10_000

# Where a provider does not read PROVIDER_API_KEY.
_VARIABLES = {
    "azure": ("AZURE_OPENAI_API_KEY",),
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK",),
    "cohere": ("CO_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "huggingface": ("HF_TOKEN",),
    "vercel": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "voyageai": ("VOYAGE_API_KEY",),
}
_ONE_ACCOUNT = {"openai-chat": "openai", "openai-responses": "openai", "azure-responses": "azure"}
_PROVIDER = re.compile(r"[a-z][a-z0-9-]{0,63}")


def environment_key(provider: str) -> str | None:
    """The key in the environment; ``OPENAI_API_KEY`` and the like."""
    name = _account(provider)
    variables = _VARIABLES.get(name, (name.upper().replace("-", "_") + "_API_KEY",))
    return next((value for variable in variables if (value := os.environ.get(variable, "").strip())), None)


def keyring_key(provider: str) -> str | None:
    """The key in the keyring; None also without a keyring or if it is locked."""
    if paths.wheel_folder("keyring") is None:
        return None
    try:
        return _keyring().get_password(SERVICE, _account(provider)) or None
    except Exception:  # noqa: BLE001 - locked, no session, no backend: every backend raises errors of its own
        return None


def store_key(provider: str, secret: str) -> None:
    """Store a key in the keyring, replacing an existing one.

    Raises:
        InvalidInput: the provider is not a name, or the secret is empty or contains white space.
        MissingExtra: the package keyring is not installed.
        ConfigurationError: this machine has no keyring, or only one that keeps secrets in a plain file.
    """
    name, secret = _account(provider), secret.strip()
    if not secret or len(secret) > LONGEST_KEY or any(c.isspace() or not c.isprintable() for c in secret):
        raise InvalidInput("That is not a key: it is empty, too long, or holds white space. Nothing was stored.")
    if paths.wheel_folder("keyring") is None:
        raise MissingExtra("Storing keys", "keyring")
    keyring = _keyring()
    backend = keyring.get_keyring()
    chain = [backend, *(getattr(backend, "backends", None) or ())]
    if any(type(keyring_backend).__module__.startswith("keyrings.alt") for keyring_backend in chain):
        raise ConfigurationError(
            "The keyring of this machine keeps secrets in a file. Nothing was stored: put the key into the environment."
        )
    problem = ""
    try:
        keyring.set_password(SERVICE, name, secret)
    except Exception as error:  # noqa: BLE001 - every backend raises errors of its own
        problem = type(error).__name__
    if problem:
        # Raised here so that the error does not carry the original, which may quote the secret.
        raise ConfigurationError(
            f"The keyring of this machine did not take the key ({problem}): there is none, or it is locked. Unlock it, "
            f"or put the key into the environment."
        )


def _account(provider: str) -> str:
    name = provider.strip().lower()
    if not _PROVIDER.fullmatch(name):
        # Not quoted: the argument may be the key itself.
        raise InvalidInput("That is not the name of a provider. Give one such as openai, anthropic or mistral.")
    return _ONE_ACCOUNT.get(name, name)


def _keyring() -> Any:
    import keyring  # pyright: ignore[reportMissingImports] - an optional package

    return cast("Any", keyring)
