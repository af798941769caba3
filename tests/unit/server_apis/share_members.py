"""Members of a share group, each on a connection of its own, and the node they talk to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from in_process_node import InProcessNode, Wire, request_frame

from moldau.errors import ErrorCode
from moldau.protocol.api import RESPONSES, response_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages import incremental_alter_configs as alters
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.protocol.messages import share_acknowledge as acknowledging
from moldau.protocol.messages import share_fetch as fetching
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.records import Record, encode_batch

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "1000",
    "group.share.max.share.sessions": "3",
}
LONG = 20_000


class Member:
    """One member on a connection of its own, which counts the epochs of its session."""

    def __init__(self, world: World, name: str | None, group: str | None = "g") -> None:
        self.world = world
        self.name = name
        self.group = group
        self.epoch = 0
        self.wire = Wire()
        self.connection = world.node.connect(self.wire)

    def begin(self, request: Message, version: int = 2) -> None:
        frame = request_frame(request, version)
        self.wire.sent.clear()
        self.connection.frame(memoryview(frame), 0, len(frame))

    @property
    def has_answer(self) -> bool:
        return bool(self.wire.sent)

    def answer(self, kind: type[Message], version: int = 2) -> Any:
        self.world.node.turn_until(lambda: bool(self.wire.sent))
        (data,) = self.wire.sent
        return kind.decode(data[8 + response_header_version(kind.API_KEY, version) :], version)

    def begin_fetch(
        self, *said: tuple[int, int, Sequence[int]], wait: int = 0, epoch: int | None = None, **more: Any
    ) -> None:
        batches = [
            fetching.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in said
        ]
        row = fetching.FetchPartition(partition_index=0, acknowledgement_batches=batches)
        asked = {"max_records": 500, "batch_size": 500, "min_bytes": 1, **more}
        request = fetching.ShareFetchRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.epoch if epoch is None else epoch,
            max_wait_ms=wait,
            topics=[fetching.FetchTopic(topic_id=self.world.topic_id, partitions=[row])],
            **asked,
        )
        self.begin(request)

    def fetched(self) -> Any:
        response = self.answer(fetching.ShareFetchResponse)
        if not response.error_code:
            self.epoch += 1
        return response

    def fetch(self, *said: tuple[int, int, Sequence[int]], **more: Any) -> Any:
        self.begin_fetch(*said, **more)
        return self.fetched()

    def acknowledge(self, *said: tuple[int, int, Sequence[int]], epoch: int | None = None, renews: bool = False) -> Any:
        row = acknowledging.AcknowledgePartition(partition_index=0)
        row.acknowledgement_batches = [
            acknowledging.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
            for first, last, types in said
        ]
        topics = [acknowledging.AcknowledgeTopic(topic_id=self.world.topic_id, partitions=[row])] if said else []
        request = acknowledging.ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.epoch if epoch is None else epoch,
            is_renew_ack=renews,
            topics=topics,
        )
        self.begin(request)
        response = self.answer(acknowledging.ShareAcknowledgeResponse)
        if not response.error_code:
            self.epoch += 1
        return response


class World:
    def __init__(self, data: Path) -> None:
        self.node = InProcessNode(data, compiled=True, settings=SETTINGS)
        self.topic_id = self.node.create_topic("orders")
        row = initializes.PartitionData(partition=0, state_epoch=1, start_offset=0)
        topics = [initializes.InitializeStateData(topic_id=self.topic_id, partitions=[row])]
        request = initializes.InitializeShareGroupStateRequest(group_id="g", topics=topics)
        self.node.settle(self.node.node.services.share_persister.initialize(request))

    def ask(self, request: Message, version: int) -> Any:
        return self.node.ask(request, version, RESPONSES[request.API_KEY])

    def produce(self, count: int, transactional_id: str | None = None, size: int = 0, **batch: Any) -> None:
        records = bytes(
            encode_batch(
                [Record(at, 1_700_000_000_000, None, b"%d" % at + bytes(size), []) for at in range(count)], **batch
            )
        )
        row = PartitionProduceData(index=0, records=memoryview(records))
        data = [TopicProduceData(name="orders", partition_data=[row])]
        request = ProduceRequest(acks=-1, timeout_ms=LONG, topic_data=data, transactional_id=transactional_id)
        response = self.ask(request, 9)
        assert response.responses[0].partition_responses[0].error_code == 0

    def setting(self, name: str, value: str) -> None:
        change = alters.AlterableConfig(name=name, config_operation=0, value=value)
        resource = alters.AlterConfigsResource(resource_type=32, resource_name="g", configs=[change])
        response = self.ask(alters.IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert response.responses[0].error_code == 0, response

    def stored(self) -> tuple[int, int]:
        row = summaries.PartitionData(partition=0, leader_epoch=-1)
        topics = [summaries.ReadStateSummaryData(topic_id=self.topic_id, partitions=[row])]
        request = summaries.ReadShareGroupStateSummaryRequest(group_id="g", topics=topics)
        answer = self.node.settle(self.node.node.services.share_persister.read_summary(request))
        found = answer.results[0].partitions[0]
        return found.start_offset, found.delivery_complete_count

    def wait(self, seconds: float) -> None:
        self.node.runtime.loop.call_later(seconds, self.node.runtime.loop.stop)
        self.node.runtime.loop.run()


def acquired(response: Any) -> list[tuple[int, int, int]]:
    assert response.error_code == 0, response
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for topic in response.responses
        for row in topic.partitions
        for each in row.acquired_records
    ]


def codes(response: Any) -> list[tuple[int, int]]:
    return [(row.error_code, row.acknowledge_error_code) for topic in response.responses for row in topic.partitions]


def error(response: Any) -> ErrorCode:
    return ErrorCode(response.error_code)
