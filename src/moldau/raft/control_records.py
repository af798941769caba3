"""The control records in which the quorum writes down its leaders and voters, and what they say when they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from moldau.errors import ProtocolError
from moldau.protocol.message import Message
from moldau.protocol.messages.kraft_version_record import KRaftVersionRecord
from moldau.protocol.messages.leader_change_message import LeaderChangeMessage
from moldau.protocol.messages.leader_change_message import Voter as ChangeVoter
from moldau.protocol.messages.voters_record import Endpoint as RecordEndpoint
from moldau.protocol.messages.voters_record import KRaftVersionFeature, VotersRecord
from moldau.protocol.messages.voters_record import Voter as RecordVoter
from moldau.protocol.records import ControlType, Record, control_type
from moldau.raft.voters import Endpoint, ReplicaKey, Voter, VoterChange, VoterSet

ControlRecord = tuple[ControlType, Message]
_VERSION: Final = 0


def leader_change(leader_id: int, voters: Iterable[int], granted_by: Iterable[int]) -> ControlRecord:
    """The first record of every epoch: an epoch is not settled before something in it is committed.

    There is a version 1, which names directories, too. Kafka's nodes take every such record for version 0, whatever
    it says of itself, and stop at one that is not.
    """
    message = LeaderChangeMessage(
        version=_VERSION,
        leader_id=leader_id,
        voters=[ChangeVoter(voter_id=id) for id in voters],
        granting_voters=[ChangeVoter(voter_id=id) for id in granted_by],
    )
    return ControlType.LEADER_CHANGE, message


def kraft_version_record(kraft_version: int) -> ControlRecord:
    return ControlType.KRAFT_VERSION, KRaftVersionRecord(version=_VERSION, kraft_version=kraft_version)


def voters_record(voters: VoterSet) -> ControlRecord:
    message = VotersRecord(
        version=_VERSION,
        voters=[
            RecordVoter(
                voter_id=voter.key.id,
                voter_directory_id=voter.key.directory,
                endpoints=[RecordEndpoint(name=e.name, host=e.host, port=e.port) for e in voter.endpoints],
                kraft_version_feature=KRaftVersionFeature(
                    min_supported_version=voter.min_version, max_supported_version=voter.max_version
                ),
            )
            for voter in voters
        ],
    )
    return ControlType.KRAFT_VOTERS, message


def encoded(record: ControlRecord) -> bytes:
    """The value of the record."""
    return record[1].encode(_VERSION)


def read_change(record: Record, offset: int) -> VoterChange | None:
    """What a control record says about the voters, if it does."""
    type, value = control_type(record), record.value
    if type not in (ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS):
        return None
    if value is None:
        raise ProtocolError("a control record of the quorum has no value")
    if type == ControlType.KRAFT_VERSION:
        return VoterChange(offset, kraft_version=KRaftVersionRecord.decode(value, _VERSION).kraft_version)
    message = VotersRecord.decode(value, _VERSION)
    return VoterChange(offset, VoterSet(_voter(voter) for voter in message.voters))


def _voter(voter: RecordVoter) -> Voter:
    feature = voter.kraft_version_feature
    return Voter(
        ReplicaKey(voter.voter_id, voter.voter_directory_id),
        tuple(Endpoint(e.name, e.host, e.port) for e in voter.endpoints),
        feature.min_supported_version,
        feature.max_supported_version,
    )
