"""What `moldau explain quorum` says, with a leader and without one."""

from __future__ import annotations

from moldau.cli.quorum import since
from moldau.client.admin.quorum import ControllerEndpoint, QuorumDescription, QuorumReplica
from moldau.diagnosis.findings import Finding
from moldau.diagnosis.quorum import Voter, diagnose_quorum, diagnose_silence

NOW = 1_000_000


def replica(number: int, end: int = 100, heard: int = NOW, caught_up: int | None = None) -> QuorumReplica:
    return QuorumReplica(number, end, heard, heard if caught_up is None else caught_up)


def quorum(*voters: QuorumReplica, observers: tuple[QuorumReplica, ...] = ()) -> QuorumDescription:
    return QuorumDescription(1, 7, 99, voters, observers, {3: (ControllerEndpoint("C", "h", 9),)})


def said(findings: list[Finding]) -> str:
    return "\n".join(f"{finding.fact} {finding.advice or ''}" for finding in findings)


def test_what_can_be_survived() -> None:
    assert "3 of 3 voters are there, and 2 are needed: one loss can be survived." in said(
        diagnose_quorum(quorum(replica(1), replica(2), replica(3)), NOW)
    )
    five = quorum(*(replica(number) for number in range(1, 6)))
    assert "2 losses can be survived" in said(diagnose_quorum(five, NOW))
    assert "There is one voter" in said(diagnose_quorum(quorum(replica(1)), NOW))
    assert "Three or five are better" in said(diagnose_quorum(quorum(replica(1), replica(2)), NOW))


def test_who_is_missing() -> None:
    text = said(diagnose_quorum(quorum(replica(1), replica(2), replica(3, heard=NOW - 30_000)), NOW))
    assert "one more loss, and nothing in the cluster can change" in text
    assert "Voter 3 (h:9) was last heard of 30 s ago." in text
    never = said(diagnose_quorum(quorum(replica(1), replica(2), replica(3, end=-1, heard=-1)), NOW))
    assert "Voter 3 (h:9) has not been heard of since this leader leads." in never
    lost = quorum(replica(1), observers=(replica(7, heard=NOW - 60_000), replica(8)))
    assert "Broker 7 stopped following the metadata" in said(diagnose_quorum(lost, NOW))


def test_a_leader_that_is_alone() -> None:
    alone = quorum(replica(1), replica(2, heard=NOW - 30_000), replica(3, heard=NOW - 30_000))
    assert "1 of 3 voters are there, and 2 are needed: until more are, nothing" in said(diagnose_quorum(alone, NOW))


def test_who_is_behind() -> None:
    slow = replica(2, end=40, caught_up=NOW - 20_000)
    assert "Voter 2 is 60 records behind the leader" in said(diagnose_quorum(quorum(replica(1), slow, replica(3)), NOW))
    moment = replica(2, end=99, caught_up=NOW - 100)
    assert "behind" not in said(diagnose_quorum(quorum(replica(1), moment, replica(3)), NOW))


def test_nobody_leads() -> None:
    away = [Voter(1, "a:1", "refused"), Voter(2, "b:1", None), Voter(3, "c:1", "refused")]
    text = said(diagnose_silence(away, "No answer."))
    assert "Voter 1 (a:1) does not answer: refused." in text
    assert "1 of 3 voters answer, and 2 are needed to elect a leader" in text
    assert "Start 1 of the others: 1 (a:1), 3 (c:1)." in text
    apart = [Voter(1, "a:1", None), Voter(2, "b:1", None), Voter(3, "c:1", "refused")]
    assert "which is enough: an election is under way, or they do not reach each other" in said(
        diagnose_silence(apart, "No answer.")
    )


def test_lag_is_counted_from_the_leaders_end() -> None:
    found = quorum(replica(1, end=120), replica(2, end=100), replica(3, end=-1))
    assert [found.lag(each) for each in found.voters] == [0, 20, None]


def test_how_long_ago() -> None:
    assert since(-1, NOW) == "never"
    assert since(NOW - 1500, NOW) == "1.5s ago"
    assert since(0, NOW) == "1970-01-01T00:00:00.000Z"
