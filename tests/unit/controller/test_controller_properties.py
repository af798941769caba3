"""Whatever happens in whatever order, some things always hold.

Random operations with random commits, failed appends and lost leaderships. Named invariants:
replay      a fresh node that replays the committed log has the same image, and the same controller state
agreement   the controller's state at the committed offset is what the image says
leadership  a leader is a living replica in sync; a fenced broker leads nothing
in sync     somebody is, but where eligible leaders are known instead; nobody is both, and all are replicas
epochs      leader and partition epochs never go back while a topic lives
"""

from __future__ import annotations

from controller_kit import World, directory_of
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moldau.config.alteration import Operation
from moldau.controller.configs import Change, ResourceChange
from moldau.controller.state import ControllerState
from moldau.metadata.image import ConfigResource, MetadataImage, ResourceType
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.storage.storage_error import StorageError

BROKERS = st.integers(1, 4)
NAMES = st.sampled_from(["a", "b", "c.d", "c_d", "bad name"])


class ControllerMachine(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 1000), eligible=st.booleans(), minimum=st.integers(1, 3))
    def begin(self, seed: int, eligible: bool, minimum: int) -> None:
        settings = {"min.insync.replicas": str(minimum)}
        self.world = World(settings, brokers=(1, 2, 3), seed=seed, eligible_leaders=eligible)
        self.eligible = eligible
        self.incarnations = dict.fromkeys((1, 2, 3, 4), 1)
        self.epochs: dict[tuple[bytes, int], tuple[int, int]] = {}

    # ------------------------------------------------------------------------------------------------- operations

    @rule(name=NAMES, partitions=st.integers(-1, 3), replicas=st.integers(-1, 4))
    def create(self, name: str, partitions: int, replicas: int) -> None:
        topic = self.world.creation(name, partitions, replicas, configs={"retention.ms": "5"})
        self.world.controller.create_topics(CreateTopicsRequest(topics=[topic]))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.world.controller.delete_topics(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)

    @rule(name=NAMES, count=st.integers(1, 5))
    def grow(self, name: str, count: int) -> None:
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        self.world.controller.create_partitions(CreatePartitionsRequest(topics=[topic], timeout_ms=10_000))

    @rule(name=NAMES, value=st.sampled_from(["1", "2", None, "x"]))
    def configure(self, name: str, value: str | None) -> None:
        operation = Operation.DELETE if value is None else Operation.SET
        change = ResourceChange(ConfigResource(ResourceType.TOPIC, name), [Change("segment.ms", operation, value)])
        self.world.controller.incremental_alter_configs([change], validate_only=False)

    @rule(broker=BROKERS, again=st.booleans())
    def register(self, broker: int, again: bool) -> None:
        self.incarnations[broker] += again
        request = self.world.registration(
            broker, self.incarnations[broker], log_dirs=[directory_of(broker, 0), directory_of(broker, 1)]
        )
        self.world.controller.register_broker(request)

    @rule(broker=BROKERS, fence=st.booleans(), leave=st.booleans(), lag=st.integers(0, 3), disk=st.booleans())
    def heartbeat(self, broker: int, fence: bool, leave: bool, lag: int, disk: bool) -> None:
        known = self.world.controller.state.brokers.registrations.get(broker)
        request = BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=-1 if known is None else known.epoch,
            current_metadata_offset=self.world.image.offset - lag,
            want_fence=fence,
            want_shut_down=leave,
            offline_log_dirs=[directory_of(broker, 1)] if disk else [],
        )
        self.world.controller.broker_heartbeat(request)

    @rule(broker=BROKERS)
    def unregister(self, broker: int) -> None:
        self.world.controller.unregister_broker(UnregisterBrokerRequest(broker_id=broker))

    @rule(election=st.integers(0, 1))
    def elect(self, election: int) -> None:
        self.world.controller.elect_leaders(ElectLeadersRequest(election_type=election, topic_partitions=None))

    @rule(broker=BROKERS)
    def producer_ids(self, broker: int) -> None:
        known = self.world.controller.state.brokers.registrations.get(broker)
        self.world.controller.allocate_producer_ids(broker, -1 if known is None else known.epoch)

    # ------------------------------------------------------------------------------------------------ what may happen

    @rule()
    def commit(self) -> None:
        self.world.quorum.commit()

    @rule(seconds=st.sampled_from([0.5, 5.0, 20.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.loop.advance(seconds)

    @rule(name=NAMES)
    def fail_an_append(self, name: str) -> None:
        self.world.quorum.failures = [StorageError("/disk", "Appending", OSError(28, "No space left on device"))]
        self.create(name, 2, 1)
        self.world.quorum.failures = []

    @precondition(lambda self: self.world.controller.is_active)
    @rule()
    def lose_and_win_leadership(self) -> None:
        quorum = self.world.quorum
        quorum.lose_leadership()
        assert _same(self.world.controller.state, self.world.image)
        quorum.leader_id = quorum.node_id
        quorum.epoch += 1
        for listener in quorum._listeners:
            listener.on_leader(quorum.node_id, quorum.epoch)

    # ------------------------------------------------------------------------------------------------------ invariants

    @invariant()
    def the_committed_log_replays_to_the_same_image(self) -> None:
        world = getattr(self, "world", None)
        if world is None or world.quorum.end_offset != world.quorum.high_watermark:
            return
        fresh = World(log=world.quorum.log, brokers=())
        assert fresh.image.same_content(world.image)
        assert _same(fresh.controller.state, world.image)
        assert _same(world.controller.state, world.image)

    @invariant()
    def leaders_are_alive_replicas_in_sync(self) -> None:
        world = getattr(self, "world", None)
        if world is None:
            return
        image = world.image
        for topic in image.topics.by_name.values():
            assert sorted(topic.partitions) == list(range(len(topic.partitions)))
            for state in topic.partitions.values():
                assert set(state.isr) <= set(state.replicas)
                assert set(state.elr) <= set(state.replicas) - set(state.isr)
                if not self.eligible:
                    assert state.isr
                    assert state.elr == state.last_known_elr == ()
                elif not state.isr:
                    # It is known whom to wait for.
                    assert state.elr or state.last_known_elr
                if state.leader != -1:
                    assert state.leader in state.isr
                    assert image.cluster.brokers[state.leader].is_active

    @invariant()
    def epochs_never_go_back(self) -> None:
        world = getattr(self, "world", None)
        if world is None:
            return
        for topic in world.image.topics.by_name.values():
            for index, state in topic.partitions.items():
                key, now = (topic.id, index), (state.leader_epoch, state.partition_epoch)
                before = self.epochs.get(key, (-1, -1))
                assert now[0] >= before[0]
                assert now[1] >= before[1]
                self.epochs[key] = now


def _same(state: ControllerState, image: MetadataImage) -> bool:
    topics = {topic.name: (topic.id, dict(topic.partitions.items())) for topic in state.topics}
    return (
        topics == {topic.name: (topic.id, dict(topic.partitions)) for topic in image.topics.by_name.values()}
        and dict(state.brokers.registrations.items()) == dict(image.cluster.brokers)
        and dict(state.controllers.registrations.items()) == dict(image.cluster.controllers)
        and state.features.finalized == dict(image.features)
        and state.producer_ids.next == image.producer_ids.next
        and all(state.configs.of(resource) == settings for resource, settings in image.configs.resources.items())
    )


ControllerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestController = ControllerMachine.TestCase
