"""Pipelines that lose nothing and repeat nothing: chained ones, ones begun anew, and what they say of themselves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filled_topics import rows, write_transaction
from sink_topics import records_of

from moldau import KafkaProducer
from moldau.client.admin.groups import committed_positions
from moldau.client.cluster import Cluster as Client
from moldau.spark.pipeline import Pipeline, PipelineError, load, start
from moldau.spark.pipeline.checkpoints import forget
from moldau.spark.pipeline.lag import current_lag
from moldau.spark.pipeline.running import Supervisor
from moldau.spark.pipeline.sharing import groups
from moldau.spark.pipeline.status import read_status
from moldau.testing import Cluster

CreateTopic = Callable[..., str]


def declared(directory: Path, node: Cluster, name: str, rest: str) -> Pipeline:
    path = directory / f"{name}.yaml"
    path.write_text(f"pipeline: {name}\nbootstrap: {node.bootstrap_servers}\nrestart: {{backoff: 100ms}}\n{rest}")
    return load(str(path))


def produce(node: Cluster, topic: str, values: list[str]) -> None:
    with KafkaProducer(bootstrap_servers=node.bootstrap_servers) as producer:
        for value in values:
            producer.send(topic, value.encode(), key=b"k")


def run(spark: Any, pipeline: Pipeline) -> None:
    started = start(spark, pipeline, once=True)
    try:
        started.await_end()
    finally:
        started.stop()


def test_chained_pipelines_are_exactly_once_end_to_end(
    spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path
) -> None:
    """Aborted records lie in both topics, and a batch of the first pipeline fails and is repeated."""
    first, second, third = create_topic(2), create_topic(2), create_topic()
    bootstrap = node.bootstrap_servers
    write_transaction(bootstrap, first, 0, rows(10), commit=True)
    write_transaction(bootstrap, first, 1, rows(10, first=100), commit=False)
    write_transaction(bootstrap, first, 1, rows(10, first=10), commit=True)
    (tmp_path / "functions.py").write_text(
        "import os\n\ndef fragile(frame):\n"
        "    def check(batches):\n"
        "        for number, batch in enumerate(batches):\n"
        "            yield batch\n"
        f"        if not os.path.exists({str(tmp_path / 'failed')!r}):\n"
        f"            open({str(tmp_path / 'failed')!r}, 'w').close()\n"
        "            raise ValueError('not today')\n"
        "    return frame.mapInPandas(check, frame.schema)\n"
    )
    before = declared(
        tmp_path,
        node,
        "before",
        f"sources: {{s: {{topic: {first}}}}}\nsteps:\n"
        "  plain: {from: s, select: {value: value}}\n"
        "  fragile: {from: plain, python: 'functions.py:fragile'}\n"
        f"sinks: {{out: {{from: fragile, topic: {second}, value: value}}}}\n",
    )
    after = declared(
        tmp_path,
        node,
        "after",
        f"sources: {{s: {{topic: {second}}}}}\nsinks: {{out: {{from: s, topic: {third}, value: value}}}}\n",
    )
    wanted = [f"v{number}" for number in range(20)]
    Supervisor(spark, before, once=True).run()
    write_transaction(bootstrap, second, 0, rows(5, first=200), commit=False)
    Supervisor(spark, after, once=True).run()
    found = sorted((record.value.decode() for record in records_of(bootstrap, third)), key=lambda text: int(text[1:]))
    assert found == wanted
    for pipeline in (before, after):
        status = read_status(pipeline)
        assert status is not None
        assert current_lag(pipeline, status) == {"out": 0}


def test_open_and_aborted_records_only_if_asked_for(
    spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path
) -> None:
    topic = create_topic()
    write_transaction(node.bootstrap_servers, topic, 0, rows(5), commit=False)
    write_transaction(node.bootstrap_servers, topic, 0, rows(5, first=5), commit=True)
    for isolation, count in (("", 5), (", isolation: read_uncommitted", 10)):
        name = f"isolation{count}"
        pipeline = declared(
            tmp_path,
            node,
            name,
            f"sources: {{s: {{topic: {topic}{isolation}}}}}\nsinks: {{out: {{from: s, memory: {name}}}}}\n",
        )
        run(spark, pipeline)
        assert spark.table(name).count() == count


@pytest.fixture
def archived(node: Cluster, create_topic: CreateTopic, tmp_path: Path) -> tuple[Pipeline, str, str]:
    """A pipeline with three sinks, its topic, and the topic of its dead letters."""
    source, dead = create_topic(), create_topic()
    pipeline = declared(
        tmp_path,
        node,
        "archived",
        f"sources: {{s: {{topic: {source}}}}}\nsteps:\n"
        "  parsed: {from: s, parse: json, schema: 'id INT, amount INT'}\n"
        "  named: {from: parsed, select: {number: id, amount: amount}}\n"
        "  some: {from: named, filter: number > 0}\n"
        "  sane: {from: some, expect: {the amount is positive: amount > 0}}\n"
        "sinks:\n  archive: {from: sane, parquet: archive}\n  table: {from: sane, memory: pl_archived}\n"
        f"dead_letters: {{topic: {dead}}}\n",
    )
    return pipeline, source, dead


def numbers(spark: Any, tmp_path: Path) -> list[int]:
    return sorted(row.number for row in spark.read.parquet(str(tmp_path / "archive")).collect())


def test_a_fresh_start_writes_everything_again_and_loses_nothing(
    spark: Any, node: Cluster, archived: tuple[Pipeline, str, str], tmp_path: Path
) -> None:
    pipeline, source, dead = archived
    strange = '{"id":7,   "amount":-1}'
    produce(node, source, ['{"id": 1, "amount": 5}', strange])
    run(spark, pipeline)
    assert numbers(spark, tmp_path) == [1]
    # What was set aside is the record as it came, and says where from, although the step knows other columns.
    (letter,) = records_of(node.bootstrap_servers, dead)
    headers = {name: value.decode() for name, value in letter.headers}
    assert (letter.key, letter.value) == (b"k", strange.encode())
    assert headers == {
        "reason": "expected: the amount is positive",
        "pipeline": "archived",
        "step": "sane",
        "topic": source,
        "partition": "0",
        "offset": "1",
    }
    # Every query has a place of its own among the groups; files and dead letters share one.
    with Client(node.bootstrap_servers) as client:
        for name in ("table", "s"):
            positions = client.run(committed_positions(f"archived.{name}"))
            assert [each.offset for each in positions.values()] == [2], name
    produce(node, source, ['{"id": 2, "amount": 5}'])
    shutil.rmtree(tmp_path / "checkpoints")
    with pytest.raises(PipelineError, match=r"sink `archive` has no checkpoint, but .* remembers batches"):
        run(spark, pipeline)
    written = {path.name for path in (tmp_path / "archive").glob("*.parquet")}
    aside = forget(spark, pipeline)
    assert [Path(path).parent for path in aside] == [tmp_path / "archive"]
    run(spark, pipeline)
    assert numbers(spark, tmp_path) == [1, 2]
    assert written < {path.name for path in (tmp_path / "archive").glob("*.parquet")}


def test_an_older_copy_of_a_checkpoint_is_refused_whatever_the_sink(
    spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path
) -> None:
    """A function has no record of batches, but the group of the query knows how far it was."""
    source = create_topic()
    (tmp_path / "functions.py").write_text(
        "from pathlib import Path\n\ndef put(frame, number):\n"
        f"    with Path({str(tmp_path / 'put')!r}).open('a') as out:\n"
        "        out.writelines(f'{bytes(row.value).decode()}\\n' for row in frame.collect())\n"
    )
    sinks = "sinks: {out: {from: s, python: 'functions.py:put'}}"
    pipeline = declared(tmp_path, node, "set-back", f"sources: {{s: {{topic: {source}}}}}\n{sinks}\n")
    place, copy = tmp_path / "checkpoints", tmp_path / "copy"
    produce(node, source, ["1"])
    run(spark, pipeline)
    shutil.copytree(place, copy)
    produce(node, source, ["2", "3"])
    run(spark, pipeline)
    shutil.rmtree(place)
    copy.rename(place)
    with pytest.raises(Exception, match=rf"older copy.*{source}-0 at 1, was at 3 by its group 'set-back.out'"):
        run(spark, pipeline)
    assert (tmp_path / "put").read_text().split() == ["1", "2", "3"]


def test_an_older_copy_of_a_checkpoint_is_refused_by_a_sink_of_files(
    spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path
) -> None:
    """Its batches would have numbers that the directory has already, and would be left out in silence."""
    source = create_topic()
    sinks = "sinks: {archive: {from: s, parquet: archive}}"
    pipeline = declared(tmp_path, node, "copied", f"sources: {{s: {{topic: {source}}}}}\n{sinks}\n")
    place, copy, newest = (tmp_path / name for name in ("checkpoints", "copy", "newest"))
    produce(node, source, ["1"])
    run(spark, pipeline)
    shutil.copytree(place, copy)
    produce(node, source, ["2"])
    run(spark, pipeline)
    produce(node, source, ["3"])
    place.rename(newest)
    copy.rename(place)
    with pytest.raises(PipelineError, match=r"ends with batch 0, an older copy .* remembers batches up to 1"):
        run(spark, pipeline)
    # A batch that was planned and not finished is repeated, as ever.
    shutil.rmtree(place)
    newest.rename(place)
    (last,) = place.glob("copied/archive/commits/1")
    last.unlink()
    last.with_name(".1.crc").unlink()
    run(spark, pipeline)
    values = sorted(bytes(row.value) for row in spark.read.parquet(str(tmp_path / "archive")).collect())
    assert values == [b"1", b"2", b"3"]


def test_what_a_run_says_of_its_sources(spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path) -> None:
    from moldau.spark import offsets_behind

    topic = create_topic(2)
    produce(node, topic, [json.dumps({"id": number}) for number in range(10)])
    pipeline = declared(
        tmp_path,
        node,
        "said",
        f"sources: {{s: {{topic: {topic}, max_per_batch: 4}}}}\nsinks: {{out: {{from: s, memory: pl_said}}}}\n",
    )
    started = start(spark, pipeline, once=True)
    started.await_end()
    reports = [offsets_behind(progress) for progress in started.queries["out"].recentProgress]
    assert reports[0][0]["maxOffsetsBehindLatest"] == 6
    assert reports[-1] == [{"avgOffsetsBehindLatest": 0.0, "maxOffsetsBehindLatest": 0, "minOffsetsBehindLatest": 0}]
    assert started.measures["out"].behind["maxOffsetsBehindLatest"] == 0


def test_sinks_that_share_a_query_are_exactly_once_each(
    spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path
) -> None:
    """A function fails in the first batch, when the others, who know what they have, have written it."""
    source, even, odd, dead = create_topic(2), create_topic(), create_topic(), create_topic()
    bootstrap = node.bootstrap_servers
    (tmp_path / "functions.py").write_text(
        "import os\n\ndef fragile(batch, number):\n"
        "    batch.count()\n"
        f"    if not os.path.exists({str(tmp_path / 'failed')!r}):\n"
        f"        open({str(tmp_path / 'failed')!r}, 'w').close()\n"
        "        raise ValueError('not today')\n"
    )
    steps = (
        f"share: true\nsources: {{s: {{topic: {source}}}}}\nsteps:\n"
        "  parsed: {from: s, parse: json, schema: 'id INT'}\n"
        "  evens: {from: parsed, filter: id % 2 = 0}\n  odds: {from: parsed, filter: id % 2 = 1}\n"
        "  halved: {from: evens, add: {half: 'CAST(id % 4 = 2 AS INT)'}}\n"
        f"dead_letters: {{topic: {dead}}}\nsinks:\n"
        "  fragile: {from: parsed, python: 'functions.py:fragile'}\n"
        "  files: {from: halved, json: files, partition_by: half}\n"
        f"  even: {{from: evens, topic: {even}}}\n  odd: {{from: odds, topic: {odd}}}\n"
    )
    pipeline = declared(tmp_path, node, "shared", steps)
    produce(node, source, [*(json.dumps({"id": number}) for number in range(20)), "broken"])
    Supervisor(spark, pipeline, once=True).run()
    produce(node, source, [json.dumps({"id": number}) for number in range(20, 30)])
    started = start(spark, pipeline, once=True)
    started.await_end()
    assert len(set(started.queries.values())) == 1
    assert set(started.queries) == {"even", "odd", "fragile", "files", "dead_letters"}

    def ids(topic: str) -> list[int]:
        return sorted(json.loads(record.value)["id"] for record in records_of(bootstrap, topic))

    assert ids(even) == list(range(0, 30, 2))
    assert ids(odd) == list(range(1, 30, 2))
    assert [record.value for record in records_of(bootstrap, dead)] == [b"broken"]
    files = spark.read.json(str(tmp_path / "files"))
    assert sorted(row.id for row in files.collect()) == list(range(0, 30, 2))
    assert sorted(path.name for path in (tmp_path / "files").glob("half=*")) == ["half=0", "half=1"]
    assert started.measures["odd"].lag == 0
    # A sink that comes later has a beginning of its own; one that shares cannot leave in silence.
    later = create_topic()
    run(spark, declared(tmp_path, node, "shared", f"{steps}  later: {{from: parsed, topic: {later}}}\n"))
    assert ids(later) == list(range(30))
    assert ids(odd) == list(range(1, 30, 2))
    with pytest.raises(PipelineError, match="sink `fragile` shared a query with others up to now"):
        run(spark, declared(tmp_path, node, "shared", steps.replace("share: true", "share: false")))


def test_a_sink_that_left_its_query_does_not_come_back_unnoticed(spark: Any, tmp_path: Path) -> None:
    """The others have read on, and what they read it would never get."""

    def sharing(*sinks: str) -> list[str]:
        path = tmp_path / "left.yaml"
        named = "".join(f"  {name}: {{from: s, parquet: {tmp_path / name}}}\n" for name in sinks)
        path.write_text(f"pipeline: left\nsources: {{s: {{topic: s}}}}\nsinks:\n{named}")
        return [part.name for part in groups(spark, load(str(path))).get("s", [])]

    assert sharing("a", "b", "c") == ["a", "b", "c"]
    assert sharing("a", "b", "c") == ["a", "b", "c"]
    assert sharing("a", "c", "later") == ["a", "c"]
    for _ in range(2):
        with pytest.raises(PipelineError, match=r"sink `b` shared a query with others that went on without it"):
            sharing("a", "b", "c")
    assert sharing("a", "c") == ["a", "c"]
    assert not list(tmp_path.glob("**/*.new"))
