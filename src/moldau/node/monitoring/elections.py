"""How often partitions got another leader, and how often one that may lack records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.metrics.exposition import Family, counter
from moldau.types import NO_LEADER

_CONTROLLER: Final = "kafka_controller_controllerstats_"


class Elections:
    """A publisher of the metadata: counts what has been decided since this node knows of the partition."""

    def __init__(self) -> None:
        self.changes = 0
        self.unclean = 0

    def on_image(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        for topic in delta.topics.changed.values():
            if topic.base is None:
                continue
            for index, state in topic.partitions.items():
                before = topic.base.partitions.get(index)
                if before is None or state.leader in (NO_LEADER, before.leader):
                    continue
                self.changes += 1
                self.unclean += state.leader not in (*before.isr, *before.elr)

    def families(self) -> Iterator[Family]:
        yield counter(_CONTROLLER + "leaderelections_total", "Partitions that got another leader.", self.changes)
        unclean = "Partitions that got a leader that was not in sync: records may be lost."
        yield counter(_CONTROLLER + "uncleanleaderelections_total", unclean, self.unclean)
