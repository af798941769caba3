"""Members of consumer groups are given no topic, and told of none, that they may not describe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from guarded_node import ADMIN, JAN, GuardedNode, acl

from moldau.errors import ErrorCode, error_code
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.security.acl import AclFilter, Operation, PatternType, ResourceType
from moldau.security.principal import Principal

TOPIC = ResourceType.TOPIC
MEMBER = "0" * 22


@pytest.fixture
def node(tmp_path: Path) -> Iterator[GuardedNode]:
    node = GuardedNode(tmp_path, {"offsets.topic.num.partitions": "1", "group.consumer.heartbeat.interval.ms": "5000"})
    node.ids = {name: node.create_topic(name) for name in ("seen", "hidden")}  # type: ignore[attr-defined]
    found = FindCoordinatorRequest(coordinator_keys=["members"], key_type=0)
    while node.as_user(ADMIN, found, 4, at="broker").coordinators[0].error_code:
        pass
    node.permit(acl(Operation.READ, ResourceType.GROUP, "members"), acl(Operation.DESCRIBE, TOPIC, "seen"))
    yield node
    node.close()


def beat(node: GuardedNode, who: Principal, epoch: int, *, pattern: str | None = "seen|hidden") -> tuple[int, set[str]]:
    """The member's epoch and what it has been given; waits while the coordinator comes up."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="members",
        member_id=MEMBER,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[] if epoch == 0 else None,
        subscribed_topic_regex=pattern,
        topic_partitions=[] if epoch == 0 else None,
    )
    while True:
        answer = node.as_user(who, request, 1, at="broker")
        code = error_code(answer.error_code)
        if code not in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR):
            break
    assert code is ErrorCode.NONE
    names = {topic_id: name for name, topic_id in node.ids.items()}  # type: ignore[attr-defined]
    given = [] if answer.assignment is None else answer.assignment.topic_partitions
    return answer.member_epoch, {names[topic.topic_id] for topic in given}


def first_given(node: GuardedNode, who: Principal) -> set[str]:
    epoch, given = beat(node, who, 0)
    for _ in range(200):
        if given:
            break
        epoch, given = beat(node, who, epoch, pattern=None)
    return given


def test_a_pattern_stands_for_what_its_member_may_describe(node: GuardedNode) -> None:
    assert first_given(node, JAN) == {"seen"}


def test_a_pattern_of_somebody_who_may_describe_all(node: GuardedNode) -> None:
    node.permit(acl(Operation.DESCRIBE, TOPIC, "hid")._replace(pattern_type=PatternType.PREFIXED))
    assert first_given(node, JAN) == {"seen", "hidden"}


def test_a_group_with_hidden_topics_is_not_described(node: GuardedNode) -> None:
    assert first_given(node, ADMIN) == {"seen", "hidden"}
    request = ConsumerGroupDescribeRequest(group_ids=["members"])

    def described() -> tuple[ErrorCode, int]:
        (group,) = node.as_user(JAN, request, 1, at="broker").groups
        return error_code(group.error_code), len(group.members)

    assert described() == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)
    node.permit(acl(Operation.DESCRIBE, TOPIC, "hidden"))
    assert described() == (ErrorCode.NONE, 1)
    node.forbid(AclFilter(resource_type=ResourceType.GROUP))
    assert described() == (ErrorCode.GROUP_AUTHORIZATION_FAILED, 0)
