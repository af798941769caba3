"""The result as a batch computes it: plain Python over all records of the topic, no Spark, no stream, no state.

The rules are those of `pipeline.yaml`, written a second time on purpose. If both agree, neither the stream nor the
crash in the middle has changed anything.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

_REQUIRED = {"order": str, "customer": str, "region": str, "cents": int, "at": str}


@dataclass(slots=True)
class Truth:
    """`windows`: (region, HH:MM) -> [cents, orders, business]; `orders`: ids; `dead`: (partition, offset)."""

    windows: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    orders: Counter[str] = field(default_factory=Counter)
    cents: int = 0
    dead: set[tuple[int, int]] = field(default_factory=set)
    repeated: int = 0
    late: int = 0


def compute(records: Iterable[Any], customers: Path) -> Truth:
    with customers.open(newline="") as file:
        segments = {row["customer"]: row["segment"] for row in csv.DictReader(file)}
    truth = Truth()
    latest = datetime(1970, 1, 1)
    for record in records:
        order = _order(record)
        if order is None:
            truth.dead.add((record.partition, record.offset))
            continue
        at = datetime.fromisoformat(order["at"]).replace(tzinfo=None)
        truth.late += at < latest - timedelta(minutes=1)
        latest = max(latest, at)
        if order["order"] in truth.orders:
            truth.repeated += 1
            continue
        truth.orders[order["order"]] += 1
        truth.cents += order["cents"]
        window = at.replace(minute=at.minute - at.minute % 15)
        sums = truth.windows[order["region"], f"{window:%H:%M}"]
        sums[0] += order["cents"]
        sums[1] += 1
        sums[2] += order["cents"] if segments.get(order["customer"]) == "business" else 0
    return truth


def _order(record: Any) -> dict[str, Any] | None:
    """The order in a record, or None if it belongs to the dead letters."""
    try:
        order = json.loads(record.value)
        fits = isinstance(order, dict) and all(type(order[name]) is kind for name, kind in _REQUIRED.items())
    except (ValueError, KeyError):
        return None
    if not fits or order["cents"] <= 0:
        return None
    at = datetime.fromisoformat(order["at"])
    return order if record.timestamp <= (at + timedelta(minutes=30)).timestamp() * 1000 else None
