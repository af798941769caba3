"""How far a pipeline is behind at this moment: the brokers' ends of topics against what its last batches read."""

from __future__ import annotations

from moldau.client.admin.offsets import LATEST, list_offsets
from moldau.client.cluster import Cluster
from moldau.errors import MoldauError
from moldau.spark.pipeline.measures import Offsets, distance
from moldau.spark.pipeline.model import Pipeline
from moldau.spark.pipeline.status import Status
from moldau.types import TopicPartition

_PATIENCE = 5.0


def current_lag(pipeline: Pipeline, status: Status) -> dict[str, int | None]:
    """Records each query has still to read; None for one that reads no topic, or if the brokers do not answer."""
    positions: dict[str, Offsets] = {query["query"]: query["positions"] for query in status.queries}
    partitions = {
        TopicPartition(topic, int(partition))
        for each in positions.values()
        for topic, offsets in each.items()
        for partition in offsets
    }
    ends = _ends(_brokers(pipeline), partitions) if partitions else {}
    return {
        name: distance(each, {topic: ends[topic] for topic in each if topic in ends}) if each and ends else None
        for name, each in positions.items()
    }


def _brokers(pipeline: Pipeline) -> str:
    for source in pipeline.sources.values():
        if source.kind in ("topic", "pattern") and source["bootstrap"]:
            return str(source["bootstrap"])
    return pipeline.bootstrap


def _ends(bootstrap: str, partitions: set[TopicPartition]) -> Offsets:
    ends: Offsets = {}
    try:
        with Cluster(bootstrap, client_id="moldau-pipeline", timeout=_PATIENCE) as cluster:
            found = cluster.run(list_offsets(dict.fromkeys(partitions, LATEST)))
    except MoldauError:
        return {}
    for where, offset in found.items():
        number = getattr(offset, "offset", None)
        if isinstance(number, int) and number >= 0:
            ends.setdefault(where.topic, {})[str(where.partition)] = number
    return ends
