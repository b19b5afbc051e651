"""The suite of each integration with the oldest and the newest framework that its ranges allow and that installs.

Each in an environment of its own, made from the wheels of ``make wheels``. Run by ``make test-frameworks``; words choose
integrations by the name of their folder. What a framework itself warns of is no failure here.

``make test-agents`` runs those that do not fit beside the others: with the versions in their ``constraints.txt``, with
warnings as errors, and with their types, pages and examples.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from wheels import ROOT, environment, pip, wheels

FRAMEWORKS = {
    "langchain": ("langchain", "langchain-core", "langgraph-checkpoint-sqlite", "langchain-classic"),
    "llama_index": ("llama-index-core",),
    "pydantic_ai": ("pydantic-ai-slim",),
    "mcp": ("mcp",),
}
AGENTS = {
    "adk": ("google-adk",),
    "agent_framework": ("agent-framework-core",),
    "anthropic_memory": ("anthropic",),
    "crewai": ("crewai",),
    "openai_agents": ("openai-agents",),
    "strands": ("strands-agents",),
}
FRAMEWORKS |= AGENTS
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


def oldest(requirement: str) -> str:
    """The lowest version that the index has of what a requirement allows."""
    from packaging.requirements import Requirement
    from packaging.version import Version

    wanted = Requirement(requirement)
    told = pip(sys.executable, "index", "versions", wanted.name, stdout=subprocess.PIPE).stdout
    (listed,) = re.findall(r"^Available versions: (.*)$", told, re.MULTILINE)
    return str(min(version for text in listed.split(", ") if (version := Version(text)) in wanted.specifier))


def installed(folder: str, integration: str, *words: str) -> Path:
    """An environment with an integration from its wheel, the tools of its tests, and more; returns its Python."""
    python = environment(Path(folder))
    built = wheels(integration, "minilm", "testing")
    pip(python, "install", "--quiet", *built, *TOOLS, *MORE.get(integration, ()), *words)
    return python


def versions(python: Path, integration: str) -> str:
    """The versions of the framework in an environment."""
    frozen = pip(python, "list", "--format=freeze", stdout=subprocess.PIPE).stdout
    found = dict(line.split("==") for line in frozen.splitlines() if "==" in line)
    return ", ".join(f"{name} {found[name]}" for name in FRAMEWORKS[integration])


def passes(title: str, *steps: tuple[Path, list[str]]) -> bool:
    """Run commands, each in a folder, until one fails; says how the last of them ended."""
    told = ""
    for folder, command in steps:
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            print(f"{title}: FAILED", done.stdout[-6_000:], done.stderr[-2_000:], sep="\n", flush=True)
            return False
        told = done.stdout.strip().splitlines()[-1]
    print(f"{title}: {told}", flush=True)
    return True


def tried(integration: str, end: str) -> bool:
    """Install one end and run the suite; whether it passed."""
    with tempfile.TemporaryDirectory() as folder:
        lines = declared(integration)
        asked = [lines[name] for name in FRAMEWORKS[integration]]
        if end == "oldest":
            asked = [f"{name}=={oldest(lines[name])}" for name in FRAMEWORKS[integration]]
        python = installed(folder, integration, *asked)
        options = ["-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default", "--disable-warnings"]
        suite = [python, "-m", "pytest", *options, str(ROOT / "integrations" / integration / "tests")]
        return passes(f"{integration}, {end} ({versions(python, integration)})", (ROOT, suite))


def pinned(integration: str) -> bool:
    """Run everything of an integration with the versions it was last tested with; whether it passed."""
    place = ROOT / "integrations" / integration
    with tempfile.TemporaryDirectory() as folder:
        python = installed(folder, integration, "basedpyright", "sybil", "-c", str(place / "constraints.txt"))
        types = Path(folder, "pyrightconfig.json")
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
        types.write_text(json.dumps({**settings, "include": [str(place / "src")]}))
        check = [sys.executable, "-m", "pip", "--python", python, "check"]
        pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        pages = ["tests/examples/test_docs.py", "tests/examples/test_cookbook.py"]
        pages += ["-k", f"{integration} or {integration.replace('_', '-')}"]
        return passes(
            f"{integration} ({versions(python, integration)})",
            (place, check),
            (place, [python, "-m", "basedpyright", "--level", "error", "-p", str(types), "--pythonpath", python]),
            (ROOT, [*pytest, *pages]),
            (place, [*pytest, "tests"]),
        )


def main(chosen: list[str]) -> int:
    if "--pinned" in chosen:
        with ThreadPoolExecutor(2) as pool:
            return 0 if all(pool.map(pinned, [name for name in AGENTS if not chosen[1:] or name in chosen])) else 1
    passed = [tried(name, end) for name in FRAMEWORKS if not chosen or name in chosen for end in ("oldest", "newest")]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
