"""The command ``mnemic-mcp``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from mnemic_mcp.options import parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client closes stdin or, over HTTP, until a signal; the exit code of the process.

    Only the standard library is loaded before stdout is protected.
    """
    options = parsed(arguments)
    output = protected_stdout()
    from mnemic_mcp.command import run

    return run(options, output)


def protected_stdout() -> TextIOWrapper:
    """Keep stdout for the protocol: whatever else is printed goes to stderr.

    C libraries and child processes write to descriptor 1 as ``print`` does, so that the descriptor is moved, not only
    ``sys.stdout``. What was buffered before goes where it was meant to go.

    Returns:
        What was stdout, in UTF-8.
    """
    sys.stdout.flush()
    output = os.dup(1)
    os.set_inheritable(output, False)  # noqa: FBT003 - the signature of the standard library
    os.dup2(2, 1)
    return TextIOWrapper(os.fdopen(output, "wb"), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
