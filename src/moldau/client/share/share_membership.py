"""Membership in a share group: heartbeats say what we want to read, and answers which partitions we may read from.

Nothing is given back before somebody else gets it, because all members may read a partition side by side; so an
assignment holds at once. Runs on the network's thread, whatever the application does; a member whose application no
longer polls leaves, and joins again when it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moldau.client.conversation import Ask, Conversation
from moldau.client.coordinators import MOVED, CoordinatorOf, CoordinatorType
from moldau.client.exceptions import named
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.client.share.node_session import Partition
from moldau.deferred import Deferred, ready
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from moldau.runtime.ports import TimerHandle
from moldau.types import TopicPartition

_JOINING: Final = 0
_LEAVING: Final = -1
# Whoever leaves a group does not wait longer than this to be told so.
LEAVING: Final = 5.0

# The coordinator knows nothing of us, or another part of our life.
_COUNTED_OUT: Final = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH)


@dataclass(slots=True, frozen=True)
class ShareGroupOptions:
    group_id: str
    member_id: str
    rack: str
    max_poll_interval: float
    heartbeat_interval: float


class ShareMembership:
    """`assigned(partitions)` and `failed(error)` are called on the network's thread."""

    def __init__(
        self,
        network: ClientNetwork,
        options: ShareGroupOptions,
        assigned: Callable[[dict[Partition, TopicPartition]], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self.options = options
        self.coordinator = CoordinatorOf(options.group_id, CoordinatorType.GROUP)
        self.epoch = _JOINING
        self.polled_at = network.clock.monotonic()
        self.heartbeats = 0
        self.changes = 0
        self._network = network
        self._assigned = assigned
        self._failed = failed
        self._topics: frozenset[str] = frozenset()
        self._said: frozenset[str] | None = None
        self._target: set[Partition] = set()
        self._interval = options.heartbeat_interval
        self._timer: TimerHandle | None = None
        self._beating = False
        self._failures = 0
        self._idle = False
        self._closed = False
        network.watch(self._look_at)

    def subscribe(self, topics: frozenset[str]) -> None:
        """Joins, or says what else is wanted."""
        self._topics = topics
        self._network.topics_of_interest |= topics
        self._idle = False
        self._beat_soon(0.0)

    def polled(self) -> None:
        """The application is there. After having been away for too long it joins anew."""
        self.polled_at = self._network.clock.monotonic()
        if self._idle:
            self._idle = False
            self._beat_soon(0.0)

    def unsubscribe(self) -> Deferred[None]:
        """Leaves; a later subscription joins again."""
        self._topics = frozenset()
        self._cancel()
        return self._leave()

    def close(self) -> Deferred[None]:
        self._closed = True
        self._network.unwatch(self._look_at)
        return self.unsubscribe()

    # ------------------------------------------------------------------------------------------------ staying alive

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat_soon(self, delay: float) -> None:
        self._cancel()
        if not self._closed and self._topics and not self._beating:
            self._timer = self._network.loop.call_later(delay, self._beat)

    def _beat(self) -> None:
        self._timer = None
        if self._closed or not self._topics or self._beating:
            return
        if self._network.clock.monotonic() - self.polled_at > self.options.max_poll_interval:
            self._idle = True
            self._leave()
            return
        self._beating = True
        self.heartbeats += 1
        self._network.perform(self._say(self._topics), self._network.request_timeout).then(self._heard)

    def _say(self, topics: frozenset[str]) -> Conversation[ShareGroupHeartbeatResponse]:
        options = self.options
        request = ShareGroupHeartbeatRequest(
            group_id=options.group_id,
            member_id=options.member_id,
            member_epoch=self.epoch,
            rack_id=(options.rack or None) if self.epoch == _JOINING else None,
            subscribed_topic_names=sorted(topics) if self.epoch == _JOINING or topics != self._said else None,
        )
        response: ShareGroupHeartbeatResponse = yield from self.coordinator.ask(Ask(request))
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, response.error_message)
        self._said = topics
        return response

    def _heard(self, response: ShareGroupHeartbeatResponse | None, error: BaseException | None) -> None:
        self._beating = False
        if response is None:
            self._stumbled(error)
            return
        self._failures = 0
        if self._closed or not self._topics:
            return
        self.epoch = response.member_epoch
        if response.heartbeat_interval_ms > 0:
            self._interval = response.heartbeat_interval_ms / 1000
        if response.assignment is not None:
            self._target = {
                (entry.topic_id, number)
                for entry in response.assignment.topic_partitions
                for number in entry.partitions
            }
            self.changes += 1
        if not self._resolve():
            self._network.refresh()  # topics that are new
        self._beat_soon(0.0 if self._said != self._topics else self._interval)

    def _stumbled(self, error: BaseException | None) -> None:
        if not isinstance(error, KafkaError):
            self._failed(error or KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        self.coordinator.doubt(error)
        if error.code in _COUNTED_OUT:
            self._forget()
        elif not error.retriable and error.code not in MOVED:
            # The application hears of it at its next poll, and it is tried again: rules and features may change.
            self._forget()
            self._failed(named(error))
        self._failures += 1
        self._beat_soon(self._network.backoff.delay(self._failures - 1))

    def _forget(self) -> None:
        self.epoch = _JOINING
        self._said = None
        self._target = set()
        self._assigned({})

    def _look_at(self, _view: ClusterView) -> None:
        if self._target:
            self._resolve()

    def _resolve(self) -> bool:
        """The coordinator names topics by id; whether all of them are known."""
        view = self._network.view
        names = {topic_id: view.topic_by_id(topic_id) for topic_id in {topic_id for topic_id, _ in self._target}}
        found = {
            (topic_id, number): TopicPartition(topic.name, number)
            for topic_id, number in sorted(self._target)
            if (topic := names[topic_id]) is not None
        }
        self._assigned(found)
        return len(found) == len(self._target)

    def _leave(self) -> Deferred[None]:
        joined = self.epoch != _JOINING or self._beating  # what is under way may make us a member
        self._forget()
        if not joined:
            return ready(None)
        return self._network.perform(self._say_good_bye(), LEAVING)

    def _say_good_bye(self) -> Conversation[None]:
        options = self.options
        request = ShareGroupHeartbeatRequest(
            group_id=options.group_id, member_id=options.member_id, member_epoch=_LEAVING
        )
        yield from self.coordinator.ask(Ask(request))
