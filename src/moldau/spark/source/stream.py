"""`spark.readStream.format("moldau")`: where a stream stands, how far the next batch goes, and which tasks read it.

Spark keeps the end of every batch in its checkpoint, and never the place where the first one began: that it asks for
again, several times, and once more after a restart before the first batch was finished. "latest" would be somewhere
else each time, and records would be read twice or never. So the end of the first batch carries its beginning with it,
and a first batch that is run again begins where it says. And every end carries the ids of its topics: offsets say
nothing about another topic that was made under the same name, however many records it has. And it carries a name for
the query, drawn with the first batch, because Spark gives it none that a source could see.

One object of this class lives in a process beside the driver for as long as the query runs; Spark makes others to ship
to its workers, which only read. Spark starts that process anew with every query and waits for it, so nothing that only
workers need is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from secrets import token_hex
from time import monotonic
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from moldau.client.cluster import Cluster
from moldau.spark.connection import open_cluster
from moldau.spark.schema import check_schema
from moldau.spark.source.group import GroupPositions
from moldau.spark.source.loss import report_loss, report_old_checkpoint
from moldau.spark.source.offsets import OffsetReader
from moldau.spark.source.positions import (
    Position,
    from_position,
    ids_in,
    in_words,
    query_in,
    renewed,
    start_in,
    to_position,
)
from moldau.spark.source.ranges import OffsetRange, Offsets, lag, limited, offset_ranges, shared_tasks, split_ranges
from moldau.spark.source.settings import SourceSettings, stream_settings
from moldau.types import Uuid


def stream_reader(options: Mapping[str, str], schema: StructType) -> DataSourceStreamReader:
    return StreamReader(stream_settings(options), schema)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, settings: SourceSettings, schema: StructType) -> None:
        check_schema(schema)
        self._settings = settings
        self._schema = schema
        self._open: _Open | None = None
        self._initial: Position | None = None
        self._latest: Offsets | None = None
        self._ids: dict[str, Uuid] = {}
        # The name of the query, if no position has one yet.
        self._drawn = token_hex(4)
        # With trigger(availableNow=True): where everything ended when the run began.
        self._target: Offsets | None = None
        self._last_batch = float("-inf")
        # Whether the checkpoint was compared with what the group remembers; once in the life of a query is enough.
        self._compared = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}

    # ---------------------------------------------------------------------------------- what the driver asks

    def initialOffset(self) -> dict[str, Any]:
        if self._initial is None:
            offsets = self._asking.offsets
            settings = self._settings
            found = offsets.resolve(settings.start, offsets.partitions(), unmatched=settings.unmatched)
            self._initial = to_position(found, offsets.ids)
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark takes one limit and hands it back; the others are looked up where they are needed."""
        settings = self._settings
        if settings.max_offsets is not None:
            return ReadMaxRows(settings.max_offsets)
        if settings.min_offsets is not None:
            return ReadMinRows(settings.min_offsets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._fetch_latest({})

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the next batch; `start` itself, to the letter, when there is nothing to do."""
        began, query = from_position(start), query_in(start)
        self._compare(query, start)
        # Asked about the next batch, so done with the one before; `commit` would say so one batch later.
        self._asking.group.show(query, began)
        self._latest = self._fetch_latest(began) if self._target is None else self._target
        anew = renewed(ids_in(start), self._ids)
        began = self._without(began, anew)
        end = self._latest if isinstance(limit, ReadAllAvailable) else self._bounded(began, self._latest)
        named = query or self._drawn
        if start_in(start) is None and start == self._initial:
            return to_position(end, self._ids, query=named, start=from_position(start))
        if end == began and not anew:
            self._asking.group.settle()  # nothing follows that would be held up by it, and this may be the end
            return start
        return to_position(end, self._ids, query=named)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._latest is None else to_position(self._latest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        settings = self._settings
        ids = ids_in(end)
        first = start_in(end) if start == self._initial else None
        began = self._without(from_position(start), renewed(ids_in(start), ids)) if first is None else first
        ranges = self._ranges(began, from_position(end), ids)
        ranges = split_ranges(ranges, min_partitions=settings.min_partitions, max_records=settings.max_records)
        tasks = shared_tasks(ranges, least=settings.min_partitions, most=settings.max_records)
        return [InputPartition(each) for each in tasks]

    def commit(self, end: dict[str, Any]) -> None:
        """Lag tools are told; nothing ever resumes from what they see."""
        self._asking.group.show(query_in(end), from_position(end), again=True)

    def stop(self) -> None:
        if self._open is not None:
            self._open.group.settle()
            self._open.cluster.close()
            self._open = None

    # ------------------------------------------------------------------------------------- what a worker does

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from moldau.spark.source.reading import read_task

        return read_task(partition.value, self._settings, self._schema)

    # ------------------------------------------------------------------------------------------------- inside

    @property
    def _asking(self) -> _Open:
        if self._open is None:
            self._open = _Open(self._settings)
        return self._open

    def _fetch_latest(self, began: Offsets) -> Offsets:
        offsets = self._asking.offsets
        partitions = offsets.partitions_left(began)
        self._ids = offsets.ids
        return offsets.latest(partitions, began)

    def _compare(self, query: str, start: Position) -> None:
        """Before the group is told anything, which would be all it knows."""
        if self._compared or not query:
            return
        self._compared = True
        began = from_position(start)
        shown = self._asking.group.shown_beyond(query, began)
        if shown:
            self._fetch_latest(began)  # for the ids: what was shown of a topic that is gone says nothing
            anew = renewed(ids_in(start), self._ids)
            shown = {where: offset for where, offset in shown.items() if where.topic not in anew}
        if shown:
            group_id = self._settings.group.id(query)
            report_old_checkpoint(group_id, began, shown, fail=self._settings.fail_on_old_checkpoint)

    def _without(self, began: Offsets, anew: set[str]) -> Offsets:
        """A topic that was made anew has nothing to go on from: a loss, and then it is read from its beginning."""
        for topic in sorted(anew):
            what = (
                f"Topic {topic!r} was deleted and made anew: offsets up to which the former one was read say nothing "
                "about it, and what had not been read of that is gone"
            )
            report_loss(what, fail=self._settings.fail_on_data_loss)
        return {where: offset for where, offset in began.items() if where.topic not in anew}

    def _bounded(self, began: Offsets, latest: Offsets) -> Offsets:
        """Not before there is enough, unless it has been long; and then not too much."""
        settings = self._settings
        if settings.min_offsets is not None and self._target is None:
            waited = (monotonic() - self._last_batch) * 1000
            if lag(began, latest) < settings.min_offsets and waited < settings.max_delay_ms:
                return began
            self._last_batch = monotonic()
        if settings.max_offsets is None:
            return latest
        new = [where for where in latest if where not in began]
        return limited({**self._asking.offsets.earliest(new), **began}, latest, settings.max_offsets)

    def _ranges(self, start: Offsets, end: Offsets, ids: Mapping[str, Uuid]) -> list[OffsetRange]:
        """The work between two positions; partitions that came, went or shrank meanwhile are dealt with here."""
        fail = self._settings.fail_on_data_loss
        new = [where for where in end if where not in start]
        first = self._asking.offsets.earliest(new)
        unknown = [where for where in new if where not in first]
        if unknown:
            report_loss(f"Partitions {in_words(unknown)} were deleted before they were read", fail=fail)
        for where in new:
            if first.get(where, 0) > 0:
                what = f"The new partition {where} begins at {first[where]}; what was before it cannot be read"
                report_loss(what, fail=fail)
        gone = [where for where in start if where not in end]
        if gone:
            report_loss(f"Partitions {in_words(gone)} are no longer there", fail=fail)
        for where in end:
            if end[where] < start.get(where, 0):
                report_loss(
                    f"Partition {where} ends at {end[where]}, and the stream is at {start[where]}: it was deleted and "
                    "made anew, or its log was cut back, or startingOffsets is beyond its end",
                    fail=fail,
                )
        return offset_ranges({**first, **start}, end, ids)


class _Open:
    """What the driver's side keeps open while the query runs."""

    def __init__(self, settings: SourceSettings) -> None:
        self.cluster: Cluster = open_cluster(settings.options)
        self.offsets = OffsetReader(self.cluster, settings)
        self.group = GroupPositions(self.cluster, settings.group)
