"""The command ``mnemic-mcp``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mnemic_mcp.options import parsed
from mnemic_mcp.wire import protected_stdout

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client closes stdin.

    Only the standard library is loaded before stdout is out of everybody's reach.
    """
    options = parsed(arguments)
    wire = protected_stdout()
    from mnemic_mcp.serving import serve

    return serve(options, wire)


if __name__ == "__main__":
    sys.exit(main())
