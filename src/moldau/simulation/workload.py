"""What clients do while machines die: conversations that note everything in the ledger.

A producer here is as stubborn as the guarantee allows: it repeats a batch until it is acknowledged, under the same
producer id and sequence, and it never sends the next one before. Whatever is refused for good is a violation, because
a durable log gives an idempotent producer no reason to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from moldau.client.admin.offsets import EARLIEST, LATEST, FoundOffset, IsolationLevel, list_offsets
from moldau.client.conversation import Conversation, Learn, Pause, retrying
from moldau.client.fetching import FetchLimits, fetch_request, read_fetch
from moldau.client.metadata import ClusterView
from moldau.client.producing import ProducerId, deliver, init_producer_id
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import BatchBuilder, Compression
from moldau.simulation.chance import SeededRandom
from moldau.simulation.ledger import Found, Ledger
from moldau.types import NO_SEQUENCE, TopicPartition, Uuid

CODECS: Final = (Compression.NONE, Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4)
_BATCH_BYTES: Final = 1 << 20
# Of a second of calm, how likely something is done in it.
_WORKS_IN_CALM: Final = 0.02
# Failures after which a client waits a second.
_A_SECOND: Final = 6


class Read(NamedTuple):
    """What one fetch brought: where to go on, and what the leader of that epoch showed as committed."""

    records: list[Found]
    following: int
    high_watermark: int
    leader_epoch: int


class Rhythm:
    """When programs work: always, and where there is calm only now and then in it."""

    def __init__(self, chance: SeededRandom, calm: Callable[[], bool]) -> None:
        self._chance = chance
        self._calm = calm

    def rest(self, attempt: int) -> Conversation[None]:
        """As long as after so many failures, and then until it is time to work."""
        yield Pause(attempt, KafkaError(ErrorCode.REQUEST_TIMED_OUT))
        while self._calm() and not self._chance.happens(_WORKS_IN_CALM):
            yield Pause(_A_SECOND, KafkaError(ErrorCode.REQUEST_TIMED_OUT))


class Producer:
    """One producer with an id of its own, writing to some partitions, one request at a time."""

    def __init__(
        self,
        name: str,
        partitions: Sequence[TopicPartition],
        ledger: Ledger,
        chance: SeededRandom,
        *,
        idempotent: bool = True,
        keys: int = 0,
        largest: int = 300,
        leisure: float = 0.0,
        rest: int = 0,
        acknowledged: Callable[[TopicPartition, int], None] = lambda where, last: None,
        topic_id: Uuid | None = None,
    ) -> None:
        """`keys` makes it write that many different keys, `leisure` how often it rests before a request, as long as a
        client would after so many failures (`rest`). `acknowledged` hears of the last offset of each batch that was.
        `topic_id` is whom it means, where there was another topic of that name."""
        self.name = name
        self._partitions = partitions
        self._ledger = ledger
        self._chance = chance
        self._idempotent = idempotent
        self._keys = keys
        self._largest = largest
        self._leisure = leisure
        self._rest = rest
        self._acknowledged = acknowledged
        self._topic_id = topic_id
        self._producer = ProducerId()
        self._sequences: dict[TopicPartition, int] = {}
        self._numbers = 0

    def run(self, requests: int) -> Conversation[None]:
        yield from self._begin()
        for _ in range(requests):
            if self._chance.happens(self._leisure):
                yield Pause(self._rest, KafkaError(ErrorCode.REQUEST_TIMED_OUT))
            yield from self._request()

    def run_while(self, lasts: Callable[[], bool], rhythm: Rhythm) -> Conversation[None]:
        yield from self._begin()
        while lasts():
            yield from rhythm.rest(self._rest)
            yield from self._request()

    def _begin(self) -> Conversation[None]:
        if self._idempotent:
            self._producer = yield from init_producer_id()

    def _request(self) -> Conversation[None]:
        chosen = [where for where in self._partitions if self._chance.happens(0.6)] or self._partitions[:1]
        values = {where: self._new_values(where) for where in chosen}
        open_batches = {where: self._pack(where, values[where]) for where in chosen}
        while open_batches:
            batches = open_batches
            results = yield from retrying(lambda: deliver(batches), final=())  # noqa: B023  used before the next turn
            open_batches = {}
            for where, result in results.items():
                if not isinstance(result, KafkaError):
                    self._ledger.partition(where).acknowledge(values[where], result)
                    self._acknowledged(where, result + len(values[where]) - 1)
                elif not result.retriable and not (yield from self._meant_another(where)):
                    raise result
                elif self._idempotent:
                    open_batches[where] = batches[where]
            if open_batches:
                yield Pause(0, KafkaError(ErrorCode.REQUEST_TIMED_OUT))

    def _meant_another(self, where: TopicPartition) -> Conversation[bool]:
        """Whether those records were for a deleted topic of that name: a broker that is cut off has not heard that it
        was, tells clients of it, and refuses what that one would not have taken."""
        if self._topic_id is None:
            return False
        view: ClusterView = yield Learn([where.topic])
        if view.topic(where.topic).id == self._topic_id:
            return False
        yield from retrying(lambda: _learn_anew(where.topic), final=())
        return True

    def _new_values(self, where: TopicPartition) -> list[bytes]:
        account = self._ledger.partition(where)
        values = []
        for _ in range(self._chance.between(1, 5)):
            padding = b"x" * self._chance.below(self._largest)
            value = f"{self.name}:{self._numbers}:".encode() + padding
            account.send(self.name, self._numbers, value, self._key(self._numbers))
            self._numbers += 1
            values.append(value)
        return values

    def _key(self, number: int) -> bytes | None:
        return b"key-%d" % (number % self._keys) if self._keys else None

    def _pack(self, where: TopicPartition, values: Sequence[bytes]) -> bytes:
        builder = BatchBuilder(_BATCH_BYTES)
        keys = self._ledger.partition(where).keys
        for value in values:
            builder.append(1_750_000_000_000 + self._numbers, keys.get(value), value, ())
        sequence = self._sequences.get(where, 0)
        self._sequences[where] = sequence + len(values)
        return builder.build(
            compression=self._chance.choice(CODECS),
            level=None,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            base_sequence=sequence if self._idempotent else NO_SEQUENCE,
        )


def _learn_anew(topic: str) -> Conversation[None]:
    yield Learn([topic], anew=True)


def read_back(where: TopicPartition) -> Conversation[tuple[int, list[Found]]]:
    """The log start and everything a partition holds from there to its high watermark.

    Where that is, is asked for: a new leader that does not know it yet says so there, and shows less to those who read.
    """
    start, end = yield from _ends(where)
    found: list[Found] = []
    position = start
    while position < end:
        read = yield from retrying(reading(where, position), final=())
        found += read.records
        if read.following == position:
            yield Pause(0, KafkaError(ErrorCode.REQUEST_TIMED_OUT))
        position = read.following
    return start, found


def read_back_of(topic_id: Uuid, where: TopicPartition) -> Conversation[tuple[int, list[Found]]]:
    """The same where there was another topic of that name: a broker that is cut off has not heard that it was deleted,
    and shows what it held. To be tried again from the beginning: where a log ends is asked by name."""
    view: ClusterView = yield Learn([where.topic])
    if view.topic(where.topic).id != topic_id:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"{where.topic} is still the topic of an earlier life.")
    start, end = yield from _ends(where)
    found: list[Found] = []
    position = start
    while position < end:
        read = yield from reading(where, position, topic_id=topic_id)()
        found += read.records
        if read.following == position:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{where} shows nothing at {position}, and ends at {end}.")
        position = read.following
    return start, found


def _ends(where: TopicPartition) -> Conversation[tuple[int, int]]:
    ends = []
    for which in (EARLIEST, LATEST):
        found_offset = (yield from list_offsets({where: which}))[where]
        if not isinstance(found_offset, FoundOffset):
            raise found_offset
        ends.append(found_offset.offset)
    return ends[0], ends[1]


def reading(
    where: TopicPartition,
    position: int,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    topic_id: Uuid | None = None,
) -> Callable[[], Conversation[Read]]:
    """The records from a position on, as many as come in one answer."""

    def attempt() -> Conversation[Read]:
        view: ClusterView = yield Learn([where.topic])
        if topic_id is not None and view.topic(where.topic).id != topic_id:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        limits = FetchLimits(max_wait_ms=0, partition_bytes=64 * 1024)
        response: Any = yield fetch_request(view, {where: position}, limits, isolation, view.leader(where))
        answers = read_fetch(view, {where: position}, response, isolation)
        if not answers:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"A fetch of {where} brought nothing.")
        (answer,) = answers
        if answer.error is not ErrorCode.NONE:
            raise KafkaError(answer.error)
        records = [Found(record.offset, bytes(record.value or b""), record.key) for record in answer.records()]
        return Read(records, answer.next_position, answer.high_watermark, view.partition(where).leader_epoch)

    return attempt


def read_all(partitions: Sequence[TopicPartition]) -> Conversation[Mapping[TopicPartition, tuple[int, list[Found]]]]:
    found: dict[TopicPartition, tuple[int, list[Found]]] = {}
    for where in partitions:
        found[where] = yield from read_back(where)
    return found
