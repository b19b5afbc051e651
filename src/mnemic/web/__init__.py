"""The explorer: a memory in a browser, as a server on this machine, in another application, or as one file.

Needs ``mnemic[web]``.
"""

from mnemic.web.access import Access
from mnemic.web.app import app, report

__all__ = ["Access", "app", "report"]
