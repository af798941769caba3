"""Membership in a classic group: joining, staying alive, noticing that the group changes.

The network's thread has the conversations (join, sync, heartbeat, leave); the application's thread decides when to
join, from within `poll`, and runs the rebalance listener there. `generation` says which of both views is current.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from moldau.client.consumer.assignors import (
    Member,
    PartitionAssignor,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from moldau.client.consumer.offsets import Membership
from moldau.client.conversation import Ask, Conversation, Learn, Pause
from moldau.client.coordinators import CHANNEL, CoordinatorOf, CoordinatorType
from moldau.client.metadata import ClusterView
from moldau.client.network import MAIN_CHANNEL, ClientNetwork
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.versions import ByVersion
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from moldau.runtime.ports import TimerHandle
from moldau.types import TopicPartition

_PROTOCOL_TYPE: Final = "consumer"
_GRACE: Final = 5.0
# Whoever leaves a group does not wait longer than this to be told so.
LEAVING: Final = 5.0

# Errors after which the member id means nothing to the group any more.
_FORGOTTEN: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)


@dataclass(slots=True, frozen=True)
class GroupOptions:
    group_id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    heartbeat_interval: float
    assignors: Sequence[PartitionAssignor]


@dataclass(slots=True)
class Joined:
    """The outcome of a round: our share of it."""

    assignor: PartitionAssignor
    share: list[TopicPartition]


class ClassicMembership:
    def __init__(self, network: ClientNetwork, options: GroupOptions, wake: Callable[[], None]) -> None:
        self.options = options
        self.coordinator = CoordinatorOf(options.group_id, CoordinatorType.GROUP)
        self.rejoin = True
        self.lost = False
        self.fatal: KafkaError | None = None
        self.last_poll = network.clock.monotonic()
        self.member_id = ""
        self.generation = -1
        self.topics: frozenset[str] = frozenset()
        self.owned: list[TopicPartition] = []
        self._network = network
        self._wake = wake
        self._stable = False
        self._joining: Deferred[Joined] | None = None
        self._leads: dict[str, int] | None = None
        self._timer: TimerHandle | None = None
        self._beating = False
        self.closed = False
        self._end: Deferred[None] | None = None
        self.rounds = 0
        self.heartbeats = 0
        network.watch(self._look_at)

    @property
    def membership(self) -> Membership:
        if self.generation < 0:
            return Membership()
        return Membership(self.generation, self.member_id, self.options.instance_id)

    @property
    def stable(self) -> bool:
        return self._stable and not self.rejoin

    # ------------------------------------------------------------------------------------------------------- joining

    def begin_join(self) -> Deferred[Joined]:
        """What is under way already, if there is something: of two at once one would become a member nobody knows."""
        if self._joining is None or self._joining.settled:
            # As long as it takes: the group decides when a round is over.
            self._joining = self._network.perform(self.join(), 10 * self.options.rebalance_timeout_ms / 1000)
        return self._joining

    def join(self) -> Conversation[Joined]:
        """Joins, or joins again, and returns with our share; asks as often as the group needs."""
        self._stable = False
        failures = 0
        while self._is_wanted():
            self.rejoin = False
            try:
                joined = yield from self._round()
            except KafkaError as error:
                self.coordinator.doubt(error)
                if error.code in _FORGOTTEN:
                    self._forget()
                elif not self._is_wanted():
                    break
                elif error.code is ErrorCode.FENCED_INSTANCE_ID or not (
                    error.retriable or error.code is ErrorCode.REBALANCE_IN_PROGRESS
                ):
                    self.rejoin = True
                    raise
                if error.code not in (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS):
                    yield Pause(failures, error)
                    failures += 1
                continue
            if not self._is_wanted():
                break
            self._stable = True
            self.rounds += 1
            self._schedule()
            return joined
        # Nobody wants it any more, and who left meanwhile may not have known yet as whom.
        yield from self.leave()
        return Joined(self.options.assignors[0], [])

    def _round(self) -> Conversation[Joined]:
        answer = yield from self._join_group()
        self.generation, self.member_id = answer.generation_id, answer.member_id
        assignor = next(each for each in self.options.assignors if each.name == answer.protocol_name)
        shares: dict[str, list[TopicPartition]] = {}
        self._leads = None
        if answer.leader == answer.member_id and not answer.skip_assignment:
            shares = yield from self._decide(assignor, answer)
        request = SyncGroupRequest(
            group_id=self.options.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.options.instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=assignor.name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(share))
                for member, share in shares.items()
            ],
        )

        def build(version: int) -> SyncGroupRequest:
            if version < 5:
                request.protocol_type = request.protocol_name = None
            return request

        patience = self.options.rebalance_timeout_ms / 1000 + _GRACE
        ask = Ask(ByVersion(SyncGroupRequest, build), timeout=patience)
        response: SyncGroupResponse = yield from self.coordinator.ask(ask)
        _check(response.error_code)
        return Joined(assignor, decode_assignment(bytes(response.assignment)))

    def _join_group(self) -> Conversation[JoinGroupResponse]:
        options = self.options
        patience = options.rebalance_timeout_ms / 1000 + _GRACE
        while True:
            request = JoinGroupRequest(
                group_id=options.group_id,
                session_timeout_ms=options.session_timeout_ms,
                rebalance_timeout_ms=options.rebalance_timeout_ms,
                member_id=self.member_id,
                group_instance_id=options.instance_id,
                protocol_type=_PROTOCOL_TYPE,
                protocols=[
                    JoinGroupRequestProtocol(name=each.name, metadata=encode_subscription(each, self._says(each)))
                    for each in options.assignors
                ],
            )
            response: JoinGroupResponse = yield from self.coordinator.ask(Ask(request, timeout=patience))
            if error_code(response.error_code) is ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
                if self.closed:
                    raise KafkaError(ErrorCode.MEMBER_ID_REQUIRED)
                continue
            _check(response.error_code)
            return response

    def _says(self, assignor: PartitionAssignor) -> Member:
        """What we say of ourselves. While assignors of both kinds are offered, as in an upgrade from one kind to the
        other, everything was given back before joining: a cooperative assignor must not wait for us to do so."""
        kept = self.cooperative or not assignor.cooperative
        owned = self.owned if kept else ()
        return Member(sorted(self.topics), owned, self.generation, self.options.instance_id)

    @property
    def cooperative(self) -> bool:
        """Whether what is ours is kept while joining: only if no assignor that may be chosen forbids it."""
        return all(each.cooperative for each in self.options.assignors)

    def _decide(
        self, assignor: PartitionAssignor, answer: JoinGroupResponse
    ) -> Conversation[dict[str, list[TopicPartition]]]:
        members = {
            each.member_id: decode_subscription(bytes(each.metadata), each.group_instance_id) for each in answer.members
        }
        topics = sorted({topic for member in members.values() for topic in member.topics})
        self._network.topics_of_interest |= set(topics)
        view: ClusterView = yield Learn(topics, anew=True)
        self._leads = _counts(view, topics)
        return assignor.assign(self._leads, members)

    def _is_wanted(self) -> bool:
        """Whether nobody has closed it, which may happen whenever a conversation waits."""
        return not self.closed

    def _forget(self) -> None:
        """The group does not know us any more: what we had may be somebody else's by now."""
        self.member_id, self.generation = "", -1
        self.lost = self.lost or bool(self.owned)
        self._stable = False
        self.rejoin = True

    # ------------------------------------------------------------------------------------------------ staying alive

    @property
    def _beat_interval(self) -> float:
        return self.options.heartbeat_interval

    def _schedule(self) -> None:
        if self._timer is None and not self.closed:
            self._timer = self._network.loop.call_later(self._beat_interval, self._beat)

    def _beat(self) -> None:
        self._timer = None
        if self.closed or not self._stable:
            return
        if self._network.clock.monotonic() - self.last_poll > self.options.rebalance_timeout_ms / 1000:
            # The application has stopped polling: the others take over what it holds, until it comes back.
            self._network.perform(self.leave(), LEAVING)
            self._forget()
            self._wake()
            return
        self._schedule()
        if self._beating:
            return
        self._beating = True
        self.heartbeats += 1
        generation = self.generation
        self._network.perform(self._heartbeat(), self.options.session_timeout_ms / 1000).then(
            lambda code, _error: self._heard(generation, code)
        )

    def _heartbeat(self) -> Conversation[ErrorCode]:
        request = HeartbeatRequest(
            group_id=self.options.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.options.instance_id,
        )
        response: HeartbeatResponse = yield from self.coordinator.ask(Ask(request))
        return error_code(response.error_code)

    def _heard(self, generation: int, code: ErrorCode | None) -> None:
        self._beating = False
        if code is None or generation != self.generation or not self._stable:
            return
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin = True
        elif code in _FORGOTTEN:
            self._forget()
        elif code is ErrorCode.FENCED_INSTANCE_ID:
            self.fatal = KafkaError(code)
        elif code is not ErrorCode.NONE:
            self.coordinator.doubt(KafkaError(code))
            return
        else:
            return
        self._wake()

    def _look_at(self, view: ClusterView) -> None:
        """The leader of a group watches the topics: with more partitions the shares have to be decided anew."""
        if self._leads is not None and self._stable and _counts(view, self._leads) != self._leads:
            self.rejoin = True
            self._wake()

    # ------------------------------------------------------------------------------------------------------- the end

    def end(self) -> Deferred[None]:
        """Closes, and says good-bye; once, whoever asks for it. Starts at once, so that nobody has to wait to have it
        done: a member that nobody knows any more would hold up its group until it is timed out."""
        if self._end is None:
            self.close()
            self._end = self._network.perform(self.leave(), LEAVING)
        return self._end

    def leave(self) -> Conversation[None]:
        """Says good-bye, so that the others need not wait for a time-out. Static members stay by not doing so."""
        if not self.member_id or self.options.instance_id is not None:
            return
        member_id = self.member_id

        def build(version: int) -> LeaveGroupRequest:
            if version >= 3:
                return LeaveGroupRequest(group_id=self.options.group_id, members=[MemberIdentity(member_id=member_id)])
            return LeaveGroupRequest(group_id=self.options.group_id, member_id=member_id)

        # A join is answered when the whole group has joined: nothing gets past it on its connection.
        channel = CHANNEL if self._joining is None or self._joining.settled else MAIN_CHANNEL
        yield from self.coordinator.ask(Ask(ByVersion(LeaveGroupRequest, build)), channel)

    def close(self) -> None:
        self.closed = True
        self._stable = False
        self._network.unwatch(self._look_at)
        if self._timer is not None:
            self._timer.cancel()


def _counts(view: ClusterView, topics: Sequence[str] | dict[str, int]) -> dict[str, int]:
    known = {name: view.topics.get(name) for name in topics}
    return {name: len(topic.partitions) for name, topic in known.items() if topic is not None}


def _check(number: int) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code)
