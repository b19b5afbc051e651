"""Suite for the package of an integration: its names, what importing it costs, and the example of its README.

Subclass ``PackageSuite`` and say what the example leaves behind::

    class TestPackage(PackageSuite):
        package, heavy, readme = "my_mnemic", ("my_framework", "numpy"), Path(__file__).parents[1] / "README.md"

        def check(self, names):
            assert names["memory"].messages()
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest

__all__ = ["PackageSuite"]

_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


class PackageSuite:
    """What a package promises: sorted names that exist, an import that loads nothing heavy, and a README whose example runs.

    Attributes:
        package: the name under which it is imported.
        heavy: modules that importing it must not load.
        readme: its README, with one block of Python that opens ``Memory("./memory")`` as ``memory``.
    """

    package: ClassVar[str]
    heavy: ClassVar[tuple[str, ...]]
    readme: ClassVar[Path]

    def check(self, names: Mapping[str, Any]) -> None:
        """Check what the example of the README left, by the names it defined; the memory is open."""
        raise NotImplementedError

    def offline(self, block: str) -> str:
        """The example as it runs offline."""
        return block.replace('"./memory"', '"./memory", embedder="hashing"')

    @pytest.fixture
    def given(self) -> dict[str, Any]:
        """Names that the example takes as given."""
        return {}

    def test_names_are_sorted_and_there(self) -> None:
        module = import_module(self.package)
        assert module.__all__ == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
        assert {*module.__all__} <= {*dir(module)}
        with pytest.raises(AttributeError, match="MnemicNothing"):
            _ = module.MnemicNothing

    def test_importing_loads_nothing_heavy(self) -> None:
        code = f"import sys, {self.package}; print([name for name in {self.heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_the_example_of_the_readme_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (block,) = _BLOCK.findall(self.readme.read_text(encoding="utf-8"))
        offline = self.offline(block)
        assert offline != block
        (tmp_path / "example.py").write_text(offline, encoding="utf-8")
        names = runpy.run_path("example.py", init_globals=given)
        self.check(names)
        names["memory"].close()
