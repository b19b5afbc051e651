"""Secrets: the policy, and how they are detected."""
