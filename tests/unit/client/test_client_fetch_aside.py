"""What turns up while a fetch waits at the broker does not wait with it."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_partition import WHERE, scripted_partition

from moldau import KafkaConsumer
from moldau.client.consumer.sessions import ASIDE, MAIN, FetchesInFlight

PATIENCE_MS = 60_000
# Ten minutes at the broker, and the limits that have to be above that.
LONG = {"fetch_max_wait_ms": 600_000, "request_timeout_ms": 700_000, "connections_max_idle_ms": 800_000}


def test_a_seek_does_not_wait_for_the_fetch_that_is_under_way() -> None:
    with (
        scripted_partition() as partition,
        KafkaConsumer(bootstrap_servers=partition.bootstrap, **LONG) as consumer,
    ):
        partition.append(5)
        consumer.assign([WHERE])
        assert consumer.position(WHERE) == 5
        assert partition.waiting.wait(PATIENCE_MS / 1000), "the fetch at the end waits for records"
        # Ten minutes are left of that wait, and nothing ends it.
        for offset in (0, 3, 1, 4, 2):
            consumer.seek(WHERE, offset)
            (records,) = consumer.poll(PATIENCE_MS).values()
            assert records[0].offset == offset
        assert partition.fetches[0].offset == 5


def test_a_partition_that_is_resumed_does_not_wait_either() -> None:
    with (
        scripted_partition() as partition,
        KafkaConsumer(bootstrap_servers=partition.bootstrap, **LONG) as consumer,
    ):
        partition.append(5)
        consumer.assign([WHERE])
        assert consumer.position(WHERE) == 5
        assert partition.waiting.wait(PATIENCE_MS / 1000)
        consumer.pause(WHERE)
        consumer.seek_to_beginning(WHERE)
        assert consumer.poll(50) == {}
        consumer.resume(WHERE)
        assert sum(map(len, consumer.poll(PATIENCE_MS).values())) == 5


@pytest.mark.parametrize(
    ("now", "plan"),
    [
        (100.0, (0.01, 0.05)),
        (100.01, (0.0, 0.05)),
        (100.46, (0.0, 0.02)),
        (100.485, None),
        (200.0, None),
    ],
)
def test_aside_is_back_a_moment_before_the_other(now: float, plan: tuple[float, float] | None) -> None:
    flights = FetchesInFlight()
    flights.begin(1, MAIN, 100.0, 0.5)
    found = flights.aside(1, now)
    assert found == (None if plan is None else pytest.approx(plan))


def test_two_at_once_are_enough() -> None:
    flights = FetchesInFlight()
    flights.begin(1, MAIN, 100.0, 0.5)
    flights.begin(1, ASIDE, 100.1, 0.3)
    assert flights.aside(1, 100.2) is None
    flights.end(1, ASIDE)
    assert flights.aside(1, 100.2) is not None
    assert not flights.underway(1, ASIDE)


def test_the_next_records_are_fetched_while_the_application_is_busy() -> None:
    with (
        scripted_partition() as partition,
        KafkaConsumer(bootstrap_servers=partition.bootstrap, auto_offset_reset="earliest", **LONG) as consumer,
    ):
        partition.append(5)
        consumer.assign([WHERE])
        assert len(consumer.poll(PATIENCE_MS, max_records=1)[WHERE]) == 1
        # Nobody polls, and still the next fetch is on its way, behind all five.
        assert partition.waiting.wait(PATIENCE_MS / 1000)
        assert [fetch.offset for fetch in partition.fetches] == [0, 5]
        partition.append(5)
        partition.over.set()
        assert [record.offset for record in consumer.poll(0, max_records=10)[WHERE]] == [1, 2, 3, 4]


def test_a_session_is_told_only_what_changed() -> None:
    with (
        scripted_partition() as partition,
        KafkaConsumer(
            bootstrap_servers=partition.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=10
        ) as consumer,
    ):
        plain = partition.fetch
        requests: list[Any] = []

        def remembering(node: int, request: Any) -> Any:
            requests.append(request)
            answer = plain(node, request)
            answer.session_id = 77
            return answer

        partition.fetch = remembering  # type: ignore[method-assign]
        partition.append(5)
        consumer.assign([WHERE])
        assert len(consumer.poll(PATIENCE_MS)[WHERE]) == 5
        while len(requests) < 4:
            consumer.poll(20)
    said = [
        (
            request.session_id,
            request.session_epoch,
            [row.fetch_offset for row in topics[0].partitions] if topics else [],
        )
        for request in requests[:4]
        for topics in [request.topics]
    ]
    assert said == [(0, 0, [0]), (77, 1, [5]), (77, 2, []), (77, 3, [])]
