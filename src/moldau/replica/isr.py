"""Changes of in-sync sets: what leaders propose, on its way to the controller and back (AlterPartition).

Of each partition one proposal is on its way at a time, and of all partitions one request, which carries everything that
was proposed meanwhile. A partition waits for the answer, or for the metadata that overtakes it. Only where the
controller is sure that a proposal was not and will not be taken may the leader go back to what it had; after any other
refusal it cannot know, and goes on waiting for both sets until the metadata tells.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from moldau.errors import ErrorCode, error_code
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from moldau.replica.controller_requests import MOST, Controller, ControllerRequests
from moldau.replica.follower import NO_BROKER_EPOCH
from moldau.replica.in_sync_rules import IsrProposal
from moldau.replica.partition import Partition
from moldau.replica.source_session import PartitionKey
from moldau.runtime.ports import Clock, Loop
from moldau.types import Uuid

logger = logging.getLogger("moldau.replica")

_RETRY_SECONDS: Final = 0.05

# The proposal was not taken and will not be: the partition is as it was.
_NOT_ATTEMPTED: Final = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
# What we know of the partition is not the latest: the metadata is on its way.
_OUT_OF_DATE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)


class IsrChanges:
    """The rules of the in-sync set as this broker knows them, and the proposals of all its partitions."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        controller: Controller,
        image: Callable[[], MetadataImage],
        max_lag_ms: Callable[[], int],
        clock: Clock,
        loop: Loop,
        changed: Callable[[Partition], None],
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._image = image
        self._max_lag_ms = max_lag_ms
        self._clock = clock
        # Told of partitions whose in-sync set is another now, or is the old one after all.
        self._changed = changed
        self._requests: ControllerRequests[IsrProposal] = ControllerRequests(
            controller, loop, self._next_request, self._answered
        )
        # Counted for metrics.
        self.shrinks = 0
        self.expansions = 0

    # ------------------------------------------------------------------------------------------------------ rules

    @property
    def max_lag_ms(self) -> int:
        return self._max_lag_ms()

    def now_ms(self) -> int:
        # Lag is a duration: nobody falls out of sync because somebody set the wall clock.
        return int(self._clock.monotonic() * 1000)

    def is_alive(self, broker_id: int) -> bool:
        broker = self._image().cluster.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    def is_stale(self, broker_id: int, broker_epoch: int) -> bool:
        broker = self._image().cluster.brokers.get(broker_id)
        return broker is not None and broker.epoch > broker_epoch

    def may_join(self, broker_id: int, broker_epoch: int | None) -> bool:
        broker = self._image().cluster.brokers.get(broker_id)
        if broker is None or not broker.is_active or broker_epoch is None:
            return False
        return broker_epoch in (NO_BROKER_EPOCH, broker.epoch)

    # -------------------------------------------------------------------------------------------------- proposals

    def propose(self, proposal: IsrProposal) -> None:
        partition = proposal.partition
        self._requests.add((partition.topic_id, partition.topic_partition.partition), proposal)

    def close(self) -> None:
        self._requests.close()

    def _next_request(self) -> tuple[AlterPartitionRequest, dict[PartitionKey, IsrProposal]] | None:
        # Not those that were overtaken by the metadata, or proposed anew.
        wanted = ((key, proposal) for key, proposal in self._requests.taken() if proposal.is_current)
        proposals = dict(islice(wanted, MOST))
        if not proposals:
            return None
        request = AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch(), topics=self._topics(proposals.values())
        )
        return request, proposals

    def _topics(self, proposals: Iterable[IsrProposal]) -> list[RequestTopicData]:
        topics: dict[Uuid, RequestTopicData] = {}
        for proposal in proposals:
            partition = proposal.partition
            topic = topics.setdefault(partition.topic_id, RequestTopicData(topic_id=partition.topic_id))
            topic.partitions.append(
                RequestPartitionData(
                    partition_index=partition.topic_partition.partition,
                    leader_epoch=proposal.leader_epoch,
                    partition_epoch=proposal.partition_epoch,
                    new_isr_with_epochs=[
                        BrokerState(broker_id=member, broker_epoch=self._epoch_of(partition, member))
                        for member in proposal.isr
                    ],
                )
            )
        return list(topics.values())

    def _epoch_of(self, partition: Partition, member: int) -> int:
        """The life in which a replica was last heard of: the controller refuses one that has begun anew since."""
        if member == self._broker_id:
            return self._broker_epoch()
        follower = partition.followers.get(member)
        return NO_BROKER_EPOCH if follower is None or follower.broker_epoch is None else follower.broker_epoch

    def _answered(
        self,
        proposals: dict[PartitionKey, IsrProposal],
        answer: AlterPartitionResponse | None,
        error: BaseException | None,
    ) -> float:
        if answer is None or answer.error_code != ErrorCode.NONE:
            reason = error if answer is None else error_code(answer.error_code).name
            logger.warning("the controller did not change %d in-sync sets: %s", len(proposals), reason)
            left = list(proposals.items())
        else:
            told = {
                (topic.topic_id, partition.partition_index): partition
                for topic in answer.topics
                for partition in topic.partitions
            }
            left = [(key, proposal) for key, proposal in proposals.items() if not self._settle(proposal, told.get(key))]
        self._requests.again(left)
        return _RETRY_SECONDS if left else 0.0

    def _settle(self, proposal: IsrProposal, answer: ResponsePartitionData | None) -> bool:
        """False if the proposal has to be sent again."""
        partition = proposal.partition
        if answer is None:
            return False
        if answer.error_code == ErrorCode.NONE:
            self.expansions += proposal.grows
            self.shrinks += not proposal.grows
            if partition.isr_committed(tuple(answer.isr), answer.leader_epoch, answer.partition_epoch):
                logger.info("in sync with %s are now %s", partition.topic_partition, list(partition.isr))
                self._changed(partition)
            return True
        if answer.error_code in _NOT_ATTEMPTED:
            partition.isr_not_attempted(proposal)
            self._changed(partition)
            return True
        return answer.error_code in _OUT_OF_DATE
