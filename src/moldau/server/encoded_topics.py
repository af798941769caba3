"""Topics as Metadata describes them, already encoded.

Every client asks for them again and again, and they hardly ever change: describing and encoding thousands of partitions
for each of those answers would be most of what a broker does. An entry holds for as long as the image has the very same
topic and the very same brokers.
"""

from __future__ import annotations

from typing import TypeAlias

from moldau.metadata.image import ClusterImage, MetadataImage, TopicImage

# By name: the topic that was encoded, and its bytes.
Encodings: TypeAlias = dict[str, tuple[TopicImage, bytes]]


class EncodedTopics:
    def __init__(self) -> None:
        self._cluster: ClusterImage | None = None
        self._by_shape: dict[tuple[int, str], Encodings] = {}

    def of(self, image: MetadataImage, version: int, listener: str) -> Encodings:
        """Those for one version and the clients of one listener."""
        if image.cluster is not self._cluster:
            self._cluster = image.cluster
            self._by_shape.clear()
        encodings = self._by_shape.setdefault((version, listener), {})
        if len(encodings) > 2 * len(image.topics.by_name) + 100:
            # Most of these topics are gone.
            encodings.clear()
        return encodings
