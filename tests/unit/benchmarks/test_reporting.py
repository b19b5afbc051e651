import json

import pytest
from benchmarks import reporting


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["--data", "/home/ana/data/half.json", "--rows", "10,20"], "python -m m --data half.json --rows 10,20"),
        (["--json=/home/ana/out.json", "--tenant"], "python -m m --json=out.json --tenant"),
        (["--data", "two words.json"], "python -m m --data 'two words.json'"),
    ],
)
def test_the_command_can_be_repeated_and_holds_no_folder(given, line):
    assert reporting.command("m", given) == line


def test_a_result_holds_what_it_depends_on(tmp_path):
    result = reporting.document(
        "speed.store",
        ["--rows", "10"],
        data={"file": "x"},
        definitions={"a": "b"},
        figures={"é": 1.0},
        machine={"cores": 2},
    )
    assert result["command"] == "python -m benchmarks.speed.store --rows 10"
    assert {"mnemic", "numpy", "onnxruntime", "python", "sqlite"} <= set(result["versions"])
    reporting.written(result, tmp_path / "new" / "r.json")
    text = (tmp_path / "new" / "r.json").read_text(encoding="utf-8")
    assert json.loads(text) == result
    assert "é" in text


def test_the_hash_is_of_the_bytes(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    assert reporting.sha256(tmp_path / "f").startswith("ba7816bf")


def test_tables_align(capsys):
    reporting.print_table("times", ("engine", "ms"), [("a", 1234.5), ("script", 0.1234), ("none", None)])
    assert capsys.readouterr().out.splitlines() == [
        "", "times", "engine     ms", "------  -----", "a        1234", "script  0.123", "none         ",
    ]  # fmt: skip
