"""Why replicas of a topic are not in sync or a partition has no leader, and what would mend it: facts to sentences.

A pure function of what can be seen from outside: the partitions, the brokers, what their disks say, moves under way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moldau.diagnosis.findings import Finding, some
from moldau.diagnosis.sight import Sight
from moldau.quantities import counted

if TYPE_CHECKING:
    from moldau.client.admin.pages import PartitionOnPage


def diagnose_isr(sight: Sight) -> list[Finding]:
    findings = [
        finding
        for look in (_undecided, _leaderless, _silent_leaders, _below_minimum, _not_in_sync, _moves, _not_preferred)
        for finding in look(sight)
    ]
    if not findings:
        return [Finding("Every partition has a leader, and every replica is in sync.")]
    return findings


def _name(sight: Sight, each: PartitionOnPage) -> str:
    return f"{sight.topic}-{each.index}"


def _undecided(sight: Sight) -> list[Finding]:
    if sight.controller_answers:
        return []
    return [
        Finding(
            "No controller answers: leaders and replicas in sync stay what they were, whoever is still there.",
            "`moldau explain quorum` tells which controllers are missing.",
        )
    ]


def _silent_leaders(sight: Sight) -> list[Finding]:
    led: dict[int, list[str]] = {}
    for each in sight.partitions:
        if each.leader >= 0 and each.leader not in sight.disks:
            led.setdefault(each.leader, []).append(_name(sight, each))
    return [
        Finding(
            f"Broker {broker} leads {some(names)}, and does not answer us.",
            "If it does not answer the controller either, another replica leads within broker.session.timeout.ms; "
            "else the network between here and it is cut.",
        )
        for broker, names in sorted(led.items())
    ]


def _leaderless(sight: Sight) -> list[Finding]:
    findings = []
    for each in sight.partitions:
        if each.leader >= 0:
            continue
        may_lead = each.isr or each.eligible_leaders or each.last_known_eligible or ()
        others = [broker for broker in each.replicas if broker not in may_lead and _is_up(sight, broker)]
        fact = f"{_name(sight, each)} has no leader: nobody can write to it or read from it. "
        fact += (
            f"Broker {_listed(may_lead)} had everything that was acknowledged, and is away."
            if len(may_lead) == 1
            else f"Brokers {_listed(may_lead)} had everything that was acknowledged, and are away."
        )
        advice = f"Start broker {_listed(may_lead)} again: whichever comes back leads."
        if others and not sight.unclean_allowed:
            advice += (
                f" If they never will, broker {_listed(others)} is there but lacks records: "
                f"`moldau topics elect-leaders {sight.topic} --partition {each.index} --unclean` makes it lead, and "
                "what it lacks is lost."
            )
        findings.append(Finding(fact, advice))
    return findings


def _below_minimum(sight: Sight) -> list[Finding]:
    below = [each for each in sight.partitions if each.leader >= 0 and len(each.isr) < sight.min_insync]
    if not below:
        return []
    impossible = [each for each in below if len(each.replicas) < sight.min_insync]
    fact = (
        f"{some([_name(sight, each) for each in below])}: fewer replicas in sync than min.insync.replicas="
        f"{sight.min_insync}, so producers with acks=all are refused (NOT_ENOUGH_REPLICAS)."
    )
    if impossible:
        return [
            Finding(
                fact,
                f"It has only {counted(len(impossible[0].replicas), 'replica')}: `moldau topics reassign {sight.topic} "
                f"--replicas {sight.min_insync}` gives it more, or lower min.insync.replicas.",
            )
        ]
    return [Finding(fact, "They are taken again as soon as enough of the replicas named below are in sync.")]


def _not_in_sync(sight: Sight) -> list[Finding]:
    """One finding for each broker: what keeps one replica out of sync mostly keeps all of them."""
    behind: dict[int, list[PartitionOnPage]] = {}
    for each in sight.partitions:
        moving = sight.moves.get(each.index)
        for broker in each.replicas:
            # Without a leader nobody could come to be in sync, and `_leaderless` says what there is to say.
            waits = each.leader < 0 and _is_up(sight, broker)
            if broker not in each.isr and not waits and not (moving and broker in moving.adding):
                behind.setdefault(broker, []).append(each)
    return [_reason(sight, broker, partitions) for broker, partitions in sorted(behind.items())]


def _reason(sight: Sight, broker: int, partitions: Sequence[PartitionOnPage]) -> Finding:
    where = some([_name(sight, each) for each in partitions])
    known = sight.brokers.get(broker)
    if known is None:
        return Finding(
            f"Broker {broker} is not registered, and should have {where}.",
            f"Start it, or move its replicas: `moldau topics reassign {sight.topic} --brokers ...`.",
        )
    if known.fenced:
        return Finding(
            f"Broker {broker} ({known.host}:{known.port}) does not send heartbeats to the controller (it is fenced); "
            f"not in sync there: {where}.",
            "Start it, or look at its log if it runs; if it is gone for good, "
            f"`moldau brokers drain {broker}` moves its replicas to others.",
        )
    if broker not in sight.disks:
        return Finding(
            f"Broker {broker} ({known.host}:{known.port}) sends heartbeats but does not answer us; not in sync there: "
            f"{where}.",
            "The network between here and it is cut, or it is overloaded or halted.",
        )
    failed = [each for each in sight.disks[broker] if each.error is not None]
    index = {each.index for each in partitions}
    held = {
        replica.partition.partition: replica.offset_lag
        for each in sight.disks[broker]
        for replica in each.replicas
        if replica.partition.topic == sight.topic and replica.partition.partition in index and not replica.future
    }
    if failed and not held:
        return Finding(
            f"A log directory of broker {broker} has failed ({failed[0].path}: {failed[0].error}); it held {where}.",
            "Mend or replace the disk and restart the broker: it copies everything anew.",
        )
    if not held:
        return Finding(
            f"Broker {broker} has nothing of {where} on its disks yet.",
            "It begins to copy when it has heard of it; if that does not happen, its log says why.",
        )
    return _catching_up(sight, broker, partitions, held)


def _catching_up(sight: Sight, broker: int, partitions: Sequence[PartitionOnPage], held: Mapping[int, int]) -> Finding:
    where = some([_name(sight, each) for each in partitions])
    lag = sum(max(0, each) for each in held.values())
    if lag == 0:
        return Finding(
            f"Broker {broker} has all of {where} up to the high watermark, and is not in sync yet.",
            "It is about to be: its leader takes it in with one of the next fetches. If it stays so, the leader cannot "
            "reach the controller: `moldau explain quorum`.",
        )
    advice = "It comes back in sync when it has caught up; replica.lag.time.max.ms says how long it may be behind."
    if sight.throttled:
        advice = (
            "A throttle holds it back (leader. and follower.replication.throttled.replicas are set on the topic); "
            "`moldau topics reassign --verify` takes it away once no move is under way."
        )
    return Finding(f"Broker {broker} is {counted(lag, 'record')} behind in {where}.", advice)


def _moves(sight: Sight) -> list[Finding]:
    moving = [each for each in sight.partitions if each.index in sight.moves]
    if not moving:
        return []
    adding = sorted({broker for each in moving for broker in sight.moves[each.index].adding})
    held_up = [broker for broker in adding if not _is_up(sight, broker)]
    return [
        Finding(
            f"{some([_name(sight, each) for each in moving])} {'is' if len(moving) == 1 else 'are'} being moved"
            + (f" to broker {_listed(adding)}." if adding else "."),
            f"It cannot end while broker {_listed(held_up)} is away: start it, or give the move up with "
            f"`moldau topics reassign {sight.topic} --cancel --execute`."
            if held_up
            else "`moldau topics reassign --verify` tells how far that is.",
        )
    ]


def _not_preferred(sight: Sight) -> list[Finding]:
    away = [
        each
        for each in sight.partitions
        if each.leader >= 0 and each.replicas and each.leader != each.replicas[0] and each.replicas[0] in each.isr
    ]
    if not away:
        return []
    return [
        Finding(
            f"{some([_name(sight, each) for each in away])}: led by another replica than the first, which is in sync.",
            f"`moldau topics elect-leaders {sight.topic}` has it lead again; with auto.leader.rebalance.enable that "
            "happens by itself within leader.imbalance.check.interval.seconds.",
        )
    ]


def _is_up(sight: Sight, broker: int) -> bool:
    known = sight.brokers.get(broker)
    return known is not None and not known.fenced


def _listed(brokers: Sequence[int]) -> str:
    return " or ".join(map(str, brokers)) or "(none known)"
