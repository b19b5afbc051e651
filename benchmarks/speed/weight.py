"""What an installation weighs: ``python -m benchmarks.speed.weight [--json OUT]``.

Makes a fresh virtual environment, installs the project as a stranger would (with its default dependencies, from the package
index), and counts. ``pip`` itself does not count, ``mnemic`` does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.speed.fresh import import_cost
from benchmarks.speed.measures import folder_bytes

PROJECT = Path(__file__).resolve().parents[2]
TOOLS = {"pip", "setuptools", "wheel"}

DEFINITIONS = {
    "packages": "distributions that pip lists after `pip install mnemic`, mnemic among them, pip and setuptools not",
    "mb": "10^6 bytes of site-packages with its compiled modules, less what was there before",
    "import": "CPU ms of `import mnemic` in that environment, median of five fresh processes",
}


def run(*line: str) -> str:
    """Run a command and give back what it printed.

    Raises:
        RuntimeError: it failed.
    """
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{Path(line[0]).name} {' '.join(line[1:])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def measure() -> dict[str, Any]:
    """Install into a fresh environment and count."""
    with tempfile.TemporaryDirectory() as place:
        run(sys.executable, "-m", "venv", place)
        python = str(Path(place) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        before = folder_bytes(packages)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(PROJECT))
        listed = json.loads(run(python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"))
        found = {entry["name"]: entry["version"] for entry in listed if entry["name"] not in TOOLS}
        return {
            "packages": len(found), "mb": round((folder_bytes(packages) - before) / 1e6, 1), "torch": "torch" in found,
            "import": import_cost(python), "installed": found,
        }  # fmt: skip


def main(given: Sequence[str]) -> Mapping[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.weight", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    figures = measure()
    print("\n".join(f"{name} {version}" for name, version in figures["installed"].items()))
    print(f"\n{figures['packages']} packages, {figures['mb']} MB, torch: {'yes' if figures['torch'] else 'no'}")
    print(f"import mnemic: {figures['import']['cpu_ms']} ms CPU, numpy loaded: {figures['import']['numpy_loaded']}")
    if options.json:
        result = reporting.document(
            "speed.weight", given, data={}, machine=reporting.machine(), definitions=DEFINITIONS, figures=figures
        )
        reporting.written(result, options.json)
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
