"""Partitions without a leader or with too few in sync, and the quorum that decides about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from moldau.diagnosis.checkup.found import Found, note, problem, warning
from moldau.diagnosis.findings import some
from moldau.diagnosis.quorum import is_silent
from moldau.quantities import counted

if TYPE_CHECKING:
    from moldau.client.metadata import PartitionView
    from moldau.diagnosis.checkup.sight import Sight


def check_replicas(sight: Sight) -> Iterator[Found]:
    offline: dict[str, list[str]] = {}
    starved: dict[str, list[str]] = {}
    behind: dict[str, list[str]] = {}
    for topic in sight.topics:
        # Where brokers do not tell it, one is Kafka's default.
        least = sight.min_insync.get(topic.name, 1)
        for index, each in topic.partitions.items():
            name = f"{topic.name}-{index}"
            if each.leader < 0:
                offline.setdefault(topic.name, []).append(name)
            elif len(each.isr) < least:
                starved.setdefault(topic.name, []).append(name)
            elif _is_behind(each):
                behind.setdefault(topic.name, []).append(name)
    if offline:
        yield problem(
            "offline-partitions",
            f"{_counted(offline)} without a leader: {_named(offline)}.",
            "Nobody can write to them or read from them.",
            f"Start the brokers that are away; `moldau explain isr {next(iter(offline))}` tells which of them has what "
            "was acknowledged.",
        )
    if starved:
        yield problem(
            "under-min-isr",
            f"{_counted(starved)} with fewer replicas in sync than min.insync.replicas: {_named(starved)}.",
            "Producers with acks=all are refused (NOT_ENOUGH_REPLICAS).",
            f"Bring their replicas back: `moldau explain isr {next(iter(starved))}` tells what keeps them away.",
        )
    if behind:
        yield warning(
            "under-replicated",
            f"{_counted(behind)} with replicas that are not in sync: {_named(behind)}.",
            "The next broker that fails may be the last one that has their records.",
            f"`moldau explain isr {next(iter(behind))}` tells what keeps them away and what would bring them back.",
        )


def _is_behind(each: PartitionView) -> bool:
    return len(each.isr) < len(each.replicas)


def _counted(partitions: dict[str, list[str]]) -> str:
    return counted(sum(map(len, partitions.values())), "partition")


def _named(partitions: dict[str, list[str]]) -> str:
    return some([name for names in partitions.values() for name in names])


def check_quorum(sight: Sight) -> Iterator[Found]:
    quorum = sight.quorum
    if quorum is None:
        reason = sight.unknown.get("quorum", "")
        if "does not offer" not in reason:
            yield problem(
                "no-controller",
                f"No controller tells of the quorum: {reason.rstrip('.')}.",
                "Without a controller that leads, no topic, leader or setting can change, and nobody takes over from a "
                "broker that fails.",
                "`moldau explain quorum` knocks at every voter and tells which are missing.",
            )
        return
    now = round(sum(sight.quorum_asked) / 2 * 1000)
    # As the leader's clock goes: ours may be wrong.
    now = next((each.last_fetch_timestamp for each in quorum.voters if each.id == quorum.leader_id), now)
    silent = [each for each in quorum.voters if each.id != quorum.leader_id and is_silent(each, now)]
    for each in silent:
        yield problem(
            "silent-voter",
            f"Voter {each.id} of the quorum has not been heard of for more than 5 s.",
            f"{len(quorum.voters) - len(silent)} of {counted(len(quorum.voters), 'voter')} are there, and "
            f"{len(quorum.voters) // 2 + 1} are needed for anything in the cluster to change.",
            "Start it; if it is gone for good, `moldau quorum remove` takes its vote, where voters can change.",
        )
    if len(quorum.voters) % 2 == 0:
        yield note(
            "even-voters",
            f"The quorum has {len(quorum.voters)} voters.",
            f"They survive no more losses than {len(quorum.voters) - 1} would.",
            "Three or five are better than two or four: `moldau quorum add` or `moldau quorum remove`.",
        )
    if len(quorum.voters) == 1 and len(sight.cluster.brokers) > 1:
        yield warning(
            "single-voter",
            "The quorum has one voter.",
            "While it is down nothing in the cluster can change; if its disk is lost, so are all topics.",
            "Let three controllers vote: `moldau quorum add`.",
        )


def clock_of_leader(sight: Sight) -> tuple[int, float, float] | None:
    """Who leads the quorum, how far its clock is ahead of ours in seconds, and how exactly that is known."""
    quorum = sight.quorum
    if quorum is None:
        return None
    told = next((each.last_fetch_timestamp for each in quorum.voters if each.id == quorum.leader_id), -1)
    if told <= 0:
        return None
    before, after = sight.quorum_asked
    return quorum.leader_id, told / 1000 - (before + after) / 2, (after - before) / 2
