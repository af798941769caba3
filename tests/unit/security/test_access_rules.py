"""Single access rules: what they apply to, which filters find them, and which there cannot be."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from moldau.errors import ErrorCode, KafkaError
from moldau.security.acl import (
    CLUSTER_NAME,
    OPERATIONS,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    allowed_bits,
    bit,
    check_acl,
    check_filter,
    denied_bits,
)

READ_ORDERS = Acl(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:jan", "*", Operation.READ, Permission.ALLOW)
BEGINS = READ_ORDERS._replace(resource_name="or", pattern_type=PatternType.PREFIXED)
ALL_TOPICS = READ_ORDERS._replace(resource_name="*")


@pytest.mark.parametrize(
    ("acl", "name", "applies"),
    [
        (READ_ORDERS, "orders", True),
        (READ_ORDERS, "orders2", False),
        (READ_ORDERS, "order", False),
        (BEGINS, "orders", True),
        (BEGINS, "or", True),
        (BEGINS, "o", False),
        (ALL_TOPICS, "anything", True),
        (ALL_TOPICS._replace(pattern_type=PatternType.PREFIXED), "anything", False),
        (ALL_TOPICS._replace(pattern_type=PatternType.PREFIXED), "*anything", True),
        (READ_ORDERS._replace(pattern_type=7), "orders", False),
    ],
)
def test_what_a_rule_applies_to(acl: Acl, name: str, applies: bool) -> None:
    assert acl.applies_to(ResourceType.TOPIC, name) is applies
    assert not acl.applies_to(ResourceType.GROUP, name)


def test_what_is_allowed_implies_describing_and_what_is_denied_does_not() -> None:
    for operation in (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER):
        assert allowed_bits(operation) == bit(operation) | bit(Operation.DESCRIBE)
        assert denied_bits(operation) == bit(operation)
    assert allowed_bits(Operation.ALTER_CONFIGS) == bit(Operation.ALTER_CONFIGS) | bit(Operation.DESCRIBE_CONFIGS)
    for operation in (Operation.CREATE, Operation.DESCRIBE, Operation.CLUSTER_ACTION):
        assert allowed_bits(operation) == bit(operation)
    everything = allowed_bits(Operation.ALL)
    assert everything == denied_bits(Operation.ALL)
    assert all(everything & bit(operation) for operations in OPERATIONS.values() for operation in operations)
    # A kind of operation that somebody else has thought of says nothing about those known here.
    assert allowed_bits(-1) == 0
    assert not allowed_bits(40) & allowed_bits(Operation.READ)


@dataclass
class Found:
    wanted: AclFilter
    rules: list[Acl]


@pytest.mark.parametrize(
    "case",
    [
        Found(AclFilter(), [READ_ORDERS, BEGINS, ALL_TOPICS]),
        Found(AclFilter(resource_name="orders"), [READ_ORDERS]),
        Found(AclFilter(resource_name="or"), [BEGINS]),
        Found(AclFilter(resource_name="or", pattern_type=PatternType.LITERAL), []),
        Found(AclFilter(pattern_type=PatternType.PREFIXED), [BEGINS]),
        Found(AclFilter(resource_name="orders", pattern_type=PatternType.MATCH), [READ_ORDERS, BEGINS, ALL_TOPICS]),
        Found(AclFilter(resource_name="other", pattern_type=PatternType.MATCH), [ALL_TOPICS]),
        Found(AclFilter(resource_name="*", pattern_type=PatternType.MATCH), [ALL_TOPICS]),
        Found(AclFilter(resource_type=ResourceType.GROUP), []),
        Found(AclFilter(principal="User:jan"), [READ_ORDERS, BEGINS, ALL_TOPICS]),
        Found(AclFilter(principal="User:*"), []),
        Found(AclFilter(host="127.0.0.1"), []),
        Found(AclFilter(operation=Operation.WRITE), []),
        Found(AclFilter(operation=Operation.ALL), []),
        Found(AclFilter(permission=Permission.DENY), []),
        Found(
            AclFilter(ResourceType.TOPIC, None, PatternType.ANY, "User:jan", "*", Operation.READ, Permission.ALLOW),
            [READ_ORDERS, BEGINS, ALL_TOPICS],
        ),
    ],
    ids=str,
)
def test_what_a_filter_finds(case: Found) -> None:
    check_filter(case.wanted)
    assert [acl for acl in (READ_ORDERS, BEGINS, ALL_TOPICS) if case.wanted.matches(acl)] == case.rules


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_type": ResourceType.UNKNOWN},
        {"resource_type": 99},
        {"pattern_type": PatternType.ANY},
        {"pattern_type": PatternType.MATCH},
        {"pattern_type": PatternType.UNKNOWN},
        {"operation": Operation.ANY},
        {"operation": Operation.UNKNOWN},
        {"operation": 99},
        {"permission": Permission.ANY},
        {"permission": Permission.UNKNOWN},
        {"resource_name": ""},
        {"resource_type": ResourceType.CLUSTER},
        {"principal": "jan"},
        {"principal": ""},
        {"principal": "User:"},
        {"host": ""},
    ],
    ids=str,
)
def test_rules_that_cannot_be(fields: dict[str, object]) -> None:
    check_acl(READ_ORDERS)
    check_acl(READ_ORDERS._replace(resource_type=ResourceType.CLUSTER, resource_name=CLUSTER_NAME))
    with pytest.raises(KafkaError) as refused:
        check_acl(READ_ORDERS._replace(**fields))  # type: ignore[arg-type]
    assert refused.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "fields",
    [{"resource_type": 0}, {"resource_type": 99}, {"pattern_type": 0}, {"operation": 0}, {"permission": 0}],
    ids=str,
)
def test_filters_that_cannot_be(fields: dict[str, int]) -> None:
    with pytest.raises(KafkaError):
        check_filter(AclFilter()._replace(**fields))  # type: ignore[arg-type]


def test_a_rule_reads_as_a_sentence() -> None:
    assert str(READ_ORDERS) == "User:jan may read topic 'orders'"
    assert str(BEGINS._replace(permission=Permission.DENY)) == "User:jan may not read topic 'or*'"
    assert str(ALL_TOPICS._replace(operation=Operation.ALL, host="10.0.0.7")) == (
        "User:jan from 10.0.0.7 may do everything to any topic"
    )
    assert str(READ_ORDERS._replace(operation=99)) == "User:jan may operation 99 topic 'orders'"
    assert str(ALL_TOPICS._replace(pattern_type=PatternType.PREFIXED)) == "User:jan may read topic '**'"


@pytest.mark.parametrize(
    "wider",
    [
        {"pattern_type": PatternType.ANY},
        {"pattern_type": PatternType.MATCH},
        {"resource_type": ResourceType.ANY},
        {"operation": Operation.ANY},
        {"permission": Permission.ANY},
        {"resource_name": None},
        {"principal": None},
        {"host": None},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_which_filters_stand_for_one_rule(wider: dict[str, object]) -> None:
    for rule in (READ_ORDERS, BEGINS, ALL_TOPICS):
        assert AclFilter(*rule).rule == rule
        assert AclFilter(*rule)._replace(**wider).rule is None  # type: ignore[arg-type]
