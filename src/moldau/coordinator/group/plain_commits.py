"""The short way of small offset commits: decided, written and applied at once, alone or several together.

What arrives in one turn of the loop for one partition of `__consumer_offsets` is one batch. Nobody waits for others:
a turn is what had arrived when it began. Whatever is refused or needs a second thought is left, untouched, to
`GroupCoordinator.commit_offsets`, which knows all cases and all answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from moldau import _speed
from moldau.coordinator.group.offset_commit import PlainCommit
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.write_path import ShardWriter
from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.runtime.ports import Clock

if _speed.COMPILED:
    from moldau._speed.commits import offset_batch


class PlainCommits:
    def __init__(self, runtime: CoordinatorRuntime[GroupShard], clock: Clock) -> None:
        self._runtime = runtime
        self._clock = clock

    def commit(self, commit: PlainCommit) -> Deferred[None] | Literal[True] | None:
        """True if it is done, or what comes of it; None if it is left, and nothing has changed."""
        writer = self._runtime.idle_writer(commit.group_id)
        if writer is None or not writer.shard.commits.admits(commit):
            return None
        return self._write(writer, [commit], self._clock.now_ms())

    def commit_together(self, commits: Sequence[PlainCommit | None]) -> list[bool]:
        """Of each, whether it is done; the others are left, and so is what would have to wait for other brokers."""
        taken = [False] * len(commits)
        sharing: dict[ShardWriter[GroupShard], list[tuple[int, PlainCommit]]] = {}
        for place, commit in enumerate(commits):
            if commit is None:
                continue
            writer = self._runtime.idle_writer(commit.group_id)
            if writer is not None and writer.role.has_runs and writer.shard.commits.admits(commit):
                sharing.setdefault(writer, []).append((place, commit))
        now = self._clock.now_ms()
        for writer, admitted in sharing.items():
            if self._write(writer, [commit for _, commit in admitted], now) is True:
                for place, _ in admitted:
                    taken[place] = True
        return taken

    def _write(
        self, writer: ShardWriter[GroupShard], commits: list[PlainCommit], now: int
    ) -> Deferred[None] | Literal[True] | None:
        """Writes what the shard admits, in one batch. None also where that would be too large: one by one they may
        fit, and if one does not, its answer says so."""
        batch = offset_batch(commits, now)
        if batch is None:
            return None
        offsets = writer.shard.commits

        def replay(first: int) -> None:
            offsets.replay_plainly(commits, now, first)

        try:
            written = writer.write_encoded(batch, sum(len(commit.rows) for commit in commits), now, replay)
        except KafkaError:
            return None
        return True if written is None else written
