"""Which quota counts for whom, and what somebody who uses more has to wait."""

from __future__ import annotations

import itertools

import pytest

from moldau.errors import ErrorCode, KafkaError
from moldau.security.quota import (
    CLIENT_ID,
    CONNECTION_RATE,
    IP,
    MUTATION_RATE,
    PRODUCE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    Limits,
    Match,
    check_filter,
    check_value,
    entity_of,
)
from moldau.security.usage import RateWindow, TokenBucket

# From the one that counts first to the one that counts last.
PRECEDENCE = [
    ((USER, "jan"), (CLIENT_ID, "app")),
    ((USER, "jan"), (CLIENT_ID, None)),
    ((USER, "jan"),),
    ((USER, None), (CLIENT_ID, "app")),
    ((USER, None), (CLIENT_ID, None)),
    ((USER, None),),
    ((CLIENT_ID, "app"),),
    ((CLIENT_ID, None),),
]


def limits(*entities: tuple[tuple[str, str | None], ...]) -> Limits:
    return Limits({frozenset(parts): {PRODUCE_RATE: PRECEDENCE.index(parts) + 1.0} for parts in entities})


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(PRECEDENCE, 2)))
def test_the_most_particular_one_counts(
    first: tuple[tuple[str, str | None], ...], second: tuple[tuple[str, str | None], ...]
) -> None:
    for order in ((first, second), (second, first)):
        limit = limits(*order).of_client(PRODUCE_RATE, "jan", "app")
        assert limit is not None
        assert limit.bound == PRECEDENCE.index(first) + 1.0


@pytest.mark.parametrize(
    ("entity", "shared"),
    [
        (PRECEDENCE[0], (USER, "jan", CLIENT_ID, "app")),
        (PRECEDENCE[1], (USER, "jan", CLIENT_ID, "app")),
        (PRECEDENCE[2], (USER, "jan")),
        (PRECEDENCE[5], (USER, "jan")),
        (PRECEDENCE[6], (CLIENT_ID, "app")),
        (PRECEDENCE[7], (CLIENT_ID, "app")),
    ],
)
def test_who_shares_it(entity: tuple[tuple[str, str | None], ...], shared: tuple[str, ...]) -> None:
    limit = limits(entity).of_client(PRODUCE_RATE, "jan", "app")
    assert limit is not None
    assert limit.shared_by == shared


def test_somebody_else_and_something_else_are_free() -> None:
    found = limits(PRECEDENCE[0], PRECEDENCE[2], PRECEDENCE[6])
    assert found.of_client(PRODUCE_RATE, "eva", "other") is None
    assert found.of_client(REQUEST_PERCENTAGE, "jan", "app") is None


def test_an_address_has_its_own_or_that_of_all() -> None:
    found = Limits({frozenset({(IP, "127.0.0.2")}): {CONNECTION_RATE: 5.0}})
    assert (found.of_address("127.0.0.2"), found.of_address("127.0.0.1")) == (5.0, None)
    every = Limits(
        {frozenset({(IP, "127.0.0.2")}): {CONNECTION_RATE: 5.0}, frozenset({(IP, None)}): {CONNECTION_RATE: 9}}
    )
    assert (every.of_address("127.0.0.2"), every.of_address("127.0.0.1")) == (5.0, 9.0)


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("group", "g")],
        [(USER, "")],
        [(USER, "a"), (USER, "b")],
        [(IP, "127.0.0.1"), (USER, "a")],
        [(IP, "localhost")],
    ],
)
def test_nobody_is_called_so(parts: list[tuple[str, str | None]]) -> None:
    with pytest.raises(KafkaError) as refused:
        entity_of(parts)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("parts", "key", "value", "fine"),
    [
        ([(USER, "a")], PRODUCE_RATE, 1.0, True),
        ([(USER, "a")], PRODUCE_RATE, 1.5, False),
        ([(USER, "a")], PRODUCE_RATE, 0.0, False),
        ([(USER, "a")], PRODUCE_RATE, -1.0, False),
        ([(USER, "a")], PRODUCE_RATE, float("nan"), False),
        ([(USER, "a")], PRODUCE_RATE, float("inf"), False),
        ([(USER, "a")], PRODUCE_RATE, None, True),
        ([(USER, "a")], MUTATION_RATE, 0.5, True),
        ([(USER, "a")], CONNECTION_RATE, 1.0, False),
        ([(USER, "a")], "nonsense", None, False),
        ([(IP, None)], CONNECTION_RATE, 1.0, True),
        ([(IP, None)], PRODUCE_RATE, 1.0, False),
    ],
)
def test_what_can_be_limited(parts: list[tuple[str, str | None]], key: str, value: float | None, fine: bool) -> None:
    entity = entity_of(parts)
    if fine:
        check_value(entity, key, value)
    else:
        with pytest.raises(KafkaError) as refused:
            check_value(entity, key, value)
        assert refused.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("matches", "code"),
    [
        ([Match("group", "g")], ErrorCode.UNSUPPORTED_VERSION),
        ([Match(USER, "a"), Match(USER, "b")], ErrorCode.INVALID_REQUEST),
        ([Match(USER, "a"), Match(IP, "127.0.0.1")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_filters_that_fit_nothing(matches: list[Match], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        check_filter(matches)
    assert refused.value.code is code


# ---------------------------------------------------------------------------------------------------------- usage


@pytest.mark.parametrize("size", [100, 5_000, 50_000])
def test_who_waits_as_he_is_told_keeps_to_his_rate(size: int) -> None:
    """From the beginning, and in any ten seconds but for one request, whatever its size."""
    window, now, used = RateWindow(11, 1.0), 1000.0, [(1000.0, 0)]
    while now < 1200.0:
        window.record(size, now)
        used.append((now, used[-1][1] + size))
        # What a client sends anyway takes its time.
        now += max(window.wait(10_000, now), 0.001)
    assert used[-1][1] / 200.0 == pytest.approx(10_000, rel=0.05)
    for begin, before in used[:: max(1, len(used) // 100)]:
        within = next((total for when, total in reversed(used) if when < begin + 10.0), before)
        assert within - before <= 1.1 * 100_000 + size


def test_who_uses_less_never_waits() -> None:
    window = RateWindow(11, 1.0)
    for tenth in range(600):
        window.record(900, tenth / 10)
        assert window.wait(10_000, tenth / 10) == 0.0


def test_what_was_used_long_ago_is_forgotten() -> None:
    window = RateWindow(11, 1.0)
    window.record(1e9, 0.0)
    assert window.wait(1.0, 5.0) > 100.0
    assert window.wait(1.0, 11.0) == 0.0
    assert window.wait(1.0, 12.0) == 0.0


def test_tokens_are_lent_once_and_paid_back() -> None:
    bucket = TokenBucket(2.0, 5.0, now=0.0)
    bucket.take(25, 2.0, 5.0, now=0.0)
    assert bucket.wait(2.0, 5.0, now=0.0) == 7.5
    assert bucket.wait(2.0, 5.0, now=7.5) == 0.0
    # No more is saved up than a burst.
    bucket.take(10, 2.0, 5.0, now=1000.0)
    assert bucket.wait(2.0, 5.0, now=1000.0) == 0.0
    bucket.take(1, 2.0, 5.0, now=1000.0)
    assert bucket.wait(2.0, 5.0, now=1000.0) == 0.5


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        (Match(USER, "jan"), True),
        (Match(USER, "eva"), False),
        (Match(USER, None), False),
        (Match(USER, None, any_name=True), True),
        (Match(CLIENT_ID, None), True),
        (Match(CLIENT_ID, "app"), False),
        (Match(IP, None), False),
        (Match(IP, None, any_name=True), False),
    ],
)
def test_which_entities_a_part_of_a_filter_takes(match: Match, fits: bool) -> None:
    assert match.fits({USER: "jan", CLIENT_ID: None}) is fits


def test_what_is_used_in_a_window() -> None:
    window = RateWindow(3, 1.0)
    assert (window.rate(5.0), window.wait(1.0, 5.0)) == (0.0, 0.0)
    window.record(10.0, 5.0)
    window.record(10.0, 5.9)
    assert len(window._samples) == 1
    window.record(10.0, 6.0)
    assert len(window._samples) == 2
    assert window.rate(6.0) == 30.0
    assert window.rate(7.0) == 15.0
    assert window.wait(30.0, 6.0) == 0.0
    assert window.wait(10.0, 6.0) == 2.0
    # Three samples later the first one counts no more.
    assert window.rate(8.0) == 5.0
    assert window.rate(9.0) == 0.0
