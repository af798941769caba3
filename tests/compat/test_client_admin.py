"""`KafkaAdminClient` against a running node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from moldau import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, TopicPartitionReplica, errors
from moldau.admin import (
    AbortTransactionSpec,
    ConfigResource,
    ConfigResourceType,
    GroupType,
    KafkaAdminClient,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    OffsetTimestamp,
    TransactionState,
)
from moldau.protocol.api import ApiKey


def eventually(condition: Callable[[], bool]) -> None:
    """Whoever changes the cluster is answered by the controller; Kafka's brokers hear of it a moment later."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        yield admin


def test_topics_from_creation_to_deletion(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)])
    admin.create_topics({f"{topic}-other": {"num_partitions": 3, "configs": {"retention.ms": "1000"}}})
    with pytest.raises(errors.TopicAlreadyExistsError):
        admin.create_topics([topic], wait_for_metadata=True)
    assert admin.create_topics([topic], raise_errors=False)["topics"][0]["error_code"] == 36
    eventually(lambda: {topic, f"{topic}-other"} <= set(admin.list_topics()))
    admin.create_partitions({topic: NewPartitions(5)})
    eventually(lambda: len(admin.describe_topics([topic])[0]["partitions"]) == 5)
    (described,) = admin.describe_topics([topic])
    assert [each["partition_index"] for each in described["partitions"]] == [0, 1, 2, 3, 4]
    admin.delete_topics(topics=[topic])
    eventually(lambda: topic not in admin.list_topics())
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


def test_settings(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic], wait_for_metadata=True)
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "5000", "cleanup.policy": "compact"})
    admin.alter_configs([resource])
    found = admin.describe_configs([ConfigResource("topic", topic)])["topic"][topic]
    assert {name: entry["value"] for name, entry in found.items()} == {
        "retention.ms": "5000",
        "cleanup.policy": "compact",
    }
    admin.reset_configs([ConfigResource("topic", topic, ["retention.ms"])])
    assert set(admin.describe_configs([ConfigResource("topic", topic)])["topic"][topic]) == {"cleanup.policy"}
    with pytest.raises(errors.InvalidConfigurationError):
        admin.alter_configs([ConfigResource("topic", topic, {"retention.ms": "soon"})])


def test_groups_and_their_offsets(bootstrap: str, admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic], wait_for_metadata=True)
    where = TopicPartition(topic, 0)
    with KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic) as consumer:
        deadline = time.monotonic() + 60
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(100)
        consumer.commit({where: OffsetAndMetadata(7, "note")})
        described = admin.describe_groups([topic])[topic]
        assert described["group_state"].lower() == "stable"
        assert described["members"][0]["member_assignment"] == {
            "assigned_partitions": [{"topic": topic, "partitions": [0]}]
        }
        assert topic in {each["group_id"] for each in admin.list_groups()}
        assert (topic, "consumer") in admin.list_consumer_groups()
        assert admin.list_group_offsets(topic)[topic][where][:2] == (7, "note")
    admin.alter_group_offsets(topic, {where: 3})
    assert admin.list_consumer_group_offsets(topic)[where].offset == 3
    admin.delete_groups([topic])
    assert topic not in {each["group_id"] for each in admin.list_groups()}


def test_records_offsets_and_the_cluster(bootstrap: str, admin: KafkaAdminClient, topic: str) -> None:
    where = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for _ in range(10):
            producer.send(topic, b"x", partition=0)
    assert admin.delete_records({where: 4})[where]["low_watermark"] == 4
    assert admin.list_partition_offsets({where: -2})[where].offset == 4
    assert admin.list_partition_offsets({where: -1})[where].offset == 10
    cluster = admin.describe_cluster()
    assert f"{cluster['brokers'][0]['host']}:{cluster['brokers'][0]['port']}" == bootstrap
    (mine,) = admin.describe_log_dirs({topic: [0]})
    (sizes,) = [found["partitions"] for each in mine["log_dirs"] for found in each["topics"]]
    assert sizes[0]["partition_size"] > 0


def test_waits_until_topics_can_be_used(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic], wait_for_metadata=True)
    admin.wait_for_topics([topic])
    with pytest.raises(errors.KafkaTimeoutError, match="there-is-no-such-topic"):
        admin.wait_for_topics([topic, "there-is-no-such-topic"], timeout_ms=50)


def test_topics_by_the_page(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics({f"{topic}-{letter}": {"num_partitions": 3} for letter in "ab"}, wait_for_metadata=True)
    names = [f"{topic}-a", f"{topic}-b"]
    seen: list[tuple[str, int]] = []
    cursor = None
    pages = 0
    while pages == 0 or cursor is not None:
        page = admin.describe_topic_partitions(names, response_partition_limit=2, cursor=cursor)
        cursor = page["next_cursor"]
        pages += 1
        seen += [(each["name"], row["partition_index"]) for each in page["topics"] for row in each["partitions"]]
    assert pages >= 3
    assert seen == [(name, number) for name in names for number in range(3)]


def test_what_has_settings_of_its_own(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic], wait_for_metadata=True)
    assert topic in admin.list_config_resources(["topic"])["topic"]
    assert set(admin.list_config_resources([ConfigResourceType.BROKER])) == {"broker"}
    assert admin.alter_configs([ConfigResource("topic", topic, {"cleanup.policy": ("append", "compact")})]) == {
        "topic": {topic: "OK"}
    }
    everything = admin.describe_configs([ConfigResource("topic", topic)], include_synonyms=True, config_filter="all")
    policy = everything["topic"][topic]["cleanup.policy"]
    assert (policy["value"], policy["config_source"], policy["config_type"]) == (
        "delete,compact",
        "DYNAMIC_TOPIC_CONFIG",
        "LIST",
    )
    assert len(policy["synonyms"]) >= 1
    assert len(everything["topic"][topic]) > 20
    with pytest.raises(ValueError, match="incremental=False"):
        admin.alter_configs([ConfigResource("topic", topic, {"retention.ms": "1"})], incremental=False)


def test_offsets_of_groups_are_moved_and_forgotten(bootstrap: str, admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics({topic: {"num_partitions": 2}}, wait_for_metadata=True)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"x", partition=0, timestamp_ms=1000 + number)
    assert admin.alter_group_offsets(topic, {first: OffsetAndMetadata(7, "note"), second: 0})[first].errno == 0
    assert admin.list_group_offsets({topic: [first]}) == {topic: {first: (7, "note", -1)}}
    for spec, offset in (
        (OffsetSpec.EARLIEST, 0),
        (OffsetSpec.LATEST, 10),
        (OffsetTimestamp(1004), 4),
        (OffsetTimestamp(999_999), 10),
        (3, 3),
        (300, 10),
    ):
        outcome = admin.reset_group_offsets(topic, {first: spec})[first]
        assert (outcome["error"].errno, outcome["offset"]) == (0, offset), spec
        assert admin.list_group_offsets(topic)[topic][first].offset == offset
    assert admin.delete_group_offsets(topic, [second])[second].errno == 0
    assert set(admin.list_group_offsets(topic)[topic]) == {first}
    with pytest.raises(errors.GroupIdNotFoundError):
        admin.delete_group_offsets("there-is-no-such-group", [first])
    assert admin.delete_groups([topic]) == {topic: "OK"}
    assert admin.describe_groups([topic])[topic]["error"] is not None


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols(bootstrap: str, admin: KafkaAdminClient, topic: str, protocol: str) -> None:
    admin.create_topics([topic], wait_for_metadata=True)
    with KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic, group_protocol=protocol) as consumer:
        deadline = time.monotonic() + 60
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(100)
        listed = {each["group_id"]: each for each in admin.list_groups(types_filter=[GroupType(protocol)])}
        assert listed[topic]["group_type"] == protocol
        other = "consumer" if protocol == "classic" else "classic"
        assert topic not in {each["group_id"] for each in admin.list_groups(types_filter=[other])}
        described = admin.describe_groups([topic])[topic]
        assert described["group_type"] == protocol
        assert len(described["members"]) == 1
        assert described["coordinator"] == admin.find_coordinator(topic)
        with pytest.raises(errors.NonEmptyGroupError):
            admin.delete_groups([topic])
        outcome = admin.delete_group_offsets(topic, [TopicPartition(topic, 0)])
        assert outcome[TopicPartition(topic, 0)] is errors.GroupSubscribedToTopicError


def test_members_are_taken_out(bootstrap: str, admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic], wait_for_metadata=True)
    settings = {"bootstrap_servers": bootstrap, "group_id": topic, "heartbeat_interval_ms": 100}
    with KafkaConsumer(topic, group_instance_id="one", **settings) as consumer:
        deadline = time.monotonic() + 60
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(100)
    # A static member stays in its group when it closes.
    assert len(admin.describe_groups([topic])[topic]["members"]) == 1
    gone, unknown = MemberToRemove(group_instance_id="one", reason="retired"), MemberToRemove("nobody")
    outcomes = admin.remove_group_members(topic, [gone, unknown])
    assert outcomes["one"].errno == 0
    assert outcomes["nobody"] is errors.UnknownMemberIdError
    assert admin.describe_groups([topic])[topic]["members"] == []


def test_transactions_and_producers(bootstrap: str, admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([topic], wait_for_metadata=True)
    where = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x", partition=0).get(10)
        listed = {each.transactional_id: each for group in admin.list_transactions().values() for each in group}
        assert listed[topic].state is TransactionState.ONGOING
        filtered = admin.list_transactions(state_filters=[TransactionState.EMPTY])
        assert topic not in {each.transactional_id for group in filtered.values() for each in group}
        described = admin.describe_transactions([topic])[topic]
        assert described.topic_partitions == {where}
        assert described.coordinator_id == admin.find_coordinator(topic, 1)
        (state,) = admin.describe_producers([where])[where].active_producers
        assert (state.producer_id, state.current_transaction_start_offset) == (described.producer_id, 0)
        assert admin.find_hanging_transactions() == []
        hanging = admin.find_hanging_transactions(max_transaction_timeout_ms=-300_000)
        assert topic in {each["transactional_id"] for each in hanging}
        fenced = admin.fence_producers([topic])[topic]
        assert fenced.producer_epoch > described.producer_epoch or fenced.producer_id != described.producer_id
        deadline = time.monotonic() + 60
        while admin.describe_transactions([topic])[topic].state is TransactionState.ONGOING:
            assert time.monotonic() < deadline
        with pytest.raises(errors.KafkaError):
            producer.commit_transaction()
        producer.close(timeout=1)
    with pytest.raises(errors.TransactionalIdNotFoundError):
        admin.describe_transactions(["there-is-no-such-id"])
    # What is over cannot be ended once more.
    spec = AbortTransactionSpec(where, state.producer_id, state.producer_epoch)
    with pytest.raises(errors.KafkaError):
        admin.abort_transaction(spec)


def test_what_the_cluster_can_do(admin: KafkaAdminClient, topic: str) -> None:
    features = admin.describe_features()
    assert features["metadata.version"]["finalized"][1] >= 20
    assert features == admin.describe_features(send_request_to_controller=True)
    assert ApiKey.FETCH in admin.api_versions()
    broker = admin.describe_cluster()["controller_id"]
    assert admin.get_broker_version_data(broker) == admin.api_versions()
    admin.create_topics([topic], wait_for_metadata=True)
    replica = TopicPartitionReplica(topic, 0, admin.describe_cluster()["brokers"][0]["broker_id"])
    assert admin.alter_replica_log_dirs({replica: "/there/is/no/such/directory"}) == {
        replica: errors.LogDirNotFoundError
    }
