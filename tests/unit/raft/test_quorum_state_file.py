"""The quorum-state file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moldau.raft.quorum_state import QuorumState, QuorumStateError, read_quorum_state, write_quorum_state
from moldau.runtime.disk import RealDisk


def test_it_is_written_as_kafka_writes_it(tmp_path: Path) -> None:
    write_quorum_state(RealDisk(), str(tmp_path), QuorumState(1, 7, voters=(1,)))
    assert json.loads((tmp_path / "quorum-state").read_text()) == {
        "clusterId": "",
        "leaderId": 1,
        "leaderEpoch": 7,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": 1}],
        "data_version": 0,
    }
    assert read_quorum_state(RealDisk(), str(tmp_path)) == QuorumState(1, 7, voters=(1,))


def test_the_newer_form_is_read(tmp_path: Path) -> None:
    (tmp_path / "quorum-state").write_text(
        '{"leaderId":3000,"leaderEpoch":12,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAABA","data_version":1}'
    )
    state = read_quorum_state(RealDisk(), str(tmp_path))
    assert state == QuorumState(3000, 12, 2, bytes(15) + b"\x04", ())


def test_a_node_that_never_took_part_knows_nothing(tmp_path: Path) -> None:
    assert read_quorum_state(RealDisk(), str(tmp_path)) == QuorumState()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"data_version":2}', '{"data_version":0,"leaderId":"x"}', '{"data_version":0}', "\x00"],
)
def test_a_damaged_file_is_not_guessed_at(tmp_path: Path, content: str) -> None:
    (tmp_path / "quorum-state").write_text(content)
    with pytest.raises(QuorumStateError):
        read_quorum_state(RealDisk(), str(tmp_path))
