"""What kind of weather a seed brings: how dense the faults are, which of them, and how patient the nodes.

`usual` has Kafka's own settings, and all faults that may come to a machine by itself. `dense` has nodes that lose
patience within seconds, and a handful of faults only, chosen by the seed: a few that come again and again meet each
other in more ways than many that come once. Among them are those that are aimed: at a leader, a coordinator, a voter,
in the moment that cost others data.

Either may last for minutes. Then faults come in spells, with calm between them in which little is written and nothing
breaks, and the nodes are as patient as those of an operator who does not want idle ones to talk all day: what was
parked, was fenced or fell asleep hours ago by the measure of a short run meets the next spell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from moldau.simulation.chance import SeededRandom

USUAL: Final = "usual"
DENSE: Final = "dense"

_MACHINES: Final = (
    "kill",
    "kill",
    "stop",
    "pause",
    "cut off",
    "cut one way",
    "kill all",
    "lose power",
    "lose disk",
    "slow network",
    "dropped connections",
    "full disk",
    "wrong clock",
)
_AIMED: Final = (
    "cut replication",
    "cut from controllers",
    "kill a leader alone",
    "pause a coordinator",
    "kill a voter",
    "elect preferred",
    "reassign",
)
# With disks that fail, besides.
FAILING_DISKS: Final = ("failing disk", "failing disk", "slow disk")
# How many kinds a dense one has of each.
_SOME_MACHINES: Final = 3
_SOME_AIMED: Final = 3

_IMPATIENT: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "400",
    "replica.lag.time.max.ms": "1500",
    "replica.fetch.backoff.ms": "200",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "metadata.log.max.record.bytes.between.snapshots": "1200",
}

# Of long ones. A fetch that waits longer costs nothing else than that: what it waits for wakes it.
_UNHURRIED: Final[Mapping[str, str]] = {
    "replica.fetch.wait.max.ms": "5000",
    "log.retention.check.interval.ms": "20000",
}
_LESS_IMPATIENT: Final[Mapping[str, str]] = {
    **_UNHURRIED,
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "2000",
    "replica.fetch.wait.max.ms": "4000",
    "replica.lag.time.max.ms": "8000",
    "replica.fetch.backoff.ms": "500",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "800",
}

Seconds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Weather:
    name: str
    kinds: tuple[str, ...]
    # Between two faults, how long one lasts, and until a machine is switched on again.
    rest: Seconds = (0.5, 8.0)
    fault: Seconds = (0.2, 15.0)
    down: Seconds = (0.1, 12.0)
    stop: Seconds = (8.0, 20.0)
    # After which a broker that was not heard of is fenced, and a follower out of sync.
    session: float = 9.0
    lag: float = 30.0
    # How long a client waits for an answer.
    request_seconds: float = 15.0
    # How long producers rest, so that they write as long as there are faults.
    pace: int = 4
    # How long who copies or reads waits, when there was nothing, before it asks again.
    poll: int = 1
    # How long it lasts; 0: as long as it takes to have so many faults.
    lasts: float = 0.0
    # How long it is calm between two spells, and how likely a spell ends with a fault.
    calm: Seconds = (0.0, 0.0)
    ends_spell: float = 0.0
    nodes: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)


def draw_weather(chance: SeededRandom, nodes: int, name: str | None = None, lasts: float = 0.0) -> Weather:
    """`nodes` machines, or five now and then where three were asked for; `lasts` so many seconds."""
    weather = _draw(chance, nodes, name)
    return _prolonged(weather, lasts) if lasts else weather


def _prolonged(weather: Weather, lasts: float) -> Weather:
    dense = weather.name == DENSE
    patient = replace(weather, session=6.0, lag=8.0, fault=(0.2, 10.0), down=(0.1, 8.0)) if dense else weather
    return replace(
        patient,
        # Whatever a spell did not show can still come: the kinds of a dense one would be too few for half an hour.
        kinds=_MACHINES + _AIMED,
        pace=5,
        poll=4,
        lasts=lasts,
        calm=(120.0, 360.0),
        ends_spell=0.3,
        settings={**weather.settings, **(_LESS_IMPATIENT if dense else _UNHURRIED)},
    )


def _draw(chance: SeededRandom, nodes: int, name: str | None) -> Weather:
    if name is None:
        name = USUAL if chance.happens(0.25) else DENSE
    if name == USUAL:
        return Weather(USUAL, _MACHINES, nodes=nodes)
    partitions = str(chance.between(1, 3))
    return Weather(
        DENSE,
        (*_some(chance, tuple(dict.fromkeys(_MACHINES)), _SOME_MACHINES), *_some(chance, _AIMED, _SOME_AIMED)),
        rest=(0.1, 2.5),
        fault=(0.2, 5.0),
        down=(0.1, 4.0),
        stop=(3.0, 6.0),
        session=2.0,
        lag=1.5,
        request_seconds=4.0,
        pace=2,
        nodes=5 if nodes == 3 and chance.happens(0.1) else nodes,
        settings={
            **_IMPATIENT,
            "offsets.topic.num.partitions": partitions,
            "transaction.state.log.num.partitions": partitions,
        },
    )


def _some(chance: SeededRandom, kinds: tuple[str, ...], count: int) -> tuple[str, ...]:
    left = list(kinds)
    chance.shuffle(left)
    return tuple(left[:count])
