"""Which Python Spark is told to run, and what is refused before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from moldau.spark.options import OptionError
from moldau.spark.progress import offsets_behind, readable_progress
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


QUICK = """
import os
from moldau.spark.interpreter import start_quickly
start_quickly()
print(os.environ["PYSPARK_PYTHON"])
"""


def started(tmp_path: Path, **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_PYTHON", "SPARK_HOME")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "a cache"), **more}
    done = subprocess.run([sys.executable, "-c", QUICK], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_processes_of_a_local_session_import_what_is_compiled(tmp_path: Path) -> None:
    """Spark puts archives in front of the path, out of which every process would compile PySpark again."""
    python = started(tmp_path)
    # As Spark finds it, which follows links: an environment may be one.
    archives = Path(_find_spark_home()) / "python" / "lib"
    (tmp_path / "mine").mkdir()
    path = ":".join([str(archives / "pyspark.zip"), *map(str, archives.glob("py4j*.zip")), str(tmp_path / "mine")])
    word = "import pyspark, py4j, sys, os; print(pyspark.__file__, py4j.__file__, sys.argv, os.environ['PYTHONPATH'])"
    seen = {}
    for each in (sys.executable, python):
        done = subprocess.run(
            [each, "-c", word, "a:b c"], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        seen[each] = done.stdout.strip()
    assert "pyspark.zip" in seen[sys.executable]
    assert ".zip" not in seen[python]
    assert seen[python].endswith(f"['-c', 'a:b c'] {tmp_path / 'mine'}")


def test_a_python_that_was_chosen_and_a_spark_elsewhere_are_left_alone(tmp_path: Path) -> None:
    assert started(tmp_path, PYSPARK_PYTHON="mine") == "mine"
    assert started(tmp_path, SPARK_HOME=str(tmp_path)) == sys.executable


def test_the_driver_side_of_a_stream_imports_little() -> None:
    """Spark starts a process for it with every query, and the query waits."""
    word = "import sys, moldau.spark.source.stream; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", word], capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert "moldau.client.admin.offsets" in found
    for heavy in ("messages.fetch", "messages.offset_commit", "messages.create_topics", "records"):
        assert f"moldau.protocol.{heavy}" not in found
    assert not {"zstandard", "cramjam", "lz4"} & found


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
        "endOffset": '{"a": {"0": 7, "1": 2}, "@topic a x": {}, "@topics": {"a": "x"}, "@start": {"a": {"0": 0}}}',
        "latestOffset": '{"a": {"0": 10, "1": 2, "2": 6}}',
    }
    other = {"endOffset": '{"logOffset": 3}', "latestOffset": None}
    assert offsets_behind({"sources": [topics, other]}) == [
        {"avgOffsetsBehindLatest": 3.0, "maxOffsetsBehindLatest": 6, "minOffsetsBehindLatest": 0}
    ]


def test_a_progress_as_people_read_it() -> None:
    topics = {
        "description": "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream@7e762f57",
        "startOffset": {"a": {"0": 5}, "@query 5f0c8a12": {}, "@start a 0:5": {}},
        "endOffset": {"a": {"0": 7}, "b": {"0": 1}, "@query 5f0c8a12": {}, "@topic a x": {}},
        "latestOffset": '{"a": {"0": 10}, "b": {"0": 1}}',
        "numInputRows": 3,
    }
    files = {"description": "FileStreamSource[/in]", "startOffset": None, "endOffset": {"logOffset": 3}}
    connector = {"description": "KafkaV2[Subscribe[a]]", "startOffset": None, "endOffset": '{"a": {"0": 7}}'}
    assert readable_progress({"name": "q", "sources": [topics, files, connector]}) == {
        "name": "q",
        "sources": [
            {
                "description": "moldau[a, b; query 5f0c8a12]",
                "startOffset": {"a": {"0": 5}},
                "endOffset": {"a": {"0": 7}, "b": {"0": 1}},
                "latestOffset": {"a": {"0": 10}, "b": {"0": 1}},
                "numInputRows": 3,
                "metrics": {
                    "avgOffsetsBehindLatest": "1.5",
                    "maxOffsetsBehindLatest": "3",
                    "minOffsetsBehindLatest": "0",
                },
            },
            files,
            {**connector, "endOffset": {"a": {"0": 7}}, "metrics": {}},
        ],
    }
