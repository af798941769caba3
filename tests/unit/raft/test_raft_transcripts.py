"""Quorums as a play: each line an event, below it what every member says (MOLDAU_REWRITE_TRANSCRIPTS=1 writes that).

voters N            how many there are; they start
wait SECONDS        time passes
append TEXT         at the leader
crash N, start N    a node dies and loses what was not forced to disk; it comes back
cut N               nothing reaches the node and nothing leaves it; `heal` mends all links
snapshot N          of what was committed
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from raft_simulation import RaftWorld

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


class Stage:
    def __init__(self, voters: int) -> None:
        self.world = RaftWorld(7, voters=voters)
        self.world.is_faulty = False
        for host in self.world.hosts.values():
            host.fsync_seconds, host.most_entries = (0.001, 0.002), 8
            host.start(self.world.clock(host))

    def play(self, words: list[str]) -> list[str]:
        world = self.world
        if words[0] == "wait":
            world.run_until(world.now + float(words[1]))
        elif words[0] == "append":
            leader = world.leader()
            assert leader is not None
            world.append(leader, words[1])
            world.run_until(world.now + 0.2)
        elif words[0] == "crash":
            world.hosts[int(words[1])].crash()
        elif words[0] == "start":
            world._restart(world.hosts[int(words[1])])
        elif words[0] == "cut":
            one = int(words[1])
            world._cut |= {pair for id in world.hosts for pair in ((one, id), (id, one))}
        elif words[0] == "heal":
            world._cut.clear()
        elif words[0] == "snapshot":
            world.hosts[int(words[1])].take_snapshot()
        return [self._shown(id) for id in world.hosts]

    def _shown(self, id: int) -> str:
        host = self.world.hosts[id]
        if host.machine is None:
            return f"{id} is down"
        member = host.machine.member
        log = [str(entry.payload) for entry in host.log.entries]
        begin = f"snapshot to {host.log.start_offset}, " if host.log.base else ""
        text = f"{id} {type(member.role).__name__} epoch {member.epoch}, leader {member.leader_id}: "
        return text + begin + f"{' '.join(log) or '-'}, committed {member.high_watermark}"


def play(text: str) -> str:
    stage: Stage | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            continue
        lines.append(line)
        words = line.split()
        if words and words[0] == "voters":
            stage = Stage(int(words[1]))
        elif words and not line.startswith("#"):
            assert stage is not None
            lines += [f"> {answer}" for answer in stage.play(words)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    written = path.read_text()
    played = play(written)
    if os.environ.get("MOLDAU_REWRITE_TRANSCRIPTS"):
        path.write_text(played)
    assert played == written
