"""The share coordinator: requests in, Deferred responses out.

Wiring, for the node:

    shares = ShareCoordinator(ShareCoordinatorSettings.of(config), log, loop, clock, slicer)
    services.share_states = shares
    shares.runtime                             follows the leadership of `__share_group_state`, as other coordinators do
    shares.close()

Whoever needs the state of a share partition and does not know where its coordinator is asks the `SharePersister`
(server/share/persister.py); these requests are what it sends.

A request is about many share partitions, each with a shard of its own to look for. Those of one shard are decided
together, each for itself; the answer has them in the order of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeVar

from moldau.coordinator.partition_log import PartitionLog
from moldau.coordinator.record_framing import batch_of_one
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.shard import Result, ShardContext
from moldau.coordinator.share.settings import ShareCoordinatorSettings
from moldau.coordinator.share.shard import Change, Outcome, ShareShard
from moldau.coordinator.share.state import RECORD_TYPES, SHARE_STATE_TOPIC, UNCHANGED, SharePartitionKey
from moldau.coordinator.share.state_batches import Batch
from moldau.deferred import Deferred, gather, mapped
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import delete_share_group_state as deletes
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state as reads
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.protocol.messages import write_share_group_state as writes
from moldau.runtime.ports import Clock, Loop
from moldau.slicing import Slicer, Work
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

V = TypeVar("V")
R = TypeVar("R")

# Of a request, between two pauses.
_PIECE: Final = 32

# What is asked of a shard: for each share partition what the request says of it, at a time of the wall clock.
Decide = Callable[[ShareShard, Mapping[SharePartitionKey, V], int], Result[list[Outcome]]]


class Asked(Protocol):
    """Any of the five requests: they have one shape."""

    group_id: str
    topics: list[Any]


class Pruner(Protocol):
    """Deletes what stands before an offset of a partition; the server's part, as the log under a coordinator is."""

    def __call__(self, partition: TopicPartition, offset: int) -> None: ...


class ShareCoordinator:
    def __init__(
        self,
        settings: ShareCoordinatorSettings,
        log: PartitionLog,
        loop: Loop,
        clock: Clock,
        prune: Pruner,
        slicer: Slicer | None = None,
    ) -> None:
        self._settings = settings
        self._loop = loop
        self._clock = clock
        self._prune = prune
        self._slicer = Slicer(loop, clock) if slicer is None else slicer
        self.runtime: CoordinatorRuntime[ShareShard] = CoordinatorRuntime(
            SHARE_STATE_TOPIC,
            RECORD_TYPES,
            self._shard,
            log,
            loop,
            clock,
            load_slice=settings.load_buffer,
            commit_timeout_ms=settings.write_timeout_ms,
            compression=settings.compression,
            slicer=self._slicer,
        )
        # Up to where each partition has been pruned: the same is not asked for twice.
        self._pruned: dict[int, int] = {}
        self._timer = loop.call_later(settings.prune_interval_ms / 1000, self._prune_all)

    def _shard(self, context: ShardContext) -> ShareShard:
        return ShareShard(context, self._settings)

    # ----------------------------------------------------------------------------------------------- from the node

    def load(self, partition: int, leader_epoch: int) -> None:
        self.runtime.load(partition, leader_epoch)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        self._pruned.pop(partition, None)
        self.runtime.unload(partition, leader_epoch)

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.runtime.on_image(delta, image)
        gone = frozenset(delta.topics.deleted)
        if gone:
            self.runtime.write_all("forget deleted topics", lambda shard: shard.forget_topics(gone))

    def close(self) -> None:
        self._timer.cancel()
        self.runtime.close()

    def _prune_all(self) -> None:
        self._timer = self._loop.call_later(self._settings.prune_interval_ms / 1000, self._prune_all)
        self._slicer.run(self._pruning())

    def _pruning(self) -> Work[None]:
        for partition, shard, committed in self.runtime.shards():
            needed = shard.needed_from(committed)
            if needed > self._pruned.get(partition, 0):
                self._pruned[partition] = needed
                self._prune(TopicPartition(SHARE_STATE_TOPIC, partition), needed)
            yield

    # -------------------------------------------------------------------------------------------------- operations

    def initialize(
        self, request: initializes.InitializeShareGroupStateRequest
    ) -> Deferred[initializes.InitializeShareGroupStateResponse]:
        def change(row: initializes.PartitionData) -> Change:
            return Change(row.state_epoch, UNCHANGED, row.start_offset, UNCHANGED, ())

        return self._answer(
            request,
            lambda keys: self._write("initialize", keys, change, ShareShard.initialize),
            lambda row, outcome: initializes.PartitionResult(partition=row.partition, **_refusal(outcome)),
            initializes.InitializeStateResult,
            initializes.InitializeShareGroupStateResponse,
        )

    def read(self, request: reads.ReadShareGroupStateRequest) -> Deferred[reads.ReadShareGroupStateResponse]:
        return self._answer(
            request,
            lambda keys: self._write("read", keys, lambda row: row.leader_epoch, ShareShard.read),
            _read_result,
            reads.ReadStateResult,
            reads.ReadShareGroupStateResponse,
        )

    def write(self, request: writes.WriteShareGroupStateRequest) -> Deferred[writes.WriteShareGroupStateResponse]:
        return self._answer(
            request,
            lambda keys: self._write("write", keys, _change, ShareShard.write),
            lambda row, outcome: writes.PartitionResult(partition=row.partition, **_refusal(outcome)),
            writes.WriteStateResult,
            writes.WriteShareGroupStateResponse,
        )

    def write_shortly(self, key: SharePartitionKey, change: Change) -> Deferred[None] | Literal[True] | None:
        """The same for one share partition and a short change, if its shard is here and has time: True if it is written
        down, or what comes of it. None if it is left, and nothing has changed."""
        writer = self.runtime.idle_writer(str(key))
        record = None if writer is None else writer.shard.short_update(key, change)
        if writer is None or record is None:
            return None
        now, shard = self._clock.now_ms(), writer.shard

        def replay(offset: int) -> None:
            shard.replay(record, offset, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)

        try:
            written = writer.write_encoded(batch_of_one(record, now), 1, now, replay)
        except KafkaError:
            return None
        return True if written is None else written

    def delete(self, request: deletes.DeleteShareGroupStateRequest) -> Deferred[deletes.DeleteShareGroupStateResponse]:
        def delete(shard: ShareShard, asked: Mapping[SharePartitionKey, None], _now_ms: int) -> Result[list[Outcome]]:
            return shard.delete(asked)

        return self._answer(
            request,
            lambda keys: self._write("delete", keys, lambda _row: None, delete),
            lambda row, outcome: deletes.PartitionResult(partition=row.partition, **_refusal(outcome)),
            deletes.DeleteStateResult,
            deletes.DeleteShareGroupStateResponse,
        )

    def read_summary(
        self, request: summaries.ReadShareGroupStateSummaryRequest
    ) -> Deferred[summaries.ReadShareGroupStateSummaryResponse]:
        return self._answer(
            request,
            self._summaries,
            _summary_result,
            summaries.ReadStateSummaryResult,
            summaries.ReadShareGroupStateSummaryResponse,
        )

    # ----------------------------------------------------------------------------------------------------- details

    def _answer(
        self,
        request: Asked,
        decide: Callable[[dict[SharePartitionKey, Any]], Deferred[dict[SharePartitionKey, Outcome]]],
        result: Callable[[Any, Outcome], Any],
        topic_result: Callable[..., Any],
        response: Callable[..., R],
    ) -> Deferred[R]:
        """Decides about all share partitions of the request, and puts what came of each where it was asked."""
        keys = {
            SharePartitionKey(request.group_id, topic.topic_id, row.partition): row
            for topic in request.topics
            for row in topic.partitions
        }

        def built(outcomes: dict[SharePartitionKey, Outcome]) -> Work[R]:
            topics = []
            for topic in request.topics:
                rows = []
                for number, row in enumerate(topic.partitions, 1):
                    outcome = outcomes[SharePartitionKey(request.group_id, topic.topic_id, row.partition)]
                    rows.append(result(row, outcome))
                    if not number % _PIECE:
                        yield
                topics.append(topic_result(topic_id=topic.topic_id, partitions=rows))
            return response(results=topics)

        return self._slicer.then(decide(keys), built)

    def _write(
        self,
        what: str,
        rows: dict[SharePartitionKey, Any],
        said: Callable[[Any], V],
        decide: Decide[V],
    ) -> Deferred[dict[SharePartitionKey, Outcome]]:
        """One operation on each shard that is concerned."""
        outcomes: dict[SharePartitionKey, Outcome] = {}
        by_shard: dict[int, dict[SharePartitionKey, V]] = {}
        for key, row in rows.items():
            try:
                by_shard.setdefault(self._partition_of(key), {})[key] = said(row)
            except KafkaError as error:
                outcomes[key] = Outcome(error=error)
        name, waiting = f"{what} share group state", []
        for partition, asked in by_shard.items():

            def operation(shard: ShareShard, asked: dict[SharePartitionKey, V] = asked) -> Result[list[Outcome]]:
                return decide(shard, asked, self._clock.now_ms())

            written = self.runtime.write(name, partition, operation)
            waiting.append(self._noted(written, asked, outcomes))
        return _all(waiting, outcomes)

    def _noted(
        self,
        written: Deferred[list[Outcome]],
        asked: dict[SharePartitionKey, Any],
        outcomes: dict[SharePartitionKey, Outcome],
    ) -> Deferred[None]:
        noted: Deferred[None] = Deferred()

        def settled(found: list[Outcome] | None, error: BaseException | None) -> None:
            if isinstance(error, KafkaError):
                found = [Outcome(error=error)] * len(asked)
            if found is None:
                assert error is not None
                noted.fail(error)
                return
            outcomes.update(zip(asked, found, strict=True))
            noted.resolve(None)

        written.then(settled)
        return noted

    def _summaries(self, rows: dict[SharePartitionKey, Any]) -> Deferred[dict[SharePartitionKey, Outcome]]:
        answer: Deferred[dict[SharePartitionKey, Outcome]] = Deferred()
        self._slicer.run_into(self._look_at(rows), answer)
        return answer

    def _look_at(self, rows: dict[SharePartitionKey, Any]) -> Work[dict[SharePartitionKey, Outcome]]:
        outcomes: dict[SharePartitionKey, Outcome] = {}
        for number, key in enumerate(rows, 1):
            outcomes[key] = self._look(key)
            if not number % _PIECE:
                yield
        return outcomes

    def _look(self, key: SharePartitionKey) -> Outcome:
        try:
            return self.runtime.read(
                "read summary of share group state",
                self._partition_of(key),
                lambda shard, committed: shard.summary(key, committed),
            )
        except KafkaError as error:
            return Outcome(error=error)

    def _partition_of(self, key: SharePartitionKey) -> int:
        if not key.group_id or key.partition < 0:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A share partition has a group, and a partition from 0 on.")
        return self.runtime.partition_of(str(key))


def _all(
    waiting: list[Deferred[None]], outcomes: dict[SharePartitionKey, Outcome]
) -> Deferred[dict[SharePartitionKey, Outcome]]:
    return mapped(gather(waiting), lambda _: outcomes)


def _change(row: writes.PartitionData) -> Change:
    batches = [
        Batch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in row.state_batches
    ]
    return Change(row.state_epoch, row.leader_epoch, row.start_offset, row.delivery_complete_count, batches)


def _refusal(outcome: Outcome) -> dict[str, Any]:
    error = outcome.error
    return {} if error is None else {"error_code": error.code, "error_message": error.message}


def _read_result(row: reads.PartitionData, outcome: Outcome) -> reads.PartitionResult:
    state = outcome.state
    if state is None:
        return reads.PartitionResult(partition=row.partition, **_refusal(outcome))
    batches = [
        reads.StateBatch(first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count)
        for first, last, delivery_state, count in state.batches
    ]
    return reads.PartitionResult(
        partition=row.partition,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=batches,
    )


def _summary_result(row: summaries.PartitionData, outcome: Outcome) -> summaries.PartitionResult:
    state = outcome.state
    if state is None:
        return summaries.PartitionResult(partition=row.partition, **_refusal(outcome))
    return summaries.PartitionResult(
        partition=row.partition,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
