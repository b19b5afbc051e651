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

    def given(self, what: str) -> bool:
        """Whether a subject was dealt with."""
        return what in self._given

    def warn(self, what: str, why: MnemicError | str, *, given_before: bool = False) -> None:
        """Warn once per subject, and not at all if another process gave it before."""
        if what not in self._given:
            self._given.add(what)
            why = self._secrets.redacted(str(why))[0]
            if not given_before:
                warnings.warn(f"{what}: {why}", RuntimeWarning, stacklevel=5)
