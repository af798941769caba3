"""Which requests are called slow, and whose fault that is said to be."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from moldau.protocol.api import ApiKey
from moldau.runtime.ports import LoopLoad
from moldau.server.slow_requests import SlowRequests


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def connection(api: ApiKey) -> Any:
    about = {"client_id": "c"}
    return SimpleNamespace(api=api, peer=("10.0.0.1", 5), doing=lambda: f"{api.name} from c", about=lambda: about)


@pytest.mark.parametrize(
    ("api", "took", "idle", "told"),
    [
        (ApiKey.PRODUCE, 0.9, 0.9, None),
        (ApiKey.PRODUCE, 1.0, 1.0, "it waited for replicas in sync or for the disk"),
        (ApiKey.CREATE_TOPICS, 2.0, 2.0, "it waited for a controller, another broker or the disk"),
        (ApiKey.CREATE_TOPICS, 2.0, 0.5, "the loop was busy for 1500 ms of it"),
        (ApiKey.FETCH, 30.0, 30.0, None),
        (ApiKey.JOIN_GROUP, 30.0, 30.0, None),
    ],
)
def test_what_is_told(
    api: ApiKey, took: float, idle: float, told: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    clock, load = Clock(), LoopLoad()
    slow = SlowRequests(load, clock, 1.0)
    begun = slow.begin(connection(api))
    assert (begun is None) == (api in (ApiKey.FETCH, ApiKey.JOIN_GROUP))
    clock.now += took
    load.idle_seconds += idle
    if begun is not None:
        with caplog.at_level(logging.INFO, "moldau.server"):
            slow.end(connection(api), begun)
    if told is None:
        assert caplog.records == []
    else:
        (record,) = caplog.records
        assert record.getMessage() == f"{api.name} from c was answered after {took * 1000:.0f} ms: {told}"
        assert (record.client_id, record.took_ms) == ("c", round(took * 1000))  # type: ignore[attr-defined]


def test_a_flood_of_one_kind_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    clock, load = Clock(), LoopLoad()
    slow = SlowRequests(load, clock, 0.0)
    for api in (ApiKey.PRODUCE, ApiKey.PRODUCE, ApiKey.CREATE_TOPICS):
        begun = slow.begin(connection(api))
        assert begun is not None
        slow.end(connection(api), begun)
    assert [record.getMessage().split()[0] for record in caplog.records] == ["PRODUCE", "CREATE_TOPICS"]


def test_none_is_slow() -> None:
    assert SlowRequests(LoopLoad(), Clock(), -0.001).begin(connection(ApiKey.PRODUCE)) is None
