"""What a node tells at its `metrics.listener`, read by who has no Prometheus at hand."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from http.client import HTTPConnection, HTTPException
from time import time
from typing import Final, NamedTuple

from moldau.errors import MoldauError
from moldau.links.addresses import Address

_SAMPLE: Final = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \S+)?$")
_LABEL: Final = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_MOST_BYTES: Final = 64 << 20
_LONGEST_LINE: Final = 65536

_WILDCARDS: Final = ("", "0.0.0.0", "::", "[::]")
_LOOPBACK: Final = ("127.", "localhost", "::1")


class Sample(NamedTuple):
    labels: Mapping[str, str]
    value: float


class Metrics(NamedTuple):
    """What was asked for, by name; and between which moments of our clock the answer was made."""

    samples: Mapping[str, list[Sample]]
    asked_at: float
    told_at: float

    def value(self, name: str) -> float | None:
        found = self.samples.get(name)
        return found[0].value if found else None

    def label(self, name: str, label: str) -> str | None:
        found = self.samples.get(name)
        return found[0].labels.get(label) if found else None


class NoMetrics(MoldauError):
    """Nobody tells any there, or something else does."""


def read_metrics(where: Address, names: Collection[str], seconds: float) -> Metrics:
    connection = HTTPConnection(where.host, where.port, timeout=seconds)
    asked_at = time()
    try:
        connection.request("GET", "/metrics", headers={"Connection": "close"})
        answer = connection.getresponse()
        told_at = time()
        if answer.status != 200:
            raise NoMetrics(f"{where} answers {answer.status} to a request for metrics.")
        found: dict[str, list[Sample]] = {}
        size = 0
        while line := answer.readline(_LONGEST_LINE):
            size += len(line)
            if size > _MOST_BYTES:
                raise NoMetrics(f"{where} tells more than {_MOST_BYTES >> 20} MiB of metrics.")
            _take(line.decode("utf-8", "replace").rstrip("\n"), names, found)
    except (OSError, HTTPException) as error:
        raise NoMetrics(f"No metrics are told at {where}: {error}.") from error
    finally:
        connection.close()
    return Metrics(found, asked_at, told_at)


def _take(line: str, names: Collection[str], found: dict[str, list[Sample]]) -> None:
    match = _SAMPLE.match(line)
    if match is None or match[1] not in names:
        return
    try:
        value = float(match[3])
    except ValueError:
        return
    found.setdefault(match[1], []).append(Sample(dict(_LABEL.findall(match[2] or "")), value))


def is_loopback(host: str) -> bool:
    return host.lower().startswith(_LOOPBACK)


def metrics_address(setting: str | None, host: str) -> Address | None:
    """Where a broker with this `metrics.listener` is asked, if it can be asked from here: what it tells on its own
    loopback is heard here only if it is on this machine. Port 0 is known to its log alone."""
    listener, colon, port = (setting or "").rpartition(":")
    if not colon or not port.isdecimal() or not int(port):
        return None
    if listener in _WILDCARDS:
        return Address(host, int(port))
    if is_loopback(listener) and not is_loopback(host):
        return None
    return Address(listener.strip("[]"), int(port))
