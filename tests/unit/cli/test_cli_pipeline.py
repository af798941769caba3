"""`moldau pipeline` as it is typed: what needs no JVM."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from moldau.cli.main import main

pytest.importorskip("yaml")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_then_validate_then_plan(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "new", "orders.yaml"]) == 0
    assert main(["pipeline", "validate", "orders.yaml"]) == 0
    assert capsys.readouterr().out == "orders.yaml is a valid pipeline: 2 sources, 5 steps, 3 sinks.\n"
    assert main(["pipeline", "plan", "orders.yaml"]) == 0
    assert "└─ parsed" in capsys.readouterr().out
    assert main(["pipeline", "plan", "orders.yaml", "--svg", "plan.svg"]) == 0
    assert ElementTree.parse(here / "plan.svg").getroot().tag.endswith("svg")


def test_new_overwrites_nothing_unless_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "orders.py").write_text("mine")
    assert main(["pipeline", "new", "orders.py"]) == 1
    assert "orders.py is there already" in capsys.readouterr().err
    assert (here / "orders.py").read_text() == "mine"
    assert main(["pipeline", "new", "orders.py", "--force"]) == 0
    assert main(["pipeline", "validate", "orders.py"]) == 0


def test_new_wants_an_ending_it_knows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "new", "orders"]) == 1
    assert "should end in .yaml" in capsys.readouterr().err


def test_validate_lists_every_problem_with_its_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pipeline", "new", "orders.yaml"])
    text = (here / "orders.yaml").read_text()
    (here / "orders.yaml").write_text(
        text.replace("deduplicate: id", "dedupliacte: id").replace("mode: update", "mode: up")
    )
    line = text[: text.index("deduplicate: id")].count("\n") + 1
    capsys.readouterr()
    assert main(["pipeline", "validate", "orders.yaml"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith(
        f"orders.yaml:{line}: step `unique` does not say what it is; did you mean `deduplicate`?"
    )
    assert shown.err == "2 problems.\n"
    assert main(["pipeline", "validate", "orders.yaml", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is False
    assert found["problems"][0]["line"] == line


def test_run_refuses_a_broken_file_in_one_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark")
    (here / "bad.yaml").write_text("pipeline: p\nsources: {a: {rate: 1}}\nsinks: {o: {from: b, console: 1}}\n")
    assert main(["pipeline", "run", "bad.yaml"]) == 1
    assert "bad.yaml:3: sink `o` reads `b`, which is not there" in capsys.readouterr().err


def test_a_file_that_is_not_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "plan", "none.yaml"]) == 1
    assert capsys.readouterr().err == "moldau: none.yaml: No such file or directory.\n"


def test_status_before_the_first_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pipeline", "new", "orders.yaml"])
    assert main(["pipeline", "status", "orders.yaml"]) == 1
    assert "orders has not run yet" in capsys.readouterr().err


def write_status(here: Path, state: str, pid: int) -> None:
    query = {
        "query": "revenue",
        "state": "running",
        "batch": 7,
        "rows": 1234,
        "rows_per_second": 99.6,
        "batch_seconds": 0.31,
        "state_rows": 12,
        "state_bytes": 2048,
        "late_rows": 0,
        "watermark": "2026-05-04T08:00:00.000Z",
        "lag": 0,
        "positions": {},
    }
    status = {
        "pipeline": "orders",
        "file": "orders.yaml",
        "checkpoint": "c",
        "state": state,
        "master": "local[*]",
        "pid": pid,
        "host": socket.gethostname(),
        "started": 1_777_777_777.0,
        "updated": 1_777_777_778.0,
        "restarts": 2,
        "error": None,
        "bootstrap": "127.0.0.1:1",
        "queries": [query],
    }
    (here / "checkpoints").mkdir(exist_ok=True)
    (here / "checkpoints" / "orders.status.json").write_text(json.dumps(status))


def test_status_of_a_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pipeline", "new", "orders.yaml"])
    write_status(here, "running", os.getpid())
    assert main(["pipeline", "status", "orders.yaml"]) == 0
    head, names, row = capsys.readouterr().out.splitlines()
    assert head.startswith(f"orders is running (process {os.getpid()} on ")
    assert head.endswith("restarted 2 times.")
    assert names.split()[:4] == ["SINK", "STATE", "BATCH", "ROWS"]
    assert row.split()[:4] == ["revenue", "running", "7", "1234"]


def test_a_run_that_was_killed_is_found_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pipeline", "new", "orders.yaml"])
    write_status(here, "running", 2**22 + 1)  # above the largest process id there can be
    assert main(["pipeline", "status", "orders.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["killed"] is True


def test_without_spark_one_sentence_says_what_to_install(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["pipeline", "new", "orders.yaml"])
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert main(["pipeline", "validate", "orders.yaml"]) == 0
    assert main(["pipeline", "run", "orders.yaml"]) == 1
    assert capsys.readouterr().err == (
        'moldau: This needs Spark, which is not installed: pip install "moldau[spark]".\n'
    )
