"""What a partition refuses: epochs of the past and of the future, logs that left its own, too few replicas in sync."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_sync_kit import Rules

from moldau.config.topic import LogConfig
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import PartitionRegistration
from moldau.protocol.records import Record, encode_batch
from moldau.replica.delayed_fetch import DelayedFetch, WaitingRead
from moldau.replica.delayed_outcomes import PendingAppend, PendingDelete, PendingForce
from moldau.replica.partition import NO_REPLICA, DivergingEpoch, Partition
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.storage.log import Log, LogRead
from moldau.types import TopicPartition

ID = bytes(15) + b"\x07"
ALL = -1


class Stage:
    """Broker 1 holds a partition; `lead` and `follow` are what the metadata says of it."""

    def __init__(self, directory: Path, **config: int) -> None:
        self.log = Log.open(str(directory / "orders-0"), replace(LogConfig(), **config), RealDisk(), SystemClock())
        self.rules = Rules()
        self.partition = Partition(TopicPartition("orders", 0), ID, self.log, 1, None, self.rules)

    def lead(self, epoch: int, isr: tuple[int, ...] = (1,), replicas: tuple[int, ...] = (1, 2, 3)) -> bool:
        state = PartitionRegistration(
            replicas, (ID,) * len(replicas), isr, leader=1, leader_epoch=epoch, partition_epoch=0
        )
        return self.partition.become_leader(state, now_ms=1000)

    def follow(self, epoch: int, leader: int = 2) -> bool:
        state = PartitionRegistration(
            (1, 2, 3), (ID,) * 3, (1, 2), leader=leader, leader_epoch=epoch, partition_epoch=0
        )
        return self.partition.become_follower(state)

    def fetched(self, follower: int, offset: int, log_start: int = 0) -> bool:
        return self.partition.follower_fetched(follower, offset, log_start, self.log.log_end_offset, 1)

    def append(self, count: int, acks: int = 1) -> None:
        records = [Record(index, 1_700_000_000_000, None, b"value", []) for index in range(count)]
        data = memoryview(bytearray(encode_batch(records)))
        self.partition.append(data, 0, len(data), acks)

    def read(
        self, offset: int, leader_epoch: int = -1, fetched_epoch: int = -1, *, follower: int = NO_REPLICA
    ) -> LogRead | DivergingEpoch:
        return self.partition.read(
            offset, 1 << 20, leader_epoch, fetched_epoch, committed=False, follower=follower, at_least_one=True
        )


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, min_insync_replicas=2)
    yield stage
    stage.log.segments.release()


def refused(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return ErrorCode(error.value.code)


# -------------------------------------------------------------------------------------------------------- leader epoch


def test_a_reader_of_an_older_epoch_is_fenced_and_one_of_a_newer_must_wait(stage: Stage) -> None:
    stage.lead(5)
    stage.append(3)
    for epoch in (-1, 5):
        assert isinstance(stage.read(0, epoch), LogRead)
    for epoch, code in ((4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(KafkaError) as error:
            stage.read(0, epoch)
        assert refused(error) is code
        with pytest.raises(KafkaError) as error:
            stage.partition.check_leader(epoch)
        assert refused(error) is code


def test_who_does_not_lead_says_so_after_looking_at_the_epoch(stage: Stage) -> None:
    stage.lead(5)
    assert stage.follow(6)
    for epoch, code in (
        (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (6, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (5, ErrorCode.FENCED_LEADER_EPOCH),
        (7, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        for ask in (lambda epoch=epoch: stage.read(0, epoch), lambda epoch=epoch: stage.partition.check_leader(epoch)):
            with pytest.raises(KafkaError) as error:
                ask()
            assert refused(error) is code
    with pytest.raises(KafkaError) as error:
        stage.append(1)
    assert refused(error) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert stage.log.log_end_offset == 0


def test_an_epoch_begins_once(stage: Stage) -> None:
    assert stage.lead(5)
    assert not stage.lead(5)
    assert stage.lead(6)
    assert stage.follow(6), "who waits for the leader has to hear of it"
    assert not stage.follow(6)
    assert stage.lead(6), "it did not lead in between"
    assert stage.follow(7)


# ----------------------------------------------------------------------------------------------------- diverging epoch


@pytest.fixture
def epochs(stage: Stage) -> Stage:
    """Offsets 0 to 2 are of epoch 1, 3 and 4 of epoch 4, 5 of epoch 5."""
    for epoch, count in ((1, 3), (4, 2), (5, 1)):
        stage.lead(epoch)
        stage.append(count)
    return stage


@pytest.mark.parametrize("follower", [NO_REPLICA, 3])
@pytest.mark.parametrize(
    ("offset", "fetched_epoch", "diverging"),
    [
        (3, 1, None),
        (5, 4, None),
        (6, 5, None),
        (0, 5, None),
        # The reader has more of the epoch than we do.
        (4, 1, DivergingEpoch(1, 3)),
        (6, 4, DivergingEpoch(4, 5)),
        # We know nothing of its epoch, only of an earlier one.
        (3, 2, DivergingEpoch(1, 3)),
        (2, 3, DivergingEpoch(1, 3)),
        # Its epoch was over before our first record.
        (3, 0, DivergingEpoch(0, 0)),
    ],
)
def test_a_reader_whose_log_left_ours_is_told_where(
    epochs: Stage, offset: int, fetched_epoch: int, diverging: DivergingEpoch | None, follower: int
) -> None:
    found = epochs.read(offset, fetched_epoch=fetched_epoch, follower=follower)
    assert found == diverging if diverging is not None else isinstance(found, LogRead)


def test_what_is_before_the_start_is_out_of_range_whatever_the_epochs_say(epochs: Stage) -> None:
    for epoch in (5, 7):
        epochs.lead(epoch, replicas=(1,))
        epochs.append(1)
    epochs.log.local.advance_log_start(4)
    assert epochs.read(6, fetched_epoch=6) == DivergingEpoch(5, 7)
    with pytest.raises(KafkaError) as error:
        epochs.read(3, fetched_epoch=6)
    assert refused(error) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_epoch_we_cannot_speak_of_is_out_of_range(epochs: Stage) -> None:
    with pytest.raises(KafkaError) as error:
        epochs.read(3, fetched_epoch=9)
    assert refused(error) is ErrorCode.OFFSET_OUT_OF_RANGE


# ------------------------------------------------------------------------------------------------ min.insync.replicas


def test_too_few_in_sync_refuse_what_must_be_everywhere(stage: Stage) -> None:
    stage.lead(1, isr=(1,))
    with pytest.raises(KafkaError) as error:
        stage.append(1, ALL)
    assert refused(error) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert stage.log.log_end_offset == 0
    for acks in (0, 1):
        stage.append(1, acks)
    stage.lead(1, isr=(1, 3))
    stage.append(1, ALL)
    assert stage.log.log_end_offset == 3


def test_a_topic_with_fewer_replicas_than_that_needs_all_of_them(stage: Stage) -> None:
    stage.lead(1, isr=(1,), replicas=(1,))
    stage.append(1, ALL)
    assert stage.log.log_end_offset == 1


def test_the_limit_follows_the_settings(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2))
    stage.append(1, ALL)
    stage.log.local.config = replace(stage.log.config, min_insync_replicas=3)
    stage.partition.config_changed()
    with pytest.raises(KafkaError) as error:
        stage.append(1, ALL)
    assert refused(error) is ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_producer_learns_that_the_in_sync_set_shrank_meanwhile(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2))
    stage.append(2, ALL)
    waiting = PendingAppend(stage.partition, 2)
    assert not waiting.look()
    assert waiting.error is ErrorCode.REQUEST_TIMED_OUT
    stage.lead(1, isr=(1,))
    assert waiting.look()
    assert waiting.error is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert waiting.look(), "what is known stays known"
    stage.lead(1, isr=(1, 2))
    assert stage.partition.replicated(2) == (False, ErrorCode.NONE)
    stage.fetched(2, 2)
    assert stage.partition.replicated(3) == (False, ErrorCode.NONE)
    assert stage.partition.replicated(2) == (True, ErrorCode.NONE)
    # Also what had reached all of them before counts for nothing while too few are left.
    stage.lead(1, isr=(1,))
    assert stage.partition.replicated(2) == (True, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


def test_whoever_waits_hears_of_another_leader(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2))
    stage.append(2, ALL)
    waiting = [kind(stage.partition, 2) for kind in (PendingAppend, PendingForce, PendingDelete)]
    stage.follow(2)
    assert all(each.look() for each in waiting)
    assert {each.error for each in waiting} == {ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_deleted_records_wait_for_the_followers(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2), replicas=(1, 2))
    stage.append(3)

    stage.fetched(2, 3)
    stage.log.local.advance_log_start(2)
    waiting = PendingDelete(stage.partition, 2)
    assert not waiting.look()
    stage.fetched(2, 3, log_start=2)
    assert waiting.look()
    assert (waiting.error, waiting.low_watermark) == (ErrorCode.NONE, 2)


def test_deleted_records_do_not_wait_for_the_dead(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2))
    stage.append(3)
    for follower in (2, 3):
        stage.fetched(follower, 3)
    stage.log.local.advance_log_start(2)
    stage.fetched(2, 3, log_start=2)
    assert stage.partition.low_watermark() == 0, "broker 3 lives and has them still"
    del stage.rules.epochs[3]
    assert stage.partition.low_watermark() == 2


def test_a_durable_partition_counts_what_is_on_disk(tmp_path: Path) -> None:
    stage = Stage(tmp_path, flush_messages=1)
    asked: list[Partition] = []
    stage.partition = Partition(TopicPartition("orders", 0), ID, stage.log, 1, asked.append)
    stage.lead(1, replicas=(1,))
    stage.append(2)
    assert asked == [stage.partition]
    assert stage.partition.forced(2) == (False, ErrorCode.NONE)
    assert stage.log.high_watermark == 0
    stage.log.flush()
    assert stage.partition.advance_high_watermark()
    assert stage.partition.forced(2) == (True, ErrorCode.NONE)
    assert stage.log.high_watermark == 2
    stage.log.segments.release()


# ----------------------------------------------------------------------------------------------------- how far to read


def test_readers_see_what_is_committed_and_followers_all(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2))
    stage.append(2)
    (to_readers, to_followers) = (stage.read(0), stage.read(0, follower=3))
    assert isinstance(to_readers, LogRead)
    assert isinstance(to_followers, LogRead)
    assert len(to_readers.records) == 0
    assert len(to_followers.records) > 0


def test_readers_of_committed_records_stop_where_a_transaction_is_open(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2), replicas=(1, 2))
    stage.append(1)
    records = [Record(0, 1_700_000_000_000, None, b"open", [])]
    fields = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    data = memoryview(bytearray(encode_batch(records, is_transactional=True, **fields)))
    stage.partition.append(data, 0, len(data), 1)
    stage.fetched(2, 2)
    assert (stage.log.high_watermark, stage.log.local.last_stable_offset) == (2, 1)
    seen = {}
    for committed in (False, True):
        read = stage.partition.read(1, 1 << 20, -1, -1, committed=committed, follower=NO_REPLICA, at_least_one=True)
        assert isinstance(read, LogRead)
        seen[committed] = len(read.records) > 0
    assert seen == {False: True, True: False}


def test_a_stranger_is_no_follower(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2), replicas=(1, 2))
    stage.append(1)
    # Its own id is no follower's either.
    for stranger in (1, 3, 0):
        with pytest.raises(KafkaError) as error:
            stage.read(0, follower=stranger)
        assert refused(error) is ErrorCode.NOT_LEADER_OR_FOLLOWER


# -------------------------------------------------------------------------------------------------- who waits, for what


class Waiting:
    """A fetch that waits at `offset` of the partition for `min_bytes`."""

    def __init__(self, stage: Stage, offset: int, min_bytes: int = 1, *, follower: bool = False) -> None:
        read = WaitingRead(stage.partition, offset, 1 << 20)
        self.operation = DelayedFetch([read], min_bytes, committed=False, follower=follower, respond=lambda: None)

    @property
    def ready(self) -> bool:
        return self.operation.ready()


def test_a_fetch_waits_until_there_is_enough(stage: Stage) -> None:
    stage.lead(1, isr=(1, 2))
    client, follower = Waiting(stage, 0), Waiting(stage, 0, follower=True)
    assert not client.ready
    stage.append(1)
    size = stage.log.bytes_between(0, 1)
    assert follower.ready
    assert not client.ready, "nothing of it is committed"
    stage.fetched(2, 1)
    assert client.ready
    assert Waiting(stage, 0, size).ready
    assert not Waiting(stage, 0, size + 1).ready


def test_a_fetch_stops_waiting_where_it_can_only_be_refused(stage: Stage) -> None:
    stage.lead(1, replicas=(1,))
    stage.append(3)
    at_the_end = Waiting(stage, 3)
    assert not at_the_end.ready
    # A new epoch, another leader.
    stage.lead(2, replicas=(1,))
    assert at_the_end.ready
    at_the_end = Waiting(stage, 3)
    stage.follow(2)
    assert at_the_end.ready
    # The log is shorter, or begins later, than where it waits.
    stage.lead(3, replicas=(1,))
    beyond = Waiting(stage, 4)
    assert beyond.ready
    before = Waiting(stage, 0, 1 << 20)
    assert not before.ready
    stage.log.local.advance_log_start(1)
    assert before.ready
    assert not Waiting(stage, 1, 1 << 20).ready


def test_only_a_leader_with_followers_gives_some_up(stage: Stage) -> None:
    stage.rules.time_ms = 10**9
    stage.lead(1, isr=(1,), replicas=(1,))
    stage.partition.shrink_isr()
    stage.lead(2, isr=(1, 2))
    stage.follow(3)
    stage.partition.shrink_isr()
    assert stage.rules.asked == []
    stage.lead(4, isr=(1, 2))
    stage.partition.shrink_isr()
    assert stage.rules.asked == [(1,)]


# -------------------------------------------------------------------------------------------------- writing together


def test_only_who_is_alone_in_charge_lets_others_write_together(tmp_path: Path) -> None:
    """Then what is written counts at once; everywhere else somebody has to be waited for or refused."""
    alone = Stage(tmp_path / "alone")
    assert not alone.partition.has_runs
    alone.lead(1, replicas=(1,))
    assert alone.partition.has_runs
    alone.lead(2, isr=(1, 2))
    assert not alone.partition.has_runs
    alone.lead(3)
    assert not alone.partition.has_runs, "the others may be level again with their next fetch"
    alone.lead(3, replicas=(1,))
    assert alone.partition.has_runs
    alone.follow(4)
    assert not alone.partition.has_runs
    alone.lead(5, replicas=(1,))
    alone.partition.is_leader = False  # given up: the disk failed, or the topic is gone
    assert not alone.partition.has_runs
    too_few = Stage(tmp_path / "few", min_insync_replicas=2)
    too_few.lead(1)
    assert not too_few.partition.has_runs
    durable = Stage(tmp_path / "durable", flush_messages=1)
    durable.lead(1)
    assert not durable.partition.has_runs
    for stage in (alone, too_few, durable):
        stage.log.segments.release()
