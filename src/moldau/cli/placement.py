"""Where replicas should lie: plans that move as little as they can. Pure functions of what the cluster looks like.

A replica stays where it is if it may. What has to find a new place goes to the broker that has least, in a rack that
the partition is not in yet if there is one. Only then is evened out what is uneven, in replicas and in leaders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from moldau.cli.failure import Failure
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.metadata import TopicView

Racks = Mapping[int, str | None]
Placement = dict[TopicPartition, tuple[int, ...]]


def current(topics: Iterable[TopicView]) -> Placement:
    return {
        TopicPartition(topic.name, index): partition.replicas
        for topic in topics
        for index, partition in topic.partitions.items()
    }


def changed(before: Placement, after: Placement) -> Placement:
    return {where: replicas for where, replicas in after.items() if replicas != before.get(where)}


def spread(before: Placement, racks: Racks, replicas: int | None = None) -> Placement:
    """Every partition on these brokers, with so many replicas (as many as it has, if that is not said), evenly."""
    after: Placement = {}
    for topic in sorted({where.topic for where in before}):
        # Each topic for itself: a cluster that is even as a whole may still have all of one topic on one broker.
        own = {where: has for where, has in before.items() if where.topic == topic}
        elsewhere = Counter(broker for each in after.values() for broker in each)
        placed = _filled(own, racks, replicas, Counter(), elsewhere, keeps=lambda broker: broker in racks)
        _even_out(placed, racks)
        after.update(placed)
    _even_leaders(after)
    return after


def without(before: Placement, racks: Racks, leaving: int) -> Placement:
    """Nothing on one broker; all others keep what they have, and these take over what it had."""
    taking = {broker: rack for broker, rack in racks.items() if broker != leaving}
    touched = {where: has for where, has in before.items() if leaving in has}
    others = Counter(broker for where, has in before.items() if where not in touched for broker in has)
    after = _filled(touched, taking, None, others, Counter(), keeps=lambda broker: broker != leaving)
    leaders = Counter(has[0] for where, has in before.items() if where not in touched and has)
    _even_leaders(after, leaders, only={where for where, has in touched.items() if has[0] == leaving})
    return after


def _filled(
    before: Placement,
    racks: Racks,
    replicas: int | None,
    load: Counter[int],
    elsewhere: Counter[int],
    keeps: Callable[[int], bool],
) -> Placement:
    """`load` is what brokers have besides; where that makes no difference, `elsewhere` does."""
    kept = {where: [each for each in has if keeps(each)][: replicas or len(has)] for where, has in before.items()}
    here = load + Counter(broker for each in kept.values() for broker in each)
    for where in sorted(kept):
        has, wanted = kept[where], replicas or len(before[where])
        while len(has) < wanted:
            used = {racks.get(broker) for broker in has} - {None}
            free = [broker for broker in racks if broker not in has]
            if not free:
                raise Failure(f"{where} needs {wanted} replicas, and there is no broker left to place one on.")
            best = min(free, key=lambda broker: (racks[broker] in used, here[broker], elsewhere[broker], broker))
            # In the place of one that leaves, so that who is preferred as leader changes no more than it must.
            gone = [position for position, broker in enumerate(before[where]) if not keeps(broker)]
            has.insert(min([*gone, len(has)]), best)
            here[best] += 1
    return {where: tuple(has) for where, has in kept.items()}


def _even_out(placed: Placement, racks: Racks) -> None:
    """Moves single replicas from brokers that have most to those that have least, while that makes a difference."""
    load = Counter(dict.fromkeys(racks, 0))
    load.update(broker for each in placed.values() for broker in each)
    while (step := _next_step(placed, racks, load)) is not None:
        where, high, low = step
        placed[where] = tuple(low if broker == high else broker for broker in placed[where])
        load[high] -= 1
        load[low] += 1


def _next_step(placed: Placement, racks: Racks, load: Counter[int]) -> tuple[TopicPartition, int, int] | None:
    """The move that evens out most, if racks allow any."""
    pairs = [(high, low) for high in load for low in load if load[high] - load[low] >= 2]
    for high, low in sorted(pairs, key=lambda pair: (load[pair[1]] - load[pair[0]], pair)):
        for where in sorted(placed, reverse=True):
            has = placed[where]
            if high in has and low not in has and _keeps_racks(has, high, low, racks):
                return where, high, low
    return None


def _keeps_racks(has: Sequence[int], leaves: int, comes: int, racks: Racks) -> bool:
    """Whether the partition lies in no fewer racks then."""
    after = [comes if broker == leaves else broker for broker in has]
    return len({racks.get(broker) for broker in after}) >= len({racks.get(broker) for broker in has})


def _even_leaders(
    placed: Placement, others: Counter[int] | None = None, only: set[TopicPartition] | None = None
) -> None:
    """Puts another replica first where its broker leads fewer partitions."""
    leads = Counter(others or {})
    leads.update(each[0] for each in placed.values() if each)
    for where in sorted(placed):
        has = placed[where]
        if only is not None and where not in only:
            continue
        best = min(has, key=lambda broker: (leads[broker], broker))
        if leads[has[0]] - leads[best] >= 2:
            leads[has[0]] -= 1
            leads[best] += 1
            placed[where] = (best, *(broker for broker in has if broker != best))
