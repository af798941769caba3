"""Consumer groups with real clients: members come and go while records flow."""

from __future__ import annotations

import gc
import random
import threading
import warnings
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from group_members import MEMBERS, Ledger, Member, wait_for
from node_process import NodeProcess

PARTITIONS = 6
FEWEST, MOST = 3, 12
# The waits of the defaults are made for networks: three seconds before a first rebalance, five between heartbeats.
QUICK = {
    "group.initial.rebalance.delay.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "200",
}


class Flow:
    """Records on their way into a topic, in the background."""

    def __init__(self, bootstrap: str, topic: str, count: int, seconds: float) -> None:
        self.written: set[tuple[int, int]] = set()
        self._settings = {"bootstrap.servers": bootstrap, "linger.ms": 5}
        self._topic, self._count, self._pause = topic, count, seconds / max(count // 100, 1)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        producer = Producer(self._settings)
        pause = threading.Event()
        for number in range(self._count):
            producer.produce(
                self._topic, f"record {number}".encode(), partition=number % PARTITIONS, callback=self._done
            )
            if number % 100 == 99:
                producer.poll(0)
                pause.wait(self._pause)
        producer.flush()

    def _done(self, error: object, message: object) -> None:
        assert error is None
        self.written.add((message.partition(), message.offset()))  # type: ignore[attr-defined]

    def wait(self) -> None:
        self._thread.join(300)
        assert len(self.written) == self._count


def create_topic(node: NodeProcess, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()


def churn(node: NodeProcess, kind: str, *, records: int, seconds: float, changes: int, seed: int) -> None:
    chance = random.Random(seed)
    topic, group = f"churn-{kind}", f"group-{kind}"
    create_topic(node, topic)
    ledger = Ledger()
    numbers = iter(range(1000))

    def arrive() -> Member:
        return MEMBERS[kind](f"member-{next(numbers)}", node.bootstrap, group, topic, ledger)

    members = [arrive() for _ in range(FEWEST)]
    wait_for(lambda: ledger.settled(PARTITIONS), "the first assignment")
    flow = Flow(node.bootstrap, topic, records, seconds)
    pause = threading.Event()
    for _ in range(changes):
        pause.wait(seconds / changes)
        if len(members) > FEWEST and (len(members) == MOST or chance.random() < 0.5):
            members.pop(chance.randrange(len(members))).leave()
        else:
            members.append(arrive())
    flow.wait()
    wait_for(lambda: flow.written <= ledger.seen, "that every record was seen")
    wait_for(lambda: ledger.settled(PARTITIONS), "the last assignment")
    assert ledger.seen == flow.written, "records that nobody wrote"
    for member in members:
        member.leave()
    assert ledger.mistakes == []


def forgive_open_sockets() -> None:
    """kafka-python forgets sockets that it was connecting while the broker was away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.parametrize("kind", MEMBERS)
def test_members_come_and_go(kind: str, start_node: Callable[..., NodeProcess]) -> None:
    churn(start_node(QUICK), kind, records=10_000, seconds=4, changes=6, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("kind", MEMBERS)
def test_members_come_and_go_for_long(kind: str, start_node: Callable[..., NodeProcess]) -> None:
    churn(start_node(QUICK), kind, records=200_000, seconds=60, changes=60, seed=2)


@pytest.mark.parametrize("kind", MEMBERS)
def test_committed_offsets_survive_a_killed_broker(kind: str, start_node: Callable[..., NodeProcess]) -> None:
    """What was committed is there again; nobody starts from the beginning."""
    node = start_node({**QUICK, "auto.create.topics.enable": "false"})
    topic, group = "restart", "group-restart"
    create_topic(node, topic)
    ledger = Ledger()
    flow = Flow(node.bootstrap, topic, 3000, 0)
    flow.wait()
    first = MEMBERS[kind]("first", node.bootstrap, group, topic, ledger)
    wait_for(lambda: flow.written <= ledger.seen, "that every record was seen")
    first.leave()
    node.kill()
    node.restart()
    again = Ledger()
    second = MEMBERS[kind]("second", node.bootstrap, group, topic, again)
    wait_for(lambda: again.settled(PARTITIONS), "an assignment after the restart")
    more = Flow(node.bootstrap, topic, 300, 0)
    more.wait()
    wait_for(lambda: more.written <= again.seen, "that every new record was seen")
    second.leave()
    assert again.seen == more.written, "records were read again that had been committed"


@pytest.mark.parametrize("kind", MEMBERS)
def test_the_broker_is_killed_in_a_rebalance(kind: str, start_node: Callable[..., NodeProcess]) -> None:
    """Members that were there go on, the one that was joining joins again, and no record is missed."""
    node = start_node(QUICK)
    topic, group = "killed", "group-killed"
    create_topic(node, topic)
    ledger = Ledger()
    members = [MEMBERS[kind](f"member-{number}", node.bootstrap, group, topic, ledger) for number in range(2)]
    wait_for(lambda: ledger.settled(PARTITIONS), "the first assignment")
    flow = Flow(node.bootstrap, topic, 5000, 2)
    members.append(MEMBERS[kind]("late", node.bootstrap, group, topic, ledger))
    threading.Event().wait(0.3)
    node.kill()
    node.restart()
    flow.wait()
    wait_for(lambda: flow.written <= ledger.seen, "that every record was seen")
    wait_for(lambda: ledger.settled(PARTITIONS), "the last assignment")
    for member in members:
        member.leave()
    members.clear()
    forgive_open_sockets()
    assert ledger.mistakes == []
