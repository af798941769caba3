"""Hostile requests are put together from bytes; they must be what they would be if they were built."""

from __future__ import annotations

import pytest
from bench import hostile
from bench.hostile_newer import NEWER
from bench.rows.hostile import most_of

from moldau.protocol.api import REQUESTS, ApiKey, request_header_version
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.wire import Reader
from moldau.server.apis.table import BROKER_APIS
from moldau.server.dispatch import Api
from moldau.server.request_channel import MOST_BYTES

APIS = {api.key: api for api in BROKER_APIS}


@pytest.mark.parametrize("key", [*hostile.MANY, *NEWER], ids=lambda key: key.name)
def test_a_request_of_many_elements_is_one_of_its_api(key: ApiKey) -> None:
    build, element = {**hostile.MANY, **NEWER}[key]
    version = min(hostile.HIGHEST.get(key, 99), REQUESTS[key].MAX_VERSION)
    frame = hostile.names_many(build, element, 300, version)
    source = Reader(frame[4:])
    RequestHeader.read(source, request_header_version(key, version))
    expected = build([element(f"{number:07d}") for number in range(300)])
    assert REQUESTS[key].read(source, version) == REQUESTS[key].decode(expected.encode(version), version)
    assert source.pos == len(source.data)


@pytest.mark.parametrize("api", [APIS[key] for key in NEWER], ids=lambda api: api.key.name)
def test_as_much_as_is_ever_served_is_below_what_is_refused(api: Api) -> None:
    build, element = NEWER[api.key]
    most = most_of(api.key)
    assert most >= 100
    assert len(hostile.names_many(build, element, most, api.request.MAX_VERSION)) < MOST_BYTES
