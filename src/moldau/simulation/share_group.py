"""A share group in the cluster that breaks: members come, take records, say what became of them, go or die.

Each life of a member is a client of its own. It ends with a good-bye, or with its connections and nothing said, as a
process does that is killed. Whatever goes wrong within it, the member forgets what it had and begins its session anew.

What must hold:

- accepted once: what was accepted, or rejected, is not delivered and then accepted again.
- done stays done: no broker delivers a record of which it has answered that somebody is done with it.
- attempts: nothing is delivered more often than the group allows.
- invention: what is delivered was sent, and lies at that offset.
- given to somebody: once the faults are over, members are done with every record there is.

A broker that does not know yet that another one leads may deliver what was accepted elsewhere; what is said to it of
that comes to nothing. And where an answer was lost nobody knows whether it was written down: such a record may come
again, or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from moldau.client.admin.configs import ResourceType
from moldau.client.conversation import CONTROLLER, Ask, Conversation, Learn, Pause, retrying
from moldau.client.coordinators import CoordinatorOf, CoordinatorType, check_code
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import incremental_alter_configs as configs
from moldau.protocol.messages import share_fetch as fetching
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from moldau.protocol.records import decode_batch, scan_batches
from moldau.runtime.ports import Clock
from moldau.simulation.chance import SeededRandom
from moldau.simulation.client import SimulatedClient
from moldau.simulation.ledger import Broken, Found, Ledger
from moldau.simulation.workload import Rhythm
from moldau.types import TopicPartition, Uuid, uuid_to_text

GROUP: Final = "members"
_MEMBERS: Final = 3
_ATTEMPTS: Final = 25
_CHANNEL: Final = "share"
# Polls of one life of a member.
_FEWEST_POLLS: Final = 3
_MOST_POLLS: Final = 60
_JOINING: Final = 0
_LEAVING: Final = -1
_FIRST: Final = 0
_ACCEPT: Final = 1
_RELEASE: Final = 2
_REJECT: Final = 3
_MOST_RECORDS: Final = 20
# What a broker answers that certainly wrote nothing down.
_NOTHING_DONE: Final = frozenset(
    {
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.INVALID_RECORD_STATE,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)
# It may be possible in a moment; until then the records are still the member's.
_SAID_AGAIN: Final = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.UNKNOWN_SERVER_ERROR})
SETTINGS: Final = {
    "share.coordinator.state.topic.num.partitions": "1",
    "group.share.max.delivery.count.limit": str(_ATTEMPTS),
}
_OF_THE_GROUP: Final = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(_ATTEMPTS)}

Place = tuple[TopicPartition, int]


class Delivery(NamedTuple):
    where: TopicPartition
    offset: int
    kind: int
    since: int  # how many records were done with when it was asked for


class ShareLedger:
    """What members were told, of each record."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # Who answered that somebody is done with it, and as the how-manieth of such answers; and what nobody knows of.
        self._done: dict[Place, tuple[int, int]] = {}
        self._perhaps: set[Place] = set()

    def delivered(self, node: int, place: Place, value: bytes | None, count: int, asked_at: int) -> None:
        """By `node`, which was asked when so many records were done with."""
        where, offset = place
        if not 1 <= count <= _ATTEMPTS:
            raise Broken(f"attempts: offset {offset} of {where} is delivered for the {count}th time")
        if value not in self._ledger.partition(where).sent:
            raise Broken(f"invention: {value!r} was delivered at offset {offset} of {where}, which nobody sent")
        if place in self._done and self._done[place][0] == node and self._done[place][1] < asked_at:
            raise Broken(f"done stays done: node {node} delivers offset {offset} of {where} again")

    def answered(self, node: int, told: Delivery, error: ErrorCode) -> None:
        place = (told.where, told.offset)
        if error is ErrorCode.NONE:
            if told.kind == _RELEASE:
                return
            by, number = self._done.setdefault(place, (node, len(self._done)))
            # Who had it before is told the same of it, although somebody else was done with it.
            if number < told.since:
                raise Broken(f"accepted once: nodes {by} and {node} answered that of {place}")
        elif error not in _NOTHING_DONE and told.kind != _RELEASE:
            self._perhaps.add(place)

    def left(self) -> list[Place]:
        """Records that were acknowledged to their producers and that nobody is done with, as far as is known."""
        return [
            (where, offset)
            for where, account in self._ledger.partitions.items()
            for offset in account.acknowledged.values()
            if (where, offset) not in self._done and (where, offset) not in self._perhaps
        ]

    def check(self, where: TopicPartition, found: Sequence[Found]) -> None:
        """`found` is all there is."""
        for record in found:
            if (where, record.offset) not in self._done and (where, record.offset) not in self._perhaps:
                raise Broken(f"given to somebody: nobody was done with offset {record.offset} of {where}")

    @property
    def done(self) -> int:
        return len(self._done)


class ShareGroup:
    """`client` makes one by its name, `over` says that producers and faults are."""

    def __init__(
        self,
        topic: str,
        ledger: Ledger,
        chance: SeededRandom,
        client: Callable[[str], SimulatedClient],
        clock: Clock,
        over: Callable[[], bool],
        rhythm: Rhythm,
        seconds: float,
    ) -> None:
        self.ledger = ShareLedger(ledger)
        self._topic = topic
        self._chance = chance
        self._client = client
        self._clock = clock
        self._over = over
        self._rhythm = rhythm
        self._seconds = seconds
        self._lives = 0
        self._living = 0
        self._failure: BaseException | None = None

    def begin(self) -> None:
        self._client("share-admin").run(_from_the_beginning())
        for _ in range(_MEMBERS):
            self._begin_life()

    @property
    def is_over(self) -> bool:
        if self._failure is not None:
            raise self._failure
        return self._living == 0

    def _is_finished(self) -> bool:
        return self._over() and not self.ledger.left()

    def _begin_life(self) -> None:
        self._lives += 1
        self._living += 1
        name = f"share-{self._lives}"
        client, chance = self._client(name), self._chance.fork(name)
        life = Life(self._topic, self.ledger, chance, self._clock, self._is_finished, self._rhythm)

        def ended(_: None, error: BaseException | None) -> None:
            self._living -= 1
            client.close()
            if error is not None:
                self._failure = error
            elif not self._is_finished():
                self._begin_life()

        client.start(life.run(), self._seconds).then(ended)


class Life:
    """A member from its first heartbeat to its end."""

    def __init__(
        self,
        topic: str,
        ledger: ShareLedger,
        chance: SeededRandom,
        clock: Clock,
        finished: Callable[[], bool],
        rhythm: Rhythm,
    ) -> None:
        self._topic = topic
        self._ledger = ledger
        self._chance = chance
        self._clock = clock
        self._finished = finished
        self._rhythm = rhythm
        self._id = uuid_to_text(chance.bytes(16))
        self._coordinator = CoordinatorOf(GROUP, CoordinatorType.GROUP)
        self._epoch = _JOINING
        self._beat_at = 0.0
        self._assigned: list[tuple[Uuid, int]] = []
        self._sessions: dict[int, Session] = {}

    def run(self) -> Conversation[None]:
        failures = 0
        for _ in range(self._chance.between(_FEWEST_POLLS, _MOST_POLLS)):
            if self._finished():
                break
            try:
                if self._clock.monotonic() >= self._beat_at:
                    yield from self._beat()
                yield from self._poll()
                failures = 0
            except KafkaError as error:
                self._coordinator.doubt(error)
                failures += 1
                yield Pause(min(failures, 3), error)
            yield from self._rhythm.rest(2)
        if self._chance.happens(0.5) or self._finished():
            yield from self._leave()

    # --------------------------------------------------------------------------------------------------- membership

    def _beat(self) -> Conversation[None]:
        joins = self._epoch == _JOINING
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self._id,
            member_epoch=self._epoch,
            subscribed_topic_names=[self._topic] if joins else None,
        )
        answer: ShareGroupHeartbeatResponse = yield from self._coordinator.ask(Ask(request))
        code = error_code(answer.error_code)
        if code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self._epoch, self._assigned = _JOINING, []
        check_code(answer.error_code, answer.error_message)
        self._epoch = answer.member_epoch
        self._beat_at = self._clock.monotonic() + answer.heartbeat_interval_ms / 1000
        if answer.assignment is not None:
            self._assigned = [
                (topic.topic_id, index) for topic in answer.assignment.topic_partitions for index in topic.partitions
            ]

    def _leave(self) -> Conversation[None]:
        """It may not be heard: the coordinator notices by itself."""
        try:
            yield from self._coordinator.ask(
                Ask(ShareGroupHeartbeatRequest(group_id=GROUP, member_id=self._id, member_epoch=_LEAVING))
            )
        except KafkaError:
            return

    # ------------------------------------------------------------------------------------------------------ records

    def _poll(self) -> Conversation[None]:
        view: ClusterView = yield Learn([self._topic])
        by_node: dict[int, list[tuple[Uuid, int]]] = {}
        for topic_id, index in self._assigned:
            by_node.setdefault(view.leader(TopicPartition(self._topic, index)), []).append((topic_id, index))
        for node, wanted in by_node.items():
            session = self._sessions.get(node)
            if session is None:
                session = self._sessions[node] = Session(node, self._id, self._topic, self._ledger, self._chance)
            try:
                moved = yield from session.fetch(wanted)
            except KafkaError as error:
                session.forget(error.code)
                raise
            if moved:
                yield Learn([self._topic], anew=True)


class Session:
    """With one broker: what is wanted there, and what is to be said of what came."""

    def __init__(self, node: int, member: str, topic: str, ledger: ShareLedger, chance: SeededRandom) -> None:
        self._node = node
        self._member = member
        self._topic = topic
        self._ledger = ledger
        self._chance = chance
        self._epoch = _FIRST
        self._known: list[tuple[Uuid, int]] = []
        self._held: dict[tuple[Uuid, int], list[Delivery]] = {}

    def forget(self, why: ErrorCode) -> None:
        """Whatever was under way may have been written down, or not."""
        for told in (told for held in self._held.values() for told in held):
            self._ledger.answered(self._node, told, why)
        self._held.clear()
        self._epoch = _FIRST

    def fetch(self, wanted: list[tuple[Uuid, int]]) -> Conversation[bool]:
        """True if somebody else leads one of them now."""
        if self._epoch == _FIRST:
            self._known = []
        request = self._request(wanted)
        asked_at = self._ledger.done
        response: fetching.ShareFetchResponse = yield Ask(request, to=self._node, channel=_CHANNEL)
        check_code(response.error_code, response.error_message)
        self._epoch += 1
        self._known = wanted
        held, self._held = self._held, {}
        moved = False
        for topic in response.responses:
            for row in topic.partitions:
                place = (topic.topic_id, row.partition_index)
                refused = error_code(row.acknowledge_error_code)
                for told in held.pop(place, []):
                    self._ledger.answered(self._node, told, refused)
                    if refused in _SAID_AGAIN:
                        self._held.setdefault(place, []).append(told)
                moved = moved or row.error_code != 0 or row.acknowledge_error_code != 0
                self._take(place, row, asked_at)
        if held:
            raise Broken(f"node {self._node} says nothing of what it was told of {list(held)}")
        return moved

    def _request(self, wanted: list[tuple[Uuid, int]]) -> fetching.ShareFetchRequest:
        by_topic: dict[Uuid, list[fetching.FetchPartition]] = {}
        for topic_id, index in dict.fromkeys([*wanted, *self._held]):
            if (held := self._held.get((topic_id, index), [])) or (topic_id, index) not in self._known:
                batches = [
                    fetching.AcknowledgementBatch(
                        first_offset=told.offset, last_offset=told.offset, acknowledge_types=[told.kind]
                    )
                    for told in sorted(held)
                ]
                row = fetching.FetchPartition(partition_index=index, acknowledgement_batches=batches)
                by_topic.setdefault(topic_id, []).append(row)
        gone: dict[Uuid, list[int]] = {}
        for topic_id, index in dict.fromkeys([*self._known, *self._held]):
            if (topic_id, index) not in wanted:
                gone.setdefault(topic_id, []).append(index)
        return fetching.ShareFetchRequest(
            group_id=GROUP,
            member_id=self._member,
            share_session_epoch=self._epoch,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            max_records=_MOST_RECORDS,
            batch_size=_MOST_RECORDS,
            topics=[fetching.FetchTopic(topic_id=topic_id, partitions=rows) for topic_id, rows in by_topic.items()],
            forgotten_topics_data=[
                fetching.ForgottenTopic(topic_id=topic_id, partitions=indexes) for topic_id, indexes in gone.items()
            ],
        )

    def _take(self, place: tuple[Uuid, int], row: fetching.PartitionData, asked_at: int) -> None:
        if not row.acquired_records:
            return
        where, values = TopicPartition(self._topic, place[1]), _values(row.records)
        held = self._held.setdefault(place, [])
        for acquired in row.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                value = values.get(offset)
                self._ledger.delivered(self._node, (where, offset), value, acquired.delivery_count, asked_at)
                held.append(Delivery(where, offset, self._chance.choice(_KINDS), asked_at))


_KINDS: Final = (*([_ACCEPT] * 16), _RELEASE, _RELEASE, _REJECT)


def _values(records: Any) -> dict[int, bytes | None]:
    data, place = bytes(records or b""), 0
    values: dict[int, bytes | None] = {}
    for batch in scan_batches(data, 0, len(data)):
        values.update((record.offset, record.value) for record in decode_batch(data, place, place + batch.size))
        place += batch.size
    return values


def _from_the_beginning() -> Conversation[None]:
    resource = configs.AlterConfigsResource(
        resource_type=ResourceType.GROUP,
        resource_name=GROUP,
        configs=[
            configs.AlterableConfig(name=name, config_operation=0, value=value) for name, value in _OF_THE_GROUP.items()
        ],
    )

    def attempt() -> Conversation[None]:
        answer: configs.IncrementalAlterConfigsResponse = yield Ask(
            configs.IncrementalAlterConfigsRequest(resources=[resource]), to=CONTROLLER
        )
        check_code(answer.responses[0].error_code, answer.responses[0].error_message)

    yield from retrying(attempt, final=())
