"""Which Python Spark is told to run, and what is refused before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.spark.options import OptionError
from moldau.spark.progress import offsets_behind
from moldau.spark.source.settings import check_options

WORD = "import os, moldau.spark; print(os.environ.get('PYSPARK_PYTHON'))"


def told(path: str, **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [sys.executable, "-c", WORD],
        env={**environment, "PATH": path, **more},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_package_is_found_without_activating_its_environment(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to("/bin/true")
    assert told(str(tmp_path)) == sys.executable
    assert told("/nowhere") == sys.executable
    assert told(str(tmp_path), PYSPARK_PYTHON="mine") == "mine"
    assert told(str(Path(sys.executable).parent)) == "None"


def test_options_are_checked_when_a_frame_is_loaded() -> None:
    given = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "rivers"}
    assert "value" in check_options(given).fieldNames()
    check_options({**given, "maxOffsetsPerTrigger": "5"})  # only a stream can have it
    check_options({**given, "endingOffsets": "latest"})  # only a batch
    for wrong, sentence in (
        ({"subscribee": "x"}, "There is no option subscribee; is subscribe meant?"),
        ({"topic": "x"}, "The option topic has no meaning here"),
        ({"failOnDataLoss": "perhaps"}, "it must be true or false"),
        ({"maxOffsetsPerTrigger": "5", "endingOffsets": "latest"}, "For a batch: "),
    ):
        with pytest.raises(OptionError, match=sentence):
            check_options({**given, **wrong})


def test_how_far_a_stream_is_behind() -> None:
    topics = {
        "endOffset": '{"a": {"0": 7, "1": 2}, "@topics": {"a": "x"}, "@start": {"a": {"0": 0}}}',
        "latestOffset": '{"a": {"0": 10, "1": 2, "2": 6}}',
    }
    other = {"endOffset": '{"logOffset": 3}', "latestOffset": None}
    assert offsets_behind({"sources": [topics, other]}) == [
        {"avgOffsetsBehindLatest": 3.0, "maxOffsetsBehindLatest": 6, "minOffsetsBehindLatest": 0}
    ]
