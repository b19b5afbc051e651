"""The documentation: every Python block runs, every link leads somewhere, and what is stated is what the code says."""

import ast
import asyncio
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.battery import PARTS

import mnemic
from mnemic import AsyncMemory, Memory
from mnemic.cli.parser import COMMANDS, make_parser
from mnemic.recall.recipes import RECIPES

PARSER = make_parser()

sybil = pytest.importorskip("sybil")
markdown = pytest.importorskip("sybil.parsers.markdown")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "cookbook/README.md")]
GUIDES += [path for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "reference"]
READMES = sorted(ROOT.glob("integrations/*/README.md"))
PAGES = [*GUIDES, *READMES, DOCS / "llms.txt", *sorted((DOCS / "reference").glob("*.md"))]
NEEDS = (
    "adk_mnemic", "agent_framework_mnemic", "anthropic_memory_mnemic", "chromadb", "crewai_mnemic", "langchain", "llama_index",
    "mnemic.testing.language_models", "openai_agents_mnemic", "opentelemetry.sdk", "pydantic_ai", "pytest", "starlette", "strands_mnemic",
)  # fmt: skip
PACKAGES = {
    "mnemic": None, "langchain_mnemic": "langchain_classic", "llama_index.memory.mnemic": "llama_index.core",
    "openai_agents_mnemic": None, "adk_mnemic": None, "agent_framework_mnemic": None, "strands_mnemic": None,
    "crewai_mnemic": None, "anthropic_memory_mnemic": None,
}  # fmt: skip


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# Blocks


class Evaluator:
    """Runs a block as a notebook would: ``await`` may stand at the top. One event loop serves the whole document."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner

    def __call__(self, example) -> None:
        source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        waiting = eval(compile(source, example.path, "exec", flags, dont_inherit=True), example.namespace)
        if inspect.isawaitable(waiting):
            self.runner.run(self._finished(waiting))

    async def _finished(self, waiting) -> None:
        await waiting


def close_all(namespace: dict, runner: asyncio.Runner) -> None:
    """End what a reader's process would end by ending: handles, and the database of a stock LlamaIndex memory."""
    for value in list(namespace.values()):
        if isinstance(value, Memory):
            value.close()
        if isinstance(value, AsyncMemory):
            runner.run(value.close())
        if engine := getattr(getattr(value, "sql_store", None), "_async_engine", None):
            runner.run(engine.dispose())


PRINTED = re.compile(r"(?:```)?\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)

VARYING = re.compile(r"(?<=memory )[0-9a-f]{8}\b|^\w+day \d{1,2} \w+ \d{4}(?=:$)", re.MULTILINE)
"""The secret word of a folder, and the day on which the example runs."""


BESIDE = re.compile(r"\)  # (.+)$")
"""What a call of print is said to print, perhaps with an explanation after a colon or in parentheses."""


def is_printed(said: str, printed: str) -> bool:
    """Whether a comment says what was printed."""
    exact = doctest.OutputChecker().check_output(
        f"{said}\n", f"{printed}\n", doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    return exact or said.startswith((f"{printed}: ", f"{printed} ("))


class Printer:
    """Prints, and checks that it is what the comment on the line says."""

    def __init__(self, path: Path) -> None:
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.path = str(path)

    def __call__(self, *values: object, **options: Any) -> None:
        print(*values, **options)
        frame = inspect.currentframe()
        caller = frame and frame.f_back
        if caller is not None and caller.f_code.co_filename == self.path:
            beside = BESIDE.search(self.lines[caller.f_lineno - 1])
            printed = " ".join(map(str, values))
            assert beside is None or is_printed(beside[1], printed), f"line {caller.f_lineno} prints {printed!r}"


def has_blocks(path: Path) -> bool:
    return "```python\n" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "start").glob("*.md")), ids=named)
def test_the_blocks_of_a_first_page_are_one_script(path):
    blocks = re.findall(r"^```python\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    compile("\n".join(blocks), str(path), "exec", dont_inherit=True)


@pytest.mark.filterwarnings(  # of the frameworks
    "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning", "ignore::ImportWarning"
)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=named(path), marks=[pytest.mark.encrypted] * (path.stem == "encryption"))
        for path in (*GUIDES, *READMES)
        if has_blocks(path)
    ],
)
def test_every_python_block_runs_and_prints_what_stands_below_it(path, tmp_path, monkeypatch, capsys):
    for module in NEEDS:
        if re.search(rf"^(from|import) {module}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with asyncio.Runner() as runner:
        parser = markdown.CodeBlockParser("python", Evaluator(runner))
        document = sybil.Document.parse(str(path), parser)
        document.namespace["print"] = Printer(path)
        try:
            for example in document.examples():
                example.evaluate()
                printed = capsys.readouterr().out
                if below := PRINTED.match(document.text, example.region.end):
                    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                    expected = VARYING.sub("...", below[1])
                    assert doctest.OutputChecker().check_output(expected, printed, flags), printed
        finally:
            close_all(document.namespace, runner)


def modules_with_examples() -> list[str]:
    found = []
    for package, needs in PACKAGES.items():
        try:
            root = importlib.import_module(package)
            if needs:
                importlib.import_module(needs)
        except ModuleNotFoundError:
            continue
        for info in pkgutil.walk_packages(root.__path__, f"{package}."):
            spec = None if info.name.endswith("__main__") else info.module_finder.find_spec(info.name)
            if spec and spec.origin and re.search(r"^\s*>>> ", Path(spec.origin).read_text("utf-8"), re.MULTILINE):
                found.append(info.name)
    return found


@pytest.mark.parametrize("name", modules_with_examples())
def test_every_example_in_a_docstring_is_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed


# Links


def slug(heading: str) -> str:
    """The anchor that a heading has on code hosts."""
    words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower())
    return words.replace(" ", "-")


def anchors(path: Path) -> set[str]:
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_relative_link_resolves(path):
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target


def test_every_page_of_the_site_is_in_its_navigation_once():
    listed = re.findall(r"^ +- [^:]+: (\S+\.md)$", text_of("mkdocs.yml"), re.MULTILINE)
    assert sorted(listed) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


# The code and what is said of it


def referenced() -> list[str]:
    """The path of each documented name."""
    pages = [path.read_text("utf-8") for path in sorted((DOCS / "reference").glob("*.md"))]
    return [path for page in pages for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE)]


def test_the_reference_has_every_public_name_once():
    paths = referenced()
    assert len(paths) == len(set(paths))
    assert {*mnemic.__all__} - {"__version__"} <= {path.rpartition(".")[2] for path in paths}


def test_the_reference_names_what_exists():
    for path in referenced():
        holder, _, name = path.rpartition(".")
        if importlib.util.find_spec(holder.partition(".")[0]):
            assert hasattr(importlib.import_module(holder), name), path


def test_the_reference_of_commands_is_what_the_parser_says():
    words = [sys.executable, DOCS / "command_line.py", "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_cookbook_lists_every_program():
    page = text_of("cookbook/README.md")
    programs = sorted(path.name for path in (ROOT / "cookbook").glob("*.py"))
    assert re.findall(r"^\| \[(\w+\.py)\]\(\1\)", page, re.MULTILINE) == programs
    for name in programs:
        line = re.search(r"^Install: pip install (.+)$", text_of(f"cookbook/{name}"), re.MULTILINE)[1].replace('"', "")
        told = re.search(rf"^\| \[{re.escape(name)}\].*\| `(.+)` \|$", page, re.MULTILINE)[1].replace('"', "")
        assert told == line, name


def test_the_figures_of_faults_are_those_of_the_last_run():
    """Else: python docs/faults.py."""
    done = subprocess.run([sys.executable, DOCS / "faults.py", "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_figures_of_one_kind_are_added_up_and_a_failure_is_told():
    spec = importlib.util.spec_from_file_location("faults", DOCS / "faults.py")
    faults = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(faults)
    figures = [
        {"what": "fuzz by coverage: names", "executions": 1_500, "crashes": 0, "seconds": 6},
        {"what": "fuzz by coverage: markup", "executions": 2_000, "crashes": 1, "seconds": 6},
        {"what": "load: 128 recalls at once", "users": 1, "errors": 0, "p95_ms": 300.4},
        {"what": "load: 128 recalls at once", "users": 50, "errors": 0, "p95_ms": 350.2},
    ]
    run = {"passed": True, "seconds": 3_725, "figures": figures}
    told = "fuzz: 3,500 executions, 1 crashes; 128 recalls at once: 0 errors, p95 350 ms"
    assert faults.measured(run) == f"passed in 1 h 2 min; {told}"
    assert faults.measured({"passed": False, "seconds": 61}) == "**failed** after 1 min 1 s"
    assert faults.measured(None) == "not run yet"
    filled = faults.table({"kill": run})
    assert filled.count("not run yet") == len(faults.rows()) - 1
    assert f"| `PART=kill` | passed in 1 h 2 min; {told} |" in filled


def test_every_part_of_the_battery_is_on_its_page():
    page = text_of("docs/results/faults.md")
    assert re.findall(r"`PART=(\w+)` \|", page) == [*PARTS]


def test_every_command_is_on_its_page():
    table = text_of("docs/more/command-line.md").partition("## Output")[0]
    assert {name for name in COMMANDS if f"`{name}`" not in table} == set()


@pytest.mark.parametrize("path", [*GUIDES, *READMES], ids=named)
def test_every_shown_command_line_is_understood(path):
    for block in re.findall(r"^```sh\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("mnemic "):
                words = shlex.split(re.split(r" (?:\||>|#|&&|\|\|) ?", line)[0])[1:]
                if not {"--help", "--version"} & {*words}:
                    assert PARSER.parse_args(words).command


@pytest.mark.parametrize("path", [*GUIDES, *READMES], ids=named)
def test_every_method_that_is_named_exists(path):
    found = {*re.findall(r"\b[mM]emory\.([a-z_]+)[(`]", path.read_text(encoding="utf-8"))}
    others = {
        "mnemic",
        "from_defaults",
        "html",
        "jsonl",
    }  # llama_index.memory.mnemic, LlamaIndex's Memory, names of files
    assert {name for name in found if not hasattr(Memory, name)} <= others


def test_every_error_is_explained():
    text = text_of("docs/more/errors.md")
    names = {name for name in mnemic.errors.__all__ if f"### {name}" not in text}
    assert names == {"MnemicError", "StoreError"}  # the two that are never raised as such


def test_the_formula_is_the_recipe():
    table = text_of("docs/concepts/recall.md")
    recipe = RECIPES["conversation"]
    people, assisted = table.split("Conversations with an assistant use other weights")
    for text, weights in ((people, {**recipe.weights, **recipe.quality}), (assisted, recipe.assisted)):
        stated = re.findall(r"^\| `(\w+)` \| (-?[\d.]+) \|", text, re.MULTILINE)
        assert {name: float(weight) for name, weight in stated} == weights
    assert f"`spread` is {recipe.spread}" in table
    assert {name for name in RECIPES if f"`{name}`" not in table} == set()


ODD = re.compile(
    r"\bwhere there (?:is|are)\b|\banew\b|\b(?:is|are) told\b|\bbears? on\b|\bplace of an?other\b|\bquiet moment|\bhad its time\b|"
    r"\bstands? (?:for|behind|beside)\b|\bspeaks? of\b|\bhangs on\b|\bby nature\b|\bcannot be had\b|\bin the midst\b",
    re.IGNORECASE,
)
"""Phrases of our own that a native speaker would not write."""


@pytest.mark.parametrize("path", [*GUIDES, *READMES], ids=named)
def test_no_page_uses_our_odd_phrases(path):
    assert ODD.findall(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)) == []


def test_a_block_that_fails_is_told(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nawait nothing()\n```\n")
    with asyncio.Runner() as runner:
        (example,) = sybil.Document.parse(str(page), markdown.CodeBlockParser("python", Evaluator(runner))).examples()
        with pytest.raises(NameError) as raised:
            example.evaluate()
    assert raised.traceback[-1].lineno == 3


def test_the_tests_of_the_testing_guide_pass(tmp_path):
    text = text_of("docs/guides/testing-your-agent.md")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "test_guide.py").write_text("\n".join(blocks), encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_guide.py"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 10


def test_figures_of_the_readme_are_those_of_the_results():
    results = (DOCS / "results" / "benchmarks.md").read_text(encoding="utf-8")
    known = {*re.findall(r"\d+\.\d+", results)}
    measured = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Measured\n")[1].split("\n## ")[0]
    figures = {*re.findall(r"\d+\.\d+", measured)}
    assert len(figures) > 20
    assert figures <= known
