"""``mnemic import``: from the files of others to messages and memories."""

from __future__ import annotations

from mnemic.cli.importing.fields import LEFT_OUT
from mnemic.cli.importing.files import detect, parse, read_messages

__all__ = ["LEFT_OUT", "detect", "parse", "read_messages"]
