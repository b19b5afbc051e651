"""Parsers of ``mnemic import`` for files of other products."""
