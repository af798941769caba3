"""Who may not create, delete or extend topics is told so, and has used up nothing of his quota."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guarded_node import ADMIN, JAN, GuardedNode, acl

from moldau.errors import ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.security.acl import Operation

DENIED, MADE = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.NONE
EXCEEDED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


@pytest.fixture
def node(tmp_path: Path) -> Iterator[GuardedNode]:
    node = GuardedNode(tmp_path)
    node.create_topic("rivers", 20)
    entity = [RequestEntityData(entity_type="user", entity_name="jan")]
    entry = RequestEntryData(entity=entity, ops=[OpData(key="controller_mutation_rate", value=1.0)])
    node.as_user(ADMIN, AlterClientQuotasRequest(entries=[entry]), 1)
    # The quota of the test does not grow while it runs.
    node.node.services.client_quotas._now = lambda: 1000.0
    yield node
    node.close()


def new_topic(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=20, replication_factor=1)], timeout_ms=5000
    )


DELETE = DeleteTopicsRequest(topics=[DeleteTopicState(name="rivers")], timeout_ms=5000)
EXTEND = CreatePartitionsRequest(
    topics=[CreatePartitionsTopic(name="rivers", count=40, assignments=None)], timeout_ms=5000
)


@pytest.mark.parametrize(("request_", "version"), [(new_topic("new"), 6), (DELETE, 6), (EXTEND, 3)])
def test_a_denied_change_leaves_the_quota_as_it_was(node: GuardedNode, request_: Message, version: int) -> None:
    for _ in range(3):
        answer = node.as_user(JAN, request_, version)
        assert (outcome(answer), answer.throttle_time_ms) == (DENIED, 0)
    node.permit(acl(Operation.CREATE))
    # Of twenty eleven were saved up.
    for name, expected in (("other", (MADE, 0)), ("more", (EXCEEDED, 9000))):
        answer = node.as_user(JAN, new_topic(name), 6)
        assert (outcome(answer), answer.throttle_time_ms) == expected


def outcome(answer: Any) -> ErrorCode:
    (row,) = next(getattr(answer, field) for field in ("topics", "responses", "results") if hasattr(answer, field))
    return ErrorCode(row.error_code)
