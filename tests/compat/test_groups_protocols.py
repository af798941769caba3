"""Groups between the two protocols, static members and subscriptions by pattern, with librdkafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from group_members import ConfluentConsumerMember, ConfluentCooperativeMember, ConfluentMember, Ledger, Member, wait_for
from node_process import NodeProcess
from test_groups_through_clients import PARTITIONS, QUICK, Flow, create_topic


def kind_of(node: NodeProcess, group: str) -> tuple[str, str]:
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    (found,) = [each for each in admin.list_consumer_groups().result().valid if each.group_id == group]
    return found.type.name, found.state.name


@pytest.mark.parametrize("classic", [ConfluentMember, ConfluentCooperativeMember])
def test_a_group_changes_its_protocol_and_back_while_in_use(
    classic: type[Member], start_node: Callable[..., NodeProcess]
) -> None:
    node = start_node(QUICK)
    topic, group = "moving", "group-moving"
    create_topic(node, topic)
    ledger = Ledger()

    def arrive(kind: type[Member], name: str) -> Member:
        return kind(name, node.bootstrap, group, topic, ledger)

    old = [arrive(classic, f"old-{number}") for number in range(2)]
    wait_for(lambda: ledger.settled(PARTITIONS), "the first assignment")
    assert kind_of(node, group)[0] == "CLASSIC"
    flow = Flow(node.bootstrap, topic, 10_000, 5)
    new = [arrive(ConfluentConsumerMember, "new-0")]
    wait_for(lambda: kind_of(node, group) == ("CONSUMER", "STABLE"), "that both kinds are in one group")
    wait_for(lambda: "new-0" in ledger.owners.values(), "that the new member has its part")
    old.pop().leave()
    new.append(arrive(ConfluentConsumerMember, "new-1"))
    wait_for(lambda: kind_of(node, group) == ("CONSUMER", "STABLE"), "that the group is stable again")
    # And back: the last members of the new protocol leave.
    for member in new:
        member.leave()
    wait_for(lambda: kind_of(node, group) == ("CLASSIC", "STABLE"), "that the group is a classic one again")
    flow.wait()
    wait_for(lambda: flow.written <= ledger.seen, "that every record was seen")
    wait_for(lambda: ledger.settled(PARTITIONS), "the last assignment")
    for member in old:
        member.leave()
    assert ledger.mistakes == []


@contextmanager
def consumer(node: NodeProcess, topics: list[str], **settings: Any) -> Iterator[Consumer]:
    made = Consumer({"bootstrap.servers": node.bootstrap, "auto.offset.reset": "earliest", **settings})
    made.subscribe(topics)
    try:
        yield made
    finally:
        made.close()


def assigned(made: Consumer, count: int) -> set[tuple[str, int]]:
    def enough() -> bool:
        made.poll(0.1)
        return len(made.assignment()) == count

    wait_for(enough, f"an assignment of {count} partitions")
    return {(each.topic, each.partition) for each in made.assignment()}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_static_member_comes_back_to_what_it_had(protocol: str, start_node: Callable[..., NodeProcess]) -> None:
    node = start_node(QUICK)
    create_topic(node, "static")
    common = {"group.id": "statics", "group.protocol": protocol}
    one = {**common, "group.instance.id": "one"}
    with consumer(node, ["static"], **one) as first, consumer(node, ["static"], **common) as other:
        wait_for(lambda: first.poll(0.05) or other.poll(0.05) or len(first.assignment()) == 3, "an even assignment")
        before = assigned(first, 3)
        first.close()
        with consumer(node, ["static"], **one) as again:
            assert assigned(again, 3) == before
            other.poll(1)
            assert len(other.assignment()) == 3


def test_a_pattern_finds_topics_that_come_later(start_node: Callable[..., NodeProcess]) -> None:
    node = start_node(QUICK)
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    for name in ("orders-1", "other"):
        admin.create_topics([NewTopic(name, 1, 1)])[name].result()
    settings = {"group.id": "by-pattern", "group.protocol": "consumer"}
    with consumer(node, ["^orders-.*"], **settings) as made:
        assert assigned(made, 1) == {("orders-1", 0)}
        admin.create_topics([NewTopic("orders-2", 1, 1)])["orders-2"].result()
        assert assigned(made, 2) == {("orders-1", 0), ("orders-2", 0)}
        producer = Producer({"bootstrap.servers": node.bootstrap})
        producer.produce("orders-2", b"late")
        producer.flush()
        found: list[Any] = []
        wait_for(lambda: found.append(made.poll(0.2)) or any(found), "the record of the later topic")
        assert next(each for each in found if each).topic() == "orders-2"
