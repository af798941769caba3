"""The numbers that clients have pushed, as long as somebody may want to see them.

A series is a metric of a client with its attributes; what was pushed last counts, or the sum of what was pushed, where
the client tells what came since its last push. A series that a client has left out of three pushes is dropped, and all
of a client that has been silent for as long as its instance is remembered. Names are those of the metrics in the form
of Prometheus, with `org.apache.kafka` become `kafka_client` and every other name behind it, so that no client can write
into what the node tells of itself.

There are so many series of one client and of all, and so many letters in their labels, and no more: the points for
which there is no room are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from moldau.metrics.exposition import COUNTER, GAUGE, Family, Sample, labels
from moldau.server.telemetry.otlp import Attributes, Point
from moldau.slicing import pieces

MOST_OF_ONE: Final = 2_000
MOST_OF_ALL: Final = 50_000
# Of names and labels together.
MOST_LETTERS: Final = 16 << 20
# Points of a push that are looked at.
MOST_POINTS: Final = 10_000
_MOST_LABELS: Final = 16
_PUSHES_WITHOUT: Final = 3
_LONGEST_NAME: Final = 200
# How often it is looked who has been silent for too long.
_SWEEP_S: Final = 10.0
_OWN: Final = "kafka_client_"
_KAFKA: Final = "org.apache.kafka."
_NOT_OF_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_]")
_RESERVED: Final = ("client_instance_id", "client_id", "principal")


class Pusher(NamedTuple):
    """Whose numbers they are: one who uses the id of another has series of his own."""

    instance_id: str
    client_id: str
    principal: str

    @property
    def labels(self) -> str:
        return labels(client_instance_id=self.instance_id, client_id=self.client_id, principal=self.principal)


class _Series:
    __slots__ = ("push", "value")

    def __init__(self, value: float, push: int) -> None:
        self.value = value
        # The number of the push it was in last.
        self.push = push


class _Client:
    __slots__ = ("expires_at", "labels", "push", "series")

    def __init__(self, labelled: str) -> None:
        self.labels = labelled
        self.push = 0
        self.expires_at = 0.0
        # By the name of the family and all labels.
        self.series: dict[tuple[str, str], _Series] = {}


class _Metric:
    """All series of one name."""

    __slots__ = ("kind", "series")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.series: dict[str, _Series] = {}


class PushedSeries:
    def __init__(self, most_of_one: int = MOST_OF_ONE, most_of_all: int = MOST_OF_ALL) -> None:
        self._most_of_one = most_of_one
        self._most_of_all = most_of_all
        self._clients: dict[Pusher, _Client] = {}
        self._metrics: dict[str, _Metric] = {}
        self._swept_at = float("-inf")
        self._letters = 0
        self.count = 0
        # Points that were not taken since the node began.
        self.dropped = 0

    def take(
        self, pusher: Pusher, points: Iterator[Point | None], now: float, silence_seconds: float
    ) -> Iterator[None]:
        """All of one push, with places to pause."""
        if now - self._swept_at >= _SWEEP_S:
            yield from self.expire(now)
        client = self._clients.get(pusher)
        if client is None:
            client = self._clients[pusher] = _Client(pusher.labels)
        client.expires_at = now + silence_seconds
        client.push += 1
        push, seen = client.push, 0
        for point in points:
            if point is None:
                yield
                continue
            seen += 1
            if seen > MOST_POINTS:
                self.dropped += 1
                break
            self._take(client, point, push)
        yield from self._drop_left_out(client)
        if not client.series:
            self._clients.pop(pusher, None)

    def _take(self, client: _Client, point: Point, push: int) -> None:
        kind = COUNTER if point.is_counter else GAUGE
        name = family_name(point)
        labelled = _labelled(client.labels, point)
        series = client.series.get((name, labelled))
        metric = self._metrics.get(name)
        if metric is not None and metric.kind is not kind:
            self.dropped += 1
        elif series is not None:
            series.value = series.value + point.value if point.is_delta else point.value
            series.push = push
        elif (
            len(client.series) >= self._most_of_one
            or self.count >= self._most_of_all
            or self._letters + len(name) + len(labelled) > MOST_LETTERS
        ):
            self.dropped += 1
        else:
            if metric is None:
                metric = self._metrics[name] = _Metric(kind)
            metric.series[labelled] = client.series[name, labelled] = _Series(point.value, push)
            self.count += 1
            self._letters += len(name) + len(labelled)

    def _drop_left_out(self, client: _Client) -> Iterator[None]:
        last = client.push - _PUSHES_WITHOUT
        for some in pieces(tuple(client.series.items())):
            for key, series in some:
                if series.push <= last:
                    self._drop(client, key)
            yield

    def _drop(self, client: _Client, key: tuple[str, str]) -> None:
        name, labelled = key
        del client.series[key]
        metric = self._metrics[name]
        del metric.series[labelled]
        self.count -= 1
        self._letters -= len(name) + len(labelled)
        if not metric.series:
            del self._metrics[name]

    def expire(self, now: float) -> Iterator[None]:
        """Those whose time is over."""
        self._swept_at = now
        for some in pieces(tuple(self._clients.items())):
            for pusher, client in some:
                if now >= client.expires_at:
                    self._clients.pop(pusher, None)
                    for number, key in enumerate(tuple(client.series)):
                        self._drop(client, key)
                        if not number % 256:
                            yield
            yield

    def families(self) -> Iterator[Family]:
        for name, metric in sorted(self._metrics.items()):
            yield Family(name, metric.kind, "Pushed by clients.", _samples(metric))


def _samples(metric: _Metric) -> Iterator[Sample | None]:
    for some in pieces(tuple(metric.series.items())):
        for labelled, series in some:
            yield "", labelled, series.value
        yield None


def family_name(point: Point) -> str:
    name = point.name[:_LONGEST_NAME]
    name = _OWN + _NOT_OF_A_NAME.sub("_", name.removeprefix(_KAFKA))
    return name + "_total" if point.is_counter and not name.endswith("_total") else name


def _labelled(own: str, point: Point) -> str:
    """What the client says of itself stands before what it says of the point; nobody says who he is."""
    more: dict[str, str] = {}
    for attributes in (point.resource, point.attributes):
        _add(more, attributes)
    return f"{own},{labels(**more)}" if more else own


def _add(more: dict[str, str], attributes: Attributes) -> None:
    for key, value in attributes:
        name = _NOT_OF_A_NAME.sub("_", key)
        if name[:1].isdigit():
            name = "_" + name
        if name and name not in _RESERVED and not name.startswith("__") and (name in more or len(more) < _MOST_LABELS):
            more[name] = value
