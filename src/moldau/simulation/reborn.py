"""A topic that is deleted and created again under its name, over and over.

Whatever is written of a log outside of it, in checkpoints that name a topic and not its id, must be gone with it. So
each life of the topic must begin at offset 0, hold exactly what was acknowledged in this life and nothing from an
earlier one, whenever the machine dies. Some lives delete records from their beginning, some are compacted, because
these are the ones that leave something behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.client.admin.offsets import delete_records
from moldau.client.conversation import Conversation, Learn, Pause, retrying
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError
from moldau.simulation.chance import SeededRandom
from moldau.simulation.ledger import Broken, Ledger
from moldau.simulation.workload import Producer, Rhythm, read_back_of
from moldau.types import ZERO_UUID, TopicPartition, Uuid

TOPIC: Final = "reborn"
WHERE: Final = TopicPartition(TOPIC, 0)
# Small, so that a short life has several segments.
SMALL: Final[dict[str, str]] = {"internal.segment.bytes": "2500"}
FORCED: Final[dict[str, str]] = {"flush.messages": "1", **SMALL}
# How often a life waits for a node to be away.
_PATIENCE: Final = 60
_COMPACTED: Final[dict[str, str]] = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", **FORCED}


class Reborn:
    """`create` and `delete` are the scenario's, which notes what topics there are. A life ends when some node is
    `away`: it finds the next topic in the place of the one it knew."""

    def __init__(
        self,
        chance: SeededRandom,
        create: Callable[[str, int, dict[str, str]], Conversation[None]],
        delete: Callable[[str, Uuid], Conversation[None]],
        away: Callable[[], bool] = lambda: True,
        rhythm: Rhythm | None = None,
    ) -> None:
        self._chance = chance
        self._create = create
        self._delete = delete
        self._away = away
        self._rhythm = rhythm or Rhythm(chance, lambda: False)
        self._ledger: Ledger | None = None
        self._compacted = False
        self._deleted_up_to = 0
        self._lives = 0
        self._last_id = ZERO_UUID
        self.acknowledged = 0

    def run(self, lives: int) -> Conversation[None]:
        for number in range(lives):
            self._compacted = self._chance.happens(0.4)
            yield from retrying(self._be_born, final=())
            yield from self._live(f"reborn-{number}")
            if number < lives - 1:
                yield from self.check()
                self._ledger = None
                for _ in range(_PATIENCE):
                    if self._away():
                        break
                    yield from self._rhythm.rest(2)
                yield from self._delete(TOPIC, self._last_id)

    def _live(self, name: str) -> Conversation[None]:
        self._deleted_up_to = 0
        self._ledger = ledger = Ledger()
        keys = 3 if self._compacted else 0
        producer = Producer(
            name, [WHERE], ledger, self._chance.fork(name), keys=keys, leisure=0.3, topic_id=self._last_id
        )
        yield from producer.run(self._chance.between(1, 8))
        self.acknowledged += ledger.acknowledged
        if not self._compacted and self._chance.happens(0.6):
            yield from self._delete_records(ledger)

    def _be_born(self) -> Conversation[None]:
        """A controller that has been deposed and does not know it says, in Kafka too, that the topic is there still: so
        it is created again until another one is."""
        yield from self._create(TOPIC, 1, dict(_COMPACTED if self._compacted else FORCED))
        yield from self._learn_id()

    def _learn_id(self) -> Conversation[None]:
        """It is the same name and another topic; not every broker has heard of it."""
        view: ClusterView = yield Learn([TOPIC], anew=True)
        known = view.topic(TOPIC).id
        if known == self._last_id:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{TOPIC} is still the topic of its last life.")
        self._last_id = known

    def _delete_records(self, ledger: Ledger) -> Conversation[None]:
        """From some point on; then a while passes, in which that may be written down."""
        last = max(ledger.partition(WHERE).acknowledged.values())
        target = self._chance.between(1, last + 1)
        # Asked for counts as done: the answer may get lost.
        self._deleted_up_to = target
        while True:
            result = (yield from retrying(lambda: delete_records({WHERE: target}), final=()))[WHERE]
            if not isinstance(result, KafkaError):
                yield Pause(2, KafkaError(ErrorCode.REQUEST_TIMED_OUT))
                break
            # A new leader may know less for a moment than was acknowledged by the one before.
            if not result.retriable and result.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise result
            yield Pause(0, result)

    def check(self) -> Conversation[None]:
        """What is there is this life's, and all of it."""
        if self._ledger is None:
            return
        account = self._ledger.partition(WHERE)
        start, found = yield from retrying(lambda: read_back_of(self._last_id, WHERE), final=())
        if start > self._deleted_up_to:
            raise Broken(f"loss in {WHERE}: it begins at offset {start}, after {self._deleted_up_to}")
        if self._compacted:
            account.check_compacted(found)
        else:
            account.check_suffix(found, start)
