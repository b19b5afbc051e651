"""Each distribution alone: the core without any framework, each integration with only its own.

A shared environment hides an undeclared import; these environments do not. Run by ``make test-installs``.
"""

import email
import os
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from wheels import ROOT, WHEELS, environment, pip, wheels

IMPORT_ALL = """
import importlib, pkgutil, sys
# the classic memory, LangGraph's store, language models and engines need extras of their own
EXTRAS = ("mnemic.testing.language_models", "mnemic.llm.", "mnemic.stores.postgres", "mnemic.indexes.vector.chroma", "mnemic.web", "mnemic.adapters.schemas")
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

BY_MEANING = """
import os
os.environ["HF_HUB_OFFLINE"] = "1"
import mnemic
memory = mnemic.Memory(":memory:")
for said in ("I have a cat named Miso.", "The train leaves at nine.", "Tea is in the cupboard."):
    memory.add(said)
assert memory.search("Which pet do I own?")[0].text == "I have a cat named Miso."
"""

# distribution -> (what is installed, packages to import whole, frameworks that must not be there)
INSTALLS = {
    "mnemic": ([], "mnemic", ["langchain_core", "llama_index", "pydantic_ai", "chromadb", "torch", "pytest"]),
    "mnemic[minilm]": (["minilm"], "mnemic", ["langchain_core", "llama_index", "torch", "pytest"]),
    "mnemic-testing": (["testing"], "mnemic_testing", ["langchain_core", "llama_index", "chromadb", "torch"]),
    "langchain-mnemic": (
        ["langchain"],
        "langchain_mnemic",
        ["llama_index", "langchain_classic", "sqlite_vec", "torch", "pytest"],
    ),
    "llama-index-memory-mnemic": (
        ["llama_index"],
        "llama_index.memory.mnemic",
        ["langchain_core", "langgraph", "torch", "pytest"],
    ),
    "pydantic-ai-mnemic": (
        ["pydantic_ai"],
        "pydantic_ai_mnemic",
        ["langchain_core", "llama_index", "torch", "pytest"],
    ),
    "mnemic-mcp": (["mcp"], "mnemic_mcp", ["langchain_core", "llama_index", "pydantic_ai", "torch", "pytest"]),
}


def installed(members: list[str], packages: str, absent: list[str]) -> int:
    """Install wheels into an environment of their own, import every module, and count the packages."""
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder))
        constraints = ROOT / "constraints.txt"
        pip(python, "install", "--quiet", "--no-compile", "-c", constraints, *wheels(*members))
        checks = "".join(f"assert importlib.util.find_spec({module!r}) is None, {module!r}\n" for module in absent)
        subprocess.run([python, "-I", "-c", "import importlib.util\n" + checks], check=True)
        subprocess.run([python, "-I", "-W", "error::ImportWarning", "-c", IMPORT_ALL, packages], check=True)
        pip(python, "check", stdout=subprocess.DEVNULL)
        if "minilm" in members:
            subprocess.run([python, "-I", "-W", "error", "-c", BY_MEANING], check=True)
        return len(pip(python, "list", "--format=freeze", stdout=subprocess.PIPE).stdout.splitlines())


def check_metadata(wheel: Path) -> None:
    """A wheel has its page, as Markdown, and its licence."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
        assert metadata["Description-Content-Type"] == "text/markdown", wheel
        assert str(metadata.get_payload()).lstrip().startswith("# "), wheel
        held = {one.rpartition("/")[2] for one in archive.namelist() if ".dist-info/licenses/" in one}
        assert {Path(one).name for one in metadata.get_all("License-File", ())} == held >= {"LICENSE"}, wheel


def main() -> None:
    for wheel in WHEELS.rglob("*.whl"):
        check_metadata(wheel)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = {name: pool.submit(installed, *what) for name, what in INSTALLS.items()}
        for name, count in counts.items():
            print(f"{name}: {count.result()} packages, every module imports", flush=True)


if __name__ == "__main__":
    sys.exit(main())
