"""How cost grows: with partitions, with groups and with the size of a log. Connections have a chapter of their own.

The load stays the same from point to point, so that a line that rises is a cost of the number itself.
"""

from __future__ import annotations

import time

from bench.contenders import Contender, Running, fresh
from bench.conversation import Conversation, frame, read_answer, response_body_at
from bench.frames import Frame, fetch_frame, place_of, produce_frame
from bench.load import Group
from bench.open_log import seconds_to_open
from bench.results import Metric
from bench.rows.row import (
    KIB,
    P50,
    P99,
    P999,
    FreshMeasure,
    Measure,
    Plan,
    Row,
    latencies,
    load,
    needs_log,
    one_record,
    topic,
    topic_id,
    us,
    warm,
)
from moldau.errors import ErrorCode
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

PARTITIONS = (1, 100, 1000, 5000)
GROUPS = (1, 100, 2000)
LOG_MB = (10, 100, 1000)
SEGMENTS = (10, 100, 1000)
PARTITION_LOAD = 4000  # requests per second
PATIENCE_SECONDS = 60


# -------------------------------------------------------------------------------------------------------- partitions


def partitions(number: int) -> FreshMeasure:
    def measure(contender: Contender, plan: Plan) -> dict[str, float]:
        with contender.run(fresh(plan.directory / "fresh")) as broker:
            began = time.perf_counter()
            broker.create_topic("many", number)
            made = time.perf_counter() - began
            request = one_record("many", plan, number)
            # Once to each partition: whatever the first record of a partition costs is not what grows here.
            warm(contender, broker, plan, request)
            before, began = broker.cpu_seconds(), time.perf_counter()
            group = Group("many", request, connections=10, depth=5, rate=PARTITION_LOAD)
            result = load(broker, plan, [group])["many"]
            cpu = (broker.cpu_seconds() - before) / (time.perf_counter() - began)
            memory, _ = broker.memory_mb()
        return {
            **latencies(result),
            "CPU": cpu * 100,
            "memory": memory,
            "created": made * 1000,
        }

    return measure


# ------------------------------------------------------------------------------------------------------------ groups


def commit_frames(name: str, number: int, version: int) -> Frame:
    """One offset of one group per request, the groups in turn."""

    def ask(group: int) -> bytes:
        row = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        topics = [OffsetCommitRequestTopic(name=name, partitions=[row])]
        return frame(OffsetCommitRequest(group_id=f"g-{group:06d}", topics=topics), version)

    def answer(code: int) -> bytes:
        row = OffsetCommitResponsePartition(partition_index=0, error_code=code)
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name=name, partitions=[row])]).encode(version)

    error_at = response_body_at(ApiKey.OFFSET_COMMIT, version) + place_of(answer)
    return Frame(b"".join(map(ask, range(number))), 0, error_at)


def groups(number: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        version = plan.version(ApiKey.OFFSET_COMMIT, 8)
        with topic(broker) as name:
            commits = commit_frames(name, number, version)
            commit_once(broker, commits, number, version)
            before = broker.cpu_seconds()
            result = load(broker, plan, [Group("commit", commits, connections=10)])["commit"]
            cpu = broker.cpu_seconds() - before
        spent = cpu / (result.per_second * (plan.seconds + plan.warmup)) * 1e6
        return {"commits/s": result.per_second, **latencies(result), "CPU/commit": spent}

    return measure


def commit_once(broker: Running, commits: Frame, number: int, version: int) -> None:
    length = len(commits.data) // number
    deadline = time.monotonic() + PATIENCE_SECONDS
    with Conversation(broker.address) as conversation:
        find = FindCoordinatorRequest(key="g-000000")
        while conversation.ask(find, 2, FindCoordinatorResponse).error_code and time.monotonic() < deadline:
            time.sleep(0.05)
        for at in range(0, len(commits.data), length):
            while True:
                answer = read_answer(conversation.send(commits.data[at : at + length]), OffsetCommitResponse, version)
                code = answer.topics[0].partitions[0].error_code
                if code == 0:
                    break
                if time.monotonic() > deadline or code == ErrorCode.UNKNOWN_MEMBER_ID:
                    raise RuntimeError(f"offsets were refused with error {code}")
                time.sleep(0.02)


# ---------------------------------------------------------------------------------------------------- size of a log


def log_size(megabytes: int) -> Measure:
    """Fetches of 16 KiB all over the log."""

    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        with topic(broker) as name:
            filling = produce_frame(name, 64 * KIB, plan.produce_version)
            batches = megabytes * 1_000_000 // filling.payload
            with Conversation(broker.address) as conversation:
                for _number in range(batches):
                    conversation.send(filling.data)
            frame = fetch_frame(name, topic_id(broker, name, plan), 16 * KIB, plan.version(ApiKey.FETCH))
            last = (batches - 1) * filling.records
            # A step of 0.618 of the log visits all of it without any order that could be guessed.
            group = Group("fetch", frame, connections=4, stride=max(1, int(last * 0.381966)), last=last)
            before = broker.cpu_seconds()
            result = load(broker, plan, [group])["fetch"]
            cpu = broker.cpu_seconds() - before
        spent = cpu / (result.per_second * (plan.seconds + plan.warmup)) * 1e6
        return {"fetches/s": result.per_second, **latencies(result), "CPU/fetch": spent}

    return measure


def opening(segments: int) -> FreshMeasure:
    def measure(_: Contender, __: Plan) -> dict[str, float]:
        return {"opened": seconds_to_open(segments, segments / 100)[0] * 1000}

    return measure


def only_ours(contender: Contender) -> str:
    if contender.name == "moldau":
        return ""
    return (
        "cannot be asked to open one log alone; its whole start is in the chapter Start"
        if contender.durable
        else ("keeps no log")
    )


ROWS = (
    [
        Row(
            "Partitions",
            f"{number:,} partition{'s' if number > 1 else ''}, {PARTITION_LOAD:,} one-record requests/s",
            [
                P50,
                P99,
                P999,
                Metric("CPU", "% of a core", False),
                Metric("memory", "MB", False),
                Metric("created", "ms", False),
            ],
            fresh=partitions(number),
            cost=40.0 + number / 1000,
            quick=number in (1, 1000),
        )
        for number in PARTITIONS
    ]
    + [
        Row(
            "Groups",
            f"{number:,} group{'s' if number > 1 else ''} commit offsets on 10 connections",
            [Metric("commits/s", "/s"), P50, P99, P999, us("CPU/commit")],
            groups(number),
            cost=0.3 + number / 2500,
            quick=number in (1, 100),
        )
        for number in GROUPS
    ]
    + [
        Row(
            "Size of a log",
            f"fetch 16 KiB anywhere in a log of {number:,} MB",
            [Metric("fetches/s", "/s"), P50, P99, P999, us("CPU/fetch")],
            log_size(number),
            cost=number / 300,
            quick=number == 10,
            unable=needs_log,
        )
        for number in LOG_MB
    ]
    + [
        Row(
            "Size of a log",
            f"open a log of {number:,} segments after a clean stop",
            [Metric("opened", "ms", False)],
            fresh=opening(number),
            cost=number / 400,
            most=1,
            quick=number == 10,
            unable=only_ours,
        )
        for number in SEGMENTS
    ]
)
