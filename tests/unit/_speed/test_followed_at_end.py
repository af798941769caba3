"""Followers who stand at the end of a log: each check of the kernels that note them down, one at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from moldau import _speed
from moldau.replica.follower import Follower

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")

if _speed.COMPILED:
    from moldau._speed.followed import follower_at_end, read_at_end

TOPIC, FOLLOWER, END, EPOCH = b"t" * 16, 2, 7, 5


class Partition(SimpleNamespace):
    __hash__ = object.__hash__


def led(**changes: Any) -> Any:
    follower = Follower(FOLLOWER)
    follower.fetched(END, 0, END, -1, 1)
    local = SimpleNamespace(log_end_offset=END, high_watermark=END, last_stable_offset=END, log_start_offset=0)
    log = SimpleNamespace(local=local, epochs=SimpleNamespace(latest_epoch=EPOCH))
    fields: dict[str, Any] = {
        "is_leader": True,
        "isr": (1, FOLLOWER),
        "leader_epoch": EPOCH,
        "followers": {FOLLOWER: follower},
        "log": log,
        "advance_high_watermark": lambda: False,
    }
    return Partition(**{**fields, **changes})


def asked(**changes: int) -> tuple[Any, ...]:
    fields = {"offset": END, "most": 1 << 20, "leader_epoch": EPOCH, "log_start": 0, "fetched_epoch": EPOCH, **changes}
    return TOPIC, 0, *fields.values()


# What makes the readable way necessary; of the fetched epoch that the logs may have parted.
NOT_SO_PLAIN: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({"is_leader": False}, {}),
    ({"isr": (1,)}, {}),
    ({"followers": {}}, {}),
    ({}, {"leader_epoch": EPOCH - 1}),
    ({}, {"leader_epoch": EPOCH + 1}),
    ({}, {"fetched_epoch": EPOCH - 1}),
    ({}, {"fetched_epoch": EPOCH + 1}),
    ({}, {"offset": END - 1}),
    ({}, {"offset": END + 1}),
]
PLAIN: list[dict[str, int]] = [{}, {"leader_epoch": -1}, {"fetched_epoch": -1}]


def seen(partition: Any) -> int:
    follower = partition.followers.get(FOLLOWER)
    return -1 if follower is None else follower.caught_up_ms


def by_one(partition: Any, row: tuple[Any, ...]) -> Any:
    return read_at_end(partition, row, FOLLOWER, -1, 9)


def by_many(partition: Any, row: tuple[Any, ...], **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "arrivals": (),
        "replication": SimpleNamespace(isr=SimpleNamespace(is_stale=lambda *_: False, now_ms=lambda: 9)),
        "deletes": SimpleNamespace(watched={}),
        "by_id": {TOPIC: SimpleNamespace(partitions={0: partition})},
    }
    return follower_at_end(SimpleNamespace(**{**fields, **changes}), [row], FOLLOWER, 3)


@pytest.mark.parametrize("way", [by_one, by_many])
@pytest.mark.parametrize("words", PLAIN, ids=str)
def test_who_has_everything_is_noted_down(way: Any, words: dict[str, int]) -> None:
    partition = led()
    assert way(partition, asked(**words)) is not None
    assert seen(partition) == 9


@pytest.mark.parametrize("way", [by_one, by_many])
@pytest.mark.parametrize(("state", "words"), NOT_SO_PLAIN, ids=str)
def test_whatever_is_not_so_plain_is_left_to_the_readable_way(
    way: Any, state: dict[str, Any], words: dict[str, int]
) -> None:
    partition = led(**state)
    before = seen(partition)
    assert way(partition, asked(**words)) is None
    assert seen(partition) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"arrivals": (1,)},
        {"by_id": {}},
        {"by_id": {TOPIC: SimpleNamespace(partitions={})}},
        {"replication": SimpleNamespace(isr=SimpleNamespace(is_stale=lambda *_: True, now_ms=lambda: 9))},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_wrong_with_all_of_a_fetch(changes: dict[str, Any]) -> None:
    partition = led()
    assert by_many(partition, asked(), **changes) is None
    assert seen(partition) == 1


def test_partitions_whose_records_somebody_waits_to_see_deleted() -> None:
    partition = led()
    assert by_many(partition, asked(), deletes=SimpleNamespace(watched={partition: ()})) is None
    assert seen(partition) == 1


def test_who_was_elsewhere_when_he_came_last_moves_the_high_watermark() -> None:
    late = Follower(FOLLOWER)
    late.fetched(END - 1, 0, END, -1, 1)
    partition = led(followers={FOLLOWER: late}, advance_high_watermark=lambda: True)
    assert by_one(partition, asked()) is None
    assert by_many(partition, asked()) == [partition]
    assert late.end_offset == END
