"""Detection and redaction of secrets, in texts and in records."""

from mnemic.safety.secrets.policy import (
    SecretAction,
    SecretPolicy,
    pieces,
    policy_from,
    redact_record,
    redact_scope,
    refusal_reason,
    refuse_secrets,
)

__all__ = [
    "SecretAction",
    "SecretPolicy",
    "pieces",
    "policy_from",
    "redact_record",
    "redact_scope",
    "refusal_reason",
    "refuse_secrets",
]
