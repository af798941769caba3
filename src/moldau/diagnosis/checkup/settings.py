"""Settings that are allowed and unwise, and settings in which brokers differ that should agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from moldau.diagnosis.checkup.found import Found, note, warning

if TYPE_CHECKING:
    from moldau.diagnosis.checkup.sight import Sight

# A topic is made by whoever is asked: with other values, it depends on chance what it is like.
_TO_AGREE: Final = (
    *("min.insync.replicas", "default.replication.factor", "num.partitions", "message.max.bytes"),
    *("unclean.leader.election.enable", "auto.create.topics.enable"),
    *("offsets.topic.replication.factor", "transaction.state.log.replication.factor"),
)
_COPIED: Final = {
    "offsets.topic.replication.factor": ("__consumer_offsets", "committed offsets"),
    "transaction.state.log.replication.factor": ("__transaction_state", "transactions"),
}


def check_settings(sight: Sight) -> Iterator[Found]:
    known = {each.broker.id: each.settings for each in sight.brokers if each.settings}
    if not known:
        return
    for name in _TO_AGREE:
        values = {broker: settings[name] for broker, settings in known.items() if name in settings}
        if len(set(values.values())) > 1:
            listed = ", ".join(f"{value} on broker {broker}" for broker, value in sorted(values.items()))
            yield warning(
                "settings-differ",
                f"Brokers differ in {name}: {listed}.",
                "What holds depends on which of them a request comes to.",
                f"Set it for all of them: `moldau configs set --all-brokers {name}=...`, or in each server.properties.",
            )
    unclean = [broker for broker, each in known.items() if each.get("unclean.leader.election.enable") == "true"]
    if unclean:
        yield warning(
            "unclean-election",
            f"unclean.leader.election.enable is true on broker {', '.join(map(str, unclean))}.",
            "A replica that lacks acknowledged records may lead: they are lost without anybody being asked.",
            "Set it to false; `moldau topics elect-leaders --unclean` does the same once, by hand, where it must be.",
        )
    yield from _single_copies(sight)
    yield from _temporary(sight)


def _single_copies(sight: Sight) -> Iterator[Found]:
    """Only what has a broker to be copied to."""
    if len(sight.cluster.brokers) < 3:
        return
    internal = {topic.name: topic for topic in sight.topics if topic.internal}
    for setting, (name, what) in _COPIED.items():
        if name in internal and internal[name].replication_factor == 1:
            yield warning(
                "single-copy",
                f"{name} has one replica of each partition, with {len(sight.cluster.brokers)} brokers there.",
                f"While one broker is down, {what} of a part of all clients cannot be read or written; if its disk is "
                "lost, so are they.",
                f"`moldau topics reassign {name} --replicas 3 --execute`, and {setting}=3.",
            )
    single = [topic.name for topic in sight.topics if not topic.internal and topic.replication_factor == 1]
    if single:
        from moldau.diagnosis.findings import some

        yield note(
            "single-copy",
            f"Topics with one replica of each partition: {some(single)}.",
            "While the broker is down that has one, it can be neither read nor written; if its disk is lost, so is it.",
            f"`moldau topics reassign {single[0]} --replicas 3 --execute`, where that is not meant to be so.",
        )


def _temporary(sight: Sight) -> Iterator[Found]:
    for each in sight.brokers:
        paths = (each.settings.get("log.dirs") or each.settings.get("log.dir") or "").split(",")
        lost = [path.strip() for path in paths if path.strip().startswith(("/tmp/", "/var/tmp/", "/dev/shm/"))]
        if lost:
            yield note(
                "temporary-directory",
                f"Broker {each.broker.id} keeps its logs in {', '.join(lost)}.",
                "Such directories are emptied at a restart of the machine, or by whoever tidies up.",
                "Name a directory that stays in log.dirs, unless this is a trial.",
            )
