"""How far a pipeline is behind at this moment: the brokers' ends of topics against what its last batches read."""

from __future__ import annotations

from moldau.client.admin.offsets import LATEST, list_offsets
from moldau.errors import MoldauError
from moldau.spark.connection import open_cluster
from moldau.spark.options import KAFKA, Options, Use
from moldau.spark.pipeline.measures import Offsets, distance
from moldau.spark.pipeline.model import Pipeline
from moldau.spark.pipeline.sources import topic_options
from moldau.spark.pipeline.status import Status
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
    ends = _ends(_way(pipeline), partitions) if partitions else {}
    return {
        name: distance(each, {topic: ends[topic] for topic in each if topic in ends}) if each and ends else None
        for name, each in positions.items()
    }


def _way(pipeline: Pipeline) -> dict[str, str]:
    """The options of a source that reads topics: not only brokers, but also how they let one in."""
    topics = [source for source in pipeline.sources.values() if source.kind in ("topic", "pattern")]
    chosen = next((source for source in topics if source["bootstrap"]), topics[0])
    given = topic_options(pipeline, chosen)
    return {name: value for name, value in given.items() if name.lower().startswith(KAFKA)}


def _ends(way: dict[str, str], partitions: set[TopicPartition]) -> Offsets:
    ends: Offsets = {}
    try:
        options = Options({**way, "kafka.default.api.timeout.ms": str(_PATIENCE_MS)}, Use.STREAM_READ)
        with open_cluster(options) as cluster:
            found = cluster.run(list_offsets(dict.fromkeys(partitions, LATEST)))
    except MoldauError:
        return {}
    for where, offset in found.items():
        number = getattr(offset, "offset", None)
        if isinstance(number, int) and number >= 0:
            ends.setdefault(where.topic, {})[str(where.partition)] = number
    return ends
