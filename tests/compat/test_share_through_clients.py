"""Share groups through a client that is not ours: confluent-kafka's, as its release on PyPI has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from patience import wait_until
from test_client_share import earliest, fill

from moldau.client.admin import NewTopic, create_topics
from moldau.client.admin.share_groups import SharePosition, share_positions
from moldau.client.cluster import Cluster

NewConsumer = Callable[..., Any]


@pytest.fixture
def group(share_bootstrap: str, topic: str) -> str:
    """A share group that begins with the oldest of 300 records in three partitions; its name is the topic's."""
    earliest(share_bootstrap, topic)
    with Cluster(share_bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(topic, 3)]))
    fill(share_bootstrap, topic, 300)
    return topic


@pytest.fixture
def new_consumer(share_bootstrap: str, group: str) -> Iterator[NewConsumer]:
    consumers: list[Any] = []

    def start(**settings: Any) -> Any:
        consumer = confluent_kafka.ShareConsumer(
            {"bootstrap.servers": share_bootstrap, "group.id": group, "log_level": 3, **settings}
        )
        consumers.append(consumer)
        consumer.subscribe([group])
        return consumer

    yield start
    for consumer in consumers:
        consumer.close()


def polled(consumer: Any) -> list[Any]:
    messages = list(consumer.poll(0.2))
    assert [message.error() for message in messages if message.error()] == []
    return messages


def left(bootstrap: str, group: str) -> list[int]:
    """How many records of each partition nobody is done with; -1 where nobody has read yet."""
    with Cluster(bootstrap) as cluster:
        positions = cluster.run(share_positions(group)).values()
    return [position.lag for position in positions if isinstance(position, SharePosition)]


def test_two_members_get_each_record_once(share_bootstrap: str, group: str, new_consumer: NewConsumer) -> None:
    consumers = [new_consumer(), new_consumer()]
    values: list[bytes] = []

    def some_came() -> bool:
        values.extend(message.value() for message in polled(consumers[0]))
        return bool(values)

    def all_came() -> bool:
        for consumer in consumers:
            assert set(consumer.commit_sync().values()) <= {None}
            values.extend(message.value() for message in polled(consumer))
        return len(values) >= 300

    wait_until(some_came)
    assert max(left(share_bootstrap, group)) == 100, "what was only handed out is not done with"
    wait_until(all_came)
    for consumer in consumers:
        consumer.commit_sync()
    assert sorted(values, key=int) == [b"%d" % number for number in range(300)]
    assert left(share_bootstrap, group) == [0, 0, 0]


def test_each_record_is_acknowledged_by_itself(share_bootstrap: str, group: str, new_consumer: NewConsumer) -> None:
    """Of three one is accepted, one is given back once, one is rejected."""
    types = confluent_kafka.AcknowledgeType
    consumer = new_consumer(**{"share.acknowledgement.mode": "explicit"})
    deliveries: dict[int, list[int]] = {number: [] for number in range(300)}

    def all_have_been_told() -> bool:
        for message in polled(consumer):
            number = int(message.value())
            deliveries[number].append(message.delivery_count())
            given_back = number % 3 == 1 and len(deliveries[number]) == 1
            said = types.RELEASE if given_back else types.REJECT if number % 3 == 2 else types.ACCEPT
            consumer.acknowledge(message, said)
        assert set(consumer.commit_sync().values()) <= {None}
        return sum(map(len, deliveries.values())) >= 400

    wait_until(all_have_been_told)
    assert deliveries == {number: [1, 2] if number % 3 == 1 else [1] for number in range(300)}
    assert left(share_bootstrap, group) == [0, 0, 0]
