"""What was acquired, what is handed out of it, and what is told of that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from moldau.client.consumer.fetched import Deserializers
from moldau.client.share.acknowledgements import GAP, AcknowledgedRun, AcknowledgeType, offset_ranges, runs_of
from moldau.client.share.acquired import AcquiredRange, AcquiredRecords
from moldau.client.share.in_flight import InFlight
from moldau.client.share.node_session import NodeSession
from moldau.errors.named import IllegalStateError
from moldau.protocol.messages.share_fetch import ShareFetchRequest
from moldau.protocol.records import EndTransaction, encode_batch, end_transaction_record
from moldau.types import TopicPartition

RIVER = TopicPartition("rivers", 0)
TOPIC_ID = b"0123456789abcdef"
ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


def batch(base_offset: int, count: int) -> bytes:
    return encode_batch(
        [(1000, None, b"%d" % (base_offset + number), ()) for number in range(count)], base_offset=base_offset
    )


def marker(offset: int) -> bytes:
    return encode_batch(
        [end_transaction_record(EndTransaction(True, 0), 1000)],
        base_offset=offset,
        producer_id=1,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )


def acquired(data: bytes, *ranges: tuple[int, int, int], deserializers: Deserializers | None = None) -> AcquiredRecords:
    return AcquiredRecords(
        RIVER,
        TOPIC_ID,
        memoryview(data),
        [AcquiredRange(*each) for each in ranges],
        0.0,
        deserializers or Deserializers(),
    )


def take_all(records: AcquiredRecords, at_once: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Offsets with their delivery counts, and the offsets of gaps."""
    seen: list[tuple[int, int]] = []
    gaps: list[int] = []
    while not records.done:
        taken = records.take(at_once)
        assert len(taken.records) <= at_once
        seen += [(record.offset, record.delivery_count) for record in taken.records]
        gaps += [offset for first, last in taken.gaps for offset in range(first, last + 1)]
    return seen, gaps


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 100])
def test_only_what_was_acquired_is_handed_out(at_once: int) -> None:
    """Batches are whole, ranges are not; each knows how often it was delivered."""
    data = batch(0, 5) + batch(5, 5) + batch(10, 5)
    seen, gaps = take_all(acquired(data, (3, 6, 1), (8, 8, 4), (10, 13, 2)), at_once)
    assert seen == [(3, 1), (4, 1), (5, 1), (6, 1), (8, 4), (10, 2), (11, 2), (12, 2), (13, 2)]
    assert gaps == []


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_offsets_without_a_record_are_gaps(at_once: int) -> None:
    """A marker in the middle, what compaction took, and what lies behind the last batch."""
    data = batch(0, 2) + marker(2) + batch(6, 2)
    seen, gaps = take_all(acquired(data, (0, 9, 1)), at_once)
    assert [offset for offset, _ in seen] == [0, 1, 6, 7]
    assert gaps == [2, 3, 4, 5, 8, 9]


def test_ranges_without_any_bytes_are_gaps() -> None:
    assert take_all(acquired(b"", (4, 5, 1), (9, 9, 1)), 10) == ([], [4, 5, 9])


@pytest.mark.parametrize("taken", [0, 1, 4, 6])
def test_what_nobody_was_given_can_be_told(taken: int) -> None:
    records = acquired(batch(0, 4) + batch(4, 4), (1, 2, 1), (4, 7, 1))
    given = {record.offset for record in records.take(taken).records} if taken else set()
    left = {offset for first, last in records.rest() for offset in range(first, last + 1)}
    assert given | left == {1, 2, 4, 5, 6, 7}
    assert not given & left


def test_a_record_that_cannot_be_read_is_met_when_it_is_the_first() -> None:
    def picky(value: bytes) -> int:
        if value == b"2":
            raise ValueError(value)
        return int(value)

    records = acquired(batch(0, 4), (0, 3, 1), deserializers=Deserializers(value=picky))
    assert [record.value for record in records.take(10).records] == [0, 1]
    assert records.take(10, unreadable=False).records == []
    met = records.take(10)
    assert met.unreadable == 2
    assert isinstance(met.error, ValueError)
    assert [record.value for record in records.take(10).records] == [3]


def test_runs_have_one_word_or_one_for_each() -> None:
    said: dict[int, int] = {1: ACCEPT, 2: ACCEPT, 3: REJECT, 7: RELEASE, 8: RELEASE}
    assert runs_of(said, [(4, 5, GAP)]) == [
        AcknowledgedRun(1, 5, [1, 1, 3, 0, 0]),
        AcknowledgedRun(7, 8, [2]),
    ]
    assert runs_of({}, []) == []


def test_ranges_of_offsets() -> None:
    assert offset_ranges([]) == []
    assert offset_ranges([3, 4, 5]) == [(3, 5)]
    assert offset_ranges([1, 3, 4, 9]) == [(1, 1), (3, 4), (9, 9)]


def in_flight(session: Any, records: AcquiredRecords) -> InFlight:
    flight = InFlight()
    taken = records.take(100)
    flight.of(session, RIVER, TOPIC_ID).add(taken.records, taken.gaps)
    return flight


def test_everything_is_accepted_at_once_and_gaps_are_told() -> None:
    flight = in_flight(None, acquired(batch(0, 2) + marker(2) + batch(3, 1), (0, 3, 1)))
    (told,) = flight.take(accept=True)
    assert told.runs == [AcknowledgedRun(0, 3, [1, 1, 0, 1])]
    assert list(told.offsets) == [0, 1, 3]
    assert flight.take(accept=True) == []


def test_only_what_was_said_is_told_and_the_rest_stays() -> None:
    flight = in_flight(None, acquired(batch(0, 4), (0, 3, 1)))
    flight.acknowledge(RIVER, 1, REJECT)
    flight.acknowledge(RIVER, 3, RENEW)
    assert not flight.all_said
    (told,) = flight.take(accept=False)
    assert told.runs == [AcknowledgedRun(1, 1, [3]), AcknowledgedRun(3, 3, [4])]
    assert [record.offset for record in told.renewed] == [3]
    with pytest.raises(IllegalStateError):
        flight.acknowledge(RIVER, 3, ACCEPT)
    flight.acknowledge(RIVER, 0, ACCEPT)
    flight.acknowledge(RIVER, 2, RELEASE)
    flight.acknowledge(RIVER, 2, ACCEPT)
    assert [flight.all_said] == [True]
    (told,) = flight.take(accept=False)
    assert told.runs == [AcknowledgedRun(0, 0, [1]), AcknowledgedRun(2, 2, [1])]
    assert flight.take(accept=False) == []


def test_what_could_not_be_read_is_released_unless_something_else_is_said() -> None:
    flight = InFlight()
    handed = flight.of(cast(NodeSession, None), RIVER, TOPIC_ID)
    handed.add_unreadable(5)
    handed.add_unreadable(6)
    flight.acknowledge(RIVER, 6, REJECT)
    with pytest.raises(IllegalStateError):
        flight.acknowledge(RIVER, 5, RENEW)
    assert flight.all_said
    (told,) = flight.take(accept=False)
    assert told.runs == [AcknowledgedRun(5, 6, [2, 3])]


def request(session: NodeSession, wanted: list[tuple[bytes, int]], told: Any = ()) -> ShareFetchRequest:
    made = ShareFetchRequest(group_id="g", member_id="m")
    session.fetch(made, wanted, told)
    return made


def named(made: ShareFetchRequest) -> set[int]:
    return {each.partition_index for topic in made.topics for each in topic.partitions}


def test_a_session_names_what_is_new_and_what_is_not_wanted_any_more() -> None:
    session = NodeSession(1, cast(Any, SimpleNamespace(usable=True)))
    first = request(session, [(TOPIC_ID, 0), (TOPIC_ID, 1)])
    assert (first.share_session_epoch, named(first), first.forgotten_topics_data) == (0, {0, 1}, [])
    session.answered()
    second = request(session, [(TOPIC_ID, 1), (TOPIC_ID, 2)])
    assert (second.share_session_epoch, named(second)) == (1, {2})
    assert [each.partitions for each in second.forgotten_topics_data] == [[0]]
    session.answered()
    session.reset()
    assert named(request(session, [(TOPIC_ID, 1)])) == {1}


def test_what_is_told_of_a_partition_that_went_elsewhere_does_not_bring_it_back() -> None:
    session = NodeSession(1, cast(Any, SimpleNamespace(usable=True)))
    request(session, [(TOPIC_ID, 0), (TOPIC_ID, 1)])
    session.answered()
    told = in_flight(session, acquired(batch(0, 2), (0, 1, 1))).take(accept=True)
    made = request(session, [(TOPIC_ID, 1)], told)
    assert named(made) == {0}
    assert [each.partitions for each in made.forgotten_topics_data] == [[0]]
    (partition,) = made.topics[0].partitions
    (run,) = partition.acknowledgement_batches
    assert (run.first_offset, run.last_offset, run.acknowledge_types) == (0, 1, [1])
