"""Files of ONNX models: a folder with one and its settings, and what the hub has.

Single files are in the cache of the hub's client, a whole model is in ours, pinned to one commit.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from dataclasses import dataclass
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from mnemic import paths
from mnemic.errors import ConfigurationError, EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MODELS = ("model.onnx", "onnx/model.onnx")
TOKENIZERS = ("tokenizer.json", "onnx/tokenizer.json")
USUAL, DEAREST = 256, 512
"""Default maximum number of tokens if a folder has no limit, and the cap if it has one: the cost of tokens grows faster than
their number."""

_HUB_NAME = re.compile(r"[\w][\w.-]*/[\w][\w.-]*(?:@[\w][\w./-]*)?")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model and its tokenizer.

    Attributes:
        path: the folder.
        model: the ONNX file.
        tokenizer: the file of the tokenizer.
    """

    path: Path
    model: Path
    tokenizer: Path

    @classmethod
    def at(cls, path: Path) -> ModelFolder:
        """The model in a folder: ``model.onnx`` or ``onnx/model.onnx``, and ``tokenizer.json``.

        Raises:
            EmbedderUnavailable: a file is missing.
        """
        model, tokenizer = _first_file(path, MODELS), _first_file(path, TOKENIZERS)
        if model is None or tokenizer is None:
            raise EmbedderUnavailable(
                f"There is no ONNX model in {path}. It must hold model.onnx or onnx/model.onnx, and tokenizer.json. "
                "Correct the path, or leave it out to use the default model."
            )
        return cls(path, model, tokenizer)

    def settings(self, name: str) -> Mapping[str, Any]:
        """The object in a JSON file of the folder; empty if there is no file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        found = self.read(name)
        if not isinstance(found, dict):
            raise ConfigurationError(f"{self.path / name} is not a JSON object. Restore it, or remove it.")
        return cast("dict[str, Any]", found)

    def read(self, name: str) -> object:
        """The content of a JSON file of the folder; an empty object if there is no file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        path = self.path / name
        if not path.is_file():
            return {}
        try:
            return json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{path} cannot be read: {error}. Restore it, or remove it.") from error

    def max_tokens(self) -> int:
        """The model's limit of tokens, at most 512; 256 if its files have none."""
        limits = (
            self.settings("sentence_bert_config.json").get("max_seq_length"),
            self.settings("tokenizer_config.json").get("model_max_length"),
            self.settings("config.json").get("max_position_embeddings"),
        )
        known = next((int(limit) for limit in limits if isinstance(limit, (int, float)) and limit > 0), USUAL)
        return min(known, DEAREST)


def model_folder(source: str | PathLike[str], *, offline: bool, progress: bool | None) -> ModelFolder:
    """The model in a folder or on the hub.

    Args:
        source: a folder, or ``owner/name`` or ``owner/name@revision`` on the hub; an existing folder takes precedence.
        offline: never touch the network.
        progress: show a progress bar for downloads; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: it is not available; the message lists the alternatives.
    """
    if is_hub_name(source):
        return ModelFolder.at(hub_folder(fspath(source), offline=offline or paths.hub_offline(), progress=progress))
    return ModelFolder.at(Path(source).expanduser())


def is_hub_name(source: str | PathLike[str]) -> bool:
    """Whether this is a name on the hub, and not an existing folder."""
    return isinstance(source, str) and bool(_HUB_NAME.fullmatch(source)) and not is_folder(source)


def is_folder(source: str | PathLike[str]) -> bool:
    """Whether a folder with this non-empty path exists."""
    try:
        return bool(fspath(source)) and Path(source).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):  # an invalid path, or ~ of an unknown user
        return False


def _first_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def sha256(path: Path) -> str:
    """The SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of(text: str) -> str:
    """The SHA-256 of a text as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


HUB_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
HUB_FILES = ("onnx/model.onnx", "tokenizer.json")
TIMEOUT = 5.0  # seconds to wait for the hub's first answer

REVISIONS = "revisions.json"
WANTED = re.compile(
    r"(onnx/)?(model\.onnx([._]data)?|tokenizer\.json)"
    r"|(config|config_sentence_transformers|modules|sentence_bert_config|tokenizer_config)\.json|\d_Pooling/config\.json"
)
"""The files of an ONNX model in a repository, without the same weights in other formats."""

WAYS_OUT = """Any one of these helps:
- check the name; the repository must hold onnx/model.onnx or model.onnx, and tokenizer.json
- load it once with a network connection to the model hub, without offline=True and HF_HUB_OFFLINE: then it is cached
- a folder with model.onnx and tokenizer.json, copied from another machine: pass its path instead of the name"""


def hub_folder(name: str, *, offline: bool, progress: bool | None) -> Path:
    """The folder of a model, downloaded into our cache once.

    The commit of a branch or tag at that time is stored: the same name gives the same vectors until the folder is removed
    from the cache.

    Args:
        name: ``owner/name``, or ``owner/name@revision`` with a branch, tag or commit.
        offline: never touch the network.
        progress: show a progress bar for downloads; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: it is not in the cache, and the hub is offline, unreachable or has no ONNX model of this name.
    """
    if (folder := cached_folder(name)) is not None:
        return folder
    repository, revision, home = _place(name)
    if offline:
        reason = "offline mode forbids the model hub, and it is not in the cache"
        raise EmbedderUnavailable(f"The model {name} is not available: {reason} folder {home}.\n{WAYS_OUT}")
    known = _revisions(home)
    try:
        commit = _fetch(repository, known.get(revision, revision), home, progress=progress)
        _save_revisions(home, {**known, revision: commit})
    except Exception as error:  # errors of the hub client, its HTTP client and the system
        reason = f"{type(error).__name__}: {str(error).strip()}"
        raise EmbedderUnavailable(f"The model {name} is not available. {reason}\n{WAYS_OUT}") from error
    return home / commit


def cached_folder(name: str) -> Path | None:
    """The folder of a completely downloaded model, or None."""
    _, revision, home = _place(name)
    commit = _revisions(home).get(revision)
    if commit is None or not _has_model({path.relative_to(home / commit).as_posix() for path in _files(home / commit)}):
        return None
    return home / commit


def _place(name: str) -> tuple[str, str, Path]:
    """Repository, revision and cache folder of a name."""
    repository, _, revision = name.partition("@")
    return repository, revision or "main", paths.cache_dir("models", "hub", repository.replace("/", "--"))


def _fetch(repository: str, revision: str, home: Path, *, progress: bool | None) -> str:
    """Download a model into the folder of its commit; returns the commit."""
    client = _client()
    info = client.HfApi().model_info(repository, revision=revision, timeout=TIMEOUT)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = [one.rfilename for one in info.siblings if WANTED.fullmatch(one.rfilename)]
    if not _has_model(names):
        raise EmbedderUnavailable("The repository has no ONNX model with a tokenizer.")
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
    """The commits of completely downloaded revisions."""
    try:
        return dict(json.loads((home / REVISIONS).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _save_revisions(home: Path, revisions: dict[str, str]) -> None:
    part = home / f"{REVISIONS}.{uuid4().hex}.part"
    part.write_text(json.dumps(revisions, indent=2), "utf-8")
    part.replace(home / REVISIONS)


def hub_files(*, offline: bool, progress: bool | None) -> list[Path]:
    """The default model and its tokenizer: copies of an earlier download on this machine, else over the network.

    Args:
        offline: never touch the network.
        progress: show a progress bar for downloads; None shows it on a terminal.

    Raises:
        EmbedderUnavailable: there is no copy, and the hub is offline or unreachable.
    """
    try:
        return _download(progress=progress, local_files_only=True)
    except Exception as error:  # errors of the hub client, its HTTP client and the system
        if offline:
            raise EmbedderUnavailable(
                "offline mode forbids the model hub, and there is no copy on this machine"
            ) from error
    try:
        _probe()
        return _download(progress=progress, etag_timeout=TIMEOUT)
    except Exception as error:
        raise EmbedderUnavailable(f"the model hub cannot be reached ({type(error).__name__}: {error})") from error


def _probe() -> None:
    """Request the metadata of one file: without a network this fails at once, while a download retries for long."""
    hub = _client()
    hub.get_hf_file_metadata(hub.hf_hub_url(HUB_REPOSITORY, HUB_FILES[-1]), timeout=TIMEOUT)


def _download(*, progress: bool | None, **options: Any) -> list[Path]:
    options |= _bar_option(progress=progress)
    return [Path(_client().hf_hub_download(HUB_REPOSITORY, name, **options)) for name in HUB_FILES]


def _bar_option(*, progress: bool | None) -> dict[str, Any]:
    """The download option for the progress bar."""
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
    return import_module("huggingface_hub")  # partially typed
