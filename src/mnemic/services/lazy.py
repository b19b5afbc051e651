"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec


def lazy_names(package: str, module_of: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that loads its names and modules when they are first used.

    Args:
        package: its ``__name__``.
        module_of: the module of each name; one that begins with a dot is within the package.
    """

    def get(name: str) -> object:
        if name not in module_of:
            if not name.startswith("_") and find_spec(f"{package}.{name}"):
                return import_module(f"{package}.{name}")
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*module_of, *vars(sys.modules[package])})
