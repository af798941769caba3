"""Who may ask and push now. The verdicts are those of Kafka 4.3's ClientMetricsManager, but for what says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import ConfigResource, ConfigsImage
from moldau.security.principal import ANONYMOUS, user
from moldau.server.telemetry.client_instances import ClientInstance, ClientInstances
from moldau.server.telemetry.subscriptions import Subscriptions

A, B = b"a" * 16, b"b" * 16
INTERVAL = 10.0


def subscriptions(**settings: dict[str, str]) -> Subscriptions:
    named = settings or {"all": {"metrics": "*", "interval.ms": "10000"}}
    return Subscriptions(ConfigsImage({ConfigResource(16, name): values for name, values in named.items()}))


class Connected:
    def __init__(self, port: int = 1, principal: Any = ANONYMOUS) -> None:
        self.peer = ("127.0.0.1", port)
        self.principal = principal
        self.told: Callable[[], None] = lambda: None
        self.watched = 0

    def when_closed(self, told: Callable[[], None]) -> None:
        self.told = told
        self.watched += 1


class Instances:
    def __init__(self, most: int = 100) -> None:
        self.instances = ClientInstances(most)
        self.subscriptions = subscriptions()
        self.now = 1000.0
        self.connection = Connected()

    def of(self, instance_id: bytes = A, connection: Connected | None = None) -> ClientInstance:
        wanted = self.subscriptions
        asks: Any = connection or self.connection
        return self.instances.of(asks, instance_id, wanted, lambda: wanted.of(instance_id, {}), self.now)

    def ask(self, instance_id: bytes = A, connection: Connected | None = None) -> ErrorCode:
        return _code(lambda: self.of(instance_id, connection).ask(self.now))

    def push(
        self, subscription: int | None = None, codec: int = 4, size: int = 10, *, terminating: bool = False
    ) -> ErrorCode:
        known = self.of()
        number = known.subscription.id if subscription is None else subscription
        return _code(lambda: known.check_push(self.now, number, codec, size, 100, terminating=terminating))


def _code(act: Callable[[], None]) -> ErrorCode:
    try:
        act()
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


@pytest.fixture
def one() -> Instances:
    return Instances()


NONE, EARLY = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_once_in_an_interval(one: Instances) -> None:
    assert [one.ask(), one.ask()] == [NONE, EARLY]
    # After having asked it is never too early, then after an interval each.
    one.now += 0.1
    assert [one.push(), one.push()] == [NONE, EARLY]
    one.now += INTERVAL - 0.1
    assert [one.push(), one.ask()] == [EARLY, EARLY]
    one.now += 0.1
    assert [one.push(), one.ask()] == [NONE, EARLY]
    one.now += INTERVAL
    assert [one.ask(), one.push()] == [NONE, NONE]


def test_who_was_told_that_something_else_is_wanted_may_ask_again(one: Instances) -> None:
    assert one.ask() == NONE
    assert one.push(subscription=5) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert [one.ask(), one.ask()] == [NONE, EARLY]
    one.now += INTERVAL
    assert one.push(codec=5) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert [one.ask(), one.ask()] == [NONE, EARLY]
    one.now += INTERVAL
    assert one.push(size=101) == ErrorCode.TELEMETRY_TOO_LARGE
    assert one.ask() == EARLY


@pytest.mark.parametrize("codec", [-1, 5])
def test_codecs_there_are_not(one: Instances, codec: int) -> None:
    assert one.push(codec=codec) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_every_codec_and_the_largest_push(one: Instances) -> None:
    for codec in range(5):
        assert one.push(codec=codec, size=100) == NONE
        one.now += INTERVAL


def test_a_last_push_is_never_too_early_and_nothing_follows_it(one: Instances) -> None:
    assert [one.ask(), one.push(), one.push(terminating=True)] == [NONE, NONE, NONE]
    one.now += INTERVAL
    # Kafka takes the second of these: its refusal of the first forgets that the client has gone.
    assert [one.push(), one.push()] == [ErrorCode.INVALID_REQUEST] * 2
    one.subscriptions = subscriptions(other={"metrics": "a"})
    assert one.push() == ErrorCode.INVALID_REQUEST


def test_other_settings_are_asked_for_at_once(one: Instances) -> None:
    assert [one.ask(), one.push()] == [NONE, NONE]
    before = one.of().subscription
    one.subscriptions = subscriptions(other={"metrics": "org.apache.kafka.producer.", "interval.ms": "100"})
    assert one.push(subscription=before.id) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    one.now += 0.01
    assert one.ask() == NONE
    # Half an interval later, as clients do after having asked. Kafka takes that for too early.
    one.now += 0.05
    assert one.push() == NONE
    assert one.of().subscription.id != before.id


def test_a_connection_that_ends_takes_its_instance_with_it(one: Instances) -> None:
    assert one.ask() == NONE
    one.connection.told()
    assert len(one.instances) == 0
    assert one.ask(connection=Connected(2)) == NONE


def test_an_older_connection_that_ends_takes_nothing(one: Instances) -> None:
    assert one.ask() == NONE
    later = Connected(2)
    assert one.ask(connection=later) == EARLY
    one.connection.told()
    assert len(one.instances) == 1
    later.told()
    assert len(one.instances) == 0


def test_an_id_belongs_to_who_logged_in_with_it(one: Instances) -> None:
    assert one.ask() == NONE
    assert one.ask(connection=Connected(2, user("mallory"))) == NONE
    assert len(one.instances) == 2


def test_the_silent_are_forgotten(one: Instances) -> None:
    assert [one.ask(A), one.ask(B)] == [NONE, NONE]
    one.now += 59.9
    one.ask(B)
    one.now += 0.1
    assert len(one.instances) == 2
    one.ask(B)
    assert len(one.instances) == 1


def test_who_comes_back_after_he_was_forgotten_is_new(one: Instances) -> None:
    assert [one.ask(), one.push(terminating=True)] == [NONE, NONE]
    one.now += 59.9
    assert one.push() == ErrorCode.INVALID_REQUEST
    one.now += 60.0
    # Even before anybody has made room.
    assert one.push() == NONE


def test_a_connection_is_watched_once_however_often_it_asks(one: Instances) -> None:
    for _ in range(5):
        one.ask()
        one.now += INTERVAL
    assert one.connection.watched == 1


def test_of_too_many_the_one_that_was_silent_longest_goes() -> None:
    some = Instances(most=3)
    for number in range(3):
        assert some.ask(bytes([number]) * 16) == NONE
    assert some.ask(bytes([0]) * 16) == EARLY
    assert some.ask(b"x" * 16) == NONE
    assert len(some.instances) == 3
    assert [some.ask(bytes([number]) * 16) for number in (0, 1)] == [EARLY, NONE]


# ------------------------------------------------------------------------------------------------------ subscriptions


def test_a_client_is_asked_for_all_that_subscriptions_for_it_want() -> None:
    wanted = subscriptions(
        everybody={"metrics": "a.,b."},
        java={"metrics": "c.", "match": "client_software_name=apache-kafka-java", "interval.ms": "5000"},
        both={"metrics": "d.", "match": "client_software_name=librdkafka,client_id=x.*"},
    )
    java = wanted.of(A, {"client_software_name": "apache-kafka-java"})
    assert (java.metrics, java.interval_ms) == (["a.", "b.", "c."], 5000)
    other = wanted.of(A, {"client_software_name": "librdkafka", "client_id": "y"})
    assert (other.metrics, other.interval_ms) == (["a.", "b."], 300_000)
    assert wanted.of(A, {"client_software_name": "librdkafka", "client_id": "xy"}).metrics == ["a.", "b.", "d."]


def test_nobody_is_asked_for_anything_without_subscriptions() -> None:
    nothing = Subscriptions(ConfigsImage({ConfigResource(2, "topic"): {"metrics": "*"}})).of(A, {})
    assert (nothing.metrics, nothing.interval_ms) == ([], 300_000)


def test_all_metrics_are_all() -> None:
    wanted = subscriptions(one={"metrics": "a,*"}, other={"metrics": "b"})
    assert wanted.of(A, {}).metrics == ["*"]


def test_the_id_is_that_of_every_broker_and_changes_with_what_is_asked() -> None:
    first = subscriptions(one={"metrics": "a,b"}, other={"metrics": "c"}).of(A, {})
    assert first == subscriptions(other={"metrics": "c,b"}, one={"metrics": "a"}).of(A, {})
    others = [
        subscriptions(one={"metrics": "a,b"}).of(A, {}),
        subscriptions(one={"metrics": "a,b,c", "interval.ms": "1000"}).of(A, {}),
        subscriptions(one={"metrics": "a,b,c"}).of(B, {}),
    ]
    assert len({each.id for each in [first, *others]}) == 4
    assert all(-(2**31) <= each.id < 2**31 for each in others)


def test_settings_that_another_version_wrote_count_for_nobody() -> None:
    wanted = subscriptions(broken={"metrics": "a", "match": "client_id=("}, whole={"metrics": "b"})
    assert wanted.of(A, {"client_id": "x"}).metrics == ["b"]
