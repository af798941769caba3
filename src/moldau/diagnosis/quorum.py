"""Whether the controllers can decide, who is missing or behind, and what would mend it.

While there is a leader it tells everything. Without one, every voter that can be found is knocked at: their addresses
are in the settings of the brokers, which answer for themselves also when nobody leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moldau.diagnosis.findings import Finding, some
from moldau.errors import MoldauError
from moldau.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moldau.client.admin.quorum import QuorumDescription, QuorumReplica
    from moldau.client.cluster import Cluster
    from moldau.client.security import Security

_KNOCK_SECONDS = 3.0
# Voters ask the leader at least this often; one that is silent for longer is not there (controller.quorum.fetch.timeout
# .ms is 2 s, after which a voter stands for election).
_SILENT_MS = 5_000


class Voter(NamedTuple):
    """A voter that was knocked at: what it said, or why it said nothing."""

    id: int | None
    address: str
    silence: str | None

    def __str__(self) -> str:
        return self.address if self.id is None else f"{self.id} ({self.address})"


# ---------------------------------------------------------------------------------------------- while there is a leader


def diagnose_quorum(quorum: QuorumDescription, now: int) -> list[Finding]:
    majority = len(quorum.voters) // 2 + 1
    silent = [each for each in quorum.voters if each.id != quorum.leader_id and is_silent(each, now)]
    present = len(quorum.voters) - len(silent)
    findings = [_standing(quorum, present, majority)]
    for each in sorted(silent):
        when = (
            "has not been heard of since this leader leads"
            if each.last_fetch_timestamp < 0
            else f"was last heard of {(now - each.last_fetch_timestamp) / 1000:.0f} s ago"
        )
        findings.append(
            Finding(
                f"Voter {each.id}{_at(quorum, each)} {when}.",
                "Start it; if it is gone for good, `moldau quorum remove` takes its vote, where voters can change.",
            )
        )
    for each in sorted(quorum.voters):
        lag = quorum.lag(each)
        if each not in silent and lag and each.last_caught_up_timestamp < now - _SILENT_MS:
            findings.append(Finding(f"Voter {each.id} is {counted(lag, 'record')} behind the leader, and catching up."))
    lost = [each.id for each in sorted(quorum.observers) if is_silent(each, now)]
    if lost:
        findings.append(
            Finding(
                f"{'Broker' if len(lost) == 1 else 'Brokers'} {some([str(each) for each in lost])} "
                "stopped following the metadata: what they know of topics and leaders grows old.",
                "`moldau brokers list` tells whether they are fenced; look at their logs.",
            )
        )
    if len(quorum.voters) % 2 == 0:
        findings.append(
            Finding(
                f"{len(quorum.voters)} voters survive no more losses than {len(quorum.voters) - 1} would.",
                "Three or five are better than two or four.",
            )
        )
    return findings


def _standing(quorum: QuorumDescription, present: int, majority: int) -> Finding:
    spare = present - majority
    voters = counted(len(quorum.voters), "voter")
    if len(quorum.voters) == 1:
        return Finding("There is one voter: while it is down, nothing in the cluster can change.")
    if spare < 0:
        # Told by a leader that has not noticed yet, and is about to step down.
        return Finding(
            f"{present} of {voters} are there, and {majority} are needed: until more are, nothing in the cluster can "
            "change.",
            "Start those that are missing.",
        )
    if spare == 0:
        return Finding(
            f"{present} of {voters} are there, and {majority} are needed: one more loss, and nothing in the cluster "
            "can change."
        )
    losses = "one loss" if spare == 1 else f"{spare} losses"
    return Finding(f"{present} of {voters} are there, and {majority} are needed: {losses} can be survived.")


def is_silent(each: QuorumReplica, now: int) -> bool:
    return each.last_fetch_timestamp < now - _SILENT_MS


def _at(quorum: QuorumDescription, each: QuorumReplica) -> str:
    places = [f"{where.host}:{where.port}" for where in quorum.endpoints.get(each.id, ())]
    return f" ({places[0]})" if places else ""


# ------------------------------------------------------------------------------------------------- while there is none


def diagnose_silence(voters: Sequence[Voter], reason: str) -> list[Finding]:
    there = [each for each in voters if each.silence is None]
    away = [each for each in voters if each.silence is not None]
    majority = len(voters) // 2 + 1
    findings = [Finding(f"No leader answered: {reason.rstrip('.')}.")]
    findings += [Finding(f"Voter {each} does not answer: {(each.silence or '').rstrip('.')}.") for each in away]
    if there:
        findings.append(Finding(f"{some([f'Voter {each}' for each in there])} answers."))
    if len(there) < majority:
        findings.append(
            Finding(
                f"{len(there)} of {counted(len(voters), 'voter')} answer, and {majority} are needed to elect a leader: "
                "until then no topic, leader or setting can change. Leaders of partitions go on serving meanwhile.",
                f"Start {majority - len(there)} of the others: {some([str(each) for each in away])}.",
            )
        )
    else:
        findings.append(
            Finding(
                f"{len(there)} of {counted(len(voters), 'voter')} answer, which is enough: an election is under way, "
                "or they do not reach each other.",
                "If it lasts for more than some seconds: is the address of each voter in controller.quorum.voters the "
                "same on all nodes, and reachable from all of them? Their logs tell whom they ask for votes.",
            )
        )
    return findings


def configured_voters(cluster: Cluster) -> str | None:
    """Where the voters are, from the settings of the first broker that answers; it does so without a controller."""
    from moldau.client.admin import ConfigResource, ResourceType, describe_configs, list_topics

    try:
        cluster.run(list_topics(), timeout=_KNOCK_SECONDS)
    except MoldauError:
        return None
    for broker in sorted(cluster.view.brokers):
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        names = ["controller.quorum.voters", "controller.quorum.bootstrap.servers"]
        try:
            values = cluster.run(describe_configs(resource, names), timeout=_KNOCK_SECONDS)
        except MoldauError:
            continue  # the next one says the same
        for value in sorted(values, key=lambda each: names.index(each.name)):
            if value.value:
                return value.value
    return None


def knock(voters: str, security: Security) -> list[Voter]:
    from moldau.client.cluster import Cluster

    found = []
    for word in filter(None, (part.strip() for part in voters.split(","))):
        number, at, address = word.rpartition("@")
        silence = None
        with Cluster(address, timeout=_KNOCK_SECONDS, connect_timeout=_KNOCK_SECONDS, security=security) as voter:
            try:
                voter.versions()
            except MoldauError as error:
                silence = str(error)
        found.append(Voter(int(number) if at and number.isdigit() else None, address, silence))
    return found
