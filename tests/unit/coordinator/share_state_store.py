"""The share coordinators of a cluster, in a dictionary: where each group is in each partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moldau.deferred import Deferred, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import delete_share_group_state as deletes
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.types import TopicPartition, Uuid


class ShareStates:
    """`refuse` is what every share partition is answered with, if it is set. While `held` is a list the answers wait in
    it until somebody calls them."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, Uuid, int], int] = {}
        self.done: dict[tuple[str, Uuid, int], int] = {}
        self.ends: dict[TopicPartition, int | KafkaError] = {}
        self.refuse = ErrorCode.NONE
        self.held: list[Any] | None = None
        # How often each share partition was initialised.
        self.asked = 0

    def initialize(self, request: Any) -> Deferred[Any]:
        results = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                self.asked += 1
                if not self.refuse:
                    self.offsets[request.group_id, topic.topic_id, row.partition] = row.start_offset
                rows.append(initializes.PartitionResult(partition=row.partition, error_code=self.refuse))
            results.append(initializes.InitializeStateResult(topic_id=topic.topic_id, partitions=rows))
        return self._answer(initializes.InitializeShareGroupStateResponse(results=results))

    def delete(self, request: Any) -> Deferred[Any]:
        results = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                if not self.refuse:
                    self.offsets.pop((request.group_id, topic.topic_id, row.partition), None)
                rows.append(deletes.PartitionResult(partition=row.partition, error_code=self.refuse))
            results.append(deletes.DeleteStateResult(topic_id=topic.topic_id, partitions=rows))
        return self._answer(deletes.DeleteShareGroupStateResponse(results=results))

    def read_summary(self, request: Any) -> Deferred[Any]:
        results = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                where = request.group_id, topic.topic_id, row.partition
                rows.append(
                    summaries.PartitionResult(
                        partition=row.partition,
                        error_code=self.refuse,
                        start_offset=self.offsets.get(where, -1),
                        delivery_complete_count=self.done.get(where, -1),
                    )
                )
            results.append(summaries.ReadStateSummaryResult(topic_id=topic.topic_id, partitions=rows))
        return self._answer(summaries.ReadShareGroupStateSummaryResponse(results=results))

    def end_offsets(self, partitions: list[TopicPartition]) -> Deferred[Mapping[TopicPartition, int | KafkaError]]:
        return ready({where: self.ends.get(where, 0) for where in partitions})

    def _answer(self, response: Any) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        if self.held is None:
            answer.resolve(response)
        else:
            self.held.append(lambda: answer.resolve(response))
        return answer

    def let_go(self) -> None:
        held, self.held = self.held or [], None
        for answer in held:
            answer()
