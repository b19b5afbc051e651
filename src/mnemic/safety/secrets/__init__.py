"""Secrets in texts: finding them, and what is done about them. Pure functions of a text."""

from mnemic.safety.secrets.detection import pieces
from mnemic.safety.secrets.policy import SecretAction, SecretPolicy

__all__ = ["SecretAction", "SecretPolicy", "pieces"]
