"""What a handler is given besides the request: who asks, how, and what of the node it may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from moldau.server.client_quotas import UNLIMITED, ClientQuotas
from moldau.server.encoded_topics import EncodedTopics
from moldau.server.internal_topics import InternalTopics

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.controller.controller import Controller
    from moldau.coordinator.group.coordinator import GroupCoordinator
    from moldau.coordinator.group.requests import RequestInfo, Visible
    from moldau.coordinator.share.coordinator import ShareCoordinator
    from moldau.coordinator.txn.coordinator import TransactionCoordinator
    from moldau.deferred import Deferred
    from moldau.metadata.image import MetadataImage
    from moldau.metadata.producer_id_pool import ProducerIdPool
    from moldau.raft.raft_quorum import RaftQuorum
    from moldau.replica.log_moves import LogMoves
    from moldau.replica.manager import ReplicaManager
    from moldau.runtime.ports import Runtime
    from moldau.security.principal import Principal
    from moldau.security.scram_server import Credentials
    from moldau.server.authorization import Authorization
    from moldau.server.connection import Connection
    from moldau.server.controller_channel import ControllerChannel
    from moldau.server.fetch_sessions import FetchSessions
    from moldau.server.listener_tls import TlsListeners
    from moldau.server.own_call import OwnCall
    from moldau.server.share.persister import SharePersister
    from moldau.server.share.share_partitions import SharePartitions
    from moldau.server.telemetry.client_metrics import ClientMetrics
    from moldau.server.txn_markers import TransactionMarkers
    from moldau.server.txn_partitions import TransactionPartitions
    from moldau.slicing import Slicer
    from moldau.storage.log_manager import LogManager


class MetadataView(Protocol):
    """The cluster as this node knows it; the image is replaced as a whole, never changed."""

    @property
    def image(self) -> MetadataImage: ...


class Services:
    """The parts of a node that handlers work with; the node fills it in before it opens a listener.

    One object for all requests: a handler asks for what it needs by name, and a test fills in only that.
    """

    config: BrokerConfig
    # None: everybody may do everything.
    authorization: Authorization | None = None
    client_quotas: ClientQuotas = UNLIMITED
    credentials: Credentials
    runtime: Runtime
    slicer: Slicer
    cluster_id: str
    node_id: int
    metadata: MetadataView
    replicas: ReplicaManager
    # In this process, active or not; a node that is only a broker has none.
    controller: Controller | None
    controller_channel: ControllerChannel
    quorum: RaftQuorum
    # None: nobody listens for it.
    own_call: OwnCall | None = None
    logs: LogManager
    log_moves: LogMoves
    producer_ids: ProducerIdPool
    fetch_sessions: FetchSessions
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    transaction_partitions: TransactionPartitions
    transaction_markers: TransactionMarkers
    share_states: ShareCoordinator
    share_persister: SharePersister
    client_metrics: ClientMetrics
    share_partitions: SharePartitions

    def __init__(self) -> None:
        self.encoded_topics = EncodedTopics()
        self.internal_topics = InternalTopics()
        self.tls: TlsListeners | None = None

    def create_internal_topic(self, name: str) -> Deferred[None]:
        """Settles when the controller has created the topic of a coordinator, or says that there is one."""
        return self.internal_topics.create(self.config, self.controller_channel.ask, name)


class RequestContext:
    """One request on its way through a handler."""

    __slots__ = ("api_key", "client_id", "connection", "correlation_id", "services", "version")

    def __init__(
        self,
        connection: Connection,
        services: Services,
        api_key: int,
        version: int,
        correlation_id: int,
        client_id: str | None,
    ) -> None:
        self.connection = connection
        self.services = services
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id

    @property
    def api_version(self) -> int:
        return self.version

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name

    @property
    def peer(self) -> tuple[str, int]:
        return self.connection.peer

    @property
    def principal(self) -> Principal:
        return self.connection.principal


def request_info(context: RequestContext, visible: Visible | None = None) -> RequestInfo:
    """Who asks, in the words of the group coordinator; `visible` says which topics he may know of."""
    # Kafka writes an address with a slash before it, and so do the tools that print it.
    return context.services.groups.info(context.client_id, f"/{context.peer[0]}", context.version, visible)
