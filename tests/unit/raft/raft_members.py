"""Several members of a quorum in one process: real files, real messages, a loop and a network that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from controller_kit import ManualClock, ManualLoop, SeededRandom

from moldau.config.broker import BrokerConfig
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.links.errors import ConnectionFailed
from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.records import TopicRecord, VersionedRecord
from moldau.protocol.api import REQUESTS, RESPONSES, ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersionsResponse, SupportedFeatureKey
from moldau.raft.raft_quorum import RaftQuorum
from moldau.raft.snapshot_generator import SnapshotGenerator
from moldau.runtime.disk import RealDisk
from moldau.storage.log_dirs import MetaProperties, write_meta_properties

CLUSTER = "q1w2e3r4t5y6u7i8o9p0aA"


def topic(name: str) -> VersionedRecord:
    return VersionedRecord(TopicRecord(name=name, topic_id=name.encode().ljust(16)), 0)


class Story:
    """Writes down what a listener hears."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.leader = (-1, -1)

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> None:
        self.topics = [r.name for records in snapshot for r in records if isinstance(r, TopicRecord)]

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None:
        self.topics += [record.name for record in batch.records if isinstance(record, TopicRecord)]

    def on_leader(self, leader_id: int, epoch: int) -> None:
        self.leader = (leader_id, epoch)


class Line:
    """`Peers` of one member: every request and answer goes through its bytes, at a version of the test's choice."""

    def __init__(self, members: Members, id: int) -> None:
        self._members = members
        self._id = id

    def ask(
        self, address: Address, request: Message, *, timeout: float | None = None, line: str = ""
    ) -> Deferred[Message]:
        members, target, answer = self._members, address.port, Deferred[Message]()
        version = members.versions.get(request.API_KEY, request.MAX_VERSION)
        try:
            data = request.encode(version)
        except KafkaError as error:
            answer.fail(error)
            return answer
        members.sent.append(f"{self._id} -> {target} {ApiKey(request.API_KEY).name}")
        members.open = [each for each in members.open if not each[1].settled]
        members.open.append((target, answer))

        def arrive() -> None:
            quorum = members.quorums.get(target)
            if answer.settled:
                return
            if quorum is None:
                answer.fail(ConnectionFailed("Nobody listens there."))
                return
            if (self._id, target) in members.cut:
                answer.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION))
                return
            if request.API_KEY == ApiKey.API_VERSIONS:
                feature = SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)
                answer.resolve(ApiVersionsResponse(supported_features=[feature]))
                return
            try:
                outcome = quorum.handle(REQUESTS[request.API_KEY].decode(data, version), version)
            except KafkaError as error:
                answer.fail(error)
                return
            if isinstance(outcome, Deferred):
                outcome.then(lambda value, error: back(value, error))
            else:
                back(outcome, None)

        def back(value: Any, error: BaseException | None) -> None:
            if answer.settled:
                return
            if error is not None or (target, self._id) in members.cut:
                answer.fail(error or KafkaError(ErrorCode.NETWORK_EXCEPTION))
                return
            encoded = value.encode(version)
            members.loop.call_soon(lambda: come(RESPONSES[request.API_KEY].decode(encoded, version)))

        def come(response: Message) -> None:
            if not answer.settled:
                answer.resolve(response)

        members.loop.call_soon(arrive)
        return answer


class Members:
    def __init__(self, path: Path, ids: tuple[int, ...] = (1, 2, 3), **properties: str) -> None:
        self.path, self.ids, self.properties = path, ids, properties
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.disk = RealDisk()
        self.quorums: dict[int, RaftQuorum] = {}
        self.stories: dict[int, Story] = {}
        self.loaders: dict[int, MetadataLoader] = {}
        self.faults: list[BaseException] = []
        self.cut: set[tuple[int, int]] = set()
        self.sent: list[str] = []
        # What has not been answered, with the one who was asked.
        self.open: list[tuple[int, Deferred[Message]]] = []
        # The version of an API, if it is not the newest.
        self.versions: dict[int, int] = {}

    def config(self, id: int) -> BrokerConfig:
        directory = self.path / str(id)
        directory.mkdir(exist_ok=True)
        roles = "controller" if id < 10 else "broker"
        settings = {
            "node.id": str(id),
            "process.roles": roles,
            "log.dirs": str(directory),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CONTROLLER://node:{id}" if id < 10 else f"PLAINTEXT://node:{id}",
        }
        if "controller.quorum.bootstrap.servers" not in self.properties:
            settings["controller.quorum.voters"] = ",".join(f"{one}@node:{one}" for one in self.ids)
        return BrokerConfig.parse({**settings, **self.properties})

    def directory_id(self, id: int, disk: int = 0) -> bytes:
        return bytes([7, disk]) * 7 + bytes([1, id])

    def start(self, id: int, disk: int = 0) -> RaftQuorum:
        config = self.config(id)
        if not (self.path / str(id) / "meta.properties").exists():
            meta = MetaProperties(CLUSTER, id, self.directory_id(id, disk))
            write_meta_properties(self.disk, str(self.path / str(id)), meta)
        quorum = RaftQuorum(
            config,
            self.disk,
            self.clock,
            self.loop,
            SeededRandom(id),
            None,
            Line(self, id),
            self.faults.append,
        )
        self.stories[id], self.loaders[id] = Story(), MetadataLoader()
        quorum.register(self.loaders[id])
        quorum.register(self.stories[id])
        self.quorums[id] = quorum
        quorum.start()
        return quorum

    def start_all(self) -> None:
        for id in self.ids:
            self.start(id)

    def stop(self, id: int) -> None:
        self.quorums.pop(id).close()

    def kill(self, id: int) -> None:
        """As if the process had died: nothing is written or said any more."""
        quorum = self.quorums.pop(id)
        quorum._machine = None
        quorum._log.log.segments.release()
        quorum._log._log = None
        quorum._log.unlock()
        self.reset(id)

    def reset(self, id: int) -> None:
        """All connections to this one end."""
        for target, answer in self.open:
            if target == id and not answer.settled:
                answer.fail(ConnectionFailed("The connection was lost."))

    def snapshot(self, id: int) -> None:
        generator = SnapshotGenerator(self.quorums[id], self.config(id), self.loop)
        generator.generate(self.loaders[id].image)
        self.loop.advance(0.01)

    def pass_time(self, seconds: float, until: Callable[[], bool] | None = None) -> None:
        for _ in range(int(seconds * 100)):
            if until is not None and until():
                return
            self.loop.advance(0.01)
        assert until is None or until(), "it did not happen in time"

    def leader(self) -> RaftQuorum:
        """The one that leads, once it may append."""
        found: list[RaftQuorum] = []

        def elected() -> bool:
            found[:] = [
                quorum
                for id, quorum in self.quorums.items()
                if quorum.leader_id == id == self.stories[id].leader[0] and quorum.epoch == self.stories[id].leader[1]
            ]
            return bool(found)

        self.pass_time(20, elected)
        return max(found, key=lambda quorum: quorum.epoch)

    def write(self, *names: str) -> RaftQuorum:
        leader = self.leader()
        for name in names:
            leader.append(leader.epoch, [topic(name)])
        return leader

    def all_have(self, *names: str, seconds: float = 10) -> None:
        self.pass_time(seconds, lambda: all(self.stories[id].topics == list(names) for id in self.quorums))

    def close(self) -> None:
        for quorum in self.quorums.values():
            quorum.close()
