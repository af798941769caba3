"""The stream's positions under the name of a consumer group, so that lag tools see it like any other consumer.

For show only: a stream resumes from Spark's checkpoint and from nowhere else. So nothing here may stop a query, or hold
it up: positions are sent while the batch runs that was asked for, and what fails is said once in the log, and tried
again with the next batch.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from moldau.client.cluster import Cluster
from moldau.errors import MoldauError
from moldau.spark.source.ranges import Offsets
from moldau.spark.source.settings import Group

logger = logging.getLogger("moldau.spark.source")

_PATIENCE: Final = 5.0


class GroupPositions:
    """For one thread, beside which at most one other commits."""

    def __init__(self, cluster: Cluster, group: Group) -> None:
        self._cluster = cluster
        self._group = group
        self._tried: Offsets = {}
        self._failing = False
        self._sending: threading.Thread | None = None

    def show(self, query: str, offsets: Offsets, *, again: bool = False) -> None:
        """Begins to commit without joining the group, which the brokers allow while it has no members.

        What was tried before is not tried again, unless it failed and `again` says that another batch has passed.
        """
        self.settle()
        group_id = self._group.id(query)
        if not group_id or not offsets or (offsets == self._tried and not (again and self._failing)):
            return
        self._tried = offsets
        # A thread and not only a conversation: the messages of groups are imported on the way.
        self._sending = threading.Thread(target=self._send, args=(group_id, offsets), name="positions", daemon=True)
        self._sending.start()

    def settle(self) -> None:
        """Waits for what was begun, which has an end by itself."""
        if self._sending is not None:
            self._sending.join()
            self._sending = None

    def _send(self, group_id: str, offsets: Offsets) -> None:
        from moldau.client.admin.groups import commit_positions

        try:
            outcomes = self._cluster.run(commit_positions(group_id, offsets), timeout=_PATIENCE)
            failure: MoldauError | None = next((error for error in outcomes.values() if error is not None), None)
        except MoldauError as error:
            failure = error
        if failure is not None and not self._failing:
            logger.warning("the group %s cannot show how far the stream is: %s", group_id, failure)
        self._failing = failure is not None
