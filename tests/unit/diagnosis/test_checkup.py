"""What the doctor says of things that no test can really bring about on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moldau.client.admin.brokers import BrokerDescription, ClusterDescription, LogDirectory
from moldau.client.admin.features import Software
from moldau.client.admin.quorum import QuorumDescription, QuorumReplica
from moldau.client.metadata import PartitionView, TopicView
from moldau.diagnosis.checkup.brokers import check_brokers
from moldau.diagnosis.checkup.found import Found, Severity
from moldau.diagnosis.checkup.limits import check_room
from moldau.diagnosis.checkup.machine import Machine, check_machine, file_system
from moldau.diagnosis.checkup.replicas import check_quorum, check_replicas
from moldau.diagnosis.checkup.settings import check_settings
from moldau.diagnosis.checkup.sight import BrokerSeen, Sight
from moldau.diagnosis.checkup.transactions import OpenTransactions
from moldau.diagnosis.exporter import Metrics, Sample, metrics_address
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address

NOW = 1_000.0


def seen(id: int, host: str = "b", **known: Any) -> BrokerSeen:
    return BrokerSeen(BrokerDescription(id, f"{host}{id}" if host == "b" else host, 9092), **known)


def sight(*brokers: BrokerSeen, **known: Any) -> Sight:
    return Sight(
        **{
            "bootstrap": [Address("far", 9092)],
            "cluster": ClusterDescription("c", 1, tuple(each.broker for each in brokers)),
            "brokers": brokers,
            "topics": [],
            "directories": {},
            "quorum": None,
            "quorum_asked": (NOW, NOW),
            "min_insync": {},
            "groups": [],
            "transactions": OpenTransactions(),
            "unknown": {"quorum": "The broker does not offer DescribeQuorum."},
            **known,
        }
    )


def told(**values: float) -> Metrics:
    return Metrics({name: [Sample({}, value)] for name, value in values.items()}, NOW - 0.1, NOW + 0.1)


def checks(findings: Sequence[Found]) -> list[tuple[str, str]]:
    return [(each.severity.text, each.check) for each in findings]


def quorum(now: float, *voters: tuple[int, float]) -> QuorumDescription:
    rows = [QuorumReplica(id, 9, round((now - ago) * 1000), round((now - ago) * 1000)) for id, ago in voters]
    return QuorumDescription(voters[0][0], 1, 9, tuple(rows), ())


def test_a_loopback_address_matters_to_who_comes_from_elsewhere() -> None:
    here = seen(1, "127.0.0.1")
    assert checks(list(check_brokers(sight(here)))) == [("problem", "wrong-address")]
    assert checks(list(check_brokers(sight(here, bootstrap=[Address("localhost", 9092)])))) == []


def test_two_brokers_at_one_address() -> None:
    assert checks(list(check_brokers(sight(seen(1, "same"), seen(2, "same"))))) == [("problem", "wrong-address")] * 2


def test_clocks() -> None:
    def skew(*brokers: BrokerSeen, **known: Any) -> list[Found]:
        return list(check_brokers(sight(*brokers, **known)))

    right, ahead = told(moldau_time_seconds=NOW), told(moldau_time_seconds=NOW + 5)
    assert skew(seen(1, metrics=right), seen(2, metrics=right)) == []
    (one,) = skew(seen(1, metrics=right), seen(2, metrics=ahead))
    assert (one.severity, one.check) == (Severity.WARNING, "clock-skew")
    assert "first of all that of broker 2" in one.advice
    both = skew(seen(1, metrics=ahead), seen(2, metrics=ahead))
    assert {each.advice for each in both} == {"Set the clock of this machine by NTP (chrony or systemd-timesyncd)."}
    # What an answer takes is no skew: nobody knows when within it the time was told.
    assert skew(seen(1), quorum=quorum(NOW + 2, (1, 0)), quorum_asked=(NOW - 3, NOW + 3)) == []
    (far,) = skew(seen(1), quorum=quorum(NOW - 100, (1, 0)))
    assert (far.severity, far.check) == (Severity.PROBLEM, "clock-skew")
    assert "100.0 s behind" in far.fact


def test_voters() -> None:
    assert checks(list(check_quorum(sight(seen(1), quorum=quorum(NOW, (1, 0), (2, 1), (3, 1)))))) == []
    found = checks(list(check_quorum(sight(seen(1), quorum=quorum(NOW, (1, 0), (2, 60))))))
    assert found == [("problem", "silent-voter"), ("note", "even-voters")]
    # However wrong our own clock is.
    assert checks(list(check_quorum(sight(seen(1), quorum=quorum(NOW - 9000, (1, 0), (2, 1), (3, 1)))))) == []
    assert checks(list(check_quorum(sight(seen(1), seen(2), quorum=quorum(NOW, (1, 0)))))) == [
        ("warning", "single-voter")
    ]
    assert checks(list(check_quorum(sight(seen(1), unknown={"quorum": "nobody"})))) == [("problem", "no-controller")]
    assert checks(list(check_quorum(sight(seen(1))))) == []


def test_partitions() -> None:
    def topic(leader: int, isr: tuple[int, ...]) -> TopicView:
        return TopicView("t", partitions={0: PartitionView(0, leader, 0, (1, 2, 3), isr)})

    def found(leader: int, isr: tuple[int, ...]) -> list[tuple[str, str]]:
        return checks(list(check_replicas(sight(seen(1), topics=[topic(leader, isr)], min_insync={"t": 2}))))

    assert found(1, (1, 2, 3)) == []
    assert found(1, (1, 2)) == [("warning", "under-replicated")]
    assert found(1, (1,)) == [("problem", "under-min-isr")]
    assert found(-1, (1,)) == [("problem", "offline-partitions")]


def test_room() -> None:
    assert [checks(list(check_room("d", free, 100))) for free in (15, 14, 5, 4)] == [
        [],
        [("warning", "full-disk")],
        [("warning", "full-disk")],
        [("problem", "full-disk")],
    ]
    failed = LogDirectory(1, "/d", KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), -1, -1, ())
    unknown = LogDirectory(1, "/e", None, -1, -1, ())
    found = checks(list(check_brokers(sight(seen(1), directories={1: [failed, unknown]}))))
    assert found == [("problem", "failed-directory")]


def test_settings() -> None:
    one, two = {"min.insync.replicas": "1"}, {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
    found = list(check_settings(sight(seen(1, settings=one), seen(2, settings=two))))
    assert checks(found) == [("warning", "settings-differ"), ("warning", "unclean-election")]
    assert "1 on broker 1, 2 on broker 2" in found[0].fact
    offsets = TopicView("__consumer_offsets", internal=True, partitions={0: PartitionView(0, 1, 0, (1,), (1,))})
    three = [seen(id, settings={"log.dirs": "/srv"}) for id in (1, 2, 3)]
    assert checks(list(check_settings(sight(*three, topics=[offsets])))) == [("warning", "single-copy")]
    assert checks(list(check_settings(sight(*three[:2], topics=[offsets])))) == []


def test_the_machine() -> None:
    assert checks(list(check_machine(Machine(100_000, 100, 50, "3.11", True)))) == []
    poor = checks(list(check_machine(Machine(1024, 100, 4, "3.11", False))))
    assert poor == [("problem", "descriptor-limit"), ("warning", "memory"), ("warning", "kernels")]


def test_the_file_system_of_a_path() -> None:
    mounts = [("/", "ext4"), ("/data", "xfs"), ("/data/fast", "tmpfs"), ("/data", "nfs4")]
    assert file_system("/data/fast/a", mounts) == "tmpfs"
    assert file_system("/data/slow", mounts) == "nfs4"
    assert file_system("/database", mounts) == "ext4"


def test_where_metrics_are_told() -> None:
    assert metrics_address("0.0.0.0:9404", "b1") == Address("b1", 9404)
    assert metrics_address("b1.local:9404", "b1") == Address("b1.local", 9404)
    # Its own loopback is not ours, unless it is here.
    assert metrics_address("127.0.0.1:9404", "b1") is None
    assert metrics_address("127.0.0.1:9404", "localhost") == Address("127.0.0.1", 9404)
    assert metrics_address("127.0.0.1:0", "localhost") is None
    assert metrics_address("", "b1") is None
    assert metrics_address(None, "b1") is None


def test_levels() -> None:
    def level(finalized: int) -> list[tuple[str, str]]:
        software = Software({1: (0, 2)}, {"metadata.version": (7, 30)}, {"metadata.version": finalized})
        return checks(list(check_brokers(sight(seen(1, software=software)))))

    assert level(30) == []
    assert level(29) == [("note", "metadata-level")]
