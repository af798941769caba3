"""What clients use of what is limited for them, and how much that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.metrics.exposition import GAUGE, Family, Sample, labels
from moldau.security.quota import CLIENT_ID, FETCH_RATE, PRODUCE_RATE, REQUEST_PERCENTAGE, USER
from moldau.server.client_quotas import ClientQuotas
from moldau.slicing import pieces

_RESOURCES: Final = {PRODUCE_RATE: "Produce", FETCH_RATE: "Fetch", REQUEST_PERCENTAGE: "Request"}
_BYTES: Final = (PRODUCE_RATE, FETCH_RATE)


def families(quotas: ClientQuotas) -> Iterator[Family]:
    rate = "Bytes a second of clients that have a quota for them, over its window."
    yield Family("kafka_server_quota_byte_rate", GAUGE, rate, _used(quotas, _BYTES))
    time = "Time of the loop that requests of clients take which have a quota for it, in percent."
    yield Family("kafka_server_quota_request_time", GAUGE, time, _used(quotas, (REQUEST_PERCENTAGE,)))
    yield Family("moldau_quota_bound", GAUGE, "What each of these clients may use.", _bounds(quotas))


def _used(quotas: ClientQuotas, kinds: tuple[str, ...]) -> Iterator[Sample | None]:
    for some in pieces(tuple(quotas.used())):
        for kind, sharers, rate in some:
            if kind in kinds:
                yield "", _place(kind, sharers), rate
        yield None


def _bounds(quotas: ClientQuotas) -> Iterator[Sample | None]:
    for some in pieces(tuple(quotas.used())):
        for kind, sharers, _ in some:
            limit = quotas.limits.of_client(kind, sharers.get(USER, ""), sharers.get(CLIENT_ID, ""))
            # One that was taken away since is still measured for a while.
            if limit is not None:
                yield "", _place(kind, sharers), limit.bound
        yield None


def _place(kind: str, sharers: dict[str, str]) -> str:
    return labels(resource=_RESOURCES[kind], user=sharers.get(USER, ""), clientId=sharers.get(CLIENT_ID, ""))
