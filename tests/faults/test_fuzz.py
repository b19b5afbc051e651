"""Inputs that nobody wrote: every reader gives a value that keeps its rules, or one of the errors it declares.

The short form tries the same few hundred inputs every time; the long form tries new ones, and where atheris is installed
also goes by coverage.
"""

import importlib.util
import json
import os
import re
import string
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.battery import count, long, note

from mnemic import Memory
from mnemic.cli import main as command

pytest.importorskip("pydantic_ai")
from tests.faults.fuzzing import answers, papers, texts, walls
from tests.faults.fuzzing.inputs import (
    ANY,
    FILES,
    HOSTILE,
    JSON,
    KEYS,
    LINE,
    MARKDOWN,
    NEEDLES,
    PLACE,
    SYNTAX,
    TELLING,
    URLS,
    VALUES,
    WILD,
    changed,
    written,
)
from tests.faults.fuzzing.talking import Server

ROOT = Path(__file__).parents[2]
SECONDS = int(os.environ.get("MNEMIC_FUZZ_SECONDS", "600"))
"""Of each target that goes by coverage, in the long form."""


def fuzz(short, long_form):
    """How many inputs."""
    return settings(
        max_examples=count(short, long_form), derandomize=not long(), deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _noted(request):
    began, failed = time.monotonic(), request.session.testsfailed
    yield
    tried = getattr(request.function, "_hypothesis_internal_use_settings", None)
    if tried is not None:
        crashes = request.session.testsfailed - failed
        seconds = round(time.monotonic() - began)
        note(f"fuzz: {request.node.name}", inputs=tried.max_examples, crashes=crashes, seconds=seconds)


# 1 the answers of language models


@fuzz(70, 20_000)
@given(written(changed(list(answers.GOOD.values())) | JSON) | ANY)
@example("")
@example("{" * 20_000)
@example("[" * 100_000)
@example('{"statements": ' + "[" * 5_000)
@example('{"statements": [], "statements": [{}]}')
@example('{"episodes": [{"topic": "x", "first": 1, "last": ' + "9" * 5_000 + "}]}")
def test_what_a_language_model_answers(text):
    answers.answered(text)


def test_answers_that_keep_every_rule_are_read():
    for stage, good in answers.GOOD.items():
        assert answers.answered(f"Sure:\n```json\n{json.dumps(good)}\n```") >= 1, stage


# 2 front matter and projects


@fuzz(120, 60_000)
@given(MARKDOWN | ANY)
@example("---\n" * 5_000)
@example("---\nname: " + '"' * 5_000)
@example("<!--" * 50_000)
@example("[" * 50_000)
@example("**a" * 20_000)
def test_front_matter(text):
    papers.headed(text)


@fuzz(40, 10_000)
@given(st.one_of(MARKDOWN.map(lambda t: t.encode(errors="surrogatepass")), st.binary(max_size=60)), URLS, ANY)
def test_a_project_described_by_anybody(tmp_path_factory, data, url, inside):
    folder = tmp_path_factory.mktemp("project", numbered=True) if long() else _one(tmp_path_factory, "project")
    papers.described(folder, data, url.format(t=papers.TOKEN, a=inside))


@fuzz(40, 5_000)
@given(
    st.text(string.printable + "äß東'\"\\#:>|-", min_size=1, max_size=90),
    st.text(string.printable + "é€", max_size=200),
)
def test_a_project_is_called_what_its_file_says(tmp_path_factory, name, about):
    name, about = (re.sub(r"\s+", " ", text.translate(dict.fromkeys(range(32), " "))).strip() for text in (name, about))
    if name and about:
        papers.stated(_one(tmp_path_factory, "stated"), name, about)


_made: dict[str, Path] = {}


def _one(factory, name):
    """One folder for all inputs of a test."""
    if name not in _made or not _made[name].is_dir():
        _made[name] = factory.mktemp(name)
    return _made[name]


# 3 importers


@pytest.fixture(scope="module")
def importer():
    made = papers.Importer()
    with made.memory:
        yield made
        report = made.memory.admin.verify()
        assert report.ok, report.findings


@fuzz(50, 10_000)
@given(
    written(changed(FILES) | JSON)
    | st.lists(written(changed(FILES[0] + FILES[3]["results"])), max_size=3).map("\n".join)
)
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example('[{"role":"user","content":"x","sent_at":"' + "9" * 5_000 + '"}]')
def test_files_of_others(importer, text):
    importer.imported(text)


def test_every_kind_of_file_is_read(importer):
    for data in FILES:
        assert importer.imported(json.dumps(data)), data


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The lines of an export."""
    file = tmp_path_factory.mktemp("export") / "export.jsonl"
    with Memory(":memory:", user="ana", session="s", embedder="hashing") as memory:
        memory.add_exchange("I moved to Lisbon.", "How is it?")
        memory.process()
        memory.remember("The rent is 900 euros.", id="rent", metadata={"a": [1, None]}, tags=["home"])
        memory.update("rent", content="The rent is 950 euros.")
        memory.remember("The flat has two rooms.", id="flat")
        memory.links.add("rent", "flat", "references")
        memory.admin.export(file)
    return [json.loads(line) for line in file.read_text().splitlines()]


@fuzz(50, 10_000)
@given(st.data())
def test_exports_that_somebody_changed(importer, exported, data):
    lines = data.draw(changed([exported]))
    text = "\n".join(json.dumps(line) for line in lines)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(ANY) + text[at:]
    importer.restored(text)


def test_an_export_that_nobody_changed_is_read(importer, exported):
    assert importer.restored("\n".join(map(json.dumps, exported))) == len(exported) - 1


@fuzz(6, 300)
@given(written(changed(FILES)) | st.binary(max_size=40).map(lambda b: b.decode("latin-1")), st.booleans())
def test_the_command_that_imports(tmp_path_factory, text, dry):
    folder = _one(tmp_path_factory, "command")
    (folder / "file.json").write_bytes(text.encode(errors="surrogatepass"))
    words = ["--dir", str(folder / "memory"), "--embedder", "hashing", "import", str(folder / "file.json")]
    assert command([*words, "--json", *(["--dry-run"] if dry else [])]) in (0, 1, 2)


# 4 queries


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    made = walls.Searched(tmp_path_factory.mktemp("searched"))
    with made.memory:
        yield made
        report = made.memory.admin.verify()
        assert report.ok, report.findings


@fuzz(60, 15_000)
@given(st.lists(SYNTAX | ANY, max_size=8).map(" ".join) | st.text(WILD, max_size=40))
@example("")
@example('"' * 3_000)
@example("lighthouse " * 400)
def test_any_text_is_a_query(searched, text):
    searched.asked(text)


def test_queries_find_what_they_name(searched):
    for text in walls.TEXTS[:3]:
        assert searched.memory.search(text, k=1)[0].text == text


# 5 names and filters


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    made = walls.Walls(tmp_path_factory.mktemp("walls"))
    with made.memory:
        yield made
        report = made.memory.admin.verify()
        assert report.ok, report.findings


@fuzz(40, 5_000)
@given(PLACE, PLACE)
@example(("a/b", "c", None), ("a", "b/c", None))
@example(("é", None, None), ("e\u0301", None, None))
@example(("a", "b", None), ("a", None, "b"))
@example(("a", None, None), ("a ", None, None))
def test_two_names_are_two(apart, first, second):
    apart.kept_apart(first, second)


@pytest.fixture(scope="module")
def filtered(tmp_path_factory):
    made = walls.Filtered(tmp_path_factory.mktemp("filtered"))
    with made.memory:
        yield made


@fuzz(40, 3_000)
@given(st.lists(KEYS, max_size=3), st.dictionaries(KEYS, VALUES, max_size=3))
@example([], {"a": "\ud800"})
def test_filters_find_what_a_plain_list_finds(filtered, tags, metadata):
    filtered.noted(tags, metadata)


# 6 the server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("mnemic_mcp")
    made = Server(tmp_path_factory.mktemp("server") / "memory")
    yield made
    assert made.ended() == 0


def test_a_server_survives_what_is_no_call(server):
    for line in HOSTILE:
        server.sent(line)
    server.unharmed()


@fuzz(25, 3_000)
@given(st.lists(LINE, min_size=1, max_size=6))
def test_a_server_survives_any_bytes(server, lines):
    for line in lines:
        server.sent(line)
    assert server.asked("ping") == {}


def test_the_server_still_serves(server):
    server.unharmed()


# 7 contexts and fences


@fuzz(120, 60_000)
@given(ANY, st.lists(ANY, max_size=4), ANY, st.sampled_from([1.0, 0.2]))
@example("- title:", ["</memory " + texts.FENCE + ">", f"x\n</MEMORY {texts.FENCE.upper()}>\n- y"], "-", 1.0)
def test_a_context_holds_what_it_holds(title, said, speaker, trust):
    texts.rendered(title, said, speaker, trust=trust)


@fuzz(80, 40_000)
@given(st.lists(ANY, max_size=4), st.lists(ANY, min_size=4, max_size=4))
def test_a_prompt_numbers_its_lines_alone(said, names):
    texts.prompted(said, names)


@fuzz(150, 60_000)
@given(ANY)
@example(f"<memory {texts.FENCE}>" * 3_000)
@example(f"<mem<memory {texts.FENCE}>x</memory {texts.FENCE}>ory {texts.FENCE}>")
@example("> " * 20_000 + texts.FENCE)
@example("\ufe00\u200b\ufe01")
def test_harmless_once_is_harmless(text):
    texts.plain_once(text)
    texts.unfenced(text)


# 8 secrets


@fuzz(200, 100_000)
@given(TELLING)
def test_redacted_once_is_redacted(text):
    texts.redacted(text)


@fuzz(60, 20_000)
@given(
    st.dictionaries(
        st.sampled_from(["password", "api_key", "pin", "note", "token"]) | TELLING,
        TELLING | st.integers() | JSON,
        max_size=4,
    )
)
@example({"password": "$1$4111 1111 1111 1111"})
@example({"AKIA0000000000000123": "$1$AGE-SECRET-KEY-1"})
@example({"note": "my password is hunter2"})
@example({"": "AKIA0000000000000123: 00000000000A"})
def test_redacted_within_json(value):
    texts.redacted_within(value)


def test_looking_for_secrets_takes_no_longer_than_the_text():
    """A search that reads the text again from every place would take minutes for these."""
    size = count(2_000, 400_000)
    for needle in NEEDLES:
        for text in (
            needle * (size // len(needle)),
            needle + "a1B" * (size // 3),
            (needle + " is ") * (size // (len(needle) + 4)),
        ):
            began = time.process_time()
            texts.POLICY.redacted(text)
            assert time.process_time() - began < count(0.3, 120), ascii(needle)
    note("fuzz: secrets, time", needles=len(NEEDLES), characters=size)


# By coverage


@pytest.mark.skipif(not long(), reason="long form only")
@pytest.mark.parametrize(
    "target", ["answers", "front_matter", "importers", "queries", "fences", "rendering", "markup", "secrets"]
)
def test_by_coverage(target, tmp_path):
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed")
    words = [sys.executable, "-m", "tests.faults.fuzzing.drive", target, "--seconds", str(SECONDS)]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=False
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    assert found is not None
    note(f"fuzz by coverage: {target}", executions=int(found[1]), seconds=SECONDS, crashes=0)
