"""Requests through a real server: headers, order, waiting, failures, limits, shutdown."""

from __future__ import annotations

import logging
import os
import random
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest
from server_harness import Client, RunningServer

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.produce import ProduceRequest
from moldau.security.principal import ANONYMOUS
from moldau.server.context import RequestContext
from moldau.server.dispatch import DECLINED, Api, DispatchTable, route_key

Serve = Callable[..., RunningServer]


class Coordinator:
    """FindCoordinator as a toy: answers with the key that was asked for; some keys make it behave badly."""

    def __init__(self) -> None:
        self.parked: list[tuple[str, Deferred[FindCoordinatorResponse]]] = []
        self.contexts: list[RequestContext] = []
        self.seen: list[str] = []

    def handle(self, context: RequestContext, request: FindCoordinatorRequest) -> Any:
        self.contexts.append(context)
        self.seen.append(request.key)
        match request.key.partition(" ")[0]:
            case "park":
                later: Deferred[FindCoordinatorResponse] = Deferred()
                self.parked.append((request.key, later))
                return later
            case "silent":
                return None
            case "settled":
                settled: Deferred[FindCoordinatorResponse] = Deferred()
                settled.resolve(FindCoordinatorResponse(host=request.key))
                return settled
            case "refuse":
                raise KafkaError(ErrorCode.INVALID_GROUP_ID, "refused on purpose")
            case "break":
                raise RuntimeError("broken on purpose")
            case "throttle":
                return FindCoordinatorResponse(host=request.key, throttle_time_ms=200)
        return FindCoordinatorResponse(host=request.key)

    def settle(self) -> None:
        key, later = self.parked.pop(0)
        later.resolve(FindCoordinatorResponse(host=key))

    def api(self, **options: Any) -> Api:
        return Api(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, self.handle, **options)


def ask(client: Client, *keys: str, version: int = 2, **header: Any) -> None:
    frames = []
    for key in keys:
        request = FindCoordinatorRequest(key=key)
        frames.append(client.frame(ApiKey.FIND_COORDINATOR, version, request.encode(version), **header))
    client.socket.sendall(b"".join(frames))


def hosts(client: Client, count: int, version: int = 2) -> list[str]:
    return [client.answer(FindCoordinatorResponse, version)[1].host for _ in range(count)]


# -------------------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize("version", [0, 2, 3])
def test_a_request_is_answered_with_its_correlation_id(serve: Serve, version: int) -> None:
    coordinator = Coordinator()
    client = serve(coordinator.api()).client()
    response = client.call(FindCoordinatorRequest(key="k"), version, FindCoordinatorResponse)
    assert response.host == "k"
    context = coordinator.contexts[0]
    assert context.version == context.api_version == version
    assert context.api_key == ApiKey.FIND_COORDINATOR
    assert context.client_id == "test"
    assert context.listener_name == "PLAINTEXT"
    assert context.principal == ANONYMOUS
    assert context.peer == client.socket.getsockname()


def test_client_ids_may_change_be_empty_or_absent(serve: Serve) -> None:
    coordinator = Coordinator()
    client = serve(coordinator.api()).client()
    for client_id in ("one", "two", None, "", "grün", "two"):
        client.call(FindCoordinatorRequest(key="k"), 2, FindCoordinatorResponse, client_id=client_id)
    assert [c.client_id for c in coordinator.contexts] == ["one", "two", None, "", "grün", "two"]


def test_unknown_tagged_fields_in_a_header_are_skipped(serve: Serve) -> None:
    client = serve(Coordinator().api()).client()
    tags = {7: b"something", 200: b"else" * 50}
    response = client.call(FindCoordinatorRequest(key="k"), 3, FindCoordinatorResponse, tags=tags)
    assert response.host == "k"


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (b"", "shorter"),
        (b"\0\x0a\0\x02\0\0\0\x01\0", "shorter"),
        (struct.pack(">hhih", 10, 2, 1, 100) + b"short", "client id"),
        (struct.pack(">hhih", 10, 2, 1, 2) + b"\xff\xff" + bytes(3), "UTF-8"),
        (struct.pack(">hhih", 10, 2, 1, -1) + b"\0", "early"),
        (struct.pack(">hhih", 10, 3, 1, -1) + b"\x05", "tagged fields"),
        (struct.pack(">hhih", 10, 99, 1, -1), "version 99 of FIND_COORDINATOR is not offered"),
        (struct.pack(">hhih", 10, -1, 1, -1), "version -1 of FIND_COORDINATOR is not offered"),
        (struct.pack(">hhih", 3, 1, 1, -1), "METADATA is not offered on the listener PLAINTEXT"),
        (struct.pack(">hhih", 999, 1, 1, -1), "there is no API with key 999"),
        (struct.pack(">hhih", -5, 1, 1, -1), "there is no API with key 65531"),
    ],
)
def test_what_is_not_understood_closes_its_connection_with_one_line(
    serve: Serve, caplog: pytest.LogCaptureFixture, frame: bytes, words: str
) -> None:
    server = serve(Coordinator().api())
    good, bad = server.client(), server.client()
    ask(good, "before")
    assert hosts(good, 1) == ["before"]
    with caplog.at_level(logging.INFO):
        bad.socket.sendall(struct.pack(">i", len(frame)) + frame)
        assert bad.ended()
        server.until(lambda: len(server.server.connections) == 1)
    assert len(caplog.records) == 1
    assert words in caplog.records[0].message
    assert caplog.records[0].exc_info is None
    ask(good, "after")
    assert hosts(good, 1) == ["after"]


def test_bytes_behind_a_whole_request_are_ignored(serve: Serve) -> None:
    client = serve(Coordinator().api()).client()
    body = FindCoordinatorRequest(key="k").encode(2) + b"extra"
    client.socket.sendall(client.frame(ApiKey.FIND_COORDINATOR, 2, body))
    assert hosts(client, 1) == ["k"]


def test_random_requests_never_harm_the_server(serve: Serve) -> None:
    server = serve(Coordinator().api())
    good = server.client()
    dice = random.Random(11)
    for round_number in range(150):
        bad = server.client()
        key, version = dice.choice([10, 18, dice.randrange(100)]), dice.randrange(5)
        body = struct.pack(">hhih", key, version, 1, dice.choice([-1, 0, 3, 300])) + dice.randbytes(dice.randrange(60))
        try:
            bad.socket.sendall(struct.pack(">i", len(body)) + body)
        except OSError:
            pass
        if round_number % 10 == 0:
            ask(good, "alive")
            assert hosts(good, 1) == ["alive"]


# ----------------------------------------------------------------------------------------------- ApiVersions


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_what_is_in_the_table(serve: Serve, version: int) -> None:
    produce = Api(ApiKey.PRODUCE, ProduceRequest, lambda context, request: None)
    server = serve(Coordinator().api(max_version=4), produce)
    request = ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.15.0")
    if version < 3:
        request = ApiVersionsRequest()
    client = server.client()
    response = client.call(request, version, ApiVersionsResponse)
    assert response.error_code == 0
    offered = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
    assert offered == {
        ApiKey.PRODUCE: (0, ProduceRequest.MAX_VERSION),
        ApiKey.FIND_COORDINATOR: (0, 4),
        ApiKey.API_VERSIONS: (0, 4),
    }
    (connection,) = server.on_loop(lambda: tuple(server.server.connections))
    assert connection.software == (("librdkafka", "2.15.0") if version >= 3 else None)


def test_api_versions_names_the_features_of_the_cluster(serve: Serve) -> None:
    server = serve()

    class Image:
        offset = 42
        features = {"metadata.version": 30, "switched.off": 0}

    server.services.metadata.image = Image()  # type: ignore[misc, assignment]
    request = ApiVersionsRequest(client_software_name="c", client_software_version="1")
    by_version = {v: server.client().call(request, v, ApiVersionsResponse) for v in (3, 4)}
    for response in by_version.values():
        assert response.finalized_features_epoch == 42
        finalized = [(f.name, f.min_version_level, f.max_version_level) for f in response.finalized_features]
        assert finalized == [("metadata.version", 30, 30)]
        assert "metadata.version" in {f.name for f in response.supported_features}
    assert all(feature.min_version > 0 for feature in by_version[3].supported_features)


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_an_api_versions_request_that_is_too_new_is_answered_in_version_0(serve: Serve, version: int) -> None:
    client = serve(Coordinator().api()).client()
    header = struct.pack(">hhih", 18, version, 77, 4) + b"test\0"
    client.socket.sendall(struct.pack(">i", len(header) + 9) + header + b"\x05what\x04ever"[:9])
    correlation_id, response = client.answer(ApiVersionsResponse, 0)
    assert correlation_id == 77
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(k.api_key, k.min_version, k.max_version) for k in response.api_keys] == [(18, 0, 4)]
    # The connection goes on: the client tries again with a version it was told.
    assert client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


@pytest.mark.parametrize("name", ["", "-x", "a b", "x" * 3 + "\n"])
def test_software_that_does_not_name_itself_properly_is_refused(serve: Serve, name: str) -> None:
    client = serve().client()
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    assert client.call(request, 3, ApiVersionsResponse).error_code == ErrorCode.INVALID_REQUEST


def test_the_table_refuses_an_api_that_stands_twice() -> None:
    row = Coordinator().api()
    with pytest.raises(ValueError, match="FIND_COORDINATOR stands twice"):
        DispatchTable([row, row], services=None)  # type: ignore[arg-type]


def test_routes_are_the_first_four_bytes() -> None:
    assert route_key(10, 2) == int.from_bytes(struct.pack(">hh", 10, 2), "big")
    assert route_key(10, -1) == int.from_bytes(struct.pack(">hh", 10, -1), "big")


# ------------------------------------------------------------------------------------------ order and waiting


def test_pipelined_requests_are_answered_in_order(serve: Serve) -> None:
    client = serve(Coordinator().api()).client()
    keys = [f"key {number}" for number in range(500)]
    ask(client, *keys)
    assert hosts(client, 500) == keys


def test_a_waiting_request_holds_back_the_ones_behind_it(serve: Serve) -> None:
    coordinator = Coordinator()
    server = serve(coordinator.api())
    client, other = server.client(), server.client()
    ask(client, "first", "park 1", "second", "park 2", "third")
    assert hosts(client, 1) == ["first"]
    ask(other, "not held back")
    assert hosts(other, 1) == ["not held back"]
    assert server.on_loop(lambda: list(coordinator.seen)) == ["first", "park 1", "not held back"]
    assert server.on_loop(lambda: server.server.in_flight) == 1
    server.on_loop(coordinator.settle)
    assert hosts(client, 2) == ["park 1", "second"]
    server.until(lambda: coordinator.parked)
    server.on_loop(coordinator.settle)
    assert hosts(client, 2) == ["park 2", "third"]
    assert server.on_loop(lambda: server.server.in_flight) == 0


def test_a_request_may_have_no_answer_or_one_that_is_settled_already(serve: Serve) -> None:
    client = serve(Coordinator().api()).client()
    ask(client, "a", "silent", "settled", "silent", "b")
    assert hosts(client, 3) == ["a", "settled", "b"]


def test_an_answer_to_someone_who_left_is_dropped(serve: Serve) -> None:
    coordinator = Coordinator()
    server = serve(coordinator.api())
    client = server.client()
    ask(client, "park")
    server.until(lambda: coordinator.parked)
    client.close()
    server.until(lambda: not server.server.connections)
    server.on_loop(coordinator.settle)
    assert server.on_loop(lambda: server.server.in_flight) == 0
    ask(server.client(), "still serving")


def test_a_throttled_answer_is_sent_and_holds_the_connection(serve: Serve) -> None:
    coordinator = Coordinator()
    server = serve(coordinator.api())
    client = server.client()
    ask(client, "throttle", "next")
    assert hosts(client, 1) == ["throttle"]
    assert server.on_loop(lambda: list(coordinator.seen)) == ["throttle"]
    assert hosts(client, 1) == ["next"]


# ------------------------------------------------------------------------------------------------- failures


def test_a_broken_handler_closes_its_connection_and_is_logged_once(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(Coordinator().api())
    good, bad = server.client(), server.client()
    with caplog.at_level(logging.ERROR):
        ask(bad, "a", "break", "b")
        assert hosts(bad, 1) == ["a"]
        assert bad.ended()
    assert len(caplog.records) == 1
    assert "broken on purpose" in caplog.text
    ask(good, "alive")
    assert hosts(good, 1) == ["alive"]


def test_a_failure_of_a_waiting_request_closes_its_connection(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    coordinator = Coordinator()
    server = serve(coordinator.api())
    for error in (RuntimeError("late failure"), ProtocolError("late nonsense")):
        client = server.client()
        ask(client, "park")
        server.until(lambda: coordinator.parked)
        with caplog.at_level(logging.WARNING):
            server.on_loop(lambda error=error: coordinator.parked.pop()[1].fail(error))
            server.until(lambda: not server.server.connections)
        assert client.ended()
        assert str(error) in caplog.text


def test_a_refused_request_is_answered_where_its_api_can_say_so(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    def say(request: FindCoordinatorRequest, version: int, error: KafkaError) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(error_code=error.code, host=request.key)

    coordinator = Coordinator()
    server = serve(coordinator.api(error_response=say))
    client = server.client()
    ask(client, "refuse", "park", "fine")
    response = client.answer(FindCoordinatorResponse, 2)[1]
    assert (response.error_code, response.host) == (ErrorCode.INVALID_GROUP_ID, "refuse")
    server.until(lambda: coordinator.parked)
    server.on_loop(lambda: coordinator.parked.pop()[1].fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT)))
    assert client.answer(FindCoordinatorResponse, 2)[1].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert hosts(client, 1) == ["fine"]
    strict = serve(Coordinator().api())
    silent = strict.client()
    with caplog.at_level(logging.WARNING):
        ask(silent, "refuse")
        assert silent.ended()
        strict.until(lambda: not strict.server.connections)
    assert "FIND_COORDINATOR was refused: refused on purpose" in caplog.text


# ------------------------------------------------------------------------------------------ the raw fast path


class RawProduce:
    """Answers with the bytes of the body; the first byte decides how."""

    def __init__(self) -> None:
        self.later: Deferred[Any] | None = None

    def factory(self, services: Any) -> Any:
        return self.handle

    def handle(self, connection: Any, data: memoryview, start: int, end: int, version: int, correlation_id: int) -> Any:
        body = bytes(data[start:end])
        data[start:end] = bytes(end - start)  # received bytes may be changed in place
        answer = [struct.pack(">ii", 4 + len(body), correlation_id), body]
        match body[:1]:
            case b"n":
                return None
            case b"d":
                data[start:end] = body
                return DECLINED
            case b"l":
                self.later = Deferred()
                self.later.then(lambda value, error: None)
                return self.later
            case b"x":
                raise ProtocolError("raw nonsense")
            case b"k":
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "raw refusal")
            case b"w":
                return b"wrong type"
        return answer

    def api(self) -> Api:
        return Api(ApiKey.DELETE_TOPICS, DeleteTopicsRequest, self.decoded, raw=self.factory)

    def decoded(self, context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        return DeleteTopicsResponse(responses=[DeletableTopicResult(name=name) for name in request.topic_names])


def raw_frame(client: Client, body: bytes) -> bytes:
    return client.frame(ApiKey.DELETE_TOPICS, 3, body)


def test_a_raw_handler_sees_the_bytes_and_answers_in_order(serve: Serve) -> None:
    raw = RawProduce()
    server = serve(raw.api())
    client = server.client()
    client.socket.sendall(b"".join(raw_frame(client, body) for body in (b"a1", b"none", b"later", b"a2")))
    assert client.receive() == struct.pack(">i", 1) + b"a1"
    server.until(lambda: raw.later)
    server.on_loop(lambda: raw.later.resolve([struct.pack(">ii", 8, 3), b"late"]))  # type: ignore[union-attr]
    assert client.receive() == struct.pack(">i", 3) + b"late"
    assert client.receive() == struct.pack(">i", 4) + b"a2"


def test_what_a_raw_handler_declines_goes_the_ordinary_way(serve: Serve) -> None:
    class Declining(RawProduce):
        def handle(self, *arguments: Any) -> Any:
            return DECLINED

    client = serve(Declining().api()).client()
    request = DeleteTopicsRequest(topic_names=["one", "two"], timeout_ms=1)
    response = client.call(request, 3, DeleteTopicsResponse)
    assert [topic.name for topic in response.responses] == ["one", "two"]


@pytest.mark.parametrize(("body", "words"), [(b"x", "raw nonsense"), (b"k", "raw refusal"), (b"w", "bytes")])
def test_a_failing_raw_handler_closes_its_connection(
    serve: Serve, caplog: pytest.LogCaptureFixture, body: bytes, words: str
) -> None:
    server = serve(RawProduce().api())
    client = server.client()
    with caplog.at_level(logging.WARNING):
        client.socket.sendall(raw_frame(client, b"fine") + raw_frame(client, body) + raw_frame(client, b"fine"))
        assert client.receive().endswith(b"fine")
        assert client.ended()
        server.until(lambda: not server.server.connections)
    assert words in caplog.text
    assert len(caplog.records) == 1


def test_a_waiting_raw_request_may_end_without_an_answer(serve: Serve) -> None:
    raw = RawProduce()
    server = serve(raw.api())
    client = server.client()
    client.socket.sendall(raw_frame(client, b"later") + raw_frame(client, b"a"))
    server.until(lambda: raw.later)
    server.on_loop(lambda: raw.later.resolve(None))  # type: ignore[union-attr]
    assert client.receive() == struct.pack(">i", 2) + b"a"


# ---------------------------------------------------------------------------------------- limits and idleness


def test_an_address_over_its_limit_is_turned_away(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    server = serve(Coordinator().api(), max_connections_per_ip="2")
    first, second = server.client(), server.client()
    ask(first, "1")
    ask(second, "2")
    assert hosts(first, 1) + hosts(second, 1) == ["1", "2"]
    with caplog.at_level(logging.WARNING):
        assert server.client().ended()
        assert server.client().ended()
    assert sum("refused a connection from 127.0.0.1" in record.message for record in caplog.records) == 1
    first.close()
    server.until(lambda: len(server.server.connections) == 1)
    third = server.client()
    ask(third, "3")
    assert hosts(third, 1) == ["3"]


def test_an_address_may_have_a_limit_of_its_own(serve: Serve) -> None:
    server = serve(
        Coordinator().api(), max_connections_per_ip="1", max_connections_per_ip_overrides="127.0.0.1:3,127.0.0.9:0"
    )
    clients = [server.client() for _ in range(3)]
    for client in clients:
        ask(client, "hello")
        assert hosts(client, 1) == ["hello"]
    assert server.client().ended()


def test_above_max_connections_clients_wait_for_a_place(serve: Serve) -> None:
    server = serve(Coordinator().api(), max_connections="2")
    clients = [server.client() for _ in range(2)]
    for client in clients:
        ask(client, "hello")
        assert hosts(client, 1) == ["hello"]
    waiting = server.client()
    ask(waiting, "waited")
    assert server.on_loop(lambda: len(server.server.connections)) == 2
    clients[0].close()
    assert hosts(waiting, 1) == ["waited"]
    assert server.on_loop(lambda: len(server.server.connections)) == 2


def test_the_inter_broker_listener_takes_the_place_of_the_longest_idle_client(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(
        Coordinator().api(),
        listeners="PLAINTEXT://127.0.0.1:0,INTERNAL://127.0.0.2:0",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT",
        inter_broker_listener_name="INTERNAL",
        max_connections="2",
    )
    internal = server.listen("INTERNAL")
    idle, busy = server.client(), server.client()
    for client in (idle, busy):
        ask(client, "hello")
        assert hosts(client, 1) == ["hello"]
    server.on_loop(lambda: server.server._sweep())
    ask(busy, "again")
    assert hosts(busy, 1) == ["again"]
    with caplog.at_level(logging.WARNING):
        broker = server.client(internal)
        ask(broker, "replicate")
        assert hosts(broker, 1) == ["replicate"]
        assert idle.ended()
    ask(busy, "still here")
    assert hosts(busy, 1) == ["still here"]


def test_new_connections_come_no_faster_than_allowed(serve: Serve) -> None:
    server = serve(Coordinator().api(), max_connection_creation_rate="20")
    clients = [server.client() for _ in range(25)]
    for client in clients:
        ask(client, "hello")
    # The first second's worth comes at once; the rest is served too, only later.
    for client in clients:
        assert hosts(client, 1) == ["hello"]


def test_idle_connections_are_closed_and_waiting_ones_are_not(serve: Serve) -> None:
    coordinator = Coordinator()
    server = serve(coordinator.api(), connections_max_idle_ms="200")
    idle, waiting = server.client(), server.client()
    ask(waiting, "park")
    server.until(lambda: coordinator.parked)
    assert idle.ended()
    server.until(lambda: len(server.server.connections) == 1)
    server.on_loop(coordinator.settle)
    assert hosts(waiting, 1) == ["park"]


def test_a_frame_above_socket_request_max_bytes_closes_the_connection(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(Coordinator().api(), socket_request_max_bytes="100")
    client = server.client()
    with caplog.at_level(logging.WARNING):
        client.socket.sendall(struct.pack(">i", 101))
        assert client.ended()
        server.until(lambda: not server.server.connections)
    assert len(caplog.records) == 1
    assert "101 bytes" in caplog.records[0].message


# ------------------------------------------------------------------------------------------------- shutdown


def test_shutdown_finishes_what_is_in_flight(serve: Serve) -> None:
    coordinator = Coordinator()
    server = serve(coordinator.api())
    idle, waiting = server.client(), server.client()
    ask(idle, "hello")
    assert hosts(idle, 1) == ["hello"]
    ask(waiting, "park", "too late")
    server.until(lambda: coordinator.parked)
    finished = threading.Event()
    server.on_loop(lambda: server.server.shutdown(10.0).then(lambda value, error: finished.set()))
    assert idle.ended()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.address, timeout=20)
    assert not finished.is_set()
    server.on_loop(coordinator.settle)
    assert hosts(waiting, 1) == ["park"]
    assert waiting.ended()
    assert finished.wait(20)
    assert coordinator.seen == ["hello", "park"]


def test_shutdown_lets_every_answer_leave_though_more_was_asked(serve: Serve) -> None:
    """Unread requests must not turn the end of a connection into a reset: that would cost the last answers."""

    class Large(Coordinator):
        def handle(self, context: RequestContext, request: FindCoordinatorRequest) -> Any:
            self.seen.append(request.key)
            return FindCoordinatorResponse(error_message="x" * 30_000, host=request.key)

    coordinator = Large()
    server = serve(coordinator.api(), socket_send_buffer_bytes="8192")
    client = server.client()
    ask(client, *["k"] * 500)
    # Until nothing moves any more: neither does the client read answers nor the server requests.
    counts = [-1, -2]
    server.until(lambda: counts.append(len(coordinator.seen)) or 0 < counts[-1] == counts[-2] == counts[-20:][0] < 500)
    ask(client, *["k"] * 500)
    finished = threading.Event()
    server.on_loop(lambda: server.server.shutdown(10.0).then(lambda value, error: finished.set()))
    served = server.on_loop(lambda: len(coordinator.seen))
    assert 0 < served < 500
    for _ in range(served):
        assert len(client.answer(FindCoordinatorResponse, 2)[1].error_message) == 30_000
    assert client.socket.recv(1) == b""
    client.close()
    assert finished.wait(20)


def test_shutdown_does_not_wait_beyond_its_deadline(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    coordinator = Coordinator()
    server = serve(coordinator.api())
    client = server.client()
    ask(client, "park")
    server.until(lambda: coordinator.parked)
    finished = threading.Event()
    with caplog.at_level(logging.WARNING):
        server.on_loop(lambda: server.server.shutdown(0.05).then(lambda value, error: finished.set()))
        assert finished.wait(20)
    assert "1 connections were not finished" in caplog.text


def test_many_connections_are_served_side_by_side(serve: Serve) -> None:
    server = serve(Coordinator().api(), socket_listen_backlog_size="512")
    idle = [server.client() for _ in range(300)]
    busy = [server.client() for _ in range(50)]
    blob = os.urandom(16).hex()
    for client in busy:
        ask(client, *[f"{blob} {number}" for number in range(20)])
    for client in busy:
        assert hosts(client, 20) == [f"{blob} {number}" for number in range(20)]
    for client in idle[::50]:
        ask(client, "awake")
        assert hosts(client, 1) == ["awake"]


def test_very_many_answers_that_waited_for_one_event_leave_over_several_turns(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the last of some thousand members has joined a group: nobody else waits until all of them are told."""
    monkeypatch.setattr("moldau.server.request_channel.LATE_PER_TURN", 3)
    coordinator = Coordinator()
    server = serve(coordinator.api())
    clients = [server.client() for _ in range(10)]
    for number, client in enumerate(clients):
        ask(client, f"park {number}", f"next {number}")
    server.until(lambda: len(coordinator.parked) == 10)

    def settle_all() -> int:
        while coordinator.parked:
            coordinator.settle()
        return server.server.in_flight

    assert server.on_loop(settle_all) == 7
    for number, client in enumerate(clients):
        assert hosts(client, 2) == [f"park {number}", f"next {number}"]
