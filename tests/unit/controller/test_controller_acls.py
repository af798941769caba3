"""The controller makes and removes access rules."""

from __future__ import annotations

import pytest
from controller_kit import World

from moldau.errors import ErrorCode, KafkaError
from moldau.security.acl import Acl, AclFilter, Operation, PatternType, Permission, ResourceType

READ = Acl(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:jan", "*", Operation.READ, Permission.ALLOW)
WRITE = READ._replace(operation=Operation.WRITE)


def rules(world: World) -> set[Acl]:
    return set(world.image.acls.by_id.values())


def test_the_same_rule_is_made_once() -> None:
    world = World()
    assert world.settle(world.controller.create_acls([READ, READ, WRITE])) == [None, None, None]
    assert world.settle(world.controller.create_acls([WRITE])) == [None]
    assert rules(world) == {READ, WRITE}
    assert len(world.image.acls.by_id) == 2


def test_one_that_cannot_be_stops_no_other() -> None:
    world = World()
    refused, fine = world.settle(world.controller.create_acls([READ._replace(resource_name=""), READ]))
    assert (refused.code, fine) == (ErrorCode.INVALID_REQUEST, None)
    assert rules(world) == {READ}


def test_filters_are_answered_one_by_one_and_a_rule_is_removed_once() -> None:
    world = World()
    world.settle(world.controller.create_acls([READ, WRITE]))
    every, wrong, reads, none = world.settle(
        world.controller.delete_acls(
            [
                AclFilter(principal="User:jan"),
                AclFilter(operation=0),
                AclFilter(operation=Operation.READ),
                AclFilter(principal="User:eva"),
            ]
        )
    )
    assert (set(every.acls), every.error) == ({READ, WRITE}, None)
    assert wrong.error is not None
    assert wrong.error.code is ErrorCode.INVALID_REQUEST
    assert (reads.acls, none.acls) == ([READ], [])
    assert rules(world) == set()
    # What is gone can be made again.
    world.settle(world.controller.create_acls([READ]))
    assert rules(world) == {READ}


def test_a_filter_that_says_all_of_a_rule_is_of_no_other() -> None:
    world = World()
    others = [READ._replace(pattern_type=PatternType.PREFIXED), READ._replace(resource_type=ResourceType.GROUP), WRITE]
    world.settle(world.controller.create_acls([READ, *others]))
    whole = AclFilter(*READ)
    for wider in (
        whole._replace(pattern_type=PatternType.ANY),
        whole._replace(pattern_type=PatternType.MATCH),
        whole._replace(resource_type=ResourceType.ANY),
        whole._replace(operation=Operation.ANY),
        whole._replace(permission=Permission.ANY),
        whole._replace(resource_name=None),
        whole._replace(principal=None),
        whole._replace(host=None),
    ):
        assert wider.rule is None
    (removed,) = world.settle(world.controller.delete_acls([whole]))
    assert list(removed.acls) == [READ]
    assert rules(world) == set(others)


def test_more_than_a_batch_holds_is_refused_and_nothing_is_done() -> None:
    world = World()
    many = [READ._replace(resource_name=f"t{number}") for number in range(10_001)]
    with pytest.raises(KafkaError) as refused:
        world.settle(world.controller.create_acls(many))
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
    assert rules(world) == set()
    world.settle(world.controller.create_acls(many[:6000]))
    world.settle(world.controller.create_acls(many[6000:]))
    with pytest.raises(KafkaError):
        world.settle(world.controller.delete_acls([AclFilter()]))
    assert len(rules(world)) == 10_001
    # Each is held against all of them, and everybody else waits for the decision.
    with pytest.raises(KafkaError) as refused:
        world.settle(world.controller.delete_acls([AclFilter(principal=f"User:{number}") for number in range(200)]))
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
    # Those that say all of a rule are looked up.
    exact = [AclFilter(*rule) for rule in many[:300]]
    removed = world.settle(world.controller.delete_acls([*exact, AclFilter(*READ)]))
    assert [list(one.acls) for one in removed] == [*([rule] for rule in many[:300]), []]
    assert rules(world) == set(many[300:])
