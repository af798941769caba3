"""The express way with an authorizer: it serves what is permitted, and nothing that is not any more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from node_certificate import ISSUER, KEYSTORE, TRUSTSTORE, trusting
from served_node import PATIENCE, Client, Served

from moldau import _speed
from moldau.config.settings.security import STANDARD_AUTHORIZER
from moldau.errors import ErrorCode, error_code
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.records import Record, encode_batch
from moldau.security.acl import Acl, AclFilter, Operation, PatternType, Permission, ResourceType
from moldau.server.authorization import audit

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="there is no express way without the compiled kernels")

WRITE_OPEN = Acl(
    ResourceType.TOPIC, "open", PatternType.LITERAL, "User:ANONYMOUS", "*", Operation.WRITE, Permission.ALLOW
)
READ_OPEN = WRITE_OPEN._replace(operation=Operation.READ)
READ_GROUP = READ_OPEN._replace(resource_type=ResourceType.GROUP, resource_name="readers")


class Guarded(Served):
    def ask(self, ask: Any) -> Any:
        """Something of the controller, on the node's own thread."""
        done = threading.Event()
        answers: list[Any] = []

        def settled(value: Any, error: BaseException | None) -> None:
            answers.append(error or value)
            done.set()

        self.node.runtime.loop.call_from_thread(lambda: ask(self.node.node.controller).then(settled))
        assert done.wait(PATIENCE)
        return answers[0]

    def permit(self, *acls: Acl) -> None:
        self.ask(lambda controller: controller.delete_acls([AclFilter()]))
        self.ask(lambda controller: controller.create_acls(list(acls)))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Guarded]:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "offsets.topic.num.partitions": "1"}
    node = Guarded(tmp_path, express=True, topics={"open": {}, "closed": {}}, settings=settings)
    yield node
    node.close()


@pytest.fixture
def connect(node: Guarded) -> Iterator[Callable[[], Client]]:
    clients: list[Client] = []

    def connect() -> Client:
        clients.append(Client(node.address))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


def produce(client: Client, node: Guarded, topic: str, version: int) -> ErrorCode:
    batch = encode_batch([Record(0, 1_700_000_000_000, None, b"v", [])])
    rows = [PartitionProduceData(index=0, records=batch)]
    data = TopicProduceData(partition_data=rows)
    if version >= 13:
        data.topic_id = node.ids[topic]
    else:
        data.name = topic
    request = ProduceRequest(acks=1, timeout_ms=5000, topic_data=[data])
    client.socket.sendall(client.frame(request, version))
    answer = client.answer()
    assert answer is not None
    response = ProduceResponse.decode(answer[5:], version)
    return error_code(response.responses[0].partition_responses[0].error_code)


def outcomes(node: Guarded, clients: Sequence[Client], topic: str, version: int) -> tuple[set[ErrorCode], int]:
    """What they hear, and how many were served on the express way."""
    before = node.served
    return {produce(client, node, topic, version) for client in clients}, node.served - before


@pytest.mark.parametrize("version", [9, 13])
def test_what_is_permitted_goes_the_express_way(node: Guarded, connect: Callable[[], Client], version: int) -> None:
    clients = [connect() for _ in range(3)]
    denied = {ErrorCode.TOPIC_AUTHORIZATION_FAILED}, 0
    assert outcomes(node, clients, "open", version) == denied
    node.permit(WRITE_OPEN)
    # The first one opens the partition.
    assert outcomes(node, clients, "open", version)[0] == {ErrorCode.NONE}
    assert outcomes(node, clients, "open", version) == ({ErrorCode.NONE}, 3)
    assert outcomes(node, clients, "closed", version) == denied
    # Another rule, which still permits it: one round to look again.
    node.permit(WRITE_OPEN, READ_OPEN)
    assert outcomes(node, clients, "open", version)[0] == {ErrorCode.NONE}
    assert outcomes(node, clients, "open", version) == ({ErrorCode.NONE}, 3)
    node.permit(WRITE_OPEN, WRITE_OPEN._replace(permission=Permission.DENY, principal="User:*"))
    assert outcomes(node, clients, "open", version) == denied


def test_whoever_wants_to_be_told_of_decisions_is_told_of_each(
    node: Guarded, connect: Callable[[], Client], caplog: pytest.LogCaptureFixture
) -> None:
    node.permit(WRITE_OPEN)
    client = connect()
    assert outcomes(node, [client], "open", 9)[0] == {ErrorCode.NONE}
    assert outcomes(node, [client], "open", 9) == ({ErrorCode.NONE}, 1)
    before = audit.level
    audit.setLevel(logging.DEBUG)
    try:
        assert outcomes(node, [client], "open", 9) == ({ErrorCode.NONE}, 0)
    finally:
        audit.setLevel(before)
    assert [record.getMessage().partition(" is ")[0] for record in caplog.records if record.name == audit.name] == [
        "Principal = User:ANONYMOUS"
    ]


def commit(client: Client, topic: str) -> ErrorCode:
    rows = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")]
    request = OffsetCommitRequest(
        group_id="readers",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[OffsetCommitRequestTopic(name=topic, partitions=rows)],
    )
    client.socket.sendall(client.frame(request, 8))
    answer = client.answer()
    assert answer is not None
    return error_code(OffsetCommitResponse.decode(answer[5:], 8).topics[0].partitions[0].error_code)


def test_commits_need_the_group_and_the_topics(node: Guarded, connect: Callable[[], Client]) -> None:
    client = connect()
    node.permit(READ_OPEN, READ_GROUP)
    request = FindCoordinatorRequest(key="readers", key_type=0)
    client.socket.sendall(client.frame(request, 3))
    # The topic is made in the name of the node.
    assert FindCoordinatorResponse.decode((client.answer() or b"")[5:], 3).error_code == 0
    while commit(client, "open") is not ErrorCode.NONE:
        pass
    before = node.served
    assert commit(client, "open") is ErrorCode.NONE
    assert node.served == before + 1
    assert commit(client, "closed") is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    node.permit(READ_OPEN)
    assert commit(client, "open") is ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_whoever_comes_with_a_certificate_may_do_what_it_says(tmp_path: Path) -> None:
    settings = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.client.auth": "required",
        **KEYSTORE,
        **TRUSTSTORE,
    }
    node = Guarded(tmp_path / "node", express=True, topics={"open": {}}, settings=settings)
    node.permit(WRITE_OPEN._replace(principal="User:CN=jan"))
    clients = []
    for name in ("jan", "eva"):
        certificate = ISSUER.issue(name).write(tmp_path / name)
        address = node.node.node.server.address("SSL")
        clients.append(Client(address, context=trusting(certificate=certificate)))
    jan, eva = clients
    assert produce(jan, node, "open", 9) is ErrorCode.NONE
    for _ in range(2):
        assert outcomes(node, [jan], "open", 9) == ({ErrorCode.NONE}, 1)
        assert outcomes(node, [eva], "open", 9) == ({ErrorCode.TOPIC_AUTHORIZATION_FAILED}, 0)
    for client in clients:
        client.close()
    node.close()
