"""A broker comes, stays, hands over its partitions and leaves: the decisions, and what they mean for its partitions.

Each concerns any number of partitions, those the broker holds, so each is work that pauses.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from moldau.controller.decision import Decision
from moldau.controller.directories import cordon_directories, lose_directories
from moldau.controller.partition_index import PartitionKey
from moldau.controller.sessions import BrokerState, Way
from moldau.controller.state import ControllerState
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import BrokerRegistrationChangeRecord, Message, UnregisterBrokerRecord
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from moldau.slicing import Work
from moldau.types import Uuid

_UNFENCE, _FENCE = -1, 1
# The version of BrokerRegistration that says which epoch the broker had when it last stopped in good order.
_PREVIOUS_EPOCH_SINCE: Final = 3


def register(
    state: ControllerState, request: BrokerRegistrationRequest, new_epoch: int, version: int
) -> Work[Decision[BrokerRegistrationResponse]]:
    existing = state.brokers.check_registration(request)
    record = state.brokers.registration_record(request, existing, new_epoch, state.features.finalized)
    records: list[Message] = []
    if existing is None or existing.incarnation_id != request.incarnation_id:
        # Nobody said goodbye for the old incarnation: what it led and was in sync for, the new one has to earn. Its
        # predecessor stopped in good order only if it wrote its epoch down behind all its records.
        epoch = request.previous_broker_epoch if version >= _PREVIOUS_EPOCH_SINCE else None
        clean = existing is not None and existing.epoch == epoch
        records += yield from _leave(state, request.broker_id, complete=clean)
    # Last: whoever fails before it comes again, and so does the work.
    records.append(record)
    return Decision(records, BrokerRegistrationResponse(broker_epoch=record.broker_epoch), atomic=False)


def heartbeat(
    state: ControllerState, request: BrokerHeartbeatRequest, next_offset: int, way: Way | None = None
) -> Work[Decision[BrokerHeartbeatResponse]]:
    broker_id, sessions = request.broker_id, state.brokers.sessions
    broker = state.brokers.check_epoch(broker_id, request.broker_epoch)
    registered_at = state.brokers.registered_at(broker_id)
    # A new controller knows the brokers from the log but has no sessions with them yet.
    sessions.touch(broker_id, fenced=broker.fenced, metadata_offset=request.current_metadata_offset, way=way)
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
    lost = set(request.offline_log_dirs).intersection(broker.directories)
    # After one that failed half-way the rest is made up for.
    owed = sessions.take_owed(broker_id)
    moves = now is not then or owed
    if moves:
        if then is BrokerState.UNFENCED:
            records += yield from unfence_broker(state, broker_id, lost)
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
        sessions.touch(broker_id, fenced=False, metadata_offset=request.current_metadata_offset, way=way)
    if lost:
        # One that comes has not been given what lies there, and one that goes gives up all it has.
        records += yield from lose_directories(state, broker, lost, moves_anyway=moves)
    records += cordon_directories(state, broker, request.cordoned_log_dirs)
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
    records += yield from _leave(state, broker.id, complete=False)
    records.append(UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch))
    return Decision(records, UnregisterBrokerResponse(error_message=None), atomic=False)


def leads_partitions(state: ControllerState, broker_id: int) -> Work[bool]:
    for key in state.topics.index.in_sync(broker_id):
        if state.topics.partition(key)[1].leader == broker_id:
            return True
        yield
    return False


def _leave(state: ControllerState, broker_id: int, *, complete: bool) -> Work[list[Message]]:
    """The broker is in sync for nothing. Unless it is known to be complete it is not eligible either, where there are
    eligible leaders: what it had not written down when it died is gone."""
    index, records = state.topics.index, list[Message]()
    incomplete = () if complete or not state.features.eligible_leaders else (broker_id,)
    records += yield from state.leadership.updates(index.in_sync(broker_id), leaving=broker_id, incomplete=incomplete)
    if incomplete:
        # Not for those above: an in-sync replica is not among the eligible ones.
        eligible = index.eligible(broker_id)
        records += yield from state.leadership.updates(eligible, leaving=broker_id, incomplete=incomplete)
    return records


def fence_broker(state: ControllerState, broker_id: int) -> Work[list[Message]]:
    """First its partitions move, then it is fenced: in no prefix of the records does a fenced broker lead."""
    broker = state.brokers.registrations[broker_id]
    records: list[Message] = []
    records += yield from state.leadership.updates(state.topics.index.in_sync(broker_id), leaving=broker_id)
    if not broker.fenced:
        records.append(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_FENCE))
    return records


def unfence_broker(state: ControllerState, broker_id: int, lost: Container[Uuid] = ()) -> Work[list[Message]]:
    """First it is unfenced, then it is given the partitions that wait for a leader, unless they lie on lost disks."""
    broker = state.brokers.registrations[broker_id]
    records: list[Message] = []
    if broker.fenced:
        records.append(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_UNFENCE))
    leaderless = (key for key in state.topics.index.leaderless if not _lies_in(state, key, broker_id, lost))
    records += yield from state.leadership.updates(leaderless, joining=broker_id)
    return records


def _lies_in(state: ControllerState, key: PartitionKey, broker_id: int, directories: Container[Uuid]) -> bool:
    _, partition = state.topics.partition(key)
    return broker_id in partition.replicas and partition.directory(broker_id) in directories


def _start_shutdown(state: ControllerState, broker_id: int) -> Work[list[Message]]:
    broker = state.brokers.registrations[broker_id]
    records: list[Message] = []
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, in_controlled_shutdown=1)
        )
    records += yield from state.leadership.updates(state.topics.index.in_sync(broker_id), leaving=broker_id)
    return records
