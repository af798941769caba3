"""The event set: one day of a shop with branches along the river, as its orders reach the topic.

Everything comes from one seed. Most orders arrive within seconds; some phones were offline and send minutes later, some
branches repeat what they are not sure of, some records are broken in the ways records break. What each order became is
not written down anywhere: `truth.py` has to find out from the topic alone, as the pipeline does.
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

OPENING = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
HOURS = 10
REGIONS = {"Prague": 38, "Bohemia": 24, "Moravia": 21, "Silesia": 11, "Vysocina": 6}
CUSTOMERS = 800

_LATE, _REPEATED, _BROKEN, _TOO_LATE, _WRONG = 0.05, 0.03, 0.012, 0.004, 0.006


class Event(NamedTuple):
    """One record on its way: when it reaches the topic, its key and its value."""

    arrives: datetime
    key: bytes
    value: bytes


def write_customers(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    first = ["Anna", "Jan", "Eva", "Petr", "Hana", "Josef", "Lenka", "Pavel", "Marie", "Tomas", "Jana", "Karel"]
    last = ["Novak", "Svoboda", "Dvorak", "Cerny", "Prochazka", "Kucera", "Vesely", "Horak", "Nemec", "Marek"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "name", "segment"])
        for number in range(CUSTOMERS):
            segment = chance.choices(["private", "business", "school"], [70, 24, 6])[0]
            writer.writerow([f"c{number:04}", f"{chance.choice(first)} {chance.choice(last)}", segment])


def events(count: int, seed: int) -> list[Event]:
    """`count` orders and what happens to them, in the order of arrival."""
    chance = random.Random(seed)
    made = [event for number in range(count) for event in _order(number, chance)]
    made.sort(key=lambda event: event.arrives)
    return made


def _order(number: int, chance: random.Random) -> Iterator[Event]:
    at = OPENING + timedelta(seconds=_moment(chance))
    region = chance.choices(list(REGIONS), list(REGIONS.values()))[0]
    items = 1 + int(chance.expovariate(0.7))
    # Far more customers buy a little than a lot, and the same customers come back.
    customer = f"c{min(CUSTOMERS - 1, int(chance.expovariate(4 / CUSTOMERS))):04}"
    cents = sum(round(math.exp(chance.gauss(6.3, 0.7))) for _ in range(items))
    order = {
        "order": f"{region[:2].upper()}-{number:06}",
        "customer": customer,
        "region": region,
        "items": items,
        "cents": cents,
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    delay = chance.expovariate(1 / 3)
    fate = chance.random()
    if fate < _BROKEN:
        yield Event(at + timedelta(seconds=delay), region.encode(), _break(order, chance))
        return
    if fate < _BROKEN + _WRONG:
        order["cents"] = -cents
    elif fate < _BROKEN + _WRONG + _TOO_LATE:
        delay += chance.uniform(40 * 60, 120 * 60)
    elif fate < _BROKEN + _WRONG + _TOO_LATE + _LATE:
        delay += chance.uniform(60, 20 * 60)
    value = json.dumps(order, separators=(",", ":")).encode()
    event = Event(at + timedelta(seconds=delay), region.encode(), value)
    yield event
    if chance.random() < _REPEATED:
        yield event._replace(arrives=event.arrives + timedelta(seconds=chance.uniform(0.1, 300)))


def _moment(chance: random.Random) -> float:
    """Seconds after opening: a peak before noon and a higher one after work."""
    while True:
        hour = chance.uniform(0, HOURS)
        busy = 0.35 + 0.5 * math.exp(-(((hour - 3) / 1.2) ** 2)) + 0.65 * math.exp(-(((hour - 8) / 1.1) ** 2))
        if chance.random() < busy:
            return hour * 3600


def _break(order: dict[str, object], chance: random.Random) -> bytes:
    whole = json.dumps(order, separators=(",", ":")).encode()
    match chance.randrange(5):
        case 0:  # cut off on the way
            return whole[: chance.randrange(8, len(whole) - 1)]
        case 1:  # a till that writes words
            return json.dumps({**order, "cents": "unknown"}).encode()
        case 2:  # a field left out
            return json.dumps({name: value for name, value in order.items() if name != "order"}).encode()
        case 3:  # another program's bytes
            return b"\x89\xfe" + chance.randbytes(24)
        case _:  # a list of orders where one is expected
            return b"[" + whole + b"]"
