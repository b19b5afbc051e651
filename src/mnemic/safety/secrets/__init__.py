"""Detection and redaction of secrets in texts."""

from mnemic.safety.secrets.detection import pieces
from mnemic.safety.secrets.policy import SecretAction, SecretPolicy

__all__ = ["SecretAction", "SecretPolicy", "pieces"]
