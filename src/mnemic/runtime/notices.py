"""Warnings of missing parts, each given once."""

from __future__ import annotations

import warnings

from mnemic.errors import MnemicError
from mnemic.secrets.policy import SecretPolicy


class Notices:
    """Warnings of missing services, each given once, without secrets."""

    def __init__(self, secrets: SecretPolicy) -> None:
        self._secrets = secrets
        self._subjects = set[str]()

    def given(self, subject: str) -> bool:
        """Whether a subject was dealt with."""
        return subject in self._subjects

    def warn(self, subject: str, reason: MnemicError | str, *, given_before: bool = False) -> None:
        """Warn once per subject, and not at all if another process gave it before."""
        if subject not in self._subjects:
            self._subjects.add(subject)
            reason = self._secrets.redacted(str(reason))[0]
            if not given_before:
                warnings.warn(f"{subject}: {reason}", RuntimeWarning, stacklevel=5)
