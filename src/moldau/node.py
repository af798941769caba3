"""A node: all parts put together, started and stopped in the right order.

Start. The data directories first, because everything else lives in them; then the metadata log, which says what this
broker holds and how it is set; then the partitions' logs; then the listeners are bound, because their ports are part of
the registration; then the broker registers and is let in. Only when its partitions have leaders are clients accepted.

Stop. In reverse: the broker hands over, answers what is in flight, and closes its logs, several at a time; the mark of
a clean stop is the last thing written. Every step has its time: a disk that is full or does not answer cannot keep a
node from stopping, only from having stopped cleanly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Endpoint, SecurityProtocol
from moldau.controller.controller import Controller
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.txn.coordinator import TransactionCoordinator
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.deferred import Deferred, settle
from moldau.errors import MoldauError
from moldau.links.peers import Peers
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.producer_id_pool import ProducerIdPool
from moldau.raft.raft_quorum import RaftQuorum
from moldau.raft.snapshot_generator import SnapshotGenerator
from moldau.replica.deleted_topics import DeletedTopics
from moldau.replica.log_moves import LogMoves
from moldau.replica.manager import ReplicaManager
from moldau.runtime.ports import Runtime
from moldau.server.apis.table import BROKER_APIS, CONTROLLER_APIS
from moldau.server.broker_lifecycle import BrokerLifecycle
from moldau.server.context import Services
from moldau.server.controller_channel import ControllerChannel
from moldau.server.coordinator_leadership import CoordinatorLeadership
from moldau.server.coordinator_log import CoordinatorLog
from moldau.server.dispatch import DispatchTable
from moldau.server.dynamic_config import DynamicConfig
from moldau.server.fetch_sessions import FetchSessions
from moldau.server.housekeeping import Housekeeping
from moldau.server.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from moldau.server.socket_server import SocketServer
from moldau.server.txn_markers import TransactionMarkers
from moldau.server.txn_partitions import TransactionPartitions
from moldau.slicing import Slicer, Work
from moldau.storage.cleaner import LogCleaner
from moldau.storage.log_dirs import known_cluster_id, random_id
from moldau.storage.log_manager import LogManager
from moldau.storage.upkeep import Upkeep
from moldau.types import uuid_to_text

logger = logging.getLogger("moldau.node")

Addresses = Sequence[tuple[str, int]]

# Opening logs that takes longer than this is reported, and again each time it has passed.
_PROGRESS_SECONDS: Final = 1.0
# How long a shutdown waits: for the controller, whose word has to be written; for requests in flight; for the logs to
# be closed, and once more for the one that is just being closed.
_LEAVE_SECONDS: Final = 5.0
_DRAIN_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 60.0
_HURRY_SECONDS: Final = 5.0


class NodeError(MoldauError):
    """The node cannot start or cannot go on; the sentence says why."""


class Node:
    """`failure` is set when the node stopped by itself."""

    def __init__(self, config: BrokerConfig, runtime: Runtime) -> None:
        self._config = config
        self._runtime = runtime
        self._ready: Callable[[Addresses], None] | None = None
        self._stopping = False
        self._is_loaded = False
        self.failure: MoldauError | None = None
        controllers = max(len(config.controller_quorum_voters), len(config.controller_quorum_bootstrap_servers))
        if not (config.is_broker and config.is_controller) or controllers > 1:
            raise NodeError("This version runs as broker and controller in one, with a quorum of one.")
        for endpoint in config.broker_endpoints:
            if endpoint.security_protocol is not SecurityProtocol.PLAINTEXT:
                raise NodeError(
                    f"The listener {endpoint} needs {endpoint.security_protocol.name}, only PLAINTEXT is built."
                )
        clock, loop, disk = runtime.clock, runtime.loop, runtime.disk
        self.cluster_id = known_cluster_id(disk, config.log_directories) or uuid_to_text(random_id(runtime.random))
        self.logs = LogManager(
            config, disk, clock, runtime.random, cluster_id=self.cluster_id, loop=loop, workers=runtime.workers
        )
        self.slicer = Slicer(loop, clock)
        self.upkeep = Upkeep(self.logs, clock, runtime.workers, self.slicer)
        self.quorum = RaftQuorum(config, disk, clock, loop, runtime.random, runtime.workers, None, self._fail)
        self.metadata = MetadataLoader(self._fail)
        self.controller = Controller(
            self.cluster_id, config, self.quorum, clock, loop, runtime.random, slicer=self.slicer
        )
        self.replicas = ReplicaManager(
            config.node_id,
            self.logs,
            config.log_defaults(),
            clock,
            loop,
            self._fail,
            runtime.workers,
            config.metadata_log_directory,
            self.slicer,
        )
        self.logs.strays.deleted_topics = self.deleted_topics = DeletedTopics()
        self.snapshots = SnapshotGenerator(self.quorum, config, loop)
        self.lifecycle = BrokerLifecycle(
            config.node_id,
            self.cluster_id,
            self.controller,
            self.metadata,
            loop,
            runtime.random,
            config.broker_heartbeat_interval_ms / 1000,
            self.logs.offline_ids,
        )
        coordinator_log = CoordinatorLog(self.replicas)
        self.producer_ids = ProducerIdPool(
            lambda: self.controller.allocate_producer_ids(config.node_id, self.lifecycle.epoch)
        )
        self.groups = GroupCoordinator(
            config, coordinator_log, loop, clock, runtime.random, runtime.workers, self.slicer
        )
        self.transaction_markers = TransactionMarkers(config.node_id, self.replicas, self.groups, clock)
        self.transactions = TransactionCoordinator(
            TransactionSettings.of(config),
            coordinator_log,
            loop,
            clock,
            self.producer_ids.next_id,
            self.transaction_markers,
            self.groups.patterns.select,
            self.slicer,
        )
        self.services = self._services()
        self.server = SocketServer(config, runtime, self.services)
        self.cleaner = LogCleaner(lambda: self.services.config, self.logs, self.upkeep, runtime, self.slicer)
        self.services.log_moves = LogMoves(
            lambda: self.services.config, self.replicas, self.logs, self.cleaner.busy, runtime
        )
        self.housekeeping = Housekeeping(config, self.logs, self.upkeep, self.replicas, self.cleaner, runtime)

    def _services(self) -> Services:
        config = self._config
        services = Services()
        services.config = config
        services.runtime = self._runtime
        services.slicer = self.slicer
        services.cluster_id = self.cluster_id
        services.node_id = config.node_id
        services.metadata = self.metadata
        services.replicas = self.replicas
        services.logs = self.logs
        services.quorum = self.quorum
        services.controller = self.controller
        services.quorum = self.quorum
        # A node talks to nobody who does not listen to controllers; a standalone one to nobody at all.
        self.peers = Peers(
            self._runtime.clock,
            self._runtime.loop,
            self._runtime.network,
            self._runtime.random,
            f"node-{config.node_id}",
        )
        services.controller_channel = self.channel = ControllerChannel(
            services,
            DispatchTable(CONTROLLER_APIS, services),
            self.quorum,
            lambda _node_id: None,
            self.peers,
            self._runtime.clock,
            self._runtime.loop,
            self._runtime.random,
        )
        services.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, self._runtime.random)
        services.producer_ids = self.producer_ids
        services.groups = self.groups
        services.transactions = self.transactions
        services.transaction_markers = self.transaction_markers
        services.transaction_partitions = TransactionPartitions(self.transactions, config, self._runtime.loop)
        return services

    # -------------------------------------------------------------------------------------------------------- start

    def start(self, ready: Callable[[Addresses], None]) -> None:
        """Begins to start; `ready` is told the addresses when clients are accepted. The loop must run for that.

        MoldauError or OSError if it cannot be started; what was opened is closed again.
        """
        self._ready = ready
        try:
            self.logs.open()
            # The image is published before the controller answers: whoever waits for an answer finds it there.
            self.quorum.register(self.metadata)
            self.quorum.register(self.controller)
            self.metadata.add_publisher(DynamicConfig(self._config, self.services))
            self.metadata.add_publisher(self.deleted_topics)
            self.quorum.start()
            table = DispatchTable(BROKER_APIS, self.services)
            for endpoint in self._config.broker_endpoints:
                self.server.bind(endpoint, table)
            # Now that it is known what the topics are set to, their logs can be opened.
            image = self.metadata.image
            self.logs.strays.topic_id = lambda topic: known.id if (known := image.topics.get(topic)) else None
            opening = self.logs.load_on(self._runtime.workers, lambda topic: self.replicas.config_in(image, topic))
        except BaseException:
            self.quorum.close()
            self.logs.abandon()
            raise
        self._tell_progress()
        opening.then(self._loaded)

    def _tell_progress(self) -> None:
        def tell() -> None:
            if not self._is_loaded and not self._stopping:
                logger.info("opening logs: %d of %d", *self.logs.load_progress)
                self._tell_progress()

        self._runtime.loop.call_later(_PROGRESS_SECONDS, tell)

    def _loaded(self, _value: None, error: BaseException | None) -> None:
        if error is not None:
            self._fail(error)
        if self._stopping or self.failure is not None:
            return
        self._is_loaded = True
        joined: Deferred[None] = Deferred()
        joined.then(self._register)
        settle(joined, lambda: self.slicer.run(self._follow_metadata(), lambda: not self._stopping))

    def _follow_metadata(self) -> Work[None]:
        """One after the other: each looks at all there is."""
        self.metadata.add_publisher(self.replicas)
        yield
        leadership = CoordinatorLeadership(
            self._config.node_id,
            {CONSUMER_OFFSETS: self.groups, TRANSACTION_STATE: self.transactions.runtime},
            self.replicas,
        )
        self.metadata.add_publisher(leadership)
        yield
        self.metadata.add_publisher(self.snapshots)
        yield

    def _register(self, _value: None, error: BaseException | None) -> None:
        if error is not None and not self._stopping:
            self._fail(error)
        if self._stopping or self.failure is not None:
            return
        advertised = [_reachable(e, self.server.address(e.name)) for e in self._config.advertised_broker_endpoints]
        directories = [directory.id for directory in self.logs.directories if directory.is_online]
        self.lifecycle.register(advertised, self._config.broker_rack, directories).then(self._let_in)

    def _let_in(self, _value: None, error: BaseException | None) -> None:
        if error is not None:
            self._fail(error)
            return
        self.logs.broker_epoch = self.lifecycle.epoch
        settled: Deferred[None] = Deferred()
        settled.then(self._serve)
        settle(settled, lambda: self.slicer.run(self.replicas.settle(), lambda: not self._stopping))

    def _serve(self, _value: None, error: BaseException | None) -> None:
        if error is not None and not self._stopping:
            self._fail(error)
        if self._stopping or self.failure is not None:
            return
        self.deleted_topics.close()
        self.housekeeping.start()
        self.cleaner.start()
        self.server.serve()
        logger.info("node %d of cluster %s accepts clients", self._config.node_id, self.cluster_id)
        if self._ready is not None:
            self._ready([self.server.address(e.name) for e in self._config.broker_endpoints])

    # --------------------------------------------------------------------------------------------------------- stop

    def shutdown(self, done: Callable[[], None]) -> None:
        """Stops in order; `done` is called when everything is closed."""
        if self._stopping:
            return
        self._stopping = True
        self.housekeeping.stop()
        self.cleaner.stop()
        self.services.log_moves.stop()

        def drained(_value: None, _error: BaseException | None) -> None:
            self._close(done)

        def left(_value: None, _error: BaseException | None) -> None:
            self.lifecycle.abandon()
            self.server.shutdown(_DRAIN_SECONDS).then(drained)

        self._within(_LEAVE_SECONDS, self.lifecycle.leave(), "the controller did not let the broker go").then(left)

    def _within(self, seconds: float, waited_for: Deferred[None], otherwise: str) -> Deferred[None]:
        """Settles with `waited_for`, or when the time is over: a stop comes to its end whatever the disk does."""
        outcome: Deferred[None] = Deferred()

        def settle(_value: None = None, _error: BaseException | None = None) -> None:
            if not outcome.settled:
                timer.cancel()
                outcome.resolve(None)

        def give_up() -> None:
            if not outcome.settled:
                logger.warning("stopping without waiting any longer: %s", otherwise)
                settle()

        timer = self._runtime.loop.call_later(seconds, give_up)
        waited_for.then(settle)
        return outcome

    def _close(self, done: Callable[[], None]) -> None:
        if self.replicas.preparation is not None:
            self.replicas.preparation.close()
        for purgatory in (self.replicas.produces, self.replicas.fetches, self.replicas.deletes):
            purgatory.cancel_all()
        self.replicas.departures.finish()
        for part in (self.groups, self.transactions, self.snapshots, self.controller, self.quorum):
            try:
                part.close()
            except (MoldauError, OSError) as error:
                # A full disk may refuse the last bytes of the metadata log; what was committed is there.
                logger.error("%s could not be closed in order: %s", type(part).__name__, error)
        if not self._is_loaded:
            # Not all logs have been opened and repaired: nothing may say that this was a clean stop.
            self.logs.abandon()
            done()
            return
        closing = self.logs.close_on(self._runtime.workers)
        hurry = self._runtime.loop.call_later(_CLOSE_SECONDS, self.logs.hurry)

        def closed(_value: None, _error: BaseException | None) -> None:
            hurry.cancel()
            done()

        limit = _CLOSE_SECONDS + _HURRY_SECONDS
        self._within(limit, closing, "the disk does not answer; the next start will check the logs").then(closed)

    def _fail(self, error: BaseException) -> None:
        """Something without which the node must not go on: stops at once, leaving recovery to the next start."""
        if self.failure is None:
            self.failure = error if isinstance(error, MoldauError) else NodeError(f"The node had to stop: {error}.")
            logger.critical("%s", self.failure)
        self._runtime.loop.stop()


def _reachable(advertised: Endpoint, bound: tuple[str, int]) -> Endpoint:
    """A port that was left to the operating system, and a host that was left out, become what was bound."""
    return advertised._replace(host=advertised.host or bound[0], port=advertised.port or bound[1])
