"""What an index shows of each distribution: a page without dead links, its licence, and the words that people search for."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT, *sorted(path.parent for path in ROOT.glob("integrations/*/pyproject.toml"))]


def project_of(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def package(request):
    """The metadata of a distribution and the page that is made of its README."""
    pytest.importorskip("hatch_fancy_pypi_readme")
    made = subprocess.run(
        [sys.executable, "-m", "hatch_fancy_pypi_readme"], cwd=request.param, capture_output=True, text=True, check=True
    )
    return request.param, project_of(request.param)["project"], made.stdout


def test_the_page_has_no_target_that_an_index_lacks(package):
    _, _, page = package
    assert page.startswith("# ")
    targets = re.findall(r"\]\(([^)]*)\)", page)
    headings = {
        re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    }
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert {target[1:] for target in targets if target.startswith("#")} <= headings
    assert "![" not in page or "](https://" in page
    assert "make demo" not in page


def test_the_words_of_the_readme_stay(package):
    folder, _, page = package
    words = re.sub(r"\]\([^)]*\)", "]", (folder / "README.md").read_text("utf-8"))
    bare = set(re.findall(r"\w+", words)) - set(re.findall(r"\w+", page))
    assert len(bare) <= 0.05 * len(set(re.findall(r"\w+", words))), bare


def test_licence_keywords_and_versions_are_stated(package):
    folder, project, _ = package
    assert project["license"].startswith("Apache-2.0")
    assert all((folder / name).is_file() for name in project["license-files"])
    assert len(project["keywords"]) >= 4
    assert {"Topic", "Programming Language", "Development Status"} <= {
        one.split(" :: ")[0] for one in project["classifiers"]
    }
    assert project["requires-python"] == ">=3.11"


def test_all_pages_are_made_by_the_same_rules():
    rules = [project_of(folder)["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"] for folder in FOLDERS]
    commands, *common = rules[0].pop("substitutions")
    assert "make demo" in commands["pattern"]  # the core leaves out the commands of the repository as well
    assert all(rule == {**rules[0], "substitutions": common} for rule in rules[1:])
