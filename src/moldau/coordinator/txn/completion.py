"""Carrying a decision to the partitions: a marker in each, then the record that says it is done.

For every prepared transaction there is one `Completion` while the shard is loaded. It waits until the decision is
committed, sends the markers, sends those again that failed, and ends with the Complete record. All of it may happen
twice: a marker for a transaction that has ended in a partition does nothing there, so after a crash it simply begins
again.

Partitions are led by several brokers, and one that hangs must not keep the others from their markers: each answer is
taken as it comes, and what failed is sent again after a while, to whoever leads the partition then.

A completion must not outlive its shard: once another broker has loaded the partition, the outcome is
that broker's to carry out, and the producer may be in its next transaction under the same epoch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from moldau.coordinator.marker import Marker
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.txn.shard import TransactionShard
from moldau.coordinator.txn.transaction import Transaction
from moldau.errors import ErrorCode
from moldau.runtime.ports import Clock, Loop
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.coordinator.txn")

# The pause before markers that failed are sent again, in seconds; it doubles while nothing gets better.
_RETRY: Final = 0.1
_LONGEST_RETRY: Final = 1.0

# A newer coordinator or a newer producer has been in the partition: this one has no more business there.
_FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
# The marker is there, or can never be: a log in a format older than transactions.
_DONE: Final = (ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
# The shard is elsewhere; whoever has it completes the transaction.
_ELSEWHERE: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


class MarkerSender(Protocol):
    def send(
        self,
        marker: Marker,
        partitions: Sequence[TopicPartition],
        done: Callable[[Mapping[TopicPartition, ErrorCode]], None],
        wanted: Callable[[], bool],
    ) -> None:
        """Ends the transaction in each partition; `done` hears once of each how it went, of some or all of them at a
        time. What had to wait is not sent any more once `wanted` says no."""
        ...


class Completion:
    """One transaction on its way from Prepare to Complete."""

    def __init__(self, owner: Completions, partition: int, epoch: int, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.partition = partition
        self.epoch = epoch
        self.cancelled = False
        self.waiting_for: frozenset[TopicPartition] = frozenset()
        self.last_errors: Mapping[TopicPartition, ErrorCode] = {}
        self._owner = owner
        self._transaction: Transaction | None = None
        # Those whose answer has not come yet; and whether the others will be sent again by themselves.
        self._asked: set[TopicPartition] = set()
        self._sends_again = False
        self._pause = _RETRY
        self._completing = False

    def start(self) -> None:
        """Waits for the decision to be committed: an operation without records is answered when all before it is."""
        if self.cancelled:
            return
        owner = self._owner
        answer = owner.runtime.write(
            "await the decision", self.partition, lambda shard: shard.still_prepared(self.transactional_id)
        )
        answer.then(self._decided)

    def _decided(self, transaction: Transaction | None, error: BaseException | None) -> None:
        if self._stops(error):
            return
        if error is not None:
            self._later(self.start)
        elif transaction is None:
            self._owner.finished(self)
        else:
            self._transaction = transaction
            self.waiting_for = transaction.partitions
            self._completing = False
            self._send()

    def wanted(self) -> bool:
        return not self.cancelled

    def _send(self) -> None:
        transaction = self._transaction
        self._sends_again = False
        if self.cancelled or transaction is None:
            return
        # A partition that was deleted needs no marker any more.
        self.waiting_for = frozenset(filter(self._owner.exists, self.waiting_for))
        if not self.waiting_for:
            self._complete()
            return
        places = self.waiting_for - self._asked
        if not places:
            return
        self._asked |= places
        marker = Marker(
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.state.commits,
            self.epoch,
            transaction.client_version,
        )
        self._owner.markers.send(marker, sorted(places), self._sent, self.wanted)

    def _sent(self, results: Mapping[TopicPartition, ErrorCode]) -> None:
        self._asked -= results.keys()
        if self.cancelled:
            return
        done = {place for place, code in results.items() if code in _DONE}
        self.last_errors = {place: code for place, code in results.items() if place not in done}
        self.waiting_for -= done
        shut_out = [place for place, code in self.last_errors.items() if code in _FENCED]
        if shut_out:
            logger.error(
                "the transaction of %s cannot be ended in %s, where a newer epoch has been: it is left to whoever "
                "coordinates it now",
                self.transactional_id,
                ", ".join(map(str, shut_out)),
            )
            self._owner.finished(self)
        elif not self.waiting_for:
            self._complete()
        elif self.last_errors and not self._sends_again:
            self._sends_again = True
            pause = _RETRY if done else self._pause
            self._pause = min(2 * pause, _LONGEST_RETRY)
            self._later(self._send, pause)

    def _complete(self) -> None:
        transaction, owner = self._transaction, self._owner
        if self.cancelled or self._completing or transaction is None:
            return
        self._completing = True
        producer = transaction.producer
        answer = owner.runtime.write(
            "complete a transaction",
            self.partition,
            lambda shard: shard.complete(self.transactional_id, producer, owner.clock.now_ms()),
        )
        answer.then(self._completed)

    def _completed(self, _: bool | None, error: BaseException | None) -> None:
        if self._stops(error):
            return
        if error is not None:
            # Not written, or written and not known to be committed: `start` finds out which.
            self._later(self.start)
        else:
            self._owner.finished(self)

    def _stops(self, error: BaseException | None) -> bool:
        if self.cancelled:
            return True
        if error is not None and getattr(error, "code", None) in _ELSEWHERE:
            self._owner.finished(self)
            return True
        return False

    def _later(self, step: Callable[[], None], pause: float = _RETRY) -> None:
        self._owner.loop.call_later(pause, step)


class Completions:
    """All transactions on this broker whose outcome is decided and not yet everywhere."""

    def __init__(self, markers: MarkerSender, loop: Loop, clock: Clock) -> None:
        self.markers = markers
        self.loop = loop
        self.clock = clock
        # Given by the coordinator, whose shards need the completions before there is a runtime.
        self.runtime: CoordinatorRuntime[TransactionShard]
        self._open: dict[str, Completion] = {}

    def __len__(self) -> int:
        return len(self._open)

    def get(self, transactional_id: str) -> Completion | None:
        return self._open.get(transactional_id)

    def begin(self, partition: int, epoch: int, transactional_id: str) -> None:
        if transactional_id in self._open:
            return
        completion = self._open[transactional_id] = Completion(self, partition, epoch, transactional_id)
        completion.start()

    def finished(self, completion: Completion) -> None:
        completion.cancelled = True
        if self._open.get(completion.transactional_id) is completion:
            del self._open[completion.transactional_id]

    def unloaded(self, partition: int) -> None:
        for completion in [one for one in self._open.values() if one.partition == partition]:
            self.finished(completion)

    def exists(self, place: TopicPartition) -> bool:
        topic = self.runtime.image.topics.get(place.topic)
        return topic is not None and place.partition in topic.partitions
