"""What `moldau explain isr` says, from what can be seen."""

from __future__ import annotations

from dataclasses import replace

from moldau.client.admin import BrokerDescription, LogDirectory, ReplicaOnDisk
from moldau.client.admin.pages import PartitionOnPage
from moldau.client.admin.replicas import Reassignment
from moldau.diagnosis.isr import diagnose_isr
from moldau.diagnosis.sight import Sight
from moldau.errors import ErrorCode, KafkaError
from moldau.types import TopicPartition


def partition(leader: int, replicas: tuple[int, ...], isr: tuple[int, ...], index: int = 0) -> PartitionOnPage:
    return PartitionOnPage(index, leader, 1, replicas, isr, None, None, (), ErrorCode.NONE)


def disk(broker: int, lag: int | None = 0, error: KafkaError | None = None) -> list[LogDirectory]:
    replicas = () if lag is None else (ReplicaOnDisk(TopicPartition("t", 0), 100, lag, False),)
    return [LogDirectory(broker, "/data", error, -1, -1, replicas)]


BROKERS = {number: BrokerDescription(number, "host", 9090 + number) for number in (1, 2, 3)}
WELL = Sight("t", [partition(1, (1, 2, 3), (1, 2, 3))], BROKERS, {number: disk(number) for number in (1, 2, 3)})
BEHIND = replace(WELL, partitions=[partition(1, (1, 2, 3), (1, 2))])


def fenced(*numbers: int) -> dict[int, BrokerDescription]:
    return {number: replace(broker, fenced=number in numbers) for number, broker in BROKERS.items()}


def said(sight: Sight) -> str:
    return "\n".join(f"{finding.fact} {finding.advice or ''}" for finding in diagnose_isr(sight))


def test_nothing_is_wrong() -> None:
    assert said(WELL) == "Every partition has a leader, and every replica is in sync. "


def test_a_broker_that_is_away() -> None:
    assert "Broker 3 (host:9093) does not send heartbeats" in said(replace(BEHIND, brokers=fenced(3)))
    unknown = {number: broker for number, broker in BROKERS.items() if number != 3}
    assert "Broker 3 is not registered" in said(replace(BEHIND, brokers=unknown))
    silent = {number: disk(number) for number in (1, 2)}
    assert "sends heartbeats but does not answer us" in said(replace(BEHIND, disks=silent))


def test_a_replica_that_is_behind() -> None:
    slow = replace(BEHIND, disks={**BEHIND.disks, 3: disk(3, 1234)})
    assert "Broker 3 is 1,234 records behind in t-0. It comes back in sync when it has caught up" in said(slow)
    assert "A throttle holds it back" in said(replace(slow, throttled=True))
    assert "has all of t-0 up to the high watermark" in said(BEHIND)
    assert "has nothing of t-0" in said(replace(BEHIND, disks={**BEHIND.disks, 3: disk(3, None)}))


def test_a_disk_that_failed() -> None:
    broken = disk(3, None, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    assert "A log directory of broker 3 has failed (/data" in said(replace(BEHIND, disks={**BEHIND.disks, 3: broken}))


def test_fewer_in_sync_than_writers_ask_for() -> None:
    few = replace(WELL, partitions=[partition(1, (1, 2, 3), (1,))], min_insync=2)
    assert "producers with acks=all are refused" in said(few)
    assert "They are taken again as soon as enough" in said(few)
    never = replace(WELL, partitions=[partition(1, (1,), (1,))], min_insync=2)
    assert "`moldau topics reassign t --replicas 2` gives it more" in said(never)
    assert "refused" not in said(replace(few, min_insync=1))


def test_no_leader() -> None:
    lost = replace(WELL, partitions=[partition(-1, (1, 2, 3), (2,))], brokers=fenced(2))
    text = said(lost)
    assert "t-0 has no leader" in text
    assert "Start broker 2 again" in text
    assert "is about to be" not in text, "nobody takes anybody in"
    assert "broker 1 or 3 is there but lacks records: `moldau topics elect-leaders t --partition 0 --unclean`" in text
    assert "--unclean" not in said(replace(lost, brokers=fenced(1, 2, 3)))
    eligible = replace(lost.partitions[0], isr=(), eligible_leaders=(2, 3))
    assert "Start broker 2 or 3 again" in said(replace(lost, partitions=[eligible], brokers=fenced(2, 3)))


def test_a_move() -> None:
    moving = replace(
        WELL,
        partitions=[partition(1, (1, 2, 3), (1, 2))],
        moves={0: Reassignment((1, 2, 3), (3,), ())},
    )
    assert said(moving) == "t-0 is being moved to broker 3. `moldau topics reassign --verify` tells how far that is."
    assert "It cannot end while broker 3 is away" in said(replace(moving, brokers=fenced(3)))


def test_leaders_that_are_not_preferred_and_leaders_that_are_silent() -> None:
    assert "led by another replica than the first" in said(
        replace(WELL, partitions=[partition(2, (1, 2, 3), (1, 2, 3))])
    )
    assert "Broker 1 leads t-0, and does not answer us" in said(replace(WELL, disks={2: disk(2), 3: disk(3)}))
    assert "No controller answers" in said(replace(WELL, controller_answers=False))
