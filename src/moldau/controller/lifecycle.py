"""A broker comes, stays, hands over its partitions and leaves: the decisions, and what they mean for its partitions.

Each may concern all partitions of the cluster, so each is work that pauses.
"""

from __future__ import annotations

from moldau.controller.decision import Decision
from moldau.controller.elections import updates_for_broker
from moldau.controller.sessions import BrokerState
from moldau.controller.state import ControllerState
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import BrokerRegistrationChangeRecord, Message, UnregisterBrokerRecord
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from moldau.slicing import Work
from moldau.types import Uuid

_UNFENCE, _FENCE = -1, 1


def register(
    state: ControllerState, request: BrokerRegistrationRequest, new_epoch: int
) -> Work[Decision[BrokerRegistrationResponse]]:
    existing = state.brokers.check_registration(request)
    record = state.brokers.registration_record(request, existing, new_epoch, state.features.finalized)
    records: list[Message] = []
    if existing is not None and existing.incarnation_id != request.incarnation_id:
        # Nobody said goodbye for the old incarnation: what it led and was in sync for, the new one has to earn.
        records += yield from updates_for_broker(state.partitions_of_topics(), state.brokers, leaving=request.broker_id)
    records.append(record)
    return Decision(records, BrokerRegistrationResponse(broker_epoch=record.broker_epoch), atomic=False)


def heartbeat(
    state: ControllerState, request: BrokerHeartbeatRequest, next_offset: int
) -> Work[Decision[BrokerHeartbeatResponse]]:
    broker_id, sessions = request.broker_id, state.brokers.sessions
    broker = state.brokers.check_epoch(broker_id, request.broker_epoch)
    registered_at = state.brokers.registered_at(broker_id)
    # A new controller knows the brokers from the log but has no sessions with them yet.
    sessions.touch(broker_id, fenced=broker.fenced, metadata_offset=request.current_metadata_offset)
    leaves = request.want_shut_down or sessions.is_shutting_down(broker_id)
    leads = leaves and (yield from leads_partitions(state, broker_id))
    now, then = sessions.next_state(
        broker_id,
        wants_fence=request.want_fence,
        wants_shutdown=request.want_shut_down,
        metadata_offset=request.current_metadata_offset,
        registration_offset=registered_at,
        leads=leads,
    )
    records: list[Message] = []
    # After one that failed half-way the rest is made up for.
    owed = sessions.take_owed(broker_id)
    if now is not then or owed:
        if then is BrokerState.UNFENCED:
            records += yield from unfence_broker(state, broker_id)
        elif then is BrokerState.CONTROLLED_SHUTDOWN:
            records += yield from _start_shutdown(state, broker_id)
            # The others must have followed the log up to the last of these records.
            sessions.begin_shutdown(broker_id, next_offset + len(records) - 1)
        else:
            records += yield from fence_broker(state, broker_id)
    fenced = then in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)
    if fenced:
        sessions.touch(broker_id, fenced=True, metadata_offset=request.current_metadata_offset)
    elif then is BrokerState.UNFENCED:
        sessions.touch(broker_id, fenced=False, metadata_offset=request.current_metadata_offset)
    records += yield from _directories_offline(state, broker_id, request.offline_log_dirs)
    return Decision(
        records,
        BrokerHeartbeatResponse(
            is_caught_up=request.current_metadata_offset >= registered_at,
            is_fenced=fenced,
            should_shut_down=then is BrokerState.SHUTDOWN_NOW,
        ),
        atomic=False,
    )


def unregister(state: ControllerState, request: UnregisterBrokerRequest) -> Work[Decision[UnregisterBrokerResponse]]:
    broker = state.brokers.registrations.get(request.broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"There is no broker {request.broker_id}.")
    records: list[Message] = []
    records += yield from updates_for_broker(state.partitions_of_topics(), state.brokers, leaving=broker.id)
    records.append(UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch))
    return Decision(records, UnregisterBrokerResponse(error_message=None), atomic=False)


def leads_partitions(state: ControllerState, broker_id: int) -> Work[bool]:
    for _, _, partition in state.topics.partitions():
        if partition.leader == broker_id:
            return True
        yield
    return False


def fence_broker(state: ControllerState, broker_id: int) -> Work[list[Message]]:
    """First its partitions move, then it is fenced: in no prefix of the records does a fenced broker lead."""
    broker = state.brokers.registrations[broker_id]
    records: list[Message] = []
    records += yield from updates_for_broker(state.partitions_of_topics(), state.brokers, leaving=broker_id)
    if not broker.fenced:
        records.append(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_FENCE))
    return records


def unfence_broker(state: ControllerState, broker_id: int) -> Work[list[Message]]:
    """First it is unfenced, then it is given the partitions that wait for a leader."""
    broker = state.brokers.registrations[broker_id]
    records: list[Message] = []
    if broker.fenced:
        records.append(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_UNFENCE))
    leaderless = []
    for entry in state.partitions_of_topics():
        if not entry[1].has_leader:
            leaderless.append(entry)
        yield
    records += yield from updates_for_broker(leaderless, state.brokers, joining=broker_id)
    return records


def _start_shutdown(state: ControllerState, broker_id: int) -> Work[list[Message]]:
    broker = state.brokers.registrations[broker_id]
    records: list[Message] = []
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, in_controlled_shutdown=1)
        )
    records += yield from updates_for_broker(state.partitions_of_topics(), state.brokers, leaving=broker_id)
    return records


def _directories_offline(state: ControllerState, broker_id: int, offline: list[Uuid]) -> Work[list[Message]]:
    """A disk failed: the replicas on it are no longer in sync and cannot lead."""
    broker = state.brokers.registrations[broker_id]
    lost = set(offline).intersection(broker.directories)
    if not lost:
        return []
    on_lost_disks = []
    for entry in state.partitions_of_topics():
        if broker_id in entry[1].replicas and entry[1].directory(broker_id) in lost:
            on_lost_disks.append(entry)
        yield
    records: list[Message] = []
    records += yield from updates_for_broker(on_lost_disks, state.brokers, leaving=broker_id)
    records.append(
        BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=broker.epoch,
            log_dirs=[directory for directory in broker.directories if directory not in lost],
        )
    )
    return records
