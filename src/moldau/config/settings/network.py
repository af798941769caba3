"""Broker settings of the network: listeners, sockets, connections, requests."""

from __future__ import annotations

from typing import Any, Final

from moldau.config.definition import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    INT_MAX,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    PER_BROKER,
    STRING,
    Allowed,
    Setting,
    at_least,
    distinct,
    one_of,
    optional,
)

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_PROTOCOL_MAP: Final = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"


def _is_limit_per_host(text: str) -> bool:
    pairs = [item.strip().rpartition(":") for item in text.split(",") if item.strip()]
    return all(host and count.strip().isdigit() for host, _, count in pairs)


_LIMITS_PER_HOST: Final[Allowed[Any]] = Allowed("a list of host:number", _is_limit_per_host)


def _is_address_or_nothing(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    return not text or bool(colon and host and port.isascii() and port.isdigit() and int(port) <= 65535)


_ADDRESS_OR_NOTHING: Final[Allowed[Any]] = Allowed("host:port, or empty", _is_address_or_nothing)

# Why a setting does nothing.
_DOES_NOT_GROW: Final = "what grows after failures is the pause before the next try"


# fmt: off
class NetworkSettings:
    listeners = Setting("listeners", LIST, ("PLAINTEXT://:9092",), distinct(may_be_empty=False), HIGH,
        "Where the node listens, as name://host:port separated by commas. An empty host means all addresses, port 0 a "
        "free port.", PER_BROKER)
    advertised_listeners = Setting("advertised.listeners", optional(LIST), None, distinct(may_be_empty=False), HIGH,
        "The addresses clients are told to connect to, in the form of `listeners`, which counts where this is not set.")
    listener_security_protocol_map = Setting("listener.security.protocol.map", STRING, _PROTOCOL_MAP, None, LOW,
        "Which security protocol each listener name uses, as name:protocol separated by commas. Where it is not set, "
        "controller listeners are PLAINTEXT.", PER_BROKER)
    inter_broker_listener_name = Setting("inter.broker.listener.name", optional(STRING), None, None, MEDIUM,
        "The listener brokers use among themselves; the one of `security.inter.broker.protocol` where it is not set.")
    security_inter_broker_protocol = Setting(
        "security.inter.broker.protocol", STRING, "PLAINTEXT", one_of(*SECURITY_PROTOCOLS), MEDIUM,
        "The security protocol brokers use among themselves; set this or `inter.broker.listener.name`, not both.")
    early_start_listeners = Setting("early.start.listeners", optional(LIST), None, distinct(may_be_empty=True), HIGH,
        "The listeners that serve before authorization is ready; those of the controller where it is not set.",
        no_effect="listeners of controllers serve at once, all others when the access rules are known")

    metrics_listener = Setting("metrics.listener", STRING, "", _ADDRESS_OR_NOTHING, LOW,
        "Where the node answers HTTP for `/metrics`, `/live` and `/ready`, as host:port; port 0 takes a free one, told "
        "in the log. Nowhere if it is empty. There is neither a login nor TLS: keep it to loopback or to a network of "
        "your own.")

    telemetry_max_bytes = Setting("telemetry.max.bytes", INT, 1 << 20, at_least(1), LOW,
        "How many bytes of metrics a client may push at a time, packed. Unpacked they may be 16 times as many, and 32 "
        "MiB.")

    slow_request_log_ms = Setting("slow.request.log.ms", LONG, 1000, at_least(-1), LOW,
        "A request that is answered later than this is told in the log, with what it waited for; -1 tells of none. "
        "Requests that wait on purpose (fetching, joining a group) are left out.")

    socket_send_buffer_bytes = Setting("socket.send.buffer.bytes", INT, 100 << 10, None, HIGH,
        "The send buffer of a connection (SO_SNDBUF); -1 leaves it to the operating system.")
    socket_receive_buffer_bytes = Setting("socket.receive.buffer.bytes", INT, 100 << 10, None, HIGH,
        "The receive buffer of a connection (SO_RCVBUF); -1 leaves it to the operating system, and so does not setting "
        "it at all.")
    socket_request_max_bytes = Setting("socket.request.max.bytes", INT, 100 << 20, at_least(1), HIGH,
        "The largest request; a connection that announces a larger one is closed.")
    socket_listen_backlog_size = Setting("socket.listen.backlog.size", INT, 50, at_least(1), MEDIUM,
        "How many connections may wait to be accepted.")
    socket_connection_setup_timeout_ms = Setting("socket.connection.setup.timeout.ms", LONG, 10_000, None, MEDIUM,
        "How long a node waits for a connection to another one.")
    socket_connection_setup_timeout_max_ms = Setting(
        "socket.connection.setup.timeout.max.ms", LONG, 30_000, None, MEDIUM,
        "How long a node waits at most for a connection to another one.", no_effect=_DOES_NOT_GROW)

    max_connections = Setting("max.connections", INT, INT_MAX, at_least(0), MEDIUM,
        "How many connections the broker holds; also per listener, with the listener's prefix. One too many on the "
        "inter-broker listener closes the longest idle one elsewhere.", CLUSTER_WIDE)
    max_connections_per_ip = Setting("max.connections.per.ip", INT, INT_MAX, at_least(0), MEDIUM,
        "How many connections one address may hold; 0 only with exceptions in `max.connections.per.ip.overrides`.",
        CLUSTER_WIDE)
    max_connections_per_ip_overrides = Setting("max.connections.per.ip.overrides", STRING, "", _LIMITS_PER_HOST, MEDIUM,
        "Exceptions from `max.connections.per.ip`, as host:number separated by commas.", CLUSTER_WIDE)
    max_connection_creation_rate = Setting("max.connection.creation.rate", INT, INT_MAX, at_least(0), MEDIUM,
        "How many connections a second are accepted; also per listener, with the listener's prefix.", CLUSTER_WIDE)
    connections_max_idle_ms = Setting("connections.max.idle.ms", LONG, 10 * 60_000, None, MEDIUM,
        "How long a connection may be idle before it is closed; a negative value means for ever.")
    connection_failed_authentication_delay_ms = Setting(
        "connection.failed.authentication.delay.ms", INT, 100, at_least(0), LOW,
        "How long the answer to a failed authentication is held back.")
    queued_max_requests = Setting("queued.max.requests", INT, 500, at_least(1), HIGH,
        "How many requests may be unanswered before the broker stops reading from connections.",
        no_effect="a connection has at most one unanswered request, and `queued.max.request.bytes` bounds their memory")
    queued_max_request_bytes = Setting("queued.max.request.bytes", LONG, -1, None, MEDIUM,
        "How many bytes of unanswered requests there may be before the broker stops reading; -1 means no limit.")

    request_timeout_ms = Setting("request.timeout.ms", INT, 30_000, None, HIGH,
        "How long the broker waits for an answer to a request of its own.")
    fetch_max_bytes = Setting("fetch.max.bytes", INT, 55 << 20, at_least(1024), MEDIUM,
        "The most bytes a fetch is answered with, whatever the client asks for.")
    max_incremental_fetch_session_cache_slots = Setting(
        "max.incremental.fetch.session.cache.slots", INT, 1000, at_least(0), MEDIUM,
        "How many fetch sessions the broker keeps.")
    max_request_partition_size_limit = Setting("max.request.partition.size.limit", INT, 2000, at_least(1), MEDIUM,
        "How many partitions one answer to DescribeTopicPartitions lists.")
