"""Quorums under every misfortune, from a seed: `python tests/unit/raft/raft_simulation.py --seeds 5000`.

Messages are lost, repeated, delayed beyond every timeout and overtake each other; links are cut, one way or both; nodes
crash and lose what was not forced to disk, come back, take snapshots; voters are added and removed, and where they were
fixed they come to stand in the log. Meanwhile clients append. `Invariants` looks at every effect. When the faults stop,
the quorum must come to itself and commit again.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Callable
from typing import Any

from raft_model import Entry, Host

from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.protocol.records import ControlType
from moldau.raft.effects import AppendControl, Deliver, DeliverSnapshot, Effect, LeaderChanged, Reply, Send
from moldau.raft.machine import RaftMachine
from moldau.raft.member import RaftSettings
from moldau.raft.messages import (
    AddVoterRequest,
    BeginEpochRequest,
    RemoveVoterRequest,
    VersionsAnswer,
    VersionsRequest,
    VoteAnswer,
    VoteRequest,
)
from moldau.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet
from moldau.simulation.chance import SeededRandom

LISTENER = "CONTROLLER"
CALM_SECONDS = 6.0
FAULTY_SECONDS = 20.0
HEALING_SECONDS = 30.0


class Broken(AssertionError):
    """An invariant does not hold."""


class Invariants:
    """What must hold whatever happens, checked as it happens."""

    def __init__(self) -> None:
        # By epoch: the node and which of its lives.
        self.leaders: dict[int, tuple[int, int]] = {}
        self.votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self.committed: list[tuple[int, object]] = []
        self.digests: list[int] = [0]

    def witness(self, host: Host, effect: Effect) -> None:
        if isinstance(effect, AppendControl):
            if effect.records[0][0] is ControlType.LEADER_CHANGE:
                self._leaders_have_what_was_committed(host)
        elif isinstance(effect, Deliver):
            self._committed_logs_are_prefixes(host, effect.end_offset)
        elif isinstance(effect, DeliverSnapshot):
            self._snapshots_say_what_was_committed(host)

    def leads(self, host: Host, epoch: int) -> None:
        """It said so, to others or to its own controller."""
        life = (host.id, host.incarnation)
        first = self.leaders.setdefault(epoch, life)
        if first != life:
            raise Broken(f"one leader per epoch: {first[0]} and {host.id} lead epoch {epoch}")

    def _leaders_have_what_was_committed(self, host: Host) -> None:
        log = host.log
        for offset in range(log.start_offset, len(self.committed)):
            if offset >= log.end.offset or log.at(offset)[:2] != self.committed[offset]:
                raise Broken(f"committed entries are never lost: the new leader {host.id} lacks offset {offset}")

    def _committed_logs_are_prefixes(self, host: Host, end_offset: int) -> None:
        for offset in range(max(host.delivered, host.log.start_offset), end_offset):
            entry = host.log.at(offset)[:2]
            if offset == len(self.committed):
                self.committed.append(entry)
                self.digests.append(hash((self.digests[-1], entry)))
            elif offset > len(self.committed) or self.committed[offset] != entry:
                raise Broken(
                    f"committed logs are prefixes of each other: {host.id} has {entry} at offset {offset}, others "
                    f"{self.committed[offset] if offset < len(self.committed) else 'nothing'}"
                )

    def _snapshots_say_what_was_committed(self, host: Host) -> None:
        base = host.log.base
        assert base is not None
        if base.end.offset >= len(self.digests) or self.digests[base.end.offset] != base.digest:
            raise Broken(f"committed logs are prefixes of each other: the snapshot {base.end} at {host.id} is another")

    def voted(self, voter: ReplicaKey, epoch: int, candidate: ReplicaKey) -> None:
        first = self.votes.setdefault((voter, epoch), candidate)
        if first != candidate:
            raise Broken(f"votes once per epoch: {voter.id} voted for {first.id} and {candidate.id} in epoch {epoch}")


def voter(id: int, directory: int = 0) -> Voter:
    key = ReplicaKey(id, bytes([directory + 1]) * 15 + bytes([id]))
    return Voter(key, (Endpoint(LISTENER, "node", id),), 0, 1)


class RaftWorld:
    def __init__(
        self,
        seed: int,
        *,
        voters: int = 3,
        observers: int = 0,
        dynamic: bool = False,
        upgraded: bool = False,
        trace: bool = False,
    ) -> None:
        self.random = SeededRandom(f"raft/{seed}")
        self.now = 0.0
        self.checks = Invariants()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._cut: set[tuple[int, int]] = set()
        self.is_faulty = True
        self._trace = trace
        self.committed_by_clients = 0
        everybody = [voter(id) for id in range(1, voters + observers + 1)]
        self.voters = VoterSet(everybody[:voters])
        static = VoterSet(one._replace(key=ReplicaKey(one.key.id), min_version=0, max_version=0) for one in self.voters)
        settings = RaftSettings(bootstrap_servers=(Address("node", 1), Address("node", 2)))
        # Whether voters change, and whether that is so from the beginning.
        self.dynamic, self.upgraded = dynamic or upgraded, upgraded
        self.rates: dict[int, float] = {}
        self.hosts: dict[int, Host] = {}
        for one in everybody:
            id = one.key.id
            chance = self.random.fork(f"host {id}")
            self.hosts[id] = Host(one, settings, self.voters if dynamic else static, int(dynamic), self, chance)
            self.rates[id] = 0.9 + chance.below(200) / 1000
        # How rough the network is in this run.
        self.loss = self.random.choice([0.0, 0.02, 0.1, 0.25])
        self.repeats = self.random.choice([0.0, 0.05, 0.2])
        self.slow = self.random.choice([0.0, 0.05, 0.2])
        # How often something happens, in milliseconds, and how often just when it hurts most.
        self.pace = self.random.choice([200, 500, 1500])
        self.malice = self.random.choice([0.0, 0.1, 0.3, 0.6])
        slow_disks = self.random.choice([0.0, 0.5, 1.0])
        most_entries = self.random.choice([1, 1, 8])
        for host in self.hosts.values():
            host.most_entries = most_entries
            if self.random.happens(slow_disks):
                host.fsync_seconds = (0.02, self.random.choice([0.2, 0.8]))

    def storm(self) -> None:
        """Nothing but leaders that die just after their election or a commit, while logs are copied slowly."""
        self.pace, self.malice, self.loss, self.slow = 10**7, 0.5, 0.1, 0.0
        for host in self.hosts.values():
            host.most_entries, host.fsync_seconds = 1, (0.01, 0.3)

    # ------------------------------------------------------------------------------------------------------------ time

    def at(self, delay: float, event: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (self.now + delay, self._count, event))

    def run_until(self, end: float) -> None:
        while self._events and self._events[0][0] <= end:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = end

    def clock(self, host: Host) -> float:
        return 1000.0 * host.id + self.now * self.rates[host.id]

    def later(self, host: Host, delay: float, event: Callable[[], None]) -> None:
        incarnation = host.incarnation
        self.at(delay / self.rates[host.id], lambda: event() if host.incarnation == incarnation else None)

    # --------------------------------------------------------------------------------------------------------- network

    def send(self, host: Host, send: Send) -> None:
        request = send.request
        if isinstance(request, VoteRequest) and not request.pre_vote:
            self.checks.voted(host.local.key, request.epoch, host.local.key)
        if isinstance(request, BeginEpochRequest):
            self.checks.leads(host, request.epoch)
        target, token = self.hosts[send.address.port], (host.id, host.incarnation, send.id, request)
        self._log(f"{host.id} -> {target.id} {request}")

        def arrive() -> None:
            if not target.is_up:
                self._carry(target.id, host.id, lambda: self._answered(token, None))
            elif isinstance(request, VersionsRequest):
                self._carry(target.id, host.id, lambda: self._answered(token, VersionsAnswer(ErrorCode.NONE, 0, 1)))
            else:
                now = self.clock(target)
                target.step(lambda machine: machine.receive(request, token, now), now)

        self._carry(host.id, target.id, arrive)

    def reply(self, host: Host, token: Any, answer: Any) -> None:
        sender, _, _, request = token
        if isinstance(answer, VoteAnswer) and answer.granted and not request.pre_vote:
            self.checks.voted(host.local.key, request.epoch, request.candidate)
            self._perhaps_crash(host)
        if answer.standing.leader_id == host.id:
            self.checks.leads(host, answer.standing.epoch)
        self._log(f"{sender} <- {host.id} {answer}")
        if sender in self.hosts:
            self._carry(host.id, sender, lambda: self._answered(token, answer))

    def _answered(self, token: Any, answer: Any) -> None:
        sender, incarnation, id, _ = token
        host = self.hosts[sender]
        if host.incarnation == incarnation:
            now = self.clock(host)
            host.step(lambda machine: machine.answered(id, answer, now, disconnected=answer is None), now)

    def _carry(self, source: int, target: int, arrive: Callable[[], None]) -> None:
        chance = self.random
        if self.is_faulty and chance.happens(self.loss):
            return
        copies = 2 if self.is_faulty and chance.happens(self.repeats) else 1
        for _ in range(copies):
            delay = (1 + chance.below(20)) / 1000
            if self.is_faulty and chance.happens(self.slow):
                delay += chance.below(4000) / 1000

            def due() -> None:
                if (source, target) not in self._cut:
                    arrive()

            self.at(delay, due)

    def told(self, host: Host, news: LeaderChanged) -> None:
        if news.leader_id == host.id:
            self.checks.leads(host, news.epoch)

    def witness(self, host: Host, effect: Effect) -> None:
        if self._trace and not isinstance(effect, Send | Reply):
            self._log(f"{host.id}: {effect}")
        self.checks.witness(host, effect)
        if isinstance(effect, AppendControl | Deliver):
            self._perhaps_crash(host)

    def _perhaps_crash(self, host: Host) -> None:
        """Just after it voted, was elected or learnt that something is committed; perhaps others with it."""
        if not self.is_faulty or not self.random.happens(self.malice):
            return
        incarnation = host.incarnation

        def crash() -> None:
            if host.incarnation == incarnation and host.is_up:
                self._crash(host, self.random.choice([20, 500, 2000]))
                for other in self.hosts.values():
                    if other.is_up and self.random.happens(0.2):
                        self._crash(other, self.random.choice([20, 500]))

        self.at(self.random.choice([0, 0, 10, 100]) / 1000, crash)

    def _crash(self, host: Host, down_ms: int) -> None:
        if self.is_faulty:
            self._log(f"{host.id} crashes")
            host.crash()
            self.at(self.random.below(down_ms) / 1000, lambda: self._restart(host))

    def _log(self, text: str) -> None:
        if self._trace:
            print(f"{self.now:9.3f} {text}")

    # ----------------------------------------------------------------------------------------------------- what happens

    def run(self) -> None:
        for host in self.hosts.values():
            host.start(self.clock(host))
        self.at(0.1, self._client)
        if self.upgraded:
            # As long as it takes every voter to tell a leader about itself: who cannot keep one is never upgraded.
            self.is_faulty = False
            self.run_until(CALM_SECONDS)
            self.is_faulty = True
        self.at(1.0, self._mischief)
        self.run_until(FAULTY_SECONDS)
        self._heal()
        self.run_until(FAULTY_SECONDS + HEALING_SECONDS)
        self._progress()

    def _client(self) -> None:
        if self.now < FAULTY_SECONDS:
            self.at(self.random.below(300) / 1000, self._client)
        for host in self.hosts.values():
            machine = host.machine
            if machine is not None and machine.leads(machine.member.epoch):
                self.append(host, f"c{self.now:.3f}")

    def append(self, host: Host, payload: object) -> None:
        machine = host.machine
        assert machine is not None
        host.log.entries.append(Entry(machine.member.epoch, payload))
        now = self.clock(host)
        host.step(lambda machine: machine.appended(now), now)
        host._force()

    def _mischief(self) -> None:
        if not self.is_faulty:
            return
        chance = self.random
        self.at(chance.below(self.pace) / 1000, self._mischief)
        host = chance.choice(list(self.hosts.values()))
        kind = chance.below(16 if self.dynamic else 10)
        if kind < 3:
            if host.is_up:
                self._crash(host, 3000)
        elif kind < 6:
            self._cut_links(host)
        elif kind < 7:
            self._cut.clear()
        elif kind < 9:
            if host.is_up:
                host.take_snapshot()
        elif kind == 9:
            self._all_crash()
        else:
            self._change_voters()

    def _all_crash(self) -> None:
        for host in self.hosts.values():
            if host.is_up:
                self._crash(host, 2000)

    def _restart(self, host: Host) -> None:
        if not host.is_up:
            self._log(f"{host.id} starts")
            host.start(self.clock(host))

    def _cut_links(self, host: Host) -> None:
        chance = self.random
        others = [id for id in self.hosts if id != host.id and chance.happens(0.7)]
        if chance.happens(0.5):
            self._cut |= {(host.id, id) for id in others}
        if chance.happens(0.5):
            self._cut |= {(id, host.id) for id in others}
        cut = set(self._cut)
        self.at(chance.below(5000) / 1000, lambda: self._cut.difference_update(cut))

    def _change_voters(self) -> None:
        leader = self.leader()
        if leader is None or leader.machine is None:
            return
        if leader.machine.member.history.kraft_version == 0:
            self._upgrade(leader)
            return
        host = self.random.choice(list(self.hosts.values()))
        is_voter = leader.machine.member.voters.has(host.local.key)
        request = RemoveVoterRequest(host.local.key) if is_voter else AddVoterRequest(host.local, 5.0)
        self._log(f"change at {leader.id}: {request}")
        now = self.clock(leader)
        leader.step(lambda machine: machine.receive(request, (-1, 0, 0, request), now), now)

    def _upgrade(self, leader: Host) -> None:
        now = self.clock(leader)
        try:
            leader.step(lambda machine: machine.upgrade(1, now, validate_only=False), now)
            self._log(f"upgrade at {leader.id}")
        except KafkaError as error:
            # Not everybody has told this leader about itself.
            self._log(f"no upgrade at {leader.id}: {error}")

    def leader(self) -> Host | None:
        leading = [
            host for host in self.hosts.values() if host.machine and host.machine.leads(host.machine.member.epoch)
        ]
        return max(leading, key=lambda host: _epoch(host.machine), default=None)

    def _heal(self) -> None:
        self.is_faulty = False
        self._cut.clear()
        for host in self.hosts.values():
            host.fsync_seconds, host.most_entries = Host.fsync_seconds, Host.most_entries
            self._restart(host)

    def _progress(self) -> None:
        leader = self.leader()
        if leader is None:
            raise Broken("progress after faults stop: nobody leads")
        if self.upgraded:
            self._upgrade(leader)
        self.append(leader, "last")
        end = leader.log.end.offset
        self.run_until(self.now + 5.0)
        for host in self.hosts.values():
            if host.delivered < end:
                raise Broken(f"progress after faults stop: {host.id} has {host.delivered} of {end}")
            assert host.machine is not None
            if host.machine.member.history.kraft_version != self.dynamic:
                raise Broken(f"progress after faults stop: {host.id} has the voters of the settings")


def _epoch(machine: RaftMachine | None) -> int:
    return -1 if machine is None else machine.member.epoch


SHAPES: tuple[dict[str, Any], ...] = (
    {"voters": 3},
    {"voters": 5},
    {"voters": 3, "observers": 2, "dynamic": True},
    {"voters": 1, "observers": 2, "dynamic": True},
)


UPGRADED: dict[str, Any] = {"voters": 3, "observers": 1, "upgraded": True}


def simulate(seed: int, *, trace: bool = False, storm: bool = False, upgraded: bool = False) -> RaftWorld:
    shape = UPGRADED if upgraded else {"voters": 5} if storm else SHAPES[seed % len(SHAPES)]
    world = RaftWorld(seed, **shape, trace=trace)
    if storm:
        world.storm()
    try:
        world.run()
    except AssertionError as error:
        which = " --upgraded" * upgraded
        error.add_note(f"repeat with: python tests/unit/raft/raft_simulation.py --seed {seed}{which} --trace")
        raise
    return world


def main() -> int:
    parser = argparse.ArgumentParser(description="Quorums under every misfortune.")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--upgraded", action="store_true", help="voters that are fixed at first")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    if options.seed is not None:
        simulate(options.seed, trace=options.trace, upgraded=options.upgraded)
        return 0
    began, broken, committed, elections = time.monotonic(), [], 0, 0
    for seed in range(options.first, options.first + options.seeds):
        try:
            world = simulate(seed, upgraded=options.upgraded)
            committed += len(world.checks.committed)
            elections += len(world.checks.leaders)
        except AssertionError as error:
            print(f"seed {seed}: {error}")
            broken.append(seed)
    hours = options.seeds * (FAULTY_SECONDS + HEALING_SECONDS) / 3600
    seconds = time.monotonic() - began
    print(f"{options.seeds} seeds, {hours:.1f} h simulated in {seconds:.0f} s")
    print(f"{committed} records committed, {elections} elections won")
    print(f"broken: {broken or 'none'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
