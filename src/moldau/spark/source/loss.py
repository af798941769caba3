"""Data that was to be read and is no longer there: the end of the query, or a line in the log, as the user chose.

Records go missing by retention, by deleted records or topics, and by a log cut back after a failure. Spark's connector
stops by default, and so does this one; `failOnDataLoss=false` reads on with what is there.
"""

from __future__ import annotations

import logging

from moldau.errors import MoldauError

logger = logging.getLogger("moldau.spark.source")


class DataLoss(MoldauError):
    """Some of what the query has to read is gone."""


def report_loss(what: str, *, fail: bool) -> None:
    """`what` is a sentence without its full stop."""
    if fail:
        raise DataLoss(f"{what}. To go on with what is there, set the option failOnDataLoss to false.")
    logger.warning("%s; the query goes on because failOnDataLoss is false.", what)
