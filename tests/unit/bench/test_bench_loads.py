from __future__ import annotations

import os
import shutil
import socket
import threading

import pytest
from bench import load
from bench.apache_kafka import parse_consumed, parse_end_to_end, parse_produced
from bench.frames import Frame, batch_of, produce_frame, values_of
from bench.profile import find, lost
from bench.results import Metric, Results
from bench.rows.growth import commit_frames
from bench.spark_rows import complaint, merge

from moldau.protocol.messages.produce import ProduceRequest
from moldau.protocol.records import Compression, decode_batch

VERSION = 9


def split(data: bytes) -> list[bytes]:
    frames = []
    while data:
        length = 4 + int.from_bytes(data[:4], "big")
        frames.append(data[:length])
        data = data[length:]
    return frames


def test_one_frame_for_each_partition_all_of_the_same_length():
    frame = produce_frame("topic", 2000, VERSION, 1, record=100, partitions=12)
    frames = split(frame.data)
    assert len({len(each) for each in frames}) == 1
    indexes = []
    for each in frames:
        body = each[4 + 8 + 2 + len("bench") + 1 :]
        (topic,) = ProduceRequest.decode(body, VERSION).topic_data
        (partition,) = topic.partition_data
        indexes.append(partition.index)
        assert len(decode_batch(partition.records, 0, len(partition.records))) == frame.records
    assert indexes == list(range(12))
    assert frame.payload == frame.records * 100


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("record", [100, 1000])
def test_a_batch_is_no_larger_than_asked_and_its_records_as_large_as_asked(codec, record):
    batch, count = batch_of(16384, record, codec)
    assert 0.85 * 16384 < count * record <= 16384
    records = decode_batch(batch, 0, len(batch))
    assert {len(each.value) for each in records} == {record}
    assert len(batch) <= 16384
    assert codec is Compression.NONE or len(batch) < 0.85 * 16384


def test_values_are_the_same_for_every_contender():
    assert values_of(5, 100) == values_of(5, 100)
    assert len(set(values_of(50, 100))) == 50


def test_each_group_commits_in_a_frame_of_its_own():
    frames = split(commit_frames("topic", 100, 8).data)
    assert len(set(frames)) == 100
    assert len({len(each) for each in frames}) == 1


def test_each_node_of_a_cluster_is_sent_its_own_frames(tmp_path):
    """Three listeners that answer whatever they are sent: each hears of one partition only."""
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None:
        pytest.skip("the load generator needs a C compiler")
    load.build()
    heard: dict[int, set[bytes]] = {number: set() for number in range(3)}
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in heard]

    def serve(number: int) -> None:
        connection, _ = servers[number].accept()
        with connection, connection.makefile("rb") as file:
            while head := file.read(4):
                body = file.read(int.from_bytes(head, "big"))
                if body[1] != 18:  # ApiVersions
                    heard[number].add(body)
                connection.sendall(b"\0\0\0\x0a" + bytes(10))

    threads = [threading.Thread(target=serve, args=(number,)) for number in heard]
    for thread in threads:
        thread.start()
    frames = [b"\0\0\0\x04\0\0\0" + bytes([number]) for number in heard]
    group = load.Group(
        "three",
        Frame(b"".join(frames), 0, 8),
        connections=3,
        ports=tuple(server.getsockname()[1] for server in servers),
    )
    load.run(servers[0].getsockname(), [group], warmup=0.0, seconds=0.1, directory=tmp_path)
    for thread in threads:
        thread.join()
    for server in servers:
        server.close()
    assert heard == {number: {frames[number][4:]} for number in heard}


def test_what_kafkas_programs_print_is_understood():
    produced = (
        "1000 records sent, 900.1 records/sec (0.09 MB/sec), 3.5 ms avg latency, 9.0 ms max latency.\n"
        "5000 records sent, 1200.500000 records/sec (0.11 MB/sec), 2.10 ms avg latency, 300.00 ms max latency, "
        "1 ms 50th, 4 ms 95th, 7 ms 99th, 21 ms 99.9th.\n"
    )
    assert parse_produced(produced) == {"records/s": 1200.5, "p99": 7000.0}
    consumed = (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
        "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
        "2026-01-01 08:00:00:000, 2026-01-01 08:00:05:000, 95.3674, 18.4, 1000000, 193836.0, 4114, 1045, 100.0, 956.5\n"
    )
    assert parse_consumed(consumed) == {"records/s": 956.5, "MB/s": pytest.approx(104.8576)}
    latency = "0\t80.2\nAvg latency: 3.0840 ms\nPercentiles: 50th = 1, 99th = 12, 99.9th = 21\n"
    assert parse_end_to_end(latency) == {"mean": 3084.0, "p99": 12000.0}


def test_rows_of_spark_are_taken_over():
    results = Results({})
    rows = {
        "topic to count": {
            "rows/s": {"moldau": [3e6, 4e6], "kafka": [1e6]},
            "CPU s per million": {"moldau": [0.5], "kafka": [1.5]},
            "failures": {},
        },
        "topic to Parquet": {
            "rows/s": {"moldau": [2e6]},
            "CPU s per million": {"moldau": [1.0]},
            "failures": {"kafka": "it ended early"},
        },
    }
    merge(results, {"records": 10, "rows": rows})
    rates = results.get("Spark: topic to count", "rows/s").values
    assert rates == {"moldau": [3e6, 4e6], "Spark's connector": [1e6]}
    assert results.get("Spark: topic to count", "CPU").values["moldau"] == [0.5]
    assert results.reasons["Spark: topic to Parquet", "Spark's connector"] == "it ended early"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "Traceback\n  file\nModuleNotFoundError: No module named 'pyspark'\n",
            "ModuleNotFoundError: No module named 'pyspark'",
        ),
        ("x\ncom.Exception: [CODE] it broke\n  at a\n SQLSTATE: 38000\n", "com.Exception: [CODE] it broke"),
        ("the connector could not be fetched\n", "the connector could not be fetched"),
        ("", ""),
    ],
)
def test_why_spark_was_not_measured_is_one_line(said, why):
    assert complaint(said) == why


def test_a_row_to_profile_is_found_by_its_title_or_by_words():
    title = "produce 1 MiB batches of 1 KB records, acks=1, zstd, 12 partitions"
    assert find(title).title == title
    assert find("zstd 1 MiB acks=1 12 1 KB").title == title
    assert find("no such row") is None


def test_rows_that_were_lost_are_profiled_in_their_order_if_they_can_be():
    results = Results()
    commits, streams = "2,000 groups commit offsets on 10 connections", "one record beside two 1 MiB streams"
    for title, ours in (
        (commits, 1.0),
        ("start, empty", 1.0),
        (streams, 1.0),
        ("1 record per request, 50 connections", 3.0),
    ):
        results.add("C", title, Metric("rate", "/s"), "moldau", ours)
        results.add("C", title, Metric("rate", "/s"), "Kafka", 2.0)
    assert [row.title for row in lost(results)] == [streams, commits]
    assert lost(Results()) == []
