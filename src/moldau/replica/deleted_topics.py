"""Which topics the metadata log says were deleted, as far back as it was read at this start.

A node that dies between the answer to DeleteTopics and the renames leaves logs of topics that are gone. Their ids tell
them from logs that are strange for another reason, such as metadata brought back from an old copy: what was deleted
by a record of this cluster is deleted, anything else is only set aside.
"""

from __future__ import annotations

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.types import Uuid


class DeletedTopics:
    """A publisher of the metadata; to be added before the log is read, and closed when all partitions are open."""

    def __init__(self) -> None:
        self._ids: set[Uuid] = set()
        self._closed = False

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if not self._closed:
            self._ids |= delta.topics.removed

    def __contains__(self, topic_id: object) -> bool:
        return topic_id in self._ids

    def close(self) -> None:
        """From now on logs go with their topics."""
        self._closed = True
        self._ids.clear()
