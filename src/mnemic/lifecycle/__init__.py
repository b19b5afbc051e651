"""Lifecycle of memories: consolidation, edits, forgetting, erasure, quarantine, retention and idle work."""
