"""``python -m mnemic`` is ``mnemic``."""

import sys

from mnemic.cli import main

if __name__ == "__main__":
    sys.exit(main())
