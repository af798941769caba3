"""The controller: every operation that changes the cluster's metadata, the timer that fences silent brokers, and those
that bring leaders home.

Operations take the requests as they come from the wire and return the response for when it is committed; see
`write_path` for how. The decisions themselves are in the file of their noun.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.controller import lifecycle
from moldau.controller.acls import Removed
from moldau.controller.client_quotas import QuotaChange
from moldau.controller.configs import UNCLEAN_ELECTION, Outcome, ResourceChange
from moldau.controller.decision import Charge, Decision, free
from moldau.controller.directories import assign_replicas
from moldau.controller.features import Nodes, QuorumFeatures, QuorumOfThisNode
from moldau.controller.periodic import PeriodicDecision
from moldau.controller.sessions import GRACE_SECONDS, BrokerSessions, Way
from moldau.controller.state import ControllerState
from moldau.controller.write_path import WritePath
from moldau.deferred import Deferred, failed, mapped
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION, bootstrap_records
from moldau.metadata.producer_id_pool import ProducerIdBlock
from moldau.metadata.records import AbortTransactionRecord, ConfigRecord, FeatureLevelRecord, Message
from moldau.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from moldau.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from moldau.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from moldau.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from moldau.raft.progress import CHECK_QUORUM_FACTOR
from moldau.raft.quorum import MetadataQuorum
from moldau.runtime.ports import Clock, Loop, Random, TimerHandle
from moldau.security.acl import Acl, AclFilter
from moldau.slicing import Slicer, Work

logger = logging.getLogger("moldau.controller")

# Before a broker counts as silent, what it may have said and nobody has read yet is read.
_SECOND_LOOK_SECONDS: Final = 0.05


class Controller(WritePath):
    """With `has_local_broker`, the broker of the same id lives in this process (see `BrokerSessions`). `bootstrap` are
    the first records of an empty log, where it was formatted with other feature levels than a new cluster has."""

    def __init__(
        self,
        cluster_id: str,
        config: BrokerConfig,
        quorum: MetadataQuorum,
        clock: Clock,
        loop: Loop,
        random: Random,
        *,
        has_local_broker: bool = True,
        slicer: Slicer | None = None,
        bootstrap: Sequence[Message] = (),
        quorum_features: QuorumFeatures | None = None,
    ) -> None:
        self.node_id = quorum.node_id
        self.cluster_id = cluster_id
        self._config = config
        self.sessions = BrokerSessions(
            clock,
            config.broker_session_timeout_ms / 1000,
            quorum.node_id if has_local_broker else None,
            CHECK_QUORUM_FACTOR * config.controller_quorum_fetch_timeout_ms / 1000,
        )
        self._clock = clock
        self._expiry_timer: TimerHandle | None = None
        self._expiry_due = 0.0
        self._former_leader = -1
        self._bootstrap = bootstrap
        self._quorum_features = QuorumOfThisNode() if quorum_features is None else quorum_features
        self._unclean = PeriodicDecision(
            loop,
            "unclean elections",
            config.unclean_leader_election_interval_ms / 1000,
            lambda: self.run(self.state.leadership.elect_unclean),
        )
        self._balance = PeriodicDecision(
            loop,
            "which leaders move back",
            config.leader_imbalance_check_interval_seconds,
            lambda: self.run(self.state.leadership.balance),
        )
        self._token_sweep = PeriodicDecision(
            loop,
            "which delegation tokens have run out",
            config.delegation_token_expiry_check_interval_ms / 1000,
            lambda: self.run(self.state.tokens.sweep),
        )
        slicer = Slicer(loop, clock) if slicer is None else slicer
        super().__init__(
            quorum, loop, slicer, lambda: ControllerState(cluster_id, config, self.sessions, random, clock)
        )

    # ------------------------------------------------------------------------------------------------------ topics

    def create_topics(self, request: CreateTopicsRequest, charge: Charge = free) -> Deferred[CreateTopicsResponse]:
        alike: dict[str, str] = {}
        try:
            portions = self.state.topics.in_turns(request)
        except KafkaError as error:
            return failed(error)
        created = self.run_in_turns(
            portions,
            lambda topics: self.state.topics.create(topics, alike, charge, validate_only=request.validate_only),
            request.timeout_ms,
        )
        return mapped(created, lambda rows: CreateTopicsResponse(topics=list(chain.from_iterable(rows))))

    def delete_topics(
        self, request: DeleteTopicsRequest, version: int, charge: Charge = free
    ) -> Deferred[DeleteTopicsResponse]:
        if not self._config.delete_topic_enable:
            code = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
            return failed(KafkaError(code, "Topics cannot be deleted: delete.topic.enable is false."))
        portions = self.state.topics.deletions_in_turns(request)
        deleted = self.run_in_turns(portions, lambda asked: self.state.topics.delete(asked, charge), request.timeout_ms)
        return mapped(deleted, lambda rows: DeleteTopicsResponse(responses=list(chain.from_iterable(rows))))

    def create_partitions(
        self, request: CreatePartitionsRequest, charge: Charge = free
    ) -> Deferred[CreatePartitionsResponse]:
        try:
            portions = self.state.partitions.in_turns(request)
        except KafkaError as error:
            return failed(error)
        created = self.run_in_turns(
            portions,
            lambda topics: self.state.partitions.create(topics, charge, validate_only=request.validate_only),
            request.timeout_ms,
        )
        return mapped(created, lambda rows: CreatePartitionsResponse(results=list(chain.from_iterable(rows))))

    def alter_partition(self, request: AlterPartitionRequest, version: int) -> Deferred[AlterPartitionResponse]:
        return self.run(lambda: self.state.partitions.alter(request, version))

    def elect_leaders(self, request: ElectLeadersRequest) -> Deferred[ElectLeadersResponse]:
        return self.run(lambda: self.state.leadership.elect_leaders(request), request.timeout_ms)

    def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> Deferred[AlterPartitionReassignmentsResponse]:
        return self.run(lambda: self.state.reassignments.alter(request), request.timeout_ms)

    def list_partition_reassignments(
        self, request: ListPartitionReassignmentsRequest
    ) -> Deferred[ListPartitionReassignmentsResponse]:
        return self.run(lambda: self.state.reassignments.ongoing(request), request.timeout_ms)

    def assign_replicas_to_dirs(self, request: AssignReplicasToDirsRequest) -> Deferred[AssignReplicasToDirsResponse]:
        return self.run(lambda: assign_replicas(self.state, request))

    # -------------------------------------------------------------------------------------------------------- acls

    def create_acls(self, acls: Sequence[Acl]) -> Deferred[list[KafkaError | None]]:
        return self.run(lambda: self.state.acls.create(acls))

    def delete_acls(self, filters: Sequence[AclFilter]) -> Deferred[list[Removed]]:
        return self.run(lambda: self.state.acls.delete(filters))

    # ------------------------------------------------------------------------------------------------------ quotas

    def alter_client_quotas(
        self, changes: Sequence[QuotaChange], *, validate_only: bool
    ) -> Deferred[list[KafkaError | None]]:
        return self.run(lambda: self.state.client_quotas.alter(changes, validate_only=validate_only))

    # ----------------------------------------------------------------------------------------------------- configs

    def incremental_alter_configs(
        self, changes: list[ResourceChange], *, validate_only: bool
    ) -> Deferred[list[Outcome]]:
        return self._configure(lambda: self.state.configs.incremental(changes, validate_only=validate_only))

    def alter_configs(self, changes: list[ResourceChange], *, validate_only: bool) -> Deferred[list[Outcome]]:
        return self._configure(lambda: self.state.configs.replace(changes, validate_only=validate_only))

    def _configure(self, decide: Callable[[], Decision[list[Outcome]]]) -> Deferred[list[Outcome]]:
        def decided() -> Decision[list[Outcome]]:
            decision = self.state.leadership.with_eligible_cleared(decide())
            if any(isinstance(record, ConfigRecord) and record.name == UNCLEAN_ELECTION for record in decision.records):
                # Partitions that wait for a leader may have been allowed to go on.
                self._unclean.hasten()
            return decision

        return self.run(decided)

    def update_features(self, request: UpdateFeaturesRequest, version: int) -> Deferred[UpdateFeaturesResponse]:
        def decide() -> Decision[UpdateFeaturesResponse]:
            state, quorum = self.state, self._quorum_features
            brokers, controllers = state.brokers.registrations.values(), state.controllers.registrations.values()
            nodes = Nodes(brokers, controllers, quorum.voter_ids(), self.node_id)
            decision = state.features.update(request, version, nodes, quorum)
            if _enables_eligible_leaders(decision.records):
                return decision._replace(records=[*state.configs.records_for_eligible_leaders(), *decision.records])
            return decision

        return self.run(decide, request.timeout_ms)

    # ----------------------------------------------------------------------------------------------------- brokers

    def register_controller(self, request: ControllerRegistrationRequest) -> Deferred[ControllerRegistrationResponse]:
        return self.run(lambda: self.state.controllers.register(request, self.state.features))

    def register_broker(
        self, request: BrokerRegistrationRequest, version: int = BrokerRegistrationRequest.MAX_VERSION
    ) -> Deferred[BrokerRegistrationResponse]:
        answer = self.run(lambda: lifecycle.register(self.state, request, self._quorum.end_offset, version))
        self._watch_sessions()
        return answer

    def broker_heartbeat(
        self, request: BrokerHeartbeatRequest, way: Way | None = None
    ) -> Deferred[BrokerHeartbeatResponse]:
        """`way` is the connection of a broker that would beat again at once if it lost that; see `disconnected`."""

        def answered(_value: BrokerHeartbeatResponse | None, error: BaseException | None) -> None:
            if error is not None:
                # What it meant for very many partitions may have been written in part.
                self.sessions.owe(request.broker_id)
            if way is not None and not way.is_open():
                self._watch_sessions(anew=True)

        answer = self.run(lambda: lifecycle.heartbeat(self.state, request, self._quorum.end_offset, way))
        answer.then(answered)
        self._watch_sessions()
        return answer

    def disconnected(self, broker_id: int, way: Way) -> None:
        self.sessions.disconnected(broker_id, way)
        self._watch_sessions(anew=True)

    def metadata_fetched(self, node_id: int) -> None:
        """A node of ours follows the log. If a broker is part of it, that lives; see `BrokerSessions`."""
        ends_at = self.sessions.fetched(node_id)
        if ends_at is not None and ends_at < self._expiry_due:
            self._watch_sessions(anew=True)

    def unregister_broker(self, request: UnregisterBrokerRequest) -> Deferred[UnregisterBrokerResponse]:
        return self.run(lambda: lifecycle.unregister(self.state, request))

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> Deferred[ProducerIdBlock]:
        def decide() -> Decision[ProducerIdBlock]:
            self.state.brokers.check_epoch(broker_id, broker_epoch)
            return self.state.producer_ids.allocate(broker_id, broker_epoch)

        return self.run(decide)

    # -------------------------------------------------------------------------------------------------- leadership

    def activated(self) -> None:
        logger.info("node %d is the active controller", self.node_id)
        for broker in self.state.brokers.registrations.values():
            self.sessions.register(broker.id, fenced=broker.fenced, new_incarnation=True)
        # Most voters have not heard of it for too long. If it is a broker and lives, it is heard of now.
        self.sessions.hasten(self._former_leader)
        if self.state.in_transaction:
            # Its writer is gone and nobody else can end it.
            self.append([AbortTransactionRecord(reason="The controller changed.")])
        if self.state.features.is_empty:
            self.append(self._first_records())
        self._unclean.start()
        if self._config.auto_leader_rebalance_enable:
            self._balance.start()
        if self._config.delegation_token_secret_key is not None:
            self._token_sweep.start()
        self._watch_sessions()

    def _first_records(self) -> list[Message]:
        records: list[Message] = list(self._bootstrap) or [*bootstrap_records()]
        if _enables_eligible_leaders(records):
            records += self.state.configs.records_for_eligible_leaders()
        return records

    def renounced(self) -> None:
        logger.info("node %d is no longer the active controller", self.node_id)
        self.sessions.clear()
        self._unclean.stop()
        self._balance.stop()
        self._token_sweep.stop()
        self._cancel_expiry()

    def on_leader(self, leader_id: int, epoch: int) -> None:
        super().on_leader(leader_id, epoch)
        if leader_id >= 0:
            self._former_leader = leader_id

    # --------------------------------------------------------------------------------------------- silent brokers

    def _watch_sessions(self, *, anew: bool = False) -> None:
        """Keeps one timer at the next moment a broker's session can run out, `anew` if that may have come nearer."""
        if anew:
            self._cancel_expiry()
        if self._expiry_timer is None and self.is_active:
            delay = self.sessions.seconds_to_next_expiry()
            if delay is not None:
                # A little later than the moment itself, so that it has passed.
                self._expiry_due = self._clock.monotonic() + delay + 0.001
                self._expiry_timer = self._loop.call_later(delay + 0.001, self._look_again)

    def _cancel_expiry(self) -> None:
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
            self._expiry_timer = None

    def _look_again(self) -> None:
        late = self._clock.monotonic() - self._expiry_due
        if late > GRACE_SECONDS:
            # This process stood still, and heard nobody.
            self.sessions.prolong(late + GRACE_SECONDS)
        self._expiry_timer = self._loop.call_later(_SECOND_LOOK_SECONDS, self._expire_sessions)

    def _expire_sessions(self) -> None:
        self._expiry_timer = None
        # One at a time: fencing the first may change where the partitions of the next can go.
        stale = self.sessions.stale()
        if stale is None:
            self._watch_sessions()
            return

        def fenced(_value: None, error: BaseException | None) -> None:
            if error is not None:
                logger.error("a silent broker could not be fenced: %s", error)
                if self.is_active and stale in self.state.brokers.registrations:
                    # Once more when as much time has passed again.
                    self.sessions.touch(stale, fenced=False, metadata_offset=-1)
            self._watch_sessions()

        self.run(lambda: self._fence(stale)).then(fenced)

    def _fence(self, broker_id: int) -> Work[Decision[None]]:
        if not self.sessions.is_stale(broker_id):
            # It had to wait for its turn, and a heartbeat that came in time stood before it.
            return Decision([], None)
        logger.warning("broker %d is fenced: it has not been heard of for too long", broker_id)
        records = yield from lifecycle.fence_broker(self.state, broker_id)
        self.sessions.touch(broker_id, fenced=True, metadata_offset=-1)
        return Decision(records, None, atomic=False)


def _enables_eligible_leaders(records: Iterable[Message]) -> bool:
    return any(
        isinstance(record, FeatureLevelRecord)
        and record.name == ELIGIBLE_LEADER_REPLICAS_VERSION
        and record.feature_level > 0
        for record in records
    )
