"""What a node has because it is a broker: partitions, coordinators, and its place in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from moldau.config.listeners import Endpoint
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.share.coordinator import ShareCoordinator
from moldau.coordinator.share.settings import ShareCoordinatorSettings
from moldau.coordinator.txn.coordinator import TransactionCoordinator
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.deferred import Deferred, mapped
from moldau.links.peers import Peers
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.producer_id_pool import ProducerIdBlock, ProducerIdPool
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.replica.deleted_topics import DeletedTopics
from moldau.replica.log_moves import LogMoves
from moldau.replica.manager import ReplicaManager
from moldau.replica.replication import Replication
from moldau.server.broker_lifecycle import BrokerLifecycle
from moldau.server.context import Services
from moldau.server.coordinator_leadership import CoordinatorLeadership
from moldau.server.coordinator_log import CoordinatorLog
from moldau.server.end_offsets import EndOffsets
from moldau.server.fetch_sessions import FetchSessions
from moldau.server.housekeeping import Housekeeping
from moldau.server.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from moldau.server.other_brokers import OtherBrokers
from moldau.server.share.persister import SharePersister
from moldau.server.share.share_partitions import SharePartitions
from moldau.server.telemetry.client_metrics import ClientMetrics
from moldau.server.txn_markers import TransactionMarkers
from moldau.server.txn_partitions import TransactionPartitions
from moldau.slicing import Work
from moldau.storage.cleaner import LogCleaner
from moldau.storage.log_dirs import clean_shutdown_epoch
from moldau.storage.upkeep import Upkeep

# How long a producer waits for ids that the controller has not given yet; then it is told to come again.
_PRODUCER_IDS_SECONDS: Final = 5.0


class Broker:
    """Fills in what the handlers of a broker's listeners need of `services`. `fail` ends the node."""

    def __init__(
        self, services: Services, metadata: MetadataLoader, peers: Peers, fail: Callable[[BaseException], None]
    ) -> None:
        self._services = services
        self._metadata = metadata
        config, runtime, logs, slicer = services.config, services.runtime, services.logs, services.slicer
        self._config = config
        self._previous_epoch = -1
        clock, loop = runtime.clock, runtime.loop
        self.upkeep = Upkeep(logs, clock, runtime.workers, slicer)
        self.replicas = ReplicaManager(
            config.node_id,
            logs,
            config.log_defaults(),
            clock,
            loop,
            fail,
            runtime.workers,
            config.metadata_log_directory,
            slicer,
        )
        logs.strays.deleted_topics = self.deleted_topics = DeletedTopics()
        self.lifecycle = BrokerLifecycle(
            config.node_id,
            services.cluster_id,
            services.controller_channel,
            metadata,
            clock,
            loop,
            runtime.random,
            heartbeat_seconds=config.broker_heartbeat_interval_ms / 1000,
            session_seconds=config.broker_session_timeout_ms / 1000,
            registration_seconds=config.initial_broker_registration_timeout_ms / 1000,
            offline_directories=logs.offline_ids,
            registered=self._registered,
        )
        self.replicas.directory_lost = self.lifecycle.hasten
        # A node that is alone talks to nobody, and has nothing that others would need.
        brokers = None
        if not config.standalone:
            brokers = OtherBrokers(peers, config.inter_broker_listener, lambda: metadata.image)
            self.replicas.replication = Replication(
                self.replicas,
                lambda: services.config,
                clock,
                loop,
                slicer,
                cluster_id=services.cluster_id,
                broker_epoch=lambda: self.lifecycle.epoch,
                peers=peers,
                address=brokers.address,
                controller=services.controller_channel,
                directory_id=logs.directory_id,
            )
        coordinator_log = CoordinatorLog(self.replicas)
        self.producer_ids = ProducerIdPool(self._allocate_producer_ids)
        self.groups = GroupCoordinator(
            config,
            coordinator_log,
            loop,
            clock,
            runtime.random,
            runtime.workers,
            slicer,
            lambda: services.config,
        )
        self.transaction_markers = TransactionMarkers(config.node_id, self.replicas, self.groups, clock, brokers)
        self.transactions = TransactionCoordinator(
            TransactionSettings.of(config),
            coordinator_log,
            loop,
            clock,
            self.producer_ids.next_id,
            self.transaction_markers,
            self.groups.patterns.select,
            slicer,
        )
        self.share_states = ShareCoordinator(
            ShareCoordinatorSettings.of(config), coordinator_log, loop, clock, coordinator_log.delete_before, slicer
        )
        self.share_persister = SharePersister(
            config.node_id,
            self.share_states,
            lambda: metadata.image,
            lambda: services.create_internal_topic(SHARE_GROUP_STATE),
            loop,
            clock,
            brokers,
        )
        self.share_partitions = SharePartitions(
            self.replicas, self.share_persister, lambda: services.config, lambda: metadata.image, runtime, slicer
        )
        ends = EndOffsets(config.node_id, self.replicas, lambda: metadata.image, brokers)
        self.groups.shares.connect(self.share_persister, ends.of)
        self.cleaner = LogCleaner(lambda: services.config, logs, self.upkeep, runtime, slicer)
        self.housekeeping = Housekeeping(config, logs, self.upkeep, self.replicas, self.cleaner, runtime)
        services.replicas = self.replicas
        services.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, runtime.random)
        services.producer_ids = self.producer_ids
        services.groups = self.groups
        services.transactions = self.transactions
        services.transaction_markers = self.transaction_markers
        services.share_states, services.share_persister = self.share_states, self.share_persister
        services.share_partitions = self.share_partitions
        services.transaction_partitions = TransactionPartitions(self.transactions, config, loop, brokers)
        services.client_metrics = ClientMetrics(runtime, slicer)
        services.log_moves = LogMoves(lambda: services.config, self.replicas, logs, self.cleaner.busy, runtime)

    def _allocate_producer_ids(self) -> Deferred[ProducerIdBlock]:
        request = AllocateProducerIdsRequest(broker_id=self._config.node_id, broker_epoch=self.lifecycle.epoch)
        asked = self._services.controller_channel.ask(request, timeout=_PRODUCER_IDS_SECONDS, line="producer ids")
        return mapped(asked, lambda ids: ProducerIdBlock(ids.producer_id_start, ids.producer_id_len))

    def _registered(self, epoch: int) -> None:
        self._services.logs.broker_epoch = epoch

    # -------------------------------------------------------------------------------------------------------- start

    def load(self) -> Deferred[None]:
        """Opens the logs, now that it is known what their topics are set to."""
        services, image = self._services, self._metadata.image
        logs = services.logs
        self._previous_epoch = clean_shutdown_epoch(services.runtime.disk, self._config.log_directories)
        logs.strays.topic_id = lambda topic: known.id if (known := image.topics.get(topic)) else None
        return logs.load_on(services.runtime.workers, lambda topic: self.replicas.config_in(image, topic))

    def register(self, advertised: Sequence[Endpoint]) -> Deferred[None]:
        """Settles when the metadata that is here belongs to this life of the broker."""
        directories = [directory.id for directory in self._services.logs.directories if directory.is_online]
        return self.lifecycle.register(
            advertised, self._config.broker_rack, directories, previous_epoch=self._previous_epoch
        )

    def follow_metadata(self) -> Work[None]:
        """One after the other: each looks at all there is."""
        self._metadata.add_publisher(self.replicas)
        yield
        leadership = CoordinatorLeadership(
            self._config.node_id,
            {
                CONSUMER_OFFSETS: self.groups,
                TRANSACTION_STATE: self.transactions.runtime,
                SHARE_GROUP_STATE: self.share_states,
            },
            self.replicas,
        )
        self._metadata.add_publisher(leadership)
        yield
        self._metadata.add_publisher(self.share_partitions)
        yield

    def begin_upkeep(self) -> None:
        self.deleted_topics.close()
        self._services.slicer.run(self._services.log_moves.resume())
        self.housekeeping.start()
        self.cleaner.start()
        if self.replicas.replication is not None:
            self.replicas.replication.start()

    # --------------------------------------------------------------------------------------------------------- stop

    def end_upkeep(self) -> None:
        self.housekeeping.stop()
        self.upkeep.end()
        self.cleaner.stop()
        self._services.log_moves.stop()

    def release_waiting(self) -> None:
        """Whoever waits for records or for room hears that nothing more will come."""
        if self.replicas.replication is not None:
            self.replicas.replication.close()
        if self.replicas.preparation is not None:
            self.replicas.preparation.close()
        for purgatory in (self.replicas.produces, self.replicas.fetches, self.replicas.deletes):
            purgatory.cancel_all()
        self.replicas.departures.finish()
