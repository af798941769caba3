"""The stream's positions under the name of a consumer group, so that lag tools see it like any other consumer.

For show only: a stream resumes from Spark's checkpoint and from nowhere else. So nothing here may stop a query, or hold
it up for long; what fails is said once in the log, and tried again with the next batch.
"""

from __future__ import annotations

import logging
from typing import Final

from moldau.client.admin.groups import commit_positions
from moldau.client.cluster import Cluster
from moldau.errors import MoldauError
from moldau.spark.source.ranges import Offsets

logger = logging.getLogger("moldau.spark.source")

_PATIENCE: Final = 5.0


class GroupPositions:
    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self.group_id = group_id
        self._cluster = cluster
        self._tried: Offsets = {}
        self._failing = False

    def show(self, offsets: Offsets, *, again: bool = False) -> None:
        """Commits without joining the group, which the brokers allow while it has no members.

        What was tried before is not tried again, unless it failed and `again` says that another batch has passed.
        """
        if not offsets or (offsets == self._tried and not (again and self._failing)):
            return
        self._tried = offsets
        try:
            outcomes = self._cluster.run(commit_positions(self.group_id, offsets), timeout=_PATIENCE)
            failure: MoldauError | None = next((error for error in outcomes.values() if error is not None), None)
        except MoldauError as error:
            failure = error
        if failure is not None and not self._failing:
            logger.warning("the group %s cannot show how far the stream is: %s", self.group_id, failure)
        self._failing = failure is not None
