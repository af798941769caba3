"""The bytes of one range of one partition, answer by answer.

The next fetch is on its way before the last answer is decoded, so the broker works while Spark does. A range is known
to be there, so a fetch is sized to it: a large range comes in large answers, and a micro-batch of ten records does not
bring megabytes that belong to the next one.

What can go wrong is decided here: leaders that move and brokers that restart are waited for, offsets that are gone are
a loss of data, and a broker that has nothing to say about offsets it once named is given kafkaConsumer.pollTimeoutMs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Final

from moldau.client.admin.offsets import EARLIEST, LATEST, FoundOffset, IsolationLevel, list_offsets
from moldau.client.background import Waiter
from moldau.client.cluster import Cluster
from moldau.client.consumer.fetched import whole_batches
from moldau.client.consumer.sessions import MAIN as FETCH_CHANNEL
from moldau.client.conversation import NOT_THERE, Conversation, Learn, retrying
from moldau.client.fetching import fetch_request
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.fetch import FetchResponse, PartitionData
from moldau.protocol.records import BatchHeader, scan_batches, up_convert
from moldau.spark.source.loss import report_loss
from moldau.spark.source.ranges import OffsetRange
from moldau.spark.source.settings import SourceSettings
from moldau.types import ZERO_UUID, TopicPartition

# What a record is taken to need before any was seen. Too much costs some bytes fetched twice, too little a round trip.
_USUAL_RECORD: Final = 512
_LEAST_FETCH: Final = 64 * 1024

_MAGIC_AT: Final = 16


@dataclass(slots=True)
class Chunk:
    """Whole batches from one answer, `data` beginning with the first; the records before `position` are not wanted."""

    position: int
    data: memoryview
    batches: Sequence[BatchHeader]
    aborted: list[tuple[int, int]]


class TopicRenewed(KafkaError):
    """Another topic has the name by now."""


class RangeFetcher:
    """Iterates over the chunks of a range."""

    def __init__(self, cluster: Cluster, wanted: OffsetRange, settings: SourceSettings) -> None:
        self._cluster = cluster
        self._where = wanted.where
        self._topic_id = wanted.topic_id
        self._position = wanted.start
        self._end = wanted.end
        self._settings = settings
        self._record_size = float(_USUAL_RECORD)
        self._failures = 0
        self._progress = monotonic()

    def __iter__(self) -> Iterator[Chunk]:
        flight: Waiter[FetchResponse] | None = None
        while self._position < self._end:
            try:
                flight = flight or self._send(self._position)
                data = self._receive(flight)
                flight = None
                chunk = self._chunk(data)
            except KafkaError as error:
                flight = None
                self._mend(error)
                continue
            if chunk is None:
                self._wait_for_more(data)
                continue
            position = chunk.batches[-1].next_offset
            self._learn_size(chunk, position)
            self._position = position
            if position < self._end:
                flight = self._send_ahead(position)
            yield chunk
            # Spark may have taken its time over the chunk; that is nothing the broker can be blamed for.
            self._progress = monotonic()

    # -------------------------------------------------------------------------------------------------- asking

    def _send(self, position: int) -> Waiter[FetchResponse]:
        settings = self._settings
        limits = replace(settings.limits, partition_bytes=self._size(position))
        patience = settings.limits.max_wait_ms / 1000 + settings.request_timeout

        def fetch() -> Conversation[FetchResponse]:
            view = yield from _view(self._where)
            if self._is_another(view):
                # What this process knew of it may be older than the range.
                view = yield from _view(self._where, anew=True)
                if self._is_another(view):
                    raise TopicRenewed(ErrorCode.UNKNOWN_TOPIC_ID)
            node = view.leader(self._where)
            ask = fetch_request(view, {self._where: position}, limits, settings.isolation, node)
            response: FetchResponse = yield replace(ask, timeout=patience, channel=FETCH_CHANNEL)
            return response

        return self._cluster.begin(fetch(), self._cluster.timeout + patience)

    def _is_another(self, view: ClusterView) -> bool:
        now = view.topic(self._where.topic).id
        return ZERO_UUID not in (self._topic_id, now) and now != self._topic_id

    def _send_ahead(self, position: int) -> Waiter[FetchResponse]:
        """What fails here is noticed when its answer is needed."""
        return self._send(position)

    def _size(self, position: int) -> int:
        """What the rest of the range probably needs, within the limits."""
        expected = int((self._end - position) * self._record_size * 1.1) + _LEAST_FETCH
        return min(expected, self._settings.limits.partition_bytes)

    def _learn_size(self, chunk: Chunk, position: int) -> None:
        self._record_size = max(len(chunk.data) / max(position - chunk.batches[0].base_offset, 1), 1.0)

    # ------------------------------------------------------------------------------------------------ answers

    def _receive(self, flight: Waiter[FetchResponse]) -> PartitionData:
        response = flight.wait(None)
        _check(self._where, response.error_code)
        for topic in response.responses:
            for data in topic.partitions:
                if data.partition_index == self._where.partition:
                    _check(self._where, data.error_code)
                    return data
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"The broker left out {self._where} in its answer.")

    def _chunk(self, data: PartitionData) -> Chunk | None:
        records = data.records
        if not isinstance(records, memoryview) or len(records) <= _MAGIC_AT:
            return None
        check_crc = self._settings.check_crc
        if records[_MAGIC_AT] < 2:
            records = memoryview(up_convert(records, 0, whole_batches(records), check_crc=check_crc))
        batches = scan_batches(records, 0, None, check_crc=check_crc, allow_partial=True)
        if not batches or batches[-1].next_offset <= self._position:
            return None
        self._failures, self._progress = 0, monotonic()
        aborted = [(entry.producer_id, entry.first_offset) for entry in data.aborted_transactions or ()]
        return Chunk(self._position, records, batches, aborted)

    def _wait_for_more(self, data: PartitionData) -> None:
        """Nothing came, from a place where there was something when the range was made."""
        if monotonic() - self._progress < self._settings.poll_timeout:
            return
        committed = self._settings.isolation is IsolationLevel.READ_COMMITTED
        edge = data.last_stable_offset if committed else data.high_watermark
        waited = f"within {self._settings.poll_timeout:g} s (kafkaConsumer.pollTimeoutMs)"
        self._lost(
            f"Partition {self._where} gave nothing for offset {self._position} {waited}; it ends at {edge}, "
            f"and was to be read up to {self._end}"
        )
        self._position = self._end

    # ------------------------------------------------------------------------------------------------- trouble

    def _mend(self, error: KafkaError) -> None:
        """Waits for what may pass; raises what will not; finds out where to go on after an offset that is gone."""
        if isinstance(error, TopicRenewed):
            self._lost(
                f"Topic {self._where.topic!r} was deleted and made anew; partition {self._where.partition} of the "
                f"former one was to be read from {self._position} to {self._end}"
            )
            self._position = self._end
            return
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._find_position()
            return
        if not error.retriable:
            raise error
        if error.code in NOT_THERE and self._failures > self._settings.retries:
            self._lost(
                f"Partition {self._where} is no longer there; it was to be read from {self._position} to {self._end}"
            )
            self._position = self._end
            return
        if monotonic() - self._progress > self._settings.poll_timeout:
            raise error
        sleep(self._cluster.backoff.delay(self._failures))
        self._failures += 1
        self._cluster.doubt()

    def _find_position(self) -> None:
        earliest, latest = self._edge(EARLIEST), self._edge(LATEST)
        if earliest <= self._position <= latest:
            # Another broker answered than the one that refused: a leader that is still catching up.
            if monotonic() - self._progress > self._settings.poll_timeout:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
            sleep(self._cluster.backoff.delay(self._failures))
            self._failures += 1
        elif self._position < earliest:
            self._lost(f"Partition {self._where} begins at {earliest}, and was to be read from {self._position}")
            self._position = earliest
        else:
            self._lost(f"Partition {self._where} ends at {latest}, and was to be read from {self._position}")
            self._position = self._end

    def _edge(self, edge: int) -> int:
        answer = self._cluster.run(list_offsets({self._where: edge}))[self._where]
        if not isinstance(answer, FoundOffset):
            raise answer
        return answer.offset

    def _lost(self, what: str) -> None:
        report_loss(what, fail=self._settings.fail_on_data_loss)


def _view(where: TopicPartition, *, anew: bool = False) -> Conversation[ClusterView]:
    def attempt() -> Conversation[ClusterView]:
        view: ClusterView = yield Learn([where.topic], anew=anew)
        return view

    return retrying(attempt)


def _check(where: TopicPartition, number: int) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, f"Partition {where}: {code.text}")
