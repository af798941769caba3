"""How far a pipeline is behind at this moment: the brokers' ends of topics against what its last batches read."""

from __future__ import annotations

import re

from moldau.client.admin.offsets import LATEST, IsolationLevel, list_offsets
from moldau.errors import MoldauError
from moldau.spark.connection import open_cluster
from moldau.spark.options import KAFKA, Options, Use
from moldau.spark.pipeline.measures import distance
from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.sources import topic_options
from moldau.spark.pipeline.status import Status
from moldau.spark.progress import Offsets
from moldau.types import TopicPartition

_PATIENCE_MS = 5000


def current_lag(pipeline: Pipeline, status: Status) -> dict[str, int | None]:
    """Records each query has still to read; None for one that reads no topic, or if the brokers do not answer."""
    positions: dict[str, Offsets] = {query["query"]: query["positions"] for query in status.queries}
    partitions = {
        TopicPartition(topic, int(partition))
        for each in positions.values()
        for topic, offsets in each.items()
        for partition in offsets
    }
    ends: Offsets = {}
    for source in pipeline.sources.values():
        if source.kind in ("topic", "pattern"):
            ends |= _ends(pipeline, source, {where for where in partitions if _reads(source, where.topic)})
    return {
        name: distance(each, {topic: ends[topic] for topic in each if topic in ends}) if each and ends else None
        for name, each in positions.items()
    }


def _reads(source: Part, topic: str) -> bool:
    return topic in source["topic"] if source.kind == "topic" else bool(re.fullmatch(source["pattern"], topic))


def _ends(pipeline: Pipeline, source: Part, partitions: set[TopicPartition]) -> Offsets:
    """Where a source would stop now: it asks as the source does, with its brokers, its security and its isolation."""
    if not partitions:
        return {}
    given = {name: value for name, value in topic_options(pipeline, source).items() if name.lower().startswith(KAFKA)}
    ends: Offsets = {}
    try:
        options = Options({**given, "kafka.default.api.timeout.ms": str(_PATIENCE_MS)}, Use.STREAM_READ)
        committed = options.kafka.get("isolation.level", "").strip().lower() == "read_committed"
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        with open_cluster(options) as cluster:
            found = cluster.run(list_offsets(dict.fromkeys(partitions, LATEST), isolation=isolation))
    except MoldauError:
        return {}
    for where, offset in found.items():
        number = getattr(offset, "offset", None)
        if isinstance(number, int) and number >= 0:
            ends.setdefault(where.topic, {})[str(where.partition)] = number
    return ends
