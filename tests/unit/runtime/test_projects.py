"""Where a project begins, what it is called, and the id that a memory knows it by."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mnemic
from mnemic import InvalidInput, Memory, Project, new_session
from mnemic.runtime.projects import MOST_LEVELS


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, so that no repository around the temporary folder counts."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


def repository(folder: Path, url: str | None = None, remote: str = "origin") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    config = "[core]\n\tbare = false\n" + (f'[remote "{remote}"]\n\turl = {url}\n' if url else "")
    (folder / ".git" / "config").write_text(config)
    return folder


# Where


def test_the_repository_around_a_folder(at_home):
    root = repository(at_home / "code" / "atlas")
    inner = root / "src" / "deep"
    inner.mkdir(parents=True)
    (inner / "module.py").write_text("")
    for place in (root, inner, inner / "module.py", inner / "not there yet", str(inner)):
        found = mnemic.project(place)
        assert (found.root, found.name, found.marker) == (root, "atlas", "git")
        assert found.id == mnemic.project(root).id


def test_the_folder_itself_without_a_repository(at_home):
    folder = at_home / "notes" / "inner"
    folder.mkdir(parents=True)
    found = mnemic.project(folder)
    assert (found.root, found.name, found.description, found.marker) == (folder, "inner", "", None)
    (folder / "AGENTS.md").write_text("# Notes\n")
    assert mnemic.project(folder).marker == "file"


def test_the_working_directory_is_the_default(at_home, monkeypatch):
    root = repository(at_home / "atlas")
    monkeypatch.chdir(root)
    assert mnemic.project() == mnemic.project(root)


def test_home_and_the_root_of_the_file_system_are_no_projects(at_home):
    repository(at_home)  # dotfiles under version control
    (at_home / "CLAUDE.md").write_text("# Everything\n")
    folder = at_home / "notes"
    folder.mkdir()
    assert (mnemic.project(folder).root, mnemic.project(folder).marker) == (folder, None)
    assert mnemic.project(at_home).marker is None
    assert mnemic.project("~").root == at_home
    top = mnemic.project(Path(at_home.anchor))
    assert (top.marker, top.name) == (None, "files")


def test_the_way_up_is_bounded(at_home):
    root = repository(at_home / "atlas")
    deep = root.joinpath(*["x"] * (MOST_LEVELS - 1))
    assert mnemic.project(deep).root == root
    assert mnemic.project(deep / "x").root == deep / "x"


@pytest.mark.parametrize("made", [lambda p: p.mkdir(), lambda p: p.write_text(""), lambda p: p.write_text("gitdir:\n"),
                                  lambda p: p.write_bytes(b"gitdir: \0\0"), lambda p: p.symlink_to(p)])  # fmt: skip
def test_what_only_looks_like_a_repository_is_none(at_home, made):
    folder = at_home / "atlas"
    folder.mkdir()
    made(folder / ".git")
    assert mnemic.project(folder).marker is None


@pytest.mark.parametrize("wrong", ["a\0b", 7, None, ["."]])
def test_what_is_no_path_is_refused(wrong):
    with pytest.raises(InvalidInput, match="path"):
        mnemic.project(wrong)


# What it is called


def described(folder: Path, **files: str | bytes) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.md").write_bytes(content if isinstance(content, bytes) else content.encode())
    return mnemic.project(folder)


def test_front_matter_then_folder(at_home):
    found = described(at_home / "a", CLAUDE="---\nname: Atlas\n---\n# Another", AGENTS="# Third")
    assert (found.name, found.description) == ("Atlas", "")
    found = described(at_home / "b", CLAUDE="---\ndescription: Maps.\n---", AGENTS="---\nname: Agents' Atlas\n---\n")
    assert (found.name, found.description) == ("Agents' Atlas", "Maps.")
    found = described(at_home / "c", CLAUDE="---\nproject: Atlas\nname: Notes for agents\n---\n")
    assert found.name == "Atlas"
    found = described(at_home / "d", CLAUDE="# A heading\n\n- a list\n")
    assert (found.name, found.description) == ("d", "")


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf---\r\nname: Atlas\r\ndescription: \"Maps \xe2\x80\x94 all\"\r\n---\r\n",
        "---\nname: Atlas\ndescription: Maps — all\n---\n".encode("utf-16"),
        "---\nname:\tAtlas\ndescription:\t'Maps — all'\n---\n".encode(),
        "---\nname: Old\nname: Atlas\ndescription: Maps — all # a comment\nno end marker".encode(),
        "---\n'name': Atlas\ndescription: Maps — all\nnested:\n  name: wrong\nlist:\n- name: wrong\n---\n".encode(),
        "---\nother: [unclosed\nname: Atlas\ndescription: Maps — all\n...\nname: no\n".encode(),
    ],
)  # fmt: skip
def test_front_matter_of_many_hands(at_home, content):
    found = described(at_home / "folder", AGENTS=content)
    assert (found.name, found.description) == ("Atlas", "Maps — all")


def test_no_alias_is_expanded_and_no_file_read_whole(at_home):
    bomb = "---\na: &a [x,x]\nb: &b [*a,*a]\nname: *b\ndescription: {deep: *b}\n---\n"
    assert described(at_home / "bomb", CLAUDE=bomb).name == "bomb"
    far = "---\n" + "- filler\n" * 10_000 + "description: Too far down.\n---\n"
    assert described(at_home / "far", CLAUDE=far).description == ""


def test_values_are_one_line_without_control_characters_and_bounded(at_home):
    found = described(
        at_home / "a", CLAUDE=f'---\nname: "A\x1b[31m\x00B\u202e{"c" * 900}"\ndescription: {"word " * 400}\n---'
    )
    assert found.name.startswith("A [31m B")
    assert len(found.name) <= 100
    assert len(found.description) <= 500
    assert found.description.endswith("word…")
    assert found.name.isprintable()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_cannot_be_read_counts_as_absent(at_home):
    folder = at_home / "atlas"
    (folder / "CLAUDE.md").mkdir(parents=True)
    os.mkfifo(folder / "AGENTS.md")  # opening it would wait for ever
    assert mnemic.project(folder).name == "atlas"


# Its id


@pytest.mark.parametrize(
    ("url", "id_"),
    [
        ("https://github.com/Acme/Atlas.git", "acme/atlas"),
        ("https://ana:s3cret@github.com/acme/atlas.git?token=s3cret", "acme/atlas"),
        ("git@github.com:acme/atlas.git", "acme/atlas"),
        ("ssh://git@host.example:2222/acme/atlas", "acme/atlas"),
        ("https://gitlab.com/acme/maps/atlas/", "acme/maps/atlas"),
        ('"https://github.com/acme/atlas"', "acme/atlas"),
        ("git@host.example:atlas.git", "host.example/atlas"),
    ],
)
def test_the_id_is_owner_and_repository_of_the_remote(at_home, url, id_):
    found = mnemic.project(repository(at_home / "one" / "atlas", url))
    assert found.id == id_
    assert mnemic.project(repository(at_home / "two" / "copy", url)).id == id_
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "url", ["/srv/git/atlas.git", "../atlas", "file:///srv/atlas.git", "C:\\git\\atlas", "https://[", "x"]
)
def test_a_remote_on_this_machine_is_none(at_home, url):
    found = mnemic.project(repository(at_home / "atlas", url))
    assert found.id.startswith("atlas-")
    assert len(found.id) == len("atlas-") + 8


def test_origin_comes_before_other_remotes(at_home):
    root = repository(at_home / "atlas", "https://github.com/other/atlas", remote="upstream")
    assert mnemic.project(root).id == "other/atlas"
    with (root / ".git" / "config").open("a") as config:
        config.write('[remote "origin"]\n\tURL = git@github.com:me/atlas.git\n\turl = https://second.example/x/y\n')
    assert mnemic.project(root).id == "me/atlas"


def test_two_folders_of_one_name_are_two_projects_and_an_id_does_not_hang_on_the_description(at_home):
    one, two = at_home / "one" / "site", at_home / "two" / "site"
    before = described(one, CLAUDE="# Site\n").id
    assert before != described(two, CLAUDE="# Site\n").id
    assert described(one, CLAUDE="---\nname: Renamed\n---\n").id == before


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_worktrees_and_submodules_that_git_made(at_home):
    def git(*words: str, at: Path) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *words],
                       cwd=at, check=True, capture_output=True)  # fmt: skip

    root, side, other = at_home / "atlas", at_home / "side", at_home / "other"
    for folder in (root, other):
        folder.mkdir()
        git("init", "-q", at=folder)
        git("commit", "-q", "--allow-empty", "-m", "first", at=folder)
    git("worktree", "add", "-q", str(side), at=root)
    main, tree = mnemic.project(root), mnemic.project(side)
    assert (tree.root, tree.marker) == (side, "git")
    assert tree.id == main.id
    git("remote", "add", "origin", "https://ana:pw@github.com/acme/atlas.git", at=root)
    assert mnemic.project(side).id == mnemic.project(root).id == "acme/atlas"
    git("submodule", "--quiet", "add", str(other), "part", at=root)
    part = mnemic.project(root / "part")
    assert (part.root, part.name) == (root / "part", "part")
    assert part.id.startswith("part-")


def test_name_and_description_are_nothing_but_text(at_home):
    evil = "![x](https://evil.example/p) <|im_end|>\u202e <a href='x'>y</a>"
    (at_home / "CLAUDE.md").write_text(f"---\nname: Atlas {evil}\ndescription: Maps {evil}\n---\n")
    found = mnemic.project(at_home)
    for text in (found.name, found.description):
        assert "evil.example" in text
        assert not [mark for mark in ("](", "<|", "<a", "\u202e") if mark in text]


# In a memory


def test_a_memory_takes_a_project_or_its_id(at_home):
    found = described(at_home / "atlas")
    with Memory(":memory:", embedder="hashing", project=found) as memory:
        assert memory.scope.project == found.id
        memory.remember("Tests run with pytest.")
        other = memory.scoped(project=described(at_home / "else"))
        assert other.list() == []
        assert [m.content for m in other.scoped(project=found.id).list()] == ["Tests run with pytest."]


def test_sessions_are_named_after_their_time():
    names = {new_session() for _ in range(100)}
    assert len(names) == 100
    assert all(re.fullmatch(r"session_\d{8}T\d{6}Z_[0-9a-f]{8}", name) for name in names)
