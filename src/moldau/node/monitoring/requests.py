"""Requests by API: how many came, and how long each part of them took."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from moldau.metrics.exposition import COUNTER, SUMMARY, Family, Sample, labels
from moldau.metrics.histogram import Histogram
from moldau.server.request_channel import RequestChannel
from moldau.server.request_times import FETCH, FETCH_CONSUMER, FETCH_FOLLOWER
from moldau.server.socket_server import SocketServer
from moldau.slicing import pieces

_REQUESTS: Final = "kafka_network_requestmetrics_"
# Those that Kafka's histograms have.
_FRACTIONS: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
_QUANTILES: Final = tuple(f'quantile="{text}"' for text in ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999"))
# What dashboards ask for, whether there was any or not; of all others those that there were.
_ALWAYS: Final = frozenset({"Produce", "Fetch", "FetchConsumer", "FetchFollower", "Metadata"})
# The parts that the express way measures, in its order: it leaves no time for the others.
_EXPRESS_PARTS: Final = ("local", "send", "total")


class Requests:
    """What all listeners had, together; remembers what was shown, because quantiles are of what came of late."""

    def __init__(self, server: SocketServer) -> None:
        self._server = server
        self._counts: Counter[tuple[str, int]] = Counter()
        self._shown: dict[tuple[str, str], Histogram] = {}

    def families(self, now: float) -> Iterator[Family]:
        yield Family(_REQUESTS + "requests_total", COUNTER, "Requests, by API and version.", self._by_version())
        for part, name, documentation in _PARTS:
            yield Family(_REQUESTS + name, SUMMARY, f"{documentation}, in ms.", self._times(part, now))

    def _by_version(self) -> Iterator[Sample | None]:
        for some in pieces(tuple(self._server.connections)):
            for connection in some:
                connection.count_requests()
            yield None
        self._counts = Counter()
        for channel in self._server.channels:
            self._counts += _counts(channel)
            yield None
        for (name, version), count in sorted(self._counts.items()):
            yield "", labels(request=name, version=version), count

    def _times(self, part: str, now: float) -> Iterator[Sample | None]:
        totals: Counter[str] = Counter()
        for (name, _), count in self._counts.items():
            totals[name] += count
        found: defaultdict[str, list[Sequence[int]]] = defaultdict(list)
        for channel in self._server.channels:
            for spreads in (each for times in channel.table.times.values() for each in times.kinds):
                histogram: Histogram = getattr(spreads, part)
                found[spreads.name].append(histogram.counts)
            if channel.served is not None and part in _EXPRESS_PARTS:
                for key, parts in channel.served.spreads().items():
                    found[channel.table.times[key].all.name].append(parts[_EXPRESS_PARTS.index(part)])
            yield None
        for name in sorted(found):
            if totals[name] or name in _ALWAYS:
                shown = self._shown.setdefault((name, part), Histogram())
                shown.replace(found[name])
                yield from quantile_samples(shown, totals[name], labels(request=name), now)
                yield None


def _counts(channel: RequestChannel) -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    for route in channel.table.routes.values():
        tally, name = route.tally, route.tally.times.all.name
        found[name, tally.version] += tally.count
        if name == FETCH:
            found[FETCH_FOLLOWER, tally.version] += tally.of_followers
            found[FETCH_CONSUMER, tally.version] += tally.count - tally.of_followers
    if channel.served is not None:
        for key, versions in channel.served.counts().items():
            name = channel.table.times[key].all.name
            found.update({(name, version): count for version, count in enumerate(versions) if count})
    return found


def quantile_samples(histogram: Histogram, count: int, place: str, now: float) -> Iterator[Sample]:
    before = f"{place}," if place else ""
    for quantile, value in zip(_QUANTILES, histogram.quantiles(_FRACTIONS, now), strict=True):
        yield "", before + quantile, value / 1000
    yield "_count", place, count


_PARTS: Final = (
    ("queue", "requestqueuetimems", "From when the loop knew of a request until its turn"),
    ("local", "localtimems", "Work on a request"),
    ("remote", "remotetimems", "Waiting for records, replicas, the disk or the next slice"),
    ("response_queue", "responsequeuetimems", "From an answer until what this turn brought is sent"),
    ("send", "responsesendtimems", "Until the client's side has taken the answer"),
    ("throttle", "throttletimems", "Told to clients to wait, for their quota"),
    ("total", "totaltimems", "All of it"),
)
