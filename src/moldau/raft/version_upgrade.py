"""kraft.version from 0 to 1: voters that stood in everybody's settings come to stand in the log, and may change there.

The settings name no directories and no versions, so the leader has to hear both from every voter: each tells it once in
an epoch (UpdateRaftVoter), and it remembers that until the epoch ends. When all of them can go along, one batch says
both that the version is 1 and who the voters are. They are the same nodes, so both sets have the same majorities.
"""

from __future__ import annotations

from moldau.errors import ErrorCode, KafkaError
from moldau.raft.control_records import kraft_version_record, voters_record
from moldau.raft.member import Member
from moldau.raft.roles import Leader
from moldau.raft.voters import Voter, VoterSet
from moldau.types import ZERO_UUID


class VersionUpgrade:
    def __init__(self, member: Member) -> None:
        self._member = member

    def report(self, role: Leader, voter: Voter) -> ErrorCode:
        """A voter says from which directory it votes, where it is reached and what it understands."""
        if not self._member.voters.has(voter.key):
            return ErrorCode.VOTER_NOT_FOUND
        role.reported[voter.key.id] = voter
        return ErrorCode.NONE

    def run(self, level: int, *, validate_only: bool) -> None:
        """KafkaError, and nothing happens, unless every voter can go along."""
        member, role = self._member, self._member.role
        if not isinstance(role, Leader) or not role.is_settled:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        current = member.history.kraft_version
        if level == current:
            return
        if level < current:
            raise _refused(level, f"it is {current} and cannot go down")
        voters = VoterSet(self._known(role, voter.key.id, level) for voter in member.voters)
        if not validate_only:
            member.append_control([kraft_version_record(level), voters_record(voters)], voters, level)
            role.progress.change_voters(member.voters)
            role.progress.forced(min(member.flushed, member.end.offset))

    def _known(self, role: Leader, id: int, level: int) -> Voter:
        member = self._member
        voter = member.local if id == member.key.id else role.reported.get(id)
        if voter is None:
            raise _refused(level, f"voter {id} has not told this leader yet which versions it understands")
        if voter.key.directory == ZERO_UUID:
            raise _refused(level, f"the metadata directory of voter {id} has no id")
        if voter.address(member.settings.listener) is None:
            raise _refused(level, f"voter {id} has no endpoint for the listener {member.settings.listener}")
        if not voter.min_version <= level <= voter.max_version:
            raise _refused(level, f"voter {id} understands {voter.min_version} to {voter.max_version}")
        return voter


def _refused(level: int, why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"kraft.version cannot be {level}: {why}.")
