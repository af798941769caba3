"""Who is told when the metadata changed."""

from __future__ import annotations

from typing import Protocol

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage


class Publisher(Protocol):
    """A part of the node that follows the metadata: the replica manager opens and closes partitions, the dynamic
    configuration takes over settings, a coordinator loads its shards.

    Publishers are called in the order they were added, so one may rely on what an earlier one has done.
    """

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """`image` holds from now on; `delta` says what is different from the one before. An exception is a fault of
        the node, not of the metadata: it is reported and the other publishers are still called."""
        ...
