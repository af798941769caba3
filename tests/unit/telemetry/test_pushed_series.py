"""What is kept of what clients push, for how long, and how much of it at most."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from moldau.metrics.exposition import render
from moldau.server.telemetry import pushed_series
from moldau.server.telemetry.otlp import Point
from moldau.server.telemetry.pushed_series import PushedSeries, Pusher
from moldau.slicing import run_whole

ALICE = Pusher("instance-a", "alice", "User:a")
BOB = Pusher("instance-b", 'bob "the builder"', "User:b")


def value(name: str, number: float, **attributes: str) -> Point:
    return Point(name, [], [*attributes.items()], number, is_counter=False, is_delta=False)


def total(name: str, number: float, *, delta: bool = False) -> Point:
    return Point(name, [], [], number, is_counter=True, is_delta=delta)


class Kept:
    def __init__(self, **limits: int) -> None:
        self.series = PushedSeries(**limits)
        self.now = 0.0

    def push(self, pusher: Pusher, *points: Point, silence: float = 60.0) -> None:
        for _ in self.series.take(pusher, iter(points), self.now, silence):
            pass

    def shown(self) -> list[str]:
        for _ in self.series.expire(self.now):
            pass
        text = b"".join(run_whole(render(self.series.families()))).decode()
        return [line for line in text.splitlines() if not line.startswith("#")]

    def values(self) -> dict[str, float]:
        return {line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in self.shown()}


@pytest.fixture
def kept() -> Kept:
    return Kept()


def labelled(pusher: str, *more: str) -> str:
    return ",".join((pusher, *more))


def test_series_have_the_name_of_the_metric_and_the_labels_of_who_pushed(kept: Kept) -> None:
    kept.push(ALICE, value("org.apache.kafka.producer.node.latency", 1.5, **{"node.id": "1"}))
    kept.push(BOB, value("my-app.size", 2), total("org.apache.kafka.sent.total", 3), total("lost", 4))
    a = 'client_instance_id="instance-a",client_id="alice",principal="User:a"'
    b = 'client_instance_id="instance-b",client_id="bob \\"the builder\\"",principal="User:b"'
    assert kept.shown() == [
        f"kafka_client_lost_total{{{b}}} 4",
        f"kafka_client_my_app_size{{{b}}} 2",
        f'kafka_client_producer_node_latency{{{a},node_id="1"}} 1.5',
        f"kafka_client_sent_total{{{b}}} 3",
    ]


def test_nobody_says_that_he_is_another_or_writes_into_what_the_node_tells(kept: Kept) -> None:
    kept.push(ALICE, value("kafka_server_brokerstate", 9, client_id="bob", __name__="up", principal="x"))
    assert kept.shown() == [
        'kafka_client_kafka_server_brokerstate{client_instance_id="instance-a",client_id="alice",principal="User:a"} 9'
    ]


def test_one_who_uses_the_id_of_another_has_series_of_his_own(kept: Kept) -> None:
    kept.push(ALICE, value("size", 1))
    kept.push(ALICE._replace(principal="User:mallory"), value("size", 2))
    assert sorted(line[-1] for line in kept.shown()) == ["1", "2"]


def test_what_was_pushed_last_counts_and_differences_are_added_up(kept: Kept) -> None:
    for number in (5.0, 7.0):
        kept.push(ALICE, value("size", number), total("sent", number), total("lost", number, delta=True))
    assert kept.values() == {
        "kafka_client_size": 7,
        "kafka_client_sent_total": 7,
        "kafka_client_lost_total": 12,
    }


def test_a_series_that_is_left_out_three_times_is_dropped(kept: Kept) -> None:
    kept.push(ALICE, value("size", 1), value("lag", 1))
    for _ in range(2):
        kept.push(ALICE, value("size", 1))
        assert kept.values().keys() == {"kafka_client_size", "kafka_client_lag"}
    kept.push(ALICE, value("size", 1))
    assert kept.values().keys() == {"kafka_client_size"}
    assert kept.series.count == 1


def test_who_is_silent_is_forgotten_with_all_he_pushed(kept: Kept) -> None:
    kept.push(ALICE, value("size", 1), silence=60)
    kept.push(BOB, value("size", 2), silence=300)
    kept.now = 59.9
    assert len(kept.shown()) == 2
    kept.now = 60.0
    assert [line[-1] for line in kept.shown()] == ["2"]
    # Whoever pushes clears up too: nobody may ever look.
    kept.now = 300.0
    kept.push(ALICE, total("sent", 1))
    assert (kept.series.count, kept.values()) == (1, {"kafka_client_sent_total": 1})


def test_one_name_is_of_one_kind(kept: Kept) -> None:
    kept.push(ALICE, total("sent", 1))
    kept.push(BOB, value("sent_total", 2))
    assert kept.values() == {"kafka_client_sent_total": 1}
    assert kept.series.dropped == 1


def _many(count: int) -> Iterable[Point]:
    return (value(f"metric{number}", number) for number in range(count))


def test_there_are_so_many_series_of_one_and_of_all() -> None:
    kept = Kept(most_of_one=10, most_of_all=15)
    kept.push(ALICE, *_many(12))
    assert (kept.series.count, kept.series.dropped) == (10, 2)
    kept.push(BOB, *_many(10))
    assert (kept.series.count, kept.series.dropped) == (15, 7)
    # What is known already goes on.
    kept.push(ALICE, value("metric3", 99))
    assert kept.values()["kafka_client_metric3"] in (3, 99)
    assert kept.series.dropped == 7
    kept.now = 61.0
    kept.push(BOB, *_many(10))
    assert kept.series.count == 10


def test_who_pushes_nothing_takes_no_room(kept: Kept) -> None:
    for number in range(100):
        kept.push(Pusher(str(number), "", ""))
    assert not kept.series._clients


def test_labels_have_so_many_letters(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushed_series, "MOST_LETTERS", 500)
    kept.push(ALICE, value("size", 1), value("long", 2, text="x" * 400))
    assert kept.values() == {"kafka_client_size": 1}
    kept.push(ALICE, value("size", 1, **{f"a{number}": "b" for number in range(100)}))
    assert kept.series.dropped == 1
    assert kept.shown()[-1].count("=") == 3 + 16


def test_the_points_of_a_push_are_looked_at_up_to_a_number(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushed_series, "MOST_POINTS", 5)
    kept.push(ALICE, *_many(8))
    assert (kept.series.count, kept.series.dropped) == (5, 1)
