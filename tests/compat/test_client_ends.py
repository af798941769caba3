"""How clients end: by an exception, in the child of a fork, and asked for something after the end."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from moldau import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from moldau.admin import KafkaAdminClient
from moldau.client.consumer import commits
from moldau.client.conversation import Learn, Pause
from moldau.errors import ErrorCode, KafkaError


def fill(bootstrap: str, topic: str, count: int) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=0)


def reader(bootstrap: str, topic: str, **settings: Any) -> KafkaConsumer:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", **settings)
    consumer.assign([TopicPartition(topic, 0)])
    return consumer


def committed(bootstrap: str, topic: str) -> Any:
    with reader(bootstrap, topic, enable_auto_commit=False) as consumer:
        return consumer.committed(TopicPartition(topic, 0))


def test_a_record_in_work_when_an_exception_came_is_not_committed(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 3)

    def work() -> None:
        with reader(bootstrap, topic) as consumer:
            for record in consumer:
                if record.offset == 1:
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert committed(bootstrap, topic) is None
    with reader(bootstrap, topic) as consumer:
        assert next(consumer).offset == 0
    assert committed(bootstrap, topic) == 1


def test_commits_under_way_are_over_after_close(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 1)
    where = TopicPartition(topic, 0)
    told: list[tuple[Any, Any]] = []
    consumer = reader(bootstrap, topic, enable_auto_commit=False)
    futures = [
        consumer.commit_async({where: OffsetAndMetadata(number)}, lambda *said: told.append(said))
        for number in (1, 2, 3)
    ]
    consumer.close()
    assert [future.succeeded() for future in futures] == [True] * 3
    assert [offsets[where].offset for offsets, _ in told] == [1, 2, 3]
    assert committed(bootstrap, topic) == 3


def test_commits_nobody_answers_have_failed_after_close(start_node: Any, topic: str) -> None:
    node = start_node()
    consumer = reader(node.bootstrap, topic, enable_auto_commit=False)
    node.process.send_signal(signal.SIGSTOP)
    told: list[Any] = []
    future = consumer.commit_async({TopicPartition(topic, 0): OffsetAndMetadata(1)}, lambda _, said: told.append(said))
    consumer.close(timeout_ms=200)
    node.process.send_signal(signal.SIGCONT)
    assert isinstance(future.exception, errors.KafkaConnectionError)
    assert told == [future.exception]


def test_the_end_does_not_wait_for_a_silent_broker(start_node: Any, topic: str, monkeypatch: Any) -> None:
    """One commit on its way, one more at the end, and a group to leave: after a few seconds of silence none of them is
    waited for. Each alone may take as long as a request, which here is longer than the test may."""
    monkeypatch.setattr(commits, "_SILENCE", 0.2)
    node = start_node()
    fill(node.bootstrap, topic, 3)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=node.bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        request_timeout_ms=200_000,
    )
    assert next(consumer).offset == 0
    consumer.commit()
    assert next(consumer).offset == 1
    node.process.send_signal(signal.SIGSTOP)
    future = consumer.commit_async()
    ended = threading.Thread(target=consumer.close, daemon=True)
    ended.start()
    ended.join(60)
    assert not ended.is_alive()
    node.process.send_signal(signal.SIGCONT)
    assert future.is_done
    with KafkaConsumer(bootstrap_servers=node.bootstrap, group_id=topic) as after:
        assert after.committed(TopicPartition(topic, 0)) in (1, 2)


def test_the_end_waits_for_a_broker_that_says_to_wait(start_node: Any, topic: str, monkeypatch: Any) -> None:
    """An answer is a sign of life, also one that says no: the last commit is tried until it is taken."""
    monkeypatch.setattr(commits, "_SILENCE", 1.0)
    node = start_node()
    fill(node.bootstrap, topic, 3)
    consumer = reader(node.bootstrap, topic)
    assert next(consumer).offset == 0
    refusing = threading.Event()
    real = consumer._commits.group.commit
    begun = time.monotonic()

    def not_ready(offsets: Any, membership: Any) -> Any:
        """What a coordinator that is loading makes of it, twice as long as silence would be borne."""
        while time.monotonic() < begun + 2.0:
            refusing.set()
            yield Learn(None, anew=True)
            yield Pause(0, KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        return (yield from real(offsets, membership))

    monkeypatch.setattr(consumer._commits.group, "commit", not_ready)
    consumer.close()
    assert refusing.is_set()
    assert committed(node.bootstrap, topic) == 1


def test_a_commit_takes_no_longer_than_it_may_behind_one_that_does(start_node: Any, topic: str) -> None:
    node = start_node()
    fill(node.bootstrap, topic, 3)
    consumer = reader(node.bootstrap, topic, enable_auto_commit=False)
    assert next(consumer).offset == 0
    consumer.commit()
    node.process.send_signal(signal.SIGSTOP)
    first = consumer.commit_async()
    with pytest.raises(errors.KafkaTimeoutError, match=r"in 0\.2 seconds"):
        consumer.commit(timeout_ms=200)
    assert not first.is_done
    node.process.send_signal(signal.SIGCONT)
    consumer.close()
    assert first.succeeded()


def test_a_poll_takes_no_longer_than_it_may_while_partitions_go(start_node: Any, topic: str) -> None:
    """What was read of them has to be committed first, and there is nobody who answers: the next poll goes on."""
    node = start_node(settings={"group.initial.rebalance.delay.ms": "0"})
    fill(node.bootstrap, topic, 3)
    settings: dict[str, Any] = {"auto_offset_reset": "earliest", "request_timeout_ms": 100_000}
    with KafkaConsumer(topic, bootstrap_servers=node.bootstrap, group_id=topic, **settings) as consumer:
        assert next(consumer).offset == 0
        node.process.send_signal(signal.SIGSTOP)
        consumer.subscribe([f"{topic}-other"])
        begun = time.monotonic()
        for _ in range(2):
            assert consumer.poll(200) == {}
        assert time.monotonic() - begun < 50
        assert consumer.assignment() == {TopicPartition(topic, 0)}
        node.process.send_signal(signal.SIGCONT)
        while TopicPartition(topic, 0) in consumer.assignment():
            consumer.poll(200)
        assert consumer.committed(TopicPartition(topic, 0)) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_listener_that_fails_at_the_end_leaves_nothing(
    bootstrap: str, topic: str, error: type[BaseException]
) -> None:
    class Failing(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Any) -> None:
            raise error

    fill(bootstrap, topic, 1)
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", client_id=f"failing-{topic}"
    )
    consumer.subscribe([topic], listener=Failing())
    assert next(consumer).offset == 0
    # Whoever closes wants to go, and may do so because of another exception: what a listener raises is logged.
    with pytest.raises(KeyboardInterrupt) if error is KeyboardInterrupt else nullcontext():
        consumer.close()
    assert not any(thread.name.startswith(f"failing-{topic}") for thread in threading.enumerate())
    consumer.close()


def test_whatever_goes_wrong_nobody_is_subscribed_afterwards(start_node: Any, topic: str) -> None:
    class Failing(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Any) -> None: ...

        def on_partitions_revoked(self, revoked: Any) -> None:
            raise ZeroDivisionError

    node = start_node(settings={"group.initial.rebalance.delay.ms": "0"})
    fill(node.bootstrap, topic, 1)
    consumer = KafkaConsumer(
        bootstrap_servers=node.bootstrap, group_id=topic, auto_offset_reset="earliest", request_timeout_ms=1000
    )
    consumer.subscribe([topic], listener=Failing())
    assert next(consumer).offset == 0
    with pytest.raises(ZeroDivisionError):
        consumer.unsubscribe()
    assert (consumer.subscription(), consumer.assignment()) == (None, set())
    with KafkaAdminClient(bootstrap_servers=node.bootstrap) as admin:
        assert admin.describe_groups([topic])[topic]["members"] == []
    consumer.subscribe([topic])
    consumer.poll(100)
    node.kill()
    consumer.unsubscribe()
    assert (consumer.subscription(), consumer.assignment()) == (None, set())
    consumer.close()
    consumer.unsubscribe()  # nothing to leave any more


def members(bootstrap: str, group: str) -> list[str]:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        return [each["client_id"] for each in admin.describe_groups([group])[group]["members"]]


def test_who_leaves_while_others_are_waited_for_is_gone(start_node: Any, topic: str) -> None:
    """Its join is answered when everybody has joined, and what it says behind that on the same connection is heard
    then. Until then the group would be told of a member that there is none."""
    bootstrap = start_node(settings={"group.initial.rebalance.delay.ms": "0"}).bootstrap
    fill(bootstrap, topic, 1)
    settings: dict[str, Any] = {"bootstrap_servers": bootstrap, "group_id": topic, "auto_offset_reset": "earliest"}
    with KafkaConsumer(topic, client_id="slow", **settings) as slow:
        assert next(slow).offset == 0
        with KafkaConsumer(topic, client_id="hasty", **settings) as hasty:
            for _ in range(2):  # once with its place in the group known, and again as somebody else
                while "hasty" not in members(bootstrap, topic):
                    hasty.poll(10)
                hasty.unsubscribe()
                assert members(bootstrap, topic) == ["slow"]
                hasty.subscribe([topic])


def test_who_is_interrupted_while_leaving_leaves(bootstrap: str, topic: str, monkeypatch: Any) -> None:
    fill(bootstrap, topic, 1)
    with KafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", client_id="interrupted"
    ) as consumer:
        assert next(consumer).offset == 0
        begin = consumer._background.begin

        def interrupted(ask: Any) -> Any:
            monkeypatch.setattr(consumer._background, "begin", begin)
            raise KeyboardInterrupt

        monkeypatch.setattr(consumer._commits, "before_revoking", lambda: None)
        monkeypatch.setattr(consumer._background, "begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            consumer.unsubscribe()
        deadline = time.monotonic() + 20  # of a session it is much more
        while members(bootstrap, topic) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert members(bootstrap, topic) == []
        assert consumer.subscription() is None


def test_a_consumer_that_nobody_holds_leaves_its_group(bootstrap: str, topic: str) -> None:
    """Its thread must not keep it alive, with its share of the work, for as long as max_poll_interval_ms says."""

    class Knowing(ConsumerRebalanceListener):
        def __init__(self, consumer: KafkaConsumer) -> None:
            self.consumer = consumer

    def work() -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", client_id=f"dropped-{topic}"
        )
        consumer.subscribe([topic], listener=Knowing(consumer))
        assert next(consumer).offset == 0

    fill(bootstrap, topic, 3)
    work()
    gc.collect()
    assert not any(thread.name.startswith(f"dropped-{topic}") for thread in threading.enumerate())
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        assert admin.describe_groups([topic])[topic]["members"] == []


def test_asked_after_the_end(bootstrap: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    future = producer.send(topic, b"last")
    producer.close()
    assert future.get(timeout=0).offset == 0
    producer.flush(3)
    producer.flush()
    with pytest.raises(errors.IllegalStateError):
        producer.send(topic, b"too late")
    with pytest.raises(errors.KafkaConnectionError):
        producer.partitions_for("another")


def in_child(work: Callable[[], None]) -> None:
    """Forks as a program would that has clients, and sees how the child ends: it must, and well."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork with threads, from Python 3.12 on
def test_the_child_of_a_fork_is_told_and_let_go(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, 3)
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=600)
    consumer = reader(bootstrap, topic)
    member = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=f"{topic}-members")
    member.poll(100)
    assert next(consumer).offset == 0
    future = producer.send(topic, b"from the parent", partition=0)

    def work() -> None:
        for call in (
            lambda: producer.send(topic, b"from the child"),
            lambda: producer.flush(3),
            lambda: future.get(timeout=3),
            lambda: next(consumer),  # also of what was fetched before
            lambda: consumer.poll(1000),
            consumer.commit,
            lambda: consumer.assign([]),
            member.unsubscribe,
        ):
            with pytest.raises(errors.IllegalStateError, match="fork"):
                call()
        producer.close(2)
        consumer.close()
        member.close()

    in_child(work)
    assert future.get(timeout=10).offset == 3
    assert [next(consumer).offset for _ in range(3)] == [1, 2, 3]
    for client in (consumer, member, producer):
        client.close()
    assert committed(bootstrap, topic) == 4


FORKED = """
import os, sys
from moldau import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from moldau.admin import KafkaAdminClient
bootstrap, topic, way = sys.argv[1:]
producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=500)
consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap)
admin = KafkaAdminClient(bootstrap_servers=bootstrap)
future = producer.send(topic, b"x")
child = os.fork()
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), future.get(10).offset)
elif way == "del":
    del producer, consumer, admin
"""


@pytest.mark.parametrize("way", ["exit", "del"])
def test_a_forked_process_ends(bootstrap: str, topic: str, way: str) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, bootstrap, topic, way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["0", "0"], "")
