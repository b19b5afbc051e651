"""A stranger's first hour: each file of the cookbook runs in an environment that has only what its install line names.

One environment per install line, from the wheels of ``make wheels``. Run by ``make test-cookbook``; words choose files by their number.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from wheels import ROOT, WHEELS, environment, pip


def install_lines(chosen: Iterable[str]) -> dict[str, list[Path]]:
    """The files of the cookbook under the line that installs what they need."""
    numbers, found = tuple(chosen), dict[str, list[Path]]()
    for path in sorted((ROOT / "cookbook").glob("[0-9][0-9]_*.py")):
        (line,) = re.findall(r"^Install: pip install (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if not numbers or path.name.startswith(numbers):
            found.setdefault(line, []).append(path)
    return found


def make(folder: Path, line: str) -> Path:
    """An environment with what a line installs; the wheels of this project are found in their folders."""
    python = environment(folder)
    ours = [word for wheels in WHEELS.iterdir() for word in ("--find-links", wheels)]
    constraints = ("-c", ROOT / "constraints.txt")
    for words in line.split(" && pip install "):
        pip(python, "install", "--quiet", *ours, *constraints, *shlex.split(words))
    return python


def runs(python: Path, path: Path) -> bool:
    """Whether a file ends as it should, with nothing on stderr, offline, in a folder that stays empty."""
    began = time.monotonic()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}
    environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-W", "error", path]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
        )
        left = [*Path(folder).iterdir()]
    good = (done.returncode, done.stderr, left) == (0, "", []) and done.stdout.endswith("All as expected.\n")
    print(f"  {path.name}: {'runs' if good else 'FAILS'} ({time.monotonic() - began:.0f} s)", flush=True)
    if not good:
        print(done.stdout[-1000:], done.stderr[-3000:], left, sep="\n", flush=True)
    return good


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (line, paths) in enumerate(install_lines(sys.argv[1:]).items()):
            print(f"pip install {line}", flush=True)
            python = make(Path(folder, str(number)), line)
            failed += sum(not runs(python, path) for path in paths)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
