"""Models from the hub: single files as its client keeps them, or all of a model in our cache, at one revision for good."""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mnemic import paths
from mnemic.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["hub_files", "hub_folder", "kept_folder"]

TIMEOUT = 5.0  # seconds to wait for the hub's first answer

REVISIONS = "revisions.json"
WANTED = re.compile(
    r"(onnx/)?(model\.onnx([._]data)?|tokenizer\.json)"
    r"|(config|config_sentence_transformers|modules|sentence_bert_config|tokenizer_config)\.json|\d_Pooling/config\.json"
)
"""Of a repository, what belongs to its ONNX model: not the same weights in five other formats."""

WAYS_OUT = """Any one of these helps:
- check the name; the repository must hold onnx/model.onnx or model.onnx, and tokenizer.json
- load it once with a network connection to the model hub, without offline=True and without HF_HUB_OFFLINE: it is kept
- a folder with model.onnx and tokenizer.json, copied from another machine: give its path instead of the name"""


def hub_folder(name: str, *, offline: bool, progress: bool | None) -> Path:
    """The folder of a model, downloaded into our cache once.

    The commit that a branch or tag stood for then is written down and kept: the same name gives the same vectors until the
    folder is removed from the cache.

    Args:
        name: ``owner/name``, or ``owner/name@revision`` with a branch, tag or commit.
        offline: never touch the network.
        progress: show a bar while downloading; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: it is not in the cache, and the hub is not asked, does not answer or has no ONNX model there.
    """
    if (folder := kept_folder(name)) is not None:
        return folder
    repository, revision, home = _place(name)
    if offline:
        reason = "the model hub is not asked (offline), and it is not in the cache"
        raise EmbedderUnavailable(f"The model {name} cannot be had: {reason} folder {home}.\n{WAYS_OUT}")
    known = _revisions(home)
    try:
        commit = _fetched(repository, known.get(revision, revision), home, progress=progress)
        _note(home, {**known, revision: commit})
    except Exception as error:  # the hub client raises its own errors, its HTTP client's and those of the system
        reason = f"{type(error).__name__}: {str(error).strip()}"
        raise EmbedderUnavailable(f"The model {name} cannot be had. {reason}\n{WAYS_OUT}") from error
    return home / commit


def kept_folder(name: str) -> Path | None:
    """The folder of a model that was downloaded whole, or None."""
    _, revision, home = _place(name)
    commit = _revisions(home).get(revision)
    if commit is None or not _has_model({path.relative_to(home / commit).as_posix() for path in _files(home / commit)}):
        return None
    return home / commit


def _place(name: str) -> tuple[str, str, Path]:
    """Repository, revision, and where both are kept."""
    repository, _, revision = name.partition("@")
    return repository, revision or "main", paths.cache_dir("models", "hub", repository.replace("/", "--"))


def _fetched(repository: str, revision: str, home: Path, *, progress: bool | None) -> str:
    """Download a model into the folder of its commit, and name that."""
    client = _client()
    info = client.HfApi().model_info(repository, revision=revision, timeout=TIMEOUT)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = [one.rfilename for one in info.siblings if WANTED.fullmatch(one.rfilename)]
    if not _has_model(names):
        raise EmbedderUnavailable("The repository holds no ONNX model with a tokeniser.")
    if {"model.onnx", "tokenizer.json"} <= {*names}:
        names = [one for one in names if not one.startswith("onnx/")]
    for one in sorted(names):
        client.hf_hub_download(
            repository,
            one,
            revision=info.sha,
            local_dir=home / info.sha,
            etag_timeout=TIMEOUT,
            **_bar_option(progress=progress),
        )
    return info.sha


def _has_model(names: Collection[str]) -> bool:
    return any(
        {below + "model.onnx"} <= {*names} and {"tokenizer.json", below + "tokenizer.json"} & {*names}
        for below in ("", "onnx/")
    )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.relative_to(folder).parts]


def _revisions(home: Path) -> dict[str, str]:
    """The commits that revisions stood for when they were downloaded whole."""
    try:
        return dict(json.loads((home / REVISIONS).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _note(home: Path, revisions: dict[str, str]) -> None:
    part = home / f"{REVISIONS}.{uuid4().hex}.part"
    part.write_text(json.dumps(revisions, indent=2), "utf-8")
    part.replace(home / REVISIONS)


def hub_files(repository: str, names: Sequence[str], *, offline: bool, progress: bool | None) -> list[Path]:
    """Files of a repository: the copies that an earlier download left on this machine, else over the network.

    Args:
        repository: owner and name.
        names: files in it.
        offline: never touch the network.
        progress: show a bar while downloading; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: there is no copy, and the hub is not asked or does not answer.
    """
    try:
        return _downloaded(repository, names, progress=progress, local_files_only=True)
    except Exception as error:  # the hub client raises its own errors, its HTTP client's and those of the system
        if offline:
            raise EmbedderUnavailable("the model hub is not asked (offline), and no copy of it is here") from error
    try:
        _knock(repository, names[-1])
        return _downloaded(repository, names, progress=progress, etag_timeout=TIMEOUT)
    except Exception as error:
        raise EmbedderUnavailable(f"the model hub cannot be reached ({type(error).__name__}: {error})") from error


def _knock(repository: str, name: str) -> None:
    """Ask for the metadata of one file: without a network this fails at once, while a download tries for long."""
    hub = _client()
    hub.get_hf_file_metadata(hub.hf_hub_url(repository, name), timeout=TIMEOUT)


def _downloaded(repository: str, names: Sequence[str], *, progress: bool | None, **options: Any) -> list[Path]:
    return [
        Path(_client().hf_hub_download(repository, name, **options, **_bar_option(progress=progress))) for name in names
    ]


def _bar_option(*, progress: bool | None) -> dict[str, Any]:
    """The option of a download that says whether its bar is shown."""
    if progress is None or "tqdm_class" not in inspect.signature(_client().hf_hub_download).parameters:
        return {}
    return {"tqdm_class": _bar(shown=progress)}


def _bar(*, shown: bool) -> Any:
    from tqdm import tqdm

    base: Any = tqdm

    class Bar(base):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)  # an argument of the hub's own bar only
            base.__init__(self, *args, **{**kwargs, "disable": not shown})

    return Bar


def _client() -> Any:
    return import_module("huggingface_hub")  # half of its types are unknown to type checkers
