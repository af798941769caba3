"""The file `quorum-state`: what a voter must not forget about elections, as Kafka writes it.

One line of JSON. Version 0 lists the voters; version 1, of a quorum whose voters stand in the log, names the directory
of the vote instead. It is forced to disk before the node acts on it: a voter that forgot its epoch after a crash could
vote twice in it.
"""

from __future__ import annotations

import json
import posixpath
from typing import Final, NamedTuple

from moldau.errors import MoldauError
from moldau.runtime.ports import Disk
from moldau.storage.checkpoint import replace_file
from moldau.types import ZERO_UUID, Uuid, uuid_from_text, uuid_to_text

FILE_NAME: Final = "quorum-state"
_KNOWN_VERSIONS: Final = (0, 1)


class QuorumStateError(MoldauError):
    """The file does not say what it should."""


class QuorumState(NamedTuple):
    leader_id: int = -1
    leader_epoch: int = 0
    voted_id: int = -1
    voted_directory_id: Uuid = ZERO_UUID
    voters: tuple[int, ...] = ()


def read_quorum_state(disk: Disk, directory: str) -> QuorumState:
    """What was known before; a node that never took part knows nothing."""
    path = posixpath.join(directory, FILE_NAME)
    if not disk.exists(path):
        return QuorumState()
    try:
        content = json.loads(disk.read_file(path))
        version = content["data_version"]
        if version not in _KNOWN_VERSIONS:
            raise QuorumStateError(f"{path} has version {version}; versions 0 and 1 are understood.")
        directory_id = content.get("votedDirectoryId")
        return QuorumState(
            leader_id=int(content["leaderId"]),
            leader_epoch=int(content["leaderEpoch"]),
            voted_id=int(content["votedId"]),
            voted_directory_id=ZERO_UUID if directory_id is None else uuid_from_text(directory_id),
            voters=tuple(int(voter["voterId"]) for voter in content.get("currentVoters") or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuorumStateError(f"{path} cannot be read: {error!r}.") from error


def write_quorum_state(disk: Disk, directory: str, state: QuorumState, version: int = 0) -> None:
    content: dict[str, object] = {
        "leaderId": state.leader_id,
        "leaderEpoch": state.leader_epoch,
        "votedId": state.voted_id,
        "data_version": version,
    }
    if version == 0:
        voters = [{"voterId": voter} for voter in state.voters]
        content = {"clusterId": "", **content, "appliedOffset": 0, "currentVoters": voters}
    else:
        content["votedDirectoryId"] = uuid_to_text(state.voted_directory_id)
    text = json.dumps(content, separators=(",", ":"))
    replace_file(disk, posixpath.join(directory, FILE_NAME), text.encode())
