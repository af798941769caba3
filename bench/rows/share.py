"""Share groups of 1, 10 and 100 members: how many records a second they accept, and how soon a member has one.

Members are connections of one program (`bench/share.c`) that acquire and accept records as consumers with implicit
acknowledgement do. They have joined the group before, so the coordinator counts them all; who reads which partitions
is the same for every broker. A record counts as accepted when the broker has answered that this is written down.
"""

from __future__ import annotations

import itertools
import time

from bench.contenders import Contender, Running
from bench.conversation import Conversation
from bench.frames import produce_frame
from bench.load import accepted_by_members, had_by_members
from bench.results import Metric, percentile
from bench.rows.row import KIB, P50, P99, Measure, Plan, Row, one_record, topic, topic_id
from moldau.errors import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

CHAPTER = "Share groups"
MEMBERS = (1, 10, 100)
PARTITIONS = 6
RECORDS_PER_SECOND = 400_000  # of a load: so many lie there for each second of it, of 100 bytes, in batches of 16 KiB
RATE = 1000  # records a second that are sent one by one while members wait
WARMING = 0.2  # of the records, which do not count
PATIENCE_SECONDS = 60
_GROUP = 32  # kind of resource
_JOINING, _LEAVING = 0, -1

_numbers = itertools.count(1)


def members(number: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        with topic(broker, PARTITIONS) as name:
            there = filled(broker, plan, name, int(plan.seconds * RECORDS_PER_SECOND))
            group = joined(broker, name, number)
            warmup = int(there * WARMING)
            known = topic_id(broker, name, plan).hex()
            rate = accepted_by_members(broker.address, group, known, PARTITIONS, number, warmup, there - warmup)
            left(broker, group, number)
        with topic(broker, PARTITIONS) as name:
            group = joined(broker, name, number)
            known, sent = topic_id(broker, name, plan).hex(), int(plan.seconds * RATE)
            times = had_by_members(
                *(broker.address, group, known, PARTITIONS, number, sent // 5, sent),
                frames=one_record(name, plan, PARTITIONS),
                rate=RATE,
                directory=plan.directory,
            )
            left(broker, group, number)
        return {"records/s": rate, "p50": percentile(times, 0.5), "p99": percentile(times, 0.99)}

    return measure


def filled(broker: Running, plan: Plan, name: str, records: int) -> int:
    """How many records lie in the topic then."""
    frames = produce_frame(name, 16 * KIB, plan.produce_version, partitions=PARTITIONS)
    length, there = len(frames.data) // PARTITIONS, 0
    with Conversation(broker.address) as conversation:
        while there < records:
            for at in range(0, len(frames.data), length):
                conversation.send(frames.data[at : at + length])
                there += frames.records
    return there


def joined(broker: Running, name: str, number: int) -> str:
    """A group that begins where the topic does. Returns when its members have partitions to read from, which is when
    their state is there."""
    group = f"share-{next(_numbers):06d}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    with Conversation(broker.address) as conversation:
        setting = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
        resource = AlterConfigsResource(resource_type=_GROUP, resource_name=group, configs=[setting])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        (altered,) = conversation.ask(request, 1, IncrementalAlterConfigsResponse).responses
        if altered.error_code:
            raise RuntimeError(f"the group could not be set: error {altered.error_code}")
        find = FindCoordinatorRequest(key=group)
        while conversation.ask(find, 2, FindCoordinatorResponse).error_code and time.monotonic() < deadline:
            time.sleep(0.05)
        epochs = [_JOINING] * number
        waiting = set(range(number))
        while waiting:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(waiting)} of {number} members were not given anything to read")
            for member in sorted(waiting):
                answer = beat(conversation, group, member, epochs[member], name)
                epochs[member] = answer.member_epoch if not answer.error_code else epochs[member]
                if answer.assignment is not None and answer.assignment.topic_partitions:
                    waiting.discard(member)
            time.sleep(0.05 if waiting else 0)
    return group


def beat(conversation: Conversation, group: str, member: int, epoch: int, name: str) -> ShareGroupHeartbeatResponse:
    topics = [name] if epoch == _JOINING else None
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=f"AAAAAAAAAAAAAAAAAA{member:04d}", member_epoch=epoch, subscribed_topic_names=topics
    )
    answer = conversation.ask(request, 1, ShareGroupHeartbeatResponse)
    passing = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
    if answer.error_code and answer.error_code not in passing:
        raise RuntimeError(f"a member was refused: error {answer.error_code} {answer.error_message or ''}")
    return answer


def left(broker: Running, group: str, number: int) -> None:
    with Conversation(broker.address) as conversation:
        for member in range(number):
            beat(conversation, group, member, _LEAVING, "")


def has_share_groups(contender: Contender) -> str:
    return "" if contender.durable else "has no share groups"


ROWS = [
    Row(
        CHAPTER,
        f"share group of {number} {'member' if number == 1 else 'members'}",
        [Metric("records/s", "/s"), P50, P99],
        members(number),
        cost=8.0,
        unable=has_share_groups,
    )
    for number in MEMBERS
]
