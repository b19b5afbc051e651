"""Warnings of missing parts, each given once."""

from __future__ import annotations

import warnings

from mnemic.errors import MnemicError
from mnemic.safety.secrets import SecretPolicy


class Notices:
    """Warnings of missing services, each given once, without secrets."""

    def __init__(self, secrets: SecretPolicy) -> None:
        self._secrets = secrets
        self._given = set[str]()

    def warn(self, what: str, error: MnemicError) -> None:
        """Warn once per subject."""
        if what not in self._given:
            self._given.add(what)
            why = self._secrets.redacted(str(error))[0]
            warnings.warn(f"{what}: {why}", RuntimeWarning, stacklevel=5)
