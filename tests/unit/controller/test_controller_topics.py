"""Creating and deleting topics: what is accepted, what is refused, and with which of Kafka's codes."""

from __future__ import annotations

import pytest
from controller_kit import MINIMUM, World, code, directory_of, refused, show, show_partitions

from moldau.controller.decision import MAX_RECORDS
from moldau.errors import ErrorCode
from moldau.metadata.image import UNASSIGNED_DIRECTORY
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.types import ZERO_UUID


def test_a_topic_is_created_with_partitions_leaders_and_settings() -> None:
    world = World()
    result = world.create("orders", 2, 1, configs={"retention.ms": "1000", "cleanup.policy": "compact"})
    assert code(result) is ErrorCode.NONE
    assert (result.num_partitions, result.replication_factor, result.error_message) == (2, 1, None)
    assert show(world.image) == (
        "broker 1 active\n"
        "orders-0 leader 1 epoch 0 isr 1 of 1\n"
        "orders-1 leader 1 epoch 0 isr 1 of 1\n"
        "orders: cleanup.policy=compact\n"
        "orders: retention.ms=1000" + MINIMUM
    )
    topic = world.image.topics.get("orders")
    assert topic is not None
    assert topic.id == result.topic_id != ZERO_UUID
    assert world.image.topics.by_id(topic.id) is topic


def test_the_answer_lists_the_settings_and_where_they_come_from() -> None:
    world = World({"log.retention.hours": "2"})
    result = world.create("orders", 1, 1, configs={"segment.bytes": "1048576"})
    assert result.configs is not None
    settings = {config.name: (config.value, config.config_source) for config in result.configs}
    assert settings["segment.bytes"] == ("1048576", 1)
    assert settings["retention.ms"] == ("7200000", 5)
    assert settings["cleanup.policy"] == ("delete", 5)
    assert not any(config.read_only or config.is_sensitive for config in result.configs)


def test_defaults_come_from_the_broker() -> None:
    world = World({"num.partitions": "3", "default.replication.factor": "2"}, brokers=(1, 2))
    result = world.create("orders")
    assert (result.num_partitions, result.replication_factor) == (3, 2)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "empty"),
        (".", "directory"),
        ("..", "directory"),
        ("a" * 250, "250 characters"),
        ("with space", "letters"),
        ("caf\u00e9", "letters"),
        ("line\n", "letters"),
    ],
)
def test_names_that_cannot_be(name: str, part: str) -> None:
    result = World().create(name, 1, 1)
    assert code(result) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert part in result.error_message
    assert result.name == name


def test_the_longest_name_is_accepted() -> None:
    assert code(World().create("a" * 249, 1, 1)) is ErrorCode.NONE


def test_names_that_metrics_cannot_tell_apart_collide() -> None:
    world = World()
    world.create("orders.new", 1, 1)
    assert code(world.create("orders_new", 1, 1)) is ErrorCode.INVALID_TOPIC_EXCEPTION
    results = world.create_all(world.creation("a_b", 1, 1), world.creation("a.b", 1, 1))
    assert [code(result) for result in results] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]
    world.delete("orders.new")
    assert code(world.create("orders_new", 1, 1)) is ErrorCode.NONE


def test_a_topic_exists_once() -> None:
    world = World()
    first = world.create("orders", 1, 1)
    again = world.create("orders", 1, 1)
    assert code(again) is ErrorCode.TOPIC_ALREADY_EXISTS
    topic = world.image.topics.get("orders")
    assert topic is not None
    assert topic.id == first.topic_id


def test_a_request_that_names_a_topic_twice_creates_neither() -> None:
    world = World()
    results = world.create_all(
        world.creation("twice", 1, 1), world.creation("once", 1, 1), world.creation("twice", 2, 1)
    )
    assert [(result.name, code(result)) for result in results] == [
        ("twice", ErrorCode.INVALID_REQUEST),
        ("once", ErrorCode.NONE),
    ]
    assert set(world.image.topics.by_name) == {"once"}


def test_the_metadata_log_is_no_topic() -> None:
    assert code(World().create("__cluster_metadata", 1, 1)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("partitions", "replicas", "expected"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-2, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, -2, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 3, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_numbers_that_cannot_be(partitions: int, replicas: int, expected: ErrorCode) -> None:
    world = World(brokers=(1, 2))
    assert code(world.create("orders", partitions, replicas)) is expected
    assert not world.image.topics.by_name


@pytest.mark.parametrize("partitions", [10_001, 2**31 - 1])
def test_too_many_partitions_are_refused_before_they_are_placed(partitions: int) -> None:
    world = World()
    request = CreateTopicsRequest(topics=[world.creation("huge", partitions, 1), world.creation("small", 1, 1)])
    assert refused(world.controller.create_topics(request)).code is ErrorCode.POLICY_VIOLATION


def test_settings_are_checked() -> None:
    world = World()
    bad_value = world.create("a", 1, 1, configs={"retention.ms": "soon"})
    unknown = world.create("b", 1, 1, configs={"retention": "1"})
    null = world.create("c", 1, 1, configs={"retention.ms": None})
    assert {code(result) for result in (bad_value, unknown, null)} == {ErrorCode.INVALID_CONFIG}
    assert "retention.ms" in bad_value.error_message
    assert not world.image.topics.by_name


def test_an_assignment_is_taken_as_it_is() -> None:
    world = World(brokers=(1, 2, 3))
    world.register(4)
    result = world.create("orders", assignment={1: [3, 1], 0: [4, 2]})
    assert code(result) is ErrorCode.NONE
    assert show_partitions(world.image).splitlines() == [
        # Broker 4 is fenced: it holds the replica but is not in sync and does not lead.
        "orders-0 leader 2 epoch 0 isr 2 of 4,2",
        "orders-1 leader 3 epoch 0 isr 3,1 of 3,1",
    ]


@pytest.mark.parametrize(
    "assignment",
    [
        {0: []},
        {0: [1, 1]},
        {0: [9]},
        {0: [1], 1: [1, 2]},
        {1: [1]},
        {0: [3]},  # registered but fenced
    ],
)
def test_assignments_that_cannot_be(assignment: dict[int, list[int]]) -> None:
    world = World(brokers=(1, 2))
    world.register(3)
    assert code(world.create("orders", assignment=assignment)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_an_assignment_comes_without_numbers() -> None:
    world = World()
    assert code(world.create("a", 1, -1, assignment={0: [1]})) is ErrorCode.INVALID_REQUEST
    assert code(world.create("a", -1, 1, assignment={0: [1]})) is ErrorCode.INVALID_REQUEST


def test_validate_only_changes_nothing() -> None:
    world = World()
    before = world.quorum.end_offset
    results = world.create_all(world.creation("orders", 3, 1), validate_only=True)
    assert (code(results[0]), results[0].num_partitions) == (ErrorCode.NONE, 3)
    assert world.quorum.end_offset == before
    assert world.controller.state.topics.get("orders") is None


def test_no_topic_without_a_living_broker() -> None:
    world = World(brokers=())
    world.register(1)
    assert code(world.create("orders", 1, 1)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_directories_are_named_where_there_is_no_choice() -> None:
    world = World(brokers=(1,))
    world.join(2, log_dirs=[directory_of(2, 0), directory_of(2, 1)])
    world.create("orders", assignment={0: [1, 2]})
    partition = world.image.topics.partition("orders", 0)
    assert partition is not None
    assert partition.directories == (directory_of(1), UNASSIGNED_DIRECTORY)


# ------------------------------------------------------------------------------------------------------------ delete


def test_deleting_by_name_and_by_id_takes_the_settings_along() -> None:
    world = World()
    kept = world.create("kept", 1, 1)
    world.create("by-name", 1, 1, configs={"retention.ms": "1"})
    by_id = world.create("by-id", 2, 1)
    results = world.delete("by-name", ids=[by_id.topic_id])
    assert {(result.name, code(result)) for result in results} == {
        ("by-name", ErrorCode.NONE),
        ("by-id", ErrorCode.NONE),
    }
    assert set(world.image.topics.ids) == {kept.topic_id}
    assert not world.image.configs.topic("by-name")
    assert not world.create("by-name", 1, 1).error_code
    assert not world.image.configs.topic("by-name")


def test_what_cannot_be_deleted() -> None:
    world = World()
    topic = world.create("orders", 1, 1)
    states = [
        DeleteTopicState(name="missing"),
        DeleteTopicState(name=None, topic_id=bytes(15) + b"\x07"),
        DeleteTopicState(name=None, topic_id=ZERO_UUID),
        DeleteTopicState(name="orders", topic_id=topic.topic_id),
        DeleteTopicState(name="twice"),
        DeleteTopicState(name="twice"),
    ]
    results = world.settle(
        world.controller.delete_topics(DeleteTopicsRequest(topics=states, timeout_ms=10_000), 6)
    ).responses
    codes = {(result.name, result.topic_id): code(result) for result in results}
    assert codes == {
        ("missing", ZERO_UUID): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (None, bytes(15) + b"\x07"): ErrorCode.UNKNOWN_TOPIC_ID,
        (None, ZERO_UUID): ErrorCode.INVALID_REQUEST,
        ("orders", topic.topic_id): ErrorCode.INVALID_REQUEST,
        ("twice", ZERO_UUID): ErrorCode.INVALID_REQUEST,
    }
    assert "orders" in world.image.topics.by_name


def test_a_topic_given_by_name_and_by_id_is_answered_once_and_stays() -> None:
    world = World()
    topic = world.create("orders", 1, 1)
    (result,) = world.delete("orders", ids=[topic.topic_id])
    assert (result.name, result.topic_id, code(result)) == ("orders", topic.topic_id, ErrorCode.INVALID_REQUEST)
    results = world.delete("orders", ids=[topic.topic_id, topic.topic_id])
    assert [(result.name, code(result)) for result in results] == [
        (None, ErrorCode.INVALID_REQUEST),
        ("orders", ErrorCode.INVALID_REQUEST),
    ]
    assert "orders" in world.image.topics.by_name
    # The name does not count if it is given twice; the id does.
    results = world.delete("orders", "orders", ids=[topic.topic_id])
    assert {code(result) for result in results} == {ErrorCode.NONE, ErrorCode.INVALID_REQUEST}
    assert "orders" not in world.image.topics.by_name


def test_a_change_without_any_time_is_not_begun() -> None:
    world = World()
    world.create("orders", 1, 1)
    end = world.quorum.end_offset
    creation = CreateTopicsRequest(topics=[CreatableTopic(name="new", num_partitions=1, replication_factor=1)])
    for timeout_ms in (0, -1):
        creation.timeout_ms = timeout_ms
        for answer in (
            world.controller.create_topics(creation),
            world.controller.delete_topics(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=timeout_ms), 5),
        ):
            assert refused(answer).code is ErrorCode.REQUEST_TIMED_OUT
    world.loop.run()
    assert world.quorum.end_offset == end


def test_deletion_can_be_switched_off() -> None:
    world = World({"delete.topic.enable": "false"})
    world.create("orders", 1, 1)
    request = DeleteTopicsRequest(topic_names=["orders"], timeout_ms=10_000)
    assert refused(world.controller.delete_topics(request, 2)).code is ErrorCode.INVALID_REQUEST
    assert refused(world.controller.delete_topics(request, 3)).code is ErrorCode.TOPIC_DELETION_DISABLED


def test_a_name_can_be_used_again_with_a_new_id() -> None:
    world = World()
    first = world.create("orders", 1, 1)
    world.delete("orders")
    second = world.create("orders", 4, 1)
    assert first.topic_id != second.topic_id
    assert world.image.topics.by_id(first.topic_id) is None
    topic = world.image.topics.by_id(second.topic_id)
    assert topic is not None
    assert len(topic.partitions) == 4


# --------------------------------------------------------------------------------------------------------- many at once


def test_many_topics_are_made_and_deleted_in_several_turns_of_the_loop() -> None:
    world = World()
    names = [f"topic-{number}" for number in range(200)]
    asked = ["twice", *names, "topic.7", "twice"]
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in asked]
    request = CreateTopicsRequest(topics=topics, timeout_ms=10_000)
    answer = world.controller.create_topics(request)
    # The others get their turn before the last of them is decided.
    assert world.controller.state.topics.get("topic-0") is not None
    assert not any(world.controller.state.topics.get(name) for name in names[100:])
    response = world.settle(answer)
    codes = {row.name: code(row) for row in response.topics}
    assert len(response.topics) == 202
    assert {name for name, failed in codes.items() if failed} == {"twice"}
    assert codes["twice"] is ErrorCode.INVALID_REQUEST
    assert set(world.image.topics.by_name) == {*names, "topic.7"}
    ids = {name: topic.id for name, topic in world.image.topics.by_name.items()}
    # One is named at the very start and, by its id, at the very end.
    states = [DeleteTopicState(name=name) for name in [*names, *(f"missing-{number}" for number in range(300))]]
    states.append(DeleteTopicState(name=None, topic_id=ids["topic-0"]))
    deletion = DeleteTopicsRequest(topics=states, timeout_ms=10_000)
    response = world.settle(world.controller.delete_topics(deletion, 6))
    assert len(response.responses) == 500
    assert {row.name for row in response.responses if code(row) is ErrorCode.INVALID_REQUEST} == {"topic-0"}
    assert set(world.image.topics.by_name) == {"topic-0", "topic.7"}


def test_names_that_collide_across_turns_are_found() -> None:
    world = World()
    names = ["a.b", *(f"topic-{number}" for number in range(150)), "a_b"]
    for validate_only in (True, False):
        topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
        request = CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=validate_only)
        response = world.settle(world.controller.create_topics(request))
        refused_names = [row.name for row in response.topics if code(row) is ErrorCode.INVALID_TOPIC_EXCEPTION]
        assert refused_names == ["a_b"]


def test_what_is_too_much_for_one_request_is_so_over_all_turns() -> None:
    world = World()
    topics = [CreatableTopic(name=f"topic-{number}", num_partitions=101, replication_factor=1) for number in range(100)]
    answer = world.controller.create_topics(CreateTopicsRequest(topics=topics))
    assert refused(answer).code is ErrorCode.POLICY_VIOLATION


def test_a_topic_may_have_as_many_partitions_as_a_request_may_ask_for() -> None:
    """Its own record and those of its settings come on top of them."""
    world = World()
    made = world.create("large", MAX_RECORDS, 1, configs={"retention.ms": "1"})
    assert code(made) is ErrorCode.NONE
    assert len(world.image.topics.by_name["large"].partitions) == MAX_RECORDS
    request = CreateTopicsRequest(topics=[world.creation("larger", MAX_RECORDS + 1, 1)])
    assert refused(world.controller.create_topics(request)).code is ErrorCode.POLICY_VIOLATION
