"""What every client can be told, with kafka-python's names and defaults, and the network made of it.

Settings that only make sense for kafka-python's own machinery (selector, metric reporters, API versions to assume) are
taken and have no effect, so that a program keeps working when its import changes. Settings that would weaken security
if they were ignored are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import count
from numbers import Real
from typing import Any, Final

from moldau.client.background import Background
from moldau.client.backoff import Backoff
from moldau.client.conversation import Conversation, Learn, Pause
from moldau.client.errors import NoBrokerAnswers
from moldau.client.exceptions import named
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.client.security import SETTINGS as SECURITY
from moldau.client.security import Security, read_security
from moldau.errors import KafkaError, MoldauError
from moldau.errors.named import KafkaConfigurationError, KafkaConnectionError, NoBrokersAvailable
from moldau.links.addresses import Address, AddressError, parse_bootstrap
from moldau.links.errors import ConnectionFailed

_numbers = count(1)

COMMON: Final[dict[str, Any]] = {
    "bootstrap_servers": "localhost",
    "client_id": None,
    "metadata_max_age_ms": 300_000,
    "retry_backoff_ms": 100,
    "retry_backoff_max_ms": 1000,
    "reconnect_backoff_ms": 50,
    "reconnect_backoff_max_ms": 1000,
    "request_timeout_ms": 30_000,
    "bootstrap_timeout_ms": 30_000,
    "socket_connection_setup_timeout_ms": 10_000,
    "connections_max_idle_ms": 540_000,
    "metadata_recovery_strategy": "rebootstrap",
    "metadata_recovery_rebootstrap_trigger_ms": 300_000,
    **SECURITY,
}

# Taken, and without effect here.
INERT: Final[dict[str, Any]] = {
    "api_version": None,
    "api_version_auto_timeout_ms": 2000,
    "client_dns_lookup": "use_all_dns_ips",
    "kafka_client": None,
    "max_in_flight_requests_per_connection": 5,
    "metric_reporters": (),
    "metrics_enabled": True,
    "metrics_num_samples": 2,
    "metrics_sample_window_ms": 30_000,
    "receive_buffer_bytes": None,
    "receive_message_max_bytes": 100_000_000,
    "send_buffer_bytes": None,
    "selector": None,
    "socket_options": None,
}

# What programs may set to reach a broker through something this client does not have.
_REFUSED: Final = ("proxy_url", "socks5_proxy")

_RECOVERY: Final = ("rebootstrap", "none")


# Numbers that cannot be 0; none but `acks` can be negative.
_ABOVE_ZERO: Final = (
    *("max_request_size", "buffer_memory", "request_timeout_ms", "transaction_timeout_ms", "session_timeout_ms"),
    *("heartbeat_interval_ms", "max_poll_interval_ms", "max_in_flight_requests_per_connection"),
)
_TEXTS: Final = ("client_id", "client_rack", "group_id", "transactional_id")
# Functions, or objects with this method.
_FUNCTIONS: Final = {
    "key_serializer": "serialize",
    "value_serializer": "serialize",
    "key_deserializer": "deserialize",
    "value_deserializer": "deserialize",
    "partitioner": "partition",
}


def merged(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in force; KafkaConfigurationError for names nobody knows and for what is not built."""
    known = {**INERT, **COMMON, **defaults}
    for name in given:
        if name in _REFUSED and given[name] is None:
            continue
        if name not in known:
            close = get_close_matches(name, known, 1)
            advice = f" Is {close[0]!r} meant?" if close else ""
            raise KafkaConfigurationError(f"There is no setting {name!r}.{advice}")
    config = {**known, **given}
    for name in given:
        if name in COMMON or name in defaults:
            _check(name, config[name], known[name])
    if config["metadata_recovery_strategy"] not in _RECOVERY:
        raise KafkaConfigurationError(f"metadata_recovery_strategy must be one of {', '.join(_RECOVERY)}.")
    security(config)
    return config


def _check(name: str, value: Any, default: Any) -> None:
    """What a setting cannot be is said here, by its name, and not found out when it is used, or never."""
    if name in _FUNCTIONS:
        method = _FUNCTIONS[name]
        if value is not None and not callable(value) and not hasattr(value, method):
            raise KafkaConfigurationError(f"{name} must be a function, or have a method {method}, unlike {value!r}.")
    elif name in _TEXTS:
        if value is not None and not isinstance(value, str):
            raise KafkaConfigurationError(f"{name} must be a str, not {value!r}.")
    elif isinstance(default, int | float) and not isinstance(default, bool) and name != "acks":
        if isinstance(value, bool) or not isinstance(value, Real) or value != value:
            raise KafkaConfigurationError(f"{name} must be a number, not {value!r}.")
        if value < 0 or (value == 0 and name in _ABOVE_ZERO):
            raise KafkaConfigurationError(f"{name} must be {'above' if value == 0 else 'at least'} 0, not {value!r}.")


def security(config: Mapping[str, Any]) -> Security:
    try:
        return read_security(config)
    except ValueError as error:
        raise KafkaConfigurationError(str(error)) from None


def addresses(bootstrap_servers: str | Sequence[str]) -> list[Address]:
    try:
        text = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
    except TypeError:
        raise KafkaConfigurationError(
            f"bootstrap_servers are HOST:PORT, or a list of these, not {bootstrap_servers!r}."
        ) from None
    try:
        return parse_bootstrap(text)
    except AddressError as error:
        raise KafkaConfigurationError(str(error)) from error


def open_network(config: dict[str, Any], kind: str) -> tuple[Background, ClientNetwork]:
    """The thread and, on it, the network; both are running."""
    if config["client_id"] is None:
        config["client_id"] = f"moldau-{kind}-{next(_numbers)}"
    bootstrap = addresses(config["bootstrap_servers"])
    background = Background(config["client_id"])
    network = ClientNetwork(
        bootstrap,
        background.loop,
        background.network,
        background.clock,
        client_id=config["client_id"],
        request_timeout=config["request_timeout_ms"] / 1000,
        connect_timeout=config["socket_connection_setup_timeout_ms"] / 1000,
        backoff=Backoff(config["retry_backoff_ms"] / 1000, config["retry_backoff_max_ms"] / 1000),
        reconnect=Backoff(config["reconnect_backoff_ms"] / 1000, config["reconnect_backoff_max_ms"] / 1000),
        metadata_max_age=config["metadata_max_age_ms"] / 1000,
        idle_limit=config["connections_max_idle_ms"] / 1000,
        security=security(config),
        rebootstraps=config["metadata_recovery_strategy"] == "rebootstrap",
        rebootstrap_trigger=config["metadata_recovery_rebootstrap_trigger_ms"] / 1000,
    )
    background.start()
    return background, network


def find_cluster() -> Conversation[ClusterView]:
    """The brokers, from whoever answers; asks until one does."""
    failures = 0
    while True:
        try:
            view: ClusterView = yield Learn((), anew=True)
            return view
        except NoBrokerAnswers as error:
            yield Pause(failures, ConnectionFailed(str(error)))
        except KafkaError as error:
            # A node that is just starting or ending takes connections and loses them.
            if not error.retriable:
                raise
            yield Pause(failures, error)
        failures += 1


def bootstrap(background: Background, network: ClientNetwork, timeout: float) -> None:
    """Waits until the cluster is found; NoBrokersAvailable if it is not."""
    try:
        background.run(network, find_cluster(), timeout)
    except BaseException as error:
        background.close(network.close)  # also when Ctrl-C ends the wait: nobody has the client to close it
        if not isinstance(error, MoldauError):
            raise
        renamed = named(error)
        if isinstance(renamed, KafkaConnectionError):
            raise NoBrokersAvailable(str(error)) from None
        raise renamed from None
