"""The life of brokers as the controller sees it: registrations, heartbeats, and what becomes of partitions."""

from __future__ import annotations

import pytest
from controller_kit import MINIMUM, World, directory_of, refused, show, show_partitions

from moldau.errors import ErrorCode
from moldau.protocol.messages.broker_registration import Feature
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest


def _orders(world: World) -> str:
    return show_partitions(world.image)


def test_a_broker_is_fenced_until_it_has_seen_its_own_registration() -> None:
    world = World(brokers=())
    epoch = world.register(1)
    # The epoch is the offset of the registration.
    assert epoch == world.image.offset
    behind = world.heartbeat(1, current_metadata_offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    there = world.heartbeat(1, current_metadata_offset=epoch)
    assert (there.is_caught_up, there.is_fenced, there.should_shut_down) == (True, False, False)
    assert show(world.image) == "broker 1 active" + MINIMUM


def test_epochs_grow_with_every_incarnation_and_fence_the_one_before() -> None:
    world = World(brokers=(1,), has_local_broker=True)
    first = world.image.cluster.brokers[1].epoch
    second = world.join(1, incarnation=2)
    assert second > first
    with pytest.raises(Exception, match="epoch") as caught:
        world.heartbeat(1, epoch=first)
    assert caught.value.code is ErrorCode.STALE_BROKER_EPOCH  # type: ignore[attr-defined]


def test_registering_again_in_the_same_life_keeps_the_epoch() -> None:
    world = World()
    epoch = world.image.cluster.brokers[1].epoch
    assert world.register(1, rack="north") == epoch
    assert show(world.image) == "broker 1 active in north" + MINIMUM


def test_two_processes_cannot_be_one_broker() -> None:
    world = World()
    again = world.registration(1, incarnation=2)
    assert refused(world.controller.register_broker(again)).code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    world.loop.advance(9.1)
    assert world.register(1, incarnation=2) > 0


def test_the_broker_beside_the_controller_need_not_wait_for_its_old_session() -> None:
    world = World(has_local_broker=True)
    assert world.join(1, incarnation=2) > 0
    world.loop.advance(3600)
    assert show(world.image) == "broker 1 active" + MINIMUM


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes(15) + b"\x01"]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory_of(2), directory_of(2)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory_of(1)]}, ErrorCode.INVALID_REGISTRATION),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({"features": []}, ErrorCode.INVALID_REGISTRATION),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=1, max_supported_version=30)]},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=1, max_supported_version=29)]},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_registrations_that_cannot_be(fields: dict[str, object], expected: ErrorCode) -> None:
    world = World(brokers=(1,))
    assert refused(world.controller.register_broker(world.registration(2, **fields))).code is expected
    assert 2 not in world.image.cluster.brokers


def test_a_silent_broker_is_fenced_and_its_partitions_move() -> None:
    world = World(brokers=(1, 2, 3))
    world.create("orders", assignment={0: [1, 2], 1: [2, 3], 2: [3, 1]})
    for _ in range(5):
        world.loop.advance(2)
        world.quorum.commit()
        world.heartbeat(2)
        world.heartbeat(3)
    assert show(world.image) == (
        "broker 1 fenced\n"
        "broker 2 active\n"
        "broker 3 active\n"
        "orders-0 leader 2 epoch 1 isr 2 of 1,2\n"
        "orders-1 leader 2 epoch 0 isr 2,3 of 2,3\n"
        "orders-2 leader 3 epoch 0 isr 3 of 3,1" + MINIMUM
    )


class Wire:
    """The connection of a broker, as its controller sees it."""

    def __init__(self, world: World, broker_id: int) -> None:
        self.open = True
        self._world = world
        self._broker_id = broker_id

    def is_open(self) -> bool:
        return self.open

    def end(self) -> None:
        self.open = False
        self._world.controller.disconnected(self._broker_id, self)


def lives(world: World, broker_id: int) -> bool:
    world.quorum.commit()
    return not world.image.cluster.brokers[broker_id].fenced


def test_a_broker_whose_connection_ended_is_fenced_in_a_moment() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [2, 1]})
    wire = Wire(world, 2)
    world.heartbeat(2, way=wire)
    world.heartbeat(1)
    wire.end()
    world.loop.advance(0.9)
    assert lives(world, 2)
    world.loop.advance(0.2)
    assert not lives(world, 2)
    assert "orders-0 leader 1 epoch 1 isr 1 of 2,1" in show(world.image)
    # Nobody else's time has become shorter.
    world.loop.advance(7)
    assert lives(world, 1)


def test_a_living_broker_that_lost_its_connection_stays() -> None:
    world = World(brokers=(1, 2))
    first, second = Wire(world, 2), Wire(world, 2)
    world.heartbeat(2, way=first)
    first.end()
    world.loop.advance(0.5)
    world.heartbeat(2, way=second)
    world.heartbeat(1)
    world.loop.advance(5)
    assert lives(world, 2)
    # The old connection is news of yesterday, the new one is not.
    first.end()
    world.loop.advance(2)
    assert lives(world, 2)
    second.end()
    world.loop.advance(1.1)
    assert not lives(world, 2)


def test_a_heartbeat_that_is_still_unread_when_the_moment_is_over_counts() -> None:
    world = World(brokers=(1, 2))
    wire = Wire(world, 2)
    world.heartbeat(2, way=wire)
    wire.end()
    # The loop was busy: the timer comes first, then it reads what has long been there.
    world.loop.call_later(1.01, lambda: world.heartbeat(2, way=Wire(world, 2)) and None)
    world.loop.advance(1.5)
    assert lives(world, 2)


def test_a_heartbeat_that_waited_until_its_connection_was_gone_counts_for_a_moment() -> None:
    world = World(brokers=(1, 2))
    wire = Wire(world, 2)
    wire.open = False
    world.heartbeat(2, way=wire)
    world.heartbeat(1)
    world.loop.advance(1.1)
    assert not lives(world, 2)
    assert lives(world, 1)


def test_a_controller_that_stood_still_itself_fences_nobody_for_it() -> None:
    world = World(brokers=(1, 2))
    world.clock.now += 60.0
    world.loop.run()
    world.loop.advance(0.1)
    assert lives(world, 1)
    world.loop.advance(1.0)
    assert not lives(world, 1)


def fetch_for(world: World, seconds: float, *brokers: int, beats: tuple[int, ...] = ()) -> None:
    """As brokers of ours do while they live: they ask for the log twice a second, and beat every two seconds."""
    for turn in range(int(seconds * 2)):
        for broker in brokers:
            world.controller.metadata_fetched(broker)
        for broker in beats if turn % 4 == 0 else ():
            world.heartbeat(broker)
        world.loop.advance(0.5)


def test_a_broker_that_neither_beats_nor_fetches_is_fenced_before_its_session_is_over() -> None:
    world = World(brokers=(1, 2, 3))
    fetch_for(world, 6, 1, 2, 3, beats=(1, 2, 3))
    fetch_for(world, 3, 1, 3, beats=(1, 3))
    assert lives(world, 2)
    fetch_for(world, 1.5, 1, 3, beats=(1, 3))
    assert not lives(world, 2)
    assert lives(world, 1)
    assert lives(world, 3)


def test_heartbeats_keep_a_broker_that_does_not_fetch_and_fetches_alone_keep_nobody() -> None:
    world = World(brokers=(1, 2))
    fetch_for(world, 2, 1, 2, beats=(1, 2))
    fetch_for(world, 7, 1, beats=(2,))
    assert lives(world, 1)
    assert lives(world, 2)
    fetch_for(world, 4, 1, beats=(2,))
    assert not lives(world, 1)
    assert lives(world, 2)


def test_a_broker_that_never_fetched_here_has_its_whole_session() -> None:
    world = World(brokers=(1, 2))
    world.heartbeat(2)
    world.loop.advance(8)
    assert lives(world, 2)


def test_a_controller_that_stood_still_takes_nobody_for_silent() -> None:
    world = World(brokers=(1, 2))
    fetch_for(world, 2, 1, 2, beats=(1, 2))
    world.clock.now += 60.0
    world.loop.run()
    world.loop.advance(0.1)
    assert lives(world, 1)
    assert lives(world, 2)


def test_a_longer_session_is_a_longer_silence() -> None:
    world = World({"broker.session.timeout.ms": "30000"}, brokers=(1, 2))
    fetch_for(world, 2, 1, 2, beats=(1, 2))
    fetch_for(world, 10, 1, beats=(1,))
    assert lives(world, 2)
    fetch_for(world, 2, 1, beats=(1,))
    assert not lives(world, 2)


def test_the_broker_of_a_leader_that_was_given_up_has_a_moment_under_the_next_one() -> None:
    before = World(brokers=(1, 2, 3))
    before.quorum.lose_leadership()
    for broker, heard in ((2, False), (2, True)):
        world = World(brokers=(), log=before.quorum.log, former_leader=broker)
        if heard:
            world.heartbeat(broker)
        world.loop.advance(1.1)
        assert lives(world, 2) is heard
        assert lives(world, 3)


def test_whoever_has_the_directories_of_a_broker_is_its_successor() -> None:
    """They are locked by the process that uses them."""
    before = World(brokers=(1, 2))
    elsewhere = [directory_of(2, 7)]
    # A new controller has not heard of anybody: the directories are the only evidence.
    world = World(brokers=(), log=before.quorum.log)
    another = world.controller.register_broker(world.registration(2, incarnation=2, log_dirs=elsewhere))
    assert refused(another).code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    world.register(2, incarnation=2)
    # One that is heard of lives; its directories must have been copied.
    wire = Wire(world, 2)
    assert not world.heartbeat(2, way=wire).is_fenced
    copied = world.controller.register_broker(world.registration(2, incarnation=3))
    assert refused(copied).code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    wire.end()
    world.register(2, incarnation=3)


@pytest.mark.parametrize(
    ("eligible_leaders", "waits"), [(False, "isr 1 of {}"), (True, "isr - of {} eligible 1 last led by 1")]
)
def test_the_last_in_sync_replica_is_waited_for(eligible_leaders: bool, waits: str) -> None:
    world = World(brokers=(1, 2), eligible_leaders=eligible_leaders)
    world.create("orders", assignment={0: [1, 2]})
    world.create("single", assignment={0: [1]})
    world.heartbeat(2, want_fence=True)
    world.heartbeat(1, want_fence=True)
    leaderless = f"orders-0 leader -1 epoch 1 {waits.format('1,2')}\nsingle-0 leader -1 epoch 1 {waits.format('1')}"
    assert _orders(world) == leaderless
    world.heartbeat(2)
    assert _orders(world) == leaderless
    world.heartbeat(1)
    assert _orders(world) == ("orders-0 leader 1 epoch 2 isr 1 of 1,2\nsingle-0 leader 1 epoch 2 isr 1 of 1")


def test_a_topic_that_prefers_to_be_available_is_not() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1, 2]}, configs={"unclean.leader.election.enable": "true"})
    world.heartbeat(2, want_fence=True)
    world.heartbeat(1, want_fence=True)
    world.heartbeat(2)
    assert _orders(world) == "orders-0 leader 2 epoch 2 isr 2 of 1,2 recovering"


def test_a_new_incarnation_starts_without_leaderships() -> None:
    world = World(brokers=(1, 2), has_local_broker=True, eligible_leaders=False)
    world.create("orders", assignment={0: [1, 2]})
    world.create("single", assignment={0: [1]})
    world.register(1, incarnation=2)
    assert _orders(world) == ("orders-0 leader 2 epoch 1 isr 2 of 1,2\nsingle-0 leader -1 epoch 1 isr 1 of 1")
    world.heartbeat(1)
    assert _orders(world) == ("orders-0 leader 2 epoch 1 isr 2 of 1,2\nsingle-0 leader 1 epoch 2 isr 1 of 1")


def test_a_new_incarnation_that_may_have_lost_records_is_not_eligible() -> None:
    world = World(brokers=(1, 2), has_local_broker=True)
    world.create("orders", assignment={0: [1, 2]})
    world.create("single", assignment={0: [1]})
    world.register(1, incarnation=2)
    assert _orders(world) == (
        "orders-0 leader 2 epoch 1 isr 2 of 1,2\nsingle-0 leader -1 epoch 1 isr - of 1 last led by 1"
    )
    world.heartbeat(1)
    assert _orders(world) == ("orders-0 leader 2 epoch 1 isr 2 of 1,2\nsingle-0 leader 1 epoch 2 isr 1 of 1 recovering")


def test_a_controlled_shutdown_hands_over_before_it_ends() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1, 2]})
    before = world.image.offset
    leaving = world.heartbeat(1, want_shut_down=True)
    assert (leaving.is_fenced, leaving.should_shut_down) == (False, False)
    assert show(world.image) == ("broker 1 leaving\nbroker 2 active\norders-0 leader 2 epoch 1 isr 2 of 1,2" + MINIMUM)
    # Broker 2 has not followed the log to the new leader yet.
    world.heartbeat(2, current_metadata_offset=before)
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down
    world.heartbeat(2)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down
    assert show(world.image).startswith("broker 1 fenced\n")


def test_a_broker_that_died_while_it_left_comes_back_as_one_that_stays() -> None:
    world = World(brokers=(1, 2), has_local_broker=True)
    world.create("orders", assignment={0: [1, 2]})
    before = world.image.offset
    world.heartbeat(1, want_shut_down=True)
    world.heartbeat(2, current_metadata_offset=before)
    assert world.controller.sessions.is_shutting_down(1)
    # It is beside the controller, so nobody waits for the end of its session.
    world.register(1, incarnation=2)
    assert not world.controller.sessions.is_shutting_down(1)
    assert not world.heartbeat(1).should_shut_down
    assert show(world.image).startswith("broker 1 active\nbroker 2 active\n")


def test_a_single_node_may_stop_and_come_back() -> None:
    world = World(has_local_broker=True)
    world.create("orders", 1, 1)
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down
    assert world.heartbeat(1, want_shut_down=True).should_shut_down
    again = World(log=world.quorum.log, brokers=(), has_local_broker=True)
    again.join(1, incarnation=2, previous_broker_epoch=world.image.cluster.brokers[1].epoch)
    assert show(again.image) == "broker 1 active\norders-0 leader 1 epoch 2 isr 1 of 1" + MINIMUM


@pytest.mark.parametrize("eligible_leaders", [False, True])
@pytest.mark.parametrize("minimum", ["1", "2"])
def test_a_single_node_that_was_killed_leads_again_what_it_led(eligible_leaders: bool, minimum: str) -> None:
    """Nobody else has more than it has, whatever it lost: there is nobody to wait for."""
    settings = {"min.insync.replicas": minimum}
    world = World(settings, has_local_broker=True, eligible_leaders=eligible_leaders)
    world.create("orders", 1, 1)
    for incarnation in (2, 3):
        world = World(settings, log=world.quorum.log, brokers=(), has_local_broker=True)
        world.join(1, incarnation=incarnation)
        leader = f"orders-0 leader 1 epoch {2 * (incarnation - 1)} isr 1 of 1"
        # What it says in the log is that it may have lost something; see `leader_recovery_state`.
        assert _orders(world) == leader + " recovering" * eligible_leaders


def test_no_new_partition_goes_to_a_broker_that_leaves() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [1]})
    world.heartbeat(1, want_shut_down=True)
    world.create("fresh", 4, 1)
    topic = world.image.topics.get("fresh")
    assert topic is not None
    assert {state.replicas for state in topic.partitions.values()} == {(2,)}


def test_a_failed_disk_moves_its_partitions() -> None:
    world = World(brokers=(1,))
    good, bad = directory_of(2, 0), directory_of(2, 1)
    world.join(2, log_dirs=[good])
    world.create("orders", assignment={0: [2, 1]})
    world.register(2, log_dirs=[good, bad])
    world.create("other", assignment={0: [2, 1]})
    world.heartbeat(2, offline_log_dirs=[good])
    assert _orders(world) == (
        "orders-0 leader 1 epoch 1 isr 1 of 2,1\n"
        # Where this replica lies is not known yet, so it is left alone.
        "other-0 leader 2 epoch 0 isr 2,1 of 2,1"
    )
    assert world.image.cluster.brokers[2].directories == (bad,)
    end = world.quorum.end_offset
    world.heartbeat(2, offline_log_dirs=[good])
    assert world.quorum.end_offset == end


def test_an_unregistered_broker_is_forgotten() -> None:
    world = World(brokers=(1, 2))
    world.create("orders", assignment={0: [2, 1]})
    world.settle(world.controller.unregister_broker(UnregisterBrokerRequest(broker_id=2)))
    assert show(world.image) == "broker 1 active\norders-0 leader 1 epoch 1 isr 1 of 2,1" + MINIMUM
    unknown = world.controller.unregister_broker(UnregisterBrokerRequest(broker_id=2))
    assert refused(unknown).code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_heartbeat_without_news_writes_nothing() -> None:
    world = World()
    end = world.quorum.end_offset
    for _ in range(10):
        world.heartbeat(1)
    assert world.quorum.end_offset == end
