"""A node's metrics as a test reads them: over HTTP, and taken apart."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections import defaultdict
from pathlib import Path

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')

Samples = dict[str, list[tuple[dict[str, str], float]]]


def metrics_address(log: Path) -> str:
    told = re.search(r"metrics at http://(\S+)/metrics", log.read_text())
    assert told is not None, "the log does not tell where the metrics are"
    return told[1]


def get(address: str, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://{address}{path}", headers=named)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


def scrape(address: str) -> Samples:
    status, text, _ = get(address, "/metrics")
    assert status == 200
    return parse(text)


def parse(text: str) -> Samples:
    """Every sample by its name. A line that is none fails the test."""
    samples: Samples = defaultdict(list)
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line)
        assert match is not None, f"not a sample: {line}"
        name, labelled, value = match.groups()
        samples[name].append((dict(_LABEL.findall(labelled or "")), float(value)))
    return samples


def value(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples that have these labels; KeyError if there is none."""
    found = [number for labelled, number in samples[name] if labels.items() <= labelled.items()]
    if not found:
        raise KeyError(f"{name} has no sample with {labels}: {samples[name]}")
    return sum(found)
