"""Tasks and drivers of an exactly-once write in every awkward order, without Spark: what each may do, and when.

Spark only calls these parts; here they are called in orders that a cluster would take weeks to come up with.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow
import pytest
from pyspark import TaskContext
from sink_topics import abort_open, open_transactions, records_of

from moldau import KafkaProducer
from moldau.client.admin.transactions import describe_transaction
from moldau.client.cluster import Cluster as Client
from moldau.client.conversation import Ask, AskAll, Learn
from moldau.errors import KafkaError
from moldau.protocol.messages.describe_transactions import DescribeTransactionsResponse, TransactionState
from moldau.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from moldau.spark import connection
from moldau.spark.options import OptionError, Use
from moldau.spark.sink import delivery
from moldau.spark.sink.content import Content, input_in, input_of
from moldau.spark.sink.decision import Decider, OtherBatch, TransactionsLost
from moldau.spark.sink.ledger import Ledger, Opened, State, read
from moldau.spark.sink.lifetime import Standing, standing
from moldau.spark.sink.messages import Job, Nothing, Skipped, Written
from moldau.spark.sink.options import SinkOptions, sink_options
from moldau.spark.sink.transaction import AnswerLost, Overtaken, TaskTransaction, write_rows
from moldau.spark.sink.writer import deliver
from moldau.testing import Cluster


class Desk:
    """One query that writes to one topic, and how its parts are called."""

    def __init__(self, node: Cluster, topic: str) -> None:
        self.bootstrap = node.bootstrap_servers
        self.topic = topic
        self.key = uuid4().hex
        self.options: SinkOptions
        self.set()

    def set(self, **given: str) -> None:
        own = {"kafka.bootstrap.servers": self.bootstrap, "topic": self.topic, "delivery": "exactly-once"}
        self.options = sink_options({**own, **given}, Use.STREAM_WRITE)

    def job(self, batch: int, run: str = "run") -> Job:
        return Job(self.key, batch, run)

    def write(self, job: Job, *values: str, partition: int = 0) -> Any:
        return write_rows(self.options, job, partition, rows(*values))

    def commit(self, job: Job, *messages: Any) -> None:
        with Decider(self.options, job) as decider:
            decider.commit(messages)

    def abort(self, job: Job, *messages: Any) -> None:
        with Decider(self.options, job) as decider:
            decider.abort(messages)

    def ledger(self) -> Ledger:
        with Client(self.bootstrap) as client:
            return client.run(read(self.job(0).account(self.options)))

    def seen(self) -> list[str]:
        return sorted(record.value.decode() for record in records_of(self.bootstrap, self.topic))

    def still_open(self) -> list[str]:
        return open_transactions(self.bootstrap, self.key)


def rows(*values: str) -> Iterator[Any]:
    return iter([pyarrow.record_batch({"value": pyarrow.array(values, pyarrow.string())})])


@pytest.fixture
def desk(node: Cluster, create_topic: Callable[..., str]) -> Desk:
    return Desk(node, create_topic(partitions=1))


def test_a_batch_is_seen_when_it_is_decided(desk: Desk) -> None:
    job = desk.job(0)
    messages = [desk.write(job, "a", partition=0), desk.write(job, "b", partition=1), desk.write(job, partition=2)]
    assert [type(message) for message in messages] == [Written, Written, Nothing]
    assert desk.seen() == []
    desk.commit(job, *messages)
    assert desk.seen() == ["a", "b"]
    assert desk.still_open() == []


def test_a_replayed_batch_writes_nothing(desk: Desk) -> None:
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    for run in ("run", "another"):
        message = desk.write(desk.job(0, run), "a")
        assert isinstance(message, Skipped)
        desk.commit(desk.job(0, run), message)
    assert desk.seen() == ["a"]
    assert len(records_of(desk.bootstrap, desk.topic, committed=False)) == 1


def test_committing_again_and_aborting_afterwards_change_nothing(desk: Desk) -> None:
    message = desk.write(desk.job(0), "a")
    for _ in range(2):
        desk.commit(desk.job(0), message)
    desk.abort(desk.job(0), message, None)
    assert desk.seen() == ["a"]


def test_an_aborted_batch(desk: Desk) -> None:
    message = desk.write(desk.job(0), "a")
    lost = desk.write(desk.job(0), "a", partition=1)
    assert len(desk.still_open()) == 2
    desk.abort(desk.job(0), message, None)
    assert desk.still_open() == [], f"{lost} was left open"
    assert desk.seen() == []
    desk.commit(desk.job(0, "next"), desk.write(desk.job(0, "next"), "a"))
    assert desk.seen() == ["a"]


def test_a_job_that_is_never_heard_of_again_leaves_no_trace(desk: Desk) -> None:
    job = Job(desk.key, 0, "run", passing=True)
    desk.commit(job, desk.write(job, "a"))
    assert desk.ledger().state is None
    assert desk.seen() == ["a"]
    assert desk.still_open() == []


def test_a_job_that_was_given_up_stays_so(desk: Desk) -> None:
    job = Job(desk.key, 0, "run", passing=True)
    slow = TaskTransaction(desk.options, job)
    assert slow.begin(0)
    desk.abort(job, desk.write(job, "a"), None)
    slow.write(next(rows("b")))
    with pytest.raises(KafkaError):
        slow.leave_open()
    slow.abort()
    slow.close()
    assert isinstance(desk.write(job, "c"), Skipped), "a task that Spark has not stopped yet"
    assert desk.seen() == []
    assert desk.still_open() == []


def test_a_task_whose_id_was_taken_back_before_it_took_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(desk.key, 0, "run", passing=True)
    slow = TaskTransaction(desk.options, job)
    claim = slow._claim

    def claim_and_be_late(ledger: Ledger, partition: int) -> tuple[Ledger, str]:
        claimed = claim(ledger, partition)
        desk.abort(job, None)
        return claimed

    monkeypatch.setattr(slow, "_claim", claim_and_be_late)
    assert not slow.begin(0)
    slow.close()
    assert desk.still_open() == []


def test_two_attempts_of_a_task(desk: Desk) -> None:
    first, second = desk.write(desk.job(0), "a"), desk.write(desk.job(0), "a")
    assert first.transaction.name != second.transaction.name
    desk.commit(desk.job(0), second)
    assert desk.seen() == ["a"]
    assert desk.still_open() == []


def test_an_attempt_that_wakes_up_after_the_decision(desk: Desk) -> None:
    late = TaskTransaction(desk.options, desk.job(0))
    assert late.begin(0)
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    late.write(next(rows("a")))
    with pytest.raises(KafkaError):
        late.leave_open()
    late.abort()
    late.close()
    assert desk.seen() == ["a"]
    assert desk.still_open() == []


def test_ids_are_free_again_for_the_run_that_used_them(desk: Desk) -> None:
    def batch(number: int, run: str) -> set[str]:
        messages = [desk.write(desk.job(number, run), f"{number}.{at}", partition=at) for at in range(3)]
        desk.commit(desk.job(number, run), *messages)
        return {message.transaction.name for message in messages}

    first = batch(0, "run")
    assert batch(1, "run") == first
    assert batch(2, "run") == first
    # Tasks of the run before may still be alive, and know those ids.
    other = batch(3, "restarted")
    assert not other & first
    assert batch(4, "restarted") == other
    assert len(desk.seen()) == 15


def test_ids_that_a_batch_did_not_need_are_kept(desk: Desk) -> None:
    wide = [desk.write(desk.job(0), "a", partition=at) for at in range(3)]
    desk.commit(desk.job(0), *wide)
    desk.commit(desk.job(1), desk.write(desk.job(1), "b"))
    state = desk.ledger().state
    assert state is not None
    assert set(state.free) == {message.transaction.name for message in wide}


def test_an_id_that_lost_is_never_used_again(desk: Desk) -> None:
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    lost = desk.write(desk.job(1), "b")
    won = desk.write(desk.job(1), "b")
    desk.commit(desk.job(1), won)
    state = desk.ledger().state
    assert state is not None
    assert lost.transaction.name not in state.free
    assert state.free == (won.transaction.name,)


def test_a_task_that_slept_between_reading_and_claiming(desk: Desk) -> None:
    """It knows a free id from before, claims it when a later batch may have it, and must find that out."""
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    asleep = TaskTransaction(desk.options, desk.job(1))
    before = asleep._read()
    desk.commit(desk.job(1), desk.write(desk.job(1), "b"))
    ledger, _ = asleep._claim(before, 0)
    assert ledger.state is not None
    assert ledger.state.batch == 1
    asleep.close()
    following = desk.write(desk.job(2), "c")
    desk.commit(desk.job(2), following)
    assert desk.seen() == ["a", "b", "c"]
    assert desk.still_open() == []


def test_two_tasks_that_want_the_same_id(desk: Desk) -> None:
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    tasks = [TaskTransaction(desk.options, desk.job(1)) for _ in range(2)]
    before = [task._read() for task in tasks]
    names = [task._claim(ledger, 0)[1] for task, ledger in zip(tasks, before, strict=True)]
    assert names[0] != names[1]
    for task in tasks:
        task.close()


def test_a_lost_answer_costs_an_id(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from moldau.links.errors import ConnectionFailed
    from moldau.spark.sink import transaction

    taken: list[str] = []
    take = transaction.TaskTransactionManager.take

    def first_is_lost(self: Any, name: str, timeout_ms: int) -> Any:
        taken.append(name)
        if len(taken) == 1:
            lost = ConnectionFailed("cut")
            raise AnswerLost(lost.code, str(lost))
        return take(self, name, timeout_ms)

    monkeypatch.setattr(transaction.TaskTransactionManager, "take", first_is_lost)
    message = desk.write(desk.job(0), "a")
    assert len(set(taken)) == 2
    desk.commit(desk.job(0), message)
    assert desk.seen() == ["a"]


def test_a_driver_that_was_replaced_while_it_decided(desk: Desk) -> None:
    old, new = desk.job(0, "old"), desk.job(0, "new")
    message = desk.write(old, "a")
    with Decider(desk.options, old) as decider:
        ledger = decider._fence_and_read()
        desk.commit(new, desk.write(new, "a"))
        with pytest.raises(KafkaError):
            decider._decide(ledger, [message], message.content)
    desk.commit(old, message)
    assert desk.seen() == ["a"]
    assert desk.still_open() == []


def test_a_driver_that_comes_too_late(desk: Desk) -> None:
    late = desk.write(desk.job(0, "old"), "a")
    for batch in (0, 1):
        desk.commit(desk.job(batch, "new"), desk.write(desk.job(batch, "new"), f"{batch}"))
    with pytest.raises(Overtaken, match="batch 1 has been committed already"):
        desk.commit(desk.job(0, "old"), late)
    with pytest.raises(Overtaken):
        desk.write(desk.job(0, "old"), "a")
    assert desk.seen() == ["0", "1"]


def interrupted(desk: Desk, job: Job, *messages: Any) -> None:
    """Decides and does no more."""
    with Decider(desk.options, job) as decider:
        content = Content()
        for message in messages:
            content = content.plus(message.content)
        decider._decide(decider._fence_and_read(), messages, content)


def test_a_decision_is_carried_out_by_the_next_run(desk: Desk) -> None:
    first = desk.job(0)
    loser = desk.write(first, "a", partition=0)
    interrupted(desk, first, desk.write(first, "a", partition=0), desk.write(first, "b", partition=1))
    assert desk.seen() == []
    again = desk.job(0, "again")
    messages = [desk.write(again, value, partition=at) for at, value in enumerate("ab")]
    assert {type(message) for message in messages} == {Skipped}
    desk.commit(again, *messages)
    assert desk.seen() == ["a", "b"]
    assert desk.still_open() == [], f"{loser} was left open"


def test_a_decision_is_carried_out_by_an_abort_and_by_a_commit_without_rows(desk: Desk) -> None:
    first = desk.write(desk.job(0), "a")
    interrupted(desk, desk.job(0), first)
    desk.abort(desk.job(0), first)
    assert desk.seen() == ["a"]
    second = desk.write(desk.job(1), "b")
    interrupted(desk, desk.job(1), second)
    with pytest.raises(OtherBatch):
        desk.commit(desk.job(1, "again"), Nothing(desk.job(1, "again")))
    assert desk.seen() == ["a", "b"]


def test_tasks_that_wrote_although_the_batch_was_being_decided(desk: Desk) -> None:
    """The new run's tasks asked before the old driver's decision was there."""
    old = desk.write(desk.job(0, "old"), "a")
    new = desk.write(desk.job(0, "new"), "a")
    interrupted(desk, desk.job(0, "old"), old)
    desk.commit(desk.job(0, "new"), new)
    assert desk.seen() == ["a"]
    assert desk.still_open() == []


def test_a_decision_whose_transactions_are_all_gone(desk: Desk) -> None:
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    interrupted(desk, desk.job(1), desk.write(desk.job(1), "b"), desk.write(desk.job(1), "c", partition=1))
    abort_open(desk.bootstrap, desk.key)
    with pytest.raises(TransactionsLost, match="the decision is taken back"):
        desk.commit(desk.job(1, "again"), desk.write(desk.job(1, "again"), "b"))
    assert desk.seen() == ["a"]
    third = desk.job(1, "third")
    desk.commit(third, desk.write(third, "b"), desk.write(third, "c", partition=1))
    assert desk.seen() == ["a", "b", "c"]


def test_another_query_that_died_in_its_transaction_hides_nothing(desk: Desk) -> None:
    """Its records hold back what read_committed shows of the partition that both use."""
    place = desk.job(0).account(desk.options).where
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    with KafkaProducer(bootstrap_servers=desk.bootstrap, transactional_id=f"other-{desk.key}") as other:
        other.init_transactions()
        other.begin_transaction()
        other.send(place.topic, b"{}", b"other", partition=place.partition).get(30)
        desk.commit(desk.job(1), desk.write(desk.job(1), "b"))
        assert isinstance(desk.write(desk.job(1, "again"), "b"), Skipped)
        other.abort_transaction()
    assert desk.seen() == ["a", "b"]


# ------------------------------------------------------------------------------- a number that was given to other rows


def test_other_rows_under_a_decided_number_are_refused(desk: Desk) -> None:
    desk.commit(desk.job(0), desk.write(desk.job(0), "a", "b"))
    again = desk.job(0, "again")
    for values in (("a", "c"), ("a",), ("a", "b", "c"), ("aa", "b")):
        with pytest.raises(OtherBatch, match=r"2 rows then, \d rows now.*put back the newest checkpoint"):
            desk.commit(again, desk.write(again, *values))
    assert desk.seen() == ["a", "b"]
    assert desk.still_open() == []
    # The batch itself is known in any order and in any division into tasks.
    desk.commit(again, desk.write(again, "b"), desk.write(again, "a", partition=1), desk.write(again, partition=2))
    desk.commit(desk.job(1, "again"), desk.write(desk.job(1, "again"), "c"))
    assert desk.seen() == ["a", "b", "c"]


def test_no_rows_under_a_decided_number_are_other_rows(desk: Desk) -> None:
    """The rows would come with a later batch, a second time."""
    desk.commit(desk.job(3), desk.write(desk.job(3), "a"))
    with pytest.raises(OtherBatch, match="1 rows then, 0 rows now"):
        desk.commit(desk.job(3, "again"), Nothing(desk.job(3, "again")))
    with pytest.raises(Overtaken):
        desk.commit(desk.job(2, "again"), Nothing(desk.job(2, "again")))


def test_a_decision_is_carried_out_before_other_rows_are_refused(desk: Desk) -> None:
    interrupted(desk, desk.job(0), desk.write(desk.job(0), "a"))
    again = desk.job(0, "again")
    with pytest.raises(OtherBatch):
        desk.commit(again, desk.write(again, "b"))
    assert desk.seen() == ["a"]


def test_the_same_input_with_another_result_is_the_same_batch(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    plan = tmp_path / "offsets" / "0"
    plan.write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":1}\n{"rivers":{"0":7},"@topics":{"rivers":"x"}}')
    desk.set(checkpointLocation=f"file://{tmp_path}")
    desk.commit(desk.job(0), desk.write(desk.job(0), "random 1"))
    plan.write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":9}\n{"rivers":{"0":7},"@topics":{"rivers":"x"}}')
    again = desk.job(0, "again")
    desk.commit(again, desk.write(again, "random 2"))
    plan.write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":9}\n{"rivers":{"0":8},"@topics":{"rivers":"x"}}')
    with pytest.raises(OtherBatch, match=r'startingOffsets \{"rivers": \{"0": 7\}\}'):
        desk.commit(again, desk.write(again, "random 3"))
    desk.set(checkpointLocation=f"file://{tmp_path}", acceptBatch="0")
    desk.commit(again, desk.write(again, "random 3"))
    assert desk.seen() == ["random 1"]


def test_what_an_offset_log_says_of_the_input(desk: Desk, tmp_path: Path) -> None:
    assert input_in('v1\n{}\n{"rivers":{"0":7}}\n{"lakes":{"0":1}}') == '{"rivers":{"0":7}}\n{"lakes":{"0":1}}'
    assert input_in('v1\n{}\n{"logOffset":3}') == ""  # files: which ones is kept elsewhere
    assert input_in("v1\n{}\n-") == ""
    assert input_in("v1") == ""
    assert input_in(f"v1\n{{}}\n{'x' * 100_000}").startswith("digest ")
    for place in (None, str(tmp_path), "s3a://bucket/checkpoint"):
        desk.set(**({} if place is None else {"checkpointLocation": place}))
        assert input_of(desk.options, 0) == ""


def test_a_state_from_before_decisions_said_what_they_decided(desk: Desk) -> None:
    desk.commit(desk.job(0), desk.write(desk.job(0), "a"))
    old = dict(json.loads(desk.ledger().state.encode()))  # type: ignore[union-attr]
    del old["content"], old["input"]
    state = State.decode(json.dumps(old).encode())
    assert (state.batch, state.content, state.input) == (0, None, "")


# ------------------------------------------------------------------------------------------- batches that take too long


def test_a_batch_whose_first_transaction_is_gone_is_not_decided(desk: Desk) -> None:
    """Tasks one after the other, for longer than a transaction may be open: all or nothing, and it can be repeated."""
    desk.set(**{"kafka.transaction.timeout.ms": "1500"})
    job = desk.job(0)
    first = desk.write(job, "a")
    wait_until(lambda: not desk.still_open())
    second = desk.write(job, "b", partition=1)
    with pytest.raises(
        TransactionsLost, match=r"1 of its 2 transactions could not have been.*Nothing of it is visible"
    ):
        desk.commit(job, first, second)
    assert desk.seen() == []
    assert desk.still_open() == []
    assert desk.ledger().state is None
    desk.set()
    again = desk.job(0, "again")
    desk.commit(again, desk.write(again, "a"), desk.write(again, "b", partition=1))
    assert desk.seen() == ["a", "b"]


def test_a_transaction_that_another_took_over_is_not_decided(desk: Desk) -> None:
    job = desk.job(0)
    first, second = desk.write(job, "a"), desk.write(job, "b", partition=1)
    name = job.transactional_id(desk.options, first.transaction.name)
    with KafkaProducer(bootstrap_servers=desk.bootstrap, transactional_id=name) as other:
        other.init_transactions()
        other.begin_transaction()
        other.send(desk.topic, b"foreign").get(30)
        with pytest.raises(TransactionsLost, match="taken over by another producer"):
            desk.commit(job, first, second)
        other.abort_transaction()
    assert desk.seen() == []


def test_a_batch_that_would_be_decided_in_the_last_moment_is_not(desk: Desk) -> None:
    opened = {"task": Opened("task", 7, 0, True)}

    def answer(age: int) -> Standing:
        talk = standing(opened, "driver")
        assert isinstance(next(talk), Learn)
        asked = talk.send(None)
        assert isinstance(asked, Ask)
        found = FindCoordinatorResponse(coordinators=[Coordinator(key=name, node_id=1) for name in ("task", "driver")])
        assert isinstance(talk.send(found), AskAll)
        rows = [
            TransactionState(
                transactional_id="task",
                transaction_state="Ongoing",
                transaction_timeout_ms=100_000,
                transaction_start_time_ms=1_000_000 - age,
                producer_id=7,
                producer_epoch=0,
            ),
            TransactionState(
                transactional_id="driver", transaction_state="Ongoing", transaction_start_time_ms=1_000_000
            ),
        ]
        with pytest.raises(StopIteration) as end:
            talk.send([DescribeTransactionsResponse(transaction_states=rows)])
        result: Standing = end.value.value
        return result

    assert answer(40_000) == Standing({}, 40_000, 100_000)
    assert not answer(40_000).half_spent
    assert answer(60_000).half_spent
    assert answer(90_000).lost == {}
    assert answer(90_001).lost == {"task": "open for 90 s of 100 s"}


def test_transactions_get_the_time_that_brokers_allow() -> None:
    with Cluster(nodes=1, settings={"transaction.max.timeout.ms": "1200000"}) as generous:
        from moldau.admin import KafkaAdminClient, NewTopic

        with KafkaAdminClient(bootstrap_servers=generous.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("rivers", 1, 1)])
        desk = Desk(generous, "rivers")
        desk.write(desk.job(0), "a")
        with Client(desk.bootstrap) as client:
            found = client.run(describe_transaction(desk.still_open()[0]))
        assert found.timeout_ms == 1_200_000


# --------------------------------------------------------------------------------------------- what a process keeps


def test_tasks_of_a_process_share_connections(desk: Desk) -> None:
    delivery._kept.clear()
    first = desk.write(desk.job(0), "a")
    ((key, kept),) = delivery._kept.items()
    second = desk.write(desk.job(0), "b", partition=1)
    assert delivery._kept == {key: kept}
    desk.commit(desk.job(0), first, second)
    assert isinstance(desk.write(desk.job(0, "again"), "a"), Skipped)
    plain = sink_options({"kafka.bootstrap.servers": desk.bootstrap, "topic": desk.topic}, Use.BATCH_WRITE)
    for _ in range(3):
        assert deliver(plain, rows("c")).rows == 1
    assert list(delivery._kept.values()).count(kept) == 1
    assert desk.seen() == ["a", "b", "c", "c", "c"]
    # Connections of a task that failed may have something of it under way.
    broken = pyarrow.record_batch({"value": ["d"], "partition": pyarrow.array([99], pyarrow.int32())})
    before = len(delivery._kept)
    with pytest.raises(OptionError, match="names partition 99"):
        deliver(plain, iter([broken]))
    assert len(delivery._kept) == before - 1


@pytest.mark.parametrize("values", [("a",), ()], ids=["rows", "no rows"])
@pytest.mark.parametrize("exactly_once", [True, False], ids=["exactly once", "at least once"])
def test_what_a_first_task_leaves_in_its_process_is_no_garbage(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, values: tuple[str, ...], exactly_once: bool
) -> None:
    monkeypatch.setattr(TaskContext, "get", lambda: object())
    monkeypatch.setattr(connection, "_imported", 0)
    gc.unfreeze()
    try:
        if exactly_once:
            desk.write(desk.job(0), *values)
        else:
            deliver(desk.options, rows(*values))
        assert gc.get_freeze_count() > len(gc.get_objects())
    finally:
        gc.unfreeze()


def wait_until(done: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)
