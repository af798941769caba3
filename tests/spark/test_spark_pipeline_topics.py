"""Pipelines from topics to topics on a real node: exactly once in every mode, dead letters, restarts, status."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau import KafkaConsumer, KafkaProducer
from moldau.spark.pipeline import Pipeline, PipelineError, load, start
from moldau.spark.pipeline.lag import current_lag
from moldau.spark.pipeline.running import Supervisor
from moldau.spark.pipeline.status import read_status
from moldau.testing import Cluster
from whole_topics import read_to_the_end


def produce(node: Cluster, topic: str, values: list[bytes]) -> None:
    with KafkaProducer(bootstrap_servers=node.bootstrap_servers) as producer:
        for value in values:
            producer.send(topic, value, key=b"k")


def consume(node: Cluster, topic: str) -> list[Any]:
    with KafkaConsumer(
        topic,
        bootstrap_servers=node.bootstrap_servers,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as consumer:
        return read_to_the_end(consumer)


def order(number: int, amount: float = 1.0) -> bytes:
    return json.dumps({"id": number, "region": "north" if number % 2 else "south", "amount": amount}).encode()


def declare(tmp_path: Path, node: Cluster, source: str, rest: str) -> Pipeline:
    path = tmp_path / "p.yaml"
    path.write_text(
        f"pipeline: p\nbootstrap: {node.bootstrap_servers}\nrestart: {{max: 2, backoff: 100ms}}\ntrigger: 100ms\n"
        f"sources: {{s: {{topic: {source}}}}}\nsteps:\n"
        "  parsed: {from: s, parse: json, schema: 'id INT, region STRING, amount DOUBLE', required: id}\n" + rest
    )
    return load(str(path))


def test_topic_to_topic_with_dead_letters_and_a_second_run(
    spark: Any, node: Cluster, create_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, out, dead = create_topic(2), create_topic(2), create_topic()
    pipeline = declare(
        tmp_path,
        node,
        source,
        f"  sums: {{from: parsed, aggregate: {{total: sum(amount)}}, by: region}}\n"
        f"sinks:\n  out: {{from: sums, topic: {out}, key: region, headers: {{n: total}}, mode: update}}\n"
        f"dead_letters: {{topic: {dead}}}\n",
    )
    produce(node, source, [order(1), order(2), b"{broken", order(3)])
    start(spark, pipeline, once=True).await_end()
    produce(node, source, [order(5), b'{"region": "north"}'])
    run = start(spark, pipeline, once=True)
    run.await_end()
    last = {record.key: json.loads(record.value)["total"] for record in consume(node, out)}
    assert last == {b"north": 3.0, b"south": 1.0}
    assert len(consume(node, out)) == 3  # two groups at first, one that changed later
    letters = consume(node, dead)
    stories = [{name: value.decode() for name, value in letter.headers} for letter in letters]
    assert [letter.value for letter in letters] == [b"{broken", b'{"region": "north"}']
    assert stories[1] | {"partition": "", "offset": ""} == {
        "reason": "id is missing",
        "pipeline": "p",
        "step": "parsed",
        "topic": source,
        "partition": "",
        "offset": "",
    }
    assert run.measures["out"].lag == 0
    assert sum(run.measures["out"].positions[source].values()) == 6


def test_a_failure_is_followed_by_a_restart_and_the_status_tells(
    spark: Any, node: Cluster, create_topic: Callable[..., str], tmp_path: Path
) -> None:
    """The function fails once, after which nothing is lost and nothing is there twice."""
    source, out = create_topic(), create_topic()
    (tmp_path / "functions.py").write_text(
        "import os\n\ndef fragile(frame):\n"
        "    def check(batches):\n"
        "        for batch in batches:\n"
        f"            if not os.path.exists({str(tmp_path / 'failed')!r}):\n"
        f"                open({str(tmp_path / 'failed')!r}, 'w').close()\n"
        "                raise ValueError('not today')\n"
        "            yield batch\n"
        "    return frame.mapInPandas(check, frame.schema)\n"
    )
    pipeline = declare(
        tmp_path,
        node,
        source,
        "  fragile: {from: parsed, python: 'functions.py:fragile'}\n"
        f"sinks:\n  out: {{from: fragile, topic: {out}}}\n"
        "dead_letters: {memory: pl_fragile_dead, trigger: 10 minutes}\n",
    )
    produce(node, source, [order(number) for number in range(10)])
    seen: list[tuple[str, str | None]] = []
    supervisor = Supervisor(spark, pipeline, show=lambda measures, state, error: seen.append((state, error)))
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        status = read_status(pipeline)
        if status is not None and status.restarts == 1 and status.queries[0]["positions"].get(source) == {"0": 10}:
            break
        time.sleep(0.2)
    produce(node, source, [order(10)])
    supervisor.stop()
    thread.join(60)
    status = read_status(pipeline)
    assert status is not None
    assert (status.state, status.restarts, status.killed) == ("stopped", 1, False)
    assert any(state == "waiting" and error and "not today" in error for state, error in seen)
    found = sorted(json.loads(record.value)["id"] for record in consume(node, out))
    assert found in (list(range(10)), list(range(11)))
    # Never less than what was not written. A batch that the stop cut off between its writing and Spark's note of it
    # counts as unread, too: the next start repeats it.
    lag = current_lag(pipeline, status)["out"]
    assert lag is not None
    assert 11 - len(found) <= lag <= 1


def test_it_gives_up_after_so_many_failures(
    spark: Any, node: Cluster, create_topic: Callable[..., str], tmp_path: Path
) -> None:
    source = create_topic()
    (tmp_path / "functions.py").write_text("def each(batch, number):\n    raise RuntimeError('never')\n")
    pipeline = declare(
        tmp_path,
        node,
        source,
        "sinks:\n  out: {from: s, python: 'functions.py:each'}\ndead_letters: {memory: x, trigger: 10 minutes}\n",
    )
    produce(node, source, [order(1)])
    supervisor = Supervisor(spark, pipeline, once=True)
    with pytest.raises(PipelineError, match=r"functions\.py:2: RuntimeError: never"):
        supervisor.run()
    status = read_status(pipeline)
    assert status is not None
    assert (status.state, status.restarts) == ("failed", 2)
