"""Errors that cost others data, to be switched on: the simulation must find each of them.

Every mutation is a context in which the product is wrong in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from moldau.controller import lifecycle
from moldau.controller.partitions import PartitionControl
from moldau.coordinator.write_path import ShardWriter
from moldau.deferred import Deferred, ready
from moldau.raft import membership
from moldau.raft.metadata_log import MetadataLog
from moldau.replica.isr import IsrChanges
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.server.broker_lifecycle import BrokerLifecycle
from moldau.server.coordinator_leadership import CoordinatorLeadership
from moldau.storage import local_log
from moldau.storage.producer_state import ProducerState


@contextmanager
def _replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def cuts_to_its_high_watermark() -> Any:
    """A new follower trusts its high watermark instead of epochs."""

    def make(original: Any) -> Any:
        def become_follower(self: Partition, state: Any) -> bool:
            changed: bool = original(self, state)
            if changed:
                self.log.local.truncate_to(self.log.high_watermark)
            return changed

        return become_follower

    return _replaced(Partition, "become_follower", make)


@contextmanager
def counts_a_fetch_of_an_earlier_life() -> Iterator[None]:
    """What a follower fetched before it was restarted lets it be in sync."""
    with ExitStack() as stack:
        stack.enter_context(_replaced(IsrChanges, "is_stale", lambda _: lambda self, broker, epoch: False))
        stack.enter_context(_replaced(IsrChanges, "may_join", lambda _: lambda self, broker, epoch: True))
        stack.enter_context(_replaced(PartitionControl, "_may_join", lambda _: lambda self, replica, current: True))
        yield


def acknowledges_below_the_minimum() -> Any:
    def make(original: Any) -> Any:
        def config_changed(self: Partition) -> None:
            original(self)
            self._min_isr = 1

        return config_changed

    return _replaced(Partition, "config_changed", make)


def acknowledges_alone() -> Any:
    """A leader, perhaps of the past, takes what it wrote for committed."""

    def make(_: Any) -> Any:
        def advance_high_watermark(self: Partition) -> bool:
            before = self.log.local.high_watermark
            if self.is_leader:
                self.log.local.advance_high_watermark(self.log.local.log_end_offset)
            return self.log.local.high_watermark > before

        return advance_high_watermark

    return _replaced(Partition, "advance_high_watermark", make)


def keeps_producers_of_what_was_cut() -> Any:
    """The log ends earlier after a cut, its producers do not."""
    return _replaced(local_log, "rebuild_producers", lambda _: lambda *arguments: None)


@contextmanager
def coordinates_what_it_does_not_lead() -> Iterator[None]:
    """A coordinator neither gives up the partitions it lost nor looks whether it still leads them."""

    def make(original: Any) -> Any:
        def on_image(self: CoordinatorLeadership, delta: Any, image: Any) -> None:
            with ExitStack() as stack:
                for coordinator in self._coordinators.values():
                    stack.enter_context(_replaced(coordinator, "unload", lambda _: lambda partition, epoch: None))
                original(self, delta, image)

        return on_image

    with ExitStack() as stack:
        stack.enter_context(_replaced(CoordinatorLeadership, "on_image", make))
        stack.enter_context(_replaced(ShardWriter, "leads", lambda _: property(lambda self: True)))
        yield


def takes_markers_of_an_old_coordinator() -> Any:
    return _replaced(ProducerState, "_check_coordinator", lambda _: lambda self, entry, marker: None)


def elects_whoever_lost_records() -> Any:
    """A broker that was not closed in order stays in sync."""

    def make(_: Any) -> Any:
        def leave(state: Any, broker_id: int, *, complete: bool) -> Any:
            return []
            yield

        return leave

    return _replaced(lifecycle, "_leave", make)


def leads_by_what_its_last_life_led() -> Any:
    """A broker acts upon the metadata it finds before that has its new life."""

    def make(original: Any) -> Any:
        def register(self: BrokerLifecycle, *arguments: Any, **named: Any) -> Deferred[None]:
            original(self, *arguments, **named)
            return ready(None)

        return register

    return _replaced(BrokerLifecycle, "register", make)


def takes_the_log_of_a_deleted_topic() -> Any:
    """The log that lies in the place of a topic is taken for its own."""

    def make(original: Any) -> Any:
        def open_log(self: Any, place: Any, topic_id: Any, config: Any) -> Any:
            return self._logs.get(place) or original(self, place, topic_id, config)

        return open_log

    return _replaced(ReplicaManager, "_open", make)


def takes_a_snapshot_beside_another_log() -> Any:
    """A leader's snapshot is put beside the log instead of in its place."""

    def make(_: Any) -> Any:
        def install(self: MetadataLog, reader: Any) -> bool:
            self._download = None
            self._take(reader.id, reader.size)
            return True

        return install

    return _replaced(MetadataLog, "install", make)


def forgets_its_vote() -> Any:
    """The file says who leads and in which epoch, but not for whom this node voted."""

    def make(original: Any) -> Any:
        return lambda disk, directory, state, version: original(disk, directory, state._replace(voted_id=-1), version)

    return _replaced(membership, "write_quorum_state", make)
