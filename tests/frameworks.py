"""The suite of each integration with the oldest and the newest framework that its ranges allow and that installs.

Each in an environment of its own, made from wheels that are built here. Run by ``make test-frameworks``; words choose
integrations by the name of their folder. What a framework itself warns of is no failure here.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRAMEWORKS = {
    "langchain": ("langchain", "langchain-core", "langgraph-checkpoint-sqlite", "langchain-classic"),
    "llama_index": ("llama-index-core",),
    "pydantic_ai": ("pydantic-ai-slim",),
    "mcp": ("mcp",),
}
"""What the two ends are of; everything else is the newest that goes with it."""
TOOLS = ("pytest>=9,<10", "pytest-asyncio>=1.3,<2", "hypothesis", "psutil")
MORE = {"langchain": ("langchain-tests>=1.1,<2", "langgraph"), "mcp": ("psutil",)}
"""What the tests of an integration need beside it."""


def declared(integration: str) -> dict[str, str]:
    """The requirements of an integration by name, its extras among them."""
    project = tomllib.loads((ROOT / "integrations" / integration / "pyproject.toml").read_text())["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in project.get("optional-dependencies", {}).values() for line in extra),
    ]
    return {re.split(r"[<>=\[ ;]", line, maxsplit=1)[0]: line for line in lines}


def oldest(pip: list[str], requirement: str) -> str:
    """The lowest version that the index has of what a requirement allows."""
    from packaging.requirements import Requirement
    from packaging.version import Version

    wanted = Requirement(requirement)
    told = subprocess.run([*pip, "index", "versions", wanted.name], check=True, capture_output=True, text=True).stdout
    (listed,) = re.findall(r"^Available versions: (.*)$", told, re.MULTILINE)
    return str(min(version for text in listed.split(", ") if (version := Version(text)) in wanted.specifier))


def tried(integration: str, end: str) -> bool:
    """Install one end and run the suite; whether it passed."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python, wheels = str(Path(folder, "bin", "python")), Path(folder, "wheels")
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        sources = [str(ROOT), *(str(ROOT / "integrations" / name) for name in (integration, "minilm", "testing"))]
        subprocess.run([*pip, "--quiet", "wheel", "--no-deps", "-w", str(wheels), *sources], check=True)
        subprocess.run([*pip, "--quiet", "install", "packaging"], check=True)
        lines = declared(integration)
        asked = [lines[name] for name in FRAMEWORKS[integration]]
        if end == "oldest":
            asked = [f"{name}=={oldest(pip, lines[name])}" for name in FRAMEWORKS[integration]]
        built = [str(path) for path in sorted(wheels.glob("*.whl"))]
        subprocess.run([*pip, "--quiet", "install", *built, *asked, *TOOLS, *MORE.get(integration, ())], check=True)
        frozen = subprocess.run([*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True).stdout
        versions = dict(line.split("==") for line in frozen.splitlines() if "==" in line)
        held = ", ".join(f"{name} {versions[name]}" for name in FRAMEWORKS[integration])
        suite = str(ROOT / "integrations" / integration / "tests")
        line = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-o",
            "filterwarnings=default",
            "--disable-warnings",
            suite,
        ]
        done = subprocess.run(line, check=False, cwd=ROOT, capture_output=True, text=True)
        print(f"{integration}, {end} ({held}): {done.stdout.strip().splitlines()[-1]}", flush=True)
        if done.returncode:
            print(done.stdout[-6_000:], done.stderr[-2_000:], sep="\n", flush=True)
        return done.returncode == 0


def main(chosen: list[str]) -> int:
    passed = [tried(name, end) for name in FRAMEWORKS if not chosen or name in chosen for end in ("oldest", "newest")]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
