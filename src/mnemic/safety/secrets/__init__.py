"""Detection and redaction of secrets in texts."""

from mnemic.safety.secrets.policy import SecretAction, SecretPolicy, pieces

__all__ = ["SecretAction", "SecretPolicy", "pieces"]
