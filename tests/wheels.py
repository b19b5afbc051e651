"""The wheels of the distributions, and environments that have only what is installed from them.

Run as a program it builds them all into ``build/wheels``, once for every command that installs them: ``make wheels``.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEMBERS = {path.parent.name: path.parent for path in sorted(ROOT.glob("integrations/*/pyproject.toml"))}
WHEELS = ROOT / "build" / "wheels"


def pip(python: str | Path, *words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run this interpreter's pip on an environment, which needs none of its own: making one takes seconds."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *words]
    return subprocess.run(command, check=True, text=True, **options)


def environment(folder: Path) -> Path:
    """An empty environment; returns its Python."""
    venv.create(folder)
    return folder / "bin" / "python"


def wheels(*members: str) -> list[Path]:
    """The wheels of the core and of some integrations."""
    return [next((WHEELS / member).glob("*.whl")) for member in ("core", *members)]


def build(member: str, source: Path) -> None:
    """Build a wheel from its source, with what its metadata says that building needs."""
    with tempfile.TemporaryDirectory() as folder:
        pip(environment(Path(folder)), "wheel", "--quiet", "--no-deps", "-w", WHEELS / member, source)


def main() -> None:
    """Build all wheels; several at once."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(build, ("core", *MEMBERS), (ROOT, *MEMBERS.values())))


if __name__ == "__main__":
    main()
