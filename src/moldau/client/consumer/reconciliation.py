"""Membership in a group of the new protocol (KIP-848): the coordinator decides who reads what.

There are no rounds. Heartbeats say what we want and what we have; an answer may bring another target, which is worked
towards in `poll`: what is to go is given back first, and the next heartbeat says so. Everything but the wire is as in
a classic group with a cooperative assignor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final
from uuid import uuid4

from moldau.client.consumer.assignors import CooperativeStickyAssignor
from moldau.client.consumer.membership import ClassicMembership, GroupOptions, Joined
from moldau.client.conversation import Ask, Conversation, Learn, Pause
from moldau.client.leaders import by_topic
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from moldau.types import TopicPartition, uuid_to_text

_JOINING: Final = 0
_LEAVING: Final = -1
_LEAVING_FOR_A_WHILE: Final = -2

# The coordinator has counted us out: what we had may be read by others.
_COUNTED_OUT: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH)


class ConsumerMembership(ClassicMembership):
    """`generation` is the member epoch here."""

    def __init__(self, network: ClientNetwork, options: GroupOptions, wake: Callable[[], None]) -> None:
        # What is still ours is read on during a change, as with the assignor of that kind.
        super().__init__(network, replace(options, assignors=(CooperativeStickyAssignor(),)), wake)
        self.member_id = uuid_to_text(uuid4().bytes)
        self.generation = -1
        self._interval = options.heartbeat_interval
        self._target: list[TopicPartition] = []
        self._known_topics: frozenset[str] = frozenset()

    def join(self) -> Conversation[Joined]:
        """Says what we want and have, and returns with what we shall have."""
        self._stable = False
        failures = 0
        while self._is_wanted():
            self.rejoin = False
            try:
                yield from self._say(_JOINING if self.generation < 0 else self.generation)
            except KafkaError as error:
                self.coordinator.doubt(error)
                if error.code in _COUNTED_OUT:
                    self._forget()
                    if self.lost:
                        # The application has to hear of it before anything is taken up again.
                        return Joined(self.options.assignors[0], [])
                elif not (error.retriable or error.code is ErrorCode.UNRELEASED_INSTANCE_ID):
                    self.rejoin = True
                    raise
                yield Pause(failures, error)
                failures += 1
                continue
            if not self._is_wanted():
                break
            self._stable = True
            self.rounds += 1
            self._schedule()
            return Joined(self.options.assignors[0], list(self._target))
        yield from self.leave()
        return Joined(self.options.assignors[0], [])

    def _say(self, epoch: int) -> Conversation[None]:
        self._known_topics = self.topics
        view: ClusterView = yield Learn(sorted(self.topics))
        options = self.options
        request = ConsumerGroupHeartbeatRequest(
            group_id=options.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=options.instance_id,
            rebalance_timeout_ms=options.rebalance_timeout_ms,
            subscribed_topic_names=sorted(self.topics),
            topic_partitions=[
                RequestTopicPartitions(topic_id=view.topic(name).id, partitions=[where.partition for where in group])
                for name, group in by_topic([] if epoch == _JOINING else self.owned).items()
            ],
        )
        response: ConsumerGroupHeartbeatResponse = yield from self.coordinator.ask(Ask(request))
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, response.error_message)
        self.generation = response.member_epoch
        if response.heartbeat_interval_ms > 0:
            self._interval = response.heartbeat_interval_ms / 1000
        if response.assignment is not None:
            self._target = yield from self._named(response.assignment)

    def _named(self, assignment: Assignment) -> Conversation[list[TopicPartition]]:
        """The coordinator names topics by id; ids that are not known yet belong to topics that are new."""
        view: ClusterView = yield Learn(sorted(self.topics))
        if any(view.topic_by_id(entry.topic_id) is None for entry in assignment.topic_partitions):
            view = yield Learn(sorted(self.topics), anew=True)
        target: list[TopicPartition] = []
        for entry in assignment.topic_partitions:
            topic = view.topic_by_id(entry.topic_id)
            if topic is not None:
                target += [TopicPartition(topic.name, number) for number in entry.partitions]
        return sorted(target)

    # ------------------------------------------------------------------------------------------------ staying alive

    @property
    def _beat_interval(self) -> float:
        return self._interval

    def _heartbeat(self) -> Conversation[ErrorCode]:
        try:
            yield from self._say(self.generation)
        except KafkaError as error:
            self.coordinator.doubt(error)
            return error.code
        return ErrorCode.NONE

    def _heard(self, generation: int, code: ErrorCode | None) -> None:
        self._beating = False
        if code is None or not self._stable:
            return
        if code in _COUNTED_OUT:
            self._forget()
            self._wake()
        elif code is ErrorCode.FENCED_INSTANCE_ID:
            self.fatal = KafkaError(code)
            self._wake()
        elif sorted(self.owned) != self._target or self._known_topics != self.topics:
            self.rejoin = True
            self._wake()

    def _forget(self) -> None:
        member_id = self.member_id
        super()._forget()
        self.member_id = member_id
        self._target = []

    def leave(self) -> Conversation[None]:
        if self.generation < 0:
            return
        static = self.options.instance_id is not None
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.options.group_id,
            member_id=self.member_id,
            member_epoch=_LEAVING_FOR_A_WHILE if static else _LEAVING,
            instance_id=self.options.instance_id,
        )
        yield from self.coordinator.ask(Ask(request))
