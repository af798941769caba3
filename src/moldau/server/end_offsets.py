"""The ends of partitions, wherever they are led: what a coordinator needs to say how far a group has to go.

Of partitions led here the high watermark is looked at; the leaders of the others are asked with ListOffsets, as a
consumer would ask, one request to each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Final, cast

from moldau.deferred import Deferred, gather, mapped, ready
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.replica.manager import ReplicaManager
from moldau.server.other_brokers import OtherBrokers, code_of
from moldau.types import NO_LEADER, TopicPartition

_LATEST: Final = -1
_AS_A_CONSUMER: Final = -1
_LINE: Final = "end offsets"

Ends = dict[TopicPartition, int | KafkaError]


class EndOffsets:
    """Without `brokers` this node leads everything there is."""

    def __init__(
        self,
        node_id: int,
        replicas: ReplicaManager,
        image: Callable[[], MetadataImage],
        brokers: OtherBrokers | None,
    ) -> None:
        self._node_id = node_id
        self._replicas = replicas
        self._image = image
        self._brokers = brokers

    def of(self, partitions: list[TopicPartition]) -> Deferred[Mapping[TopicPartition, int | KafkaError]]:
        by_leader: dict[int, list[TopicPartition]] = {}
        for where in partitions:
            topic = self._image().topics.get(where.topic)
            state = None if topic is None else topic.partitions.get(where.partition)
            by_leader.setdefault(NO_LEADER if state is None else state.leader, []).append(where)
        found = [self._ask(leader, some) for leader, some in by_leader.items()]
        return mapped(gather(found), lambda ends: {where: end for some in ends for where, end in some.items()})

    def _ask(self, leader: int, partitions: list[TopicPartition]) -> Deferred[Ends]:
        if leader == self._node_id:
            return ready({where: self._here(where) for where in partitions})
        if leader == NO_LEADER or self._brokers is None:
            return ready({where: KafkaError(ErrorCode.LEADER_NOT_AVAILABLE) for where in partitions})
        answer: Deferred[Ends] = Deferred()

        def answered(response: Message | None, error: BaseException | None) -> None:
            ends: Ends = dict.fromkeys(partitions, KafkaError(code_of(error)))
            if response is not None:
                ends.update(_ends(cast("ListOffsetsResponse", response)))
            answer.resolve(ends)

        self._brokers.ask(leader, _request(partitions), _LINE).then(answered)
        return answer

    def _here(self, where: TopicPartition) -> int | KafkaError:
        try:
            held = self._replicas.get(where.topic, where.partition)
            held.check_leader(-1)
        except KafkaError as error:
            return error
        return held.log.high_watermark


def _request(partitions: list[TopicPartition]) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=_AS_A_CONSUMER,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[ListOffsetsPartition(partition_index=each.partition, timestamp=_LATEST) for each in some],
            )
            for name, some in groupby(sorted(partitions), key=lambda each: each.topic)
        ],
    )


def _ends(response: ListOffsetsResponse) -> Ends:
    return {
        TopicPartition(topic.name, row.partition_index): (
            KafkaError(error_code(row.error_code)) if row.error_code else row.offset
        )
        for topic in response.topics
        for row in topic.partitions
    }
