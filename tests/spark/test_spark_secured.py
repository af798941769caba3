"""Spark at a secured cluster, made by one command: logins over TLS, and rules, in driver and tasks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moldau.admin import KafkaAdminClient, NewTopic
from moldau.client.properties import security_options
from moldau.config.properties import decode_properties
from moldau.spark.pipeline import load, start
from moldau.spark.pipeline.lag import current_lag
from moldau.spark.pipeline.status import Status

MOLDAU = str(Path(sys.executable).with_name("moldau"))


@dataclass
class Secured:
    bootstrap: str
    directory: Path

    def properties(self, user: str) -> dict[str, str]:
        return decode_properties((self.directory / f"{user}.properties").read_bytes())

    def options(self, user: str = "admin") -> dict[str, str]:
        """What Spark is told: the file of the user, word for word."""
        return {f"kafka.{name}": value for name, value in self.properties(user).items()}

    def password(self, user: str) -> str:
        return (self.directory / f"{user}.password").read_text().strip()

    def allow(self, user: str, *rule: str) -> None:
        file = str(self.directory / "admin.properties")
        words = [MOLDAU, "acls", "add", "--user", user, *rule, "--config", file]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    data = tmp_path_factory.mktemp("secured")
    small = [f"--set={name}.num.partitions=2" for name in ("offsets.topic", "transaction.state.log")]
    words = [MOLDAU, "cluster", "start", "--secure", "--nodes", "1", "--port", "0", "--data", str(data), *small]
    told = data / "told"
    with told.open("wb") as complaints:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=complaints, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready "), told.read_text()
    yield Secured(line.removeprefix("ready ").strip(), data / "security")
    process.terminate()
    process.communicate(timeout=60)


def values(spark: Any, options: dict[str, str], topic: str) -> list[str]:
    frame = spark.read.format("moldau").options(**options).option("subscribe", topic)
    committed = frame.option("kafka.isolation.level", "read_committed").load()
    return sorted(row.value for row in committed.selectExpr("CAST(value AS STRING)").collect())


def written(spark: Any, options: dict[str, str], topic: str, rows: list[str]) -> None:
    frame = spark.createDataFrame([(row,) for row in rows], "value string").repartition(2)
    frame.write.format("moldau").options(**options).option("topic", topic).mode("append").save()


def test_source_and_sinks_log_in_over_tls(spark: Any, secured: Secured, topic: str, tmp_path: Path) -> None:
    rivers = ["elbe", "moldau", "sazava"]
    written(spark, secured.options(), topic, rivers)
    assert values(spark, secured.options(), topic) == rivers
    query = (
        spark.readStream.format("moldau")
        .options(**secured.options())
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("upper(CAST(value AS STRING)) AS value")
        .writeStream.format("moldau")
        .options(**secured.options())
        .option("topic", f"{topic}-upper")
        .option("delivery", "exactly-once")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert values(spark, secured.options(), f"{topic}-upper") == [river.upper() for river in rivers]


def test_a_guest_reads_and_writes_what_rules_say(spark: Any, secured: Secured, topic: str) -> None:
    written(spark, secured.options(), topic, ["elbe"])
    with pytest.raises(Exception, match=r"(?i)not authorized|no topic") as caught:
        values(spark, secured.options("alice"), topic)
    assert secured.password("alice") not in str(caught.value)
    secured.allow("alice", "--consumer", "--topic", topic, "--group", "*")
    assert values(spark, secured.options("alice"), topic) == ["elbe"]
    with pytest.raises(Exception, match=r"(?i)not authorized"):
        written(spark, secured.options("alice"), topic, ["no"])
    secured.allow("alice", "--producer", "--topic", topic)
    written(spark, secured.options("alice"), topic, ["moldau"])
    assert values(spark, secured.options("alice"), topic) == ["elbe", "moldau"]


def test_a_wrong_password_is_told_without_being_shown(spark: Any, secured: Secured, topic: str) -> None:
    written(spark, secured.options(), topic, ["elbe"])
    right = secured.password("admin")
    options = secured.options()
    options["kafka.sasl.jaas.config"] = options["kafka.sasl.jaas.config"].replace(right, "guessed-it")
    with pytest.raises(Exception, match="Authentication failed") as caught:
        values(spark, options, topic)
    assert "guessed-it" not in str(caught.value)
    with pytest.raises(Exception, match="Authentication failed") as caught:
        written(spark, options, topic, ["no"])
    assert "guessed-it" not in str(caught.value)


def declared(spark: Any, secured: Secured, topic: str, directory: Path) -> Path:
    """The file of a pipeline whose source, sink and dead letters log in, with three records to read."""
    written(spark, secured.options(), topic, ['{"river": "elbe"}', "no river", '{"river": "moldau"}'])
    login = secured.properties("admin")
    with KafkaAdminClient(bootstrap_servers=secured.bootstrap, **security_options(login).client()) as admin:
        admin.create_topics([NewTopic(f"{topic}-{end}", 2, 1) for end in ("out", "bad")])
    way = {name: value for name, value in secured.options().items() if name != "kafka.bootstrap.servers"}
    content = {
        "pipeline": "rivers",
        "bootstrap": secured.bootstrap,
        "sources": {"read": {"topic": topic, "starting": "earliest", "options": way}},
        "steps": {"parsed": {"from": "read", "parse": "json", "schema": "river STRING", "required": ["river"]}},
        "sinks": {"kept": {"from": "parsed", "topic": f"{topic}-out", "value": "river", "options": way}},
        "dead_letters": {"topic": f"{topic}-bad", "options": way},
    }
    file = directory / "rivers.yaml"
    # JSON is YAML.
    file.write_text(json.dumps(content))
    return file


def test_a_declared_pipeline(spark: Any, secured: Secured, topic: str, tmp_path: Path) -> None:
    """Its source, its sink and what it cannot read: all of them by the login that the file names."""
    file = declared(spark, secured, topic, tmp_path)
    pipeline = load(str(file))
    started = start(spark, pipeline, once=True)
    try:
        started.await_end()
    finally:
        started.stop()
    assert values(spark, secured.options(), f"{topic}-out") == ["elbe", "moldau"]
    assert len(values(spark, secured.options(), f"{topic}-bad")) == 1
    status = Status("rivers", str(file), "", queries=[{"query": "kept", "positions": {topic: {"0": 1}}}])
    assert current_lag(pipeline, status) == {"kept": 2}


@pytest.mark.long
def test_a_declared_pipeline_by_the_command(spark: Any, secured: Secured, topic: str, tmp_path: Path) -> None:
    """On a Spark of its own, in a process of its own; what it says shows no password."""
    file = declared(spark, secured, topic, tmp_path)
    for _ in range(2):
        words = [MOLDAU, "pipeline", "run", str(file), "--once", "--plain", "--spark-log", str(tmp_path / "spark.log")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        # The second time there is nothing left to take.
        assert values(spark, secured.options(), f"{topic}-out") == ["elbe", "moldau"]
    said = [done.stdout, done.stderr, *(path.read_text(errors="replace") for path in tmp_path.rglob("*.log"))]
    assert not any(secured.password("admin") in each for each in said)
