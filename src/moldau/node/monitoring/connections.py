"""Who is connected, and what waits for an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from moldau.metrics.exposition import COUNTER, GAUGE, Family, Sample, counter, gauge, labels
from moldau.replica.manager import ReplicaManager
from moldau.server.connection import Connection
from moldau.server.fetch_sessions import FetchSessions
from moldau.server.socket_server import SocketServer
from moldau.slicing import pieces

if TYPE_CHECKING:
    from moldau.server.sasl_listener import Logins

# Clients say themselves what they are, so there may be any number of names.
_MOST_SOFTWARE: Final = 50
_SOCKETS: Final = "kafka_server_socket_server_metrics_"
_CHANNEL: Final = "kafka_network_requestchannel_"
_PURGATORY: Final = "kafka_server_delayedoperationpurgatory_"


def families(server: SocketServer) -> Iterator[Family]:
    by_listener: Counter[str] = Counter(dict.fromkeys(server.listener_names, 0))
    by_software: Counter[tuple[str, str, str]] = Counter()
    by_cipher: Counter[tuple[str, str, str]] = Counter()

    def counted() -> Iterator[Sample | None]:
        for some in pieces(tuple(server.connections)):
            for connection in some:
                by_listener[connection.listener_name] += 1
                by_software[_software(connection)] += 1
                secured = connection.transport.secured_by
                if secured is not None:
                    by_cipher[connection.listener_name, *secured] += 1
            yield None
        # Kafka has several threads of each listener; here the loop is the only one.
        for listener, count in by_listener.items():
            yield "", labels(listener=listener, networkProcessor="0"), count

    def told() -> Iterator[Sample]:
        for (listener, name, version), count in by_software.most_common(_MOST_SOFTWARE):
            software = {"clientSoftwareName": name, "clientSoftwareVersion": version}
            yield "", labels(**software, listener=listener, networkProcessor="0"), count

    def secured_by() -> Iterator[Sample]:
        for (listener, cipher, protocol), count in by_cipher.items():
            yield "", labels(cipher=cipher, protocol=protocol, listener=listener, networkProcessor="0"), count

    yield Family(_SOCKETS + "connection_count", GAUGE, "Connections by listener.", counted())
    yield Family(_SOCKETS + "connections_software", GAUGE, "Connections by the client's software, as it told.", told())
    ciphers = "Connections with TLS, by cipher suite and version."
    yield Family(_SOCKETS + "connections_tls_info", GAUGE, ciphers, secured_by())
    yield from _of_listeners(server)
    throttled = sum(channel.throttled for channel in server.channels)
    waited = sum(channel.throttled_ms for channel in server.channels) / 1000
    yield counter("moldau_throttled_answers_total", "Answers that told a client to wait, for its quota.", throttled)
    yield counter("moldau_throttled_seconds_total", "How long clients were told to wait altogether.", waited)
    yield gauge(_CHANNEL + "requestqueuesize", "Always 0: what is read is served in the same turn of the loop.", 0)
    unsent = "Connections whose client has not taken all of what was answered."
    yield gauge(_CHANNEL + "responsequeuesize", unsent, sum(bool(each.transport.unsent) for each in server.connections))
    queue = "Requests whose answer is awaited: for records, replicas or the disk."
    yield gauge("moldau_requests_in_flight", queue, server.in_flight)


def _of_listeners(server: SocketServer) -> Iterator[Family]:
    """What came and went, and who logged in."""
    places = {name: labels(listener=name, networkProcessor="0") for name in server.listener_names}
    counts = {places[name]: server.come_and_gone(name) for name in places}
    created = [("", place, count[0]) for place, count in counts.items()]
    closed = [("", place, count[1]) for place, count in counts.items()]
    yield Family(_SOCKETS + "connection_creation_total", COUNTER, "Connections that were accepted.", created)
    yield Family(_SOCKETS + "connection_close_total", COUNTER, "Connections that have ended.", closed)
    logins = {places[name]: found for name, found in server.logins.items()}
    for name, documentation, value in _LOGINS:
        samples = [("", place, value(found)) for place, found in logins.items()]
        yield Family(f"{_SOCKETS}{name}_total", COUNTER, documentation, samples)
    expired = {name: found.expired for name, found in server.logins.items()}
    killed = "Connections that were used after the end of their session, and closed for it."
    samples = [("", place, expired.get(name, 0)) for name, place in places.items()]
    yield Family(_SOCKETS + "expired_connections_killed_count", GAUGE, killed, samples)
    yield gauge("kafka_network_socketserver_expiredconnectionskilledcount", killed, sum(expired.values()))


def _software(connection: Connection) -> tuple[str, str, str]:
    software = connection.software
    if software is None:
        return connection.listener_name, "unknown", "unknown"
    return connection.listener_name, software.name, software.version


def of_waiting(replicas: ReplicaManager, sessions: FetchSessions) -> Iterator[Family]:
    purgatories = {"Produce": replicas.produces, "Fetch": replicas.fetches, "DeleteRecords": replicas.deletes}
    waiting = [("", labels(delayedOperation=name), each.waiting) for name, each in purgatories.items()]
    size = "Requests that wait: producers for replicas, consumers for records."
    yield Family(_PURGATORY + "purgatorysize", GAUGE, size, waiting)
    cache = "kafka_server_fetchsessioncache_"
    yield gauge(cache + "numincrementalfetchsessions", "Fetch sessions that are kept.", len(sessions))
    evicted = "Fetch sessions that had to make room for others."
    yield counter(cache + "incrementalfetchsessionevictions_total", evicted, sessions.evictions)


_LOGINS: Final[tuple[tuple[str, str, Callable[[Logins], int]], ...]] = (
    ("successful_authentication", "Logins.", lambda logins: logins.succeeded),
    ("failed_authentication", "Logins that were refused.", lambda logins: logins.failed),
    ("successful_reauthentication", "Sessions that were renewed.", lambda logins: logins.renewed),
    ("failed_reauthentication", "Sessions that were not renewed.", lambda logins: logins.not_renewed),
)
