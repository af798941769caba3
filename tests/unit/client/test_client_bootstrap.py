"""Finding the cluster when a client is made, while nodes start and end."""

from __future__ import annotations

import pytest
from scripted_peer import HANG_UP, ScriptedPeer, metadata

from moldau import KafkaAdminClient, errors
from moldau.protocol.api import ApiKey


def test_a_node_that_loses_its_first_connections_is_asked_again() -> None:
    with ScriptedPeer() as peer:
        peer.handlers[ApiKey.METADATA] = [
            lambda _version, _request: HANG_UP,
            lambda _version, _request: HANG_UP,
            lambda _version, _request: metadata({1: peer.address}),
        ]
        with KafkaAdminClient(bootstrap_servers=str(peer.address)) as admin:
            assert admin.list_topics() == []


def test_it_is_not_asked_for_longer_than_allowed() -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda _version, _request: HANG_UP}) as peer:
        with pytest.raises(errors.NoBrokersAvailable):
            KafkaAdminClient(bootstrap_servers=str(peer.address), bootstrap_timeout_ms=500)
        assert sum(key is ApiKey.METADATA for key, _, _ in peer.requests) > 1
