"""Where a stream stands: what the source answers when Spark asks, question by question, without a JVM."""

from __future__ import annotations

import json
import logging
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest
from filled_topics import rows, write
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from moldau import KafkaConsumer, OffsetAndMetadata
from moldau.admin import KafkaAdminClient, NewPartitions, NewTopic
from moldau.client.admin.groups import committed_positions
from moldau.client.cluster import Cluster as Client
from moldau.spark.schema import SOURCE_SCHEMA
from moldau.spark.source import stream
from moldau.spark.source.loss import DataLoss, OldCheckpoint
from moldau.spark.source.positions import ids_in, query_in, start_in, to_position
from moldau.spark.source.stream import StreamReader, stream_reader
from moldau.testing import Cluster
from moldau.types import TopicPartition, uuid_to_text

Make = Callable[..., StreamReader]
ALL = ReadAllAvailable()


@pytest.fixture
def make(node: Cluster, request: pytest.FixtureRequest) -> Make:
    def make(topic: str, **options: str) -> StreamReader:
        given = {"kafka.bootstrap.servers": node.bootstrap_servers, "subscribe": topic, "fetchOffset.numRetries": "1"}
        given |= {"fetchOffset.retryIntervalMs": "10", "startingOffsets": "earliest"}
        made = stream_reader(
            {**given, **{name.replace("__", "."): text for name, text in options.items()}}, SOURCE_SCHEMA
        )
        assert isinstance(made, StreamReader)
        request.addfinalizer(made.stop)
        return made

    return make


def through_json(position: Any) -> Any:
    """As it comes back from Spark."""
    return json.loads(json.dumps(position))


def bare(position: Any) -> Any:
    """Without the notes."""
    return {name: each for name, each in position.items() if not name.startswith("@")}


def ranges(tasks: Any) -> list[tuple[int, int, int]]:
    """All of them as (partition, start, end)."""
    return [each[1:4] for task in tasks for each in task.value]


def advance(reader: StreamReader, start: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[int, int, int]]]:
    """The end of the next batch, and what its tasks read."""
    end = through_json(reader.latestOffset(start, reader.getDefaultReadLimit()))
    return end, ranges(reader.partitions(start, end))


def test_the_start_is_fixed_when_asked_twice(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(3))
    reader = make(topic, startingOffsets="latest")
    first = through_json(reader.initialOffset())
    assert bare(first) == {topic: {"0": 3}}
    write(node.bootstrap_servers, topic, 0, rows(4))
    assert reader.initialOffset() == first
    end, tasks = advance(reader, first)
    assert bare(end) == {topic: {"0": 7}}
    assert start_in(end) == {TopicPartition(topic, 0): 3}
    assert tasks == [(0, 3, 7)]


def test_a_first_batch_run_again_begins_where_it_began(
    node: Cluster, make: Make, create_topic: Callable[..., str]
) -> None:
    """After a crash Spark has only the end of the batch, and a new process answers what the start is."""
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(3))
    before = make(topic, startingOffsets="latest")
    start = through_json(before.initialOffset())
    write(node.bootstrap_servers, topic, 0, rows(4))
    end, tasks = advance(before, start)
    write(node.bootstrap_servers, topic, 0, rows(5))
    after = make(topic, startingOffsets="latest")
    drifted = through_json(after.initialOffset())
    assert bare(drifted) == {topic: {"0": 12}}
    assert ranges(after.partitions(drifted, end)) == tasks == [(0, 3, 7)]
    # The next batch goes on at that end, and its own end carries nothing any more.
    end, tasks = advance(after, end)
    assert (bare(end), start_in(end), tasks) == ({topic: {"0": 12}}, None, [(0, 7, 12)])


def test_nothing_new_is_the_same_position_to_the_letter(
    node: Cluster, make: Make, create_topic: Callable[..., str]
) -> None:
    topic = create_topic(2)
    write(node.bootstrap_servers, topic, 0, rows(3))
    reader = make(topic)
    end, _ = advance(reader, through_json(reader.initialOffset()))
    assert json.dumps(reader.latestOffset(end, ALL)) == json.dumps(end)
    assert advance(reader, end) == (end, [])
    # A checkpoint of Spark's own connector is written without spaces, and is continued as it is.
    compact = {topic: {"0": 3, "1": 0}}
    assert reader.latestOffset(compact, ALL) is compact


def test_a_limit_is_shared_by_lag(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    topic = create_topic(2)
    write(node.bootstrap_servers, topic, 0, rows(90))
    write(node.bootstrap_servers, topic, 1, rows(10))
    reader = make(topic, maxOffsetsPerTrigger="20")
    assert reader.getDefaultReadLimit() == ReadMaxRows(20)
    start = through_json(reader.initialOffset())
    end, tasks = advance(reader, start)
    assert tasks == [(0, 0, 18), (1, 0, 2)]
    assert reader.reportLatestOffset() == {topic: {"0": 90, "1": 10}}
    # trigger(once=True) asks for everything, whatever the option says.
    assert bare(reader.latestOffset(end, ALL)) == {topic: {"0": 90, "1": 10}}
    batches = 1
    while (following := advance(reader, end))[1]:
        end, batches = following[0], batches + 1
    assert bare(end) == {topic: {"0": 90, "1": 10}}
    assert batches in (5, 6)


def test_available_now_ends_where_it_began(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(10))
    reader = make(topic, maxOffsetsPerTrigger="6", minOffsetsPerTrigger="6")
    reader.prepareForTriggerAvailableNow()
    write(node.bootstrap_servers, topic, 0, rows(10))
    start = through_json(reader.initialOffset())
    end, tasks = advance(reader, start)
    assert tasks == [(0, 0, 6)]
    end, tasks = advance(reader, end)
    assert tasks == [(0, 6, 10)]  # fewer than the least, which must not keep the run from ending
    assert advance(reader, end) == (end, [])


def test_a_batch_waits_for_enough_but_not_for_ever(
    node: Cluster, make: Make, create_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = create_topic()
    now = [1000.0]
    monkeypatch.setattr(stream, "monotonic", lambda: now[0])
    reader = make(topic, minOffsetsPerTrigger="10", maxTriggerDelay="60s")
    assert reader.getDefaultReadLimit() == ReadMinRows(10)
    write(node.bootstrap_servers, topic, 0, rows(4))
    end, tasks = advance(reader, through_json(reader.initialOffset()))
    assert tasks == [(0, 0, 4)]  # the first batch of a run never waits
    write(node.bootstrap_servers, topic, 0, rows(4))
    assert advance(reader, end) == (end, [])
    now[0] += 59
    assert advance(reader, end) == (end, [])
    now[0] += 1
    end, tasks = advance(reader, end)
    assert tasks == [(0, 4, 8)]
    write(node.bootstrap_servers, topic, 0, rows(10))
    end, tasks = advance(reader, end)
    assert tasks == [(0, 8, 18)]


def test_new_partitions_are_read_from_their_beginning(
    node: Cluster, make: Make, create_topic: Callable[..., str]
) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(100))
    reader = make(topic, maxOffsetsPerTrigger="50", minPartitions="4")
    end, _ = advance(reader, through_json(reader.initialOffset()))
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.create_partitions({topic: NewPartitions(2)})
    write(node.bootstrap_servers, topic, 1, rows(50))
    end, tasks = advance(reader, end)
    assert bare(end) == {topic: {"0": 75, "1": 25}}
    assert tasks == [(0, 50, 62), (0, 62, 75), (1, 0, 12), (1, 12, 25)]


@pytest.mark.parametrize("fail", [True, False])
def test_a_topic_that_went(node: Cluster, make: Make, create_topic: Callable[..., str], fail: bool) -> None:
    stays, goes = create_topic(), create_topic()
    for topic in (stays, goes):
        write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(f"{stays},{goes}", failOnDataLoss=str(fail))
    end, _ = advance(reader, through_json(reader.initialOffset()))
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.delete_topics([goes])
    write(node.bootstrap_servers, stays, 0, rows(5))
    if fail:
        with pytest.raises(DataLoss, match=f"Partitions {goes}-0 are no longer there"):
            advance(reader, end)
        return
    end, tasks = advance(reader, end)
    assert bare(end) == {stays: {"0": 10}}
    assert tasks == [(0, 5, 10)]
    # It comes back, and is new.
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(goes, 1, 1)])
    write(node.bootstrap_servers, goes, 0, rows(2))
    end, tasks = advance(reader, end)
    assert tasks == [(0, 0, 2)]


@pytest.mark.parametrize("records", [2, 5, 9])
@pytest.mark.parametrize("fail", [True, False])
def test_a_topic_made_anew(
    node: Cluster, make: Make, create_topic: Callable[..., str], fail: bool, records: int
) -> None:
    """Whether it has fewer records than were read, as many, or more."""
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(topic, failOnDataLoss=str(fail))
    end, _ = advance(reader, through_json(reader.initialOffset()))
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.delete_topics([topic])
        admin.create_topics([NewTopic(topic, 1, 1)])
    write(node.bootstrap_servers, topic, 0, rows(records))
    if fail:
        with pytest.raises(DataLoss, match=f"Topic '{topic}' was deleted and made anew"):
            advance(reader, end)
        return
    end, tasks = advance(reader, end)
    assert (bare(end), tasks) == ({topic: {"0": records}}, [(0, 0, records)])
    write(node.bootstrap_servers, topic, 0, rows(1))
    assert advance(reader, end)[1] == [(0, records, records + 1)]


def test_a_topic_made_anew_while_a_batch_is_planned_or_read(
    node: Cluster, make: Make, create_topic: Callable[..., str]
) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(topic)
    start = through_json(reader.initialOffset())
    end = through_json(reader.latestOffset(start, ALL))
    (task,) = reader.partitions(start, end)
    assert sum(batch.num_rows for batch in reader.read(task)) == 5
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.delete_topics([topic])
        admin.create_topics([NewTopic(topic, 1, 1)])
    write(node.bootstrap_servers, topic, 0, rows(9))
    for fail in (True, False):
        other = make(topic, failOnDataLoss=str(fail))
        (task,) = other.partitions(start, end)  # the plan of a batch that is run again
        if fail:
            with pytest.raises(DataLoss, match="of the former one was to be read from 0 to 5"):
                list(other.read(task))
        else:
            assert list(other.read(task)) == []


def test_a_checkpoint_without_topic_ids_goes_on(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(topic)
    end, tasks = advance(reader, {topic: {"0": 2}})
    assert tasks == [(0, 2, 5)]
    assert set(ids_in(end)) == {topic}


def test_notes_are_nothing_to_those_who_look_for_offsets(
    node: Cluster, make: Make, create_topic: Callable[..., str]
) -> None:
    """The form is `{topic: {partition: number}}` throughout, so that Spark's own connector can take it back."""
    topic = create_topic(2)
    write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(topic)
    end, _ = advance(reader, through_json(reader.initialOffset()))
    assert sum(offset for partitions in end.values() for offset in partitions.values()) == 5
    assert {name.split(" ")[0] for name in end} == {topic, "@query", "@topic", "@start"}
    assert [partitions for name, partitions in end.items() if name.startswith("@")] == [{}] * 3


def test_notes_as_they_were_written_before(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    (id,) = ids_in(make(topic).initialOffset()).values()
    old = {topic: {"0": 5}, "@topics": {topic: uuid_to_text(id)}, "@start": {topic: {"0": 2}}}
    assert start_in(old) == {TopicPartition(topic, 0): 2}
    after = make(topic)
    assert ranges(after.partitions(through_json(after.initialOffset()), old)) == [(0, 2, 5)]
    elsewhere = old | {"@topics": {topic: uuid_to_text(bytes(15) + b"x")}}
    with pytest.raises(DataLoss, match="made anew"):
        after.latestOffset(elsewhere, ALL)


def test_a_first_batch_that_found_no_partitions_began_nowhere() -> None:
    """Not to be taken for a position that says nothing: what comes later is read from its beginning."""
    assert start_in(through_json(to_position({}, query="q", start={}))) == {}
    assert start_in(through_json(to_position({}, query="q"))) is None


def test_small_ranges_share_tasks(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    topic = create_topic(20)
    for partition in range(20):
        write(node.bootstrap_servers, topic, partition, rows(3, first=3 * partition))
    reader = make(topic)
    start = through_json(reader.initialOffset())
    tasks = reader.partitions(start, through_json(reader.latestOffset(start, ALL)))
    assert 8 <= len(tasks) < 20
    read = [value for task in tasks for batch in reader.read(task) for value in batch.column("value").to_pylist()]
    assert sorted(int(value[1:]) for value in read) == list(range(60))


def shown(node: Cluster, group: str) -> dict[TopicPartition, int]:
    with Client(node.bootstrap_servers) as client:
        return {where: each.offset for where, each in client.run(committed_positions(group)).items()}


def test_lag_tools_see_the_stream(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(topic, groupIdPrefix="pipeline")
    end, _ = advance(reader, through_json(reader.initialOffset()))
    group = f"pipeline-{topic}-{query_in(end)}"
    assert reader.latestOffset(end, ALL) == end
    assert shown(node, group) == {TopicPartition(topic, 0): 5}
    # And nothing begins there: a new stream starts where its options say.
    assert bare(make(topic, groupIdPrefix="pipeline").initialOffset()) == {topic: {"0": 0}}


def test_each_query_is_a_group_and_stays_it(node: Cluster, make: Make, create_topic: Callable[..., str]) -> None:
    """Two over the same topic, at different places; one of them is started again."""
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    slow, fast = make(topic, maxOffsetsPerTrigger="2"), make(topic)
    ends = [advance(each, through_json(each.initialOffset()))[0] for each in (slow, fast)]
    groups = [f"moldau-spark-{topic}-{query_in(end)}" for end in ends]
    assert groups[0] != groups[1]
    for each, end in zip((slow, fast), ends, strict=True):
        each.latestOffset(end, each.getDefaultReadLimit())
        each.stop()
    assert [shown(node, group)[TopicPartition(topic, 0)] for group in groups] == [2, 5]
    again = make(topic, maxOffsetsPerTrigger="2")
    end, tasks = advance(again, ends[0])
    assert (query_in(end), tasks) == (query_in(ends[0]), [(0, 2, 4)])


def test_a_group_that_refuses_stops_nothing(
    node: Cluster, make: Make, create_topic: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    from moldau import KafkaConsumer

    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(topic, kafka__group__id="taken")
    consumer = KafkaConsumer(topic, bootstrap_servers=node.bootstrap_servers, group_id="taken")
    try:
        deadline = time.monotonic() + 60
        while not consumer.assignment():
            assert time.monotonic() < deadline
            consumer.poll(timeout_ms=200)
        end, _ = advance(reader, through_json(reader.initialOffset()))
        with caplog.at_level(logging.WARNING, "moldau.spark.source"):
            reader.commit(end)
            reader.commit(end)
            reader.latestOffset(end, ALL)
    finally:
        consumer.close()
    (record,) = caplog.records  # said once
    assert "the group taken cannot show how far the stream is" in record.getMessage()
    reader.commit(end)
    reader.stop()
    assert shown(node, "taken") == {TopicPartition(topic, 0): 5}


def test_an_older_checkpoint_is_noticed(
    node: Cluster, make: Make, create_topic: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    """The group remembers how far the query was, and the checkpoint says less."""
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(3))
    before = make(topic)
    first, _ = advance(before, through_json(before.initialOffset()))
    write(node.bootstrap_servers, topic, 0, rows(4))
    second, _ = advance(before, first)
    advance(before, second)
    before.stop()
    write(node.bootstrap_servers, topic, 0, rows(5))
    (group,) = [each for each in _groups(node) if each.endswith(query_in(first))]
    places = f"{topic}-0 at 3, was at 7 by its group '{group}'"
    for _ in range(2):  # it stays so until somebody decides
        with pytest.raises(OldCheckpoint, match=rf"{places}.*Delta.*moldau groups delete {group}"):
            advance(make(topic, failOnOldCheckpoint="true"), first)
    # The newest one goes on, and so does one that the group has not heard of yet.
    assert advance(make(topic, failOnOldCheckpoint="true"), second)[1] == [(0, 7, 12)]
    with caplog.at_level(logging.WARNING):
        after = make(topic)
        assert advance(after, first)[1] == [(0, 3, 12)]
        advance(after, first)
    assert [record.getMessage().count(places) for record in caplog.records] == [1]


def test_what_others_committed_says_nothing_about_a_checkpoint(
    node: Cluster, make: Make, create_topic: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    """Under a group that was given: another query, a consumer, and a former topic of the same name."""
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(3))
    named = {"kafka__group__id": f"shared-{topic}", "failOnOldCheckpoint": "true", "failOnDataLoss": "false"}
    ours, other = make(topic, **named), make(topic, **named)
    first, _ = advance(ours, through_json(ours.initialOffset()))
    ours.stop()
    write(node.bootstrap_servers, topic, 0, rows(4))
    end, _ = advance(other, through_json(other.initialOffset()))
    advance(other, end)
    other.stop()
    assert advance(make(topic, **named), first)[1] == [(0, 3, 7)]
    with KafkaConsumer(bootstrap_servers=node.bootstrap_servers, group_id=f"shared-{topic}") as consumer:
        consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(7)})
    assert advance(make(topic, **named), first)[1] == [(0, 3, 7)]
    # A topic made anew is a loss of data, which is another matter.
    going_on = make(topic, **named)
    second, _ = advance(going_on, first)
    advance(going_on, second)
    going_on.stop()
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.delete_topics([topic])
        admin.create_topics([NewTopic(topic, 1, 1)])
    write(node.bootstrap_servers, topic, 0, rows(2))
    assert advance(make(topic, **named), first)[1] == [(0, 0, 2)]


def test_queries_that_share_the_name_of_a_group_say_so(
    node: Cluster, make: Make, create_topic: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    """While they run, each once; and when one is started again. A query that is alone on its topics says nothing."""
    topic, elsewhere = create_topic(), create_topic()
    group = f"shared-{topic}"
    ours, other = make(topic, kafka__group__id=group), make(topic, kafka__group__id=group)

    def next_batch(reader: StreamReader, start: Any = None) -> Any:
        """Planned when the one before has been shown."""
        for each in (topic, elsewhere):
            write(node.bootstrap_servers, each, 0, rows(1))
        end, _ = advance(reader, start or through_json(reader.initialOffset()))
        assert reader._open is not None
        reader._open.group.settle()
        return end

    stranger = make(elsewhere, kafka__group__id=group)
    next_batch(stranger, next_batch(stranger))
    end = next_batch(ours, next_batch(ours))
    restarted = make(topic, kafka__group__id=group)
    end = next_batch(restarted, end)
    assert not caplog.records
    others_end = next_batch(other, next_batch(other))  # shows its first batch where ours did
    end = next_batch(restarted, end)
    (record,) = caplog.records
    said = f"the group {group} is given to several queries, {query_in(others_end)} and this one ({query_in(end)})"
    assert said in record.getMessage()
    next_batch(restarted, end)
    assert len(caplog.records) == 1
    next_batch(make(topic, kafka__group__id=group), others_end)
    assert f"{query_in(end)} and this one ({query_in(others_end)})" in caplog.records[-1].getMessage()


def _groups(node: Cluster) -> list[str]:
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        return [each["group_id"] for each in admin.list_groups()]


def test_what_is_shipped_to_workers_has_no_connection(
    node: Cluster, make: Make, create_topic: Callable[..., str]
) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(5))
    reader = make(topic)
    end, _ = advance(reader, start := through_json(reader.initialOffset()))
    shipped = pickle.loads(pickle.dumps(reader))
    (task,) = reader.partitions(start, end)
    assert sum(batch.num_rows for batch in shipped.read(task)) == 5
