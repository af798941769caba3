"""All fetchers of a broker: which partition is fetched by which, and what they share."""

from __future__ import annotations

from collections.abc import Callable

from moldau.config.broker import BrokerConfig
from moldau.links.addresses import Address
from moldau.links.peers import PeerPort
from moldau.replica.fetcher import Fetcher
from moldau.replica.follower import NO_BROKER_EPOCH
from moldau.replica.following import Following
from moldau.replica.partition import Partition
from moldau.replica.source_fetch import SourceLimits
from moldau.replica.source_session import PartitionKey
from moldau.replica.throttles import FollowerThrottle
from moldau.runtime.ports import Clock, Loop
from moldau.slicing import Slicer
from moldau.types import NO_LEADER


class Fetchers:
    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        cluster_id: str,
        peers: PeerPort,
        # Of a broker, on the listener that brokers use among themselves; None while it is not known.
        address: Callable[[int], Address | None],
        config: Callable[[], BrokerConfig],
        throttle: FollowerThrottle,
        clock: Clock,
        loop: Loop,
        slicer: Slicer,
        took: Callable[[Partition], None],
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.cluster_id = cluster_id
        self.peers = peers
        self.address = address
        self.config = config
        self.throttle = throttle
        self.clock = clock
        self.loop = loop
        self.slicer = slicer
        # Told of a partition that has new records, or whose high watermark or start has moved.
        self.took = took
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        self._by_partition: dict[PartitionKey, Fetcher] = {}
        # Records of leaders that were appended here.
        self.bytes_in = 0
        self._closed = False
        self._limits_of: BrokerConfig | None = None
        self._limits = SourceLimits("", broker_id, NO_BROKER_EPOCH, 0, 0, 0)

    def limits(self) -> SourceLimits:
        """What stands in every fetch; made anew when the settings or our registration are others."""
        config, epoch = self.config(), self.broker_epoch()
        if config is not self._limits_of or epoch != self._limits.broker_epoch:
            self._limits_of = config
            self._limits = SourceLimits(
                self.cluster_id,
                self.broker_id,
                epoch,
                config.replica_fetch_wait_max_ms,
                config.replica_fetch_min_bytes,
                config.replica_fetch_response_max_bytes,
            )
        return self._limits

    def __len__(self) -> int:
        return len(self._by_partition)

    def follow(self, partition: Partition) -> None:
        """Fetches it from its leader, as the partition knows it now. What was under way before is over."""
        key = _key(partition)
        fetcher = self._by_partition.get(key)
        if fetcher is not None:
            following = fetcher.partitions[key]
            if following.partition is partition and following.is_current() and fetcher.source == partition.leader_id:
                return
            self.forget(partition)
        if partition.leader_id in (NO_LEADER, self.broker_id) or self._closed:
            return
        config = self.config()
        line = (partition.topic_id[-1] + partition.topic_partition.partition) % max(1, config.num_replica_fetchers)
        place = partition.leader_id, line
        fetcher = self._fetchers.get(place)
        if fetcher is None:
            fetcher = self._fetchers[place] = Fetcher(partition.leader_id, line, self)
        self._by_partition[key] = fetcher
        fetcher.follow(key, Following(partition, config.replica_fetch_max_bytes))

    def forget(self, partition: Partition) -> None:
        """Nothing more is appended to it from now on."""
        key = _key(partition)
        fetcher = self._by_partition.get(key)
        if fetcher is None or fetcher.partitions[key].partition is not partition:
            return
        del self._by_partition[key]
        # One without partitions rests: it comes to its next when its last request is over.
        fetcher.forget(key)

    def forced(self, partition: Partition) -> None:
        """What it had written is on disk, which it may have waited for."""
        fetcher = self._by_partition.get(_key(partition))
        if fetcher is not None:
            fetcher.wake()

    def close(self) -> None:
        self._closed = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._by_partition.clear()


def _key(partition: Partition) -> PartitionKey:
    return partition.topic_id, partition.topic_partition.partition
