"""Parsers of ``mnemic import`` for files of other products."""

from __future__ import annotations

from mnemic.transfer.importers.fields import LEFT_OUT
from mnemic.transfer.importers.files import detect, parse, read_messages

__all__ = ["LEFT_OUT", "detect", "parse", "read_messages"]
