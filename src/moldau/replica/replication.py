"""What a broker among others has beside its partitions: fetchers, in-sync sets, throttles, the choice of a replica.

A node that is alone has none of this (`ReplicaManager.replication` is None), and pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable

from moldau.config.broker import BrokerConfig
from moldau.links.addresses import Address
from moldau.links.peers import PeerPort
from moldau.replica.controller_requests import Controller
from moldau.replica.directory_assignments import DirectoryAssignments
from moldau.replica.fetchers import Fetchers
from moldau.replica.isr import IsrChanges
from moldau.replica.manager import ReplicaManager
from moldau.replica.replica_selector import RACK_AWARE, RackAwareSelector
from moldau.replica.throttles import FollowerThrottle, LeaderThrottle
from moldau.runtime.ports import Clock, Loop, TimerHandle
from moldau.slicing import Slicer, Work
from moldau.types import Uuid


class Replication:
    def __init__(
        self,
        replicas: ReplicaManager,
        config: Callable[[], BrokerConfig],
        clock: Clock,
        loop: Loop,
        slicer: Slicer,
        *,
        cluster_id: str,
        # The epoch under which this broker is registered; -1 before it is.
        broker_epoch: Callable[[], int],
        # For Fetch and ListOffsets.
        peers: PeerPort,
        # Where a broker is reached by others, given its id; None while that is not known.
        address: Callable[[int], Address | None],
        # For AlterPartition and AssignReplicasToDirs.
        controller: Controller,
        # The id of a log directory, given its path.
        directory_id: Callable[[str], Uuid | None],
    ) -> None:
        broker_id = config().node_id
        self._replicas = replicas
        self._config = config
        self._loop = loop
        self._slicer = slicer
        self.leader_throttle = LeaderThrottle(broker_id, config, clock)
        self.isr = IsrChanges(
            broker_id,
            broker_epoch,
            controller,
            lambda: replicas.image,
            lambda: config().replica_lag_time_max_ms,
            clock,
            loop,
            replicas.moved,
        )
        self.directories = DirectoryAssignments(
            broker_id, broker_epoch, controller, lambda: replicas.image, directory_id, loop
        )
        self.fetchers = Fetchers(
            broker_id,
            broker_epoch,
            cluster_id,
            peers,
            address,
            config,
            FollowerThrottle(broker_id, config, clock),
            clock,
            loop,
            slicer,
            replicas.took,
        )
        rack_aware = config().replica_selector_class == RACK_AWARE
        self.selector = RackAwareSelector(broker_id, lambda: replicas.image) if rack_aware else None
        self._timer: TimerHandle | None = None
        self._closed = False

    def start(self) -> None:
        """Begins to look for followers that fall behind; before that nobody is given up."""
        self._look_later()

    def close(self) -> None:
        """Nothing more is fetched or proposed."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.fetchers.close()
        self.isr.close()
        self.directories.close()

    def _look_later(self) -> None:
        # Half the time a follower may lag: so it is noticed after one and a half times that at the latest.
        self._timer = self._loop.call_later(self._config().replica_lag_time_max_ms / 2000, self._look)

    def _look(self) -> None:
        # First: whatever becomes of this look, there is a next one.
        self._look_later()
        self._slicer.run(self._shrink_all(), lambda: not self._closed)

    def _shrink_all(self) -> Work[None]:
        for partition in tuple(self._replicas.partitions()):
            partition.shrink_isr()
            yield
