from __future__ import annotations

import pytest

from moldau.config.broker import BrokerConfig
from moldau.server.socket_server import receive_buffer_of


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({}, None),  # the operating system's own size grows with the connection, Kafka's default would not
        ({"socket.receive.buffer.bytes": "102400"}, 102400),
        ({"socket.receive.buffer.bytes": "-1"}, None),
    ],
)
def test_a_receive_buffer_has_a_fixed_size_only_where_one_was_asked_for(given, size):
    config = BrokerConfig.parse({"log.dirs": "data", "listeners": "PLAINTEXT://127.0.0.1:0", **given})
    assert receive_buffer_of(config) == size
