"""Real clients over TLS against our node: who is let in, who is not, and what becomes of those who are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from node_process import NodeProcess, StartNode
from tls_node import Pki

from clients import CLIENTS, EARLIEST, Client, Message

pytestmark = pytest.mark.ours_only("it is the node's side that is looked at")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[NodeProcess]:
    """Wants a certificate of everybody, and has a listener that only asks for one."""
    node = NodeProcess(
        tmp_path_factory.mktemp("mutual") / "data",
        pki.listener(ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=(.*?)(,.*)?$/$1/L"),
    )
    yield node
    node.kill()


def usable(kind: type[Client]) -> type[Client]:
    missing = kind.unavailable()
    if missing:
        pytest.skip(missing)
    return kind


def by_name(kind: type[Client]) -> str:
    return kind.name


def use(client: Client, topic: str) -> None:
    """More than one TLS record, or buffer, each way."""
    values = [b"%05d" % number * 200 for number in range(2000)]
    client.create_topic(topic)
    client.produce(topic, [Message(value) for value in values])
    received = client.consume(topic, EARLIEST, len(values))
    assert [each.value for each in received] == values
    assert client.topics()[topic] == 1


@pytest.mark.parametrize("kind", CLIENTS, ids=by_name)
def test_every_client_works_with_a_certificate_of_its_own(
    kind: type[Client], mutual: NodeProcess, pki: Pki, topic: str
) -> None:
    use(usable(kind)(mutual.bootstrap, pki.client(pki.issuer.issue("client"))), topic)


@pytest.mark.parametrize("kind", CLIENTS, ids=by_name)
def test_every_client_works_without_one_where_none_is_wanted(
    kind: type[Client], start_node: StartNode, pki: Pki, topic: str
) -> None:
    use(usable(kind)(start_node(pki.listener()).bootstrap, pki.client()), topic)
