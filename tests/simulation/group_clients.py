"""Members of groups as clients are: they believe what they were told, and act on it when they get round to it.

A client here is not a good one. It sends requests when the schedule says so, loses answers, repeats itself and falls
silent. What it believes to own is what the invariants look at.
"""

from __future__ import annotations

import random
from typing import Any

from group_world import GroupWorld

from moldau.coordinator.group.consumer_protocol import decode_assignment, encode_assignment, encode_subscription
from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.protocol.messages import consumer_group_heartbeat as chb
from moldau.protocol.messages import offset_commit as oc
from moldau.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from moldau.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

TOPIC = "t"
REJOIN = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


class Offsets:
    """What was committed, tried or acknowledged, for one group."""

    def __init__(self) -> None:
        self.next = 0
        self.tried: dict[int, int] = {}
        self.acknowledged: dict[int, int] = {}

    def take(self, partition: int) -> int:
        self.next += 1
        self.tried[partition] = self.next
        return self.next

    def acknowledge(self, partition: int, offset: int) -> None:
        self.acknowledged[partition] = max(self.acknowledged.get(partition, -1), offset)


class Client:
    def __init__(self, name: str, group: str, world: GroupWorld, chance: random.Random, offsets: Offsets) -> None:
        self.name = name
        self.group = group
        self.world = world
        self.chance = chance
        self.offsets = offsets
        self.member_id = ""
        self.epoch = -1
        self.owned: set[int] = set()
        self.silent = False

    def commit(self, version: int = 9) -> None:
        if not self.owned or self.epoch < 0:
            return
        partition = self.chance.choice(sorted(self.owned))
        offset = self.offsets.take(partition)
        row = oc.OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = oc.OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.epoch,
            member_id=self.member_id,
            topics=[oc.OffsetCommitRequestTopic(name=TOPIC, partitions=[row])],
        )

        def answered(response: Any, error: BaseException | None) -> None:
            if error is not None:
                raise error
            if response.topics[0].partitions[0].error_code == ErrorCode.NONE:
                self.offsets.acknowledge(partition, offset)

        self.world.groups.commit_offsets(self.world.info(version, self.name), request).then(answered)

    def act(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        raise NotImplementedError


class ClassicClient(Client):
    """Joins, lets the leader assign evenly, gives everything up before it joins again."""

    waiting: Deferred[Any] | None = None
    members: list[str] | None = None
    joined = synced = False

    def act(self) -> None:
        if self.waiting is not None and not self.waiting.settled:
            if self.chance.random() < 0.05:
                self._join()  # it gave up waiting and asks again
            return
        if not self.joined:
            self._join()
        elif not self.synced:
            self._sync()
        elif not self.owned or self.chance.random() < 0.5:
            self._beat()
        else:
            self.commit()

    def _join(self) -> None:
        self.owned, self.joined, self.synced = set(), False, False
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=[TOPIC]), 1)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        answer = self.waiting = self.world.groups.join_group(self.world.info(9, self.name), request)

        def answered(response: Any, error: BaseException | None) -> None:
            if error is not None:
                raise error
            if answer is not self.waiting:
                return
            if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
            elif response.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            elif response.error_code == ErrorCode.NONE:
                self.member_id, self.epoch = response.member_id, response.generation_id
                is_leader = response.leader == response.member_id
                self.members = [row.member_id for row in response.members] if is_leader else None
                self.joined = True

        answer.then(answered)

    def _sync(self) -> None:
        partitions = sorted(self.world.image.topics.by_name[TOPIC].partitions)
        members = sorted(self.members or ())
        rows = []
        for index, member_id in enumerate(members):
            assigned = [AssignedTopic(topic=TOPIC, partitions=partitions[index :: len(members)])]
            data = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=assigned), 1)
            rows.append(SyncGroupRequestAssignment(member_id=member_id, assignment=data))
        epoch = self.epoch
        request = SyncGroupRequest(group_id=self.group, generation_id=epoch, member_id=self.member_id, assignments=rows)
        answer = self.waiting = self.world.groups.sync_group(self.world.info(5, self.name), request)

        def answered(response: Any, error: BaseException | None) -> None:
            if error is not None:
                raise error
            if answer is not self.waiting or self.epoch != epoch:
                return
            if response.error_code:
                self._heard(response.error_code)
                return
            self.synced = True
            if response.assignment:
                topics = decode_assignment(response.assignment).assigned_partitions
                self.owned = {partition for topic in topics for partition in topic.partitions}

        answer.then(answered)

    def _beat(self) -> None:
        request = HeartbeatRequest(group_id=self.group, generation_id=self.epoch, member_id=self.member_id)

        def answered(response: Any, error: BaseException | None) -> None:
            if error is not None:
                raise error
            self._heard(response.error_code)

        self.world.groups.heartbeat(self.world.info(4, self.name), request).then(answered)

    def _heard(self, code: int) -> None:
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        if code in REJOIN:
            self.owned, self.joined, self.synced = set(), False, False

    def leave(self) -> None:
        request = LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.member_id)])
        self.world.groups.leave_group(self.world.info(5, self.name), request)
        self.owned, self.joined, self.synced, self.member_id, self.epoch = set(), False, False, "", -1
        self.waiting = None


class ConsumerClient(Client):
    """Takes what it is given at once, gives up what it must some time later."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.member_id = f"{self.name}-id"
        self.epoch = 0
        self.target: set[int] = set()
        self.waiting: Deferred[Any] | None = None

    def act(self) -> None:
        if self.waiting is not None and not self.waiting.settled:
            return  # one heartbeat at a time: what it says of the owned partitions must be true when it is answered
        giving_up = self.owned - self.target
        if giving_up and self.chance.random() < 0.5:
            self.owned -= giving_up
        if self.epoch > 0 and self.chance.random() < 0.3:
            self.commit()
        else:
            self._heartbeat(full=self.epoch == 0 or self.chance.random() < 0.3)

    def _heartbeat(self, *, full: bool) -> None:
        topic_id = self.world.image.topics.by_name[TOPIC].id
        owned = [chb.RequestTopicPartitions(topic_id=topic_id, partitions=sorted(self.owned))] if self.owned else []
        request = chb.ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=20_000 if full else -1,
            subscribed_topic_names=[TOPIC] if full else None,
            topic_partitions=owned,
        )
        lost = self.chance.random() < 0.1

        def answered(response: Any, error: BaseException | None) -> None:
            if error is not None:
                raise error
            if lost:
                return
            if response.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
                self.owned, self.target, self.epoch = set(), set(), 0
            elif not response.error_code:
                self.epoch = response.member_epoch
                if response.assignment is not None:
                    rows = response.assignment.topic_partitions
                    self.target = {partition for row in rows for partition in row.partitions}
                    self.owned |= self.target

        self.waiting = self.world.groups.consumer_group_heartbeat(self.world.info(1, self.name), request)
        self.waiting.then(answered)

    def leave(self) -> None:
        request = chb.ConsumerGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, member_epoch=-1)
        self.world.groups.consumer_group_heartbeat(self.world.info(1, self.name), request)
        self.owned, self.target, self.epoch = set(), set(), 0
