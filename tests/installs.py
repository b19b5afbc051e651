"""Each distribution alone: the core without any framework, each integration with only its own.

A shared environment hides an undeclared import; these environments do not. Run by ``make test-installs``.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

IMPORT_ALL = """
import importlib, pkgutil, sys
# mnemic.testing needs pytest; the classic memory, LangGraph's store, language models and engines need extras of their own
EXTRAS = ("mnemic.testing", "mnemic.llm.", "mnemic.stores.postgres", "mnemic.indexes.vector.chroma", "mnemic.web")
def failed(name):
    if not name.startswith(EXTRAS):
        raise
for name in sys.argv[1].split(","):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + ".", onerror=failed):
        if not module.name.startswith(EXTRAS) and not module.name.endswith(("__main__", ".classic", "langchain_mnemic.store")):
            importlib.import_module(module.name)
import mnemic
memory = mnemic.Memory(":memory:", embedder="hashing")
memory.add("it works")
assert memory.search("works")
"""

# distribution -> (what is installed, packages to import whole, frameworks that must not be there)
INSTALLS = {
    "mnemic": ([], "mnemic", ["langchain_core", "llama_index", "pydantic_ai", "chromadb", "torch", "pytest"]),
    "langchain-mnemic": (
        ["integrations/langchain"],
        "langchain_mnemic",
        ["llama_index", "langchain_classic", "sqlite_vec", "torch", "pytest"],
    ),
    "llama-index-memory-mnemic": (
        ["integrations/llama_index"],
        "llama_index.memory.mnemic",
        ["langchain_core", "langgraph", "torch", "pytest"],
    ),
    "pydantic-ai-mnemic": (
        ["integrations/pydantic_ai"],
        "pydantic_ai_mnemic",
        ["langchain_core", "llama_index", "torch", "pytest"],
    ),
    "mnemic-mcp": (
        ["integrations/mcp"],
        "mnemic_mcp",
        ["langchain_core", "llama_index", "pydantic_ai", "torch", "pytest"],
    ),
}


def main() -> None:
    for name, (members, packages, absent) in INSTALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = Path(folder, "bin", "python")
            wheels = Path(folder, "wheels")
            sources = [str(ROOT), *(str(ROOT / member) for member in members)]
            pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
            subprocess.run([*pip, "wheel", "--no-deps", "-w", wheels, *sources], check=True)
            built = [str(path) for path in sorted(wheels.glob("*.whl"))]
            subprocess.run([*pip, "install", "-c", str(ROOT / "constraints.txt"), *built], check=True)
            checks = "".join(f"assert importlib.util.find_spec({module!r}) is None, {module!r}\n" for module in absent)
            subprocess.run([python, "-I", "-c", "import importlib.util\n" + checks], check=True)
            subprocess.run([python, "-I", "-W", "error::ImportWarning", "-c", IMPORT_ALL, packages], check=True)
            listing = [python, "-m", "pip", "--disable-pip-version-check", "list", "--format=freeze"]
            listed = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
            count = len([line for line in listed.splitlines() if not line.startswith(("pip=", "setuptools="))])
            print(f"{name}: {count} packages, every module imports", flush=True)


if __name__ == "__main__":
    sys.exit(main())
