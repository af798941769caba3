"""Changes of in-sync sets: what leaders propose, on its way to the controller and back (AlterPartition).

Of each partition one proposal is on its way at a time, and of all partitions one request, which carries everything that
was proposed meanwhile. A partition waits for the answer, or for the metadata that overtakes it. Only where the
controller is sure that a proposal was not and will not be taken may the leader go back to what it had; after any other
refusal it cannot know, and goes on waiting for both sets until the metadata tells.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, error_code
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
    ResponsePartitionData,
)
from moldau.replica.follower import NO_BROKER_EPOCH
from moldau.replica.in_sync_rules import IsrProposal
from moldau.replica.partition import Partition
from moldau.runtime.ports import Clock, Loop, TimerHandle
from moldau.types import Uuid

logger = logging.getLogger("moldau.replica")

_RETRY_SECONDS: Final = 0.05
# Partitions in one request: whoever decides over them should not be busy for long.
_MOST: Final = 1000

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


class Controller(Protocol):
    """The active controller, wherever it is; a failure comes after it was tried for some time."""

    def ask(self, request: Message) -> Deferred[Any]: ...


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
        self._controller = controller
        self._image = image
        self._max_lag_ms = max_lag_ms
        self._clock = clock
        self._loop = loop
        # Told of partitions whose in-sync set is another now, or is the old one after all.
        self._changed = changed
        self._unsent: dict[tuple[Uuid, int], IsrProposal] = {}
        self._in_flight = False
        self._timer: TimerHandle | None = None
        self._closed = False
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
        self._unsent[partition.topic_id, partition.topic_partition.partition] = proposal
        self._send_soon(0)

    def close(self) -> None:
        self._closed = True
        self._unsent.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _send_soon(self, seconds: float) -> None:
        """Later in this turn at the earliest, so that all that is proposed in it goes together."""
        if self._timer is None and not self._in_flight and not self._closed:
            self._timer = self._loop.call_later(seconds, self._send)

    def _send(self) -> None:
        self._timer = None
        proposals: list[IsrProposal] = []
        for key, proposal in list(self._unsent.items()):
            if len(proposals) == _MOST:
                break
            del self._unsent[key]
            # Overtaken by the metadata, or proposed anew.
            if proposal.partition.proposal is proposal:
                proposals.append(proposal)
        if not proposals:
            return
        self._in_flight = True
        request = AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch(), topics=self._topics(proposals)
        )
        self._controller.ask(request).then(lambda answer, error: self._answered(proposals, answer, error))

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
        self, proposals: list[IsrProposal], answer: AlterPartitionResponse | None, error: BaseException | None
    ) -> None:
        self._in_flight = False
        if self._closed:
            return
        seconds = 0.0
        if answer is None or answer.error_code != ErrorCode.NONE:
            reason = error if answer is None else error_code(answer.error_code).name
            logger.warning("the controller did not change %d in-sync sets: %s", len(proposals), reason)
            self._again(proposals)
            seconds = _RETRY_SECONDS
        else:
            told = {
                (topic.topic_id, partition.partition_index): partition
                for topic in answer.topics
                for partition in topic.partitions
            }
            left = [proposal for proposal in proposals if not self._settle(proposal, told)]
            if left:
                self._again(left)
                seconds = _RETRY_SECONDS
        if self._unsent:
            self._send_soon(seconds)

    def _again(self, proposals: list[IsrProposal]) -> None:
        for proposal in proposals:
            partition = proposal.partition
            self._unsent.setdefault((partition.topic_id, partition.topic_partition.partition), proposal)

    def _settle(self, proposal: IsrProposal, told: dict[tuple[Uuid, int], ResponsePartitionData]) -> bool:
        """False if the proposal has to be sent again."""
        partition = proposal.partition
        answer = told.get((partition.topic_id, partition.topic_partition.partition))
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
