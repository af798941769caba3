"""What makes a batch this batch and no other: how many rows it has, their digest, and where its input ended.

A batch that is run again is known by its number, and a number is not enough: a checkpoint that was set back, or lost
the plan of its last batch, gives the same number to other rows. So the decision says what was decided. Rows count in
any order and in any division into tasks, because neither is the same twice. A query whose results differ from run to
run (random numbers, sums of floats in the order of arrival) is known by its input instead: the source offsets in
Spark's checkpoint, where that can be read from here and the offsets tell what was read.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from moldau.spark.sink.columns import packers

if TYPE_CHECKING:
    from moldau.spark.sink.options import SinkOptions

_ALL_BITS: Final = (1 << 64) - 1
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")

# A source of files counts its own batches and keeps what is in them elsewhere, so the number says nothing.
_NO_INPUT: Final = "logOffset"

# A decision is one record; an input that would make it a large one is kept as a digest, which compares as well.
_LONGEST_INPUT: Final = 64 * 1024


class Content(NamedTuple):
    rows: int = 0
    digest: int = 0

    def plus(self, other: Content) -> Content:
        return Content(self.rows + other.rows, (self.digest + other.digest) & _ALL_BITS)


def seed_of(topic: str) -> int:
    """Makes the same row another one in another topic."""
    return int.from_bytes(blake2b(topic.encode(), digest_size=8).digest(), "big")


def content_of(batch: Any, options: SinkOptions) -> Content:
    """Of one Arrow batch, without writing it."""
    content = Content()
    for topic, packer in packers(batch, options.topic, options.keep_timestamps):
        content = content.plus(Content(*packer.digest(seed_of(topic))))
    return content


def input_of(options: SinkOptions, batch: int) -> str:
    """Where the input of a batch ended, as a text to compare; empty if that cannot be known."""
    if options.input is not None:
        return _bounded(options.input)
    if options.checkpoint is None:
        return ""
    place = re.sub(r"^file:(//)?(?=/)", "", options.checkpoint)
    if _SCHEME.match(place):
        return ""
    try:
        with open(f"{place.rstrip('/')}/offsets/{batch}", encoding="utf-8") as file:
            return input_in(file.read())
    except (OSError, UnicodeDecodeError):
        return ""


def input_in(log: str) -> str:
    """The input from an entry of Spark's offset log: a version, a line about the batch, and a line per source."""
    sources = log.splitlines()[2:]
    if not sources or any(line in ("", "-") or _NO_INPUT in line for line in sources):
        return ""
    return _bounded("\n".join(sources))


def said_input(text: str) -> str:
    """The input as `startingOffsets` takes it; empty if it is nothing of the kind."""
    try:
        position = json.loads(text)
        return json.dumps({topic: numbers for topic, numbers in position.items() if not topic.startswith("@")})
    except (ValueError, AttributeError):
        return ""


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST_INPUT else f"digest {blake2b(text.encode(), digest_size=16).hexdigest()}"
