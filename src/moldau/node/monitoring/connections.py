"""Who is connected, and what waits for an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from moldau.metrics.exposition import GAUGE, Family, Sample, gauge, labels
from moldau.replica.manager import ReplicaManager
from moldau.server.connection import Connection
from moldau.server.fetch_sessions import FetchSessions
from moldau.server.socket_server import SocketServer
from moldau.slicing import pieces

# Clients say themselves what they are, so there may be any number of names.
_MOST_SOFTWARE: Final = 50
_PURGATORY: Final = "kafka_server_delayedoperationpurgatory_"


def families(server: SocketServer) -> Iterator[Family]:
    by_listener: Counter[str] = Counter(dict.fromkeys(server.listener_names, 0))
    by_software: Counter[tuple[str, str, str]] = Counter()

    def counted() -> Iterator[Sample | None]:
        for some in pieces(tuple(server.connections)):
            for connection in some:
                by_listener[connection.listener_name] += 1
                by_software[_software(connection)] += 1
            yield None
        # Kafka has several threads of each listener; here the loop is the only one.
        for listener, count in by_listener.items():
            yield "", labels(listener=listener, networkProcessor="0"), count

    def told() -> Iterator[Sample]:
        for (listener, name, version), count in by_software.most_common(_MOST_SOFTWARE):
            software = {"clientSoftwareName": name, "clientSoftwareVersion": version}
            yield "", labels(**software, listener=listener, networkProcessor="0"), count

    name = "kafka_server_socket_server_metrics_"
    yield Family(name + "connection_count", GAUGE, "Connections by listener.", counted())
    yield Family(name + "connections_software", GAUGE, "Connections by the client's software, as it told.", told())
    queue = "Requests whose answer is awaited: for records, replicas or the disk."
    yield gauge("moldau_requests_in_flight", queue, server.in_flight)


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
