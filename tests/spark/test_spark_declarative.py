"""Spark's own declarative pipelines read and write topics: the project in docs/spark/examples, run by its command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moldau import KafkaConsumer, KafkaProducer
from moldau.spark import prepare_java
from moldau.testing import Cluster
from whole_topics import read_to_the_end

pytest.importorskip("grpc", reason="spark-pipelines needs pyspark[pipelines]")

_EXAMPLE = Path(__file__).parents[2] / "docs" / "spark" / "examples" / "declarative"


@pytest.mark.long
def test_the_example_runs_with_spark_pipelines(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(_EXAMPLE, project)
    specification = project / "spark-pipeline.yml"
    storage = tmp_path / "storage"
    storage.mkdir()
    specification.write_text(specification.read_text().replace("/tmp/moldau-declarative", str(storage)))
    with Cluster() as cluster:
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for number in range(100):
                order = {"id": str(number), "region": "north", "amount": number * 2.0}
                producer.send("orders", json.dumps(order).encode())
        _run(project, cluster.bootstrap_servers)
        with KafkaConsumer(
            "large-orders",
            bootstrap_servers=cluster.bootstrap_servers,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer:
            found = sorted(int(record.key) for record in read_to_the_end(consumer))
    assert found == list(range(50, 100))


def _run(project: Path, bootstrap: str) -> None:
    prepare_java()
    environment = {
        **os.environ,
        "BOOTSTRAP": bootstrap,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [str(Path(sys.executable).with_name("spark-pipelines")), "run"]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
