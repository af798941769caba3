"""Questions to the brokers about offsets: which partitions there are, where they begin and end, what a time means.

Answers during a restart of a broker can be older than what was seen before: a topic seems gone, a log seems to end
earlier. Both would be called a loss of data, so what looks like one is asked again (fetchOffset.numRetries times,
fetchOffset.retryIntervalMs apart) before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from time import sleep
from typing import TypeVar

from moldau.client.admin.offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from moldau.client.cluster import Cluster
from moldau.client.conversation import NOT_THERE, Conversation, Learn, retrying
from moldau.client.metadata import ClusterView
from moldau.errors import KafkaError
from moldau.spark.options import OptionError
from moldau.spark.source.bounds import AtOffsets, AtTimes, Bound, Everywhere
from moldau.spark.source.positions import in_words
from moldau.spark.source.ranges import Offsets
from moldau.spark.source.settings import SourceSettings
from moldau.types import TopicPartition, Uuid

T = TypeVar("T")


class OffsetReader:
    """Asks for one source. For one thread; `cluster` is the caller's to close."""

    def __init__(self, cluster: Cluster, settings: SourceSettings) -> None:
        self._cluster = cluster
        self._settings = settings
        # Of the topics that were there when partitions were last asked for.
        self.ids: dict[str, Uuid] = {}

    def partitions(self) -> list[TopicPartition]:
        """What is subscribed to; KafkaError when a part of it is not there."""
        found, missing = self._again(self._partitions, lambda answer: not answer[1])
        if missing:
            raise missing[0]
        return found

    def partitions_left(self, known: Collection[TopicPartition]) -> list[TopicPartition]:
        """What is there now of a subscription that is being read; a topic may have been deleted meanwhile."""
        found, _ = self._again(self._partitions, lambda answer: set(answer[0]).issuperset(known))
        return found

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Where partitions begin; those that were deleted are left out."""
        return self._listed(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Collection[TopicPartition], known: Mapping[TopicPartition, int]) -> Offsets:
        """Where partitions end (for read_committed: at the first open transaction); deleted ones are left out."""

        def plausible(ends: Offsets) -> bool:
            return all(ends.get(where, offset) >= offset for where, offset in known.items())

        return self._again(lambda: self._listed(dict.fromkeys(partitions, LATEST)), plausible)

    def resolve(self, bound: Bound, partitions: list[TopicPartition], *, unmatched: str = "latest") -> Offsets:
        """The offset a bound means in each partition. `unmatched`: what to do where no record is as young as a time."""
        match bound:
            case Everywhere(edge):
                return self._listed(dict.fromkeys(partitions, edge))
            case AtOffsets(option, offsets):
                _check_complete(option, offsets, partitions)
                edges = {where: offset for where, offset in offsets.items() if offset in (EARLIEST, LATEST)}
                return {**offsets, **self._listed(edges)}
            case AtTimes():
                return self._at_times(bound, partitions, unmatched)

    def _at_times(self, bound: AtTimes, partitions: list[TopicPartition], unmatched: str) -> Offsets:
        if not isinstance(bound.times, int):
            _check_complete(bound.option, bound.times, partitions)
        found = self._listed({where: bound.time(where) for where in partitions})
        late = [where for where in partitions if found.get(where, 0) < 0]
        if late and unmatched == "error":
            raise OptionError(
                f"The option {bound.option} names {bound.time(late[0])}, and {late[0]} has no record at or after it; "
                "with startingOffsetsByTimestampStrategy=latest it would start at its end."
            )
        return {**found, **self._listed(dict.fromkeys(late, LATEST))}

    # ------------------------------------------------------------------------------------------------- inside

    def _partitions(self) -> tuple[list[TopicPartition], list[KafkaError]]:
        subscription = self._settings.subscription
        view = self._cluster.run(_view(subscription.names))
        found, missing = subscription.partitions(view)
        self.ids = {name: view.topic(name).id for name in {where.topic for where in found}}
        return found, missing

    def _listed(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        if not wanted:
            return {}
        offsets: Offsets = {}
        answers = self._cluster.run(list_offsets(wanted, isolation=self._settings.isolation))
        for where, answer in answers.items():
            if isinstance(answer, FoundOffset):
                offsets[where] = answer.offset
            elif answer.code not in NOT_THERE:
                raise answer
        return offsets

    def _again(self, ask: Callable[[], T], content: Callable[[T], bool]) -> T:
        answer = ask()
        for _ in range(self._settings.retries):
            if content(answer):
                break
            sleep(self._settings.retry_interval)
            self._cluster.doubt()
            answer = ask()
        return answer


def _view(names: Collection[str] | None) -> Conversation[ClusterView]:
    def attempt() -> Conversation[ClusterView]:
        view: ClusterView = yield Learn(None if names is None else sorted(names), anew=True)
        return view

    return retrying(attempt)


def _check_complete(option: str, given: Collection[TopicPartition], partitions: Collection[TopicPartition]) -> None:
    missing, unknown = set(partitions) - set(given), set(given) - set(partitions)
    if missing:
        stand_ins = "; -2 stands for earliest, -1 for latest" if option.endswith("Offsets") else ""
        raise OptionError(
            f"The option {option} must name every partition, and {in_words(missing)} is missing{stand_ins}."
        )
    if unknown:
        raise OptionError(f"The option {option} names {in_words(unknown)}, which is not among what is read.")
