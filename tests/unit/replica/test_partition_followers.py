"""What a leader does with the fetches of its followers: the high watermark and who is in sync."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_sync_kit import Rules

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import PartitionRegistration
from moldau.protocol.records import Record, encode_batch
from moldau.replica.partition import Partition
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.storage.log import Log
from moldau.types import TopicPartition

ID = bytes(15) + b"\x07"


class Stage:
    """Broker 1 leads; 2 and 3 follow, and 3 is not in sync. One record is written."""

    def __init__(self, path: Path) -> None:
        self.rules = Rules()
        self.log = Log.open(str(path / "orders-0"), LogConfig(), RealDisk(), SystemClock())
        self.partition = Partition(TopicPartition("orders", 0), ID, self.log, 1, None, self.rules)
        self.lead()
        self.append()

    def lead(self, isr: tuple[int, ...] = (1, 2), leader_epoch: int = 5, partition_epoch: int = 9) -> bool:
        state = PartitionRegistration((1, 2, 3), (ID, ID, ID), isr, 1, leader_epoch, partition_epoch)
        return self.partition.become_leader(state, now_ms=self.rules.time_ms)

    def append(self) -> None:
        data = memoryview(bytearray(encode_batch([Record(0, 1_700_000_000_000, None, b"one", [])])))
        self.partition.append(data, 0, len(data), 1)

    def fetched(self, follower: int, offset: int, broker_epoch: int = 1, leader_end: int | None = None) -> bool:
        end = self.log.log_end_offset if leader_end is None else leader_end
        return self.partition.follower_fetched(follower, offset, 0, end, broker_epoch)

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.log.segments.release()


def test_the_high_watermark_waits_for_the_in_sync_follower(stage: Stage) -> None:
    assert stage.high_watermark == 0
    assert not stage.fetched(2, 0)
    assert stage.fetched(2, 1)
    assert stage.high_watermark == 1
    assert stage.rules.asked == []


def test_a_stranger_is_refused(stage: Stage) -> None:
    with pytest.raises(KafkaError) as refused:
        stage.fetched(9, 0)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


# --------------------------------------------------------------------------------------------------------------- growth


def test_a_follower_that_has_caught_up_is_proposed(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.fetched(3, 0)
    assert stage.rules.asked == []
    stage.fetched(3, 1)
    [proposal] = stage.rules.proposals
    assert (proposal.isr, proposal.leader_epoch, proposal.partition_epoch) == ((1, 2, 3), 5, 9)
    stage.fetched(3, 1)
    assert len(stage.rules.proposals) == 1, "one at a time"


def test_a_follower_needs_all_that_was_there_when_the_leader_began(stage: Stage) -> None:
    """The high watermark of a new leader is behind: what it does not count yet may be committed."""
    stage.append()
    stage.lead(leader_epoch=6, partition_epoch=10)
    assert (stage.partition.epoch_start_offset, stage.high_watermark) == (2, 0)
    stage.fetched(3, 1)
    assert stage.rules.asked == []
    stage.fetched(3, 2)
    assert stage.rules.asked == [(1, 2, 3)]


def test_a_fetch_from_an_earlier_life_is_refused(stage: Stage) -> None:
    """What a broker had before it began anew, it may have lost."""
    stage.rules.epochs[2] = 8
    with pytest.raises(KafkaError) as refused:
        stage.fetched(2, 1, broker_epoch=1)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert stage.high_watermark == 0
    assert stage.fetched(2, 1, broker_epoch=8)


def test_a_follower_fenced_or_of_another_life_is_not_proposed(stage: Stage) -> None:
    stage.fetched(2, 1)
    del stage.rules.epochs[3]
    stage.fetched(3, 1)
    assert stage.rules.asked == []
    stage.rules.epochs[3] = 1
    stage.fetched(3, 1, broker_epoch=2)  # registered anew, and our metadata does not know it yet
    assert stage.rules.asked == []
    stage.rules.epochs[3] = 2
    stage.fetched(3, 1, broker_epoch=2)
    assert stage.rules.asked == [(1, 2, 3)]


# --------------------------------------------------------------------------------------------------------------- shrink


def test_a_follower_that_falls_behind_for_too_long_is_given_up(stage: Stage) -> None:
    stage.rules.time_ms = 2000
    stage.partition.shrink_isr()
    assert stage.rules.asked == []
    stage.rules.time_ms = 2001
    stage.partition.shrink_isr()
    assert stage.rules.asked == [(1,)]
    stage.partition.shrink_isr()
    assert len(stage.rules.proposals) == 1, "one at a time"


def test_who_is_level_stays_in_sync_however_long_nothing_is_written(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.rules.time_ms = 10**9
    stage.partition.shrink_isr()
    assert stage.rules.asked == []


def test_under_load_it_counts_to_reach_where_the_leader_was(stage: Stage) -> None:
    for time_ms in range(1500, 20_000, 500):
        stage.rules.time_ms = time_ms
        stage.append()
        stage.fetched(2, stage.log.log_end_offset - 1)
        stage.partition.shrink_isr()
    assert stage.rules.asked == []
    # It fetches as often as before, but nothing new.
    for time_ms in range(20_000, 24_000, 500):
        stage.rules.time_ms = time_ms
        stage.append()
        stage.fetched(2, 10)
        stage.partition.shrink_isr()
    assert stage.rules.asked == [(1,)]


# -------------------------------------------------------------------------------------------- while a change is pending


def test_until_it_is_decided_the_high_watermark_waits_for_both_sets(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.fetched(3, 1)
    assert stage.rules.asked == [(1, 2, 3)]
    stage.rules.time_ms = 10**6  # 3 has not been level for long: only the proposal keeps it
    stage.append()
    stage.fetched(2, 2)
    assert stage.high_watermark == 1, "3 may be in sync already"
    assert stage.partition.isr_committed((1, 2, 3), 5, 10)
    assert stage.high_watermark == 1
    stage.fetched(3, 2)
    assert stage.high_watermark == 2


def test_a_member_that_is_to_go_is_waited_for_until_it_is_gone(stage: Stage) -> None:
    stage.fetched(2, 0)
    stage.rules.time_ms = 10**6
    stage.partition.shrink_isr()
    stage.partition.advance_high_watermark()
    assert (stage.rules.asked, stage.high_watermark) == ([(1,)], 0), "the controller may say no"
    stage.partition.isr_committed((1,), 5, 10)
    assert stage.high_watermark == 1


def test_what_was_surely_not_tried_is_taken_back(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.fetched(3, 1)
    [proposal] = stage.rules.proposals
    stage.rules.time_ms = 10**6
    stage.append()
    stage.fetched(2, 2)
    assert stage.high_watermark == 1
    stage.partition.isr_not_attempted(proposal._replace(partition_epoch=0))
    assert stage.high_watermark == 1, "that was another"
    stage.partition.isr_not_attempted(proposal)
    assert (stage.partition.proposal, stage.high_watermark) == (None, 2)


def test_answers_and_metadata_that_come_late_change_nothing(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.fetched(3, 1)
    assert not stage.partition.isr_committed((1, 2, 3), 4, 10), "of another epoch"
    assert not stage.partition.isr_committed((1, 2, 3), 5, 8), "older than the metadata"
    assert stage.partition.isr_committed((1, 2, 3), 5, 10)
    assert not stage.lead((1, 2), partition_epoch=9)
    assert stage.partition.isr == (1, 2, 3)
    state = PartitionRegistration((1, 2, 3), (ID, ID, ID), (1, 2), 2, 6, 9)
    assert not stage.partition.become_follower(state)
    assert stage.partition.is_leader


# ------------------------------------------------------------------------------------------------------- high watermark


def test_a_replica_about_to_join_is_waited_for(stage: Stage) -> None:
    """Else the high watermark would run away from it for ever."""
    stage.fetched(3, 1)  # proposed, and refused: but it stays level
    stage.partition.isr_not_attempted(stage.rules.proposals[0])
    stage.fetched(2, 1)
    stage.append()
    assert not stage.fetched(2, 2)
    assert stage.high_watermark == 1
    del stage.rules.epochs[3]
    assert stage.partition.advance_high_watermark(), "who is fenced is not waited for"


def test_a_replica_out_of_sync_is_not_waited_for(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.append()
    stage.fetched(3, 0)
    assert stage.fetched(2, 2)
    assert stage.high_watermark == 2


def test_nothing_is_committed_while_too_few_are_in_sync(stage: Stage) -> None:
    from moldau.dataclass import replace

    stage.log.local.config = replace(stage.log.config, min_insync_replicas=2)
    stage.partition.config_changed()
    stage.rules.time_ms = 10**6
    stage.lead((1,), partition_epoch=10)
    assert stage.high_watermark == 0
    assert (stage.partition.isr_margin < 0, stage.partition.is_under_replicated) == (True, True)
    stage.lead((1, 2), partition_epoch=11)
    assert stage.fetched(2, 1)
    assert stage.high_watermark == 1
    assert stage.partition.isr_margin >= 0


def test_a_new_leader_knows_nothing_of_its_followers(stage: Stage) -> None:
    stage.fetched(2, 1)
    state = PartitionRegistration((1, 2, 3), (ID, ID, ID), (1, 2), 2, 6, 10)
    assert stage.partition.become_follower(state)
    stage.lead(leader_epoch=7, partition_epoch=11)
    stage.append()
    assert not stage.partition.advance_high_watermark(), "what 2 had under another leader does not count"
    assert stage.high_watermark == 1
    assert stage.fetched(2, 2)


def test_the_same_leader_in_a_new_epoch_remembers_offsets_but_not_times(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.rules.time_ms = 5000
    stage.lead((1,), leader_epoch=6, partition_epoch=10)
    stage.append()
    assert stage.high_watermark == 2, "2 is out of sync, and not level since"


def test_the_same_leader_with_another_in_sync_set_knows_what_it_knew(stage: Stage) -> None:
    stage.fetched(2, 1)
    stage.fetched(3, 1)
    assert stage.lead((1, 2, 3), partition_epoch=10) is False
    assert [stage.partition.followers[broker].end_offset for broker in (2, 3)] == [1, 1]
    stage.append()
    stage.fetched(2, 2)
    assert stage.high_watermark == 1
    stage.fetched(3, 2)
    assert stage.high_watermark == 2


def test_a_follower_is_proposed_once(stage: Stage) -> None:
    stage.fetched(3, 1)
    stage.fetched(3, 1)
    assert stage.rules.asked == [(1, 2, 3)]


def test_a_replica_that_was_not_heard_of_yet_has_its_time_under_a_new_epoch(stage: Stage) -> None:
    """What the leader had when the epoch began is nothing such a replica has reached."""
    stage.rules.time_ms = 5000
    stage.lead((1, 2), leader_epoch=6, partition_epoch=10)
    stage.rules.time_ms = 5500
    stage.append()
    stage.fetched(2, 1)
    stage.rules.time_ms = 6400
    stage.partition.shrink_isr()
    assert stage.rules.asked == [(1,)], "it was level never since, and is given up a lag after the beginning"
