from __future__ import annotations

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.listeners import Endpoint, SecurityProtocol, parse_endpoints, parse_protocol_map

PLAIN = {"PLAINTEXT": SecurityProtocol.PLAINTEXT, "IN": SecurityProtocol.PLAINTEXT, "OUT": SecurityProtocol.SSL}


def endpoints(*items: str, distinct_ports: bool = True) -> tuple[Endpoint, ...]:
    return parse_endpoints("listeners", items, PLAIN, distinct_ports=distinct_ports)


@pytest.mark.parametrize(
    ("item", "host", "port"),
    [
        ("PLAINTEXT://:9092", "", 9092),
        ("plaintext://localhost:0", "localhost", 0),
        ("PLAINTEXT://127.0.0.1:65535", "127.0.0.1", 65535),
        ("PLAINTEXT://[::1]:9092", "::1", 9092),
        ("PLAINTEXT://::1:9092", "::1", 9092),
        ("PLAINTEXT://a-b.example_1.org:1", "a-b.example_1.org", 1),
    ],
)
def test_an_endpoint_has_a_name_a_host_and_a_port(item, host, port):
    assert endpoints(item) == (Endpoint("PLAINTEXT", host, port, SecurityProtocol.PLAINTEXT),)


def test_an_endpoint_is_written_as_it_is_read():
    (endpoint,) = endpoints("OUT://[fe80::1]:9093")
    assert str(endpoint) == "OUT://[fe80::1]:9093"
    assert endpoints(str(endpoint)) == (endpoint,)


@pytest.mark.parametrize(
    "item", ["PLAINTEXT", "PLAINTEXT://", "PLAINTEXT://host", "PLAINTEXT://h:70000", "://h:1", "PLAINTEXT://h:x", "a b"]
)
def test_what_is_not_an_endpoint_is_named(item):
    with pytest.raises(ConfigError, match="must be name://host:port"):
        endpoints(item)


def test_a_name_without_a_protocol_is_refused():
    with pytest.raises(ConfigError, match="names the listener SECRET, but"):
        endpoints("SECRET://:9092")


def test_a_name_may_not_appear_twice():
    with pytest.raises(ConfigError, match="names the listener IN twice"):
        endpoints("IN://:1", "in://:2")


def test_a_port_may_not_appear_twice_but_for_two_families():
    with pytest.raises(ConfigError, match="uses port 9092 for IN, OUT"):
        endpoints("IN://:9092", "OUT://:9092")
    with pytest.raises(ConfigError, match="uses port 9092"):
        endpoints("IN://127.0.0.1:9092", "OUT://127.0.0.2:9092")
    with pytest.raises(ConfigError, match="uses port 9092"):
        endpoints("IN://127.0.0.1:9092", "OUT://[::1]:9092", "PLAINTEXT://:9092")
    assert len(endpoints("IN://127.0.0.1:9092", "OUT://[::1]:9092")) == 2
    assert len(endpoints("IN://:0", "OUT://:0")) == 2
    assert len(endpoints("IN://a:9092", "OUT://a:9092", distinct_ports=False)) == 2


def test_the_protocol_map():
    assert parse_protocol_map(" in : PLAINTEXT , OUT:SASL_SSL,") == {
        "IN": SecurityProtocol.PLAINTEXT,
        "OUT": SecurityProtocol.SASL_SSL,
    }
    for text in ("IN", "IN:TLS", ":SSL", "IN:plaintext"):
        with pytest.raises(ConfigError, match="must be name:protocol"):
            parse_protocol_map(text)


def test_numbers_of_protocols_are_kafkas():
    assert [int(protocol) for protocol in SecurityProtocol] == [0, 1, 2, 3]


def test_controller_listeners_are_plaintext_only_where_nothing_is_protected():
    node = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@localhost:9093",
        "controller.listener.names": "CONTROLLER",
    }
    config = BrokerConfig.parse({**node, "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"})
    assert config.listener_protocols["CONTROLLER"] is SecurityProtocol.PLAINTEXT
    protected = {**node, "listeners": "SSL://:9092,CONTROLLER://:9093", "security.inter.broker.protocol": "SSL"}
    with pytest.raises(ConfigError, match="names the listener CONTROLLER, but"):
        BrokerConfig.parse(protected)


def test_a_controller_listener_that_is_not_advertised_is_reached_where_it_listens():
    config = BrokerConfig.parse(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": "1@localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://here:9093",
            "advertised.listeners": "PLAINTEXT://there:19092",
        }
    )
    assert [str(e) for e in config.advertised_controller_endpoints] == ["CONTROLLER://here:9093"]
    assert [str(e) for e in config.advertised_broker_endpoints] == ["PLAINTEXT://there:19092"]
