"""Data that was to be read and is no longer there: the end of the query, or a line in the log, as the user chose.

Records go missing by retention, by deleted records or topics, and by a log cut back after a failure. Spark's connector
stops by default, and so does this one; `failOnDataLoss=false` reads on with what is there.

And a checkpoint that is older than what was read with it: nothing is gone, but a sink that goes by the numbers of
batches takes new rows for written, and any other writes rows again. `failOnOldCheckpoint` makes it the end.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from moldau.errors import MoldauError
from moldau.spark.source.ranges import Offsets
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.spark.source")


class DataLoss(MoldauError):
    """Some of what the query has to read is gone."""


def report_loss(what: str, *, fail: bool) -> None:
    """`what` is a sentence without its full stop."""
    if fail:
        raise DataLoss(f"{what}. To go on with what is there, set the option failOnDataLoss to false.")
    logger.warning("%s; the query goes on because failOnDataLoss is false.", what)


# So many are named; a sentence that goes on for ever is cut off where it matters.
_PLACES: Final = 2


class OldCheckpoint(MoldauError):
    """The query was further than its checkpoint says."""


def report_old_checkpoint(group_id: str, here: Mapping[TopicPartition, int], shown: Offsets, *, fail: bool) -> None:
    """`shown` is what the group remembers of this very query, where that is beyond where it starts."""
    places = [f"{where} at {here[where]}, was at {offset}" for where, offset in sorted(shown.items())]
    more = f" (and {len(places) - _PLACES} more)" if len(places) > _PLACES else ""
    what = (
        f"The checkpoint is an older copy, or lost files: the query starts with {', '.join(places[:_PLACES])}{more} by "
        f"its group {group_id!r}. Batches get numbers that were used: a sink that goes by these (Delta, Iceberg) takes "
        "new rows for written, others write rows again"
    )
    if fail:
        raise OldCheckpoint(
            f"{what}. Put the newest checkpoint back, or begin with a new one; or, if the sink was set back as well, "
            f"forget the group (moldau groups delete {group_id}) or set the option failOnOldCheckpoint to false."
        )
    logger.warning("%s. To have the query stop instead, set the option failOnOldCheckpoint to true.", what)
