"""``python -m benchmarks.speed`` is ``python -m benchmarks.speed.store``."""

import sys

from benchmarks.speed.store import main

main(sys.argv[1:])
