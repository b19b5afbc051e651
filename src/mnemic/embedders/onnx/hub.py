"""Files from the model hub."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["hub_files"]

TIMEOUT = 5.0  # seconds to wait for the hub's first answer


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
    download = _client().hf_hub_download
    if progress is not None and "tqdm_class" in inspect.signature(download).parameters:
        options["tqdm_class"] = _bar(shown=progress)
    return [Path(download(repository, name, **options)) for name in names]


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
