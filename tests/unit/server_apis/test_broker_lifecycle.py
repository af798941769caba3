"""A broker and a controller on their way into the cluster and out of it, with a controller that answers as it likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from controller_kit import ManualClock, ManualLoop, SeededRandom, World

from moldau.config.listeners import Endpoint, SecurityProtocol
from moldau.deferred import Deferred, failed, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.links.errors import RequestTimedOut
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.records import FeatureLevelRecord, RegisterControllerRecord
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from moldau.protocol.messages.controller_registration import ControllerRegistrationResponse
from moldau.server.broker_lifecycle import BrokerLifecycle
from moldau.server.controller_lifecycle import ControllerLifecycle

HERE = Endpoint("PLAINTEXT", "host7", 9092, SecurityProtocol.PLAINTEXT)
DIRECTORY = bytes(15) + b"\x99"

Answer = Callable[[Any], Any]


class Channel:
    """A way to a controller: `answers` are used up one by one, the last one stays."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.timeouts: list[float | None] = []
        self.lines: list[str] = []
        self.changed: Callable[[], None] = lambda: None

    def watch(self, line: str, changed: Callable[[], None]) -> None:
        assert line == "heartbeat"
        self.changed = changed

    def ask(self, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        self.asked.append(request)
        self.timeouts.append(timeout)
        self.lines.append(line)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        result = answer(request)
        return failed(result) if isinstance(result, BaseException) else ready(result)

    def kinds(self) -> list[str]:
        return [type(request).__name__.removeprefix("Broker").removesuffix("Request") for request in self.asked]


def accepted(epoch: int = 5) -> Answer:
    return lambda _request: BrokerRegistrationResponse(broker_epoch=epoch)


def beat(**fields: Any) -> Answer:
    return lambda _request: BrokerHeartbeatResponse(**{"is_caught_up": True, "is_fenced": False, **fields})


def refused(code: ErrorCode) -> Answer:
    return lambda _request: KafkaError(code)


class Story:
    def __init__(self, *answers: Answer, **options: Any) -> None:
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.channel = Channel(*answers)
        self.epochs: list[int] = []
        metadata: Any = type("Metadata", (), {"image": EMPTY_IMAGE})()
        self.lifecycle = BrokerLifecycle(
            7,
            "cluster",
            self.channel,  # type: ignore[arg-type]
            metadata,
            self.clock,
            self.loop,
            SeededRandom(),
            **{"heartbeat_seconds": 2.0, "registered": self.epochs.append, **options},
        )
        self.known: list[BaseException | None] = []
        self.outcome: list[BaseException | None] = []

    def register(self, **fields: Any) -> None:
        self.lifecycle.register([HERE], "rack", [DIRECTORY], **fields).then(
            lambda _value, error: self.known.append(error)
        )

    def begin(self, **fields: Any) -> None:
        """As a node does that has nothing to open."""
        self.lifecycle.join().then(lambda _value, error: self.outcome.append(error))
        self.register(**fields)


def test_it_registers_is_let_in_and_goes_on_with_heartbeats() -> None:
    story = Story(accepted(), beat(is_fenced=True), beat())
    story.begin(previous_epoch=3)
    assert story.outcome == []
    story.loop.advance(0.01)
    assert story.outcome == [None]
    story.loop.advance(4.0)
    assert story.channel.kinds() == ["Registration", "Heartbeat", "Heartbeat", "Heartbeat", "Heartbeat"]
    registration: BrokerRegistrationRequest = story.channel.asked[0]
    assert (registration.broker_id, registration.cluster_id, registration.rack) == (7, "cluster", "rack")
    assert registration.previous_broker_epoch == 3
    assert registration.log_dirs == [DIRECTORY]
    assert [(e.name, e.host, e.port) for e in registration.listeners] == [("PLAINTEXT", "host7", 9092)]
    assert {request.broker_epoch for request in story.channel.asked[1:]} == {5}
    # On a line of their own, and with time for a second one in the same session.
    assert set(story.channel.lines) == {"heartbeat"}
    assert set(story.channel.timeouts) == {4.5}
    assert story.epochs == [5]


def test_it_asks_to_be_let_in_only_when_it_has_heard_of_its_new_life_and_joins() -> None:
    story = Story(
        accepted(),
        beat(is_caught_up=False, is_fenced=True),
        beat(is_fenced=True),
        beat(is_fenced=True),
        beat(is_fenced=True),
        beat(),
    )
    story.register()
    assert story.known == []
    story.loop.advance(0.01)
    assert story.known == [None]
    # Opening what it holds takes its time: it keeps its place, and is in no hurry.
    story.loop.advance(2.0)
    assert [request.want_fence for request in story.channel.asked[1:]] == [True, True, True]
    story.lifecycle.join().then(lambda _value, error: story.outcome.append(error))
    assert [request.want_fence for request in story.channel.asked[4:]] == [False]
    assert story.outcome == []
    story.loop.advance(0.01)
    assert story.outcome == [None]


def test_a_registration_that_is_refused_for_now_is_tried_again() -> None:
    story = Story(
        refused(ErrorCode.DUPLICATE_BROKER_REGISTRATION), refused(ErrorCode.NOT_CONTROLLER), accepted(), beat()
    )
    story.begin()
    story.loop.advance(1.0)
    assert story.outcome == [None]
    assert story.channel.kinds()[:4] == ["Registration", "Registration", "Registration", "Heartbeat"]


def test_it_beats_at_once_when_its_connection_is_lost_or_the_controller_is_another() -> None:
    story = Story(accepted(), beat())
    story.channel.changed()
    assert story.channel.kinds() == []
    story.begin()
    assert story.channel.kinds() == ["Registration", "Heartbeat"]
    story.loop.advance(0.5)
    story.channel.changed()
    assert story.channel.kinds() == ["Registration", "Heartbeat", "Heartbeat"]
    # The next one is an interval away from that.
    story.loop.advance(1.9)
    assert len(story.channel.asked) == 3
    story.loop.advance(0.2)
    assert len(story.channel.asked) == 4
    story.lifecycle.abandon()
    story.channel.changed()
    assert len(story.channel.asked) == 4


def test_what_will_not_pass_ends_the_start_at_once() -> None:
    story = Story(refused(ErrorCode.INCONSISTENT_CLUSTER_ID))
    story.begin()
    (error,) = story.known
    assert isinstance(error, KafkaError)
    story.loop.advance(60.0)
    assert len(story.channel.asked) == 1


def test_there_is_an_end_to_looking_for_a_controller() -> None:
    story = Story(lambda _request: RequestTimedOut("nobody"), registration_seconds=20.0)
    story.begin()
    story.loop.advance(19.0)
    assert story.known == []
    story.loop.advance(3.0)
    assert str(story.known[0]) == (
        "The broker could not register within 20000 ms (initial.broker.registration.timeout.ms): nobody."
    )


@pytest.mark.parametrize("code", [ErrorCode.BROKER_ID_NOT_REGISTERED, ErrorCode.STALE_BROKER_EPOCH])
def test_a_controller_that_does_not_know_it_any_more_is_registered_with_again(code: ErrorCode) -> None:
    story = Story(accepted(5), beat(), refused(code), accepted(9), beat())
    story.begin()
    story.loop.advance(2.5)
    assert story.channel.kinds() == ["Registration", "Heartbeat", "Heartbeat", "Registration", "Heartbeat"]
    again: BrokerRegistrationRequest = story.channel.asked[3]
    assert again.incarnation_id == story.channel.asked[0].incarnation_id
    # The process has not ended: what it had written with the old epoch it still has.
    assert again.previous_broker_epoch == 5
    assert story.epochs == [5, 9]
    assert story.channel.asked[4].broker_epoch == 9
    # And nobody gives up because of it, however long it takes now.
    assert story.outcome == [None]


def test_a_broker_that_lost_its_place_registers_for_as_long_as_it_takes() -> None:
    story = Story(
        accepted(5), beat(), refused(ErrorCode.STALE_BROKER_EPOCH), lambda _request: RequestTimedOut("nobody")
    )
    story.begin()
    story.loop.advance(300.0)
    assert story.outcome == [None]
    story.channel.answers = [accepted(11), beat()]
    story.loop.advance(5.0)
    assert story.epochs == [5, 11]


def test_a_heartbeat_that_is_lost_is_followed_by_the_next() -> None:
    story = Story(accepted(), beat(), lambda _request: RequestTimedOut("lost"), beat())
    story.begin()
    story.loop.advance(6.5)
    assert story.channel.kinds() == ["Registration", *["Heartbeat"] * 4]


def test_leaving_waits_until_the_controller_lets_it_go() -> None:
    story = Story(accepted(), beat(), beat(), beat(should_shut_down=True))
    story.begin()
    stopped: list[Any] = []
    story.lifecycle.leave().then(lambda _value, error: stopped.append(error))
    assert stopped == []
    story.loop.advance(0.02)
    assert stopped == [None]
    goodbyes: list[BrokerHeartbeatRequest] = story.channel.asked[-2:]
    assert all(request.want_shut_down for request in goodbyes)
    count = len(story.channel.asked)
    story.lifecycle.abandon()
    story.loop.advance(30.0)
    assert len(story.channel.asked) == count


def test_leaving_ends_where_there_is_no_controller_to_say_goodbye_to() -> None:
    story = Story(accepted(), beat(), lambda _request: RequestTimedOut("all are being stopped"))
    story.begin()
    stopped: list[Any] = []
    story.lifecycle.leave().then(lambda _value, error: stopped.append(error))
    assert stopped == [None]
    assert story.channel.timeouts[-1] == 4.5


def test_who_was_never_registered_just_goes() -> None:
    story = Story(refused(ErrorCode.NOT_CONTROLLER))
    story.begin()
    stopped: list[Any] = []
    story.lifecycle.leave().then(lambda _value, error: stopped.append(error))
    assert stopped == [None]


def test_failed_directories_are_named() -> None:
    story = Story(accepted(), beat(), offline_directories=lambda: [DIRECTORY])
    story.begin()
    assert story.channel.asked[1].offline_log_dirs == [DIRECTORY]


def test_a_real_controller_lets_it_in_and_lets_it_go() -> None:
    world = World(brokers=())

    def answer(request: Any) -> Any:
        operation = (
            world.controller.register_broker
            if isinstance(request, BrokerRegistrationRequest)
            else world.controller.broker_heartbeat
        )
        return world.settle(operation(request))

    story = Story(answer)
    story.lifecycle._cluster_id = "test-cluster"
    story.lifecycle._metadata = world.loader
    story.begin()
    story.loop.advance(1.0)
    assert story.outcome == [None]
    assert not world.image.cluster.brokers[7].fenced
    stopped: list[Any] = []
    story.lifecycle.leave().then(lambda _value, error: stopped.append(error))
    story.loop.advance(1.0)
    assert stopped == [None]


# ------------------------------------------------------------------------------------------------------- controllers


def image_with(*records: Any, base: MetadataImage = EMPTY_IMAGE) -> tuple[MetadataDelta, MetadataImage]:
    delta = MetadataDelta(base)
    for record in records:
        delta.replay(record)
    return delta, delta.apply(1, 1, 0)


class ControllerStory:
    def __init__(self, *answers: Answer) -> None:
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.channel = Channel(*answers)
        self.lifecycle = ControllerLifecycle(
            3,
            [Endpoint("CONTROLLER", "host3", 9093, SecurityProtocol.PLAINTEXT)],
            self.channel,  # type: ignore[arg-type]
            self.loop,
            SeededRandom(),
        )


LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)


def done(_request: Any) -> Any:
    return ControllerRegistrationResponse()


def test_a_controller_registers_once_until_it_is_known() -> None:
    story = ControllerStory(done)
    delta, image = image_with(LEVEL)
    story.lifecycle.on_image(delta, image)
    story.lifecycle.on_image(delta, image)
    assert story.channel.asked == []
    story.loop.advance(0)
    (request,) = story.channel.asked
    assert request.controller_id == 3
    assert [(e.name, e.host, e.port) for e in request.listeners] == [("CONTROLLER", "host3", 9093)]
    known = RegisterControllerRecord(controller_id=3, incarnation_id=request.incarnation_id)
    story.lifecycle.on_image(*image_with(known, base=image))
    story.loop.advance(60.0)
    assert len(story.channel.asked) == 1


def test_another_incarnation_of_it_is_replaced() -> None:
    story = ControllerStory(done)
    old = RegisterControllerRecord(controller_id=3, incarnation_id=bytes(16))
    story.lifecycle.on_image(*image_with(LEVEL, old))
    story.loop.advance(0)
    assert len(story.channel.asked) == 1


def test_a_refusal_is_followed_by_another_try() -> None:
    story = ControllerStory(refused(ErrorCode.NOT_CONTROLLER), done)
    story.lifecycle.on_image(*image_with(LEVEL))
    story.loop.advance(5.0)
    assert len(story.channel.asked) == 2


def test_a_metadata_version_without_a_record_for_controllers() -> None:
    story = ControllerStory(done)
    story.lifecycle.on_image(*image_with(FeatureLevelRecord(name="metadata.version", feature_level=14)))
    story.loop.advance(5.0)
    assert story.channel.asked == []


def test_after_the_end_nothing_is_asked() -> None:
    story = ControllerStory(refused(ErrorCode.NOT_CONTROLLER))
    story.lifecycle.on_image(*image_with(LEVEL))
    story.loop.advance(0)
    story.lifecycle.close()
    story.loop.advance(60.0)
    assert len(story.channel.asked) == 1
