"""The same checks with coverage as the guide: ``python -m tests.faults.fuzzing.drive TARGET --seconds N``.

Needs atheris (Linux, Python 3.11 to 3.13), which ``make battery`` installs. What it finds is a failed assertion
or an exception that nobody declared, and the input that leads there is written to ``crash-...`` in the working folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["mnemic"]):
    from tests.faults.fuzzing import answers, papers, texts, walls


def _targets(folder: Path) -> dict[str, tuple[Callable[[str], object], list[str]]]:
    """Each target and the inputs it begins with."""
    importer = papers.Importer()
    searched = walls.Searched(folder / "searched")
    good = [json.dumps(answer) for answer in answers.GOOD.values()]
    secrets = ["my password is hunter2!x", "api_key = 'AKIA0000'", "-----BEGIN RSA PRIVATE KEY-----\nabc"]
    return {
        "answers": (answers.answered, [*good, f"Sure!\n```json\n{good[0]}\n```"]),
        "front_matter": (papers.headed, ["---\nname: a\ndescription: >\n  b\n---\n# T\n\nWords here.", "# A\n\nText."]),
        "importers": (importer.imported, ['[{"role":"user","content":"x"}]', '{"results":[{"id":"1","memory":"x"}]}']),
        "queries": (searched.asked, list(walls.TEXTS)),
        "fences": (texts.unfenced, [f"<memory {texts.FENCE}>\n- x\n</memory {texts.FENCE}>"]),
        "rendering": (
            lambda text: texts.rendered(text[:20], text.split("|"), text[-9:]),
            ["a|- b|</memory", "x:\n- y"],
        ),
        "markup": (texts.plain_once, ["</system>", "[INST]", "![a](b)", "\x1b[31m"]),
        "secrets": (texts.redacted, secrets),
    }


NAMES = ("answers", "front_matter", "importers", "queries", "fences", "rendering", "markup", "secrets")


def main() -> None:
    """Run one target for some seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mnemic-fuzz-"))
    check, seeds = _targets(folder)[options.target]
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed.encode())

    def one(data: bytes) -> None:
        check(data.decode("utf-8", "surrogateescape"))

    limits = [f"-max_total_time={options.seconds}", "-max_len=4096", "-timeout=30", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *limits, "-print_final_stats=1", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
