"""The counting behind connection limits."""

from __future__ import annotations

from moldau.security.quota import CONNECTION_RATE, IP, Limits
from moldau.server.connection_quotas import ConnectionLimits, ConnectionQuotas, Rate


def test_a_rate_saves_up_one_second_and_then_spaces_evenly() -> None:
    rate = Rate(10, now=0.0)
    delays = [rate.take(0.0) for _ in range(10)]
    assert delays[:9] == [0.0] * 9
    assert delays[9] > 0.0
    now = 0.0
    times = []
    delay = delays[9]
    for _ in range(20):
        now += delay
        times.append(now)
        delay = rate.take(now)
    assert abs(times[-1] - times[0] - 1.9) < 0.01


def test_a_long_pause_does_not_save_up_more_than_a_second() -> None:
    rate = Rate(5, now=0.0)
    for _ in range(5):
        rate.take(0.0)
    assert sum(rate.take(1000.0) == 0.0 for _ in range(10)) == 4


def test_a_rate_of_zero_always_waits() -> None:
    rate = Rate(0, now=0.0)
    assert rate.take(5.0) == 1.0
    assert rate.take(500.0) == 1.0


def test_slots_are_counted_for_the_broker_and_for_each_listener() -> None:
    quotas = ConnectionQuotas(
        ConnectionLimits(max_connections=3, max_per_listener={"A": 2}, protected_listener="B"), now=0.0
    )
    assert quotas.has_slot("A")
    quotas.opened("A", "1.1.1.1")
    quotas.opened("A", "1.1.1.1")
    assert not quotas.has_slot("A")
    assert quotas.has_slot("C")
    quotas.opened("C", "1.1.1.1")
    assert not quotas.has_slot("C")
    assert quotas.has_slot("B"), "the inter-broker listener is not bound by the broker's limit"
    quotas.opened("B", "2.2.2.2")
    assert quotas.exceeded
    quotas.closed("A", "1.1.1.1")
    assert not quotas.exceeded
    assert not quotas.has_slot("A"), "the broker is full, though the listener is not"


def test_addresses_are_forgotten_with_their_last_connection() -> None:
    quotas = ConnectionQuotas(ConnectionLimits(max_per_ip=1, max_per_ip_overrides={"9.9.9.9": 0}), now=0.0)
    assert not quotas.admits("9.9.9.9")
    for number in range(1000):
        address = f"10.0.{number // 256}.{number % 256}"
        assert quotas.admits(address)
        quotas.opened("A", address)
        assert not quotas.admits(address)
        quotas.closed("A", address)
    assert quotas.total == 0
    assert not quotas._per_ip


def test_an_address_with_a_quota_waits_and_no_other() -> None:
    quotas = ConnectionQuotas(ConnectionLimits(), now=0.0)
    assert quotas.address_delay("127.0.0.2", 0.0) == 0.0
    quotas.address_limits = Limits({frozenset({(IP, "127.0.0.2")}): {CONNECTION_RATE: 2.0}})
    assert [quotas.address_delay("127.0.0.2", 0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    # Who was turned away has used nothing up.
    assert quotas.address_delay("127.0.0.2", 0.0) == 0.5
    assert quotas.address_delay("127.0.0.2", 0.5) == 0.0
    assert [quotas.address_delay("127.0.0.1", 0.5) for _ in range(10)] == [0.0] * 10
    quotas.address_limits = Limits({frozenset({(IP, "127.0.0.2")}): {CONNECTION_RATE: 20.0}})
    assert [quotas.address_delay("127.0.0.2", 0.5) for _ in range(20)] == [0.0] * 20
    quotas.address_limits = None
    assert quotas.address_delay("127.0.0.2", 0.5) == 0.0
