"""A node: all parts put together, started and stopped in the right order.

Start. The data directories first, because everything else lives in them; then the listeners are bound, because their
ports are part of the registrations; then the metadata log, which says what this broker holds and how it is set. A
controller answers its peers from here on. A broker waits until it has followed the log to its end, opens its logs and
registers; it leads and follows by the metadata only when its new life stands there, and is let in then. Only when its
partitions have leaders are clients accepted.

Stop. In reverse: the broker hands over, answers what is in flight, and closes its logs, several at a time; the mark of
a clean stop is the last thing written. Every step has its time: a disk that is full or does not answer cannot keep a
node from stopping, only from having stopped cleanly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.controller.controller import Controller
from moldau.deferred import Deferred, ready, settle
from moldau.errors import MoldauError
from moldau.metadata.loader import MetadataLoader
from moldau.node.bootstrap import read_bootstrap
from moldau.node.broker import Broker
from moldau.node.identity import NodeError, cluster_id_of
from moldau.node.monitoring.endpoint import Monitoring
from moldau.node.own_address import OwnAddress, reachable
from moldau.node.peer_security import called_listeners, peers_of
from moldau.node.quorum import VotersOfQuorum, controller_endpoints, make_quorum
from moldau.raft.snapshot_generator import SnapshotGenerator
from moldau.runtime.ports import Runtime
from moldau.server.apis.table import BROKER_APIS, CONTROLLER_APIS
from moldau.server.authorization import UnusedRules, authorization_of
from moldau.server.client_quotas import quotas_of
from moldau.server.context import Services
from moldau.server.controller_channel import ControllerChannel
from moldau.server.controller_lifecycle import ControllerLifecycle
from moldau.server.credentials import NodeCredentials
from moldau.server.dispatch import DispatchTable
from moldau.server.dynamic_config import DynamicConfig
from moldau.server.listener_tls import TlsListeners
from moldau.server.socket_server import SocketServer
from moldau.slicing import Slicer
from moldau.storage.log_manager import LogManager

logger = logging.getLogger("moldau.node")

Addresses = Sequence[tuple[str, int]]

# Opening logs that takes longer than this is reported, and again each time it has passed.
_PROGRESS_SECONDS: Final = 1.0
# How often a broker looks whether it has followed the metadata log to its end, and after how many looks it says so.
_LOOK_SECONDS: Final = 0.02
_LOOKS_UNTOLD: Final = 500
# How long a shutdown waits: for the controller, whose word has to be written, and in a cluster for others to take over;
# for requests in flight; for the logs to be closed, and once more for the one that is just being closed. A supervisor
# waits longer than all of it takes (`supervision.process`).
_LEAVE_SECONDS: Final = 5.0
_HAND_OVER_SECONDS: Final = 60.0
_DRAIN_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 60.0
_HURRY_SECONDS: Final = 5.0


class Node:
    """`failure` is set when the node stopped by itself. `cluster_id` is for directories that belong to none yet."""

    def __init__(self, config: BrokerConfig, runtime: Runtime, *, cluster_id: str | None = None) -> None:
        self._config = config
        self._runtime = runtime
        self._ready: Callable[[Addresses], None] | None = None
        self.is_stopping = self.is_loaded = self.is_serving = False
        self.failure: MoldauError | None = None
        clock, loop, random = runtime.clock, runtime.loop, runtime.random
        self.cluster_id = cluster_id_of(config, runtime.disk, random, cluster_id)
        self.logs = LogManager(
            config, runtime.disk, clock, random, cluster_id=self.cluster_id, loop=loop, workers=runtime.workers
        )
        self.slicer = Slicer(loop, clock)
        self.tls = TlsListeners(config, runtime, called_listeners(config))
        # They talk to nobody unless there is somebody: a standalone node opens no connection.
        self.controllers, self.brokers = peers_of(config, runtime, self.tls)
        self.quorum = make_quorum(config, runtime, self.controllers, self._fail)
        self.metadata = MetadataLoader(self._fail)
        self.snapshots = SnapshotGenerator(self.quorum, config, loop, runtime.workers)
        self.services = self._services()
        self._controller_table = DispatchTable(CONTROLLER_APIS, self.services)
        self.channel = self.services.controller_channel = ControllerChannel(
            self.services,
            self._controller_table,
            self.quorum,
            controller_endpoints(config, self.metadata, self.quorum),
            self.controllers,
            clock,
            loop,
            random,
        )
        self._controller_lifecycle: ControllerLifecycle | None = None
        self._own_address = OwnAddress(config, self.controllers, self.services, self._fail)
        if config.is_controller:
            self.controller = self.services.controller = Controller(
                self.cluster_id,
                config,
                self.quorum,
                clock,
                loop,
                random,
                has_local_broker=config.is_broker,
                slicer=self.slicer,
                bootstrap=read_bootstrap(runtime.disk, config.metadata_log_directory),
                quorum_features=VotersOfQuorum(self.quorum),
            )
        self.broker = Broker(self.services, self.metadata, self.brokers, self._fail) if config.is_broker else None
        self.server = SocketServer(config, runtime, self.services)
        self.monitoring = Monitoring(self)
        self.services.client_quotas.connection_rates_changed = self.server.limit_addresses
        if self.broker is not None:
            # For those who look into a node that they know to be a broker.
            self.replicas, self.lifecycle = self.broker.replicas, self.broker.lifecycle
            self.groups, self.transactions = self.broker.groups, self.broker.transactions
            self.transaction_markers, self.producer_ids = self.broker.transaction_markers, self.broker.producer_ids
            self.upkeep, self.cleaner = self.broker.upkeep, self.broker.cleaner
            self.housekeeping, self.deleted_topics = self.broker.housekeeping, self.broker.deleted_topics

    def _services(self) -> Services:
        services = Services()
        services.config = self._config
        services.runtime = self._runtime
        services.slicer = self.slicer
        services.cluster_id = self.cluster_id
        services.node_id = self._config.node_id
        services.metadata = self.metadata
        services.credentials = NodeCredentials(services)
        services.logs = self.logs
        services.quorum = self.quorum
        services.tls = self.tls
        services.controller = None
        services.authorization = authorization_of(self._config, self.metadata)
        services.client_quotas = quotas_of(self._config, self._runtime.clock)
        return services

    # -------------------------------------------------------------------------------------------------------- start

    def start(self, ready: Callable[[Addresses], None]) -> None:
        """Begins to start; `ready` is told the addresses when clients are accepted. The loop must run for that.

        MoldauError or OSError if it cannot be started; what was opened is closed again.
        """
        self._ready = ready
        try:
            self.logs.open()
            if self._config.metrics_listener:
                self.monitoring.open(self._config.metrics_listener)
            # Bound before the quorum is joined: others may call as soon as they hear of this node.
            for endpoint in self._config.controller_endpoints:
                self.server.bind(endpoint, self._controller_table, self.tls.of(endpoint.name))
            if self.broker is not None:
                table = DispatchTable(BROKER_APIS, self.services)
                for endpoint in self._config.broker_endpoints:
                    self.server.bind(endpoint, table, self.tls.of(endpoint.name))
            self._join_quorum()
            self.server.serve(self._config.controller_endpoints)
            self._own_address.check()
            caught_up = self._caught_up()
        except BaseException:
            self.quorum.close()
            self.monitoring.close()
            self.logs.abandon()
            raise
        caught_up.then(self._open_logs)

    def _join_quorum(self) -> None:
        # The image is published before the controller answers: whoever waits for an answer finds it there.
        self.quorum.register(self.metadata)
        if self.services.controller is not None:
            self.quorum.register(self.services.controller)
        self.quorum.register(self.channel)
        replicas = None if self.broker is None else self.broker.replicas
        self.metadata.add_publisher(
            DynamicConfig(
                self._config, self.services, None if replicas is None else replicas.defaults_changed, self.tls
            )
        )
        if self.services.authorization is None:
            self.metadata.add_publisher(UnusedRules())
        self.metadata.add_publisher(self.services.client_quotas)
        if self.broker is not None:
            self.metadata.add_publisher(self.broker.deleted_topics)
        self.quorum.start()
        if self._config.controller_endpoints:
            endpoints = self._config.advertised_controller_endpoints
            self._controller_lifecycle = ControllerLifecycle(
                self._config.node_id,
                [reachable(e, self.server.address(e.name)) for e in endpoints],
                self.channel,
                self._runtime.loop,
                self._runtime.random,
            )
            self.metadata.add_publisher(self._controller_lifecycle)

    def _caught_up(self) -> Deferred[None]:
        """Settles when this node has followed the metadata log to its end, as a leader has told it in this life; for
        the only voter that is now. What it remembers itself may be old: it would take logs for those of no topic.

        A broker that no leader tells anything gives up, as Kafka's does that cannot register; whoever started it hears
        of it. One that is told is only late, and a controller has others to wait for.
        """
        done: Deferred[None] = Deferred()
        looks = 0
        limit_ms = self._config.initial_broker_registration_timeout_ms
        give_up_at = self._runtime.clock.monotonic() + limit_ms / 1000

        def look() -> None:
            nonlocal looks
            if self.is_stopping or self.failure is not None:
                return
            leads = self.services.controller is not None and self.services.controller.is_active
            if leads or 0 < self.quorum.told_high_watermark <= self.metadata.image.offset + 1:
                done.resolve(None)
                return
            looks += 1
            leader = self.quorum.leader_id
            unknown = self.quorum.correspondence.refusal or "no leader of the controllers is known"
            whose = unknown if leader < 0 else f"controller {leader} leads"
            is_told = self.quorum.told_high_watermark > 0
            if self.broker is not None and not is_told and self._runtime.clock.monotonic() >= give_up_at:
                setting = f"{limit_ms} ms (initial.broker.registration.timeout.ms)"
                self._fail(NodeError(f"The broker could not register within {setting}: {whose}."))
                return
            if looks % _LOOKS_UNTOLD == 0:
                logger.warning("not ready after %.0f s: the metadata is not here (%s)", looks * _LOOK_SECONDS, whose)
            self._runtime.loop.call_later(_LOOK_SECONDS, look)

        look()
        return done

    def _open_logs(self, _value: None, error: BaseException | None) -> None:
        if error is None and self.services.authorization is not None:
            # What the metadata says now is what the cluster has agreed on: it can be decided by.
            self.services.authorization.is_ready = True
        if self.broker is None:
            self.metadata.add_publisher(self.snapshots)
            self._serve(None, error)
            return
        self._tell_progress()
        opening: Deferred[None] = Deferred()
        opening.then(self._loaded)
        settle(opening, self.broker.load)

    def _tell_progress(self) -> None:
        def tell() -> None:
            if not self.is_loaded and not self.is_stopping:
                logger.info("opening logs: %d of %d", *self.logs.load_progress)
                self._tell_progress()

        self._runtime.loop.call_later(_PROGRESS_SECONDS, tell)

    def _loaded(self, _value: None, error: BaseException | None) -> None:
        if not self._goes_on(error):
            return
        self.is_loaded = True
        assert self.broker is not None
        advertised = [reachable(e, self.server.address(e.name)) for e in self._config.advertised_broker_endpoints]
        self.broker.register(advertised).then(self._registered)

    def _registered(self, _value: None, error: BaseException | None) -> None:
        if not self._goes_on(error):
            return
        assert self.broker is not None
        following, work = Deferred[None](), self.broker.follow_metadata()
        following.then(self._join)
        settle(following, lambda: self.slicer.run(work, lambda: not self.is_stopping))

    def _join(self, _value: None, error: BaseException | None) -> None:
        if not self._goes_on(error):
            return
        self.metadata.add_publisher(self.snapshots)
        self.lifecycle.join().then(self._let_in)

    def _let_in(self, _value: None, error: BaseException | None) -> None:
        if not self._goes_on(error):
            return
        settled: Deferred[None] = Deferred()
        settled.then(self._serve)
        settle(settled, lambda: self.slicer.run(self.replicas.settle(), lambda: not self.is_stopping))

    def _serve(self, _value: None, error: BaseException | None) -> None:
        if not self._goes_on(error):
            return
        if self.broker is not None:
            self.broker.begin_upkeep()
        self.server.serve()
        self.is_serving = True
        logger.info("node %d of cluster %s accepts clients", self._config.node_id, self.cluster_id)
        if self._ready is not None:
            endpoints = self._config.broker_endpoints or self._config.controller_endpoints
            self._ready([self.server.address(e.name) for e in endpoints])

    def _goes_on(self, error: BaseException | None) -> bool:
        """Whether the start does, after a step of it."""
        if error is not None and not self.is_stopping:
            self._fail(error)
        return not self.is_stopping and self.failure is None

    # --------------------------------------------------------------------------------------------------------- stop

    def shutdown(self, done: Callable[[], None]) -> None:
        """Stops in order; `done` is called when everything is closed."""
        if self.is_stopping:
            return
        self.is_stopping = True
        leaving: Deferred[None] = ready(None)
        if self.broker is not None:
            self.broker.end_upkeep()
            if self._config.controlled_shutdown_enable:
                leaving = self.broker.lifecycle.leave()

        def drained(_value: None, _error: BaseException | None) -> None:
            self._close(done)

        def left(_value: None, _error: BaseException | None) -> None:
            if self.broker is not None:
                self.broker.lifecycle.abandon()
            self.channel.close()
            self.server.shutdown(_DRAIN_SECONDS).then(drained)

        seconds = _LEAVE_SECONDS if self._config.standalone else _HAND_OVER_SECONDS
        self._within(seconds, leaving, "the controller did not let the broker go").then(left)

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
        if self.broker is not None:
            self.broker.release_waiting()
        for part in self._closing():
            try:
                part()
            except (MoldauError, OSError) as error:
                # A full disk may refuse the last bytes of the metadata log; what was committed is there.
                logger.error("%s could not be closed in order: %s", getattr(part, "__qualname__", part), error)
        if not self.is_loaded:
            # Not all logs have been opened and repaired: nothing may say that this was a clean stop.
            self.logs.abandon()
            self._close_peers()
            done()
            return
        closing = self.logs.close_on(self._runtime.workers)
        hurry = self._runtime.loop.call_later(_CLOSE_SECONDS, self.logs.hurry)

        def closed(_value: None, _error: BaseException | None) -> None:
            hurry.cancel()
            self._close_peers()
            done()

        limit = _CLOSE_SECONDS + _HURRY_SECONDS
        self._within(limit, closing, "the disk does not answer; the next start will check the logs").then(closed)

    def _close_peers(self) -> None:
        self.monitoring.close()
        self.controllers.close()
        self.brokers.close()

    def _closing(self) -> list[Callable[[], None]]:
        """What ends before the logs do, in order."""
        parts: list[Callable[[], None]] = [self._own_address.close]
        if self.broker is not None:
            parts += [self.broker.share_partitions.close, self.broker.share_persister.close]
            parts += [self.broker.share_states.close]
            parts += [self.broker.groups.close, self.broker.transactions.close]
        if self._controller_lifecycle is not None:
            parts.append(self._controller_lifecycle.close)
        parts.append(self.snapshots.close)
        if self.services.controller is not None:
            parts.append(self.services.controller.close)
        return [*parts, self.quorum.close]

    def _fail(self, error: BaseException) -> None:
        """Something without which the node must not go on: stops at once, leaving recovery to the next start."""
        if self.failure is None:
            self.failure = error if isinstance(error, MoldauError) else NodeError(f"The node had to stop: {error}.")
            logger.critical("%s", self.failure)
        self._runtime.loop.stop()
