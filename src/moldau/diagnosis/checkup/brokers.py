"""Brokers: whether they are where the cluster says, speak the same, have the same time, and room enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from moldau.diagnosis.checkup.found import Found, note, problem, warning
from moldau.diagnosis.checkup.limits import check_descriptors, check_room
from moldau.diagnosis.checkup.replicas import clock_of_leader
from moldau.diagnosis.exporter import is_loopback

if TYPE_CHECKING:
    from moldau.diagnosis.checkup.sight import BrokerSeen, Sight

# What two clocks that are kept by NTP never differ by; and what breaks tokens, tickets and retention.
_ODD_SECONDS: Final = 1.0
_WRONG_SECONDS: Final = 30.0


def check_brokers(sight: Sight) -> Iterator[Found]:
    yield from _addresses(sight)
    yield from _versions(sight)
    yield from _clocks(sight)
    for each in sight.brokers:
        if each.metrics is not None:
            used, most = each.metrics.value("process_open_fds"), each.metrics.value("process_max_fds")
            if used is not None and most is not None:
                yield from check_descriptors(str(each), int(used), int(most))
        yield from _disks(sight, each)


# ---------------------------------------------------------------------------------------------------- where they are


def _addresses(sight: Sight) -> Iterator[Found]:
    shared = Counter(each.address for each in sight.brokers)
    from_afar = not any(is_loopback(where.host) for where in sight.bootstrap)
    for each in sight.brokers:
        if each.broker.fenced:
            yield problem(
                "fenced-broker",
                f"{each} sends no heartbeats to the controller (it is fenced).",
                "It leads nothing and is in sync with nothing.",
                f"Start it, or look at its log if it runs; if it is gone for good, `moldau brokers drain "
                f"{each.broker.id}` and `moldau brokers unregister {each.broker.id}`.",
            )
        elif each.stranger is not None or shared[each.address] > 1:
            what = each.stranger or "another broker has the same address"
            yield problem(
                "wrong-address",
                f"{each} is not the broker that is found at this address: {what}.",
                "Clients that want what it leads come to somebody else, again and again.",
                f"Correct advertised.listeners of broker {each.broker.id} and restart it.",
            )
        elif from_afar and is_loopback(each.broker.host):
            yield problem(
                "wrong-address",
                f"{each} tells clients to come to a loopback address, though it was asked from elsewhere.",
                "Clients on other machines look for it on themselves.",
                f"Set advertised.listeners of broker {each.broker.id} to an address that clients can reach, and "
                "restart it.",
            )
        elif each.silence is not None:
            yield problem(
                "unreachable-listener",
                f"{each} sends heartbeats but does not answer at the address clients are given: "
                f"{each.silence.rstrip('.')}.",
                "Nobody can write to what it leads, or read from it.",
                f"Is its process halted, a firewall between here and it, or advertised.listeners of broker "
                f"{each.broker.id} wrong? It must name a host and port that lead to its listener.",
            )


# ------------------------------------------------------------------------------------------------------ what they are


def _versions(sight: Sight) -> Iterator[Found]:
    told = {each.broker.id: _version(each) for each in sight.brokers if _version(each) is not None}
    if len(set(told.values())) > 1:
        listed = ", ".join(f"broker {broker} has {version}" for broker, version in sorted(told.items()))
        yield _mixed(f"The brokers do not have the same version: {listed}.")
        return
    kinds: dict[object, list[int]] = {}
    for each in sight.brokers:
        if each.software is not None and each.stranger is None:
            kind = (frozenset(each.software.apis.items()), frozenset(each.software.features.items()))
            kinds.setdefault(kind, []).append(each.broker.id)
    if len(kinds) > 1:
        groups = "; ".join(", ".join(map(str, brokers)) for brokers in kinds.values())
        yield _mixed(f"The brokers do not offer the same APIs, so they are of different versions: {groups}.")
        return
    yield from _levels(sight)


def _version(each: BrokerSeen) -> str | None:
    return None if each.metrics is None else each.metrics.label("moldau_build_info", "version")


def _mixed(fact: str) -> Found:
    return warning(
        "mixed-versions",
        fact,
        "That is as it should be in the middle of an upgrade, and nowhere else: what clients can use differs from "
        "broker to broker, and the level of the cluster cannot be raised.",
        "Finish the upgrade: stop, replace and start the older ones, one after the other.",
    )


def _levels(sight: Sight) -> Iterator[Found]:
    software = next((each.software for each in sight.brokers if each.software is not None), None)
    if software is None:
        return
    level, supported = software.finalized.get("metadata.version"), software.features.get("metadata.version")
    if level is not None and supported is not None and level < supported[1]:
        yield note(
            "metadata-level",
            f"The cluster keeps its metadata at level {level}, and all of its brokers support {supported[1]}.",
            "What came with the newer levels is not used.",
            "Once nobody wants to go back to the older version, raise metadata.version (Kafka's `kafka-features.sh "
            "upgrade`).",
        )


# ------------------------------------------------------------------------------------------------------------- clocks


def _clocks(sight: Sight) -> Iterator[Found]:
    """By broker, how far each clock is ahead of ours; none where the time was told too slowly to say."""
    ahead: dict[int, float] = {}
    leader = clock_of_leader(sight)
    if leader is not None:
        ahead[leader[0]] = _beyond(leader[1], leader[2])
    for each in sight.brokers:
        told = None if each.metrics is None else each.metrics.value("moldau_time_seconds")
        if told is not None and each.metrics is not None:
            before, after = each.metrics.asked_at, each.metrics.told_at
            ahead[each.broker.id] = _beyond(told - (before + after) / 2, (after - before) / 2)
    off = {broker: seconds for broker, seconds in ahead.items() if abs(seconds) >= _ODD_SECONDS}
    # Everybody else agrees: then it is ours.
    ours = len(off) > 1 and len(off) == len(ahead) and max(off.values()) - min(off.values()) < _ODD_SECONDS
    for broker, seconds in off.items():
        found = problem if abs(seconds) >= _WRONG_SECONDS else warning
        yield found(
            "clock-skew",
            f"The clock of broker {broker} is {abs(seconds):,.1f} s {'ahead of' if seconds > 0 else 'behind'} the one "
            "of this machine" + (", as are those of all others." if ours else "."),
            "Records are deleted too early or too late, offsets are not found by time, and tokens and tickets of "
            "Kerberos are refused.",
            "Set the clock of this machine by NTP (chrony or systemd-timesyncd)."
            if ours
            else f"Set the clocks by NTP (chrony or systemd-timesyncd), first of all that of broker {broker}.",
        )


def _beyond(seconds: float, doubt: float) -> float:
    """What of a difference is certain."""
    certain = max(0.0, abs(seconds) - doubt)
    return certain if seconds > 0 else -certain


# -------------------------------------------------------------------------------------------------------------- disks


def _disks(sight: Sight, each: BrokerSeen) -> Iterator[Found]:
    for directory in sight.directories.get(each.broker.id, ()):
        if directory.error is not None:
            yield problem(
                "failed-directory",
                f"Log directory {directory.path} of broker {each.broker.id} has failed: {directory.error}.",
                "All replicas in it are gone until it is back.",
                "Mend or replace the disk and restart the broker: it copies everything anew.",
            )
        elif directory.total_bytes > 0 and directory.usable_bytes >= 0:
            where = f"{directory.path} of broker {each.broker.id}"
            yield from check_room(where, directory.usable_bytes, directory.total_bytes)
