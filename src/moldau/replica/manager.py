"""All partitions this broker holds, and the operations that span several of them.

The metadata log decides what is held here (`on_image`); requests find a partition by name or id with one or two
dictionary look-ups. The purgatories hold what waits: produces for replication, fetches for data, deletes for the
followers' log starts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from moldau.config.topic import LogConfig, stored_topic_config
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage, ResourceType
from moldau.metadata.topic_name import is_internal
from moldau.metadata.topics_delta import LocalPartition
from moldau.replica.arrivals import Arrivals
from moldau.replica.departures import Departures
from moldau.replica.group_commit import GroupCommit
from moldau.replica.hosted_topic import HostedTopic
from moldau.replica.partition import Partition
from moldau.replica.preparation import Preparation
from moldau.replica.purgatory import Purgatory
from moldau.replica.shortages import Shortages
from moldau.runtime.ports import Clock, Loop, Workers
from moldau.slicing import Slicer, Work
from moldau.storage.log import Log
from moldau.storage.log_manager import LogManager
from moldau.storage.storage_error import FULL, StorageError
from moldau.types import TopicPartition, Uuid

if TYPE_CHECKING:
    from moldau.replica.replication import Replication

logger = logging.getLogger("moldau.replica")


class ReplicaManager:
    def __init__(
        self,
        broker_id: int,
        logs: LogManager,
        defaults: LogConfig,
        clock: Clock,
        loop: Loop,
        must_stop: Callable[[MoldauError], None],
        workers: Workers | None = None,
        metadata_directory: str | None = None,
        slicer: Slicer | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._must_stop = must_stop
        self._metadata_directory = metadata_directory
        self.shortages = Shortages(self.storage_failed)
        self.arrivals = Arrivals(broker_id, self.find, self._take_on, clock, loop)
        # Partitions that could not be opened: no room on their disk, or an earlier log of their name in the way.
        self._refused: dict[TopicPartition, Uuid] = {}
        # Partitions whose log is in a directory that is offline: an empty one in another would hide its records.
        self.away: dict[TopicPartition, Uuid] = {}
        self._metadata_complete = False
        self._logs = logs
        logs.failed = self.storage_failed
        # Told when a directory has gone offline: the controller should know at once.
        self.directory_lost: Callable[[], None] = lambda: None
        logs.retirement.freed = self.open_refused
        self._defaults = defaults
        self._clock = clock
        self.load = loop.load
        # For operations on very many partitions; shared with all that is long on this node.
        self.slicer = Slicer(loop, clock) if slicer is None else slicer
        self.departures = Departures(self.slicer, self._leave, must_stop)
        # Public for the hot path: requests name topics by name up to some version, by id after it.
        self.by_name: dict[str, HostedTopic] = {}
        self.by_id: dict[Uuid, HostedTopic] = {}
        self.image = EMPTY_IMAGE
        self.produces: Purgatory[Partition] = Purgatory("produce", clock, loop)
        self.fetches: Purgatory[Partition] = Purgatory("fetch", clock, loop)
        self.deletes: Purgatory[Partition] = Purgatory("delete", clock, loop)
        self._commits = GroupCommit(loop, workers, self._forced, logs.forcing) if workers is not None else None
        # Set before the first image, by a node that is not alone.
        self.replication: Replication | None = None
        # Without workers every batch is judged at once, whatever it takes.
        self.preparation = Preparation(workers, clock) if workers is not None else None
        self._watchers: dict[TopicPartition, list[Callable[[int], None]]] = {}

    # ---------------------------------------------------------------------------------------------- finding

    def find(self, topic: str | Uuid, index: int) -> Partition | None:
        """The partition if it is held here."""
        hosted = self.by_name.get(topic) if isinstance(topic, str) else self.by_id.get(topic)
        return hosted.partitions.get(index) if hosted is not None else None

    def get(self, topic: str, index: int) -> Partition:
        """The partition if it is held here; otherwise KafkaError says whether it is elsewhere, broken or nowhere."""
        partition = self.find(topic, index)
        return partition if partition is not None else self.find_missing(topic, index)

    def find_or_open(self, topic: str | Uuid, index: int) -> Partition | None:
        """The partition if it is held here, opened now if its turn was still to come."""
        partition = self.find(topic, index)
        if partition is not None or not self.arrivals:
            return partition
        known = self.image.topics.get(topic) if isinstance(topic, str) else self.image.topics.by_id(topic)
        return self.arrivals.open_now(known, index) if known is not None else None

    def find_missing(self, topic: str | Uuid, index: int) -> Partition:
        """A partition that is not open: opened now if its turn was still to come, else KafkaError says why not."""
        partition = self.find_or_open(topic, index)
        if partition is None:
            raise KafkaError(self.why_missing(topic, index))
        return partition

    def why_missing(self, topic: str | Uuid, index: int) -> ErrorCode:
        """The code for a partition that is not held here: its replicas are elsewhere, or it does not exist."""
        known = self.image.topics.get(topic) if isinstance(topic, str) else self.image.topics.by_id(topic)
        if known is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if isinstance(topic, str) else ErrorCode.UNKNOWN_TOPIC_ID
        registration = known.partitions.get(index)
        if registration is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self._broker_id in registration.replicas:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def partitions(self) -> Iterable[Partition]:
        for topic in self.by_name.values():
            yield from topic.partitions.values()

    # ------------------------------------------------------------------------------------- what metadata says

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Brings the partitions held here in line with the metadata: what is dropped first, what is new last."""
        self.image = image
        for gone in delta.topics.deleted.values():
            hosted = self.by_id.get(gone.id)
            if hosted is not None:
                self._forget(hosted)
            self.departures.add(gone, {} if hosted is None else hosted.partitions)
        self.departures.begin()
        new = [topic.id for topic in delta.topics.changed.values() if topic.is_new and topic.id not in self.by_id]
        for topic_id in new:
            self.arrivals.add_topic(topic_id)
        changes = delta.topics.local_changes(self._broker_id, apart_from=frozenset(new))
        for place, topic_id, _ in changes.drops:
            hosted = self.by_id.get(topic_id)
            partition = None if hosted is None else hosted.partitions.pop(place.partition, None)
            if hosted is not None and not hosted.partitions:
                self._forget(hosted)
            self._leave(place, topic_id, partition)
        for change in delta.config_changes():
            if change.resource.type == ResourceType.TOPIC:
                self.config_changed(change.resource.name)
        for local in (*changes.leads, *changes.follows):
            hosted = self.by_id.get(local.topic_id)
            is_open = hosted is not None and local.topic_partition.partition in hosted.partitions
            # Before there are clients all of them may change at once, and nobody but a coordinator wants them soon.
            if hosted is not None and is_open and (self._metadata_complete or hosted.internal):
                self._take_on(local)
            else:
                self.arrivals.add(local)
        self.arrivals.open_first(image, delta.topics.changed)

    def _take_on(self, local: LocalPartition) -> Partition | None:
        partition = self._hold(local)
        if partition is None:
            return None
        replication = self.replication
        if local.state.leader == self._broker_id:
            # First: nothing of what is still on its way may be appended to what this broker writes itself.
            if replication is not None:
                replication.fetchers.forget(partition)
            changed = partition.become_leader(local.state, int(self._clock.monotonic() * 1000))
        else:
            changed = partition.become_follower(local.state)
            if replication is not None:
                partition.make_durable()
                replication.fetchers.follow(partition)
        if replication is not None:
            replication.directories.check(partition)
        # A new in-sync set may end the wait of a producer, too.
        if changed or replication is not None:
            self.moved(partition)
        return partition

    def open_refused(self) -> None:
        """Tries again to open the partitions that could not be, a few in each turn."""
        for place, topic_id in tuple(self._refused.items()):
            topic = self.image.topics.by_id(topic_id)
            state = topic.partitions.get(place.partition) if topic is not None else None
            if state is not None and self._broker_id in state.replicas:
                # Until it is open it counts as refused: deleted meanwhile, what there is of its log has to go.
                self.arrivals.add(LocalPartition(place, topic_id, state))
            else:
                del self._refused[place]
        self.arrivals.open_more()

    def config_changed(self, topic: str) -> None:
        hosted = self.by_name.get(topic)
        if hosted is not None:
            config = self.config_in(self.image, topic)
            for partition in hosted.partitions.values():
                partition.log.local.update_config(config)
                partition.config_changed()
                if partition.is_leader:
                    partition.advance_high_watermark()
                    self.moved(partition)
                else:
                    partition.make_durable()

    def defaults_changed(self, defaults: LogConfig) -> None:
        """Broker-wide defaults moved: every topic resolves its settings anew, soon."""
        self._defaults = defaults
        self.slicer.run(self._resolve_settings())

    def _resolve_settings(self) -> Work[None]:
        for topic in tuple(self.by_name):
            self.config_changed(topic)
            yield

    def _hold(self, local: LocalPartition) -> Partition | None:
        """The partition, opened if need be; None if its disk refuses."""
        place, topic_id, _ = local
        if self.image.topics.by_id(topic_id) is None:
            return None  # deleted before its turn came
        hosted = self.by_id.get(topic_id)
        if hosted is None:
            hosted = HostedTopic(place.topic, topic_id, is_internal(place.topic))
            self.by_id[topic_id] = self.by_name[place.topic] = hosted
        partition = hosted.partitions.get(place.partition)
        if partition is None:
            self.departures.hasten(place)
            # Whoever waited for the one that left may have asked for this one.
            partition = hosted.partitions.get(place.partition)
        if partition is None:
            config = self.config_in(self.image, place.topic)
            self._refused.pop(place, None)
            try:
                log = self._open(place, topic_id, config)
            except StorageError:
                self._refused[place] = topic_id
                return None
            if log is None:
                return None
            # A log found at the start was opened before its topic's settings were known.
            log.local.update_config(config)
            commit = self._commits.request if self._commits is not None else None
            rules = self.replication.isr if self.replication is not None else None
            partition = Partition(place, topic_id, log, self._broker_id, commit, rules)
            partition.traffic = hosted.traffic
            hosted.partitions[place.partition] = partition
        return partition

    def _open(self, place: TopicPartition, topic_id: Uuid, config: LogConfig) -> Log | None:
        found = self._logs.get(place)
        if found is not None and found.topic_id not in (None, topic_id):
            # Left from a topic of this name that was deleted while this broker was away.
            self._logs.set_aside(place)
            found = None
        if found is None and not self._metadata_complete and self._logs.has_offline_directory:
            self.away[place] = topic_id  # it is not new, so that is where it must be
        if self.away.get(place) == topic_id:
            return None
        if self._logs.get(place) is None and not self._logs.is_free(place):
            # A topic of this name is just being deleted: when nothing is left of it, its successor is begun.
            self._refused[place] = topic_id
            return None
        return self._logs.get_or_create(place, topic_id, config)

    def settle(self) -> Work[Deferred[None] | None]:
        """What comes before the first client, once the metadata is complete: every partition is open, logs of
        partitions that the cluster does not know here are out of the way, and those of durable topics are on disk, so
        that what was acknowledged before a restart can be read from the first moment on."""
        yield from self.arrivals.open_all()
        while self.departures:
            yield
        self._metadata_complete = True
        for place in tuple(self._logs.logs):
            hosted = self.by_name.get(place.topic)
            # One that could only not be opened yet, for want of room, is no stray: an empty one would take its place.
            if place not in self._refused and (hosted is None or place.partition not in hosted.partitions):
                self._logs.set_aside(place)
            yield
        return self._commits.idle() if self._commits is not None else None

    def _forget(self, hosted: HostedTopic) -> None:
        del self.by_id[hosted.id]
        # A topic deleted and created again under its name has taken this place already.
        if self.by_name.get(hosted.name) is hosted:
            del self.by_name[hosted.name]

    def _leave(self, place: TopicPartition, topic_id: Uuid, partition: Partition | None) -> None:
        """A replica is no longer held here; the place may be another topic's already."""
        self.arrivals.forget(place, topic_id)
        if self.away.get(place) == topic_id:
            del self.away[place]
        if partition is not None:
            # The log first: whoever waits is answered, asks for the place again perhaps, and must not find it there.
            self._stop(partition)
            self._logs.delete(place)
            self._release(partition)
        elif self._refused.get(place) == topic_id:
            # A topic of this name that comes after it must not find a log without an id, and take it for its own.
            del self._refused[place]
            self._logs.delete(place)

    def config_in(self, image: MetadataImage, topic: str) -> LogConfig:
        """The settings of a topic as an image has them."""
        overrides: Mapping[str, str] = image.configs.topic(topic)
        config, remarks = stored_topic_config(self._defaults, overrides)
        for remark in remarks:
            logger.error("a stored setting of the topic %s is not taken as it is: %s", topic, remark)
        return config

    # -------------------------------------------------------------------------------------------- operations

    def moved(self, partition: Partition) -> None:
        """Something readers or waiting producers may care about happened: look at all that waits for `partition`."""
        if partition in self.produces.watched:
            self.produces.check(partition)
        if partition in self.deletes.watched:
            self.deletes.check(partition)
        if partition in self.fetches.watched:
            self.wake_readers(partition)
        for listener in tuple(self._watchers.get(partition.topic_partition, ())):
            listener(partition.log.high_watermark)

    def took(self, partition: Partition) -> None:
        """A follower has appended what its leader sent, or taken over its high watermark or start."""
        partition.make_durable()
        if partition in self.fetches.watched:
            self.wake_readers(partition)

    def _forced(self, partition: Partition) -> None:
        """What was written before is on disk."""
        if self.replication is not None and not partition.is_leader:
            self.replication.fetchers.forced(partition)
        else:
            self.moved(partition)

    def wake_readers(self, partition: Partition) -> None:
        """Looks at the waiting fetches of `partition` before this turn of the loop ends. Not at once, so that whoever
        wrote is answered first, and so that what several producers wrote in a turn wakes a reader only once."""
        self.fetches.check_soon(partition)

    def watch(self, place: TopicPartition, listener: Callable[[int], None]) -> None:
        """Tells `listener` the high watermark whenever the partition has moved; for coordinators over their log."""
        self._watchers.setdefault(place, []).append(listener)

    def unwatch(self, place: TopicPartition, listener: Callable[[int], None]) -> None:
        listeners = self._watchers.get(place, [])
        if listener in listeners:
            listeners.remove(listener)
        if not listeners:
            self._watchers.pop(place, None)

    def storage_failed(self, error: StorageError) -> None:
        """A disk refused an operation: every log reports here (`PartitionDirectory.failed`), so nobody else has to.

        A full disk of a node that stands alone is left in service: it can still be read, and may have room again. In a
        cluster others can go on with what lies there, so it is given up, as in Kafka. A want of descriptors is no fault
        of the disk. Any other failure takes the directory and its partitions offline; the rest goes on.
        """
        if not self._logs.is_online(error.directory):
            return
        if error.is_passing and not (error.errno in FULL and self.replication is not None):
            self.shortages.tell(error)
            return
        self.shortages.forget(error.directory)
        for place in self._logs.directory_failed(error.directory, str(error)):
            hosted = self.by_name.get(place.topic)
            partition = hosted.partitions.pop(place.partition, None) if hosted is not None else None
            if partition is not None:
                self.away[place] = partition.topic_id
                self._release(partition)
        logger.error("%s The log directory is offline now, and so are its partitions.", error)
        self.directory_lost()
        if error.directory == self._metadata_directory:
            self._must_stop(MoldauError(f"{error} It holds the metadata log, without which the node cannot go on."))
        elif not any(directory.is_online for directory in self._logs.directories):
            self._must_stop(MoldauError(f"{error} No log directory is left, so the node stops."))

    def _release(self, partition: Partition) -> None:
        """Nobody leads here any more: whoever waits is answered so."""
        self._stop(partition)
        self.produces.complete_all(partition)
        self.deletes.complete_all(partition)
        if partition in self.fetches.watched:
            self.wake_readers(partition)

    def _stop(self, partition: Partition) -> None:
        partition.is_leader = False
        partition.is_released = True
        if self.replication is not None:
            self.replication.fetchers.forget(partition)
